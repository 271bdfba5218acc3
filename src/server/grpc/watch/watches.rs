//! The watches of one stream, as a machine without I/O: who watches what, from where on, and
//! whom a change concerns.
//!
//! ```text
//!                 ┌─ starts at or before the store's revision ─► Behind ──► Compacted
//!   create ───────┤                                                │ has caught up
//!                 └─ starts after it ────────────────────────► InStep
//! ```
//!
//! Watches in step are told together: a change is looked up once for all of them. One that is
//! behind reads the history by itself until it has caught up.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use crate::domain::{Key, KeyRange, Revision};
use crate::mvcc::{self, Change, Compacted, Event, Store};

/// How many revisions are looked at under one lock of the store at most.
const REVISIONS: i64 = 2048;

/// How many bytes of keys and values end a batch with the revision they are in.
const BYTES: usize = 1024 * 1024;

/// The number of a watch on its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct WatchId(pub i64);

impl WatchId {
    /// What stands for no watch, or for all of a stream.
    pub const NONE: Self = Self(-1);
}

/// What a client wants to watch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    /// The number it chose; 0 leaves the choice to the stream.
    pub id: i64,
    /// What to watch, and what of it to tell.
    pub watch: mvcc::Watch,
    /// From where on; 0 is what comes next.
    pub from: Revision,
    /// Whether large answers are to be split.
    pub fragment: bool,
    /// Whether to be told now and then how far the watch is.
    pub progress_notify: bool,
}

/// Why a watch cannot be made, in etcd's words (its `mvcc/watcher.go`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unwatchable {
    /// The range ends before it starts.
    #[error("{}", mvcc::watch::EMPTY_RANGE)]
    EmptyRange,
    /// The stream has a watch of this number.
    #[error("mvcc: duplicate watch ID provided on the WatchStream")]
    DuplicateId,
}

/// One watch.
#[derive(Debug)]
struct Watch {
    wanted: Wanted,
    /// Revisions below are not its business, or told already.
    from: Revision,
    stage: Stage,
    /// Whether it was told nothing since progress was last thought of.
    quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    InStep,
    Behind,
    Compacted,
}

/// What a watch has to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// These changes, in order.
    Changes {
        /// Which watch.
        watch: WatchId,
        /// How far the watch is with them.
        revision: Revision,
        /// Changes of several watches.
        changes: Arc<Vec<Change>>,
        /// Which of them are this watch's.
        which: Vec<usize>,
    },
    /// That what it wants to see is compacted, which ends it.
    Compacted {
        /// Which watch.
        watch: WatchId,
        /// The oldest revision there is.
        at: Revision,
    },
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Watches {
    all: BTreeMap<WatchId, Watch>,
    next_id: i64,
    /// The revision up to which all that are in step were told.
    told: Revision,
    /// Those in step, by what they watch: one key, or more.
    on_key: HashMap<Key, Vec<WatchId>>,
    on_range: Vec<(KeyRange, WatchId)>,
    /// Those behind, in the order of their turns.
    behind: VecDeque<WatchId>,
}

impl Watches {
    /// Adds a watch while the store is at `now`.
    ///
    /// # Errors
    /// When the range is empty or the number taken.
    pub fn create(&mut self, wanted: Wanted, now: Revision) -> Result<WatchId, Unwatchable> {
        if wanted.watch.is_empty() {
            return Err(Unwatchable::EmptyRange);
        }
        let id = self.choose(wanted.id)?;
        let from = if wanted.from.0 == 0 { now.next() } else { wanted.from };
        let stage = if from > now { Stage::InStep } else { Stage::Behind };
        if stage == Stage::InStep {
            self.join(id, &wanted.watch.range);
        } else {
            self.behind.push_back(id);
        }
        self.all.insert(id, Watch { wanted, from, stage, quiet: true });
        Ok(id)
    }

