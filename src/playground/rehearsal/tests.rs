//! The demo's cast on an embedded cluster that things happen to.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::PoisonError;
use std::time::Duration;

use super::Rehearsal;
use crate::chance::Chance;
use crate::domain::play::{Ill, Order, Whom};
use crate::domain::raft::{ClusterTime, Fault, NodeId, Rules};
use crate::embedded::{self, Config};
use crate::playground::{Cast, ClientId, Span, Summary};

fn at(millis: u64) -> ClusterTime {
    ClusterTime(millis * 1000)
}

fn cluster(seed: u64) -> Config {
    Config { seed, delay: Duration::from_millis(2), jitter: Duration::from_millis(3), ..Config::default() }
}

fn summary(run: Rehearsal, cast: &Cast, seed: u64) -> Summary {
    let length = run.now().since(ClusterTime(0));
    let summary = Summary::of(cast, seed, length, &run.stop());
    assert!(summary.held(), "seed {seed}: {:?}", summary.expectations);
    summary
}

#[test]
fn a_leader_that_is_killed_costs_an_election_and_no_order() {
    let cast = Cast::demo(8);
    for seed in 0..10 {
        let mut run = Rehearsal::new(&cast, cluster(seed), seed);
        run.run(at(5_000));
        let leader = run.cluster().leader().expect("five seconds are enough");
        run.fault(Fault::Kill(leader)).unwrap();
        run.run(at(10_000));
        assert_ne!(run.cluster().leader(), Some(leader));
        run.fault(Fault::Start(leader)).unwrap();
        run.run(at(20_000));
        let summary = summary(run, &cast, seed);
        assert!(summary.elections >= 2 && summary.terms >= 2, "seed {seed}: {} elections", summary.elections);
        assert!(summary.main().unwrap().handoffs >= 20, "seed {seed}: {:?}", summary.locks);
    }
}

#[test]
fn members_that_are_killed_paused_cut_off_and_slow_break_no_order() {
    let cast = Cast::demo(6);
    let mut handoffs = 0;
    for seed in 0..20 {
        let mut chance = Chance::new(seed, 1_000);
        let mut run = Rehearsal::new(&cast, Config { loss: 10, ..cluster(seed) }, seed);
        run.run(at(2_000));
        for round in 0..6 {
            let node = NodeId(1 + chance.up_to(2));
            let (does, undoes) = match chance.up_to(4) {
                0 => (Fault::Kill(node), Fault::Start(node)),
                1 => (Fault::Pause(node), Fault::Resume(node)),
                2 => (Fault::Isolate(node), Fault::Heal),
                3 => (Fault::Delay(Duration::from_millis(40)), Fault::Heal),
                _ => (Fault::Transfer(node), Fault::Heal),
            };
            // A node that leads already cannot be handed the lead.
            let _ = run.fault(does);
            run.run(at(2_000 + round * 6_000 + 3_000));
            let _ = run.fault(undoes);
            run.run(at(2_000 + round * 6_000 + 6_000));
        }
        handoffs += summary(run, &cast, seed).main().unwrap().handoffs;
    }
    assert!(handoffs > 20 * 40, "{handoffs} handoffs in all");
}

#[test]
fn a_lease_that_outlives_its_leader_runs_out_under_the_next() {
    let cast = Cast::demo(3);
    let mut run = Rehearsal::new(&cast, cluster(3), 3);
    run.run(at(3_000));
    run.order(Order::Client(Whom::Client(ClientId(1)), Ill::Crash)).unwrap();
    let leader = run.cluster().leader().unwrap();
    run.fault(Fault::Kill(leader)).unwrap();
    run.run(at(20_000));
    let summary = summary(run, &cast, 3);
    let lock = summary.main().unwrap();
    assert_eq!((lock.crashed, lock.expired), (1, 1), "{lock:?}");
}

#[test]
fn the_same_seeds_give_the_same_run_and_others_another() {
    let cast = Cast::demo(8);
    let run = |cluster_seed, seed| {
        let mut run = Rehearsal::new(&cast, cluster(cluster_seed), seed);
        run.run(at(10_000));
        run.fault(Fault::Kill(NodeId(1))).unwrap();
        run.run(at(30_000));
        summary(run, &cast, seed)
    };
    let first = run(42, 42);
    assert_eq!(first, run(42, 42));
    assert_ne!(first.timeline, run(43, 42).timeline);
    assert_ne!(first.timeline, run(42, 43).timeline);
}

