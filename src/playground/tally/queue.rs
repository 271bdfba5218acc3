//! A lock's queue as the store's history has it, and who was first at which revision.

use std::collections::{BTreeMap, VecDeque};

use crate::domain::{Key, LeaseId, Revision};

/// How many changes of the first in the queue are kept.
const KEPT: usize = 20_000;

/// A queue and its past.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    /// What stands in it, by age.
    keys: BTreeMap<Revision, Place>,
    created: BTreeMap<Key, Revision>,
    /// Who was first from which revision on.
    firsts: VecDeque<(Revision, Option<Revision>)>,
    /// Up to which revision the history is known.
    known: Revision,
    /// Who was first last; an empty queue has nobody, so this may be of the past.
    last_first: Option<Place>,
}

/// A key and the lease it hangs on, which tells one client from another where all have one key.
type Place = (Key, LeaseId);

/// What the history says to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The key created by this revision was first, or none was.
    First(Option<Revision>),
    /// The history has not come that far.
    NotYet,
    /// It is not known any more, or never was.
    Unknown,
}

impl Queue {
    /// The queue as it was at a revision, without a past.
    pub fn at(revision: Revision, keys: impl Iterator<Item = (Revision, Place)>) -> Self {
        let keys: BTreeMap<_, _> = keys.collect();
        let created = keys.iter().map(|(created, (key, _))| (key.clone(), *created)).collect();
        let first = keys.first_key_value().map(|(created, place)| (*created, place.clone()));
        let firsts = VecDeque::from([(revision, first.as_ref().map(|(created, _)| *created))]);
        Self { keys, created, firsts, known: revision, last_first: first.map(|(_, place)| place) }
    }

    /// A key was put; putting it anew does not move it.
    pub fn put(&mut self, created: Revision, key: &Key, lease: LeaseId) {
        self.keys.insert(created, (key.clone(), lease));
        self.created.insert(key.clone(), created);
    }

    /// A key was deleted; the revision that had created it, and the lease it hung on.
    pub fn delete(&mut self, key: &Key) -> Option<(Revision, LeaseId)> {
        let created = self.created.remove(key)?;
        let (_, lease) = self.keys.remove(&created)?;
        Some((created, lease))
    }

    /// All changes of a revision are in; whether the lock passed from one client to another.
    pub fn settle(&mut self, revision: Revision) -> bool {
        self.known = revision;
        let first = self.keys.first_key_value();
        let created = first.map(|(created, _)| *created);
        if self.firsts.back().is_some_and(|(_, before)| *before == created) {
            return false;
        }
        if self.firsts.len() == KEPT {
            self.firsts.pop_front();
        }
        self.firsts.push_back((revision, created));
        let Some((_, place)) = first else { return false };
        let passed = self.last_first.as_ref().is_some_and(|before| before != place);
        self.last_first = Some(place.clone());
        passed
    }

    /// Whether a key stands in it that was created by this revision.
    pub fn has(&self, created: Revision) -> bool {
        self.keys.contains_key(&created)
    }

    /// Whether the history is known up to this revision.
    pub fn is_known(&self, revision: Revision) -> bool {
        revision <= self.known
    }

    /// What created the oldest key.
    pub fn first(&self) -> Option<Revision> {
        self.keys.first_key_value().map(|(created, _)| *created)
    }

    /// What created its keys, the oldest first.
    pub fn ages(&self) -> impl Iterator<Item = Revision> {
        self.keys.keys().copied()
    }

    /// The history is known up to here.
    pub fn reach(&mut self, revision: Revision) {
        self.known = self.known.max(revision);
    }

    /// Who was first when the store was at `revision`.
    pub fn first_at(&self, revision: Revision) -> Verdict {
        if revision > self.known {
            return Verdict::NotYet;
        }
        let after = self.firsts.partition_point(|(from, _)| *from <= revision);
        match after.checked_sub(1).and_then(|at| self.firsts.get(at)) {
            Some((_, first)) => Verdict::First(*first),
            None => Verdict::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        Key::from(name)
    }

    #[test]
    fn the_oldest_is_first_and_the_past_is_remembered() {
        let mut queue = Queue::at(Revision(10), std::iter::empty());
        queue.put(Revision(11), &key("b"), LeaseId(7));
        assert!(!queue.settle(Revision(11)), "the first holder got it from nobody");
        queue.put(Revision(12), &key("a"), LeaseId(7));
        assert!(!queue.settle(Revision(12)));
        assert_eq!(queue.delete(&key("b")), Some((Revision(11), LeaseId(7))));
        assert!(queue.settle(Revision(15)), "from b to a");
        let first = |at| queue.first_at(Revision(at));
        assert_eq!(first(9), Verdict::Unknown);
        assert_eq!(first(10), Verdict::First(None));
        assert_eq!(first(14), Verdict::First(Some(Revision(11))));
        assert_eq!(first(15), Verdict::First(Some(Revision(12))));
        assert_eq!(first(16), Verdict::NotYet);
    }

    #[test]
    fn a_lock_that_was_free_for_a_while_is_handed_on_all_the_same() {
        let mut queue = Queue::at(Revision(1), std::iter::once((Revision(1), (key("a"), LeaseId(7)))));
        queue.delete(&key("a"));
        assert!(!queue.settle(Revision(2)));
        queue.put(Revision(3), &key("a"), LeaseId(7));
        assert!(!queue.settle(Revision(3)), "the same client again");
        queue.delete(&key("a"));
        queue.settle(Revision(4));
        queue.put(Revision(5), &key("b"), LeaseId(7));
        assert!(queue.settle(Revision(5)));
    }

    #[test]
    fn one_key_passes_from_lease_to_lease() {
        let mut queue = Queue::at(Revision(1), std::iter::empty());
        let mut passed = Vec::new();
        for (revision, lease) in [(2, 7), (4, 8), (6, 8)] {
            queue.put(Revision(revision), &key("a"), LeaseId(lease));
            passed.push(queue.settle(Revision(revision)));
            queue.delete(&key("a"));
            queue.settle(Revision(revision + 1));
        }
        assert_eq!(passed, [false, true, false]);
    }

    #[test]
    fn a_key_that_is_put_anew_keeps_its_place() {
        let mut queue = Queue::at(Revision(1), std::iter::empty());
        queue.put(Revision(2), &key("a"), LeaseId(7));
        queue.settle(Revision(2));
        queue.put(Revision(3), &key("b"), LeaseId(7));
        queue.settle(Revision(3));
        queue.put(Revision(2), &key("a"), LeaseId(7));
        assert!(!queue.settle(Revision(4)));
        assert_eq!(queue.first_at(Revision(4)), Verdict::First(Some(Revision(2))));
    }
}
