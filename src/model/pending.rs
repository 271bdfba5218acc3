//! Keys that went and whose cause is still being asked.

use std::collections::VecDeque;

use crate::domain::{LeaseId, Revision, Timestamp};

use super::cause::PATIENCE;
use super::lock::LockIx;

/// How many open causes are kept at most; beyond it the oldest stays unknown.
const MOST: usize = 4_096;

/// One key whose cause is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Open {
    /// Its lease.
    pub lease: LeaseId,
    /// The happening to fill in.
    pub seq: u64,
    /// The lock, and the token of the hold to fill in.
    pub lock: LockIx,
    pub token: Revision,
    /// When the key went.
    pub gone_at: Timestamp,
    /// When its lease would have run out.
    pub expected_end: Option<Timestamp>,
    /// Whether it was known not to be renewed.
    pub unrenewed: bool,
}

/// All open causes, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending(VecDeque<Open>);

impl Pending {
    /// Adds one; returns the oldest when there are too many.
    pub fn push(&mut self, open: Open) -> Option<Open> {
        let overflow = (self.0.len() == MOST).then(|| self.0.pop_front()).flatten();
        self.0.push_back(open);
        overflow
    }

    /// Takes out all that wait for this lease.
    pub fn take(&mut self, lease: LeaseId) -> Vec<Open> {
        if !self.0.iter().any(|open| open.lease == lease) {
            return Vec::new();
        }
        let (taken, kept) = self.0.drain(..).partition(|open| open.lease == lease);
        self.0 = kept;
        Vec::from(taken)
    }

    /// Takes out all of them.
    pub fn take_all(&mut self) -> Vec<Open> {
        self.0.drain(..).collect()
    }

    /// Takes out the oldest beyond this number.
    pub fn take_surplus(&mut self, most: usize) -> Vec<Open> {
        let surplus = self.0.len().saturating_sub(most);
        self.0.drain(..surplus).collect()
    }

    /// Takes out those that waited too long.
    pub fn take_overdue(&mut self, now: Timestamp) -> Vec<Open> {
        let count = self.0.iter().take_while(|open| open.gone_at + PATIENCE <= now).count();
        self.0.drain(..count).collect()
    }

    /// When the oldest has waited too long.
    pub fn deadline(&self) -> Option<Timestamp> {
        self.0.front().map(|open| open.gone_at + PATIENCE)
    }
}
