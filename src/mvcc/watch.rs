//! What a server of watches needs: what a watch is told of, in which pieces.
//!
//! A watch is a place in the history and a rule what of it to tell. The server keeps the place
//! and asks for the next batch when the store moved; there is nothing to subscribe to.

use crate::domain::{KeyRange, Revision};

use super::{Change, Compacted, Event, Store};

/// How many revisions a watch that lags is told at once (etcd `mvcc/watcher_group.go`,
/// `watchBatchMaxRevs`).
pub const MAX_BATCH_REVISIONS: usize = 1000;

/// Why etcd does not make a watch whose range ends before it starts.
pub const EMPTY_RANGE: &str = "mvcc: watcher range is empty";

/// What a watch is told of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watch {
    /// The range.
    pub range: KeyRange,
    /// Leaves out puts.
    pub no_put: bool,
    /// Leaves out deletions.
    pub no_delete: bool,
    /// Whether to tell what was there before.
    pub prev_kv: bool,
}

/// Changes to tell a watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Whole revisions in order; may be none.
    pub changes: Vec<Change>,
    /// Where to go on.
    pub next: Revision,
}

impl Watch {
    /// A watch of this range that is told everything.
    pub fn of(range: KeyRange) -> Self {
        Self { range, ..Self::default() }
    }

    /// A watch as it is asked for on the wire, where no key at all is the lowest one.
    pub fn from_wire(key: Vec<u8>, range_end: Vec<u8>) -> Self {
        let key = if key.is_empty() { vec![0] } else { key };
        Self::of(KeyRange::from_wire(key, range_end))
    }

    /// Whether the range can hold no key; such a watch is refused with [`EMPTY_RANGE`].
    pub fn is_empty(&self) -> bool {
        !self.range.contains(&self.range.start)
    }

    /// What to tell from a revision on: whole revisions, at most [`MAX_BATCH_REVISIONS`] with
    /// something to tell.
    ///
    /// # Errors
    /// When changes from `from` on are compacted.
    pub fn batch(&self, store: &Store, from: Revision) -> Result<Batch, Compacted> {
        self.batch_of(store, from, MAX_BATCH_REVISIONS)
    }

    fn batch_of(&self, store: &Store, from: Revision, most: usize) -> Result<Batch, Compacted> {
        let mut changes: Vec<Change> = Vec::new();
        let mut revisions = 0;
        for mut change in store.changes(from, &self.range, None)?.filter(|change| self.wants(&change.event)) {
            if changes.last().is_none_or(|last| last.revision != change.revision) {
                if revisions == most {
                    return Ok(Batch { changes, next: change.revision });
                }
                revisions += 1;
            }
            if !self.prev_kv {
                change.previous = None;
            }
            changes.push(change);
        }
        Ok(Batch { changes, next: from.max(store.revision().next()) })
    }

    /// Whether it is told of this.
    pub fn wants(&self, event: &Event) -> bool {
        match event {
            Event::Put(_) => !self.no_put,
            Event::Delete(_) => !self.no_delete,
        }
    }
}

