//! Faults.

use thiserror::Error;

use crate::domain::raft::NodeId;

/// Why a fault cannot be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum FaultError {
    /// There is no such node.
    #[error("there is no node {0}")]
    NoNode(NodeId),
    /// There is one with this number, or there was.
    #[error("there is or was a node {0} already")]
    NodeExists(NodeId),
    /// It is not up.
    #[error("{0} is not running")]
    NotUp(NodeId),
    /// It is not down.
    #[error("{0} is running already")]
    NotDown(NodeId),
    /// It is not paused.
    #[error("{0} is not paused")]
    NotPaused(NodeId),
    /// A node is not cut off from itself.
    #[error("{0} cannot be cut off from itself")]
    SameNode(NodeId),
    /// More than all messages cannot be lost.
    #[error("{0} of a thousand messages cannot be lost")]
    Loss(u16),
    /// It leads.
    #[error("{0} leads already")]
    Leads(NodeId),
    /// It has no vote and cannot lead.
    #[error("{0} has no vote")]
    NoVote(NodeId),
    /// Nobody leads.
    #[error("there is no leader")]
    NoLeader,
    /// The clock is the driver's.
    #[error("the clock is not the cluster's to set")]
    Clock,
}
