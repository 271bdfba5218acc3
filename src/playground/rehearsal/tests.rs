//! The demo's cast on an embedded cluster that things happen to.

use std::time::Duration;

use super::Rehearsal;
use crate::chance::Chance;
use crate::domain::play::{Ill, Order, Whom};
use crate::domain::raft::{ClusterTime, Fault, NodeId};
use crate::embedded::Config;
use crate::playground::{Cast, ClientId, Summary};

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
