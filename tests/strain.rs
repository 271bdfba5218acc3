//! The embedded cluster under clients that ask much, read nothing or vanish, and members that
//! are killed while all of them wait: the others are served as ever.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use etcd_client::{
    Client, Error, EventType, LeaseStatus, LeaseTimeToLiveOptions, LockOptions, PutOptions, WatchOptions, WatchStream,
};
use futures::future::join_all;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use support::embedded::Embedded;
use tokio::time::{Instant, timeout};

/// How long one call may take while others strain the cluster.
const CALL: Duration = Duration::from_secs(5);

/// Runs `test` on an embedded cluster of three, within two minutes.
fn on_a_cluster(test: impl AsyncFnOnce(&Embedded)) {
    let cluster = Embedded::start(3);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let limited = runtime.block_on(async { timeout(Duration::from_mins(2), test(&cluster)).await });
    runtime.shutdown_background();
    limited.expect("the test ends in time");
}

async fn at(cluster: &Embedded, n: usize) -> Client {
    Client::connect([&cluster.members[n].endpoint], None).await.expect("it serves")
}

/// Puts a key as soon as there is a leader: what was on its way to one that was lost comes to
/// nothing, as with etcd.
async fn put_somehow(client: &mut Client, key: &str) {
    let put =
        async { while !matches!(timeout(Duration::from_millis(500), client.put(key, "", None)).await, Ok(Ok(_))) {} };
    timeout(CALL, put).await.expect("there is a leader soon");
}

/// Watches a key; the watch is made when this returns.
async fn watch(client: &mut Client, key: &str, options: Option<WatchOptions>) -> Result<WatchStream, Error> {
    let mut watch = client.watch(key, options).await?;
    let created = watch.message().await?;
    assert!(created.is_none_or(|answer| answer.created()));
    Ok(watch)
}

/// Does a fault without blocking the test's runtime; it has to be done soon.
async fn fault(cluster: &Embedded, words: &str) {
    let fault = words.parse().expect("the words name a fault");
    let done = timeout(CALL, cluster.control().fault(fault)).await;
    done.expect("it is done soon").expect("it can be done");
}

/// Puts a key; fails when that takes long.
async fn put(client: &mut Client, key: &str, value: Vec<u8>) -> i64 {
    let done = timeout(CALL, client.put(key, value, None)).await.expect("it is answered soon");
    done.expect("it is put").header().expect("a header").revision()
}

#[test]
fn a_thousand_watches_that_nobody_reads_hold_nobody_up_and_lose_nothing() {
    on_a_cluster(async |cluster| {
        let mut idle = at(cluster, 0).await;
        let mut unread = Vec::new();
        for _ in 0..1000 {
            let options = WatchOptions::new().with_prefix().with_prev_key();
            unread.push(watch(&mut idle, "k/", Some(options)).await.expect("it watches"));
        }
        let mut busy = at(cluster, 0).await;
        for n in 0..600 {
            put(&mut busy, &format!("k/{}", n % 10), vec![b'v'; 10_000]).await;
        }
        // What was not read is still to be had, in order and once.
        let mut last = unread.swap_remove(500);
        drop(unread);
        let mut seen = Vec::new();
        while seen.len() < 600 {
            let answer = last.message().await.expect("it goes on").expect("it goes on");
            assert!(!answer.canceled(), "{}", answer.cancel_reason());
            seen.extend(answer.events().iter().map(|event| event.kv().expect("a key").mod_revision()));
        }
        assert!(seen.len() == 600 && seen.is_sorted_by(|one, next| one + 1 == *next));
    });
}

#[test]
fn a_watch_that_is_read_too_late_is_told_that_its_past_was_compacted() {
    on_a_cluster(async |cluster| {
        let mut slow = at(cluster, 1).await;
        let mut busy = at(cluster, 0).await;
        let first = put(&mut busy, "k", vec![b'v'; 10_000]).await;
        let options = WatchOptions::new().with_start_revision(first);
        let mut watch = watch(&mut slow, "k", Some(options)).await.expect("it watches");
        let mut last = 0;
        for _ in 0..1500 {
            last = put(&mut busy, "k", vec![b'v'; 10_000]).await;
        }
        timeout(CALL, busy.compact(last, None)).await.expect("soon").expect("it is compacted");
        let mut told = 0;
        let end = loop {
            let answer = watch.message().await.expect("it goes on").expect("it goes on");
            if answer.canceled() {
                break answer;
            }
            told += answer.events().len();
        };
        assert_eq!((end.compact_revision(), told < 1500), (last, true), "{told} were told");
    });
}

