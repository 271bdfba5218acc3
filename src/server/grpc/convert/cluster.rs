//! Members to the wire.

use etcd_client::proto::PbMember;

use crate::domain::Member;

/// The members of a cluster.
pub(in crate::server::grpc) fn members(members: &[Member]) -> Vec<PbMember> {
    members.iter().map(member).collect()
}

/// One member.
pub(in crate::server::grpc) fn member(member: &Member) -> PbMember {
    PbMember {
        id: member.id.0,
        name: member.name.clone(),
        peer_ur_ls: member.peer_urls.clone(),
        client_ur_ls: member.client_urls.clone(),
        is_learner: member.learner,
    }
}
