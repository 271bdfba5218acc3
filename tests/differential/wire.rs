//! The store's words and etcd's: requests as they go over the wire, and the store's answers as
//! etcd would send them.
//!
//! Written for this test alone, so that a mistake in how the program does it shows.

use etcd_client::proto::{
    PbCompactionResponse, PbCompare, PbDeleteRequest, PbDeleteResponse, PbEvent, PbKeyValue, PbLeaseGrantResponse,
    PbLeaseRevokeResponse, PbPutRequest, PbPutResponse, PbRangeRequest, PbRangeResponse, PbResponseHeader,
    PbResponseOp, PbTargetUnion, PbTxnOpRequest, PbTxnOpResponse, PbTxnRequest, PbTxnRequestOp, PbTxnResponse,
};
use lockscope::domain::{Key, KeyValue, Revision};
use lockscope::mvcc::{
    Change, Compare, CompareResult, CompareTarget, DeleteRequest, DeleteResponse, Event, Op, OpResponse, PutRequest,
    PutResponse, RangeRequest, RangeResponse, Response, SortOrder, SortTarget, TxnRequest, TxnResponse,
};

/// An answer to a request that may change something.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    Put(PbPutResponse),
    Delete(PbDeleteResponse),
    Txn(PbTxnResponse),
    Compact(PbCompactionResponse),
    Grant(PbLeaseGrantResponse),
    Revoke(PbLeaseRevokeResponse),
}

pub fn put(put: &PutRequest) -> PbPutRequest {
    PbPutRequest {
        key: put.key.to_vec(),
        value: put.value.clone(),
        lease: put.lease.0,
        prev_kv: put.prev_kv,
        ignore_value: put.ignore_value,
        ignore_lease: put.ignore_lease,
    }
}

pub fn delete(delete: &DeleteRequest) -> PbDeleteRequest {
    let range = &delete.range;
    PbDeleteRequest { key: range.start.to_vec(), range_end: range.end.to_vec(), prev_kv: delete.prev_kv }
}

pub fn range(ask: &RangeRequest) -> PbRangeRequest {
    PbRangeRequest {
        key: ask.range.start.to_vec(),
        range_end: ask.range.end.to_vec(),
        limit: ask.limit,
        revision: ask.revision.0,
        sort_order: match ask.sort_order {
            SortOrder::None => 0,
            SortOrder::Ascend => 1,
            SortOrder::Descend => 2,
        },
        sort_target: match ask.sort_target {
            SortTarget::Key => 0,
            SortTarget::Version => 1,
            SortTarget::Create => 2,
            SortTarget::Mod => 3,
            SortTarget::Value => 4,
        },
        serializable: false,
        keys_only: ask.keys_only,
        count_only: ask.count_only,
        min_mod_revision: ask.min_mod_revision.0,
        max_mod_revision: ask.max_mod_revision.0,
        min_create_revision: ask.min_create_revision.0,
        max_create_revision: ask.max_create_revision.0,
    }
}

pub fn txn(txn: &TxnRequest) -> PbTxnRequest {
    PbTxnRequest {
        compare: txn.compare.iter().map(compare).collect(),
        success: txn.success.iter().map(op).collect(),
        failure: txn.failure.iter().map(op).collect(),
    }
}

fn compare(compare: &Compare) -> PbCompare {
    let (target, target_union) = match &compare.target {
        CompareTarget::Version(version) => (0, PbTargetUnion::Version(*version)),
        CompareTarget::Create(revision) => (1, PbTargetUnion::CreateRevision(revision.0)),
        CompareTarget::Mod(revision) => (2, PbTargetUnion::ModRevision(revision.0)),
        CompareTarget::Value(value) => (3, PbTargetUnion::Value(value.clone())),
        CompareTarget::Lease(lease) => (4, PbTargetUnion::Lease(lease.0)),
    };
    PbCompare {
        result: match compare.result {
            CompareResult::Equal => 0,
            CompareResult::Greater => 1,
            CompareResult::Less => 2,
            CompareResult::NotEqual => 3,
        },
        target,
        key: compare.range.start.to_vec(),
        range_end: compare.range.end.to_vec(),
        target_union: Some(target_union),
    }
}

