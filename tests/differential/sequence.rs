//! Random requests: a small world of keys and leases, so that they meet each other.

use std::collections::BTreeSet;

use lockscope::domain::{Key, KeyRange, LeaseId, Revision};
use lockscope::mvcc::{
    Compare, CompareResult, CompareTarget, DeleteRequest, LONGEST_TTL, Op, PutRequest, RangeRequest, Request,
    SortOrder, SortTarget, Store, TxnRequest, Watch,
};

use crate::chance::Chance;

/// One thing to ask the store and the real etcd.
#[derive(Clone, Debug)]
pub enum Step {
    /// Something that may change the store.
    Apply(Request),
    /// A read.
    Range(RangeRequest),
    /// A lease of a short TTL, revoked at once, before it can end by itself.
    ShortLease(LeaseId, i64),
    /// What was granted and what hangs on a lease.
    Lease(LeaseId),
    /// Which leases there are.
    Leases,
    /// A watch from an old revision, until it has told everything up to now.
    Watch(Watch, Revision),
}

/// No more keys than these: with up to twelve etcd's sort keeps equal ones in order.
const KEYS: [&[u8]; 8] = [b"a", b"a\0", b"ab", b"b", b"c", b"d", b"\xff", b"\0"];
const ENDS: [&[u8]; 5] = [b"b", b"c", b"d", b"ac", b"\xff\xff"];
const VALUES: [&[u8]; 5] = [b"", b"0", b"1", b"10", b"\xff\0"];
/// All are granted now and then but the last.
const LEASES: [i64; 5] = [1, 2, -3, i64::MAX, 9];
/// Long enough that none ends while the test runs.
const TTLS: [i64; 4] = [600, 601, 9000, LONGEST_TTL];

/// What brings the store back to holding nothing, so that a sequence does not depend on those
/// before it.
pub fn reset(store: &Store) -> Vec<Step> {
    let leases = store.leases().map(|(lease, _)| Request::Revoke { lease });
    let everything = KeyRange { start: "\0".into(), end: "\0".into() };
    // Something to delete, so that the last revision is a plain one: see `compact`.
    let put = Request::Put(PutRequest { key: "a".into(), ..PutRequest::default() });
    let clear = Request::Delete(DeleteRequest { range: everything, prev_kv: false });
    leases.chain([put, clear]).map(Step::Apply).collect()
}

/// The next step of a sequence. What is likely to be refused for its revision depends on the
/// store, nothing else does.
pub fn step(chance: &mut Chance, store: &Store) -> Step {
    match chance.below(100) {
        0..28 => Step::Apply(Request::Put(put(chance))),
        28..36 => Step::Apply(Request::Delete(delete(chance))),
        36..61 => Step::Apply(Request::Txn(txn(chance, store))),
        61..80 => Step::Range(range(chance, store)),
        80..85 => Step::Apply(compact(chance, store)),
        85..91 => Step::Apply(grant(chance)),
        91..94 => Step::Apply(Request::Revoke { lease: lease(chance) }),
        94..96 => Step::Lease(lease(chance)),
        96..97 => Step::Leases,
        97..98 => Step::ShortLease(LeaseId(77), chance.between(-1, 3)),
        _ => watch(chance, store),
    }
}

fn key(chance: &mut Chance) -> Key {
    if chance.percent(2) { Key::default() } else { chance.pick(&KEYS).into() }
}

fn lease(chance: &mut Chance) -> LeaseId {
    LeaseId(chance.pick(&LEASES))
}

fn span(chance: &mut Chance) -> KeyRange {
    let end = match chance.below(10) {
        0..5 => &b""[..],
        5..7 => &b"\0"[..],
        _ => chance.pick(&ENDS),
    };
    KeyRange { start: key(chance), end: end.into() }
}

fn put(chance: &mut Chance) -> PutRequest {
    PutRequest {
        key: key(chance),
        value: chance.pick(&VALUES).into(),
        lease: if chance.percent(35) { lease(chance) } else { LeaseId::NONE },
        prev_kv: chance.percent(50),
        ignore_value: chance.percent(10),
        ignore_lease: chance.percent(10),
    }
}

fn delete(chance: &mut Chance) -> DeleteRequest {
    DeleteRequest { range: span(chance), prev_kv: chance.percent(50) }
}

fn grant(chance: &mut Chance) -> Request {
    let lease = LeaseId(chance.pick(&LEASES[..LEASES.len() - 1]));
    let ttl = if chance.percent(5) { LONGEST_TTL + 1 } else { chance.pick(&TTLS) };
    Request::Grant { lease, ttl }
}

fn compact(chance: &mut Chance, store: &Store) -> Request {
    let mut revision = near(chance, store);
    // etcd loses what a revision says twice of one key when it is compacted to that revision.
    while says_twice(store, revision) {
        revision = revision.next();
    }
    Request::Compact { revision, physical: chance.percent(50) }
}

