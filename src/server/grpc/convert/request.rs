//! Requests from the wire. What the wire can say and etcd does not know is refused here; what
//! etcd refuses for its sense is `Request::check`'s.

use etcd_client::proto::{
    PbCompactionRequest, PbCompare, PbCompareTarget, PbDeleteRequest, PbPutRequest, PbRangeRequest, PbTargetUnion,
    PbTxnOpRequest, PbTxnRequest, PbTxnRequestOp,
};
use tonic::Status;

use crate::domain::{Key, KeyRange, LeaseId, Revision};
use crate::mvcc::{
    self, Compare, CompareResult, CompareTarget, DeleteRequest, Op, PutRequest, RangeRequest, Request, SortOrder,
    SortTarget, TxnRequest,
};
use crate::server::grpc::status;

/// A read. Whether it is serializable is the caller's to look at.
pub(in crate::server::grpc) fn range(ask: PbRangeRequest) -> Result<RangeRequest, Status> {
    Ok(RangeRequest {
        range: KeyRange::from_wire(ask.key, ask.range_end),
        limit: ask.limit,
        revision: Revision(ask.revision),
        sort_order: match ask.sort_order {
            0 => SortOrder::None,
            1 => SortOrder::Ascend,
            2 => SortOrder::Descend,
            _ => return Err(status::invalid_sort()),
        },
        sort_target: match ask.sort_target {
            0 => SortTarget::Key,
            1 => SortTarget::Version,
            2 => SortTarget::Create,
            3 => SortTarget::Mod,
            4 => SortTarget::Value,
            _ => return Err(status::invalid_sort()),
        },
        keys_only: ask.keys_only,
        count_only: ask.count_only,
        min_mod_revision: Revision(ask.min_mod_revision),
        max_mod_revision: Revision(ask.max_mod_revision),
        min_create_revision: Revision(ask.min_create_revision),
        max_create_revision: Revision(ask.max_create_revision),
    })
}

/// A put.
pub(in crate::server::grpc) fn put(put: PbPutRequest) -> PutRequest {
    PutRequest {
        key: Key::from(put.key),
        value: put.value,
        lease: LeaseId(put.lease),
        prev_kv: put.prev_kv,
        ignore_value: put.ignore_value,
        ignore_lease: put.ignore_lease,
    }
}

/// A delete.
pub(in crate::server::grpc) fn delete(delete: PbDeleteRequest) -> DeleteRequest {
    DeleteRequest { range: KeyRange::from_wire(delete.key, delete.range_end), prev_kv: delete.prev_kv }
}

/// A compaction.
pub(in crate::server::grpc) const fn compact(compact: PbCompactionRequest) -> Request {
    Request::Compact { revision: Revision(compact.revision), physical: compact.physical }
}

/// A transaction.
pub(in crate::server::grpc) fn txn(txn: PbTxnRequest) -> Result<TxnRequest, Status> {
    Ok(TxnRequest {
        compare: txn.compare.into_iter().map(compare).collect::<Result<_, _>>()?,
        success: txn.success.into_iter().map(op).collect::<Result<_, _>>()?,
        failure: txn.failure.into_iter().map(op).collect::<Result<_, _>>()?,
    })
}

fn op(op: PbTxnRequestOp) -> Result<Op, Status> {
    Ok(match op.request {
        Some(PbTxnOpRequest::RequestRange(ask)) => Op::Range(range(ask)?),
        Some(PbTxnOpRequest::RequestPut(ask)) => Op::Put(put(ask)),
        Some(PbTxnOpRequest::RequestDeleteRange(ask)) => Op::Delete(delete(ask)),
        Some(PbTxnOpRequest::RequestTxn(ask)) => Op::Txn(txn(ask)?),
        // etcd `api/v3rpc/key.go`, `checkRequestOp`: an operation it does not know is a missing key.
        None => return Err(status::store(mvcc::Error::KeyNotFound)),
    })
}

