//! What happened, in order, bounded.
//!
//! One stream for everybody: the panels of the dashboard show its tail, `watch` prints it,
//! tests read it. A cause that is not known yet is filled in later, in place.

use std::collections::VecDeque;

use crate::domain::{Alarm, Key, LeaseId, Revision, Timestamp};

use super::cause::Cause;
use super::cluster::LeaderChange;
use super::keyspace::Entry;

/// How many happenings are remembered.
const REMEMBERED: usize = 4_096;

/// Room for what one fact leads to as a rule. Without it the ring would grow to twice what is remembered,
/// and all of it would go through the processor's caches.
const ROOM: usize = REMEMBERED + 1_024;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happening {
    /// Its number, counted from the start of the program.
    pub seq: u64,
    /// When it was learnt.
    pub at: Timestamp,
    /// The revision that made it, or the newest one seen when none did.
    pub revision: Revision,
    /// What happened.
    pub what: What,
}

/// The kinds of happening.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// A key joined a lock's queue.
    Enqueued(Party),
    /// A key came first: its client holds the lock, or will as soon as it looks.
    Acquired(Party),
    /// The holder's key went.
    Released(Party, Cause),
    /// A waiter's key went while it waited.
    WaiterGone(Party, Cause),
    /// A key kept its place and got another value or lease.
    Rewritten {
        /// The key, with the lease it has now.
        party: Party,
        /// The lease it had before.
        former_lease: LeaseId,
    },
    /// The cluster has another leader, or none.
    LeaderChanged(LeaderChange),
    /// An alarm was raised (`true`) or is gone.
    Alarm(Alarm, bool),
    /// Events between two revisions were never seen: compacted, or another store answers. What
    /// is filled later makes the gap shorter; filled, it begins where it ends.
    Gap {
        /// The last revision seen before.
        from: Revision,
        /// The revision the read after it shows.
        to: Revision,
    },
}

/// A key's part in a happening.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Party {
    /// The key.
    pub key: Key,
    /// How much of it is the lock's name, which so need not be held as well.
    name_len: u32,
    /// Its lease.
    pub lease: LeaseId,
    /// Its create_revision, which is the fencing token of a holder.
    pub create_revision: Revision,
}

impl Party {
    /// The part an entry plays in a lock, whose name its key begins with.
    pub(super) fn new(lock: &[u8], entry: &Entry) -> Self {
        Self::of(lock, entry.key.clone(), entry.lease(), entry.create_revision)
    }

    /// The part of a key with this lease and create_revision.
    pub(crate) fn of(lock: &[u8], key: Key, lease: LeaseId, create_revision: Revision) -> Self {
        debug_assert!(key.starts_with(lock), "{key:?} stands in the queue of {:?}", lock.escape_ascii().to_string());
        let name_len = u32::try_from(lock.len()).unwrap_or(u32::MAX);
        Self { key, name_len, lease, create_revision }
    }

    /// The lock's name.
    pub fn lock(&self) -> &[u8] {
        self.key.front(self.name_len)
    }
}

impl Happening {
    /// Its revision, unless none was known yet: members are heard of before the first list.
    pub fn known_revision(&self) -> Option<Revision> {
        Some(self.revision).filter(|revision| revision.0 > 0)
    }
}

impl What {
    /// The lock this is about.
    pub const fn party(&self) -> Option<&Party> {
        match self {
            Self::Enqueued(party)
            | Self::Acquired(party)
            | Self::Released(party, _)
            | Self::WaiterGone(party, _)
            | Self::Rewritten { party, .. } => Some(party),
            Self::LeaderChanged(_) | Self::Alarm(..) | Self::Gap { .. } => None,
        }
    }

    /// Whether its cause is still being asked for.
    pub const fn is_pending(&self) -> bool {
        matches!(self, Self::Released(_, Cause::Pending) | Self::WaiterGone(_, Cause::Pending))
    }
}

/// The remembered happenings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    kept: VecDeque<Happening>,
    next: u64,
}

