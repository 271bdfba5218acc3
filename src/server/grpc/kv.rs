//! The KV service: reads, writes, transactions, compaction (etcd `api/v3rpc/key.go`).

use etcd_client::proto::{
    PbCompactionRequest, PbCompactionResponse, PbDeleteRequest, PbDeleteResponse, PbKvService, PbPutRequest,
    PbPutResponse, PbRangeRequest, PbRangeResponse, PbRangeStreamResponse, PbTxnOpRequest, PbTxnRequest, PbTxnResponse,
};
use futures::stream::Empty;
use prost::Message;
use tonic::{Request, Response, Status};

use super::{Api, convert, header, mismatch, status};
use crate::mvcc;

#[tonic::async_trait]
impl PbKvService for Api {
    async fn range(&self, request: Request<PbRangeRequest>) -> Result<Response<PbRangeResponse>, Status> {
        let serializable = request.get_ref().serializable;
        if serializable {
            self.admit_to_learner(&request)?;
        } else {
            self.admit(&request)?;
        }
        let ask = convert::request::range(request.into_inner())?;
        ask.check().map_err(status::store)?;
        if !serializable {
            self.barrier().await?;
        }
        let found = self.door.store().range(&ask).map_err(status::store)?;
        Ok(Response::new(convert::response::range(&found, header::at(&self.door, found.revision))))
    }

    type RangeStreamStream = Empty<Result<PbRangeStreamResponse, Status>>;

    async fn range_stream(&self, _: Request<PbRangeRequest>) -> Result<Response<Self::RangeStreamStream>, Status> {
        Err(status::missing("RangeStream came after etcd 3.5; ask for a range in pages"))
    }

    async fn put(&self, request: Request<PbPutRequest>) -> Result<Response<PbPutResponse>, Status> {
        self.admit(&request)?;
        let put = request.into_inner();
        let size = put.encoded_len();
        let mvcc::Response::Put(done) = self.write(mvcc::Request::Put(convert::request::put(put)), size).await? else {
            return Err(mismatch());
        };
        Ok(Response::new(convert::response::put(&done, header::at(&self.door, done.revision))))
    }

    async fn delete_range(&self, request: Request<PbDeleteRequest>) -> Result<Response<PbDeleteResponse>, Status> {
        self.admit(&request)?;
        let delete = request.into_inner();
        let size = delete.encoded_len();
        let delete = mvcc::Request::Delete(convert::request::delete(delete));
        let mvcc::Response::Delete(done) = self.write(delete, size).await? else { return Err(mismatch()) };
        Ok(Response::new(convert::response::delete(&done, header::at(&self.door, done.revision))))
    }

    async fn txn(&self, request: Request<PbTxnRequest>) -> Result<Response<PbTxnResponse>, Status> {
        self.admit(&request)?;
        let txn = request.into_inner();
        let (size, serializable) = (txn.encoded_len(), is_serializable(&txn));
        let txn = convert::request::txn(txn)?;
        let done = if txn.is_read_only() {
            txn.check().map_err(status::store)?;
            if !serializable {
                self.barrier().await?;
            }
            self.door.store().read(&txn).map_err(status::store)?
        } else {
            let mvcc::Response::Txn(done) = self.write(mvcc::Request::Txn(txn), size).await? else {
                return Err(mismatch());
            };
            done
        };
        Ok(Response::new(convert::response::txn(&done, header::at(&self.door, done.revision))))
    }

    async fn compact(&self, request: Request<PbCompactionRequest>) -> Result<Response<PbCompactionResponse>, Status> {
        self.admit(&request)?;
        let compact = request.into_inner();
        let size = compact.encoded_len();
        let mvcc::Response::Compact(done) = self.write(convert::request::compact(compact), size).await? else {
            return Err(mismatch());
        };
        Ok(Response::new(PbCompactionResponse { header: Some(header::at(&self.door, done.revision)) }))
    }
}

/// Whether a transaction may be answered without asking a quorum: when it only reads and every
/// read in it may (etcd `apply/apply.go`, `IsTxnSerializable`).
fn is_serializable(txn: &PbTxnRequest) -> bool {
    txn.success
        .iter()
        .chain(&txn.failure)
        .all(|op| matches!(&op.request, Some(PbTxnOpRequest::RequestRange(ask)) if ask.serializable))
}
