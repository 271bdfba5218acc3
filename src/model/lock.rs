//! Locks: whatever someone can hold, with what was seen of it.
//!
//! A lock outlives its keys: when the last one goes, the lock is free and keeps its history.

use std::collections::VecDeque;

use crate::domain::{Key, LeaseId, Millis, Revision, Timestamp};
use crate::layout::Recognised;

use super::cause::Cause;
use super::group::GroupIx;
use super::keyspace::KeyIx;
use super::timeline::Party;

/// How many holds of a lock are remembered.
const REMEMBERED_HOLDS: usize = 128;

/// Where a lock lives; stays valid while the lock is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockIx(pub(super) u32);

/// Since when something is so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Since {
    /// The time it was first seen to be so.
    pub at: Timestamp,
    /// Whether its beginning was seen; else it is so for longer than that.
    pub exact: bool,
}

/// Whether a lock can be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockState {
    /// Nobody has it.
    Free,
    /// Somebody has it and nobody is seen to wait.
    Held,
    /// Somebody has it and others wait.
    Contended,
}

impl LockState {
    /// The word used in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Held => "held",
            Self::Contended => "contended",
        }
    }
}

/// One client's time as the holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The holder's key.
    pub key: Key,
    /// Its lease.
    pub lease: LeaseId,
    /// Its create_revision: the fencing token.
    pub create_revision: Revision,
    /// The revision at which it came first; `None` when nobody saw that.
    pub from: Option<Revision>,
    /// When it came first; `None` when that was told long after and nobody knows the time.
    pub began: Option<Since>,
    /// How long it waited for that, when its enqueueing was seen.
    pub waited: Option<Millis>,
    /// How it ended, or `None` while it lasts.
    pub ended: Option<End>,
}

impl Hold {
    pub(super) fn new(party: &Party, from: Option<Revision>, began: Option<Since>, waited: Option<Millis>) -> Self {
        Self {
            key: party.key.clone(),
            lease: party.lease,
            create_revision: party.create_revision,
            from,
            began,
            waited,
            ended: None,
        }
    }
}

/// How a hold ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// When; `None` when that was told long after and nobody knows the time.
    pub at: Option<Timestamp>,
    /// At which revision.
    pub revision: Revision,
    /// Why.
    pub cause: Cause,
}

/// What was seen of a lock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    holds: VecDeque<Hold>,
    /// How many of them began before a stretch that is told later.
    marked: usize,
    /// How often the lock passed on, by time.
    pub handovers: Handovers,
}

impl History {
    /// The remembered holds, oldest first; those that last have no end.
    pub fn holds(&self) -> impl DoubleEndedIterator<Item = &Hold> + ExactSizeIterator {
        self.holds.iter()
    }

    pub(super) fn begin(&mut self, hold: Hold) {
        if self.holds.len() == REMEMBERED_HOLDS {
            self.holds.pop_front();
            self.marked = self.marked.saturating_sub(1);
        }
        self.holds.push_back(hold);
    }

    /// What begins from now on comes after a stretch that is told later.
    pub(super) fn mark(&mut self) {
        self.marked = self.holds.len();
    }

    /// Puts what a fill showed of the marked stretch where it belongs. Both histories were one
    /// when it was marked. `held` are the tokens of those who hold now; a hold that is none of
    /// them, and whose end the fill did not come to, has ended `unseen`.
    pub(super) fn fill_in(&mut self, filled: &Self, held: &[Revision], unseen: End) {
        let mut later = self.holds.split_off(self.marked.min(self.holds.len()));
        let told: Vec<_> = filled.holds.iter().collect();
        let (before, meanwhile) = told.split_at(filled.marked.min(told.len()));
        // Either may have forgotten some of the oldest.
        for (known, told) in self.holds.iter_mut().rev().zip(before.iter().rev()) {
            known.ended = told.ended.or(known.ended);
        }
        // What ended by then the fill knows better: a list shows a queue page by page. Who held
        // before, and was first noted when that ended, is in both.
        later.retain(|hold| {
            let same = |told: &&Hold| (told.create_revision, told.began) == (hold.create_revision, hold.began);
            hold.ended.is_none_or(|end| end.revision > unseen.revision)
                && (hold.began.is_none() || !meanwhile.iter().any(same))
        });
        for &hold in meanwhile {
            let token = hold.create_revision;
            let goes_on = later.iter().position(|later| hold.ended.is_none() && later.create_revision == token);
            self.holds.push_back(goes_on.and_then(|at| later.remove(at)).unwrap_or_else(|| {
                let lasts = held.contains(&token);
                Hold { ended: hold.ended.or((!lasts).then_some(unseen)), ..hold.clone() }
            }));
        }
        self.holds.extend(later);
        let surplus = self.holds.len().saturating_sub(REMEMBERED_HOLDS);
        self.holds.drain(..surplus);
        self.marked = 0;
    }

