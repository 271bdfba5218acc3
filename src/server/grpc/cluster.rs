//! The Cluster service: who is a member, and changes of that (etcd `api/v3rpc/member.go`).

use std::sync::Arc;

use etcd_client::proto::{
    PbClusterService, PbMemberAddRequest, PbMemberAddResponse, PbMemberListRequest, PbMemberListResponse,
    PbMemberPromoteRequest, PbMemberPromoteResponse, PbMemberRemoveRequest, PbMemberRemoveResponse,
    PbMemberUpdateRequest, PbMemberUpdateResponse,
};
use tonic::codegen::http::Uri;
use tonic::{Request, Response, Status};

use super::{Api, convert, header, mismatch, status};
use crate::domain::{Member, MemberId};
use crate::embedded::Change;

#[tonic::async_trait]
impl PbClusterService for Api {
    async fn member_add(&self, request: Request<PbMemberAddRequest>) -> Result<Response<PbMemberAddResponse>, Status> {
        self.admit(&request)?;
        let PbMemberAddRequest { peer_ur_ls: peer_urls, is_learner: learner } = request.into_inner();
        if peer_urls.is_empty() || !peer_urls.iter().all(|url| is_peer_url(url)) {
            return Err(status::bad_urls());
        }
        let before = Arc::clone(&self.door.board.borrow().members);
        let members = self.change(Change::Add { peer_urls: peer_urls.clone(), learner }).await?;
        // The added one is told by its URLs, which no other has. It starts by itself, so that it
        // may have others by now; then by what it was not before.
        let is_new = |member: &&Member| !before.iter().any(|old| old.id == member.id);
        let added = members
            .iter()
            .find(|member| member.peer_urls == peer_urls)
            .or_else(|| members.iter().find(is_new))
            .ok_or_else(mismatch)?;
        Ok(Response::new(PbMemberAddResponse {
            header: Some(header::without_revision(&self.door)),
            member: Some(convert::cluster::member(added)),
            members: convert::cluster::members(&members),
        }))
    }

    async fn member_remove(
        &self,
        request: Request<PbMemberRemoveRequest>,
    ) -> Result<Response<PbMemberRemoveResponse>, Status> {
        self.admit(&request)?;
        let members = self.change(Change::Remove(MemberId(request.into_inner().id))).await?;
        Ok(Response::new(PbMemberRemoveResponse {
            header: Some(header::without_revision(&self.door)),
            members: convert::cluster::members(&members),
        }))
    }

    async fn member_update(
        &self,
        request: Request<PbMemberUpdateRequest>,
    ) -> Result<Response<PbMemberUpdateResponse>, Status> {
        self.admit(&request)?;
        Err(status::missing("members of the embedded cluster have no peer URLs that could change"))
    }

    async fn member_list(
        &self,
        request: Request<PbMemberListRequest>,
    ) -> Result<Response<PbMemberListResponse>, Status> {
        self.admit(&request)?;
        if request.into_inner().linearizable {
            self.barrier().await?;
        }
        let members = Arc::clone(&self.door.board.borrow().members);
        Ok(Response::new(PbMemberListResponse {
            header: Some(header::without_revision(&self.door)),
            members: convert::cluster::members(&members),
        }))
    }

    async fn member_promote(
        &self,
        request: Request<PbMemberPromoteRequest>,
    ) -> Result<Response<PbMemberPromoteResponse>, Status> {
        self.admit(&request)?;
        let members = self.change(Change::Promote(MemberId(request.into_inner().id))).await?;
        Ok(Response::new(PbMemberPromoteResponse {
            header: Some(header::without_revision(&self.door)),
            members: convert::cluster::members(&members),
        }))
    }
}

impl Api {
    async fn change(&self, change: Change) -> Result<Arc<[Member]>, Status> {
        self.door.change(change).await.map_err(status::refusal)
    }
}

/// Whether etcd takes this for a peer's URL: a scheme, a host, a port and no path (its
/// `client/pkg/types/urls.go`, `NewURLs`).
fn is_peer_url(url: &str) -> bool {
    let Ok(uri) = url.trim().parse::<Uri>() else { return false };
    let scheme = matches!(uri.scheme_str(), Some("http" | "https" | "unix" | "unixs"));
    scheme && uri.port().is_some() && matches!(uri.path(), "" | "/") && uri.query().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peer_urls_are_what_etcd_takes_for_them() {
        assert!(is_peer_url("http://127.0.0.1:2380"));
        for other in ["", "127.0.0.1:2380", "http://127.0.0.1", "ftp://h:1", "http://h:1/path", "http://h:1?q"] {
            assert!(!is_peer_url(other), "{other:?}");
        }
    }
}
