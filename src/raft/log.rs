//! A node's log with what its entries carry.
//!
//! noraft keeps positions and terms; this keeps the same entries with their payloads, which are
//! shared between nodes and messages and never copied.

use std::collections::VecDeque;
use std::sync::Arc;

use super::RequestId;
use crate::domain::raft::EntryKind;
use crate::domain::{RaftIndex, Term};

/// What an entry carries.
#[derive(Debug)]
pub(super) enum Body<C> {
    /// The first entry of a leader's term (§5.4.2, §8).
    Term,
    /// A configuration (§6), and who asked for it; noraft knows which one.
    Members(Option<RequestId>),
    /// A command for the machine.
    Request { id: RequestId, command: C },
}

impl<C> Body<C> {
    /// The request it came from.
    pub(super) const fn request(&self) -> Option<RequestId> {
        match self {
            Self::Term => None,
            Self::Members(request) => *request,
            Self::Request { id, .. } => Some(*id),
        }
    }

    pub(super) const fn is_members(&self) -> bool {
        matches!(self, Self::Members(_))
    }

    pub(super) const fn kind(&self) -> EntryKind {
        match self {
            Self::Term => EntryKind::Term,
            Self::Members(_) => EntryKind::Members,
            Self::Request { .. } => EntryKind::Request,
        }
    }
}

/// An entry: its term and what it carries.
#[derive(Debug)]
pub(super) struct Entry<C> {
    pub(super) term: Term,
    pub(super) body: Arc<Body<C>>,
}

impl<C> Clone for Entry<C> {
    fn clone(&self) -> Self {
        Self { term: self.term, body: Arc::clone(&self.body) }
    }
}

/// A log whose first entries may be gone into a snapshot (§7).
#[derive(Debug)]
pub(super) struct Log<C> {
    /// The last index that is not in it.
    before: u64,
    /// That entry's term.
    before_term: Term,
    entries: VecDeque<Entry<C>>,
}

impl<C> Log<C> {
    /// A log without entries that goes on behind a position.
    pub(super) const fn behind(before: RaftIndex, before_term: Term) -> Self {
        Self { before: before.0, before_term, entries: VecDeque::new() }
    }

    /// The last index that is only in the snapshot.
    pub(super) const fn before(&self) -> RaftIndex {
        RaftIndex(self.before)
    }

    pub(super) fn last(&self) -> RaftIndex {
        RaftIndex(self.before + self.entries.len() as u64)
    }

    fn at(&self, index: RaftIndex) -> Option<usize> {
        index.0.checked_sub(self.before + 1).and_then(|at| usize::try_from(at).ok())
    }

    pub(super) fn get(&self, index: RaftIndex) -> Option<&Entry<C>> {
        self.entries.get(self.at(index)?)
    }

    /// The term of an entry, or of the last one that is gone.
    pub(super) fn term(&self, index: RaftIndex) -> Option<Term> {
        if index.0 == self.before { Some(self.before_term) } else { self.get(index).map(|entry| entry.term) }
    }

    pub(super) fn push(&mut self, entry: Entry<C>) {
        self.entries.push_back(entry);
    }

    /// Drops all entries behind this one.
    pub(super) fn truncate(&mut self, last: RaftIndex) {
        let keep = last.0.saturating_sub(self.before);
        self.entries.truncate(usize::try_from(keep).unwrap_or(usize::MAX));
    }

    /// Drops the entries up to and with this one, which a snapshot has. Handed back is what
    /// was dropped.
    pub(super) fn compact(&mut self, until: RaftIndex) -> Vec<Entry<C>> {
        let Some(at) = self.at(until).filter(|at| *at < self.entries.len()) else { return Vec::new() };
        let dropped: Vec<_> = self.entries.drain(..=at).collect();
        self.before = until.0;
        self.before_term = dropped.last().map_or(self.before_term, |entry| entry.term);
        dropped
    }

    /// The entries between two indexes, both included, as far as they are there, with their
    /// indexes.
    pub(super) fn range(&self, first: RaftIndex, last: RaftIndex) -> impl Iterator<Item = (RaftIndex, &Entry<C>)> {
        let first = first.0.max(self.before + 1);
        let last = last.0.min(self.last().0);
        let skip = usize::try_from(first - self.before - 1).unwrap_or(usize::MAX).min(self.entries.len());
        let count = usize::try_from((last + 1).saturating_sub(first)).unwrap_or(usize::MAX);
        (first..).map(RaftIndex).zip(self.entries.range(skip..).take(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(term: u64) -> Entry<u8> {
        Entry { term: Term(term), body: Arc::new(Body::Term) }
    }

    fn log() -> Log<u8> {
        let mut log = Log::behind(RaftIndex(0), Term(0));
        for term in [1, 1, 2, 2, 3] {
            log.push(entry(term));
        }
        log
    }

    fn indexes(log: &Log<u8>, first: u64, last: u64) -> Vec<u64> {
        log.range(RaftIndex(first), RaftIndex(last)).map(|(index, _)| index.0).collect()
    }

    #[test]
    fn entries_are_found_by_their_index() {
        let log = log();
        assert_eq!(log.last(), RaftIndex(5));
        assert_eq!(log.term(RaftIndex(0)), Some(Term(0)));
        assert_eq!(log.term(RaftIndex(3)), Some(Term(2)));
        assert_eq!(log.term(RaftIndex(6)), None);
        assert!(log.get(RaftIndex(0)).is_none());
        assert_eq!(indexes(&log, 0, 9), [1, 2, 3, 4, 5]);
        assert_eq!(indexes(&log, 4, 3), [0; 0]);
    }

    #[test]
    fn a_compacted_log_remembers_the_term_of_the_last_entry_that_is_gone() {
        let mut log = log();
        assert_eq!(log.compact(RaftIndex(3)).len(), 3);
        assert_eq!((log.before(), log.last()), (RaftIndex(3), RaftIndex(5)));
        assert_eq!(log.term(RaftIndex(3)), Some(Term(2)));
        assert_eq!(log.term(RaftIndex(2)), None);
        assert_eq!(indexes(&log, 0, 4), [4]);
        assert!(log.compact(RaftIndex(3)).is_empty(), "what is gone is gone once");
        assert!(log.compact(RaftIndex(9)).is_empty(), "what is not there cannot go");
    }

    #[test]
    fn a_conflicting_tail_is_dropped() {
        let mut log = log();
        log.truncate(RaftIndex(2));
        assert_eq!(log.last(), RaftIndex(2));
        log.truncate(RaftIndex(7));
        assert_eq!(log.last(), RaftIndex(2));
    }
}