#[test]
fn ten_thousand_leases_run_out_together_and_the_others_stay() {
    on_a_cluster(async |cluster| {
        let mut client = at(cluster, 1).await;
        let grant = |ttl: i64| {
            let mut client = client.clone();
            async move { client.lease_grant(ttl, None).await.map(|granted| granted.id()) }
        };
        let long: Vec<_> = stream::iter(0..1000).map(|_| grant(600)).buffered(64).try_collect().await.expect("granted");
        let short: Vec<_> =
            stream::iter(0..10_000).map(|_| grant(4)).buffered(64).try_collect().await.expect("granted");
        let kept = client.put("kept", "", Some(PutOptions::new().with_lease(long[0]))).await.expect("it is put");
        client.put("lost", "", Some(PutOptions::new().with_lease(short[9_999]))).await.expect("it is put");
        let after = kept.header().expect("a header").revision();
        let options = WatchOptions::new().with_start_revision(after);
        let mut watch = watch(&mut client, "lost", Some(options)).await.expect("it watches");
        let mut other = at(cluster, 2).await;
        let (mut n, mut slowest) = (0, Duration::ZERO);
        let gone = async {
            loop {
                let answer = watch.message().await.expect("it goes on").expect("it goes on");
                if answer.events().iter().any(|event| event.event_type() == EventType::Delete) {
                    return;
                }
            }
        };
        let busy = async {
            loop {
                let start = Instant::now();
                put(&mut other, &format!("k/{}", n % 10), Vec::new()).await;
                slowest = slowest.max(start.elapsed());
                n += 1;
            }
        };
        tokio::select! {
            () = gone => {}
            () = busy => {}
        }
        while client.leases().await.expect("they are listed").leases().len() > 1000 {}
        assert_eq!(client.get("kept", None).await.expect("it is read").count(), 1);
        let mut left: Vec<_> = client.leases().await.expect("listed").leases().iter().map(LeaseStatus::id).collect();
        left.sort_unstable();
        let mut expected = long.clone();
        expected.sort_unstable();
        assert!(left == expected, "{} leases are left", left.len());
        println!("the slowest of {n} puts took {slowest:?}");
    });
}

#[test]
fn a_large_value_reaches_every_member_and_every_watch() {
    on_a_cluster(async |cluster| {
        let mut client = at(cluster, 1).await;
        let large = vec![b'v'; 1_400_000];
        let mut watch = watch(&mut at(cluster, 2).await, "large", None).await.expect("it watches");
        put(&mut client, "large", large.clone()).await;
        for n in 0..3 {
            let mut client = at(cluster, n).await;
            let read = client.get("large", None).await.expect("it is read");
            assert!(read.kvs()[0].value() == large);
        }
        let told = watch.message().await.expect("it goes on").expect("it goes on");
        assert!(told.events()[0].kv().expect("a key").value() == large);
    });
}

