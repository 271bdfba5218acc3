//! What is remembered of a cluster from one connection to the next: what was read and told, so
//! that a watch can go on where it stopped, and who the cluster was, so that another one, or
//! one that began anew, is noticed.

use crate::domain::{ClusterId, KeyRange, RaftIndex, Revision, Term};
use crate::event::Change;

use super::cover;
use super::live::Wish;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pub cluster: Option<ClusterId>,
    /// Grows with every store that began anew.
    pub life: u64,
    /// The highest seen while there was a leader; neither ever falls in one life of a store.
    pub term: Term,
    pub raft_index: RaftIndex,
    /// Everything up to here was told; `None` before the first list is complete.
    pub told: Option<Revision>,
    /// The ranges, disjoint and in key order.
    pub ranges: Vec<Tracked>,
    /// The scope that was told last.
    pub scope: Option<Vec<KeyRange>>,
    /// Whether the last stream had one watch for all ranges, so that `told` holds for each.
    pub alone: bool,
    /// Whether one watch around all ranges may not be made, or brings too much else.
    pub no_hull: bool,
    /// Whether a member without a leader told what it has.
    pub read_without_leader: bool,
    /// What was skipped to read at once what is there, and was not told yet.
    pub skipped: Option<Skipped>,
}

/// Changes that were not waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Skipped {
    /// Everything up to here was told.
    pub through: Revision,
    /// The revision of the list that was read instead; `None` before it is complete.
    pub to: Option<Revision>,
}

/// A range with what was told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tracked {
    pub range: KeyRange,
    pub state: State,
}

/// What was told of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing that counts: it has to be read.
    Unread,
    /// Everything up to this revision.
    Told(Revision),
    /// That this user may not read it.
    Denied,
}

impl Memory {
    /// Has what is denied tried again, since roles change.
    pub fn try_denied_again(&mut self) {
        for known in self.ranges.iter_mut().filter(|known| known.state == State::Denied) {
            known.state = State::Unread;
        }
    }

    /// Takes in what ranges are wished for; whether that is another scope than the one told.
    pub fn follow(&mut self, wish: &Wish) -> bool {
        let applies = wish.life.is_none_or(|life| life == self.life);
        let ranges = if applies { wish.ranges.clone() } else { Vec::new() };
        let old = std::mem::take(&mut self.ranges);
        let state = |range: &KeyRange| {
            old.iter().find(|known| known.range == *range).map_or(State::Unread, |known| known.state)
        };
        self.ranges = ranges.iter().map(|range| Tracked { range: range.clone(), state: state(range) }).collect();
        let new = self.scope.as_ref() != Some(&ranges);
        self.scope = Some(ranges);
        new
    }

    /// Another store answers than before: nothing that was told counts any more.
    pub fn begin_anew(&mut self) {
        self.life += 1;
        self.term = Term::default();
        self.raft_index = RaftIndex::default();
        self.no_hull = false;
        self.skipped = None;
        self.read_again();
    }

    /// Everything has to be read again.
    pub fn read_again(&mut self) {
        self.told = None;
        self.read_without_leader = false;
        for known in &mut self.ranges {
            known.state = State::Unread;
        }
    }

    /// Revisions before `at` are gone: a range that was told less cannot go on from there.
    pub fn compacted(&mut self, at: Revision) {
        for known in &mut self.ranges {
            if matches!(known.state, State::Told(told) if told < at) {
                known.state = State::Unread;
            }
        }
    }

    /// Prepares for a new stream of watches.
    pub fn before_open(&mut self) {
        let Some(told) = self.told else { return self.read_again() };
        for known in &mut self.ranges {
            match &mut known.state {
                State::Told(revision) if self.alone => *revision = told.max(*revision),
                _ => {}
            }
        }
        // Until the new stream is there nothing may be taken for told to all ranges.
        self.alone = false;
    }

    /// Why the store that answers now is another one than before, if it is: its revision, its
    /// term or its log are shorter than what was seen. `index` is known to root only.
    pub fn began_anew(&self, revision: Revision, term: Term, index: Option<RaftIndex>) -> Option<String> {
        let told = self.told?;
        if revision < told {
            return Some(format!("revision {revision} after {told}"));
        }
        if term < self.term {
            return Some(format!("Raft term {term} after {}", self.term));
        }
        let index = index.filter(|index| *index < self.raft_index)?;
        Some(format!("Raft index {index} after {}", self.raft_index))
    }

