//! What the store does, a sentence a test. That it is what etcd does as well is told by
//! `tests/differential.rs`.

use std::sync::Arc;

use crate::domain::{KeyRange, KeyValue, LeaseId, Revision};

use super::testing::{
    all, compact, compare, delete, done, erase, get, grant, leased, pairs, put, put_of, read, refused, revoke, span,
    store, txn, write,
};
use super::{
    Compacted, CompareResult, CompareTarget, Error, Event, LONGEST_TTL, Op, OpResponse, PutRequest, RangeRequest,
    Request, Response, SortOrder, SortTarget, Store, TxnRequest,
};

fn kv(store: &Store, key: &str) -> Arc<KeyValue> {
    let ask = RangeRequest { range: KeyRange::single(key.as_bytes()), ..RangeRequest::default() };
    store.range(&ask).unwrap().kvs.remove(0)
}

#[test]
fn a_put_counts_versions_until_the_key_is_deleted() {
    let mut store = store(vec![write("a", "1"), write("a", "2")]);
    let now = kv(&store, "a");
    assert_eq!((now.create_revision.0, now.mod_revision.0, now.version), (2, 3, 2));
    done(&mut store, &erase("a", ""));
    done(&mut store, &write("a", "3"));
    let anew = kv(&store, "a");
    assert_eq!((anew.create_revision.0, anew.mod_revision.0, anew.version), (5, 5, 1));
}

#[test]
fn deleting_nothing_makes_no_revision() {
    let mut store = store(vec![write("a", "1")]);
    let applied = store.apply(&erase("b", "\0"));
    assert_eq!((applied.revision.0, applied.changed), (2, false));
    let Ok(Response::Delete(gone)) = applied.result else { panic!("another answer") };
    assert_eq!((gone.revision.0, gone.deleted), (2, 0));
}

#[test]
fn a_transaction_makes_one_revision_with_its_changes_numbered() {
    let mut store = store(vec![write("x", "1")]);
    let answers = all(&mut store, vec![put("b", "1"), get("b", ""), delete("x", ""), put("a", "1")]);
    assert_eq!(store.revision(), Revision(3));
    let OpResponse::Range(found) = &answers[1] else { panic!("{answers:?}") };
    assert_eq!((found.revision, pairs(found)), (Revision(3), vec!["b=1".into()]), "a read sees the write before it");
    let everything = KeyRange::prefix(b"");
    let changes: Vec<_> = store.changes(Revision(3), &everything, None).unwrap().collect();
    let told: Vec<_> =
        changes.iter().map(|change| (change.sub, change.event.key().escape_ascii().to_string())).collect();
    assert_eq!(told, [(0, "b".into()), (1, "x".into()), (2, "a".into())]);
    assert_eq!(changes[1].previous.as_ref().map(|kv| kv.mod_revision), Some(Revision(2)));
}

#[test]
fn a_transaction_is_refused_whole() {
    let mut store = store(vec![grant(1, 10), leased("a", 1)]);
    let unknown_lease = Op::Put(PutRequest { lease: LeaseId(9), ..put_of("b", "") });
    let missing_key = Op::Put(PutRequest { ignore_value: true, ..put_of("c", "") });
    let future = Op::Range(RangeRequest { range: span("a", ""), revision: Revision(3), ..RangeRequest::default() });
    for (op, error) in
        [(unknown_lease, Error::LeaseNotFound), (missing_key, Error::KeyNotFound), (future, Error::FutureRevision)]
    {
        let inner = Op::Txn(TxnRequest { success: vec![op], ..TxnRequest::default() });
        let request = TxnRequest { success: vec![delete("a", ""), inner.clone()], ..TxnRequest::default() };
        assert_eq!(refused(&mut store, &Request::Txn(request)), error);
        let other_branch = TxnRequest { success: vec![put("z", "")], failure: vec![inner], ..TxnRequest::default() };
        done(&mut store.clone(), &Request::Txn(other_branch));
    }
}

#[test]
fn a_put_that_finds_its_key_deleted_by_its_own_transaction_takes_everything_back() {
    let mut store = store(vec![grant(1, 10), leased("a", 1), leased("b", 1)]);
    let keep = Op::Put(PutRequest { ignore_lease: true, ..put_of("b", "new") });
    let request = TxnRequest { success: vec![put("0", ""), delete("a", "\0"), keep], ..TxnRequest::default() };
    assert_eq!(request.check(), Ok(()), "the API layer does not see it");
    assert_eq!(refused(&mut store, &Request::Txn(request)), Error::KeyNotFound);
    assert_eq!(store.lease(LeaseId(1)).unwrap().keys.len(), 2);
}

