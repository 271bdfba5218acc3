//! What it costs to hand a lock over: how much clients ask, and how much they are told.

use super::{Facts, Judging, Said, Thousandths, Verdict, locks, shown};
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
        let said = |words| {
            let said = Said::new(words).count("events", of.count, name).count("handoffs", of.handoffs, "handoff");
            said.with("name", shown(&self.lock))
        };
        match of.each() {
            None => Verdict::new(None, said("{events} for {handoffs} of {name}")),
            Some(each) => {
                let held = match self.bound {
                    Bound::AtLeast(least) => each >= least.value(),
                    Bound::AtMost(most) => each <= most.value(),
                };
                let evidence = said("{n} each: {events} for {handoffs} of {name}");
                Verdict::new(held, evidence.with("n", format_args!("{each:.2}")))
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
        let said = |words| {
            let said = Said::new(words).with("name", &its_name).with("other", &others_name);
            let said = said.count("handoffs", one.handoffs, "handoff");
            said.count("others", other.handoffs, "handoff")
        };
        if let (Some(each), Some(each_other)) = (one.each(), other.each()) {
            let evidence = said("{n} each for {handoffs} of {name}, {m} each for {others} of {other}");
            let evidence = evidence.with("n", format_args!("{each:.2}")).with("m", format_args!("{each_other:.2}"));
            return Verdict::new(each < each_other, evidence);
        }
        Verdict::new(None, said("{handoffs} of {name}, {others} of {other}: both have to be handed over"))
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    count: u64,
    handoffs: u64,
}

impl Count {
    #[expect(clippy::cast_precision_loss, reason = "counts of a run are far below 2^53")]
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
