//! Short ways to ask a store, for tests.

use crate::domain::{KeyRange, LeaseId, Revision};

use super::{
    Applied, Compare, CompareResult, CompareTarget, DeleteRequest, Error, Op, OpResponse, PutRequest, RangeRequest,
    RangeResponse, Request, Response, Store, TxnRequest, TxnResponse,
};

pub(super) fn span(start: &str, end: &str) -> KeyRange {
    KeyRange { start: start.into(), end: end.into() }
}

pub(super) fn put_of(key: &str, value: &str) -> PutRequest {
    PutRequest { key: key.into(), value: value.into(), ..PutRequest::default() }
}

pub(super) fn put(key: &str, value: &str) -> Op {
    Op::Put(put_of(key, value))
}

pub(super) fn get(start: &str, end: &str) -> Op {
    Op::Range(RangeRequest { range: span(start, end), ..RangeRequest::default() })
}

pub(super) fn delete(start: &str, end: &str) -> Op {
    Op::Delete(DeleteRequest { range: span(start, end), prev_kv: false })
}

pub(super) fn compare(start: &str, end: &str, result: CompareResult, target: CompareTarget) -> Compare {
    Compare { range: span(start, end), result, target }
}

/// A store where each request took effect, in order.
pub(super) fn store(requests: Vec<Request>) -> Store {
    let mut store = Store::new();
    for request in requests {
        done(&mut store, &request);
    }
    store
}

#[track_caller]
pub(super) fn done(store: &mut Store, request: &Request) -> Response {
    let Applied { result, .. } = store.apply(request);
    result.unwrap_or_else(|error| panic!("{request:?}: {error}"))
}

#[track_caller]
pub(super) fn refused(store: &mut Store, request: &Request) -> Error {
    let before = store.clone();
    let Applied { result, changed, .. } = store.apply(request);
    let error = result.expect_err("it is refused");
    assert!(!changed && *store == before, "{request:?} is refused and leaves a trace");
    error
}

#[track_caller]
pub(super) fn txn(store: &mut Store, txn: TxnRequest) -> TxnResponse {
    let Response::Txn(response) = done(store, &Request::Txn(txn)) else { panic!("another answer") };
    response
}

#[track_caller]
pub(super) fn all(store: &mut Store, success: Vec<Op>) -> Vec<OpResponse> {
    txn(store, TxnRequest { success, ..TxnRequest::default() }).responses
}

pub(super) fn write(key: &str, value: &str) -> Request {
    Request::Put(put_of(key, value))
}

pub(super) fn leased(key: &str, lease: i64) -> Request {
    Request::Put(PutRequest { lease: LeaseId(lease), ..put_of(key, "v") })
}

pub(super) fn erase(start: &str, end: &str) -> Request {
    Request::Delete(DeleteRequest { range: span(start, end), prev_kv: true })
}

pub(super) fn grant(lease: i64, ttl: i64) -> Request {
    Request::Grant { lease: LeaseId(lease), ttl }
}

pub(super) fn revoke(lease: i64) -> Request {
    Request::Revoke { lease: LeaseId(lease) }
}

pub(super) fn compact(revision: i64) -> Request {
    Request::Compact { revision: Revision(revision), physical: false }
}

/// The keys an answer has, with their values.
pub(super) fn pairs(found: &RangeResponse) -> Vec<String> {
    found.kvs.iter().map(|kv| format!("{}={}", kv.key.escape_ascii(), kv.value.escape_ascii())).collect()
}

/// The keys of a range as they were at a revision, 0 for now.
#[track_caller]
pub(super) fn read(store: &Store, start: &str, end: &str, revision: i64) -> Vec<String> {
    let ask = RangeRequest { range: span(start, end), revision: Revision(revision), ..RangeRequest::default() };
    pairs(&store.range(&ask).expect("it can be read"))
}
