//! A scenario: who takes part, what is done to them and when, what is told meanwhile, and what
//! is expected to come of it.
//!
//! Scenarios are files that a workshop's leader can write; `docs/scenarios.md` tells how. Those
//! that come with the program are in [`library`]. What a file says is checked when it is read, so
//! that a scenario that there is can be played.

use std::time::Duration;

use super::cast::Protected;
use super::expect::Wanted;
use super::{Cast, ClientId, Habits, LockOf, Span};
use crate::domain::Key;
use crate::domain::play::Narration;
use crate::recipe::{Kind, Mistakes};

mod check;
mod deed;
mod file;
pub mod library;
mod trigger;

pub use deed::{Deed, DeedError, FaultLine, NodeWord};
pub use file::ScenarioError;
pub use trigger::{Trigger, What, Who};

/// A scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// Its name.
    pub name: String,
    /// What it shows, in a sentence.
    pub summary: String,
    /// The same in Chinese.
    pub summary_zh: String,
    /// The name of the lock that it is about, below the prefix.
    pub lock: String,
    /// What it needs of the cluster.
    pub needs: Needs,
    /// Who takes part.
    pub groups: Vec<Group>,
    /// What holders write to.
    pub resources: Vec<Protected>,
    /// What is done and told, and when, in the order of the file.
    pub cues: Vec<Cue>,
    /// What is told, in the order of the file; cues name it by its place.
    pub narrations: Vec<Narration>,
    /// What is expected.
    pub wanted: Vec<Wanted>,
}

/// What a scenario needs of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Whether it does things to members, which only a cluster of one's own allows.
    pub faults: bool,
    /// How many members there have to be.
    pub members: Option<usize>,
    /// Whether members ask before they stand for election.
    pub pre_vote: Option<bool>,
    /// Whether a leader without a majority steps down.
    pub check_quorum: Option<bool>,
    /// How long messages between members take.
    pub delay: Option<Duration>,
}

/// Clients that do the same. `{n}` in a name or value is the client's number in the group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// How many they are.
    pub count: u16,
    /// What they do.
    pub kind: Kind,
    /// What they take part in, below the prefix.
    pub lock: String,
    /// The second lock of a pair, below the prefix.
    pub second: Option<String>,
    /// What they write into their keys.
    pub value: String,
    /// The length of their leases, in whole seconds.
    pub ttl: Duration,
    /// The time between heartbeats; none is a third of the lease.
    pub heartbeat: Option<Duration>,
    /// How long they hold.
    pub hold: Span,
    /// How long they do without.
    pub think: Span,
    /// The time between writes of a holder; none never writes.
    pub writes: Option<Duration>,
    /// How long one lives until it crashes; none never does.
    pub crash: Option<Span>,
    /// Only one of so many crashes.
    pub crash_one_in: u16,
    /// How long one is away after that.
    pub away: Span,
    /// What their programmer got wrong.
    pub mistakes: Mistakes,
    /// When they begin.
    pub starts: Duration,
    /// Whether they stay at the member they are connected to, whatever becomes of it.
    pub stays: bool,
}

/// Something that happens at a moment of the scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cue {
    /// Not before this time.
    pub time: Duration,
    /// Not before this happens, at that time or later.
    pub when: Option<Trigger>,
    /// So long after that.
    pub after: Duration,
    /// Again so long after each time; none happens once.
    pub every: Option<Duration>,
    /// What is done, in this order.
    pub deeds: Vec<Deed>,
    /// Which narration is told.
    pub says: Option<usize>,
}

/// What whoever plays a scenario wants otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// So many clients of the lock that it is about.
    pub clients: Option<u16>,
    /// How long those hold.
    pub hold: Option<Span>,
    /// How long those do without.
    pub think: Option<Span>,
    /// The length of their leases, in whole seconds.
    pub ttl: Option<Duration>,
}

impl Scenario {
    /// Who plays it: every name is below `prefix`, which ends in a slash.
    pub fn cast(&self, prefix: &str, wishes: Wishes) -> Cast {
        let key = |name: &str| Key::from(&*format!("{prefix}{name}"));
        let counts = self.counts(wishes.clients);
        let clients = self.groups.iter().zip(counts).flat_map(|(group, count)| {
            let main = self.is_about(group);
            (1..=count).map(move |number| Habits {
                hold: wishes.hold.filter(|_| main).unwrap_or(group.hold),
                think: wishes.think.filter(|_| main).unwrap_or(group.think),
                ttl: wishes.ttl.filter(|_| main).unwrap_or(group.ttl),
                ..group.habits(number, count, &key)
            })
        });
        let clients: Vec<_> = (1..).map(ClientId).zip(clients).collect();
        let lock = key(&self.lock);
        let about = clients.iter().map(|(_, habits)| habits.lock()).find(|of| *of.name() == lock);
        Cast {
            scenario: self.name.clone(),
            summary: self.summary.clone(),
            summary_zh: self.summary_zh.clone(),
            // A file whose lock nobody takes is no scenario; a second lock of pairs is a queue.
            lock: about.unwrap_or(LockOf::Queue(lock)),
            prefix: Key::from(prefix),
            clients,
            resources: self.resources.clone(),
        }
    }

    /// Where the keys of a run are when nobody says otherwise.
    pub fn prefix(&self) -> String {
        format!("{}{}/", super::cast::PREFIX, self.name)
    }

    fn is_about(&self, group: &Group) -> bool {
        group.lock == self.lock && !matches!(group.kind, Kind::Watch | Kind::Observe)
    }

    /// How many clients each group has. A wish is about those of the main lock: the largest
    /// group of them grows or shrinks, and when it has shrunk to nothing the last ones go.
    fn counts(&self, wish: Option<u16>) -> Vec<u16> {
        let mut counts: Vec<u16> = self.groups.iter().map(|group| group.count).collect();
        let Some(wish) = wish else { return counts };
        let about: Vec<usize> = (0..counts.len()).filter(|at| self.is_about(&self.groups[*at])).collect();
        // The first of the largest.
        let Some(largest) = about.iter().copied().rev().max_by_key(|at| counts[*at]) else { return counts };
        let mut others: u16 = 0;
        for at in about.iter().filter(|at| **at != largest) {
            counts[*at] = counts[*at].min(wish.saturating_sub(others));
            others = others.saturating_add(counts[*at]);
        }
        counts[largest] = wish.saturating_sub(others);
        counts
    }
}

impl Group {
    fn habits(&self, number: u16, count: u16, key: &impl Fn(&str) -> Key) -> Habits {
        let numbered = |text: &str| text.replace("{n}", &number.to_string());
        Habits {
            kind: self.kind,
            name: key(&numbered(&self.lock)),
            second: self.second.as_deref().map(|name| key(&numbered(name))),
            value: numbered(&self.value).into_bytes(),
            ttl: self.ttl,
            heartbeat: self.heartbeat,
            writes: self.writes,
            think: self.think,
            hold: self.hold,
            crash: self.crash(number, count),
            away: self.away,
            mistakes: self.mistakes,
            starts: self.starts,
            stays: self.stays,
        }
    }

    /// One in so many crashes; and of many each crashes the more seldom, so that the queue does not
    /// stand still for ever.
    fn crash(&self, number: u16, count: u16) -> Option<Span> {
        let span = self.crash.filter(|_| number % self.crash_one_in == self.crash_one_in / 2)?;
        let share = u32::from(count.div_ceil(self.crash_one_in));
        let longest = span.shortest + span.longest.saturating_sub(span.shortest).saturating_mul(share);
        Some(Span { longest, ..span })
    }
}

#[cfg(test)]
mod tests;