impl Timeline {
    /// Adds a happening; returns its number.
    pub fn push(&mut self, at: Timestamp, revision: Revision, what: What) -> u64 {
        let seq = self.next;
        self.next += 1;
        if self.kept.len() == REMEMBERED && self.kept.capacity() < ROOM {
            self.kept.reserve_exact(ROOM - REMEMBERED);
        }
        self.kept.push_back(Happening { seq, at, revision, what });
        seq
    }

    /// Forgets the oldest happenings beyond the number that is remembered. Called before a
    /// fact is taken in, never while: a reader that keeps up sees all that one fact led to.
    pub(crate) fn trim(&mut self) {
        let surplus = self.kept.len().saturating_sub(REMEMBERED);
        self.kept.drain(..surplus);
        if surplus > ROOM - REMEMBERED {
            self.kept.shrink_to(ROOM);
        }
    }

    /// The number the next happening will get.
    pub const fn next_seq(&self) -> u64 {
        self.next
    }

    /// The remembered happenings, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Happening> + ExactSizeIterator {
        self.kept.iter()
    }

    /// The remembered happenings from number `seq` on.
    pub fn from(&self, seq: u64) -> impl DoubleEndedIterator<Item = &Happening> {
        self.kept.range(self.index_of(seq).min(self.kept.len())..)
    }

    /// The happening with this number, while it is remembered.
    pub fn get(&self, seq: u64) -> Option<&Happening> {
        self.kept.get(self.index_of(seq)).filter(|happening| happening.seq == seq)
    }

    /// Fills in the cause of a happening, when it is still remembered.
    pub fn settle(&mut self, seq: u64, cause: Cause) {
        let at = self.index_of(seq);
        if let Some(happening) = self.kept.get_mut(at).filter(|happening| happening.seq == seq)
            && let What::Released(_, known) | What::WaiterGone(_, known) = &mut happening.what
        {
            *known = cause;
        }
    }

    /// Notes that what happened up to `through` is told elsewhere: a gap begins behind it, and
    /// one that is filled has no length any more.
    pub(super) fn fill_gap(&mut self, seq: u64, through: Revision) {
        let at = self.index_of(seq);
        if let Some(happening) = self.kept.get_mut(at).filter(|happening| happening.seq == seq)
            && let What::Gap { from, to } = &mut happening.what
        {
            *from = through.clamp(*from, *to);
        }
    }

    fn index_of(&self, seq: u64) -> usize {
        let oldest = self.kept.front().map_or(self.next, |happening| happening.seq);
        usize::try_from(seq.saturating_sub(oldest)).unwrap_or(usize::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn party() -> Party {
        Party::of(b"/a", "/a/1".into(), LeaseId(1), Revision(1))
    }

    #[test]
    fn a_cause_is_filled_in_where_it_was_left_open() {
        let mut timeline = Timeline::default();
        timeline.push(Timestamp(1), Revision(1), What::Enqueued(party()));
        let open = timeline.push(Timestamp(2), Revision(2), What::Released(party(), Cause::Pending));
        timeline.push(Timestamp(2), Revision(2), What::Acquired(party()));
        assert!(timeline.get(open).unwrap().what.is_pending());
        timeline.settle(open, Cause::Expired);
        assert_eq!(timeline.get(open).unwrap().what, What::Released(party(), Cause::Expired));
        assert_eq!(timeline.from(open).map(|happening| happening.seq).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn the_oldest_is_forgotten_and_numbers_stay() {
        let mut timeline = Timeline::default();
        for n in 0..4_106 {
            timeline.push(Timestamp(n), Revision(n), What::Enqueued(party()));
        }
        assert_eq!(timeline.iter().next().unwrap().seq, 0, "nothing is forgotten while a fact is taken in");
        timeline.trim();
        assert_eq!(timeline.iter().len(), REMEMBERED);
        assert_eq!(timeline.iter().next().unwrap().seq, 10);
        assert_eq!(timeline.from(3).next().unwrap().seq, 10);
        timeline.settle(2, Cause::Expired);
        assert_eq!(timeline.from(timeline.next_seq()).count(), 0);
    }
}
