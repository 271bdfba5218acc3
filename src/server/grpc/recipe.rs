//! What lock and election have in common: a queue of keys under a name, each on its caller's
//! lease, ordered by `create_revision` (etcd `client/v3/concurrency`).

use std::future::Future;

use tonic::Status;

use super::bells::Bell;
use super::{Api, mismatch, status};
use crate::domain::{Key, KeyRange, LeaseId, Revision};
use crate::embedded::Refusal;
use crate::mvcc::{self, Change, Op, RangeRequest, RangeResponse, Request, Response, TxnRequest, TxnResponse, queue};

impl Api {
    /// Answers a call of one of these services, which in etcd are clients of the others.
    pub(super) async fn as_client<Ask, Told>(
        &self,
        request: tonic::Request<Ask>,
        answer: impl AsyncFnOnce(&Self, Ask) -> Result<Told, Status>,
    ) -> Result<tonic::Response<Told>, Status> {
        self.admit(&request)?;
        let told = answer(self, request.into_inner()).await;
        told.map(tonic::Response::new).map_err(|status| status::through_client(&status))
    }

    /// The lease to queue by: the caller's, or a new one. A new one is renewed by nobody.
    pub(super) async fn session(&self, lease: LeaseId) -> Result<LeaseId, Status> {
        if !lease.is_none() {
            return Ok(lease);
        }
        let grant = Request::Grant { lease: self.choose_lease(), ttl: queue::SESSION_TTL };
        match self.write(grant, 0).await? {
            Response::Grant(granted) => Ok(granted.lease),
            _ => Err(mismatch()),
        }
    }

    /// Runs a transaction.
    pub(super) async fn run(&self, txn: TxnRequest) -> Result<TxnResponse, Status> {
        let size =
            txn.success.iter().map(|op| if let Op::Put(put) = op { put.key.len() + put.value.len() } else { 0 }).sum();
        match self.write(Request::Txn(txn), size).await? {
            Response::Txn(done) => Ok(done),
            _ => Err(mismatch()),
        }
    }

    /// Reads linearizably.
    pub(super) async fn read(&self, ask: &RangeRequest) -> Result<RangeResponse, Status> {
        self.barrier().await?;
        self.door.store().range(ask).map_err(status::store)
    }

    /// Waits until no key of the queue was created before `own` (etcd `concurrency/key.go`,
    /// `waitDeletes`).
    pub(super) async fn wait_for_predecessors(&self, queue: &KeyRange, own: Revision) -> Result<(), Status> {
        let last_before = queue::last_before(queue.clone(), own);
        loop {
            let found = self.read(&last_before).await?;
            let Some(predecessor) = found.kvs.into_iter().next() else { return Ok(()) };
            self.wait_for_end(&predecessor.key, predecessor.create_revision).await?;
        }
    }

    /// Waits until the key that was created at this revision is gone.
    async fn wait_for_end(&self, key: &Key, created: Revision) -> Result<(), Status> {
        let mut bell = self.bells.bell();
        bell.hang(&KeyRange::single(key));
        loop {
            let lives = {
                let store = self.door.store();
                let found = store.range(&queue::get(key)).map_err(status::store)?;
                found.kvs.first().is_some_and(|kv| kv.create_revision == created)
            };
            if !lives {
                return Ok(());
            }
            tokio::select! {
                // The end first: at a member that is killed nobody gets a lock.
                biased;
                () = self.ended.cancelled() => return Err(status::refusal(Refusal::Stopped)),
                () = bell.rings() => drop(bell.look_from()),
            }
        }
    }
}

/// Reads on what changed in a range, as it changes.
#[derive(Debug)]
pub(super) struct Following {
    api: Api,
    bell: Bell,
    range: KeyRange,
    next: Revision,
}

impl Following {
    /// From a revision on.
    pub fn new(api: &Api, range: KeyRange, from: Revision) -> Self {
        let mut bell = api.bells.bell();
        bell.hang(&range);
        Self { api: api.clone(), bell, range, next: from }
    }

