//! The live source: every change once, whole revisions in order, whatever happens to the
//! connection and the store.

use std::time::Duration;

use lockscope::config::Connection;
use lockscope::domain::{Alarm, AlarmKind, Key, KeyRange, LeaseId, Millis};
use lockscope::event::{LinkState, Observation, WatchLoss};
use lockscope::port::{Client, Delete, Etcd, Op, Put, Txn};
use lockscope::source::Watching;
use tokio::sync::oneshot;

use crate::auth;
use crate::common::{
    behind_proxy, client, clock, compact, ctl, delete, fill, on_every_etcd, on_every_real_etcd, put, settings,
};
use crate::oneshot::raise_alarm;
use crate::support::etcd;
use crate::support::proxy::Proxy;
use crate::support::running::block_on;
use crate::watcher::Watcher;

fn prefixes(names: &[&str]) -> Watching {
    Watching::Prefixes(names.iter().map(|name| name.as_bytes().to_vec()).collect())
}

/// Writes to three prefixes without pause, single keys and transactions over all, until told to
/// stop; the revisions of the transactions and the last of all.
fn write_on(etcd: Client) -> (oneshot::Sender<()>, tokio::task::JoinHandle<(Vec<i64>, i64)>) {
    let (stop, mut stopped) = oneshot::channel();
    let task = tokio::spawn(async move {
        let (mut transactions, mut last) = (Vec::new(), 0);
        for n in 0.. {
            if stopped.try_recv() != Err(oneshot::error::TryRecvError::Empty) {
                break;
            }
            let key = |prefix: &str| Key::from(&*format!("/{prefix}/{}", n % 7));
            let one = |prefix| Op::Put(Put { key: key(prefix), value: n.to_string().into(), lease: LeaseId::NONE });
            last = if n % 3 == 0 {
                let ops = vec![one("a"), one("b"), one("c")];
                let done = etcd.txn(Txn { then: ops, ..Txn::default() }).await.expect("written");
                transactions.push(done.header.revision.0);
                done.header.revision.0
            } else if n % 5 == 0 {
                etcd.delete(Delete { range: KeyRange::single(&key("b")) }).await.expect("deleted").header.revision.0
            } else {
                put(&etcd, &format!("/a/{}", n % 11), &n.to_string()).await
            };
        }
        // so that the last revision touches a key in any case
        last = last.max(put(&etcd, "/a/end", "").await);
        (transactions, last)
    });
    (stop, task)
}

/// Every revision that changed three keys must have been told with all three, unless a list
/// told of it.
fn assert_whole(watcher: &Watcher, transactions: &[i64]) {
    let read_anew = watcher.lost(|loss| !matches!(loss, WatchLoss::Transport { .. }));
    if read_anew > 0 {
        return;
    }
    let changes = &watcher.replay.changes;
    let first = changes.first().map_or(0, |change| change.revision.0);
    for &revision in transactions.iter().filter(|&&revision| revision >= first) {
        let parts = changes.iter().filter(|change| change.revision.0 == revision).count();
        assert!(parts == 3 || parts == 0, "revision {revision} came with {parts} of 3 changes");
    }
}

#[test]
fn changes_during_and_after_the_first_list_come_once() {
    on_every_etcd("changes_during_and_after_the_first_list_come_once", async |kind| {
        let cluster = kind.cluster().start();
        let etcd = client(&cluster.endpoint(0)).await;
        fill(&etcd, 30_000, "v").await;
        for scope in [&["/"][..], &["/a/"], &["/a/", "/b/", "/c/", "/many/"]] {
            let (stop, writer) = write_on(etcd.clone());
            let mut watcher = Watcher::start(settings(&cluster.endpoints()), prefixes(scope));
            watcher.until_live().await;
            watcher.until("many changes", |watcher| watcher.replay.changes.len() > 500).await;
            stop.send(()).unwrap();
            let (transactions, last) = writer.await.unwrap();
            watcher.until_revision(last).await;
            if scope.len() != 1 || scope[0] == "/" {
                assert_whole(&watcher, &transactions);
            }
            assert_eq!(watcher.lost(|_| true), 0, "{kind}: nothing was lost");
            watcher.check(&etcd).await;
        }
    });
}

