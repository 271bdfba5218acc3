//! The functions that ask once.

use std::collections::BTreeSet;
use std::time::Duration;

use lockscope::domain::{KeyRange, LeaseId};
use lockscope::event::{ListPage, Observation, Stamped};
use lockscope::port::pool::Connected;
use lockscope::port::{Etcd, Pool};
use lockscope::source::{self, Watching};
use tokio::time::Instant;

use crate::auth;
use crate::common::{
    client, clock, compact, ctl, fill, on_every_etcd, on_every_real_etcd, put, put_leased, settings, wait_here,
};
use crate::replay::Replay;

async fn connected(endpoints: &[String]) -> (Pool, Connected) {
    let pool = Pool::new(settings(endpoints));
    let connected = source::connect(&pool).await.expect("the cluster runs");
    (pool, connected)
}

async fn snapshot(connected: &Connected, watching: &Watching) -> Vec<Observation> {
    let mut seen = Vec::new();
    let mut sink = |stamped: Stamped<Observation>| seen.push(stamped.what);
    source::snapshot(connected, watching, &clock(), &mut sink).await.expect("the cluster answers");
    seen
}

fn replay(seen: &[Observation]) -> Replay {
    let mut replay = Replay::default();
    for what in seen {
        replay.take(what);
    }
    assert!(replay.is_complete(), "{seen:?}");
    replay
}

#[test]
fn prefixes_are_read_whole_and_once() {
    on_every_etcd("prefixes_are_read_whole_and_once", async |kind| {
        let cluster = kind.cluster().start();
        let etcd = client(&cluster.endpoint(0)).await;
        put(&etcd, "/a/1", "x").await;
        put(&etcd, "/b/1", "x").await;
        put(&etcd, "/c/1", "x").await;
        let (_, connected) = connected(&cluster.endpoints()).await;
        let prefixes = Watching::Prefixes(vec![b"/c/".into(), b"/a/".into(), b"/a/1".into()]);
        let seen = snapshot(&connected, &prefixes).await;
        assert_eq!(seen[0], Observation::Cluster(connected.header.cluster), "{kind}");
        let read = replay(&seen);
        assert_eq!(read.scope, [KeyRange::prefix(b"/a/"), KeyRange::prefix(b"/c/")]);
        read.assert_equals(&etcd).await;
        let all = replay(&snapshot(&connected, &Watching::Prefixes(vec![Vec::new()])).await);
        assert_eq!(all.keys.len(), 3);
    });
}

#[test]
fn many_keys_come_in_pages_of_one_revision() {
    on_every_etcd("many_keys_come_in_pages_of_one_revision", async |kind| {
        let cluster = kind.cluster().start();
        let etcd = client(&cluster.endpoint(0)).await;
        fill(&etcd, 75_000, "v").await;
        let (_, connected) = connected(&cluster.endpoints()).await;
        let seen = snapshot(&connected, &Watching::Prefixes(vec![b"/many/".into()])).await;
        let pages: Vec<_> = seen
            .iter()
            .filter_map(|what| if let Observation::Listed(page) = what { Some(page) } else { None })
            .collect();
        assert_eq!(pages.iter().map(|page| page.keys.len()).sum::<usize>(), 75_000, "{kind}");
        // A page is handed out in parts of 4,000 keys; each but the last of a page is full.
        let pages_asked = pages.iter().filter(|page| page.keys.len() < 4_000).count();
        assert!(pages_asked > 1, "{kind}: {pages_asked} page");
        let ends = |end: fn(&ListPage) -> bool| pages.iter().map(|page| end(page)).collect::<Vec<_>>();
        assert_eq!(ends(|page| page.first).iter().rposition(|&first| first), Some(0), "{kind}");
        assert_eq!(ends(|page| page.last).iter().position(|&last| last), Some(pages.len() - 1), "{kind}");
        replay(&seen).assert_equals(&etcd).await;
    });
}

