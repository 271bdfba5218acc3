//! The requests of which etcd's own client makes locks and elections (`client/v3/concurrency`): a
//! queue of keys under a name, each on its caller's lease, ordered by `create_revision`.
//!
//! Nothing here is a rule of the store. Whoever makes the Lock and Election services again, on a
//! server, in memory or in virtual time, asks the store for the same.

use super::{
    Compare, CompareResult, CompareTarget, DeleteRequest, Op, PutRequest, RangeRequest, SortOrder, SortTarget,
    TxnRequest,
};
use crate::domain::{Key, KeyRange, LeaseId, Revision};

/// The TTL of a lease that the services grant for a caller without one, in seconds
/// (`session.go`, `defaultSessionTTL`).
pub const SESSION_TTL: i64 = 60;

/// The keys under a name.
pub fn of(name: &[u8]) -> KeyRange {
    KeyRange::prefix(&[name, b"/"].concat())
}

/// A caller's key under a name.
pub fn place(name: &[u8], lease: LeaseId) -> Key {
    Key::from([name, format!("/{lease}").as_bytes()].concat())
}

/// That a key was created at this revision; 0 that there is none.
pub fn created_at(key: &Key, revision: Revision) -> Compare {
    Compare { range: KeyRange::single(key), result: CompareResult::Equal, target: CompareTarget::Create(revision) }
}

/// Reads one key.
pub fn get(key: &Key) -> RangeRequest {
    RangeRequest { range: KeyRange::single(key), ..RangeRequest::default() }
}

/// Reads the key that is first.
pub fn first(queue: KeyRange) -> RangeRequest {
    let (sort_order, sort_target) = (SortOrder::Ascend, SortTarget::Create);
    RangeRequest { range: queue, limit: 1, sort_order, sort_target, ..RangeRequest::default() }
}

/// Reads the last key that was created before this revision: whose end the key waits for that was
/// created then (`key.go`, `waitDeletes`).
pub fn last_before(queue: KeyRange, revision: Revision) -> RangeRequest {
    // Of 0 the store makes no bound; nothing is created at -1.
    let max_create_revision = Revision(if revision.0 > 1 { revision.0 - 1 } else { -1 });
    RangeRequest { sort_order: SortOrder::Descend, max_create_revision, ..first(queue) }
}

/// Puts a key if it was created at this revision.
pub fn put_if(key: &Key, created: Revision, value: Vec<u8>, lease: LeaseId) -> TxnRequest {
    let put = PutRequest { key: key.clone(), value, lease, ..PutRequest::default() };
    TxnRequest { compare: vec![created_at(key, created)], success: vec![Op::Put(put)], failure: Vec::new() }
}

/// Deletes a key if it was created at this revision.
pub fn delete_if(key: &Key, created: Revision) -> TxnRequest {
    let delete = DeleteRequest { range: KeyRange::single(key), prev_kv: false };
    TxnRequest { compare: vec![created_at(key, created)], success: vec![Op::Delete(delete)], failure: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mvcc::{Request, Store};

    #[test]
    fn nothing_was_created_before_the_first_revision_although_0_is_no_bound() {
        let mut store = Store::new();
        let put = PutRequest { key: place(b"/a", LeaseId::NONE), ..PutRequest::default() };
        store.apply(&Request::Put(put)).result.unwrap();
        let before = |revision| store.range(&last_before(of(b"/a"), Revision(revision))).unwrap().kvs.len();
        assert_eq!([0, 1, 2, 3].map(before), [0, 0, 0, 1]);
    }
}
