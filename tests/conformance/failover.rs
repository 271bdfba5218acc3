//! Members that are killed, paused or lose the leader while the watch runs.

use std::time::Duration;

use lockscope::config::Connection;
use lockscope::domain::{LeaseId, MemberId};
use lockscope::event::{LinkState, Observation};
use lockscope::port::{Client, Etcd, Put};
use lockscope::source::Watching;
use tokio::time::Instant;

use crate::common::{client, on_every_etcd, put, put_leased, settings};
use crate::support::served::Cluster;
use crate::watcher::Watcher;

fn all() -> Watching {
    Watching::Prefixes(vec![Vec::new()])
}

async fn clients(cluster: &Cluster) -> Vec<Client> {
    let mut clients = Vec::new();
    for endpoint in cluster.endpoints() {
        let settings = settings(std::slice::from_ref(&endpoint));
        clients.push(Client::connect(&endpoint, &settings).await.expect("the member runs"));
    }
    clients
}

/// Puts through whichever member takes it, retrying through elections.
async fn put_somehow(clients: &[Client], key: &str, value: &str) -> i64 {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        for etcd in clients {
            let put = Put { key: key.into(), value: value.into(), lease: LeaseId::NONE };
            if let Ok(done) = etcd.with_deadline(Duration::from_secs(1)).put(put).await {
                return done.header.revision.0;
            }
        }
        assert!(Instant::now() < end, "nobody takes a put");
    }
}

async fn index_of(member: MemberId, clients: &[Client]) -> usize {
    for (n, etcd) in clients.iter().enumerate() {
        if etcd.status().await.is_ok_and(|(header, _)| header.member == member) {
            return n;
        }
    }
    unreachable!("the leader is one of them")
}

#[test]
fn killing_the_watched_member_and_then_the_leader_loses_nothing() {
    on_every_etcd("killing_the_watched_member_and_then_the_leader_loses_nothing", async |kind| {
        let mut cluster = kind.cluster().members(3).start();
        let clients = clients(&cluster).await;
        let mut watcher = Watcher::start(settings(&cluster.endpoints()), all());
        watcher.until_live().await;
        let mut last = put_somehow(&clients, "/a/0", "v").await;
        watcher.until_revision(last).await;
        for round in 0..2 {
            let victim = if round == 0 {
                let endpoint = watcher.endpoint();
                cluster.endpoints().iter().position(|one| *one == endpoint).expect("a member")
            } else {
                let leader = clients[0].status().await.unwrap().1.leader.expect("a leader");
                index_of(leader, &clients).await
            };
            cluster.kill(victim);
            for n in 0..30 {
                last = put_somehow(&clients, &format!("/a/{}", n % 4), &format!("{round} {n}")).await;
            }
            watcher.until_revision(last).await;
            assert!(watcher.is_live(), "{kind}");
            cluster.start(victim);
            cluster.healthy();
        }
        watcher.check(&clients[0]).await;
    });
}

#[test]
fn a_paused_member_is_left_for_another() {
    on_every_etcd("a_paused_member_is_left_for_another", async |kind| {
        let cluster = kind.cluster().members(3).start();
        let clients = clients(&cluster).await;
        let quick = Connection {
            keepalive_time: Duration::from_millis(500),
            keepalive_timeout: Duration::from_secs(1),
            ..settings(&cluster.endpoints())
        };
        let mut watcher = Watcher::start(quick, all());
        watcher.until_live().await;
        let first = watcher.endpoint();
        let victim = cluster.endpoints().iter().position(|endpoint| *endpoint == first).expect("a member");
        cluster.pause(victim);
        let start = Instant::now();
        watcher.until("another endpoint", |watcher| watcher.endpoint() != first).await;
        assert!(start.elapsed() < Duration::from_secs(5), "{kind}: {:?}", start.elapsed());
        let other = clients[(victim + 1) % 3].clone();
        let last = put_somehow(std::slice::from_ref(&other), "/a/0", "v").await;
        watcher.until_revision(last).await;
        cluster.resume(victim);
        watcher.check(&other).await;
    });
}