#[test]
fn what_is_written_while_a_list_is_read_is_not_in_it() {
    on_every_real_etcd("what_is_written_while_a_list_is_read_is_not_in_it", async |version| {
        let cluster = version.cluster().start();
        let etcd = client(&cluster.endpoint(0)).await;
        fill(&etcd, 120_000, "v").await;
        let (_, connected) = connected(&cluster.endpoints()).await;
        let mut values = Vec::new();
        let mut written = false;
        let mut sink = |stamped: Stamped<Observation>| {
            let Observation::Listed(page) = stamped.what else { return };
            if !written {
                // Pages are asked for one after the other; the last ones are not asked for yet.
                ctl(&cluster, &["put", "/many/119999", "later"]);
                ctl(&cluster, &["del", "/many/119998"]);
                written = true;
            }
            values.extend(page.keys.into_iter().map(|kv| kv.value));
        };
        let many = Watching::Prefixes(vec![b"/many/".into()]);
        source::snapshot(&connected, &many, &clock(), &mut sink).await.expect("the cluster answers");
        assert!(written && values.len() == 120_000 && values.iter().all(|value| value == b"v"), "{version}");
    });
}

#[test]
fn large_values_make_small_pages() {
    on_every_etcd("large_values_make_small_pages", async |kind| {
        let cluster = kind.cluster().start();
        let etcd = client(&cluster.endpoint(0)).await;
        let large = "x".repeat(1 << 20);
        for n in 0..400 {
            put(&etcd, &format!("/many/{n:06}"), &large).await;
        }
        let (_, connected) = connected(&cluster.endpoints()).await;
        let seen = snapshot(&connected, &Watching::Prefixes(vec![b"/many/".into()])).await;
        let pages = seen.iter().filter(|what| matches!(what, Observation::Listed(_))).count();
        assert!(pages > 1, "{kind}: 400 MiB in {pages} page");
        assert_eq!(replay(&seen).keys.len(), 400);
    });
}

#[test]
fn locks_are_found_through_leases_with_their_neighbours() {
    on_every_etcd("locks_are_found_through_leases_with_their_neighbours", async |kind| {
        let cluster = kind.cluster().start();
        let etcd = client(&cluster.endpoint(0)).await;
        let lease = etcd.grant(LeaseId(0x1f), 60).await.unwrap().lease;
        let empty = etcd.grant(LeaseId(0x2f), 60).await.unwrap().lease;
        put_leased(&etcd, "/jobs/reindex/1f", "", lease).await;
        put(&etcd, "/jobs/reindex/stray", "").await;
        put(&etcd, "/jobs/other/README", "").await;
        put_leased(&etcd, "leader", "me", lease).await;
        put(&etcd, "/config/x", "not a lock").await;
        put(&etcd, "/registry/leases/kube-system/scheduler", "k8s").await;
        let (_, connected) = connected(&cluster.endpoints()).await;
        let seen = snapshot(&connected, &Watching::Discover).await;
        let read = replay(&seen);
        let keys: Vec<_> = read.keys.keys().map(|key| String::from_utf8_lossy(key).into_owned()).collect();
        let expected = [
            "/jobs/other/README",
            "/jobs/reindex/1f",
            "/jobs/reindex/stray",
            "/registry/leases/kube-system/scheduler",
            "leader",
        ];
        assert_eq!(keys, expected, "{kind}");
        let listed =
            seen.iter().find_map(|what| if let Observation::LeaseList(leases) = what { Some(leases) } else { None });
        assert_eq!(listed.map(|leases| leases.iter().copied().collect()), Some(BTreeSet::from([lease, empty])));
        let asked = seen.iter().filter(|what| matches!(what, Observation::LeaseTtl(ttl) if ttl.keys.is_some())).count();
        assert_eq!(asked, 2);
    });
}

#[test]
fn an_empty_cluster_has_nothing_to_find() {
    on_every_etcd("an_empty_cluster_has_nothing_to_find", async |kind| {
        let cluster = kind.cluster().start();
        let (_, connected) = connected(&cluster.endpoints()).await;
        let seen = snapshot(&connected, &Watching::Discover).await;
        let expected = [
            Observation::Cluster(connected.header.cluster),
            Observation::LeaseList(Vec::new()),
            Observation::Scope(Vec::new()),
        ];
        assert_eq!(seen, expected, "{kind}");
    });
}

