//! The members of a cluster that goes through faults, on its own time.

use std::time::Duration;

use super::*;
use crate::domain::raft::Life;

const N4: NodeId = NodeId(4);

fn led(config: Config) -> (Cluster, NodeId) {
    let mut cluster = Cluster::new(config);
    for _ in 0..100 {
        run(&mut cluster, 50);
        if let Some(leader) = cluster.leader() {
            run(&mut cluster, 100);
            return (cluster, leader);
        }
    }
    panic!("no leader after five seconds");
}

fn run(cluster: &mut Cluster, millis: u64) {
    cluster.advance(cluster.now() + Duration::from_millis(millis));
}

fn do_(cluster: &mut Cluster, fault: Fault) {
    cluster.fault(fault).unwrap();
}

/// The outcome of a request within ten seconds; those of others are forgotten.
#[track_caller]
fn outcome(cluster: &mut Cluster, request: RequestId) -> Result<Told, Refusal> {
    for _ in 0..1000 {
        if let Some(done) = cluster.take_finished().into_iter().find(|done| done.request == request) {
            return done.outcome;
        }
        run(cluster, 10);
    }
    panic!("{request:?} has no end");
}

fn others(cluster: &Cluster, than: NodeId) -> [NodeId; 2] {
    let others: Vec<_> = cluster.nodes().into_iter().filter(|&node| node != than).collect();
    [others[0], others[1]]
}

fn add(url: &str, learner: bool) -> Ask {
    Ask::Change(Change::Add { peer_urls: vec![url.to_owned()], learner })
}

fn remove(cluster: &Cluster, node: NodeId) -> Ask {
    Ask::Change(Change::Remove(cluster.member(node)))
}

fn pictured(cluster: &Cluster) -> Vec<NodeId> {
    cluster.picture().nodes.into_iter().map(|node| node.id).collect()
}

/// The names of the members as a node knows them.
fn listed(cluster: &mut Cluster, at: NodeId) -> Vec<String> {
    let mut board = Board::default();
    cluster.known.remove(&at);
    cluster.update_board(at, &mut board);
    board.members.iter().map(|member| member.name.clone()).collect()
}

#[test]
fn a_member_whose_request_lost_its_leader_and_is_agreed_on_later_has_its_seat() {
    let (mut cluster, leader) = led(Config { delay: Duration::from_millis(10), ..Config::default() });
    let [other, third] = others(&cluster, leader);
    do_(&mut cluster, Fault::Cut(leader, third));
    let request = cluster.ask(leader, add("http://a:1", true));
    // The entry is at one more node, so whoever leads next has it.
    let last = cluster.raft.node(leader).unwrap().last();
    while cluster.raft.node(other).unwrap().last() < last {
        assert!(cluster.step());
    }
    do_(&mut cluster, Fault::Kill(leader));
    assert_eq!(outcome(&mut cluster, request).unwrap_err(), Refusal::Stopped);
    assert_eq!(cluster.nodes(), [NodeId(1), NodeId(2), NodeId(3), N4], "it may join still");
    run(&mut cluster, 4000);
    let next = cluster.leader().unwrap();
    assert_eq!(listed(&mut cluster, next), ["n1", "n2", "n3", "n4"]);
    assert!(cluster.doubtful.is_empty());
    do_(&mut cluster, Fault::Start(leader));
    run(&mut cluster, 1000);
    assert_eq!(listed(&mut cluster, N4), ["n1", "n2", "n3", "n4"]);
}

#[test]
fn a_member_whose_request_is_lost_for_good_is_forgotten() {
    let (mut cluster, leader) = led(Config::default());
    do_(&mut cluster, Fault::Isolate(leader));
    let request = cluster.ask(leader, add("http://a:1", true));
    run(&mut cluster, 10);
    assert_eq!(pictured(&cluster).len(), 4, "the leader has it in its log");
    assert_eq!(outcome(&mut cluster, request).unwrap_err(), Refusal::LeaderLost);
    assert_eq!(cluster.nodes().len(), 4);
    do_(&mut cluster, Fault::Heal);
    run(&mut cluster, 2000);
    // The log of the next leader has replaced what the old one had.
    assert_eq!((cluster.nodes().len(), pictured(&cluster).len()), (3, 3));
    let leader = cluster.leader().unwrap();
    let again = cluster.ask(leader, add("http://a:1", true));
    assert!(outcome(&mut cluster, again).is_ok());
}