#[test]
fn inner_transactions_compare_with_the_store_before_the_outermost() {
    let mut store = Store::new();
    let created = || compare("a", "", CompareResult::Greater, CompareTarget::Create(Revision(0)));
    let inner = TxnRequest { compare: vec![created()], success: vec![put("yes", "")], failure: vec![put("no", "")] };
    let outer = TxnRequest { success: vec![put("a", ""), Op::Txn(inner)], ..TxnRequest::default() };
    let answer = txn(&mut store, outer);
    let [OpResponse::Put(first), OpResponse::Txn(inner)] = &answer.responses[..] else { panic!("{answer:?}") };
    assert_eq!((answer.revision.0, first.revision.0, inner.revision.0), (2, 2, 0));
    assert!(answer.succeeded && !inner.succeeded);
    assert_eq!(read(&store, "a", "\0", 0), ["a=", "no="]);
}

#[test]
fn comparisons_of_missing_keys_see_zeros_and_no_value() {
    use CompareResult::{Equal, Greater, Less, NotEqual};
    use CompareTarget::{Create, Lease, Value, Version};
    let mut store = store(vec![write("a", "1"), write("b", "2")]);
    let mut holds = |start, end, result, target| {
        txn(&mut store, TxnRequest { compare: vec![compare(start, end, result, target)], ..TxnRequest::default() })
            .succeeded
    };
    assert!(holds("x", "", Equal, Create(Revision(0))) && holds("x", "", Equal, Lease(LeaseId(0))));
    assert!(holds("x", "", Less, Version(1)) && !holds("x", "", Greater, Version(0)));
    for result in [Equal, NotEqual, Less, Greater] {
        assert!(!holds("x", "z", result, Value(Vec::new())), "{result:?}");
    }
    assert!(holds("a", "c", Greater, Value(b"0".into())) && !holds("a", "c", Greater, Value(b"1".into())));
    assert!(holds("a", "\0", Equal, Version(1)) && holds("b", "", NotEqual, Value(b"1".into())));
}

#[test]
fn ranges_are_filtered_sorted_and_cut() {
    let store = store(vec![write("a", "3"), write("b", "1"), write("c", "2"), write("a", "3")]);
    let ask = || RangeRequest { range: span("a", "\0"), ..RangeRequest::default() };
    let found = |ask: RangeRequest| store.range(&ask).unwrap();
    let cut = found(RangeRequest { limit: 2, ..ask() });
    assert_eq!((pairs(&cut), cut.more, cut.count), (vec!["a=3".into(), "b=1".into()], true, 3));
    let exact = found(RangeRequest { limit: 3, ..ask() });
    assert_eq!((exact.kvs.len(), exact.more, exact.count), (3, false, 3));
    let sorted = found(RangeRequest { sort_target: SortTarget::Mod, limit: 1, ..ask() });
    assert_eq!((pairs(&sorted), sorted.more), (vec!["b=1".into()], true), "of a and b, without c");
    let first = RangeRequest { sort_target: SortTarget::Create, sort_order: SortOrder::Descend, limit: 1, ..ask() };
    assert_eq!(pairs(&found(first)), ["c=2"]);
    let latest = found(RangeRequest { sort_target: SortTarget::Mod, sort_order: SortOrder::Descend, ..ask() });
    assert_eq!(pairs(&latest), ["a=3", "c=2", "b=1"]);
    let filtered =
        found(RangeRequest { max_mod_revision: Revision(4), min_create_revision: Revision(3), limit: 1, ..ask() });
    assert_eq!((pairs(&filtered), filtered.more, filtered.count), (vec!["b=1".into()], true, 3));
    let keys = found(RangeRequest { keys_only: true, ..ask() });
    assert_eq!(pairs(&keys), ["a=", "b=", "c="]);
    let counted = found(RangeRequest { count_only: true, limit: 1, max_mod_revision: Revision(1), ..ask() });
    assert_eq!((counted.kvs.len(), counted.more, counted.count), (0, false, 3));
}

#[test]
fn old_revisions_are_read_until_they_are_compacted() {
    let mut store = store(vec![write("a", "1"), write("b", "1"), erase("a", ""), write("a", "2")]);
    assert_eq!(read(&store, "a", "\0", 2), ["a=1"]);
    assert_eq!(read(&store, "a", "\0", 4), ["b=1"]);
    done(&mut store, &compact(4));
    assert_eq!(read(&store, "a", "\0", 4), ["b=1"]);
    let at = |revision| RangeRequest { range: span("a", ""), revision: Revision(revision), ..RangeRequest::default() };
    assert_eq!(store.range(&at(3)), Err(Error::Compacted));
    assert_eq!(store.range(&at(6)), Err(Error::FutureRevision));
    assert_eq!(refused(&mut store, &compact(4)), Error::Compacted);
    assert_eq!(refused(&mut store, &compact(6)), Error::FutureRevision);
    assert_eq!(store.compacted(), Revision(4));
}

#[test]
fn a_watch_can_start_at_the_compaction_and_not_before() {
    let mut store = store(vec![write("a", "1"), write("a", "2"), erase("a", ""), write("b", "1")]);
    done(&mut store, &compact(4));
    let everything = KeyRange::prefix(b"");
    assert_eq!(store.changes(Revision(3), &everything, None).err(), Some(Compacted { at: Revision(4) }));
    let changes: Vec<_> = store.changes(Revision(4), &everything, None).unwrap().collect();
    assert_eq!(changes.len(), 2);
    assert_eq!((&changes[0].event, &changes[0].previous), (&Event::Delete("a".into()), &None), "what was is compacted");
    let upto: Vec<_> = store.changes(Revision(4), &everything, Some(Revision(4))).unwrap().collect();
    assert_eq!(upto, changes[..1]);
}