#[test]
fn ranges_with_much_between_them_have_watches_of_their_own_and_one_order() {
    on_every_etcd("ranges_with_much_between_them_have_watches_of_their_own_and_one_order", async |kind| {
        let cluster = kind.cluster().start();
        let etcd = client(&cluster.endpoint(0)).await;
        // between /a/ and /c/ lie too many keys for one watch around all
        for n in 0..80 {
            let put =
                |m| Op::Put(Put { key: Key::from(&*format!("/aa/{n}/{m}")), value: Vec::new(), lease: LeaseId::NONE });
            etcd.txn(Txn { then: (0..100).map(put).collect(), ..Txn::default() }).await.unwrap();
        }
        let mut watcher = Watcher::start(settings(&cluster.endpoints()), prefixes(&["/a/", "/b/", "/c/"]));
        watcher.until_live().await;
        let (stop, writer) = write_on(etcd.clone());
        watcher.until("many changes", |watcher| watcher.replay.changes.len() > 3_000).await;
        stop.send(()).unwrap();
        let (transactions, last) = writer.await.unwrap();
        watcher.until_revision(last).await;
        assert_whole(&watcher, &transactions);
        if kind.at_least(3, 5, 8) {
            assert_eq!(watcher.lost(|_| true), 0, "{kind}: such a server tells when a revision is complete");
        }
        watcher.check(&etcd).await;
    });
}

