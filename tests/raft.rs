//! That the embedded cluster is a correct Raft, whatever goes wrong: nodes that are killed and
//! paused, cuts, losses and delays, transfers, members that change, rules that are switched, all
//! on virtual time and drawn from a seed.
//!
//! `LOCKSCOPE_SEEDS` says how many runs, `LOCKSCOPE_SEED` which seed is the first; without it, each
//! time other runs are made. Both are printed; a run that fails says which seed it had.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

use std::env;
use std::hash::{BuildHasher, RandomState};
use std::{panic, thread};

#[path = "raft/acknowledged_writes.rs"]
mod acknowledged_writes;
#[path = "raft/chance.rs"]
mod chance;
#[path = "raft/determinism.rs"]
mod determinism;
#[path = "raft/election_safety.rs"]
mod election_safety;
#[path = "raft/leader_completeness.rs"]
mod leader_completeness;
#[path = "raft/linearizable_reads.rs"]
mod linearizable_reads;
#[path = "raft/liveness.rs"]
mod liveness;
#[path = "raft/log_matching.rs"]
mod log_matching;
#[path = "raft/play.rs"]
mod play;
#[path = "raft/registers.rs"]
mod registers;
#[path = "raft/state_machine_safety.rs"]
mod state_machine_safety;

use play::{Broken, Play, Seen};

type Cluster = lockscope::raft::Cluster<registers::Registers>;

/// How many runs without `LOCKSCOPE_SEEDS`.
const RUNS: u64 = 1500;

fn number(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// Another one each time.
fn any_seed() -> u64 {
    RandomState::new().hash_one("the first seed") >> 32
}

/// Makes these runs. Handed back is what was seen in them, and what was wrong.
fn runs(seeds: impl Iterator<Item = u64>) -> (Seen, Vec<String>) {
    let (mut all, mut wrong) = (Seen::default(), Vec::new());
    for seed in seeds {
        // A panic in the cluster is a finding like any other, and needs its seed too.
        let run = panic::catch_unwind(|| Play::new(seed, Broken::Nothing).run());
        match run.unwrap_or_else(|_| Err("it panicked".to_owned())) {
            Ok(seen) => all.add(seen),
            Err(why) => wrong.push(format!("LOCKSCOPE_SEED={seed} LOCKSCOPE_SEEDS=1: {why}")),
        }
    }
    (all, wrong)
}

#[test]
fn whatever_goes_wrong_nothing_is_lost_and_nobody_is_told_what_is_not_so() {
    let count = number("LOCKSCOPE_SEEDS").unwrap_or(RUNS);
    let first = number("LOCKSCOPE_SEED").unwrap_or_else(any_seed);
    println!("LOCKSCOPE_SEED={first} LOCKSCOPE_SEEDS={count}");
    let half = first + count / 2;
    let (seen, wrong) = thread::scope(|scope| {
        let other = scope.spawn(move || runs(half..first + count));
        let (mut seen, mut wrong) = runs(first..half);
        let (others_seen, others_wrong) = other.join().unwrap();
        seen.add(others_seen);
        wrong.extend(others_wrong);
        (seen, wrong)
    });
    println!("{seen:?}");
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
    if count >= RUNS {
        // Runs in which nothing happens would prove nothing.
        let of = |number: usize| u64::try_from(number).unwrap();
        assert!(of(seen.terms) > 2 * count && of(seen.commits) > 40 * count, "{seen:?}");
        assert!(of(seen.acknowledged) > 20 * count && of(seen.reads) > 5 * count, "{seen:?}");
        assert!(of(seen.snapshots) > count && of(seen.changes) > count / 2 && seen.transfers > 0, "{seen:?}");
    }
}

/// The first complaint of runs in which something is broken on purpose.
#[track_caller]
fn complaint(broken: Broken) -> String {
    let complaints = (1..=60).filter_map(|seed| Play::new(seed, broken).run().err());
    complaints.into_iter().next().unwrap_or_else(|| panic!("nobody noticed: {broken:?}"))
}

#[test]
fn a_machine_that_takes_a_command_in_twice_is_noticed() {
    let complaint = complaint(Broken::Machine);
    assert!(complaint.contains("taken in") || complaint.contains("version"), "{complaint}");
}

#[test]
fn a_leader_that_answers_reads_without_making_sure_that_it_leads_is_noticed() {
    let complaint = complaint(Broken::Reads);
    assert!(complaint.contains("reads version"), "{complaint}");
}

#[test]
fn a_write_that_is_acknowledged_before_it_is_committed_is_noticed() {
    let complaint = complaint(Broken::Acknowledgements);
    assert!(complaint.contains("acknowledged and lost"), "{complaint}");
}