    /// The open hold with this token.
    pub fn open(&self, token: Revision) -> Option<&Hold> {
        self.holds.iter().rev().find(|hold| hold.create_revision == token && hold.ended.is_none())
    }

    pub(super) fn end(&mut self, token: Revision, end: End) {
        let open = self.holds.iter_mut().rev().find(|hold| hold.create_revision == token && hold.ended.is_none());
        if let Some(hold) = open {
            hold.ended = Some(end);
        }
    }

    pub(super) fn settle(&mut self, token: Revision, cause: Cause) {
        let pending = self.holds.iter_mut().rev().filter(|hold| hold.create_revision == token);
        for end in pending.filter_map(|hold| hold.ended.as_mut()).filter(|end| end.cause == Cause::Pending) {
            end.cause = cause;
        }
    }
}

/// A count of handovers over the last ten minutes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handovers {
    /// The number of the newest bucket: its start divided by [`Handovers::BUCKET`].
    newest: i64,
    counts: VecDeque<u32>,
    total: u64,
}

impl Handovers {
    /// The length of one bucket.
    pub const BUCKET: Millis = Millis(20_000);
    /// How many buckets there are.
    pub const BUCKETS: usize = 30;
    const SPAN: i64 = 30;

    pub(super) fn count(&mut self, at: Timestamp) {
        self.roll(at);
        if let Some(newest) = self.counts.back_mut() {
            *newest += 1;
        }
        self.total += 1;
    }

    /// All handovers since the start of the program.
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// The counts of the last [`Handovers::BUCKETS`] buckets as seen at `now`, oldest first.
    pub fn buckets(&self, now: Timestamp) -> [u32; Self::BUCKETS] {
        let mut shown = [0; Self::BUCKETS];
        let lag = usize::try_from(now.0 / Self::BUCKET.0 - self.newest).unwrap_or(0);
        for (back, &count) in self.counts.iter().rev().enumerate() {
            if let Some(slot) = (back + lag < Self::BUCKETS).then(|| &mut shown[Self::BUCKETS - 1 - back - lag]) {
                *slot = count;
            }
        }
        shown
    }

    fn roll(&mut self, at: Timestamp) {
        let bucket = at.0 / Self::BUCKET.0;
        if self.counts.is_empty() || bucket - self.newest >= Self::SPAN {
            self.counts.clear();
            self.counts.push_back(0);
            self.newest = bucket;
        }
        while self.newest < bucket {
            self.newest += 1;
            self.counts.push_back(0);
        }
        while self.counts.len() > Self::BUCKETS {
            self.counts.pop_front();
        }
    }
}

/// What a lock is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Made {
    /// The members of a group.
    Of(GroupIx),
    /// One key, when it is there.
    Alone(Option<KeyIx>),
}

/// A lock as it is known.
#[derive(Clone, Debug)]
pub(super) struct Lock {
    pub name: Key,
    pub made: Made,
    pub recognised: Recognised,
    /// The tokens of the holders that were announced.
    pub held: Vec<Revision>,
    /// Since when nobody holds it.
    pub free_since: Option<Timestamp>,
    pub history: Option<Box<History>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handovers_fall_out_of_the_window_after_ten_minutes() {
        let mut handovers = Handovers::default();
        handovers.count(Timestamp(1_000_000));
        handovers.count(Timestamp(1_000_001));
        handovers.count(Timestamp(1_040_000));
        let shown = handovers.buckets(Timestamp(1_060_000));
        assert_eq!(shown[Handovers::BUCKETS - 4..], [2, 0, 1, 0]);
        assert_eq!(handovers.buckets(Timestamp(1_640_000)).iter().sum::<u32>(), 0);
        handovers.count(Timestamp(9_000_000));
        assert_eq!(handovers.buckets(Timestamp(9_000_000)).iter().sum::<u32>(), 1);
        assert_eq!(handovers.total(), 4);
    }
}