    /// Takes in what a member with a leader said of Raft.
    pub fn saw(&mut self, term: Term, index: Option<RaftIndex>) {
        self.term = self.term.max(term);
        self.raft_index = self.raft_index.max(index.unwrap_or_default());
    }

    /// The ranges that have to be read and may be.
    pub fn unread(&self) -> Vec<KeyRange> {
        self.ranges_where(|state| state == State::Unread)
    }

    /// The ranges that may be read, as far as is known.
    pub fn permitted(&self) -> Vec<KeyRange> {
        self.ranges_where(|state| state != State::Denied)
    }

    /// The ranges that are denied.
    pub fn denied(&self) -> Vec<KeyRange> {
        self.ranges_where(|state| state == State::Denied)
    }

    fn ranges_where(&self, fits: impl Fn(State) -> bool) -> Vec<KeyRange> {
        self.ranges.iter().filter(|known| fits(known.state)).map(|known| known.range.clone()).collect()
    }

    /// Remembers what is known of a range now.
    pub fn set(&mut self, range: &KeyRange, state: State) {
        if let Some(known) = self.ranges.iter_mut().find(|known| known.range == *range) {
            known.state = state;
        }
    }

    /// The oldest revision that some range was told up to.
    pub fn oldest_told(&self) -> Option<Revision> {
        let told = self.ranges.iter().filter_map(|known| match known.state {
            State::Told(revision) => Some(revision),
            _ => None,
        });
        told.min()
    }

    /// Everything up to `revision` was told of all ranges that were read.
    pub fn all_told(&mut self, revision: Revision) {
        self.told = self.told.map(|told| told.max(revision));
        for known in &mut self.ranges {
            if let State::Told(told) = &mut known.state {
                *told = revision.max(*told);
            }
        }
    }

    /// Everything up to `revision` was told of this range.
    pub fn progressed(&mut self, range: &KeyRange, revision: Revision) {
        for known in self.ranges.iter_mut().filter(|known| known.range == *range) {
            if let State::Told(told) = &mut known.state {
                *told = revision.max(*told);
            }
        }
    }

    /// Changes were told.
    pub fn told(&mut self, changes: &[Change]) {
        let Some(last) = changes.last() else { return };
        self.told = self.told.max(Some(last.revision));
        if self.alone {
            return;
        }
        for change in changes {
            if let Some(at) = self.holder_of(change.event.key()) {
                self.ranges[at].state = State::Told(change.revision);
            }
        }
    }

    /// Keeps the changes that belong to a range and are not told by its list; how many belonged
    /// to none. `exact` says that all are of the one range there is.
    pub fn keep_new(&self, changes: &mut Vec<Change>, exact: bool) -> usize {
        if exact
            && let [Tracked { state: State::Told(told), .. }] = &self.ranges[..]
            && changes.first().is_none_or(|first| first.revision > *told)
        {
            return 0;
        }
        let mut foreign = 0;
        changes.retain(|change| match self.holder_of(change.event.key()).map(|at| self.ranges[at].state) {
            Some(State::Told(told)) => change.revision > told,
            Some(State::Unread | State::Denied) => false,
            None => {
                foreign += 1;
                false
            }
        });
        foreign
    }

