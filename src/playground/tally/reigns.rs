//! The terms of the cluster's leaders, and how soon one followed upon what was done to it.

use std::collections::BTreeSet;

use super::samples::{Samples, Spread};
use crate::domain::Term;
use crate::domain::raft::{ClusterTime, Fault};

/// The terms of a run.
#[derive(Clone, Debug, Default)]
pub struct Reigns {
    /// The term it began in, the highest that began, and those that somebody led.
    began: Option<Term>,
    highest: Term,
    led: BTreeSet<Term>,
    /// When something was done last that can cost a leader.
    struck: Option<ClusterTime>,
    recoveries: Samples,
}

impl Reigns {
    /// How long it took, from what was done to the cluster until somebody led a new term.
    pub fn recoveries(&self) -> Option<Spread> {
        self.recoveries.spread()
    }

    pub(super) fn elections(&self) -> usize {
        self.led.iter().filter(|term| self.began.is_none_or(|began| **term > began)).count()
    }

    pub(super) fn terms(&self) -> u64 {
        self.began.map_or(0, |began| self.highest.0.saturating_sub(began.0))
    }

    pub(super) const fn highest(&self) -> Term {
        self.highest
    }

    pub(super) fn begins(&mut self, term: Term) {
        self.began = Some(term);
        self.highest = term;
    }

    pub(super) fn began(&mut self, term: Term) {
        self.began.get_or_insert(term);
        self.highest = self.highest.max(term);
    }

    /// Somebody leads this term; whether that is new.
    pub(super) fn led(&mut self, at: ClusterTime, term: Term) -> bool {
        self.began(term);
        let is_new = self.led.insert(term);
        if is_new && let Some(struck) = self.struck.take_if(|struck| *struck <= at) {
            self.recoveries.add(at.since(struck));
        }
        is_new
    }

    pub(super) fn struck(&mut self, at: ClusterTime, fault: Fault) {
        if costs_a_leader(fault) {
            self.struck = Some(at);
        }
    }
}

/// Whether a leader can be lost by it.
const fn costs_a_leader(fault: Fault) -> bool {
    matches!(
        fault,
        Fault::Kill(_) | Fault::Pause(_) | Fault::Isolate(_) | Fault::Cut(..) | Fault::Campaign(_) | Fault::Transfer(_)
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::raft::NodeId;

    #[test]
    fn a_new_leader_is_counted_from_the_last_thing_that_can_cost_one() {
        let mut reigns = Reigns::default();
        let at = |millis: u64| ClusterTime(millis * 1000);
        assert!(reigns.led(at(100), Term(1)));
        reigns.struck(at(1_000), Fault::Kill(NodeId(1)));
        reigns.struck(at(1_500), Fault::Heal);
        assert!(!reigns.led(at(1_600), Term(1)));
        assert_eq!(reigns.recoveries(), None);
        assert!(reigns.led(at(2_200), Term(2)));
        assert!(reigns.led(at(9_000), Term(3)));
        let took = reigns.recoveries().map(|took| (took.p50, took.max));
        let once = Duration::from_millis(1_200);
        assert_eq!(took, Some((once, once)), "the third term came by itself");
        assert_eq!(reigns.elections(), 2, "it began in the first");
    }
}