#[test]
fn compaction_frees_what_nobody_can_read() {
    let mut store =
        store((0..100).map(|n| write("a", &n.to_string())).chain([erase("a", ""), write("b", "")]).collect());
    let before = store.size_in_use();
    done(&mut store, &compact(103));
    assert!(store.size_in_use() * 50 < before, "{} of {before}", store.size_in_use());
    assert_eq!((store.size(), store.key_count()), (before, 1), "the file keeps its size");
}

#[test]
fn a_key_hangs_on_the_lease_of_its_last_put() {
    let mut store = store(vec![grant(1, 10), grant(2, 10), leased("a", 1), leased("b", 1), leased("b", 2)]);
    let keys = |store: &Store, lease| {
        let keys = store.lease(LeaseId(lease)).unwrap().keys.iter();
        keys.map(|key| key.escape_ascii().to_string()).collect::<Vec<_>>()
    };
    assert_eq!((keys(&store, 1), keys(&store, 2)), (vec!["a".into()], vec!["b".into()]));
    done(&mut store, &Request::Put(PutRequest { ignore_lease: true, ..put_of("b", "new") }));
    assert_eq!(keys(&store, 2), ["b"]);
    done(&mut store, &write("b", "free"));
    done(&mut store, &erase("a", ""));
    assert_eq!((keys(&store, 1), keys(&store, 2)), (vec![], vec![]));
}

#[test]
fn revoking_a_lease_deletes_its_keys_in_one_revision_in_key_order() {
    let mut store = store(vec![grant(1, 10), leased("c", 1), leased("a", 1), write("b", "")]);
    let Response::Revoke(revoked) = done(&mut store, &revoke(1)) else { panic!("another answer") };
    assert_eq!(revoked.revision, Revision(5));
    let everything = KeyRange::prefix(b"");
    let gone = store.changes(Revision(5), &everything, None).unwrap();
    let gone: Vec<_> = gone.map(|change| (change.sub, change.event.key().escape_ascii().to_string())).collect();
    assert_eq!(gone, [(0, "a".into()), (1, "c".into())]);
    assert_eq!(refused(&mut store, &revoke(1)), Error::LeaseNotFound);
    done(&mut store, &grant(1, 10));
    assert!(!store.apply(&revoke(1)).changed, "nothing hung on it");
}

#[test]
fn leases_are_granted_within_bounds_and_once() {
    let mut store = Store::new();
    let Response::Grant(granted) = done(&mut store, &grant(1, -5)) else { panic!("another answer") };
    assert_eq!((granted.ttl, granted.revision), (2, Revision(1)));
    assert_eq!(refused(&mut store, &grant(1, 10)), Error::LeaseExists);
    assert_eq!(refused(&mut store, &grant(2, LONGEST_TTL + 1)), Error::LeaseTtlTooLarge);
    assert_eq!(refused(&mut store, &grant(0, 10)), Error::LeaseNotFound);
    assert_eq!(refused(&mut store, &leased("a", 2)), Error::LeaseNotFound);
    done(&mut store, &grant(2, LONGEST_TTL));
}

#[test]
fn a_put_can_keep_its_value_or_its_lease() {
    let mut store = store(vec![grant(1, 10), leased("a", 1)]);
    let keep = |value, lease| {
        Request::Put(PutRequest { prev_kv: true, ignore_value: value, ignore_lease: lease, ..put_of("a", "") })
    };
    done(&mut store, &keep(true, true));
    let now = kv(&store, "a");
    assert_eq!((&now.value[..], now.lease, now.version), (&b"v"[..], LeaseId(1), 2));
    let Response::Put(done) = done(&mut store, &keep(true, false)) else { panic!("another answer") };
    assert_eq!(done.prev_kv, Some(now));
    assert_eq!(kv(&store, "a").lease, LeaseId::NONE);
    let missing = PutRequest { ignore_value: true, ..put_of("x", "") };
    assert_eq!(refused(&mut store, &Request::Put(missing)), Error::KeyNotFound);
}

#[test]
fn a_read_only_transaction_answers_without_a_log() {
    let store = store(vec![write("a", "1")]);
    let request = TxnRequest { success: vec![get("a", "")], failure: vec![get("b", "")], ..TxnRequest::default() };
    assert!(request.is_read_only());
    let answer = store.read(&request).unwrap();
    assert_eq!(answer.revision, Revision(2));
    assert!(matches!(&answer.responses[..], [OpResponse::Range(found)] if found.count == 1), "{answer:?}");
    assert_eq!(store.clone().apply(&Request::Txn(request)).result, Ok(Response::Txn(answer)), "or with one");
}