    /// The number for a new watch (etcd `mvcc/watcher.go`, `Watch`).
    fn choose(&mut self, wanted: i64) -> Result<WatchId, Unwatchable> {
        if wanted != 0 {
            let id = WatchId(wanted);
            return if self.all.contains_key(&id) { Err(Unwatchable::DuplicateId) } else { Ok(id) };
        }
        while self.all.contains_key(&WatchId(self.next_id)) {
            self.next_id += 1;
        }
        self.next_id += 1;
        Ok(WatchId(self.next_id - 1))
    }

    /// Removes a watch; what it watched, if there was one.
    pub fn cancel(&mut self, id: WatchId) -> Option<KeyRange> {
        let watch = self.all.remove(&id)?;
        match watch.stage {
            Stage::InStep => self.part(id, &watch.wanted.watch.range),
            Stage::Behind => self.behind.retain(|other| *other != id),
            Stage::Compacted => {}
        }
        Some(watch.wanted.watch.range)
    }

    /// Whether some watch has history to read.
    pub fn has_behind(&self) -> bool {
        !self.behind.is_empty()
    }

    /// What the client wanted of a watch.
    pub fn wanted(&self, id: WatchId) -> Option<&Wanted> {
        self.all.get(&id).map(|watch| &watch.wanted)
    }

    /// Whether some watch wants to be told how far it is.
    pub fn want_progress(&self) -> bool {
        self.all.values().any(|watch| watch.wanted.progress_notify)
    }

    /// Whether all watches, and at least one, have seen everything up to the store's revision
    /// (etcd `mvcc/watchable_store.go`, `progressIfSync`).
    pub fn all_in_step(&self, now: Revision) -> bool {
        !self.all.is_empty() && self.all.values().all(|watch| watch.is_in_step(now))
    }

    /// Who is to be told how far he is, because he was told nothing else since the last time.
    pub fn due_for_progress(&mut self, now: Revision) -> Vec<WatchId> {
        let wanting = self.all.iter_mut().filter(|(_, watch)| watch.wanted.progress_notify);
        wanting
            .filter_map(|(id, watch)| {
                let due = std::mem::replace(&mut watch.quiet, true) && watch.is_in_step(now);
                due.then_some(*id)
            })
            .collect()
    }

    /// Takes note that nothing concerns those in step before `from`.
    pub fn skip_to(&mut self, from: Revision) {
        self.told = self.told.max(Revision(from.0 - 1));
    }

    /// Tells those in step what changed since they were told last. Whether there is more.
    pub fn tell_in_step(&mut self, store: &Store, news: &mut Vec<News>) -> bool {
        let (now, next) = (store.revision(), self.told.next());
        if next > now || (self.on_key.is_empty() && self.on_range.is_empty()) {
            self.told = self.told.max(now);
            return false;
        }
        let range = self.common_range();
        let upto = piece_end(next).min(now);
        let Ok(changes) = store.changes(next, &range, Some(upto)) else {
            self.fall_behind(next, now);
            return false;
        };
        let mut batch = Batch::default();
        let mut concerned: BTreeMap<WatchId, Vec<usize>> = BTreeMap::new();
        for change in changes {
            if batch.is_full_before(&change) {
                break;
            }
            let at = batch.changes.len();
            let mut wanted = false;
            self.for_each_on(change.event.key(), |id| {
                if self.all.get(&id).is_some_and(|watch| watch.wants(&change)) {
                    concerned.entry(id).or_default().push(at);
                    wanted = true;
                }
            });
            if wanted {
                batch.push(change);
            }
        }
        self.told = batch.end(upto);
        let changes = Arc::new(batch.changes);
        for (watch, which) in concerned {
            let revision = which.last().map_or(self.told, |last| changes[*last].revision);
            self.all.get_mut(&watch).into_iter().for_each(|watch| watch.quiet = false);
            news.push(News::Changes { watch, revision, changes: Arc::clone(&changes), which });
        }
        self.told < now
    }