#[test]
fn losing_all_members_one_by_one_is_a_state_that_passes() {
    on_every_etcd("losing_all_members_one_by_one_is_a_state_that_passes", async |kind| {
        let mut cluster = kind.cluster().members(3).start();
        let etcd = client(&cluster.endpoint(0)).await;
        let mut watcher = Watcher::start(settings(&cluster.endpoints()), all());
        put(&etcd, "/a/0", "v").await;
        watcher.until_live().await;
        for n in 0..3 {
            cluster.kill(n);
            watcher.for_a_while(Duration::from_millis(300)).await;
        }
        watcher
            .until("retrying with all three reasons", |watcher| {
                let last = watcher
                    .seen
                    .iter()
                    .rev()
                    .find_map(|what| if let Observation::Link(link) = what { Some(link) } else { None });
                matches!(last, Some(LinkState::Retrying { why, .. }) if why.len() == 3)
            })
            .await;
        for n in 0..3 {
            cluster.start(n);
        }
        cluster.healthy();
        let last = put(&etcd, "/a/1", "v").await;
        watcher.until_revision(last).await;
        assert!(watcher.is_live(), "{kind}");
        watcher.check(&etcd).await;
    });
}

#[test]
fn without_a_quorum_what_a_member_has_is_told_and_the_watch_waits() {
    on_every_etcd("without_a_quorum_what_a_member_has_is_told_and_the_watch_waits", async |kind| {
        let mut cluster = kind.cluster().members(3).start();
        let clients = clients(&cluster).await;
        put(&clients[0], "/a/0", "v").await;
        // every member has it
        for etcd in &clients {
            let range = lockscope::port::Range::of(lockscope::domain::KeyRange::prefix(b"/a/"));
            assert_eq!(etcd.range(range).await.unwrap().keys.len(), 1);
        }
        cluster.kill(1);
        cluster.kill(2);
        let end = Instant::now() + Duration::from_secs(20);
        while clients[0].status().await.unwrap().1.leader.is_some() && Instant::now() < end {}
        let mut watcher = Watcher::start(settings(&cluster.endpoints()), all());
        watcher.until("what the member has", |watcher| watcher.replay.keys.len() == 1).await;
        let no_leader = |what: &Observation| matches!(what, Observation::Link(LinkState::Retrying { why, .. }) if why.iter().any(|why| why.error.contains("no leader")));
        watcher.until("no leader", |watcher| watcher.seen.iter().any(no_leader)).await;
        let says = |what: &Observation| matches!(what, Observation::Status { answer: Ok(status), .. } if status.leader.is_none());
        watcher.until("the member says so itself", |watcher| watcher.seen.iter().any(says)).await;
        cluster.start(1);
        cluster.start(2);
        cluster.healthy();
        let last = put(&clients[0], "/a/1", "v").await;
        watcher.until_revision(last).await;
        assert!(watcher.is_live(), "{kind}");
        watcher.check(&clients[0]).await;
    });
}

#[test]
fn members_are_asked_again_and_again_and_a_new_leader_is_told() {
    on_every_etcd("members_are_asked_again_and_again_and_a_new_leader_is_told", async |kind| {
        let mut cluster = kind.cluster().members(3).start();
        let clients = clients(&cluster).await;
        let mut watcher = Watcher::start(settings(&cluster.endpoints()), all());
        let leader = clients[0].status().await.unwrap().1.leader.expect("a leader");
        let answers = |watcher: &Watcher, leader: Option<MemberId>| {
            let fits = |what: &&Observation| matches!(what, Observation::Status { answer: Ok(status), .. } if status.leader == leader);
            watcher.seen.iter().filter(fits).count()
        };
        watcher.until("three rounds of answers", |watcher| answers(watcher, Some(leader)) >= 9).await;
        assert!(watcher.seen.iter().any(|what| matches!(what, Observation::Members(members) if members.len() == 3)));
        assert!(watcher.seen.iter().any(|what| matches!(what, Observation::Alarms(alarms) if alarms.is_empty())));
        let victim = index_of(leader, &clients).await;
        cluster.kill(victim);
        let newer = |what: &Observation| matches!(what, Observation::Status { answer: Ok(status), .. } if status.leader.is_some_and(|new| new != leader));
        watcher.until("a new leader", |watcher| watcher.seen.iter().any(newer)).await;
        let dead =
            |what: &Observation| matches!(what, Observation::Status { member, answer: Err(_) } if *member == leader);
        watcher.until("the dead member", |watcher| watcher.seen.iter().any(dead)).await;
        // leases are asked of whoever leads now
        let lease = put_lease(&clients[(victim + 1) % 3]).await;
        watcher.polls.send(vec![lease]).await.unwrap();
        let told =
            |what: &Observation| matches!(what, Observation::LeaseTtl(ttl) if ttl.lease == lease && ttl.granted == 60);
        watcher.until("the lease", |watcher| watcher.seen.iter().any(told)).await;
        watcher
            .until("its cost", |watcher| {
                watcher
                    .seen
                    .iter()
                    .any(|what| matches!(what, Observation::LeasesPolled(cost) if (cost.asked, cost.failed) == (1, 0)))
            })
            .await;
        watcher.stop().await;
    });
}

