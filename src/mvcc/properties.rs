//! What holds whatever a store is asked.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;

use crate::domain::{Key, KeyRange, LeaseId, Revision};

use super::{
    Compare, CompareResult, CompareTarget, DeleteRequest, Event, Op, PutRequest, RangeRequest, Request, Store,
    TxnRequest,
};

fn key() -> impl Strategy<Value = Key> {
    prop::sample::select(vec!["a", "b", "c", "d", "e"]).prop_map(Key::from)
}

fn range() -> impl Strategy<Value = KeyRange> {
    let end = prop_oneof![3 => Just(Key::default()), 1 => Just(Key::from("\0")), 2 => key()];
    (key(), end).prop_map(|(start, end)| KeyRange { start, end })
}

fn put() -> impl Strategy<Value = PutRequest> {
    let flags = (weighted(0.1, Just(())), weighted(0.1, Just(())));
    (key(), vec(any::<u8>(), 0..3), 0..4_i64, flags).prop_map(|(key, value, lease, (keep_value, keep_lease))| {
        let (ignore_value, ignore_lease) = (keep_value.is_some(), keep_lease.is_some());
        PutRequest { key, value, lease: LeaseId(lease), prev_kv: true, ignore_value, ignore_lease }
    })
}

fn txn() -> impl Strategy<Value = TxnRequest> {
    let op = prop_oneof![
        put().prop_map(Op::Put),
        range().prop_map(|range| Op::Delete(DeleteRequest { range, prev_kv: true })),
        range().prop_map(|range| Op::Range(RangeRequest { range, ..RangeRequest::default() })),
    ];
    let op = op.prop_recursive(2, 8, 3, |op| branches(op).prop_map(Op::Txn));
    branches(op)
}

fn branches(op: impl Strategy<Value = Op> + Clone) -> impl Strategy<Value = TxnRequest> {
    let compare = (range(), 0..4_i64).prop_map(|(range, version)| Compare {
        range,
        result: CompareResult::Less,
        target: CompareTarget::Version(version),
    });
    (vec(compare, 0..2), vec(op.clone(), 0..4), vec(op, 0..3)).prop_map(|(compare, success, failure)| TxnRequest {
        compare,
        success,
        failure,
    })
}

fn request() -> impl Strategy<Value = Request> {
    prop_oneof![
        6 => put().prop_map(Request::Put),
        3 => range().prop_map(|range| Request::Delete(DeleteRequest { range, prev_kv: true })),
        6 => txn().prop_map(Request::Txn),
        1 => (0..40_i64).prop_map(|revision| Request::Compact { revision: Revision(revision), physical: true }),
        2 => (1..4_i64, 0..9_i64).prop_map(|(lease, ttl)| Request::Grant { lease: LeaseId(lease), ttl }),
        1 => (1..4_i64).prop_map(|lease| Request::Revoke { lease: LeaseId(lease) }),
    ]
}

/// What the API layer lets through.
fn requests() -> impl Strategy<Value = Vec<Request>> {
    vec(request().prop_filter("the API layer refuses it", |request| request.check().is_ok()), 0..40)
}

/// All keys as they were at a revision.
fn everything(store: &Store, revision: Revision) -> BTreeMap<Key, (Vec<u8>, Revision, LeaseId)> {
    let ask = RangeRequest { range: KeyRange::prefix(b""), revision, ..RangeRequest::default() };
    let found = store.range(&ask).unwrap().kvs;
    found.iter().map(|kv| (kv.key.clone(), (kv.value.clone(), kv.mod_revision, kv.lease))).collect()
}

fn readable(store: &Store) -> impl Iterator<Item = Revision> + use<> {
    (store.compacted().0.max(1)..=store.revision().0).map(Revision)
}

proptest! {
    #[test]
    fn a_restored_store_is_the_one_it_was_taken_of(before in requests(), after in requests()) {
        let mut store = Store::new();
        for request in &before {
            store.apply(request);
        }
        let bytes = serde_json::to_vec(&store.snapshot()).unwrap();
        let mut restored = Store::restore(&serde_json::from_slice(&bytes).unwrap());
        prop_assert_eq!(&restored, &store);
        prop_assert_eq!(serde_json::to_vec(&restored.snapshot()).unwrap(), bytes);
        for request in &after {
            prop_assert_eq!(restored.apply(request), store.apply(request));
        }
        prop_assert_eq!(restored.hash(), store.hash());
        prop_assert_eq!(restored, store);
    }

    #[test]
    fn changes_replayed_give_what_a_read_gives(requests in requests()) {
        let mut store = Store::new();
        for request in &requests {
            store.apply(request);
        }
        let mut revisions = readable(&store);
        let first = revisions.next().unwrap();
        let mut keys = everything(&store, first);
        for revision in revisions {
            let all = KeyRange::prefix(b"");
            for change in store.changes(revision, &all, Some(revision)).unwrap() {
                match &change.event {
                    Event::Put(kv) => _ = keys.insert(kv.key.clone(), (kv.value.clone(), revision, kv.lease)),
                    Event::Delete(key) => _ = keys.remove(key),
                }
            }
            prop_assert_eq!(&everything(&store, revision), &keys, "at {}", revision);
        }
    }

    #[test]
    fn compaction_changes_nothing_that_can_still_be_read(requests in requests(), share in 0.0..1.0) {
        let mut store = Store::new();
        for request in requests.iter().filter(|request| !matches!(request, Request::Compact { .. })) {
            store.apply(request);
        }
        let before = store.clone();
        #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "any revision will do")]
        let at = Revision(1 + (share * store.revision().0 as f64) as i64);
        let compacted = store.apply(&Request::Compact { revision: at, physical: true });
        prop_assert!(compacted.result.is_ok());
        let all = KeyRange::prefix(b"");
        for revision in readable(&store) {
            prop_assert_eq!(everything(&store, revision), everything(&before, revision), "at {}", revision);
            let events = |store: &Store| {
                let changes = store.changes(revision, &all, Some(revision)).unwrap();
                changes.map(|change| (change.sub, change.event)).collect::<Vec<_>>()
            };
            prop_assert_eq!(events(&store), events(&before));
        }
        let leases = |store: &Store| store.leases().map(|(id, info)| (id, info.clone())).collect::<Vec<_>>();
        prop_assert_eq!(leases(&store), leases(&before));
    }

    #[test]
    fn a_leases_keys_are_those_that_name_it(requests in requests()) {
        let mut store = Store::new();
        for request in &requests {
            store.apply(request);
            let mut named: BTreeMap<LeaseId, Vec<Key>> = BTreeMap::new();
            for (key, (_, _, lease)) in everything(&store, Revision(0)) {
                named.entry(lease).or_default().push(key);
            }
            for (id, info) in store.leases() {
                let keys: Vec<_> = info.keys.iter().cloned().collect();
                prop_assert_eq!(keys, named.remove(&id).unwrap_or_default());
            }
            prop_assert!(named.keys().all(|lease| lease.is_none()), "keys of no lease: {:?}", named);
        }
    }
}