#[test]
fn a_request_to_join_that_comes_to_the_leader_too_late_is_void() {
    let (mut cluster, leader) = led(Config { patience: Duration::from_millis(50), ..Config::default() });
    let [other, _] = others(&cluster, leader);
    do_(&mut cluster, Fault::Delay(Duration::from_millis(90)));
    let request = cluster.ask(other, add("http://a:1", true));
    run(&mut cluster, 60);
    assert!(outcome(&mut cluster, request).is_err());
    assert_eq!(cluster.nodes().len(), 3);
    run(&mut cluster, 1000);
    let members = cluster.raft.node(leader).unwrap().members();
    assert!(members.learners.is_empty(), "{members:?}");
}

#[test]
fn a_request_to_join_that_is_refused_leaves_no_node_behind() {
    let (mut cluster, leader) = led(Config::default());
    let first = cluster.ask(leader, add("http://a:1", true));
    assert!(outcome(&mut cluster, first).is_ok());
    let (nodes, members) = (pictured(&cluster), cluster.nodes());
    for at in [leader, others(&cluster, leader)[0]] {
        let second = cluster.ask(at, add("http://b:1", true));
        assert_eq!(outcome(&mut cluster, second).unwrap_err(), Refusal::TooManyLearners);
        assert_eq!((pictured(&cluster), cluster.nodes()), (nodes.clone(), members.clone()));
    }
    assert_eq!(cluster.stores.0.lock().unwrap().len(), 4);
}

#[test]
fn a_member_that_was_down_when_it_was_removed_is_gone_and_its_urls_are_free() {
    let (mut cluster, leader) = led(Config::default());
    let [gone, _] = others(&cluster, leader);
    do_(&mut cluster, Fault::Kill(gone));
    run(&mut cluster, 600);
    cluster.membership_changed();
    let request = cluster.ask(leader, remove(&cluster, gone));
    assert!(outcome(&mut cluster, request).is_ok());
    assert!(!cluster.nodes().contains(&gone) && !pictured(&cluster).contains(&gone));
    assert!(cluster.membership_changed());
    assert!(cluster.fault(Fault::Start(gone)).is_err());
    let again = cluster.ask(leader, add(&format!("http://{gone}.embedded:2380"), true));
    assert!(outcome(&mut cluster, again).is_ok());
    assert!(cluster.nodes().contains(&N4), "and its number is not given again");
}

#[test]
fn one_that_cannot_hear_that_it_was_removed_runs_on_and_its_urls_are_free() {
    let (mut cluster, leader) = led(Config::default());
    let [away, _] = others(&cluster, leader);
    do_(&mut cluster, Fault::Isolate(away));
    run(&mut cluster, 600);
    let request = cluster.ask(leader, remove(&cluster, away));
    assert!(outcome(&mut cluster, request).is_ok());
    assert!(pictured(&cluster).contains(&away));
    let again = cluster.ask(leader, add(&format!("http://{away}.embedded:2380"), true));
    assert!(outcome(&mut cluster, again).is_ok());
    do_(&mut cluster, Fault::Kill(away));
    assert!(!pictured(&cluster).contains(&away), "it will not run again");
}

#[test]
fn nothing_is_kept_of_members_that_left() {
    let (mut cluster, leader) = led(Config::default());
    for round in 0..5 {
        let joins = cluster.ask(leader, add(&format!("http://{round}:1"), true));
        assert!(outcome(&mut cluster, joins).is_ok());
        let node = *cluster.nodes().last().unwrap();
        cluster.update_board(node, &mut Board::default());
        assert_eq!(cluster.picture().nodes.last().map(|node| node.life), Some(Life::Up));
        let leaves = cluster.ask(leader, remove(&cluster, node));
        assert!(outcome(&mut cluster, leaves).is_ok());
        run(&mut cluster, 1000);
    }
    assert_eq!(cluster.nodes().len(), 3);
    assert_eq!(cluster.stores.0.lock().unwrap().len(), 3);
    assert!(cluster.known.keys().all(|node| node.0 <= 3), "{:?}", cluster.known.keys());
}