#[test]
fn a_quorum_lost_just_before_the_start_is_told_and_locks_are_found_soon_after_it_is_back() {
    on_every_etcd(
        "a_quorum_lost_just_before_the_start_is_told_and_locks_are_found_soon_after_it_is_back",
        async |kind| {
            let cluster = kind.cluster().members(3).start();
            let clients = clients(&cluster).await;
            let leases = put_locks(&clients[0], 40).await;
            let [first, others @ ..] = follower_first(&clients).await;
            for &n in &others {
                cluster.pause(n);
            }
            let order = [first, others[0], others[1]].map(|n| cluster.endpoint(n));
            let mut watcher = Watcher::start(settings(&order), Watching::Discover);
            watcher.until("no leader", |watcher| watcher.seen.iter().any(tried_without_leader)).await;
            assert!(!watcher.seen.iter().any(is_live), "{kind}: nobody could have read anything");
            for &n in &others {
                cluster.resume(n);
            }
            let start = Instant::now();
            watcher.until("every lock", |watcher| watcher.is_live() && watcher.replay.keys.len() == leases).await;
            assert!(start.elapsed() < SOON, "{kind}: {:?}", start.elapsed());
            watcher.stop().await;
        },
    );
}

#[test]
fn a_quorum_lost_while_there_is_nothing_to_watch_is_told() {
    on_every_etcd("a_quorum_lost_while_there_is_nothing_to_watch_is_told", async |kind| {
        let cluster = kind.cluster().members(3).start();
        let clients = clients(&cluster).await;
        let [first, others @ ..] = follower_first(&clients).await;
        let order = [first, others[0], others[1]].map(|n| cluster.endpoint(n));
        let mut watcher = Watcher::start(settings(&order), Watching::Discover);
        let listed = |what: &Observation| matches!(what, Observation::LeaseList(_));
        watcher.until("live", |watcher| watcher.is_live() && watcher.seen.iter().any(listed)).await;
        for &n in &others {
            cluster.pause(n);
        }
        watcher.until("no leader", |watcher| watcher.seen.iter().any(tried_without_leader)).await;
        assert!(!watcher.is_live(), "{kind}");
        for &n in &others {
            cluster.resume(n);
        }
        let start = Instant::now();
        put_lease(&clients[first]).await;
        let leases = put_locks(&clients[first], 4).await;
        watcher.until("every lock", |watcher| watcher.is_live() && watcher.replay.keys.len() == leases).await;
        assert!(start.elapsed() < SOON, "{kind}: {:?}", start.elapsed());
        watcher.stop().await;
    });
}

/// How long it may take after the quorum is back: an election, the longest wait between two tries
/// and what discovery takes.
const SOON: Duration = Duration::from_secs(12);

fn tried_without_leader(what: &Observation) -> bool {
    matches!(what, Observation::Link(LinkState::Retrying { why, .. }) if why.iter().any(|why| why.error.contains("no leader")))
}

fn is_live(what: &Observation) -> bool {
    matches!(what, Observation::Link(LinkState::Live { .. }))
}

/// The members, a follower before all others.
async fn follower_first(clients: &[Client]) -> [usize; 3] {
    let leader = clients[0].status().await.expect("the member runs").1.leader.expect("a leader");
    let leader = index_of(leader, clients).await;
    [(leader + 1) % 3, leader, (leader + 2) % 3]
}

/// Puts so many keys with a lease each; how many there are.
async fn put_locks(etcd: &Client, count: usize) -> usize {
    for n in 0..count {
        let lease = etcd.grant(LeaseId::NONE, 300).await.expect("it is granted").lease;
        put_leased(etcd, &format!("/locks/{n}/{lease}"), "v", lease).await;
    }
    count
}

async fn put_lease(etcd: &Client) -> LeaseId {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        if let Ok(granted) = etcd.grant(LeaseId::NONE, 60).await {
            return granted.lease;
        }
        assert!(Instant::now() < end, "nobody grants a lease");
    }
}