/// A comparison. What is compared and what with are two fields on the wire; where these do not
/// fit together, etcd compares with nothing (etcd `apply.go`, `compareKV`).
fn compare(compare: PbCompare) -> Result<Compare, Status> {
    let operand = compare.target_union;
    let target = match PbCompareTarget::try_from(compare.target) {
        Ok(PbCompareTarget::Version) => CompareTarget::Version(match operand {
            Some(PbTargetUnion::Version(version)) => version,
            _ => 0,
        }),
        Ok(PbCompareTarget::Create) => CompareTarget::Create(Revision(match operand {
            Some(PbTargetUnion::CreateRevision(revision)) => revision,
            _ => 0,
        })),
        Ok(PbCompareTarget::Mod) => CompareTarget::Mod(Revision(match operand {
            Some(PbTargetUnion::ModRevision(revision)) => revision,
            _ => 0,
        })),
        Ok(PbCompareTarget::Value) => CompareTarget::Value(match operand {
            Some(PbTargetUnion::Value(value)) => value,
            _ => Vec::new(),
        }),
        Ok(PbCompareTarget::Lease) => CompareTarget::Lease(LeaseId(match operand {
            Some(PbTargetUnion::Lease(lease)) => lease,
            _ => 0,
        })),
        Err(_) => return Err(status::missing("a comparison of a kind that etcd's API does not have")),
    };
    let result = match compare.result {
        0 => CompareResult::Equal,
        1 => CompareResult::Greater,
        2 => CompareResult::Less,
        3 => CompareResult::NotEqual,
        _ => return Err(status::missing("a comparison with a result that etcd's API does not have")),
    };
    Ok(Compare { range: KeyRange::from_wire(compare.key, compare.range_end), result, target })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(target: PbCompareTarget, operand: Option<PbTargetUnion>) -> PbCompare {
        PbCompare { key: b"k".into(), target: target.into(), target_union: operand, result: 2, ..PbCompare::default() }
    }

    #[test]
    fn a_comparison_takes_its_operand_only_when_it_fits_the_target() {
        let fits = compare(wire(PbCompareTarget::Create, Some(PbTargetUnion::CreateRevision(7)))).unwrap();
        assert_eq!((fits.result, fits.target), (CompareResult::Less, CompareTarget::Create(Revision(7))));
        let other = compare(wire(PbCompareTarget::Value, Some(PbTargetUnion::Version(7)))).unwrap();
        assert_eq!(other.target, CompareTarget::Value(Vec::new()));
        let none = compare(wire(PbCompareTarget::Lease, None)).unwrap();
        assert_eq!(none.target, CompareTarget::Lease(LeaseId::NONE));
    }

    #[test]
    fn an_operation_that_is_none_is_a_missing_key() {
        let empty = PbTxnRequest { success: vec![PbTxnRequestOp { request: None }], ..PbTxnRequest::default() };
        let refused = txn(empty).unwrap_err();
        assert_eq!((refused.code(), refused.message()), (tonic::Code::InvalidArgument, "etcdserver: key not found"));
    }

    #[test]
    fn a_sort_order_that_does_not_exist_is_refused() {
        let odd = PbRangeRequest { key: b"k".into(), sort_order: 3, ..PbRangeRequest::default() };
        assert_eq!(range(odd).unwrap_err().message(), "etcdserver: invalid sort option");
    }

    #[test]
    fn a_range_keeps_everything_it_asks_for() {
        let asked = range(PbRangeRequest {
            key: b"a".into(),
            range_end: b"b".into(),
            limit: 3,
            revision: 4,
            sort_order: 2,
            sort_target: 3,
            serializable: true,
            keys_only: true,
            count_only: true,
            min_mod_revision: 5,
            max_mod_revision: 6,
            min_create_revision: 7,
            max_create_revision: 8,
        });
        let expected = RangeRequest {
            range: KeyRange::from_wire(b"a".into(), b"b".into()),
            limit: 3,
            revision: Revision(4),
            sort_order: SortOrder::Descend,
            sort_target: SortTarget::Mod,
            keys_only: true,
            count_only: true,
            min_mod_revision: Revision(5),
            max_mod_revision: Revision(6),
            min_create_revision: Revision(7),
            max_create_revision: Revision(8),
        };
        assert_eq!(asked.unwrap(), expected);
    }
}