#[test]
fn a_denied_prefix_hides_no_other() {
    on_every_real_etcd("a_denied_prefix_hides_no_other", async |version| {
        let cluster = version.cluster().start();
        let before = client(&cluster.endpoint(0)).await;
        put(&before, "/a/1", "x").await;
        put(&before, "/b/1", "x").await;
        auth::enable(&cluster);
        let pool = Pool::new(auth::as_user(&cluster, "ann", "secret"));
        let connected = source::connect(&pool).await.unwrap();
        let seen = snapshot(&connected, &Watching::Prefixes(vec![b"/a/".into(), b"/b/".into()])).await;
        let denied: Vec<_> = seen
            .iter()
            .filter_map(|what| if let Observation::Denied(denied) = what { Some(denied) } else { None })
            .collect();
        assert_eq!(denied.len(), 1, "{version}");
        assert_eq!((&denied[0].range, &*denied[0].user), (&KeyRange::prefix(b"/b/"), "ann"));
        assert!(seen.iter().any(|what| matches!(what, Observation::Listed(page) if page.keys.len() == 1)), "{seen:?}");
    });
}

#[test]
fn leases_are_asked_of_the_leader_in_one_burst() {
    on_every_etcd("leases_are_asked_of_the_leader_in_one_burst", async |kind| {
        let cluster = kind.cluster().members(3).start();
        let etcd = client(&cluster.endpoint(0)).await;
        for id in 1..=40 {
            etcd.grant(LeaseId(id), 60).await.unwrap();
        }
        let leases: Vec<_> = (1..=41).map(LeaseId).collect();
        for n in 0..3 {
            let (pool, connected) = connected(&[cluster.endpoint(n)]).await;
            let mut seen = Vec::new();
            let mut sink = |stamped: Stamped<Observation>| seen.push(stamped.what);
            let cost = source::poll_leases(&pool, &connected, &leases, false, &clock(), &mut sink).await.cost;
            assert_eq!((cost.asked, cost.failed), (41, 0), "{kind}");
            assert_eq!(seen.pop(), Some(Observation::LeasesPolled(cost)));
            let told = |what: &Observation| match what {
                Observation::LeaseTtl(ttl) => (ttl.lease, ttl.granted, ttl.keys.is_none()),
                other => unreachable!("{other:?}"),
            };
            let told: BTreeSet<_> = seen.iter().map(told).collect();
            let expected: BTreeSet<_> =
                leases.iter().map(|&lease| (lease, if lease.0 == 41 { 0 } else { 60 }, true)).collect();
            assert_eq!(told, expected);
        }
    });
}

#[test]
fn a_dead_and_a_paused_member_delay_nobody() {
    on_every_etcd("a_dead_and_a_paused_member_delay_nobody", async |kind| {
        let mut cluster = kind.cluster().members(3).start();
        let (pool, connected) = connected(&[cluster.endpoint(2)]).await;
        cluster.kill(0);
        cluster.pause(1);
        let start = Instant::now();
        let mut answers = Vec::new();
        let mut sink = |stamped: Stamped<Observation>| {
            if let Observation::Status { answer, .. } = stamped.what {
                answers.push((start.elapsed(), answer));
            }
        };
        source::poll_members(&pool, &connected, &clock(), &mut sink).await.unwrap();
        cluster.resume(1);
        assert!(start.elapsed() < Duration::from_secs(2), "{kind}: {:?}", start.elapsed());
        let good: Vec<_> = answers.iter().filter(|(_, answer)| answer.is_ok()).collect();
        assert!(good.len() == 1 && good[0].0 < Duration::from_millis(500), "{kind}: {answers:?}");
        let reasons: Vec<_> = answers.iter().filter_map(|(_, answer)| answer.as_ref().err()).collect();
        for n in 0..2 {
            assert!(reasons.iter().any(|reason| reason.why().contains(&cluster.endpoint(n))), "{kind}: {reasons:?}");
        }
    });
}

#[test]
fn a_member_is_found_where_a_configured_endpoint_answers_as_it() {
    on_every_etcd("a_member_is_found_where_a_configured_endpoint_answers_as_it", async |kind| {
        // advertises a URL that leads nowhere, as behind a firewall
        let cluster = kind.cluster().members(1).advertise("http://127.0.0.1:9").start();
        let (pool, connected) = connected(&cluster.endpoints()).await;
        let mut seen = Vec::new();
        let mut sink = |stamped: Stamped<Observation>| seen.push(stamped.what);
        source::poll_members(&pool, &connected, &clock(), &mut sink).await.unwrap();
        let status = seen
            .iter()
            .find_map(|what| if let Observation::Status { answer, .. } = what { Some(answer) } else { None });
        assert!(status.is_some_and(Result::is_ok), "{kind}: {seen:?}");
    });
}