const MINUTE: u64 = 60_000;

/// A run on a cluster that keeps so many revisions. Its heart beats seldom and holders hold for a
/// second, so that hours do not take minutes.
fn patient(kept: u64) -> Rehearsal {
    let mut cast = Cast::demo(4);
    for (_, habits) in &mut cast.clients {
        habits.hold = Span::millis(900, 1_100);
    }
    let beat = |millis| Duration::from_millis(millis);
    let rules =
        Rules { heartbeat: beat(500), election_min: beat(1_000), election_max: beat(3_000), ..Config::default().rules };
    let config = Config { rules, compact_after: 1_000, ..cluster(7) };
    Rehearsal::on(embedded::Cluster::keeping(config, NonZeroU64::new(kept)), &cast, 7)
}

/// How much is kept of what.
fn kept(run: &Rehearsal) -> BTreeMap<&'static str, u64> {
    let nodes = run.cluster().picture().nodes;
    let records = |node| run.cluster().store(node).read().unwrap_or_else(PoisonError::into_inner).records();
    let count = |count: usize| count as u64;
    BTreeMap::from([
        ("revisions", count(nodes.iter().map(|node| records(node.id)).sum())),
        ("log entries", nodes.iter().map(|node| node.last.0 - node.snapshot.0).sum()),
        ("judgements that wait", count(run.tally().pending())),
        ("calls and watches", count(run.stage.cluster.remembered())),
    ])
}

/// The most that is kept of each, looked at every ten seconds until then.
fn peaks(run: &mut Rehearsal, until: u64) -> BTreeMap<&'static str, u64> {
    let mut peaks = BTreeMap::new();
    while run.now() < at(until) {
        run.run(run.now() + Duration::from_secs(10));
        for (what, count) in kept(run) {
            let peak = peaks.entry(what).or_insert(0);
            *peak = count.max(*peak);
        }
    }
    peaks
}

#[test]
fn a_run_that_is_three_times_as_long_keeps_no_more() {
    let mut run = patient(1_000);
    let thirds = [30, 60, 90].map(|minutes| peaks(&mut run, minutes * MINUTE));
    for later in &thirds[1..] {
        for (what, first) in &thirds[0] {
            assert!(later[what] * 10 <= first * 11, "{what}: {thirds:?}");
        }
    }
    let revision = u64::try_from(run.stage.cluster.revision().0).unwrap();
    assert!(revision > 4 * thirds[0]["revisions"] / 3, "there was something to forget: {revision} of {thirds:?}");
    let tally = run.stop();
    assert!(tally.moments().0.len() <= 20_000 && tally.moments().1 > 0, "{} moments", tally.moments().0.len());
    assert!(tally.locks().values().all(|lock| lock.fifo_violations == 0 && lock.double_holders == 0));
    let judged: u64 = tally.locks().values().map(|lock| lock.judged).sum();
    let holds: u64 = tally.clients().values().map(|client| client.holds).sum();
    assert_eq!((judged, tally.pending()), (holds, 0), "each was looked up in the history before that was forgotten");
}

#[test]
fn before_the_first_compaction_a_run_is_what_it_is_without_one() {
    let played = |kept| {
        let mut run = patient(kept);
        run.run(at(5 * MINUTE - 1));
        let (moments, cut) = run.tally().moments();
        (moments.cloned().collect::<Vec<_>>(), cut, run.cluster().picture())
    };
    assert_eq!(played(1), played(0));
}

#[test]
fn the_same_seed_gives_the_same_run_behind_compactions_too() {
    let played = || {
        let mut run = patient(100);
        run.run(at(11 * MINUTE));
        assert!(run.cluster().store(NodeId(1)).read().unwrap().compacted().0 > 0);
        (run.tally().moments().0.cloned().collect::<Vec<_>>(), run.cluster().picture())
    };
    assert_eq!(played(), played());
}
