//! Locks that are found while the source runs.

use std::time::Duration;

use lockscope::domain::{KeyRange, LeaseId};
use lockscope::event::Observation;
use lockscope::port::Etcd;
use lockscope::source::Watching;
use tokio::time::Instant;

use crate::auth;
use crate::common::{behind_proxy, client, fill, on_every_etcd, on_every_real_etcd, put, put_leased, settings};
use crate::watcher::Watcher;

fn has(watcher: &Watcher, key: &str) -> bool {
    watcher.replay.keys.keys().any(|known| known.as_bytes() == key.as_bytes())
}

#[test]
fn locks_are_found_when_they_come_and_watched_from_then_on() {
    on_every_etcd("locks_are_found_when_they_come_and_watched_from_then_on", async |kind| {
        for strangers in [0, 8_000] {
            let cluster = kind.cluster().start();
            let etcd = client(&cluster.endpoint(0)).await;
            fill(&etcd, strangers, "").await;
            let mut watcher = Watcher::start(settings(&cluster.endpoints()), Watching::Discover);
            watcher.until("live", Watcher::is_live).await;
            let lease = etcd.grant(LeaseId(0x1f), 600).await.unwrap().lease;
            put(&etcd, "/jobs/reindex/stray", "").await;
            put_leased(&etcd, "/jobs/reindex/1f", "", lease).await;
            let start = Instant::now();
            watcher.until("the lock and its neighbour", |watcher| has(watcher, "/jobs/reindex/stray")).await;
            assert!(start.elapsed() < Duration::from_secs(6), "{kind}: {:?}", start.elapsed());
            // what comes there later is seen at once
            let start = Instant::now();
            put(&etcd, "/jobs/backup/none", "").await;
            watcher.until("a new group", |watcher| has(watcher, "/jobs/backup/none")).await;
            assert!(start.elapsed() < Duration::from_secs(1), "{kind}: {:?}", start.elapsed());
            // other directories join, one by one and many at once, through new leases and known ones
            put_leased(&etcd, "/zoo/keeper/1f", "", lease).await;
            let other = etcd.grant(LeaseId(0x2f), 600).await.unwrap().lease;
            put_leased(&etcd, "/apps/leader/2f", "", other).await;
            watcher.until("both", |watcher| has(watcher, "/zoo/keeper/1f") && has(watcher, "/apps/leader/2f")).await;
            for n in 0..20 {
                let lease = etcd.grant(LeaseId(0x100 + n), 600).await.unwrap().lease;
                put_leased(&etcd, &format!("/top{n}/x/y/{n}"), "", lease).await;
            }
            watcher.until("twenty more", |watcher| watcher.replay.scope.len() >= 23).await;
            watcher.until_live().await;
            let last = put(&etcd, "/top7/x/z", "").await;
            watcher.until_revision(last).await;
            assert!(
                watcher
                    .seen
                    .iter()
                    .any(|what| matches!(what, Observation::LeaseList(leases) if leases.contains(&other)))
            );
            assert_eq!(watcher.lost(|_| true), 0, "{kind}");
            watcher.check(&etcd).await;
        }
    });
}

#[test]
fn a_found_lock_survives_a_cut_and_the_store_beginning_anew() {
    on_every_etcd("a_found_lock_survives_a_cut_and_the_store_beginning_anew", async |kind| {
        let (mut cluster, proxy) = behind_proxy(&kind);
        let etcd = client(&cluster.endpoint(0)).await;
        let lease = etcd.grant(LeaseId(0x1f), 600).await.unwrap().lease;
        for n in 0..20 {
            put_leased(&etcd, &format!("/jobs/reindex/{n}"), "", lease).await;
        }
        let mut watcher = Watcher::start(settings(&[proxy.endpoint()]), Watching::Discover);
        watcher.until("found", |watcher| watcher.is_live() && watcher.replay.keys.len() == 20).await;
        proxy.cut();
        watcher.until("lost", |watcher| !watcher.is_live()).await;
        let last = put(&etcd, "/jobs/reindex/missed", "").await;
        proxy.open();
        watcher.until_revision(last).await;
        cluster.restart_empty();
        cluster.healthy();
        let lease = etcd.grant(LeaseId(0x2f), 600).await.unwrap().lease;
        put_leased(&etcd, "/other/lock/2f", "", lease).await;
        watcher.until("the new store's lock", |watcher| watcher.is_live() && has(watcher, "/other/lock/2f")).await;
        assert_eq!(watcher.replay.scope, [KeyRange::prefix(b"/other/")], "{kind}");
        watcher.stop().await;
    });
}

#[test]
fn who_may_not_list_leases_is_told_to_name_prefixes() {
    on_every_real_etcd("who_may_not_list_leases_is_told_to_name_prefixes", async |version| {
        if !version.at_least(3, 5, 17) {
            return; // older ones let everybody list leases
        }
        let cluster = version.cluster().start();
        let before = client(&cluster.endpoint(0)).await;
        let lease = before.grant(LeaseId(0x1f), 600).await.unwrap().lease;
        put_leased(&before, "/b/lock/1f", "", lease).await;
        auth::enable(&cluster);
        let mut watcher = Watcher::start(auth::as_user(&cluster, "ann", "secret"), Watching::Discover);
        let told = |what: &Observation| matches!(what, Observation::Denied(denied) if denied.why.contains("--prefix") && denied.user == "ann");
        watcher.until("denied", |watcher| watcher.is_live() && watcher.seen.iter().any(told)).await;
        watcher.stop().await;
        let mut watcher = Watcher::start(auth::as_user(&cluster, "root", "pw"), Watching::Discover);
        watcher.until("root finds it", |watcher| has(watcher, "/b/lock/1f")).await;
        watcher.stop().await;
    });
}
