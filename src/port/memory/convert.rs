//! Between the port's words and the store's.

use crate::mvcc::{
    Compare, CompareResult, CompareTarget, DeleteRequest, Op, OpResponse, PutRequest, RangeRequest, RangeResponse,
    SortOrder, SortTarget, TxnRequest, TxnResponse,
};
use crate::port::{
    self, Delete, Deleted, Header, OpDone, Operand, Ordering, Page, Put, Range, Txn, TxnDone, Want, Written,
};

use crate::domain::{KeyRange, KeyValue, Revision};

pub(super) fn range(ask: Range) -> RangeRequest {
    let (sort_order, sort_target) = ask.sort.map(sort).unwrap_or_default();
    RangeRequest {
        limit: i64::from(ask.limit),
        revision: ask.revision.unwrap_or_default(),
        sort_order,
        sort_target,
        keys_only: ask.want == Want::Keys,
        count_only: ask.want == Want::Count,
        min_create_revision: ask.min_create_revision.unwrap_or_default(),
        max_create_revision: ask.upper_bound(),
        range: ask.range,
        ..RangeRequest::default()
    }
}

fn sort(sort: port::Sort) -> (SortOrder, SortTarget) {
    let order = match sort.order {
        port::SortOrder::Ascend => SortOrder::Ascend,
        port::SortOrder::Descend => SortOrder::Descend,
    };
    let target = match sort.by {
        port::SortTarget::Key => SortTarget::Key,
        port::SortTarget::Version => SortTarget::Version,
        port::SortTarget::Create => SortTarget::Create,
        port::SortTarget::Mod => SortTarget::Mod,
        port::SortTarget::Value => SortTarget::Value,
    };
    (order, target)
}

pub(super) fn put(put: Put) -> PutRequest {
    PutRequest { key: put.key, value: put.value, lease: put.lease, ..PutRequest::default() }
}

pub(super) fn delete(delete: Delete) -> DeleteRequest {
    DeleteRequest { range: delete.range, prev_kv: false }
}

pub(super) fn txn(txn: Txn) -> TxnRequest {
    let ops = |ops: Vec<port::Op>| ops.into_iter().map(op).collect();
    TxnRequest {
        compare: txn.when.into_iter().map(compare).collect(),
        success: ops(txn.then),
        failure: ops(txn.or_else),
    }
}

fn op(op: port::Op) -> Op {
    match op {
        port::Op::Range(ask) => Op::Range(range(ask)),
        port::Op::Put(ask) => Op::Put(put(ask)),
        port::Op::Delete(ask) => Op::Delete(delete(ask)),
    }
}

fn compare(compare: port::Compare) -> Compare {
    Compare {
        range: KeyRange::single(&compare.key),
        result: match compare.is {
            Ordering::Equal => CompareResult::Equal,
            Ordering::NotEqual => CompareResult::NotEqual,
            Ordering::Less => CompareResult::Less,
            Ordering::Greater => CompareResult::Greater,
        },
        target: match compare.to {
            Operand::Create(revision) => CompareTarget::Create(revision),
            Operand::Mod(revision) => CompareTarget::Mod(revision),
            Operand::Version(version) => CompareTarget::Version(version),
            Operand::Value(value) => CompareTarget::Value(value),
            Operand::Lease(lease) => CompareTarget::Lease(lease),
        },
    }
}

pub(super) fn page(found: &RangeResponse, header: Header) -> Page {
    let keys = found.kvs.iter().map(|kv| KeyValue::clone(kv)).collect();
    Page { header, keys, more: found.more, count: found.count }
}

pub(super) fn txn_done(done: &TxnResponse, header: Header) -> TxnDone {
    // The answers of operations tell their revision and nothing else.
    let only = |revision: Revision| Header { revision, ..Header::default() };
    let answers = done.responses.iter().filter_map(|response| match response {
        OpResponse::Range(found) => Some(OpDone::Range(page(found, only(found.revision)))),
        OpResponse::Put(put) => Some(OpDone::Put(Written { header: only(put.revision) })),
        OpResponse::Delete(gone) => {
            Some(OpDone::Delete(Deleted { header: only(gone.revision), deleted: gone.deleted }))
        }
        // The port cannot ask for one.
        OpResponse::Txn(_) => None,
    });
    TxnDone { header, succeeded: done.succeeded, answers: answers.collect() }
}
