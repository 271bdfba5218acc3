//! A node as others may see it.

use std::collections::BTreeSet;

use super::node::Node;
use super::{Machine, RequestId, convert};
use crate::domain::raft::{Life, NodeId, RaftRole};
use crate::domain::{RaftIndex, Term};

/// A node as others may see it.
pub struct NodeView<'a, M: Machine> {
    node: &'a Node<M>,
}

/// Who is in the cluster (§6).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members {
    /// Those with a vote; while they change, the old ones.
    pub voters: BTreeSet<NodeId>,
    /// While they change, the new ones; else empty.
    pub incoming: BTreeSet<NodeId>,
    /// Those that get the log and have no vote.
    pub learners: BTreeSet<NodeId>,
}

impl From<&noraft::ClusterConfig> for Members {
    fn from(config: &noraft::ClusterConfig) -> Self {
        let ids = |ids: &BTreeSet<noraft::NodeId>| ids.iter().copied().map(convert::from_raft).collect();
        Self { voters: ids(&config.voters), incoming: ids(&config.new_voters), learners: ids(&config.non_voters) }
    }
}

impl<'a, M: Machine> NodeView<'a, M> {
    pub(super) const fn of(node: &'a Node<M>) -> Self {
        Self { node }
    }

    /// Its machine; when it is down, as it was last.
    pub const fn machine(&self) -> &'a M {
        &self.node.machine
    }

    /// Whether it runs.
    pub const fn life(&self) -> Life {
        self.node.life
    }

    /// Its role; when it is down, what it was last.
    pub fn role(&self) -> RaftRole {
        self.node.role()
    }

    /// Whether it is a member without a vote.
    pub fn is_learner(&self) -> bool {
        self.node.raft.config().non_voters.contains(&convert::to_raft(self.node.id))
    }

    /// Its current term.
    pub fn term(&self) -> Term {
        self.node.term()
    }

    /// Whom it takes for the leader.
    pub const fn leader(&self) -> Option<NodeId> {
        self.node.leader
    }

    /// The last index of its log.
    pub fn last(&self) -> RaftIndex {
        self.node.log.last()
    }

    /// The last index that is only in its snapshot; 0 without one.
    pub const fn snapshot(&self) -> RaftIndex {
        self.node.log.before()
    }

    /// The last index it knows to be committed.
    pub fn commit(&self) -> RaftIndex {
        self.node.commit()
    }

    /// The last index its machine has taken in.
    pub const fn applied(&self) -> RaftIndex {
        self.node.applied
    }

    /// An entry in its log: its term, and the request it came from if it came from one.
    pub fn entry(&self, index: RaftIndex) -> Option<(Term, Option<RequestId>)> {
        self.node.log.get(index).map(|entry| (entry.term, entry.body.request()))
    }

    /// The members by the latest entry in its log, committed or not (§6).
    pub fn members(&self) -> Members {
        self.node.raft.config().into()
    }
}
