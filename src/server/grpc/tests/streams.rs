//! What goes on while a client waits: many watches, slow readers, callers who leave, members
//! that lose their leader or stop.

use std::collections::BTreeSet;
use std::time::Duration;

use etcd_client::{
    Client, ConnectOptions, DeleteOptions, Error, EventType, GetOptions, LeaseGrantOptions, LockOptions, WatchOptions,
    WatchStream,
};

use crate::server::grpc::testing::Served;

/// Long enough for anything here; nothing waits for it to pass.
const END: Duration = Duration::from_secs(30);

async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(END, work).await.expect("it ends in time")
}

fn refused<T>(answer: Result<T, Error>) -> String {
    match answer {
        Err(Error::GRpcStatus(status)) => format!("{:?}: {}", status.code(), status.message()),
        Err(other) => panic!("not refused by the server: {other}"),
        Ok(_) => panic!("not refused"),
    }
}

/// The next changes of a stream: watch, key, revision.
async fn next(stream: &mut WatchStream) -> Vec<(i64, String, i64)> {
    let answer = within(stream.message()).await.expect("the stream is open").expect("it goes on");
    assert!(!answer.canceled(), "{answer:?}");
    let of = |event: &etcd_client::Event| {
        let kv = event.kv().expect("an event has a key");
        (answer.watch_id(), kv.key_str().expect("it is text").to_owned(), kv.mod_revision())
    };
    answer.events().iter().map(of).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_thousand_watches_on_a_stream_each_is_told_what_concerns_it() {
    let served = Served::start().await;
    let mut client = served.client().await;
    let mut stream = client.watch("k0000", None).await.unwrap();
    within(stream.message()).await.unwrap();
    for n in 1..1000 {
        let options = WatchOptions::new().with_watch_id(n);
        let (key, options) = if n % 2 == 0 { (n, options) } else { (n, options.with_prefix()) };
        stream.watch(format!("k{key:04}"), Some(options)).await.unwrap();
        assert_eq!(within(stream.message()).await.unwrap().unwrap().watch_id(), n);
    }
    stream.watch("k", Some(WatchOptions::new().with_prefix().with_watch_id(5000))).await.unwrap();
    within(stream.message()).await.unwrap();
    for n in 0..1000 {
        client.put(format!("k{n:04}"), "", None).await.unwrap();
    }
    let mut seen = BTreeSet::new();
    while seen.len() < 2000 {
        for (watch, key, revision) in next(&mut stream).await {
            assert!(seen.insert((watch, key, revision)), "told twice");
        }
    }
    let expected = (0..1000).flat_map(|n| [(n, n), (5000, n)]);
    assert!(
        seen.into_iter().eq(expected.map(|(watch, n)| (watch, format!("k{n:04}"), n + 2)).collect::<BTreeSet<_>>())
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_streams_are_told_of_one_put() {
    let mut served = Served::start().await;
    let mut client = served.client().await;
    let mut streams = Vec::new();
    for _ in 0..1000 {
        let mut stream = client.watch("k", None).await.unwrap();
        within(stream.message()).await.unwrap();
        streams.push(stream);
    }
    client.put("other", "", None).await.unwrap();
    client.put("k", "", None).await.unwrap();
    for stream in &mut streams {
        assert_eq!(next(stream).await, [(0, "k".to_owned(), 3)]);
    }
    let mut told = 0;
    while told < 1000 {
        let (revision, watches) = within(served.told.recv()).await.unwrap();
        assert_eq!(revision.0, 3);
        told += watches;
    }
    assert_eq!(told, 1000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_revision_comes_in_parts_for_who_asks() {
    let served = Served::start().await;
    let mut client = served.client().await;
    let mut watching = client.watch_client().max_decoding_message_size(16 << 20);
    let options = || WatchOptions::new().with_prefix().with_prev_key();
    let mut whole = watching.watch("k", Some(options())).await.unwrap();
    let mut parts = watching.watch("k", Some(options().with_fragment())).await.unwrap();
    within(whole.message()).await.unwrap();
    within(parts.message()).await.unwrap();
    for n in 0..5 {
        client.put(format!("k{n}"), vec![b'v'; 1_000_000], None).await.unwrap();
        assert_eq!(next(&mut whole).await.len(), 1);
        assert_eq!(next(&mut parts).await.len(), 1);
    }
    client.delete("k", Some(DeleteOptions::new().with_prefix())).await.unwrap();
    assert_eq!(next(&mut whole).await.len(), 5);
    let mut sizes = Vec::new();
    while sizes.iter().sum::<usize>() < 5 {
        sizes.push(next(&mut parts).await.len());
    }
    assert_eq!(sizes, [2, 2, 1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_reads_slowly_holds_nobody_up_and_misses_nothing() {
    let served = Served::start().await;
    let mut client = served.client().await;
    let mut slow = served.client().await.watch("k", None).await.unwrap();
    within(slow.message()).await.unwrap();
    for _ in 0..40 {
        within(client.put("k", vec![b'v'; 500_000], None)).await.unwrap();
    }
    let mut revisions = Vec::new();
    while revisions.len() < 40 {
        revisions.extend(next(&mut slow).await.into_iter().map(|(_, _, revision)| revision));
    }
    assert_eq!(revisions, (2..42).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_granted_lock_stays_when_its_caller_leaves() {
    let served = Served::start().await;
    let mut holder = served.client().await;
    let mut client = served.client().await;
    for id in [1, 2] {
        client.lease_grant(60, Some(LeaseGrantOptions::new().with_id(id))).await.unwrap();
    }
    let lock = |id| Some(LockOptions::new().with_lease(id));
    holder.lock("name", lock(1)).await.unwrap();
    drop(holder);
    let mut watch = client.watch("name/", Some(WatchOptions::new().with_prefix())).await.unwrap();
    within(watch.message()).await.unwrap();
    // One who waits comes and goes behind it: when he is gone, the other would be.
    let mut waiter = served.client().await;
    let waiting = tokio::spawn(async move { waiter.lock("name", lock(2)).await.map(drop) });
    assert_eq!(next(&mut watch).await[0].1, "name/2");
    waiting.abort();
    let gone = within(watch.message()).await.unwrap().unwrap();
    assert_eq!(gone.events()[0].event_type(), EventType::Delete);
    let left = client.get("name/", Some(GetOptions::new().with_prefix())).await.unwrap();
    assert_eq!(left.kvs().iter().map(|kv| kv.key_str().unwrap()).collect::<Vec<_>>(), ["name/1"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_that_ends_hands_its_lock_over() {
    let served = Served::start().await;
    let mut client = served.client().await;
    let short = client.lease_grant(2, None).await.unwrap().id();
    let long = client.lease_grant(60, None).await.unwrap().id();
    client.lock("name", Some(LockOptions::new().with_lease(short))).await.unwrap();
    let next = within(client.lock("name", Some(LockOptions::new().with_lease(long)))).await.unwrap();
    assert_eq!(next.key(), format!("name/{long:x}").as_bytes());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_loses_his_place_while_he_waits_is_told() {
    let served = Served::start().await;
    let mut client = served.client().await;
    for id in [1, 2] {
        client.lease_grant(60, Some(LeaseGrantOptions::new().with_id(id))).await.unwrap();
    }
    let lock = |id| Some(LockOptions::new().with_lease(id));
    client.lock("name", lock(1)).await.unwrap();
    let mut watch = client.watch("name/2", None).await.unwrap();
    within(watch.message()).await.unwrap();
    let mut waiter = client.clone();
    let waiting = tokio::spawn(async move { waiter.lock("name", lock(2)).await });
    assert_eq!(next(&mut watch).await.len(), 1);
    client.lease_revoke(2).await.unwrap();
    client.unlock("name/1").await.unwrap();
    assert_eq!(refused(within(waiting).await.unwrap()), "Unknown: mutex: session is expired");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_leader_only_those_who_want_one_are_refused() {
    let served = Served::start().await;
    let wanting = ConnectOptions::new().with_require_leader(true);
    let mut wanting = Client::connect([served.address.to_string()], Some(wanting)).await.unwrap();
    let mut client = served.client().await;
    let mut ends = wanting.watch("k", None).await.unwrap();
    let mut stays = client.watch("k", None).await.unwrap();
    within(ends.message()).await.unwrap();
    within(stays.message()).await.unwrap();
    served.board.send_modify(|board| board.leader = None);
    assert_eq!(refused(wanting.get("k", None).await), "Unavailable: etcdserver: no leader");
    client.put("k", "", None).await.unwrap();
    assert_eq!(next(&mut stays).await.len(), 1);
    let status = client.status().await.unwrap();
    assert_eq!((status.leader(), status.errors()), (0, &["etcdserver: no leader".to_owned()][..]));
    assert_eq!(next(&mut ends).await.len(), 1);
    assert_eq!(refused(within(ends.message()).await), "Unavailable: etcdserver: no leader");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_learner_answers_only_what_needs_no_vote() {
    let served = Served::start().await;
    let mut client = served.client().await;
    client.put("k", "v", None).await.unwrap();
    served.board.send_modify(|board| board.learner = true);
    let no = "Unavailable: etcdserver: rpc not supported for learner";
    assert_eq!(refused(client.get("k", None).await), no);
    assert_eq!(refused(client.put("k", "", None).await), no);
    assert_eq!(refused(client.watch("k", None).await), no);
    assert_eq!(refused(client.lock("k", None).await), no);
    assert_eq!(client.get("k", Some(GetOptions::new().with_serializable())).await.unwrap().count(), 1);
    assert!(client.status().await.unwrap().is_learner());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_that_stops_ends_what_waits() {
    let served = Served::start().await;
    let mut client = served.client().await;
    let mut watch = client.watch("name", Some(WatchOptions::new().with_prefix())).await.unwrap();
    within(watch.message()).await.unwrap();
    let lock = client.lock("name", None).await.unwrap();
    assert_eq!(next(&mut watch).await[0].1.as_bytes(), lock.key());
    let mut waiter = client.clone();
    let waiting = tokio::spawn(async move { waiter.lock("name", None).await });
    assert_eq!(next(&mut watch).await.len(), 1);
    within(served.stop()).await;
    assert!(refused(watch.message().await).ends_with("etcdserver: server stopped"));
    assert!(refused(within(waiting).await.unwrap()).ends_with("etcdserver: server stopped"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_missing_says_so() {
    let served = Served::start().await;
    let mut client = served.client().await;
    for refused in [
        refused(client.snapshot().await.map(drop)),
        refused(client.user_list().await),
        refused(client.role_add("r").await),
        refused(client.auth_enable().await),
        refused(client.member_update(1, ["http://h:1".to_owned()]).await),
    ] {
        assert!(refused.starts_with("Unimplemented: lockscope: "), "{refused}");
    }
}
