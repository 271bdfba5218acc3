//! The Lock service, as etcd does it on its own client's mutex (`api/v3lock`,
//! `concurrency/mutex.go`).

use etcd_client::proto::{PbLockResponse, PbUnlockResponse};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http;

use super::messages::{LockRequest, UnlockRequest};
use super::recipe::{self, Place};
use super::unary::{ByHand, unary, unimplemented};
use super::{Api, header, mismatch};
use crate::domain::{Key, KeyRange, LeaseId, Revision};
use crate::mvcc::{self, DeleteRequest, Op, OpResponse, PutRequest, TxnRequest, queue};

/// The service `v3lockpb.Lock`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lock;

impl ByHand for Lock {
    const NAME: &'static str = "v3lockpb.Lock";

    async fn answer(api: Api, method: &str, call: http::Request<Body>) -> http::Response<Body> {
        match method {
            "Lock" => unary(call, |request| api.as_client(request, lock)).await,
            "Unlock" => unary(call, |request| api.as_client(request, unlock)).await,
            _ => unimplemented(&call),
        }
    }
}

async fn lock(api: &Api, LockRequest { name, lease }: LockRequest) -> Result<PbLockResponse, Status> {
    let lease = api.session(LeaseId(lease)).await?;
    let (queue, key) = (queue::of(&name), queue::place(&name, lease));
    let entering = enter(api.clone(), queue.clone(), key.clone(), lease);
    let Entered { own, owns, mut revision, place } = recipe::to_its_end(api, entering).await?;
    if !owns {
        // From here on whatever ends this call gives the key up, also one that was there before.
        let place = place.unwrap_or_else(|| Place::new(api, &key, own));
        api.wait_for_predecessors(&queue, own).await?;
        let found = api.read(&queue::get(&key)).await?;
        place.keep();
        if found.kvs.is_empty() {
            return Err(Status::unknown("mutex: session is expired"));
        }
        revision = found.revision;
    } else if let Some(place) = place {
        place.keep();
    }
    Ok(PbLockResponse { header: Some(header::at(&api.door, revision)), key: key.to_vec() })
}

/// A key in the queue.
struct Entered {
    /// When it was created.
    own: Revision,
    /// Whether it is the first already.
    owns: bool,
    revision: Revision,
    /// What this call has to give up if it ends too early; none if the key was there before.
    place: Option<Place>,
}

/// Puts the key in the queue, or finds that it is there.
async fn enter(api: Api, queue: KeyRange, key: Key, lease: LeaseId) -> Result<Entered, Status> {
    let put = PutRequest { key: key.clone(), lease, ..PutRequest::default() };
    let owner = Op::Range(queue::first(queue));
    let txn = TxnRequest {
        compare: vec![queue::created_at(&key, Revision(0))],
        success: vec![Op::Put(put), owner.clone()],
        failure: vec![Op::Range(queue::get(&key)), owner],
    };
    let done = api.run(txn).await?;
    let (own, place, owner) = match &*done.responses {
        [OpResponse::Put(_), OpResponse::Range(owner)] => {
            (done.revision, Some(Place::new(&api, &key, done.revision)), owner)
        }
        [OpResponse::Range(found), OpResponse::Range(owner)] => {
            (found.kvs.first().ok_or_else(mismatch)?.create_revision, None, owner)
        }
        _ => return Err(mismatch()),
    };
    let owns = owner.kvs.first().is_none_or(|owner| owner.create_revision == own);
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

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;
    use tokio_util::task::TaskTracker;

    use super::*;
    use crate::mvcc::{RangeRequest, Request};
    use crate::server::grpc::testing::Behind;

    /// A caller who asks for the lock by lease 1 and leaves before the cluster has agreed.
    async fn leaves_while_entering(behind: &mut Behind, api: &Api) {
        let asking = api.clone();
        let caller = tokio::spawn(async move { lock(&asking, LockRequest { name: b"name".into(), lease: 1 }).await });
        let call = behind.calls.recv().await.expect("the caller asks");
        caller.abort();
        assert!(caller.await.is_err_and(|end| end.is_cancelled()));
        behind.answer(call);
        // The bells are rung by one task, which stays.
        while api.tasks.len() > 1 {
            tokio::select! {
                call = behind.calls.recv() => behind.answer(call.expect("the door is there")),
                () = tokio::task::yield_now() => {}
            }
        }
    }

    fn queue_of(behind: &Behind) -> Vec<Key> {
        let ask = RangeRequest { range: queue::of(b"name"), ..RangeRequest::default() };
        let found = behind.store.read().unwrap().range(&ask).unwrap();
        found.kvs.iter().map(|kv| kv.key.clone()).collect()
    }

    #[tokio::test]
    async fn who_leaves_while_he_enters_the_queue_does_not_stay_in_it() {
        let mut behind = Behind::new();
        let api = Api::new(behind.door.clone(), &CancellationToken::new(), &TaskTracker::new());
        behind.apply(&Request::Grant { lease: LeaseId(1), ttl: 60 });
        leaves_while_entering(&mut behind, &api).await;
        assert_eq!(queue_of(&behind), []);
    }

    #[tokio::test]
    async fn who_has_the_lock_keeps_it_when_he_asks_again_and_leaves() {
        let mut behind = Behind::new();
        let api = Api::new(behind.door.clone(), &CancellationToken::new(), &TaskTracker::new());
        behind.apply(&Request::Grant { lease: LeaseId(1), ttl: 60 });
        let key = queue::place(b"name", LeaseId(1));
        behind.apply(&Request::Put(PutRequest { key: key.clone(), lease: LeaseId(1), ..PutRequest::default() }));
        leaves_while_entering(&mut behind, &api).await;
        assert_eq!(queue_of(&behind), [key]);
    }
}
