//! A run in numbers and sentences: what `demo --headless` prints.
//!
//! Each expectation names its evidence. What was not seen is not claimed: a run in which nobody
//! took the lock keeps no promise about order.

use std::time::Duration;

use super::expect::{self, Expectations};
use super::tally::{Moment, OfClient, OfLock};
use super::{Cast, LockOf, Spread, Tally};
use crate::domain::play::{Expected, Narration, ResourcePicture, Said};
use crate::domain::raft::ClusterTime;
use crate::domain::{Key, Term};
use crate::recipe::Kind;

/// What came of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// What was shown.
    pub scenario: String,
    /// What fixed everybody's times.
    pub seed: u64,
    /// How long it was, on the cluster's clock.
    pub length: Duration,
    /// The lock that it was about.
    pub lock: Key,
    /// Every lock, the one that it was about first.
    pub locks: Vec<LockSummary>,
    /// How many leaders were elected, as far as was seen.
    pub elections: usize,
    /// How many terms began.
    pub terms: u64,
    /// The highest term.
    pub term: Term,
    /// How evenly the lock came to be held: Jain's index of the clients' turns.
    pub fairness: Option<f64>,
    /// What holders wrote to.
    pub resources: Vec<ResourcePicture>,
    /// What was expected.
    pub expectations: Vec<Expectation>,
    /// What could be told; the timeline names those that were by their places.
    pub narrations: Vec<Narration>,
    /// What happened, oldest first.
    pub timeline: Vec<Moment>,
    /// How many moments before those are left out.
    pub timeline_cut: u64,
}

/// What came of one lock. The counts are those of [`OfLock`].
#[derive(Clone, Debug, PartialEq)]
pub struct LockSummary {
    /// Which.
    pub lock: LockOf,
    /// What its clients do; those that only look at it do not count.
    pub kind: Kind,
    /// How many clients there were.
    pub clients: usize,
    /// How often it was handed over.
    pub handoffs: u64,
    /// How often somebody held whose turn it was not.
    pub fifo_violations: u64,
    /// How often two believed at once that they held.
    pub double_holders: u64,
    /// How often it was taken.
    pub acquired: u64,
    /// How often it was let go in order.
    pub released: u64,
    /// How many clients crashed that held or waited.
    pub crashed: u64,
    /// How many of their keys went with the lease.
    pub expired: u64,
    /// How often a client noticed that it had lost its lease or key.
    pub lost: u64,
    /// How long it was waited for.
    pub wait: Option<Spread>,
    /// How long it was held.
    pub hold: Option<Spread>,
    /// How many calls its clients made for each handoff, their heartbeats left out.
    pub calls_per_handoff: Option<f64>,
    /// How many changes watches told them of for each handoff.
    pub events_per_handoff: Option<f64>,
}

/// Something that should be so, and whether it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// What should be so.
    pub text: Said,
    /// Whether it was.
    pub held: bool,
    /// What was seen that tells so.
    pub evidence: Said,
}

impl Summary {
    /// What the judge has to say of a run of this cast.
    pub fn of(cast: &Cast, seed: u64, length: Duration, tally: &Tally) -> Self {
        let (about, others): (Vec<_>, Vec<_>) = tally.locks().iter().partition(|(lock, _)| **lock == cast.lock);
        let locks = about.iter().chain(&others).map(|(lock, of)| LockSummary::of(lock, kind(tally, lock), of));
        let locks = locks.collect();
        let (moments, timeline_cut) = tally.moments();
        let mut timeline: Vec<_> = moments.cloned().collect();
        // Terms are looked up afterwards.
        timeline.sort_by_key(|moment| moment.at);
        Self {
            scenario: cast.scenario.clone(),
            seed,
            length,
            lock: cast.lock.name().clone(),
            locks,
            elections: tally.elections(),
            terms: tally.terms(),
            term: tally.highest_term(),
            fairness: tally.fairness(&cast.lock).map(|fairness| fairness.by_count),
            resources: tally.ledgers().iter().map(ResourcePicture::from).collect(),
            narrations: Vec::new(),
            // The books are all that these are judged by.
            expectations: judged(Expectations::new(&expect::usual(), cast).stand(tally, ClusterTime(0))),
            timeline,
            timeline_cut,
        }
    }

    /// The same with what a director expected and told, in place of what is expected of any run.
    #[must_use]
    pub fn directed(mut self, expected: Vec<Expected>, narrations: &[Narration]) -> Self {
        self.expectations = judged(expected);
        self.narrations = narrations.to_vec();
        self
    }

    /// The lock that the run was about.
    pub fn main(&self) -> Option<&LockSummary> {
        self.locks.first()
    }

    /// How often somebody held whose turn it was not, on any lock.
    pub fn fifo_violations(&self) -> u64 {
        self.locks.iter().map(|lock| lock.fifo_violations).sum()
    }

    /// How often two believed at once that they held, on any lock.
    pub fn double_holders(&self) -> u64 {
        self.locks.iter().map(|lock| lock.double_holders).sum()
    }

    /// Whether all was as expected.
    pub fn held(&self) -> bool {
        self.expectations.iter().all(|expectation| expectation.held)
    }
}

impl LockSummary {
    fn of(lock: &LockOf, kind: Kind, of: &OfLock) -> Self {
        Self {
            lock: lock.clone(),
            kind,
            clients: of.clients,
            handoffs: of.handoffs,
            fifo_violations: of.fifo_violations,
            double_holders: of.double_holders,
            acquired: of.acquired,
            released: of.released,
            crashed: of.crashed,
            expired: of.expired,
            lost: of.lost,
            wait: of.waits(),
            hold: of.holds(),
            calls_per_handoff: of.traffic().calls_per(of.handoffs),
            events_per_handoff: of.traffic().events_per(of.handoffs),
        }
    }
}

/// What was expected, in the end: what cannot be told by then was not so.
fn judged(expected: Vec<Expected>) -> Vec<Expectation> {
    let judged = |Expected { text, held, evidence }| Expectation { text, held: held == Some(true), evidence };
    expected.into_iter().map(judged).collect()
}

/// What those do that take part in this.
fn kind(tally: &Tally, lock: &LockOf) -> Kind {
    let takes_part = |client: &&OfClient| client.lock == *lock || client.second.as_ref() == Some(lock);
    tally.clients().values().find(takes_part).map_or(Kind::Queue, |client| client.kind)
}
