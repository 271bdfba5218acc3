//! What it costs to hand a lock over: how much clients ask, and how much they are told.

use super::{Facts, Judging, Thousandths, Verdict, locks, plural, shown};
use crate::domain::Key;

/// A bound.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bound {
    AtLeast(Thousandths),
    AtMost(Thousandths),
}

/// What is counted.
#[derive(Clone, Copy, Debug)]
enum What {
    Events,
    Calls,
}

/// So many for each handoff.
#[derive(Debug)]
pub(super) struct PerHandoff {
    lock: Key,
    what: What,
    bound: Bound,
}

impl PerHandoff {
    pub const fn events(lock: Key, bound: Bound) -> Self {
        Self { lock, what: What::Events, bound }
    }

    pub const fn calls(lock: Key, bound: Bound) -> Self {
        Self { lock, what: What::Calls, bound }
    }
}

impl Judging for PerHandoff {
    fn verdict(&self, facts: &Facts<'_>) -> Verdict {
        let of = count(facts, &self.lock, self.what);
        let name = match self.what {
            What::Events => "event",
            What::Calls => "call",
        };
        let evidence =
            format!("{} for {} of {}", plural(of.count, name), plural(of.handoffs, "handoff"), shown(&self.lock));
        match of.each() {
            None => Verdict::new(None, evidence),
            Some(each) => {
                let held = match self.bound {
                    Bound::AtLeast(least) => each >= least.value(),
                    Bound::AtMost(most) => each <= most.value(),
                };
                Verdict::new(held, format!("{each:.2} each: {evidence}"))
            }
        }
    }
}

/// Fewer events than another.
#[derive(Debug)]
pub(super) struct Fewer {
    pub lock: Key,
    pub other: Key,
}

impl Judging for Fewer {
    fn verdict(&self, facts: &Facts<'_>) -> Verdict {
        let of = |lock| (count(facts, lock, What::Events), shown(lock));
        let ((one, its_name), (other, others_name)) = (of(&self.lock), of(&self.other));
        match (one.each(), other.each()) {
            (Some(each), Some(others)) => {
                let evidence = format!(
                    "{each:.2} each for {} of {its_name}, {others:.2} each for {} of {others_name}",
                    plural(one.handoffs, "handoff"),
                    plural(other.handoffs, "handoff"),
                );
                Verdict::new(each < others, evidence)
            }
            _ => {
                let evidence = format!(
                    "{} of {its_name}, {} of {others_name}: both have to be handed over",
                    plural(one.handoffs, "handoff"),
                    plural(other.handoffs, "handoff"),
                );
                Verdict::new(None, evidence)
            }
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    count: u64,
    handoffs: u64,
}

impl Count {
    fn each(self) -> Option<f64> {
        (self.handoffs > 0).then(|| self.count as f64 / self.handoffs as f64)
    }
}

fn count(facts: &Facts<'_>, lock: &Key, what: What) -> Count {
    let mut all = Count::default();
    for (_, of) in locks(facts.tally, Some(lock)) {
        let counted = of.traffic();
        all.count += match what {
            What::Events => counted.events,
            What::Calls => counted.calls,
        };
        all.handoffs += of.handoffs;
    }
    all
}