#[test]
fn a_member_is_killed_and_started_while_thousands_of_calls_wait() {
    on_a_cluster(async |cluster| {
        for n in 0..3 {
            let name = cluster.members[n].name.clone();
            let mut other = at(cluster, (n + 1) % 3).await;
            // Nothing can be agreed on, so that all of it waits.
            fault(cluster, &format!("isolate {name}")).await;
            let waiting = Arc::new(AtomicUsize::new(0));
            let mut calls = Vec::new();
            for connection in 0..8 {
                let client = at(cluster, n).await;
                for call in 0..400 {
                    let (mut client, waiting) = (client.clone(), Arc::clone(&waiting));
                    calls.push(tokio::spawn(async move {
                        waiting.fetch_add(1, Ordering::Relaxed);
                        let key = format!("{connection}/{call}");
                        match call % 4 {
                            0 => client.put(key, "", None).await.map(drop),
                            1 => client.get(key, None).await.map(drop),
                            2 => client.lock("q", Some(LockOptions::new().with_lease(call))).await.map(drop),
                            _ => match watch(&mut client, &key, None).await {
                                Ok(mut watch) => watch.message().await.map(drop),
                                Err(error) => Err(error),
                            },
                        }
                    }));
                }
            }
            while waiting.load(Ordering::Relaxed) < calls.len() {
                tokio::task::yield_now().await;
            }
            put_somehow(&mut other, "meanwhile").await;
            fault(cluster, &format!("kill {name}")).await;
            let ended = timeout(CALL, join_all(calls)).await.expect("every call ends soon");
            let answered = ended.into_iter().filter(|call| call.as_ref().is_ok_and(Result::is_ok)).count();
            assert_eq!(answered, 0, "a member that was cut off and killed answered");
            put_somehow(&mut other, "afterwards").await;
            fault(cluster, "heal").await;
            fault(cluster, &format!("start {name}")).await;
            let mut again = at(cluster, n).await;
            assert_eq!(again.get("afterwards", None).await.expect("it is back").count(), 1);
        }
    });
}

#[test]
fn a_member_that_missed_more_than_the_log_keeps_comes_back_with_everything() {
    on_a_cluster(async |cluster| {
        let mut client = at(cluster, 0).await;
        let lease = client.lease_grant(600, None).await.expect("granted").id();
        client.put("leased", "", Some(PutOptions::new().with_lease(lease))).await.expect("it is put");
        let first = put(&mut client, "k/0", b"first".to_vec()).await;
        fault(cluster, "kill n3").await;
        let puts = stream::iter(0..25_000).map(|n| {
            let mut client = client.clone();
            async move { client.put(format!("k/{}", n % 100), n.to_string(), None).await }
        });
        puts.buffer_unordered(64).try_for_each(async |_| Ok(())).await.expect("they are put");
        let last = put(&mut client, "k/0", b"last".to_vec()).await;
        fault(cluster, "start n3").await;
        let mut back = at(cluster, 2).await;
        assert_eq!(back.get("k/0", None).await.expect("it is read").kvs()[0].value(), b"last");
        let picture = cluster.control().picture().await.expect("it runs");
        let n3 = picture.nodes.iter().find(|node| node.id.0 == 3).expect("it is there");
        assert!(n3.snapshot.0 > 0, "its log began anew behind a snapshot");
        let left = back.lease_time_to_live(lease, Some(LeaseTimeToLiveOptions::new().with_keys())).await.expect("told");
        assert_eq!(left.keys(), [b"leased".to_vec()]);
        let options = WatchOptions::new().with_prefix().with_start_revision(first);
        let mut watch = watch(&mut back, "k/", Some(options)).await.expect("it watches");
        let mut seen = first - 1;
        while seen < last {
            let answer = watch.message().await.expect("it goes on").expect("it goes on");
            for event in answer.events() {
                let revision = event.kv().expect("a key").mod_revision();
                assert_eq!(revision, seen + 1, "each once and in order");
                seen = revision;
            }
        }
    });
}

#[test]
fn a_cluster_with_a_paused_member_and_open_calls_stops_soon() {
    on_a_cluster(async |cluster| {
        let client = at(cluster, 1).await;
        fault(cluster, "pause n2").await;
        let calls: Vec<_> = (0..1000)
            .map(|n| {
                let mut client = client.clone();
                tokio::spawn(async move { client.put(n.to_string(), "", None).await.is_ok() })
            })
            .collect();
        tokio::task::yield_now().await;
        for _ in 0..3 {
            fault(cluster, "kill n1").await;
            fault(cluster, "start n1").await;
        }
        fault(cluster, "kill n2").await;
        let ended = timeout(CALL, join_all(calls)).await.expect("every call ends soon");
        assert!(ended.iter().all(|call| matches!(call, Ok(false))));
    });
}