    /// Lets the watch whose turn it is read on in the history.
    pub fn tell_behind(&mut self, store: &Store, news: &mut Vec<News>) {
        let Some(id) = self.behind.pop_front() else { return };
        let Some(watch) = self.all.get_mut(&id) else { return };
        let now = store.revision();
        let upto = piece_end(watch.from).min(now);
        let changes = match store.changes(watch.from, &watch.wanted.watch.range, Some(upto)) {
            Ok(changes) => changes,
            Err(Compacted { at }) => {
                watch.stage = Stage::Compacted;
                news.push(News::Compacted { watch: id, at });
                return;
            }
        };
        let mut batch = Batch::default();
        for change in changes {
            if batch.is_full_before(&change) {
                break;
            }
            if watch.wants(&change) {
                batch.push(change);
            }
        }
        watch.from = watch.from.max(batch.end(upto).next());
        if !batch.changes.is_empty() {
            watch.quiet = false;
            let which = (0..batch.changes.len()).collect();
            news.push(News::Changes { watch: id, revision: now, changes: Arc::new(batch.changes), which });
        }
        if watch.from > now {
            watch.stage = Stage::InStep;
            let range = watch.wanted.watch.range.clone();
            self.join(id, &range);
        } else {
            self.behind.push_back(id);
        }
    }

    /// The history that those in step need is compacted: each finds out by itself how that
    /// concerns it. One that starts after `now` has missed nothing and stays in step.
    fn fall_behind(&mut self, next: Revision, now: Revision) {
        for (id, watch) in &mut self.all {
            if watch.stage == Stage::InStep && watch.from <= now {
                watch.stage = Stage::Behind;
                watch.from = watch.from.max(next);
                self.behind.push_back(*id);
            }
        }
        let all = &self.all;
        let stays = |id: &WatchId| all.get(id).is_some_and(|watch| watch.stage == Stage::InStep);
        self.on_key.retain(|_, ids| {
            ids.retain(stays);
            !ids.is_empty()
        });
        self.on_range.retain(|(_, id)| stays(id));
        self.told = now;
    }

    fn join(&mut self, id: WatchId, range: &KeyRange) {
        if range.end.is_empty() {
            self.on_key.entry(range.start.clone()).or_default().push(id);
        } else {
            self.on_range.push((range.clone(), id));
        }
    }

    fn part(&mut self, id: WatchId, range: &KeyRange) {
        if !range.end.is_empty() {
            self.on_range.retain(|(_, other)| *other != id);
        } else if let Some(ids) = self.on_key.get_mut(range.start.as_bytes()) {
            ids.retain(|other| *other != id);
            if ids.is_empty() {
                self.on_key.remove(range.start.as_bytes());
            }
        }
    }

    /// A range that has all those in step: the one there is, or all keys.
    fn common_range(&self) -> KeyRange {
        match (self.on_key.len(), &*self.on_range) {
            (0, [(range, _)]) => range.clone(),
            (1, []) => self.on_key.keys().next().map(|key| KeyRange::single(key)).unwrap_or_default(),
            _ => KeyRange::from_wire(Vec::new(), vec![0]),
        }
    }

    fn for_each_on(&self, key: &Key, mut tell: impl FnMut(WatchId)) {
        self.on_key.get(key.as_bytes()).into_iter().flatten().for_each(|id| tell(*id));
        self.on_range.iter().filter(|(range, _)| range.contains(key)).for_each(|(_, id)| tell(*id));
    }
}

/// The last revision that is looked at under one lock of the store with this first one, which
/// a client may have chosen as high as it likes.
const fn piece_end(first: Revision) -> Revision {
    Revision(first.0.saturating_add(REVISIONS - 1))
}

impl Watch {
    fn wants(&self, change: &Change) -> bool {
        change.revision >= self.from && self.wanted.watch.wants(&change.event)
    }

    fn is_in_step(&self, now: Revision) -> bool {
        self.stage == Stage::InStep && now >= self.wanted.from
    }
}

