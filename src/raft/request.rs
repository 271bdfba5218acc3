//! Requests to a cluster, and what can become of them.

use std::fmt;

use thiserror::Error;

use super::Machine;
use crate::domain::raft::NodeId;
use crate::domain::{RaftIndex, Term};

/// A request's number; it grows in the order of the calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// A change of the membership (§6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Add a node that gets the log and has no vote.
    AddLearner(NodeId),
    /// Add a node with a vote. In a cluster of one it takes effect when the new node runs: see
    /// [`Cluster::add_node`](super::Cluster::add_node).
    AddVoter(NodeId),
    /// Give a learner a vote.
    Promote(NodeId),
    /// Take a node out. It stops, and its number is not given again.
    Remove(NodeId),
}

impl Change {
    /// The node it is about.
    pub const fn node(self) -> NodeId {
        match self {
            Self::AddLearner(node) | Self::AddVoter(node) | Self::Promote(node) | Self::Remove(node) => node,
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AddLearner(node) => write!(f, "add the learner {node}"),
            Self::AddVoter(node) => write!(f, "add the voter {node}"),
            Self::Promote(node) => write!(f, "promote {node}"),
            Self::Remove(node) => write!(f, "remove {node}"),
        }
    }
}

/// A request that came to its end. The node may not be there any more, if it learnt in the same
/// instant that it was removed.
pub struct Done<M: Machine> {
    /// Which.
    pub request: RequestId,
    /// The node that was asked.
    pub node: NodeId,
    /// How it ended.
    pub outcome: Outcome<M>,
}

/// How a request ended.
pub enum Outcome<M: Machine> {
    /// The command is committed, and the machine of the node that was asked has taken it in.
    Applied {
        /// What the machine said.
        answer: M::Answer,
        /// The entry's term.
        term: Term,
        /// The entry's place in the log.
        index: RaftIndex,
    },
    /// The machine of the node that was asked may be read now: it has taken in all that was
    /// committed when the read was asked for.
    Readable {
        /// What had to be applied for that.
        index: RaftIndex,
    },
    /// The leader answered.
    Answered(M::Reply),
    /// The membership has changed, as the node that was asked knows.
    Changed,
    /// The node that was to lead leads.
    Transferred,
    /// The request was refused and has no effect.
    Refused(Refusal),
    /// There is no answer. Unless it says otherwise, a command may still come into effect.
    Failed(Failure),
}

/// Why a request was refused. In brackets etcd's name for it (`server/etcdserver/errors`,
/// `membership/errors.go`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// `ErrIDNotFound`
    #[error("{0} is no member")]
    NoMember(NodeId),
    /// `ErrIDExists`
    #[error("{0} is a member already")]
    Member(NodeId),
    /// `ErrIDRemoved`
    #[error("{0} was removed, and its number is not given again")]
    Removed(NodeId),
    /// `ErrMemberNotLearner`
    #[error("{0} is no learner")]
    NoLearner(NodeId),
    /// `ErrLearnerNotReady`
    #[error("the learner {0} lags too far behind the leader")]
    LearnerLags(NodeId),
    /// `ErrTooManyLearners`
    #[error("there is a learner already")]
    TooManyLearners,
    /// `ErrNotEnoughStartedMembers`
    #[error("too few members would be left")]
    TooFewMembers,
    /// `ErrUnhealthy`
    #[error("with the nodes that can be reached now the cluster would lose its quorum")]
    Unhealthy,
    /// Another change is not committed yet.
    #[error("another change of the membership goes on")]
    Busy,
    /// `ErrBadLeaderTransferee`
    #[error("{0} cannot lead")]
    CannotLead(NodeId),
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Failure {
    /// No leader was known until it was too late; the request came to nobody and has no effect.
    #[error("no leader")]
    NoLeader,
    /// The leader did not answer in time.
    #[error("timed out")]
    Timeout,
    /// It did not answer in time, and the leader has changed meanwhile.
    #[error("timed out, and the leader has changed")]
    LeaderLost,
    /// The node that was asked is down or was killed.
    #[error("the node is down")]
    NodeDown,
    /// Who asked does not wait any more; see [`Cluster::withdraw`](super::Cluster::withdraw).
    #[error("who asked has gone away")]
    Abandoned,
    /// The node that was to lead did not within an election timeout (thesis §3.10).
    #[error("the transfer of the lead was given up")]
    TransferAborted,
}
