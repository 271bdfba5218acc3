//! The cluster as one machine.

use super::{Change, Config, Done, FaultError, Machine, NodeView, RequestId};
use crate::domain::raft::{ClusterTime, Fault, NodeId, RaftPicture};
use crate::domain::{RaftIndex, Revision};

/// A whole cluster: its nodes, the network between them, and its clock.
pub struct Cluster<M: Machine> {
    done: Vec<Done<M>>,
}

#[expect(unused_variables, clippy::unused_self, clippy::needless_pass_by_value, reason = "the interface comes first")]
impl<M: Machine> Cluster<M> {
    /// A cluster whose nodes are all up, at time zero and without a leader. `make` gives the
    /// empty machine of a node.
    pub fn new(config: Config, make: impl Fn(NodeId) -> M + Send + 'static) -> Self {
        Self { done: Vec::new() }
    }

    /// The time on the cluster's clock.
    pub fn now(&self) -> ClusterTime {
        ClusterTime::default()
    }

    /// When the next thing happens, if nothing is done to the cluster: now, when a call left
    /// something to be sent.
    pub fn next_event(&self) -> Option<ClusterTime> {
        None
    }

    /// Lets all happen that is due until then, and sets the clock.
    pub fn advance(&mut self, to: ClusterTime) {}

    /// Lets exactly the next thing happen and sets the clock to it. False when nothing ever
    /// will.
    pub fn step(&mut self) -> bool {
        false
    }

    /// Proposes a command at a node, which passes it on to the leader. Answered when the machine of
    /// that node has taken it in. While no leader is known it waits.
    pub fn propose(&mut self, at: NodeId, command: M::Command) -> RequestId {
        RequestId(0)
    }

    /// Asks for a linearizable read at a node (§8): answered when its machine may be read.
    pub fn read(&mut self, at: NodeId) -> RequestId {
        RequestId(0)
    }

    /// Asks the leader's machine, through a node.
    pub fn ask(&mut self, at: NodeId, question: M::Question) -> RequestId {
        RequestId(0)
    }

    /// Changes the membership, through a node.
    pub fn change(&mut self, at: NodeId, change: Change) -> RequestId {
        RequestId(0)
    }

    /// Asks the leader to hand the lead over (thesis §3.10).
    pub fn transfer(&mut self, to: NodeId) -> RequestId {
        RequestId(0)
    }

    /// Starts an empty node that knows of no other until a leader speaks to it. To be called
    /// before [`Change::AddLearner`] or [`Change::AddVoter`].
    pub fn add_node(&mut self, id: NodeId) -> Result<(), FaultError> {
        Ok(())
    }

    /// Does something to the cluster. Faults of the clock are the driver's.
    pub fn fault(&mut self, fault: &Fault) -> Result<(), FaultError> {
        Ok(())
    }

    /// The requests that came to their end since the last call, in the order in which they did.
    pub fn take_done(&mut self) -> impl Iterator<Item = Done<M>> + use<M> {
        std::mem::take(&mut self.done).into_iter()
    }

    /// Tells what a request was about, for its trace; for a read or a question, which has no
    /// words of its own.
    pub fn entitle(&mut self, request: RequestId, what: String) {}

    /// The node that was asked told watches what the request changed.
    pub fn told(&mut self, request: RequestId, watches: u32) {}

    /// A node told watches what the request that led to this revision changed.
    pub fn told_at(&mut self, node: NodeId, revision: Revision, watches: u32) {}

    /// The client of a request has its answer.
    pub fn answered(&mut self, request: RequestId, ok: bool) {}

    /// The cluster as it is now. Speed, pause and the members' ids are left to the driver.
    pub fn picture(&self) -> RaftPicture {
        RaftPicture::default()
    }

    /// The ids of all nodes that were not removed, in order.
    pub fn nodes(&self) -> Vec<NodeId> {
        Vec::new()
    }

    /// A node, also one that is down. None when there never was one, or it was removed.
    pub fn node(&self, id: NodeId) -> Option<NodeView<'_, M>> {
        None
    }

    /// A node's machine, for what is volatile in it, such as changes that watches wait for.
    /// What is replicated changes by commands only.
    pub fn machine_mut(&mut self, id: NodeId) -> Option<&mut M> {
        None
    }

    /// The last entry a node's machine has taken in.
    pub fn applied(&self, id: NodeId) -> Option<RaftIndex> {
        None
    }

    /// The leader of the highest term that runs, as one who sees all nodes sees it.
    pub fn leader(&self) -> Option<NodeId> {
        None
    }
}
