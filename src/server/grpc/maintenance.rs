//! The Maintenance service: what the member says of itself, and what operators ask of it (etcd
//! `api/v3rpc/maintenance.go`).

use etcd_client::proto::{
    PbAlarmRequest, PbAlarmResponse, PbDefragmentRequest, PbDefragmentResponse, PbDowngradeRequest,
    PbDowngradeResponse, PbHashKvRequest, PbHashKvResponse, PbHashRequest, PbHashResponse, PbMaintenanceService,
    PbMoveLeaderRequest, PbMoveLeaderResponse, PbSnapshotRequest, PbSnapshotResponse, PbStatusRequest,
    PbStatusResponse,
};
use futures::stream::Empty;
use tonic::{Request, Response, Status};

use super::{Api, VERSION, header, status};
use crate::domain::{MemberId, Revision};
use crate::embedded::Refusal;

#[tonic::async_trait]
impl PbMaintenanceService for Api {
    async fn alarm(&self, request: Request<PbAlarmRequest>) -> Result<Response<PbAlarmResponse>, Status> {
        self.admit(&request)?;
        // Nothing raises an alarm here: no file that could grow full or be corrupt. To raise or
        // to lower one changes nothing.
        Ok(Response::new(PbAlarmResponse { header: Some(header::now(&self.door)), alarms: Vec::new() }))
    }

    async fn status(&self, request: Request<PbStatusRequest>) -> Result<Response<PbStatusResponse>, Status> {
        self.admit_to_learner(&request)?;
        let board = self.door.board();
        let (size, in_use) = {
            let store = self.door.store();
            (store.size(), store.size_in_use())
        };
        let errors = if board.leader.is_none() { vec![Refusal::NoLeader.to_string()] } else { Vec::new() };
        Ok(Response::new(PbStatusResponse {
            header: Some(header::now(&self.door)),
            version: VERSION.to_owned(),
            db_size: size.cast_signed(),
            leader: board.leader.map_or(0, |leader| leader.0),
            raft_index: board.commit.0,
            raft_term: board.term.0,
            raft_applied_index: board.applied.0,
            errors,
            db_size_in_use: in_use.cast_signed(),
            is_learner: board.learner,
            ..PbStatusResponse::default()
        }))
    }

    async fn defragment(
        &self,
        request: Request<PbDefragmentRequest>,
    ) -> Result<Response<PbDefragmentResponse>, Status> {
        self.admit(&request)?;
        tracing::info!(member = %self.door.member, "asked to defragment: there is no file, nothing was done");
        Ok(Response::new(PbDefragmentResponse::default()))
    }

    async fn hash(&self, request: Request<PbHashRequest>) -> Result<Response<PbHashResponse>, Status> {
        self.admit(&request)?;
        let (hash, revision) = {
            let store = self.door.store();
            (store.hash(), store.revision())
        };
        Ok(Response::new(PbHashResponse { header: Some(header::at(&self.door, revision)), hash }))
    }

    async fn hash_kv(&self, request: Request<PbHashKvRequest>) -> Result<Response<PbHashKvResponse>, Status> {
        self.admit(&request)?;
        let asked = Revision(request.into_inner().revision);
        let (hash, compacted, revision) = {
            let store = self.door.store();
            (store.hash_at(asked).map_err(status::store)?, store.compacted(), store.revision())
        };
        let hashed = if asked.0 > 0 { asked } else { revision };
        Ok(Response::new(PbHashKvResponse {
            header: Some(header::at(&self.door, revision)),
            hash,
            compact_revision: compacted.0,
            hash_revision: hashed.0,
        }))
    }

    type SnapshotStream = Empty<Result<PbSnapshotResponse, Status>>;

    async fn snapshot(&self, _: Request<PbSnapshotRequest>) -> Result<Response<Self::SnapshotStream>, Status> {
        Err(status::missing("the embedded cluster has no database file that a snapshot could be of"))
    }

    async fn move_leader(
        &self,
        request: Request<PbMoveLeaderRequest>,
    ) -> Result<Response<PbMoveLeaderResponse>, Status> {
        self.admit(&request)?;
        if self.door.board.borrow().leader != Some(self.door.member) {
            return Err(status::refusal(Refusal::NotLeader));
        }
        let target = MemberId(request.into_inner().target_id);
        self.door.transfer(target).await.map_err(status::refusal)?;
        Ok(Response::new(PbMoveLeaderResponse::default()))
    }

    async fn downgrade(&self, _: Request<PbDowngradeRequest>) -> Result<Response<PbDowngradeResponse>, Status> {
        Err(status::missing("the embedded cluster has one version, and none to go back to"))
    }
}