/// Cuts what would be one message into pieces whose sizes stay below `limit` bytes, for a watch
/// that takes fragments; one item alone may be larger. `empty` is the size of a message without
/// items. All pieces but the last are marked as fragments (etcd `api/v3rpc/watch.go`,
/// `sendFragments`).
pub fn fragments<T>(items: &[T], empty: usize, limit: usize, size: impl Fn(&T) -> usize) -> Vec<&[T]> {
    let mut pieces = Vec::new();
    let (mut start, mut sum) = (0, empty);
    for (at, item) in items.iter().enumerate() {
        let size = size(item);
        if at > start && sum + size >= limit {
            pieces.push(&items[start..at]);
            (start, sum) = (at, empty);
        }
        sum += size;
    }
    pieces.push(&items[start..]);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mvcc::{DeleteRequest, Op, PutRequest, Request, TxnRequest};

    fn put(key: &str) -> Op {
        Op::Put(PutRequest { key: key.into(), ..PutRequest::default() })
    }

    fn apply(store: &mut Store, success: Vec<Op>) {
        let txn = TxnRequest { success, ..TxnRequest::default() };
        assert!(store.apply(&Request::Txn(txn)).result.is_ok());
    }

    /// Revision 2 puts a and b, 3 puts c, 4 deletes a and b.
    fn store() -> Store {
        let mut store = Store::new();
        apply(&mut store, vec![put("a"), put("b")]);
        apply(&mut store, vec![put("c")]);
        let range = KeyRange { start: "a".into(), end: "c".into() };
        apply(&mut store, vec![Op::Delete(DeleteRequest { range, prev_kv: false })]);
        store
    }

    fn told(batch: &Batch) -> Vec<String> {
        let sign = |change: &Change| if matches!(change.event, Event::Put(_)) { '+' } else { '-' };
        let tell = |change: &Change| {
            format!("{}.{}{}{}", change.revision, change.sub, sign(change), change.event.key().escape_ascii())
        };
        batch.changes.iter().map(tell).collect()
    }

    #[test]
    fn a_batch_never_splits_a_revision() {
        let watch = Watch::of(KeyRange::prefix(b""));
        let first = watch.batch_of(&store(), Revision(1), 1).unwrap();
        assert_eq!((told(&first), first.next), (vec!["2.0+a".into(), "2.1+b".into()], Revision(3)));
        let rest = watch.batch_of(&store(), first.next, 2).unwrap();
        assert_eq!((told(&rest), rest.next), (vec!["3.0+c".into(), "4.0-a".into(), "4.1-b".into()], Revision(5)));
    }

    #[test]
    fn filters_and_previous_values_are_as_asked() {
        let all = KeyRange::prefix(b"");
        let deletes = Watch { no_put: true, prev_kv: true, ..Watch::of(all.clone()) };
        let batch = deletes.batch(&store(), Revision(1)).unwrap();
        assert_eq!(told(&batch), ["4.0-a", "4.1-b"]);
        assert!(batch.changes.iter().all(|change| change.previous.as_ref().is_some_and(|kv| kv.version == 1)));
        let puts = Watch { no_delete: true, ..Watch::of(all.clone()) };
        assert_eq!(told(&puts.batch(&store(), Revision(3)).unwrap()), ["3.0+c"]);
        let plain = Watch::of(all).batch(&store(), Revision(4)).unwrap();
        assert!(plain.changes.iter().all(|change| change.previous.is_none()));
    }

    #[test]
    fn a_watch_from_the_future_waits_there() {
        let batch = Watch::of(KeyRange::single(b"a")).batch(&store(), Revision(9)).unwrap();
        assert_eq!(batch, Batch { changes: Vec::new(), next: Revision(9) });
    }

    #[test]
    fn a_watch_of_nothing_is_told_from_one_of_all() {
        assert!(Watch::from_wire(b"b".into(), b"a".into()).is_empty());
        assert!(Watch::from_wire(b"b".into(), b"b".into()).is_empty());
        let all = Watch::from_wire(Vec::new(), vec![0]);
        assert!(!all.is_empty() && all.range.contains(b"a"));
        assert!(!Watch::from_wire(Vec::new(), Vec::new()).is_empty());
    }

    #[test]
    fn fragments_stay_below_the_limit_unless_one_item_does_not() {
        let cut = |sizes: &[usize]| fragments(sizes, 2, 10, |size| *size).concat().len();
        assert_eq!(cut(&[3, 3, 3]), 3, "nothing is lost");
        assert_eq!(fragments(&[3, 3, 3, 1], 2, 10, |size| *size), [&[3, 3][..], &[3, 1]]);
        assert_eq!(fragments(&[3, 4], 2, 10, |size| *size), [&[3, 4][..]]);
        assert_eq!(fragments(&[4, 4], 2, 10, |size| *size), [&[4][..], &[4]], "at the limit is too much");
        assert_eq!(fragments(&[50, 1, 50], 2, 10, |size| *size), [&[50][..], &[1], &[50]]);
        assert_eq!(fragments(&[], 2, 10, |size: &usize| *size).len(), 1, "an empty message is one");
    }
}