#[test]
fn what_nobody_waits_for_is_forgotten_while_the_clock_stands() {
    let (mut cluster, leader) = led(Config::default());
    let [other, paused] = others(&cluster, leader);
    do_(&mut cluster, Fault::Pause(paused));
    let mut asked = BTreeSet::new();
    for at in [leader, other, paused] {
        asked.extend((0..10_000).map(|_| cluster.ask(at, Ask::Barrier)));
    }
    let waits = cluster.ask(other, Ask::Barrier);
    for at in cluster.nodes() {
        cluster.withdraw(at, |request| asked.contains(&request));
    }
    assert_eq!(cluster.take_finished().len(), asked.len());
    assert_eq!(cluster.open.len(), 1);
    assert!(outcome(&mut cluster, waits).is_ok(), "somebody waits for that one");
    assert!(cluster.open.is_empty() && cluster.open_at.values().all(BTreeSet::is_empty));
}

/// Puts so many revisions at a member.
fn fill(cluster: &mut Cluster, at: NodeId, count: usize) {
    let put = crate::mvcc::PutRequest { key: "k".into(), ..Default::default() };
    let requests: Vec<_> =
        (0..count).map(|_| cluster.ask(at, Ask::Write(Arc::new(crate::mvcc::Request::Put(put.clone()))))).collect();
    run(cluster, 1_000);
    let finished = cluster.take_finished();
    assert_eq!(finished.iter().filter(|done| requests.contains(&done.request) && done.outcome.is_ok()).count(), count);
}

/// Where each member's store is compacted.
fn compacted(cluster: &Cluster) -> Vec<Revision> {
    cluster.nodes().into_iter().map(|node| cluster.store(node).read().unwrap().compacted()).collect()
}

const FIVE_MINUTES: ClusterTime = ClusterTime(5 * 60 * 1_000_000);
const NEVER: Revision = Revision(-1);

#[test]
fn every_five_minutes_all_members_forget_all_but_the_latest_revisions() {
    let mut cluster = Cluster::keeping(Config::default(), NonZeroU64::new(10));
    run(&mut cluster, 2_000);
    let leader = cluster.leader().unwrap();
    fill(&mut cluster, leader, 50);
    cluster.advance(FIVE_MINUTES);
    assert_eq!(compacted(&cluster), [NEVER; 3], "it is proposed, and has to be agreed on");
    run(&mut cluster, 200);
    assert_eq!(compacted(&cluster), [Revision(41); 3]);
    let trace = cluster.picture().traces.pop().unwrap();
    assert_eq!(trace.what, "compact 41", "it went the way of every request");

    fill(&mut cluster, leader, 5);
    cluster.advance(FIVE_MINUTES + FIVE_MINUTES.since(ClusterTime(0)));
    run(&mut cluster, 200);
    assert_eq!(compacted(&cluster), [Revision(46); 3]);
}

#[test]
fn who_did_not_ask_for_it_keeps_every_revision() {
    let (mut cluster, leader) = led(Config::default());
    fill(&mut cluster, leader, 50);
    cluster.advance(FIVE_MINUTES);
    run(&mut cluster, 1_000);
    assert_eq!(compacted(&cluster), [NEVER; 3]);
}

#[test]
fn a_compaction_whose_leader_dies_is_made_up_for_by_the_next_one() {
    let mut cluster = Cluster::keeping(Config::default(), NonZeroU64::new(10));
    run(&mut cluster, 2_000);
    let leader = cluster.leader().unwrap();
    fill(&mut cluster, leader, 50);
    // Nobody leads when it is due.
    cluster.advance(ClusterTime(FIVE_MINUTES.0 - 10_000));
    do_(&mut cluster, Fault::Kill(leader));
    cluster.advance(FIVE_MINUTES);
    run(&mut cluster, 60_000);
    assert!(cluster.leader().is_some_and(|heir| heir != leader));
    assert_eq!(compacted(&cluster), [NEVER; 3]);
    let others = others(&cluster, leader);
    let of = |cluster: &Cluster, node| cluster.store(node).read().unwrap().compacted();
    cluster.advance(FIVE_MINUTES + FIVE_MINUTES.since(ClusterTime(0)));
    run(&mut cluster, 200);
    assert_eq!(others.map(|node| of(&cluster, node)), [Revision(41); 2]);
    do_(&mut cluster, Fault::Start(leader));
    run(&mut cluster, 2_000);
    assert_eq!(compacted(&cluster), [Revision(41); 3], "who was away forgets the same");
}
