//! The header of every answer: who answers, at which revision, in which term.

use etcd_client::proto::PbResponseHeader;

use crate::domain::Revision;
use crate::server::door::Door;

/// The header of an answer about the store at `revision`.
pub(super) fn at(door: &Door, revision: Revision) -> PbResponseHeader {
    PbResponseHeader { revision: revision.0, ..without_revision(door) }
}

/// The header of an answer that has no revision of its own: the store's as it is now.
pub(super) fn now(door: &Door) -> PbResponseHeader {
    at(door, door.store().revision())
}

/// The header of an answer that says nothing about the store; etcd's Cluster service has these.
pub(super) fn without_revision(door: &Door) -> PbResponseHeader {
    PbResponseHeader {
        cluster_id: door.cluster.0,
        member_id: door.member.0,
        revision: 0,
        raft_term: door.board.borrow().term.0,
    }
}

/// The header of an answer inside a transaction's: etcd fills in nothing but the revision.
pub(super) fn inner(revision: Revision) -> PbResponseHeader {
    PbResponseHeader { revision: revision.0, ..PbResponseHeader::default() }
}