    /// What changed next: at least one change, whole revisions.
    pub async fn changes(&mut self) -> Result<Vec<Change>, Followed> {
        loop {
            let watch = mvcc::Watch::of(self.range.clone());
            let batch = watch.batch(&self.api.door.store(), self.next)?;
            self.next = batch.next;
            if !batch.changes.is_empty() {
                return Ok(batch.changes);
            }
            tokio::select! {
                // The end first: a member that is killed tells nothing more.
                biased;
                () = self.api.ended.cancelled() => return Err(Followed::Stopped),
                () = self.bell.rings() => self.next = self.next.max(self.bell.look_from()),
            }
        }
    }
}

/// Why nothing more can be followed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Followed {
    /// What comes next is compacted.
    Compacted,
    /// The member stops.
    Stopped,
}

impl From<mvcc::Compacted> for Followed {
    fn from(_: mvcc::Compacted) -> Self {
        Self::Compacted
    }
}

/// Gives a caller's key up when it is dropped, unless it was kept: a caller who goes away while
/// he waits must not stay in the queue until his lease ends.
#[derive(Debug)]
pub(super) struct Place {
    api: Api,
    /// The transaction that gives the key up.
    leave: Option<Request>,
}

impl Place {
    /// The place of a key that was created at this revision.
    pub fn new(api: &Api, key: &Key, created: Revision) -> Self {
        Self { api: api.clone(), leave: Some(Request::Txn(queue::delete_if(key, created))) }
    }

    /// The key is kept.
    pub fn keep(mut self) {
        self.leave = None;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(leave) = self.leave.take() {
            self.api.tasks.spawn_on(give_up(self.api.clone(), leave), &self.api.runtime);
        }
    }
}

/// Does something to its end, even if who waits for it goes away; what it comes to is dropped
/// then.
pub(super) async fn to_its_end<T: Send + 'static>(
    api: &Api,
    work: impl Future<Output = Result<T, Status>> + Send + 'static,
) -> Result<T, Status> {
    let ended = api.ended.clone();
    let work = async move {
        tokio::select! {
            // The end first: a member that is killed asks for nothing more.
            biased;
            () = ended.cancelled() => Err(status::refusal(Refusal::Stopped)),
            done = work => done,
        }
    };
    api.tasks.spawn(work).await.unwrap_or_else(|_| Err(status::refusal(Refusal::Stopped)))
}

async fn give_up(api: Api, request: Request) {
    let left = tokio::select! {
        // The end first: all callers of a member that is killed go away, and it must not delete
        // their keys, as a dead one could not.
        biased;
        () = api.ended.cancelled() => Err(Refusal::Stopped),
        left = api.door.write(request) => left.map(drop),
    };
    if let Err(error) = left {
        // The lease ends it instead.
        tracing::debug!(%error, "the key of a caller who went away stays");
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc::error::TryRecvError;
    use tokio_util::sync::CancellationToken;
    use tokio_util::task::TaskTracker;

    use super::*;
    use crate::server::grpc::testing::Behind;

    #[tokio::test]
    async fn a_member_that_is_killed_gives_up_no_key() {
        let mut behind = Behind::new();
        let (killed, tasks) = (CancellationToken::new(), TaskTracker::new());
        let api = Api::new(behind.door.clone(), &killed, &tasks);
        // Often, as an order that is left to chance would be right now and then.
        let places: Vec<_> = (1..=64).map(|n| Place::new(&api, &Key::from(&*format!("a/{n}")), Revision(n))).collect();
        killed.cancel();
        drop(places);
        let asking = api.clone();
        let asked = to_its_end(&api, async move { asking.barrier().await }).await;
        assert!(asked.is_err());
        tasks.close();
        tasks.wait().await;
        assert_eq!(behind.calls.try_recv().map(|call| call.ask).unwrap_err(), TryRecvError::Empty);
    }
}