/// Makes more revisions than are waited for; the last of them.
async fn write_much(etcd: &Client) -> i64 {
    let writers = (0..32).map(|writer| {
        let etcd = etcd.clone();
        tokio::spawn(async move {
            for n in 0..330 {
                put(&etcd, &format!("/a/{writer}"), &n.to_string()).await;
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.expect("all is written");
    }
    put(etcd, "/a/last", "v").await
}

/// Cuts the connection, does something, and opens it again.
async fn cut(proxy: &Proxy, watcher: &mut Watcher, meanwhile: impl Future<Output = ()>) {
    proxy.cut();
    watcher.until("lost", |watcher| !watcher.is_live()).await;
    meanwhile.await;
    proxy.open();
}

#[test]
fn a_cut_watch_resumes_with_more_than_four_megabytes_missed() {
    on_every_etcd("a_cut_watch_resumes_with_more_than_four_megabytes_missed", async |kind| {
        for strangers in [0, 8_000] {
            let (cluster, proxy) = behind_proxy(&kind);
            let etcd = client(&cluster.endpoint(0)).await;
            fill(&etcd, strangers, "").await;
            let mut watcher = Watcher::start(settings(&[proxy.endpoint()]), prefixes(&["/a/", "/n/", "/z/"]));
            put(&etcd, "/a/first", "v").await;
            watcher.until_live().await;
            let pages = watcher.pages;
            let before = watcher.replay.changes.len();
            let large = "x".repeat(10_000);
            let mut last = 0;
            cut(&proxy, &mut watcher, async {
                for n in 0..600 {
                    last = put(&etcd, &format!("/{}/{}", ["a", "n", "z"][n % 3], n % 20), &large).await;
                }
                delete(&etcd, "/a/first").await;
                let keys = ["/a/t", "/n/t", "/z/t"].map(|key| Op::Put(Put { key: key.into(), ..Put::default() }));
                last = etcd.txn(Txn { then: keys.to_vec(), ..Txn::default() }).await.unwrap().header.revision.0;
            })
            .await;
            watcher.until_revision(last).await;
            assert_eq!(watcher.replay.changes.len() - before, 604, "{kind}: every change once");
            assert_eq!(watcher.pages, pages, "{kind}: nothing was read anew");
            assert_eq!(watcher.lost(|loss| matches!(loss, WatchLoss::Transport { .. })), 1);
            let retrying = |what: &&Observation| matches!(what, Observation::Link(LinkState::Retrying { why, .. }) if !why.is_empty());
            assert!(watcher.seen.iter().any(|what| retrying(&what)));
            watcher.check(&etcd).await;
        }
    });
}

#[test]
fn cuts_in_the_middle_of_everything_lose_and_repeat_nothing() {
    on_every_etcd("cuts_in_the_middle_of_everything_lose_and_repeat_nothing", async |kind| {
        for strangers in [0, 8_000] {
            let (cluster, proxy) = behind_proxy(&kind);
            let etcd = client(&cluster.endpoint(0)).await;
            fill(&etcd, strangers, "").await;
            let mut watcher = Watcher::start(settings(&[proxy.endpoint()]), prefixes(&["/a/", "/b/", "/c/", "/z/"]));
            let (stop, writer) = write_on(etcd.clone());
            for round in 1..=8_u64 {
                watcher.for_a_while(Duration::from_millis(37 * round)).await;
                proxy.cut();
                watcher.for_a_while(Duration::from_millis(11 * round)).await;
                proxy.open();
            }
            watcher.until_live().await;
            stop.send(()).unwrap();
            let (transactions, last) = writer.await.unwrap();
            watcher.until_revision(last).await;
            assert_whole(&watcher, &transactions);
            watcher.check(&etcd).await;
        }
    });
}

#[test]
fn after_a_long_gap_everything_is_read_anew_at_once() {
    on_every_etcd("after_a_long_gap_everything_is_read_anew_at_once", async |kind| {
        let (cluster, proxy) = behind_proxy(&kind);
        let etcd = client(&cluster.endpoint(0)).await;
        let mut watcher = Watcher::start(settings(&[proxy.endpoint()]), prefixes(&["/a/"]));
        put(&etcd, "/a/first", "v").await;
        watcher.until_live().await;
        let pages = watcher.pages;
        let mut last = 0;
        cut(&proxy, &mut watcher, async { last = write_much(&etcd).await }).await;
        watcher.until_revision(last).await;
        assert_eq!(watcher.pages, pages + 1, "{kind}");
        assert_eq!(watcher.lost(|loss| matches!(loss, WatchLoss::Skipped { .. })), 1, "{kind}");
        watcher.check(&etcd).await;
    });
}

#[test]
fn a_member_that_is_back_is_read_although_the_next_try_is_seconds_away() {
    on_every_etcd("a_member_that_is_back_is_read_although_the_next_try_is_seconds_away", async |kind| {
        let (_cluster, proxy) = behind_proxy(&kind);
        let mut watcher = Watcher::start(settings(&[proxy.endpoint()]), prefixes(&["/a/"]));
        watcher.until_live().await;
        let polled = |what: &Observation| matches!(what, Observation::Status { answer: Ok(_), .. });
        watcher.until("a member", |watcher| watcher.seen.iter().any(polled)).await;
        proxy.cut();
        let next_try = |watcher: &Watcher| {
            watcher.seen.iter().rev().find_map(|what| match what {
                // The waits have doubled to some seconds by then, and the member is asked more often.
                Observation::Link(LinkState::Retrying { attempt: 7.., next_at, .. }) => Some(*next_at),
                _ => None,
            })
        };
        watcher.until("a long wait", |watcher| next_try(watcher).is_some()).await;
        proxy.open();
        watcher.until("live", Watcher::is_live).await;
        let late = clock().now() - next_try(&watcher).expect("it was told");
        assert!(late < Millis(0), "{kind}: {late:?} after the wait");
        watcher.stop().await;
    });
}

#[test]
fn what_a_long_gap_skipped_is_told_afterwards_in_order_and_once() {
    on_every_etcd("what_a_long_gap_skipped_is_told_afterwards_in_order_and_once", async |kind| {
        let (cluster, proxy) = behind_proxy(&kind);
        let etcd = client(&cluster.endpoint(0)).await;
        // two ranges, and keys between them that are nobody's business
        let mut watcher = Watcher::start(settings(&[proxy.endpoint()]), prefixes(&["/a/", "/c/"]));
        let first = put(&etcd, "/a/first", "v").await;
        watcher.until_live().await;
        let mut last = 0;
        cut(&proxy, &mut watcher, async {
            put(&etcd, "/b/between", "v").await;
            last = write_much(&etcd).await;
        })
        .await;
        watcher.until("some of it", |watcher| watcher.late.len() > 1_000).await;
        // what happens now, and another cut, change nothing about it
        let mut now = 0;
        cut(&proxy, &mut watcher, async { now = put(&etcd, "/c/now", "v").await }).await;
        watcher.until_revision(now).await;
        watcher.until("all of it", |watcher| watcher.replay_end().is_some()).await;
        assert_eq!(watcher.replay_end(), Some((last, None)), "{kind}");
        let told: Vec<_> = watcher.late.iter().map(|change| change.revision.0).collect();
        assert_eq!(told, (first + 2..=last).collect::<Vec<_>>(), "{kind}");
        watcher.check(&etcd).await;
    });
}

#[test]
fn what_a_long_gap_skipped_and_was_compacted_is_said_to_be_lost() {
    on_every_etcd("what_a_long_gap_skipped_and_was_compacted_is_said_to_be_lost", async |kind| {
        let (cluster, proxy) = behind_proxy(&kind);
        let etcd = client(&cluster.endpoint(0)).await;
        let mut watcher = Watcher::start(settings(&[proxy.endpoint()]), prefixes(&["/a/"]));
        let first = put(&etcd, "/a/first", "v").await;
        watcher.until_live().await;
        let mut last = 0;
        cut(&proxy, &mut watcher, async {
            last = write_much(&etcd).await;
            compact(&cluster.endpoint(0), last - 10).await;
        })
        .await;
        watcher.until("that it is lost", |watcher| watcher.replay_end().is_some()).await;
        let (through, why) = watcher.replay_end().unwrap();
        assert_eq!(through, first, "{kind}");
        assert!(why.is_some_and(|why| why.contains("compacted")), "{kind}: {why:?}");
        assert!(watcher.late.is_empty(), "{kind}");
        watcher.check(&etcd).await;
    });
}

#[test]
fn a_compaction_while_the_watch_is_cut_is_told_and_read_over() {
    on_every_etcd("a_compaction_while_the_watch_is_cut_is_told_and_read_over", async |kind| {
        for strangers in [0, 8_000] {
            let (cluster, proxy) = behind_proxy(&kind);
            let etcd = client(&cluster.endpoint(0)).await;
            fill(&etcd, strangers, "").await;
            let mut watcher = Watcher::start(settings(&[proxy.endpoint()]), prefixes(&["/a/", "/z/"]));
            put(&etcd, "/a/first", "v").await;
            watcher.until_live().await;
            let mut compacted = 0;
            cut(&proxy, &mut watcher, async {
                for n in 0..20 {
                    compacted = put(&etcd, &format!("/a/{n}"), "v").await;
                }
                delete(&etcd, "/a/first").await;
                compact(&cluster.endpoint(0), compacted).await;
            })
            .await;
            let last = put(&etcd, "/z/last", "v").await;
            watcher.until_revision(last).await;
            let told = watcher.lost(|loss| matches!(loss, WatchLoss::Compacted { at } if at.0 == compacted));
            assert!(told >= 1, "{kind}: {:?}", watcher.seen);
            watcher.check(&etcd).await;
        }
    });
}

#[test]
fn a_store_that_began_anew_is_noticed() {
    on_every_etcd("a_store_that_began_anew_is_noticed", async |kind| {
        for writes in [1, 60] {
            let mut cluster = kind.cluster().members(1).start();
            let etcd = client(&cluster.endpoint(0)).await;
            let mut watcher = Watcher::start(settings(&cluster.endpoints()), prefixes(&["/a/"]));
            watcher.until_live().await;
            // leases make the log longer than the revisions: fewer writes hide behind them
            for n in 0..40 {
                put(&etcd, &format!("/a/{n}"), "old").await;
                etcd.grant(LeaseId::NONE, 600).await.unwrap();
                etcd.grant(LeaseId::NONE, 600).await.unwrap();
            }
            watcher.until("all of the old store", |watcher| watcher.replay.keys.len() == 40).await;
            // the log's length is learnt from time to time
            watcher.for_a_while(Duration::from_secs(3)).await;
            cluster.kill(0);
            watcher.until("lost", |watcher| !watcher.is_live()).await;
            cluster.restart_empty();
            cluster.healthy();
            let mut last = 0;
            for n in 0..writes {
                last = put(&etcd, &format!("/a/new-{n}"), "new").await;
            }
            watcher
                .until("only the new store", |watcher| watcher.is_live() && watcher.replay.keys.len() == writes)
                .await;
            watcher.until_revision(last).await;
            let told = watcher.lost(|loss| matches!(loss, WatchLoss::BeganAnew { .. }));
            assert_eq!(told, 1, "{kind} after {writes} writes: {:?}", watcher.seen);
            // the model forgets the members with the old store
            let members = |watcher: &Watcher| {
                let anew = |what: &Observation| matches!(what, Observation::WatchLost(WatchLoss::BeganAnew { .. }));
                let since = watcher.seen.iter().position(anew).unwrap_or_default();
                watcher.seen[since..].iter().any(|what| matches!(what, Observation::Members(_)))
            };
            watcher.until("the members again", members).await;
            watcher.check(&etcd).await;
        }
    });
}

#[test]
fn another_cluster_behind_the_same_address_is_read_anew() {
    on_every_etcd("another_cluster_behind_the_same_address_is_read_anew", async |kind| {
        let (first, proxy) = behind_proxy(&kind);
        let second = kind.cluster().start();
        let (one, two) = (client(&first.endpoint(0)).await, client(&second.endpoint(0)).await);
        put(&one, "/a/one", "v").await;
        for n in 0..50 {
            put(&two, &format!("/a/two-{n}"), "v").await;
        }
        let mut watcher = Watcher::start(settings(&[proxy.endpoint()]), prefixes(&["/a/"]));
        watcher.until_live().await;
        proxy.lead_to(second.address(0));
        proxy.cut();
        proxy.open();
        watcher.until("the second cluster", |watcher| watcher.replay.keys.len() == 50).await;
        let clusters: Vec<_> = watcher
            .seen
            .iter()
            .filter_map(|what| if let Observation::Cluster(id) = what { Some(id) } else { None })
            .collect();
        assert!(clusters.len() == 2 && clusters[0] != clusters[1], "{kind}: {clusters:?}");
        let last = put(&two, "/a/more", "v").await;
        watcher.until_revision(last).await;
        watcher.check(&two).await;
    });
}

#[test]
fn a_prefix_that_is_granted_later_is_read_then() {
    // With one version: it waits until the prefix is tried again.
    let Some(version) = etcd::newest("a_prefix_that_is_granted_later_is_read_then") else { return };
    block_on(async {
        let cluster = version.cluster().start();
        auth::enable(&cluster);
        let root = Client::connect(&cluster.endpoint(0), &auth::as_user(&cluster, "root", "pw")).await.unwrap();
        put(&root, "/a/1", "v").await;
        put(&root, "/b/1", "v").await;
        let mut watcher = Watcher::start(auth::as_user(&cluster, "ann", "secret"), prefixes(&["/a/", "/b/"]));
        let denied = |what: &Observation| matches!(what, Observation::Denied(_));
        watcher.until("denied", |watcher| watcher.is_live() && watcher.seen.iter().any(denied)).await;
        let grant = ["role", "grant-permission", "--prefix=true", "a-only", "read", "/b/"];
        ctl(&cluster, &[&["--user=root:pw"], &grant[..]].concat());
        put(&root, "/a/2", "v").await;
        watcher.until("what was denied", |watcher| watcher.replay.keys.len() == 3).await;
        let last = put(&root, "/b/2", "v").await;
        watcher.until_revision(last).await;
        let live = watcher.seen.iter().filter(|what| matches!(what, Observation::Link(LinkState::Live { .. })));
        assert_eq!(live.count(), 1, "on the connection that there was");
        let denials = watcher.seen.iter().filter(|what| denied(what));
        assert_eq!(denials.count(), 1, "told once, however often it is tried");
        assert_eq!(watcher.lost(|_| true), 0);
        watcher.check(&root).await;
    });
}

#[test]
fn a_denied_prefix_is_told_and_the_other_is_watched() {
    on_every_real_etcd("a_denied_prefix_is_told_and_the_other_is_watched", async |version| {
        let advertised = "--advertise-client-urls=http://127.0.0.1:9";
        let cluster = version.cluster().flag("--auth-token-ttl=2").flag(advertised).start();
        auth::enable(&cluster);
        let root = Client::connect(&cluster.endpoint(0), &auth::as_user(&cluster, "root", "pw")).await.unwrap();
        put(&root, "/a/1", "v").await;
        put(&root, "/b/1", "v").await;
        let proxy = Proxy::start(cluster.address(0));
        let settings = Connection { endpoints: vec![proxy.endpoint()], ..auth::as_user(&cluster, "ann", "secret") };
        let mut watcher = Watcher::start(settings, prefixes(&["/a/", "/b/"]));
        let denied = |what: &Observation| matches!(what, Observation::Denied(denied) if denied.range == KeyRange::prefix(b"/b/") && denied.user == "ann");
        watcher.until("denied", |watcher| watcher.seen.iter().any(denied)).await;
        watcher.until("the rest", |watcher| watcher.is_live() && watcher.replay.keys.len() == 1).await;
        let last = put(&root, "/a/2", "v").await;
        watcher.until_revision(last).await;
        // a login that ran out ends no watch, and the next connection logs in again
        watcher.for_a_while(Duration::from_secs(4)).await;
        let last = put(&root, "/a/3", "v").await;
        watcher.until_revision(last).await;
        cut(&proxy, &mut watcher, async {
            put(&root, "/a/4", "v").await;
        })
        .await;
        let last = put(&root, "/a/5", "v").await;
        watcher.until_revision(last).await;
        assert_eq!(watcher.replay.keys.len(), 5, "{version}");
        watcher.stop().await;
    });
}

#[test]
fn a_slow_reader_slows_the_server_and_loses_nothing() {
    on_every_etcd("a_slow_reader_slows_the_server_and_loses_nothing", async |kind| {
        for strangers in [0, 8_000] {
            let cluster = kind.cluster().start();
            let etcd = client(&cluster.endpoint(0)).await;
            fill(&etcd, strangers, "").await;
            let mut watcher = Watcher::start(settings(&cluster.endpoints()), prefixes(&["/a/", "/b/", "/c/", "/z/"]));
            watcher.until_live().await;
            let large = "x".repeat(30_000);
            let mut last = 0;
            for n in 0..1_000 {
                let keys = ["/a/k", "/b/k", "/c/k"]
                    .map(|key| Op::Put(Put { key: key.into(), value: large.clone().into(), ..Put::default() }));
                last =
                    etcd.txn(Txn { then: keys[..=n % 3].to_vec(), ..Txn::default() }).await.unwrap().header.revision.0;
            }
            watcher.until_revision(last).await;
            watcher.until_as_in(&etcd).await;
            if strangers == 0 || kind.at_least(3, 5, 8) {
                assert_eq!((watcher.lost(|_| true), watcher.replay.changes.len()), (0, 1_999), "{kind}");
            }
            watcher.check(&etcd).await;
        }
    });
}

#[test]
fn wishes_to_ask_leases_that_come_during_a_burst_are_asked_together() {
    on_every_etcd("wishes_to_ask_leases_that_come_during_a_burst_are_asked_together", async |kind| {
        let cluster = kind.cluster().start();
        let mut watcher = Watcher::start(settings(&cluster.endpoints()), prefixes(&["/a/"]));
        watcher.until_live().await;
        let asked = |what: &Observation| matches!(what, Observation::LeaseTtl(_));
        watcher.polls.send((1..=3_000).map(LeaseId).collect()).await.unwrap();
        watcher.until("the first burst", |watcher| watcher.seen.iter().any(asked)).await;
        for wish in [vec![4_001], vec![4_002, 4_001], vec![4_003]] {
            watcher.polls.send(wish.into_iter().map(LeaseId).collect()).await.unwrap();
        }
        let costs = |watcher: &Watcher| -> Vec<_> {
            let cost =
                |what: &Observation| if let Observation::LeasesPolled(cost) = what { Some(cost.asked) } else { None };
            watcher.seen.iter().filter_map(cost).collect()
        };
        watcher.until("two bursts", |watcher| costs(watcher).len() == 2).await;
        watcher.for_a_while(Duration::from_millis(300)).await;
        assert_eq!(costs(&watcher), [3_000, 3], "{kind}");
        let answers = watcher.seen.iter().filter(|what| asked(what)).count();
        assert_eq!(answers, 3_003, "{kind}: every question of a burst is answered");
        watcher.stop().await;
    });
}

#[test]
fn an_alarm_is_told_when_it_is_raised() {
    on_every_real_etcd("an_alarm_is_told_when_it_is_raised", async |version| {
        let cluster = version.cluster().start();
        let etcd = client(&cluster.endpoint(0)).await;
        let mut watcher = Watcher::start(settings(&cluster.endpoints()), prefixes(&["/a/"]));
        let alarms = |watcher: &Watcher| {
            let alarms =
                |what: &Observation| if let Observation::Alarms(alarms) = what { Some(alarms.clone()) } else { None };
            watcher.seen.iter().rev().find_map(alarms)
        };
        watcher.until("no alarm", |watcher| alarms(watcher) == Some(Vec::new())).await;
        let member = etcd.status().await.unwrap().0.member;
        raise_alarm(&cluster.endpoint(0), member.0).await;
        let raised = Some(vec![Alarm { member, kind: AlarmKind::NoSpace }]);
        watcher.until("the alarm", |watcher| alarms(watcher) == raised).await;
        assert_eq!(etcd.alarms().await.ok(), raised, "{version}");
        watcher.stop().await;
    });
}

#[test]
fn it_ends_soon_whatever_it_waits_for() {
    on_every_etcd("it_ends_soon_whatever_it_waits_for", async |kind| {
        let cluster = kind.cluster().members(1).start();
        let etcd = client(&cluster.endpoint(0)).await;
        Watcher::start(settings(&["http://127.0.0.1:1".to_owned()]), Watching::Discover).stop().await;
        // nobody reads: it waits to send
        let unread = Watcher::start(settings(&cluster.endpoints()), prefixes(&[""]));
        fill(&etcd, 2_000, "").await;
        unread.stop().await;
        cluster.pause(0);
        let mut silent = Watcher::start(settings(&cluster.endpoints()), prefixes(&[""]));
        silent.for_a_while(Duration::from_millis(300)).await;
        silent.stop().await;
        cluster.resume(0);
    });
}