    /// The range that holds `key`.
    pub fn holder_of(&self, key: &[u8]) -> Option<usize> {
        cover::holder_of(&self.ranges, |known| &known.range, key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Key, KeyEvent};

    fn change(revision: i64, key: &str) -> Change {
        Change { revision: Revision(revision), event: KeyEvent::Delete { key: Key::from(key), previous: None } }
    }

    fn prefix(prefix: &str) -> KeyRange {
        KeyRange::prefix(prefix.as_bytes())
    }

    fn memory(ranges: &[(&str, State)]) -> Memory {
        let tracked = ranges.iter().map(|&(name, state)| Tracked { range: prefix(name), state });
        Memory { ranges: tracked.collect(), ..Memory::default() }
    }

    #[test]
    fn changes_that_a_list_has_are_dropped_by_range() {
        let memory =
            memory(&[("/a/", State::Told(Revision(5))), ("/b/", State::Told(Revision(7))), ("/c/", State::Unread)]);
        let mut changes = vec![
            change(5, "/a/x"),
            change(6, "/a/x"),
            change(6, "/b/x"),
            change(8, "/b/x"),
            change(8, "/c/x"),
            change(9, "/d"),
        ];
        assert_eq!(memory.keep_new(&mut changes, false), 1);
        assert_eq!(changes, [change(6, "/a/x"), change(8, "/b/x")]);
    }

    #[test]
    fn a_wish_keeps_what_is_known_and_reads_what_is_new() {
        let mut memory = memory(&[("/a/", State::Told(Revision(5))), ("/b/", State::Denied)]);
        assert!(memory.follow(&Wish { life: Some(0), ranges: vec![prefix("/a/"), prefix("/c/")] }));
        assert_eq!(memory.ranges[0].state, State::Told(Revision(5)));
        assert_eq!(memory.unread(), [prefix("/c/")]);
        assert!(!memory.follow(&Wish { life: None, ranges: vec![prefix("/a/"), prefix("/c/")] }), "the same scope");
        memory.begin_anew();
        assert!(memory.follow(&Wish { life: Some(0), ranges: vec![prefix("/a/")] }));
        assert_eq!(memory.ranges, [], "what was found in another life of the store does not count");
    }

    #[test]
    fn one_compaction_leaves_all_ranges_unread_that_were_told_less() {
        let names: Vec<_> = (0..20).map(|n| format!("/{n}/")).collect();
        let told = |at: usize| State::Told(Revision(if at < 18 { 5 } else { 8 + i64::try_from(at).unwrap() - 18 }));
        let ranges: Vec<_> = names.iter().enumerate().map(|(at, name)| (name.as_str(), told(at))).collect();
        let mut memory = memory(&ranges);
        memory.compacted(Revision(9));
        assert_eq!(memory.unread().len(), 19, "{memory:?}");
        assert_eq!(
            memory.oldest_told(),
            Some(Revision(9)),
            "a watch that goes on behind the compacted revision is served"
        );
    }

    #[test]
    fn a_store_that_began_anew_is_told_from_one_that_goes_on() {
        let memory =
            Memory { told: Some(Revision(80)), term: Term(3), raft_index: RaftIndex(100), ..Memory::default() };
        let anew = |revision, term, index| memory.began_anew(Revision(revision), Term(term), index).is_some();
        assert!(!anew(80, 3, Some(RaftIndex(100))) && !anew(90, 4, None));
        assert!(anew(79, 3, None) && anew(90, 2, None) && anew(90, 3, Some(RaftIndex(99))));
        let fresh = Memory { told: None, ..memory };
        assert_eq!(fresh.began_anew(Revision(1), Term(1), None), None, "nothing was told that could be wrong");
    }

    #[test]
    fn a_compaction_is_not_found_out_range_by_range() {
        let mut memory = memory(&[("/a/", State::Told(Revision(5))), ("/b/", State::Told(Revision(9)))]);
        memory.compacted(Revision(9));
        assert_eq!((memory.ranges[0].state, memory.ranges[1].state), (State::Unread, State::Told(Revision(9))));
    }

    #[test]
    fn a_range_that_shared_a_watch_was_told_all_that_was_told() {
        let mut memory = memory(&[("/a/", State::Told(Revision(5))), ("/b/", State::Unread)]);
        memory.told = Some(Revision(9));
        memory.alone = true;
        memory.before_open();
        assert_eq!((memory.ranges[0].state, memory.ranges[1].state), (State::Told(Revision(9)), State::Unread));
        memory.told(&[change(12, "/a/x")]);
        memory.before_open();
        assert_eq!(memory.ranges[0].state, State::Told(Revision(12)));
        memory.told = None;
        memory.before_open();
        assert_eq!(memory.ranges[0].state, State::Unread, "an incomplete first list does not count");
    }
}