fn says_twice(store: &Store, revision: Revision) -> bool {
    let everything = KeyRange::prefix(b"");
    let changes = store.changes(revision, &everything, Some(revision));
    let mut seen = BTreeSet::new();
    changes.is_ok_and(|changes| changes.map(|change| change.event.key().clone()).any(|key| !seen.insert(key)))
}

/// A revision about where revisions begin to be readable, or cease to be.
fn near(chance: &mut Chance, store: &Store) -> Revision {
    let (first, last) = (store.compacted().0, store.revision().0);
    match chance.below(12) {
        0 => Revision(first - 1),
        1 => Revision(first),
        2 => Revision(last + 1),
        3 => Revision(last),
        4 => Revision(-1),
        _ => Revision(chance.between(first.max(1), last)),
    }
}

fn range(chance: &mut Chance, store: &Store) -> RangeRequest {
    let orders = [SortOrder::None, SortOrder::None, SortOrder::Ascend, SortOrder::Descend];
    let targets = [SortTarget::Key, SortTarget::Version, SortTarget::Create, SortTarget::Mod, SortTarget::Value];
    let mut bound = || if chance.percent(12) { near(chance, store) } else { Revision(0) };
    let bounds = [bound(), bound(), bound(), bound()];
    RangeRequest {
        range: span(chance),
        limit: if chance.percent(40) { chance.between(-1, 4) } else { 0 },
        revision: if chance.percent(40) { near(chance, store) } else { Revision(0) },
        sort_order: chance.pick(&orders),
        sort_target: if chance.percent(50) { chance.pick(&targets) } else { SortTarget::Key },
        keys_only: chance.percent(15),
        count_only: chance.percent(15),
        min_mod_revision: bounds[0],
        max_mod_revision: bounds[1],
        min_create_revision: bounds[2],
        max_create_revision: bounds[3],
    }
}

fn txn(chance: &mut Chance, store: &Store) -> TxnRequest {
    let mut txn = branches(chance, store, 0);
    if chance.percent(3) {
        // About as many operations as there may be.
        let read = Op::Range(RangeRequest { range: KeyRange::single(b"a"), ..RangeRequest::default() });
        let count = chance.between(125, 129).unsigned_abs();
        txn.success.resize(usize::try_from(count).expect("a small number"), read);
    }
    // A put that has to find a key, after a delete up to the last key took it, ends etcd.
    if has(&txn, &|op| matches!(op, Op::Delete(delete) if delete.range.end.as_bytes() == [0])) {
        no_need_of_a_key(&mut txn);
    }
    txn
}

fn branches(chance: &mut Chance, store: &Store, depth: usize) -> TxnRequest {
    let compare = (0..chance.below(3)).map(|_| compare(chance, store)).collect();
    let mut ops = |most| (0..chance.below(most)).map(|_| op(chance, store, depth)).collect();
    TxnRequest { compare, success: ops(5), failure: ops(4) }
}

fn op(chance: &mut Chance, store: &Store, depth: usize) -> Op {
    match chance.below(10) {
        0..4 => Op::Put(put(chance)),
        4..6 => Op::Delete(delete(chance)),
        6 if depth < 2 => Op::Txn(branches(chance, store, depth + 1)),
        _ => {
            let mut ask = range(chance, store);
            if chance.percent(70) {
                ask.revision = Revision(0);
            }
            Op::Range(ask)
        }
    }
}

fn compare(chance: &mut Chance, store: &Store) -> Compare {
    let results = [CompareResult::Equal, CompareResult::Greater, CompareResult::Less, CompareResult::NotEqual];
    let target = match chance.below(5) {
        0 => CompareTarget::Version(chance.between(0, 3)),
        1 => CompareTarget::Create(if chance.percent(50) { Revision(0) } else { near(chance, store) }),
        2 => CompareTarget::Mod(if chance.percent(50) { Revision(0) } else { near(chance, store) }),
        3 => CompareTarget::Value(chance.pick(&VALUES).into()),
        _ => CompareTarget::Lease(if chance.percent(50) { LeaseId::NONE } else { lease(chance) }),
    };
    Compare { range: span(chance), result: chance.pick(&results), target }
}

fn has(txn: &TxnRequest, is: &impl Fn(&Op) -> bool) -> bool {
    txn.success.iter().chain(&txn.failure).any(|op| match op {
        Op::Txn(inner) => has(inner, is),
        op => is(op),
    })
}

fn no_need_of_a_key(txn: &mut TxnRequest) {
    for op in txn.success.iter_mut().chain(&mut txn.failure) {
        match op {
            Op::Put(put) => (put.ignore_value, put.ignore_lease) = (false, false),
            Op::Txn(inner) => no_need_of_a_key(inner),
            Op::Range(_) | Op::Delete(_) => {}
        }
    }
}

fn watch(chance: &mut Chance, store: &Store) -> Step {
    let watch = Watch {
        range: span(chance),
        no_put: chance.percent(15),
        no_delete: chance.percent(15),
        prev_kv: chance.percent(60),
    };
    // 0 would mean now, and what is below it has no meaning.
    let from = near(chance, store).max(Revision(1));
    Step::Watch(watch, from)
}
