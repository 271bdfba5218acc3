//! Answers to the wire. The header is what the caller says: inside a transaction it holds less.

use std::sync::Arc;

use etcd_client::proto::{
    PbDeleteResponse, PbKeyValue, PbPutResponse, PbRangeResponse, PbResponseHeader, PbResponseOp, PbTxnOpResponse,
    PbTxnResponse,
};

use crate::domain::KeyValue;
use crate::mvcc::{DeleteResponse, OpResponse, PutResponse, RangeResponse, TxnResponse};
use crate::server::grpc::header;

/// A key.
pub(in crate::server::grpc) fn key_value(kv: &KeyValue) -> PbKeyValue {
    PbKeyValue {
        key: kv.key.to_vec(),
        value: kv.value.clone(),
        create_revision: kv.create_revision.0,
        mod_revision: kv.mod_revision.0,
        version: kv.version,
        lease: kv.lease.0,
    }
}

fn key_values(kvs: &[Arc<KeyValue>]) -> Vec<PbKeyValue> {
    kvs.iter().map(|kv| key_value(kv)).collect()
}

/// What a read found.
pub(in crate::server::grpc) fn range(found: &RangeResponse, header: PbResponseHeader) -> PbRangeResponse {
    PbRangeResponse { header: Some(header), kvs: key_values(&found.kvs), more: found.more, count: found.count }
}

/// What a put did.
pub(in crate::server::grpc) fn put(done: &PutResponse, header: PbResponseHeader) -> PbPutResponse {
    PbPutResponse { header: Some(header), prev_kv: done.prev_kv.as_deref().map(key_value) }
}

/// What a delete did.
pub(in crate::server::grpc) fn delete(done: &DeleteResponse, header: PbResponseHeader) -> PbDeleteResponse {
    PbDeleteResponse { header: Some(header), deleted: done.deleted, prev_kvs: key_values(&done.prev_kvs) }
}

/// What a transaction did.
pub(in crate::server::grpc) fn txn(done: &TxnResponse, header: PbResponseHeader) -> PbTxnResponse {
    let responses = done.responses.iter().map(|response| PbResponseOp { response: Some(op(response)) }).collect();
    PbTxnResponse { header: Some(header), succeeded: done.succeeded, responses }
}

fn op(response: &OpResponse) -> PbTxnOpResponse {
    match response {
        OpResponse::Range(found) => PbTxnOpResponse::ResponseRange(range(found, header::inner(found.revision))),
        OpResponse::Put(done) => PbTxnOpResponse::ResponsePut(put(done, header::inner(done.revision))),
        OpResponse::Delete(done) => PbTxnOpResponse::ResponseDeleteRange(delete(done, header::inner(done.revision))),
        OpResponse::Txn(done) => PbTxnOpResponse::ResponseTxn(txn(done, header::inner(done.revision))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Revision;

    #[test]
    fn an_inner_answer_has_a_revision_and_no_member() {
        let put = OpResponse::Put(PutResponse { revision: Revision(9), prev_kv: None });
        let done = TxnResponse { revision: Revision(9), succeeded: true, responses: vec![put] };
        let outer = PbResponseHeader { cluster_id: 1, member_id: 2, revision: 9, raft_term: 3 };
        let wire = txn(&done, outer);
        assert_eq!(wire.header, Some(outer));
        let Some(PbTxnOpResponse::ResponsePut(inner)) = &wire.responses[0].response else {
            panic!("a put answers a put")
        };
        assert_eq!(inner.header, Some(PbResponseHeader { revision: 9, ..PbResponseHeader::default() }));
    }
}
