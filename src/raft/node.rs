//! One node.

use std::collections::BTreeSet;
use std::marker::PhantomData;

use super::Machine;
use crate::domain::raft::{Life, NodeId, RaftRole};
use crate::domain::{RaftIndex, Term};

/// A node as others may see it.
pub struct NodeView<'a, M: Machine> {
    machine: PhantomData<&'a M>,
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

#[expect(clippy::unused_self, reason = "the interface comes first")]
impl<'a, M: Machine> NodeView<'a, M> {
    /// Its machine; when it is down, as it was last.
    pub fn machine(&self) -> &'a M {
        unreachable!()
    }
    /// Whether it runs.
    pub fn life(&self) -> Life {
        Life::Up
    }
    /// Its role.
    pub fn role(&self) -> RaftRole {
        RaftRole::Follower
    }
    /// Whether it has no vote.
    pub fn is_learner(&self) -> bool {
        false
    }
    /// Its current term.
    pub fn term(&self) -> Term {
        Term(0)
    }
    /// Whom it takes for the leader.
    pub fn leader(&self) -> Option<NodeId> {
        None
    }
    /// The last index of its log.
    pub fn last(&self) -> RaftIndex {
        RaftIndex(0)
    }
    /// The last index it knows to be committed.
    pub fn commit(&self) -> RaftIndex {
        RaftIndex(0)
    }
    /// The last index its machine has taken in.
    pub fn applied(&self) -> RaftIndex {
        RaftIndex(0)
    }
    /// The members by the latest entry in its log, committed or not (§6).
    pub fn members(&self) -> Members {
        Members::default()
    }
}