fn op(op: &Op) -> PbTxnRequestOp {
    let request = match op {
        Op::Range(ask) => PbTxnOpRequest::RequestRange(range(ask)),
        Op::Put(ask) => PbTxnOpRequest::RequestPut(put(ask)),
        Op::Delete(ask) => PbTxnOpRequest::RequestDeleteRange(delete(ask)),
        Op::Txn(ask) => PbTxnOpRequest::RequestTxn(txn(ask)),
    };
    PbTxnRequestOp { request: Some(request) }
}

/// A header with nothing but the revision.
pub fn header(revision: Revision) -> PbResponseHeader {
    PbResponseHeader { revision: revision.0, ..PbResponseHeader::default() }
}

pub fn answer(response: &Response) -> Answer {
    match response {
        Response::Put(done) => Answer::Put(put_answer(done)),
        Response::Delete(done) => Answer::Delete(delete_answer(done)),
        Response::Txn(done) => Answer::Txn(txn_answer(done)),
        Response::Compact(done) => Answer::Compact(PbCompactionResponse { header: Some(header(done.revision)) }),
        Response::Grant(done) => Answer::Grant(PbLeaseGrantResponse {
            header: Some(header(done.revision)),
            id: done.lease.0,
            ttl: done.ttl,
            error: String::new(),
        }),
        Response::Revoke(done) => Answer::Revoke(PbLeaseRevokeResponse { header: Some(header(done.revision)) }),
    }
}

pub fn range_answer(found: &RangeResponse) -> PbRangeResponse {
    PbRangeResponse {
        header: Some(header(found.revision)),
        kvs: found.kvs.iter().map(|kv| key_value(kv)).collect(),
        more: found.more,
        count: found.count,
    }
}

fn put_answer(done: &PutResponse) -> PbPutResponse {
    PbPutResponse { header: Some(header(done.revision)), prev_kv: done.prev_kv.as_deref().map(key_value) }
}

fn delete_answer(done: &DeleteResponse) -> PbDeleteResponse {
    PbDeleteResponse {
        header: Some(header(done.revision)),
        deleted: done.deleted,
        prev_kvs: done.prev_kvs.iter().map(|kv| key_value(kv)).collect(),
    }
}

pub fn txn_answer(done: &TxnResponse) -> PbTxnResponse {
    let op = |response: &OpResponse| {
        let response = match response {
            OpResponse::Range(found) => PbTxnOpResponse::ResponseRange(range_answer(found)),
            OpResponse::Put(done) => PbTxnOpResponse::ResponsePut(put_answer(done)),
            OpResponse::Delete(done) => PbTxnOpResponse::ResponseDeleteRange(delete_answer(done)),
            OpResponse::Txn(done) => PbTxnOpResponse::ResponseTxn(txn_answer(done)),
        };
        PbResponseOp { response: Some(response) }
    };
    PbTxnResponse {
        header: Some(header(done.revision)),
        succeeded: done.succeeded,
        responses: done.responses.iter().map(op).collect(),
    }
}

pub fn key_value(kv: &KeyValue) -> PbKeyValue {
    PbKeyValue {
        key: kv.key.to_vec(),
        create_revision: kv.create_revision.0,
        mod_revision: kv.mod_revision.0,
        version: kv.version,
        value: kv.value.clone(),
        lease: kv.lease.0,
    }
}

/// A change as a watch tells it: of a deleted key there is the name and the revision.
pub fn event(change: &Change) -> PbEvent {
    let prev_kv = change.previous.as_deref().map(key_value);
    let gone = |key: &Key| KeyValue { key: key.clone(), mod_revision: change.revision, ..KeyValue::default() };
    match &change.event {
        Event::Put(kv) => PbEvent { r#type: 0, kv: Some(key_value(kv)), prev_kv },
        Event::Delete(key) => PbEvent { r#type: 1, kv: Some(key_value(&gone(key))), prev_kv },
    }
}