/// Changes that are told together; it ends with a whole revision.
#[derive(Default)]
struct Batch {
    changes: Vec<Change>,
    bytes: usize,
    /// The last revision that was looked at.
    seen: Revision,
    full: bool,
}

impl Batch {
    /// Whether the batch ends before this change: it is full and the change begins a revision.
    fn is_full_before(&mut self, change: &Change) -> bool {
        if self.bytes >= BYTES && change.revision > self.seen {
            self.full = true;
            return true;
        }
        self.seen = change.revision;
        false
    }

    fn push(&mut self, change: Change) {
        let put = if let Event::Put(kv) = &change.event { kv.value.len() } else { 0 };
        let previous = change.previous.as_ref().map_or(0, |kv| kv.value.len());
        self.bytes += change.event.key().len() + put + previous;
        self.changes.push(change);
    }

    /// The last revision that is in it, where all up to `upto` were to be.
    const fn end(&self, upto: Revision) -> Revision {
        if self.full { self.seen } else { upto }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mvcc::{DeleteRequest, PutRequest, Request};

    fn put(store: &mut Store, key: &str) {
        put_sized(store, key, 1);
    }

    fn put_sized(store: &mut Store, key: &str, size: usize) {
        let put = PutRequest { key: key.into(), value: vec![b'v'; size], ..PutRequest::default() };
        assert!(store.apply(&Request::Put(put)).result.is_ok());
    }

    fn delete(store: &mut Store, key: &str) {
        let range = KeyRange::single(key.as_bytes());
        assert!(store.apply(&Request::Delete(DeleteRequest { range, prev_kv: false })).changed);
    }

    fn compact(store: &mut Store, revision: i64) {
        let compact = Request::Compact { revision: Revision(revision), physical: false };
        assert!(store.apply(&compact).result.is_ok());
    }

    fn single(key: &str) -> Wanted {
        Wanted { watch: mvcc::Watch::of(KeyRange::single(key.as_bytes())), ..Wanted::default() }
    }

    fn prefix(prefix: &str) -> Wanted {
        Wanted { watch: mvcc::Watch::of(KeyRange::prefix(prefix.as_bytes())), ..Wanted::default() }
    }

    fn from(revision: i64, wanted: Wanted) -> Wanted {
        Wanted { from: Revision(revision), ..wanted }
    }

    /// Tells everything there is to tell: the watch, the revisions of its changes.
    fn tell(watches: &mut Watches, store: &Store) -> Vec<(i64, Vec<i64>)> {
        let mut news = Vec::new();
        while watches.tell_in_step(store, &mut news) {}
        while watches.has_behind() {
            watches.tell_behind(store, &mut news);
        }
        news.into_iter().map(|news| summary(&news)).collect()
    }

    fn summary(news: &News) -> (i64, Vec<i64>) {
        match news {
            News::Changes { watch, changes, which, .. } => {
                (watch.0, which.iter().map(|at| changes[*at].revision.0).collect())
            }
            News::Compacted { watch, at } => (watch.0, vec![-at.0]),
        }
    }

    fn create(watches: &mut Watches, store: &Store, wanted: Wanted) -> i64 {
        watches.create(wanted, store.revision()).unwrap().0
    }

    #[test]
    fn a_change_is_told_to_those_it_concerns() {
        let (mut store, mut watches) = (Store::new(), Watches::default());
        for wanted in [single("a"), single("b"), prefix("a"), prefix("")] {
            create(&mut watches, &store, wanted);
        }
        put(&mut store, "a");
        put(&mut store, "ab");
        assert_eq!(tell(&mut watches, &store), [(0, vec![2]), (2, vec![2, 3]), (3, vec![2, 3])]);
        assert_eq!(tell(&mut watches, &store), []);
    }

    #[test]
    fn numbers_are_the_clients_or_the_next_free_ones() {
        let (store, mut watches) = (Store::new(), Watches::default());
        let with = |id, wanted| Wanted { id, ..wanted };
        assert_eq!(create(&mut watches, &store, with(1, single("a"))), 1);
        assert_eq!(create(&mut watches, &store, single("a")), 0);
        assert_eq!(create(&mut watches, &store, single("a")), 2);
        let taken = watches.create(with(1, single("a")), store.revision());
        assert_eq!(taken, Err(Unwatchable::DuplicateId));
        assert!(watches.cancel(WatchId(1)).is_some());
        assert_eq!(create(&mut watches, &store, with(1, single("a"))), 1);
    }

    #[test]
    fn a_range_that_ends_before_it_starts_is_refused() {
        let mut watches = Watches::default();
        for end in ["a", "b"] {
            let range = KeyRange { start: "b".into(), end: end.into() };
            let wanted = Wanted { watch: mvcc::Watch::of(range), ..Wanted::default() };
            assert_eq!(watches.create(wanted, Revision(1)), Err(Unwatchable::EmptyRange));
        }
    }

    #[test]
    fn one_that_starts_in_the_past_catches_up_and_misses_nothing() {
        let (mut store, mut watches) = (Store::new(), Watches::default());
        for _ in 0..3 {
            put(&mut store, "a");
        }
        create(&mut watches, &store, from(3, single("a")));
        put(&mut store, "a");
        assert_eq!(tell(&mut watches, &store), [(0, vec![3, 4, 5])]);
        put(&mut store, "a");
        assert_eq!(tell(&mut watches, &store), [(0, vec![6])]);
    }

    #[test]
    fn one_that_starts_in_the_future_is_told_nothing_before() {
        let (mut store, mut watches) = (Store::new(), Watches::default());
        create(&mut watches, &store, from(3, single("a")));
        put(&mut store, "a");
        assert!(!watches.all_in_step(store.revision()));
        put(&mut store, "a");
        assert_eq!(tell(&mut watches, &store), [(0, vec![3])]);
        assert!(watches.all_in_step(store.revision()));
    }

    #[test]
    fn who_joins_late_is_not_told_what_was_before() {
        let (mut store, mut watches) = (Store::new(), Watches::default());
        create(&mut watches, &store, single("a"));
        put(&mut store, "a");
        create(&mut watches, &store, single("a"));
        put(&mut store, "a");
        assert_eq!(tell(&mut watches, &store), [(0, vec![2, 3]), (1, vec![3])]);
    }

    #[test]
    fn what_a_watch_wants_is_compacted() {
        let (mut store, mut watches) = (Store::new(), Watches::default());
        for _ in 0..4 {
            put(&mut store, "a");
        }
        compact(&mut store, 4);
        create(&mut watches, &store, from(3, single("a")));
        create(&mut watches, &store, from(4, single("a")));
        assert_eq!(tell(&mut watches, &store), [(0, vec![-4]), (1, vec![4, 5])]);
        // It keeps its number until the client cancels it, and holds up what is said of all.
        assert!(!watches.all_in_step(store.revision()));
        assert!(watches.cancel(WatchId(0)).is_some());
        assert!(watches.all_in_step(store.revision()));
    }

    #[test]
    fn compaction_ends_only_those_in_step_that_missed_something() {
        let (mut store, mut watches) = (Store::new(), Watches::default());
        create(&mut watches, &store, single("a"));
        create(&mut watches, &store, from(9, single("a")));
        for _ in 0..4 {
            put(&mut store, "a");
        }
        compact(&mut store, 4);
        assert_eq!(tell(&mut watches, &store), [(0, vec![-4])]);
        for _ in 0..5 {
            put(&mut store, "a");
        }
        assert_eq!(tell(&mut watches, &store), [(1, vec![9, 10])]);
    }

    #[test]
    fn filters_leave_puts_or_deletes_out() {
        let (mut store, mut watches) = (Store::new(), Watches::default());
        let mut no_put = single("a");
        no_put.watch.no_put = true;
        let mut no_delete = single("a");
        no_delete.watch.no_delete = true;
        create(&mut watches, &store, no_put);
        create(&mut watches, &store, no_delete);
        put(&mut store, "a");
        delete(&mut store, "a");
        assert_eq!(tell(&mut watches, &store), [(0, vec![3]), (1, vec![2])]);
    }

    #[test]
    fn a_long_history_comes_in_pieces_of_whole_revisions() {
        let (mut store, mut watches) = (Store::new(), Watches::default());
        let puts = i64::try_from(BYTES / 400_000).unwrap() + 3;
        for _ in 0..puts {
            put_sized(&mut store, "a", 400_000);
        }
        create(&mut watches, &store, from(2, single("a")));
        let told = tell(&mut watches, &store);
        assert!(told.len() > 1, "{told:?}");
        let revisions: Vec<_> = told.into_iter().flat_map(|(_, revisions)| revisions).collect();
        assert_eq!(revisions, (2..2 + puts).collect::<Vec<_>>());
    }

    #[test]
    fn a_history_without_interest_is_read_in_pieces_too() {
        let (mut store, mut watches) = (Store::new(), Watches::default());
        for _ in 0..=REVISIONS {
            put(&mut store, "other");
        }
        put(&mut store, "a");
        create(&mut watches, &store, from(2, single("a")));
        let mut news = Vec::new();
        watches.tell_behind(&store, &mut news);
        assert_eq!((news.len(), watches.has_behind()), (0, true));
        assert_eq!(tell(&mut watches, &store), [(0, vec![store.revision().0])]);
    }

    #[test]
    fn a_watch_that_starts_far_ahead_stays_in_step_when_the_history_is_compacted() {
        let (mut store, mut watches) = (Store::new(), Watches::default());
        let far = [i64::MAX, i64::MAX - 1, 9].map(|ahead| (ahead, from(ahead, single("a"))));
        for (_, wanted) in far.clone() {
            create(&mut watches, &store, wanted);
        }
        create(&mut watches, &store, from(i64::MAX, prefix("a")));
        create(&mut watches, &store, single("a"));
        for _ in 0..4 {
            put(&mut store, "a");
        }
        compact(&mut store, 4);
        assert_eq!(tell(&mut watches, &store), [(4, vec![-4])]);
        for _ in 0..5 {
            put(&mut store, "a");
        }
        assert_eq!(tell(&mut watches, &store), [(2, vec![9, 10])]);
    }

    #[test]
    fn a_revision_is_never_split() {
        let (mut store, mut watches) = (Store::new(), Watches::default());
        create(&mut watches, &store, prefix("k"));
        let op = |n| {
            let key = Key::from(&*format!("k{n}"));
            mvcc::Op::Put(PutRequest { key, value: vec![0; BYTES / 2], ..PutRequest::default() })
        };
        let txn = mvcc::TxnRequest { success: (0..5).map(op).collect(), ..mvcc::TxnRequest::default() };
        assert!(store.apply(&Request::Txn(txn)).result.is_ok());
        put(&mut store, "k0");
        assert_eq!(tell(&mut watches, &store), [(0, vec![2; 5]), (0, vec![3])]);
    }

    #[test]
    fn progress_is_for_those_who_heard_nothing_else() {
        let (mut store, mut watches) = (Store::new(), Watches::default());
        let wanting = |wanted| Wanted { progress_notify: true, ..wanted };
        create(&mut watches, &store, wanting(single("a")));
        create(&mut watches, &store, wanting(single("b")));
        create(&mut watches, &store, single("c"));
        put(&mut store, "a");
        tell(&mut watches, &store);
        assert_eq!(watches.due_for_progress(store.revision()), [WatchId(1)]);
        assert_eq!(watches.due_for_progress(store.revision()), [WatchId(0), WatchId(1)]);
    }
}
