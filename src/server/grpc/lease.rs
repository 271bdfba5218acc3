//! The Lease service (etcd `api/v3rpc/lease.go`). That a lease exists is agreed on; how long it
//! lives only the leader knows, and is asked.

use std::sync::atomic::Ordering;

use etcd_client::proto::{
    PbLeaseGrantRequest, PbLeaseGrantResponse, PbLeaseKeepAliveRequest, PbLeaseKeepAliveResponse, PbLeaseLeasesRequest,
    PbLeaseLeasesResponse, PbLeaseRevokeRequest, PbLeaseRevokeResponse, PbLeaseService, PbLeaseStatus,
    PbLeaseTimeToLiveRequest, PbLeaseTimeToLiveResponse,
};
use futures::stream::{self, BoxStream, StreamExt};
use tonic::{Request, Response, Status, Streaming};

use super::{Api, header, mismatch, status, wants_leader};
use crate::chance::mix;
use crate::domain::LeaseId;
use crate::embedded::{LeaseQuestion, Refusal};
use crate::mvcc;

#[tonic::async_trait]
impl PbLeaseService for Api {
    async fn lease_grant(
        &self,
        request: Request<PbLeaseGrantRequest>,
    ) -> Result<Response<PbLeaseGrantResponse>, Status> {
        self.admit(&request)?;
        let PbLeaseGrantRequest { ttl, id } = request.into_inner();
        let lease = if id == 0 { self.choose_lease() } else { LeaseId(id) };
        let mvcc::Response::Grant(done) = self.write(mvcc::Request::Grant { lease, ttl }, 0).await? else {
            return Err(mismatch());
        };
        Ok(Response::new(PbLeaseGrantResponse {
            header: Some(header::at(&self.door, done.revision)),
            id: done.lease.0,
            ttl: done.ttl,
            error: String::new(),
        }))
    }

    async fn lease_revoke(
        &self,
        request: Request<PbLeaseRevokeRequest>,
    ) -> Result<Response<PbLeaseRevokeResponse>, Status> {
        self.admit(&request)?;
        let lease = LeaseId(request.into_inner().id);
        let mvcc::Response::Revoke(done) = self.write(mvcc::Request::Revoke { lease }, 0).await? else {
            return Err(mismatch());
        };
        Ok(Response::new(PbLeaseRevokeResponse { header: Some(header::at(&self.door, done.revision)) }))
    }

    type LeaseKeepAliveStream = BoxStream<'static, Result<PbLeaseKeepAliveResponse, Status>>;

    async fn lease_keep_alive(
        &self,
        request: Request<Streaming<PbLeaseKeepAliveRequest>>,
    ) -> Result<Response<Self::LeaseKeepAliveStream>, Status> {
        self.admit(&request)?;
        let wants_leader = wants_leader(request.metadata());
        let start = Some((self.clone(), request.into_inner()));
        let answers = stream::unfold(start, move |state| async move {
            let (api, mut requests) = state?;
            match api.keep_alive(&mut requests, wants_leader).await {
                Ok(Some(answer)) => Some((Ok(answer), Some((api, requests)))),
                Ok(None) => None,
                Err(status) => Some((Err(status), None)),
            }
        });
        Ok(Response::new(answers.boxed()))
    }

    async fn lease_time_to_live(
        &self,
        request: Request<PbLeaseTimeToLiveRequest>,
    ) -> Result<Response<PbLeaseTimeToLiveResponse>, Status> {
        self.admit(&request)?;
        let PbLeaseTimeToLiveRequest { id, keys } = request.into_inner();
        let lease = LeaseId(id);
        let answer = self.door.lease(LeaseQuestion::TimeToLive(lease)).await.map_err(status::refusal)?;
        let keys = if keys && answer.remaining >= 0 {
            // The leader, which was asked, has every key that was put; this member may lag.
            self.barrier().await?;
            self.keys_of(lease)
        } else {
            Vec::new()
        };
        Ok(Response::new(PbLeaseTimeToLiveResponse {
            header: Some(header::now(&self.door)),
            id,
            ttl: answer.remaining,
            granted_ttl: answer.granted,
            keys,
        }))
    }

    async fn lease_leases(
        &self,
        request: Request<PbLeaseLeasesRequest>,
    ) -> Result<Response<PbLeaseLeasesResponse>, Status> {
        self.admit(&request)?;
        let leases = self.door.store().leases().map(|(lease, _)| PbLeaseStatus { id: lease.0 }).collect();
        Ok(Response::new(PbLeaseLeasesResponse { header: Some(header::now(&self.door)), leases }))
    }
}

impl Api {
    /// Answers the next request of a keep-alive stream; none when the client has no more.
    async fn keep_alive(
        &self,
        requests: &mut Streaming<PbLeaseKeepAliveRequest>,
        wants_leader: bool,
    ) -> Result<Option<PbLeaseKeepAliveResponse>, Status> {
        let request = tokio::select! {
            // The end first: a member that is killed renews nothing.
            biased;
            () = self.ended.cancelled() => return Err(status::refusal(Refusal::Stopped)),
            () = self.bells.leaderless(), if wants_leader => return Err(status::refusal(Refusal::NoLeader)),
            request = requests.message() => request?,
        };
        let Some(PbLeaseKeepAliveRequest { id }) = request else { return Ok(None) };
        // Taken before, so that the revision is not later than the renewal.
        let header = header::now(&self.door);
        let answer = self.door.lease(LeaseQuestion::Renew(LeaseId(id))).await.map_err(status::refusal)?;
        // A lease that is not there has a TTL of 0 here, and the stream goes on.
        Ok(Some(PbLeaseKeepAliveResponse { header: Some(header), id, ttl: answer.granted }))
    }

    fn keys_of(&self, lease: LeaseId) -> Vec<Vec<u8>> {
        let store = self.door.store();
        store.lease(lease).map(|info| info.keys.iter().map(|key| key.to_vec()).collect()).unwrap_or_default()
    }

    /// An id for a lease whose caller leaves the choice: positive, as etcd's are, and without a
    /// pattern. It follows from the member, how far it is and how many it chose in all of its
    /// runs: a cluster's run that is repeated chooses the same.
    pub(super) fn choose_lease(&self) -> LeaseId {
        let applied = self.door.board.borrow().applied.0;
        loop {
            let chosen = self.door.leases_chosen.fetch_add(1, Ordering::Relaxed);
            let mixed = mix(mix(mix(self.door.member.0) ^ applied) ^ chosen);
            let lease = LeaseId((mixed >> 1).cast_signed());
            if !lease.is_none() && self.door.store().lease(lease).is_none() {
                return lease;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use tokio_util::sync::CancellationToken;
    use tokio_util::task::TaskTracker;

    use super::*;
    use crate::server::grpc::testing::Behind;

    #[tokio::test]
    async fn a_member_that_is_started_again_chooses_other_leases_than_before() {
        let behind = Behind::new();
        let mut chosen = BTreeSet::new();
        for _ in 0..3 {
            // Nothing is granted, so that the store cannot tell which of them are taken.
            let api = Api::new(behind.door.clone(), &CancellationToken::new(), &TaskTracker::new());
            chosen.extend((0..10).map(|_| api.choose_lease()));
        }
        assert_eq!(chosen.len(), 30);
    }
}
