//! The past of the lock that is open, from before anybody watched.
//!
//! It is read once, when a lock is opened; from then on what is watched goes on from there.
//! Only the newest part is kept, of one lock.

use std::collections::VecDeque;

use crate::domain::{Key, KeyRange, Revision, Timestamp};
use crate::event::Past;

use super::facts::Facts;
use super::handoffs::{Handoff, Handoffs};
use super::lock::Made;
use super::look::LockView;

/// How many handoffs are kept.
const KEPT: usize = 256;

/// What was rebuilt of one lock's past.
#[derive(Clone, Debug)]
pub struct Rebuilt {
    lock: Key,
    range: KeyRange,
    handoffs: VecDeque<Handoff>,
    omitted: u64,
    since: Revision,
    compacted: bool,
    state: Rebuilding,
}

/// How far it is.
#[derive(Clone, Debug)]
pub enum Rebuilding {
    /// It is being read.
    Reading(Box<Handoffs>),
    /// It is all there.
    Done,
    /// The rest could not be read.
    Failed(String),
}

/// What is to be read from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ToRead {
    /// The past of this lock, from its keys.
    Past(Key, KeyRange),
    /// Nothing any more.
    Nothing,
}

impl Rebuilt {
    fn of(lock: &LockView<'_>) -> Self {
        let (lock, range) = (lock.name().into(), own_range(lock));
        let state = Rebuilding::Reading(Box::new(Handoffs::of(Key::clone(&lock))));
        Self { lock, range, handoffs: VecDeque::new(), omitted: 0, since: Revision::default(), compacted: false, state }
    }

    /// The rebuilt handoffs, oldest first.
    pub fn handoffs(&self) -> impl DoubleEndedIterator<Item = &Handoff> + ExactSizeIterator {
        self.handoffs.iter()
    }

    /// How many older ones were rebuilt and are not kept.
    pub const fn omitted(&self) -> u64 {
        self.omitted
    }

    /// The first revision that is told of; 0 before that is known.
    pub const fn since(&self) -> Revision {
        self.since
    }

    /// Whether what was before is compacted.
    pub const fn is_compacted(&self) -> bool {
        self.compacted
    }

    /// How far it is.
    pub const fn state(&self) -> &Rebuilding {
        &self.state
    }

    /// The keys that are read.
    pub const fn range(&self) -> &KeyRange {
        &self.range
    }

    /// Whether there is anything to say yet.
    pub const fn has_begun(&self) -> bool {
        self.since.0 > 0 || !self.is_reading()
    }

    const fn is_reading(&self) -> bool {
        matches!(self.state, Rebuilding::Reading(_))
    }

    fn take(&mut self, at: Timestamp, piece: Past) {
        let Rebuilding::Reading(past) = &mut self.state else { return };
        let ended = if let Past::Ended { why } = &piece { Some(why.clone()) } else { None };
        past.take(at, piece);
        (self.since, self.compacted) = (past.since(), past.compacted().is_some());
        while let Some(handoff) = past.next_handoff() {
            if self.handoffs.len() == KEPT {
                self.handoffs.pop_front();
                self.omitted += 1;
            }
            self.handoffs.push_back(handoff);
        }
        if let Some(why) = ended {
            self.state = why.map_or(Rebuilding::Done, Rebuilding::Failed);
        }
    }
}

impl Facts {
    /// What was rebuilt of this lock's past, if it was.
    pub fn rebuilt(&self, lock: &LockView<'_>) -> Option<&Rebuilt> {
        self.rebuilt
            .as_deref()
            .filter(|rebuilt| rebuilt.lock.as_bytes() == lock.name() && rebuilt.range == own_range(lock))
    }

    /// Notes which lock is open. Returns what is to be read from now on, when that changes:
    /// another lock, or nothing any more.
    pub(crate) fn open_past(&mut self, open: Option<(Key, KeyRange)>) -> Option<ToRead> {
        let Some((lock, range)) = open else {
            // What is all there stays, for whoever comes back.
            let stopped = self.rebuilt.take_if(|rebuilt| rebuilt.is_reading());
            return stopped.map(|_| ToRead::Nothing);
        };
        if self.rebuilt.as_ref().is_some_and(|rebuilt| rebuilt.lock == lock && rebuilt.range == range) {
            return None;
        }
        let view = self.locks().find(|view| view.name() == lock.as_bytes() && own_range(view) == range);
        let rebuilt = Rebuilt::of(&view?);
        self.rebuilt = Some(Box::new(rebuilt));
        Some(ToRead::Past(lock, range))
    }

    /// Takes in a part of a lock's past; whether it is news.
    pub(crate) fn take_past_part(&mut self, at: Timestamp, lock: &Key, part: Past) -> bool {
        let Some(rebuilt) = self.rebuilt.as_mut().filter(|rebuilt| rebuilt.lock == *lock) else { return false };
        rebuilt.take(at, part);
        true
    }
}

/// The keys of a lock: those below its name, or the one that has it.
pub fn own_range(lock: &LockView<'_>) -> KeyRange {
    match lock.lock.made {
        Made::Of(_) => KeyRange::prefix(&[lock.name(), b"/"].concat()),
        Made::Alone(_) => KeyRange::single(lock.name()),
    }
}
