//! The Lock service, as etcd does it on its own client's mutex (`api/v3lock`,
//! `concurrency/mutex.go`).

use std::convert::Infallible;
use std::task::{Context, Poll};

use etcd_client::proto::{PbLockResponse, PbUnlockResponse};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::{Service, http};
use tonic::server::NamedService;

use super::messages::{LockRequest, UnlockRequest};
use super::recipe::{self, Place};
use super::unary::{Answer, unary, unimplemented};
use super::{Api, header, mismatch};
use crate::domain::{Key, KeyRange, LeaseId, Revision};
use crate::mvcc::{self, DeleteRequest, Op, OpResponse, PutRequest, TxnRequest};

/// The service `v3lockpb.Lock`.
#[derive(Clone, Debug)]
pub(super) struct LockServer(pub Api);

impl NamedService for LockServer {
    const NAME: &'static str = "v3lockpb.Lock";
}

impl Service<http::Request<Body>> for LockServer {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Answer;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, call: http::Request<Body>) -> Answer {
        let api = self.0.clone();
        Box::pin(async move {
            Ok(match call.uri().path() {
                "/v3lockpb.Lock/Lock" => unary(call, |request| api.as_client(request, lock)).await,
                "/v3lockpb.Lock/Unlock" => unary(call, |request| api.as_client(request, unlock)).await,
                other => unimplemented(Status::unimplemented(format!("unknown method {other}"))),
            })
        })
    }
}

async fn lock(api: &Api, LockRequest { name, lease }: LockRequest) -> Result<PbLockResponse, Status> {
    let lease = api.session(LeaseId(lease)).await?;
    let (queue, key) = (recipe::queue(&name), recipe::place(&name, lease));
    let entering = enter(api.clone(), queue.clone(), key.clone(), lease);
    let Entered { own, owns, mut revision, mut place } = recipe::to_its_end(api, entering).await?;
    if !owns {
        if let Err(status) = api.wait_for_predecessors(&queue, own).await {
            place.leave().await;
            return Err(status);
        }
        let found = api.read(&recipe::get(&key)).await?;
        if found.kvs.is_empty() {
            place.keep();
            return Err(Status::unknown("mutex: session is expired"));
        }
        revision = found.revision;
    }
    place.keep();
    Ok(PbLockResponse { header: Some(header::at(&api.door, revision)), key: key.to_vec() })
}

/// A key in the queue.
struct Entered {
    /// When it was created.
    own: Revision,
    /// Whether it is the first already.
    owns: bool,
    revision: Revision,
    place: Place,
}

/// Puts the key in the queue, or finds that it is there.
async fn enter(api: Api, queue: KeyRange, key: Key, lease: LeaseId) -> Result<Entered, Status> {
    let put = PutRequest { key: key.clone(), lease, ..PutRequest::default() };
    let owner = Op::Range(recipe::first(&queue));
    let txn = TxnRequest {
        compare: vec![recipe::created_at(&key, Revision(0))],
        success: vec![Op::Put(put), owner.clone()],
        failure: vec![Op::Range(recipe::get(&key)), owner],
    };
    let done = api.run(txn).await?;
    let (own, is_new, owner) = match &*done.responses {
        [OpResponse::Put(_), OpResponse::Range(owner)] => (done.revision, true, owner),
        [OpResponse::Range(found), OpResponse::Range(owner)] => {
            (found.kvs.first().ok_or_else(mismatch)?.create_revision, false, owner)
        }
        _ => return Err(mismatch()),
    };
    let owns = owner.kvs.first().is_none_or(|owner| owner.create_revision == own);
    let mut place = Place::new(&api, &key, own);
    if owns && !is_new {
        // Held before this call, and not this call's to give up.
        place.keep();
    }
    Ok(Entered { own, owns, revision: done.revision, place })
}

async fn unlock(api: &Api, UnlockRequest { key }: UnlockRequest) -> Result<PbUnlockResponse, Status> {
    let key = Key::from(key);
    let delete = DeleteRequest { range: KeyRange::single(&key), prev_kv: false };
    let mvcc::Response::Delete(done) = api.write(mvcc::Request::Delete(delete), key.len()).await? else {
        return Err(mismatch());
    };
    Ok(PbUnlockResponse { header: Some(header::at(&api.door, done.revision)) })
}