#[test]
fn alarms_are_told_from_what_members_report() {
    on_every_real_etcd("alarms_are_told_from_what_members_report", async |version| {
        let cluster = version.cluster().start();
        let (pool, connected) = connected(&cluster.endpoints()).await;
        let alarms_now = async || {
            let mut alarms = None;
            let mut sink = |stamped: Stamped<Observation>| {
                if let Observation::Alarms(raised) = stamped.what {
                    alarms = Some(raised);
                }
            };
            source::poll_members(&pool, &connected, &clock(), &mut sink).await.unwrap();
            alarms
        };
        assert_eq!(alarms_now().await, Some(Vec::new()), "{version}");
        raise_alarm(&cluster.endpoint(0), connected.header.member.0).await;
        let truth = connected.client.alarms().await.unwrap();
        assert_eq!((truth.len(), alarms_now().await), (1, Some(truth.clone())), "{version}");
    });
}

/// Raises an alarm for a member, for which etcdctl has no word.
pub async fn raise_alarm(endpoint: &str, member: u64) {
    let mut raw = etcd_client::Client::connect([endpoint], None).await.expect("the member runs");
    let mut options = etcd_client::AlarmOptions::new();
    options.with_member(member);
    let raised = raw.alarm(etcd_client::AlarmAction::Activate, etcd_client::AlarmType::Nospace, Some(options)).await;
    raised.expect("it is raised");
}

#[test]
fn without_a_quorum_what_the_member_has_is_read() {
    on_every_etcd("without_a_quorum_what_the_member_has_is_read", async |kind| {
        let mut cluster = kind.cluster().members(3).start();
        let etcd = client(&cluster.endpoint(0)).await;
        put(&etcd, "/a/1", "x").await;
        cluster.kill(1);
        cluster.kill(2);
        let (_, mut last) = connected(&[cluster.endpoint(0)]).await;
        let end = Instant::now() + Duration::from_secs(20);
        while !last.is_leaderless() && Instant::now() < end {
            last = connected(&[cluster.endpoint(0)]).await.1;
        }
        assert!(last.is_leaderless() && last.failed.len() == 1, "{kind}: {:?}", last.failed);
        let read = replay(&snapshot(&last, &Watching::Prefixes(vec![b"/a/".into()])).await);
        assert_eq!(read.keys.len(), 1, "{kind}");
    });
}

#[test]
fn a_dead_first_endpoint_delays_the_start_by_little() {
    on_every_etcd("a_dead_first_endpoint_delays_the_start_by_little", async |kind| {
        let mut cluster = kind.cluster().members(3).start();
        cluster.kill(0);
        cluster.pause(1);
        let start = Instant::now();
        let (_, connected) = connected(&cluster.endpoints()).await;
        let took = start.elapsed();
        cluster.resume(1);
        assert!(took < Duration::from_millis(600), "{kind}: {took:?}");
        assert_eq!(connected.client.endpoint(), cluster.endpoint(2));
        assert_eq!(connected.failed.len(), 1, "the paused one has not failed yet");
    });
}

#[test]
fn a_compaction_between_pages_starts_the_range_anew() {
    on_every_etcd("a_compaction_between_pages_starts_the_range_anew", async |kind| {
        let cluster = kind.cluster().start();
        let etcd = client(&cluster.endpoint(0)).await;
        fill(&etcd, 70_000, "v").await;
        let (_, connected) = connected(&cluster.endpoints()).await;
        let mut compacted = false;
        let mut seen = Vec::new();
        let mut sink = |stamped: Stamped<Observation>| {
            if matches!(&stamped.what, Observation::Listed(page) if page.first) && !compacted {
                // the sink blocks, so the pages behind the next wait for this
                compacted = true;
                let endpoint = cluster.endpoint(0);
                wait_here(async move {
                    let revision = put(&client(&endpoint).await, "/many/000000", "new").await;
                    compact(&endpoint, revision).await;
                });
            }
            seen.push(stamped.what);
        };
        let watching = Watching::Prefixes(vec![b"/many/".into()]);
        source::snapshot(&connected, &watching, &clock(), &mut sink).await.unwrap();
        let firsts = seen.iter().filter(|what| matches!(what, Observation::Listed(page) if page.first)).count();
        assert_eq!(firsts, 2, "{kind}");
        replay(&seen).assert_equals(&etcd).await;
    });
}
