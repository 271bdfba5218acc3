//! Who is in the cluster, and how that changes (§6).
//!
//! Changes of the voters go by joint consensus, which noraft ends by itself; learners come and
//! go without. A new configuration counts from the moment it is in the log. What is refused,
//! and why, is etcd's (`server/etcdserver/server.go`, `mayAddMember` and its neighbours).

use std::collections::BTreeSet;
use std::sync::Arc;

use noraft::ClusterConfig;

use super::log::Body;
use super::message::Matter;
use super::message::Message;
use super::node::Node;
use super::pending::{Pending, Stage, Want};
use super::world::World;
use super::{Change, Machine, Outcome, Refusal, RequestId, convert};
use crate::domain::RaftIndex;
use crate::domain::raft::NodeId;

/// How much of the leader's log a learner must have to be promoted, in percent (etcd's
/// `readyPercent`).
const READY: u64 = 90;

/// How many learners there may be (etcd's `--experimental-max-learners`).
const LEARNERS: usize = 1;

/// Who is in the cluster and who was, as of an entry.
#[derive(Clone, Debug, Default)]
pub(super) struct Membership {
    pub(super) config: ClusterConfig,
    /// Those that were removed; their numbers are not given again.
    pub(super) removed: BTreeSet<NodeId>,
}

impl Membership {
    /// A configuration is committed. Handed back is who is in it no more.
    fn change(&mut self, config: ClusterConfig) -> Vec<NodeId> {
        let left = self.config.unique_nodes().filter(|id| !config.contains(*id)).map(convert::from_raft);
        let left: Vec<_> = left.collect();
        self.removed.extend(&left);
        self.config = config;
        left
    }

    pub(super) fn remove(&mut self, id: NodeId) {
        self.removed.insert(id);
    }
}

impl<M: Machine> Node<M> {
    /// The leader appends the configuration that a change leads to.
    pub(super) fn change_members(
        &mut self,
        request: RequestId,
        change: Change,
        world: &mut World<M>,
    ) -> Result<(), Refusal> {
        let config = self.consider(change, world)?;
        let index = self.raft.propose_config(config).index;
        debug_assert_ne!(index.get(), 0, "what noraft asks for was looked at before");
        self.append_own(convert::index(index), Arc::new(Body::Members(Some(request))), world);
        self.observe(world);
        Ok(())
    }

    /// What a change leads to, or why it may not be.
    fn consider(&self, change: Change, world: &World<M>) -> Result<ClusterConfig, Refusal> {
        let config = self.raft.config();
        let id = change.node();
        let raft_id = convert::to_raft(id);
        self.knows(change)?;
        if config.is_joint_consensus() || self.is_config_open() {
            return Err(Refusal::Busy);
        }
        let mut learners = config.clone();
        match change {
            Change::AddLearner(_) => {
                if config.non_voters.len() >= LEARNERS {
                    return Err(Refusal::TooManyLearners);
                }
                learners.non_voters.insert(raft_id);
                Ok(learners)
            }
            Change::AddVoter(_) => {
                let all_answer = convert::voters(config).all(|voter| self.is_reached(voter, world));
                if all_answer { Ok(config.to_joint_consensus(&[raft_id], &[])) } else { Err(Refusal::Unhealthy) }
            }
            Change::Promote(_) => {
                let has = self.lead.as_ref().map_or(RaftIndex(0), |lead| lead.matched(id));
                let is_ready = has.0 * 100 >= self.log.last().0 * READY && self.is_reached(id, world);
                if is_ready { Ok(config.to_joint_consensus(&[raft_id], &[])) } else { Err(Refusal::LearnerLags(id)) }
            }
            Change::Remove(_) if config.non_voters.contains(&raft_id) => {
                learners.non_voters.remove(&raft_id);
                Ok(learners)
            }
            Change::Remove(_) => {
                let left = config.voters.len() - 1;
                let reached = convert::voters(config).filter(|voter| self.is_reached(*voter, world));
                let left_reached = reached.filter(|voter| *voter != id).count();
                if left == 0 {
                    Err(Refusal::TooFewMembers)
                } else if self.is_reached(id, world) && left_reached * 2 <= left {
                    Err(Refusal::Unhealthy)
                } else {
                    Ok(config.to_joint_consensus(&[], &[raft_id]))
                }
            }
        }
    }

    /// Whether the node a change is about is what it must be.
    fn knows(&self, change: Change) -> Result<(), Refusal> {
        let config = self.raft.config();
        let id = change.node();
        let is_member = config.contains(convert::to_raft(id));
        match change {
            _ if self.membership.removed.contains(&id) => Err(Refusal::Removed(id)),
            Change::AddLearner(_) | Change::AddVoter(_) if is_member => Err(Refusal::Member(id)),
            Change::AddLearner(_) | Change::AddVoter(_) => Ok(()),
            Change::Promote(_) | Change::Remove(_) if !is_member => Err(Refusal::NoMember(id)),
            Change::Promote(_) if convert::votes(config, id) => Err(Refusal::NoLearner(id)),
            Change::Promote(_) | Change::Remove(_) => Ok(()),
        }
    }

    /// Whether the latest configuration in the log is not applied yet.
    fn is_config_open(&self) -> bool {
        self.raft.config() != &self.membership.config
    }

    fn is_reached(&self, id: NodeId, world: &World<M>) -> bool {
        let is_heard = |at| world.now.since(at) < world.rules.election_max;
        id == self.id || self.lead.as_ref().and_then(|lead| lead.heard(id)).is_some_and(is_heard)
    }

    /// A configuration is committed.
    pub(super) fn apply_members(&mut self, index: RaftIndex, request: Option<RequestId>, world: &mut World<M>) {
        let at = noraft::LogIndex::new(index.0);
        let Some((_, config)) = self.raft.log().get_position_and_config(at) else { return };
        let config = config.clone();
        let is_joint = config.is_joint_consensus();
        for gone in self.membership.change(config) {
            self.say_good_bye(gone, world);
        }
        if let Some(pending) = request.and_then(|request| self.pending.get_mut(&request)) {
            pending.stage = Stage::Joint;
        }
        if !is_joint {
            self.end_changes(world);
        }
    }

    /// The members are what they should be: those who asked for it are told.
    pub(super) fn end_changes(&mut self, world: &mut World<M>) {
        let is_done = |pending: &Pending<M>| {
            pending.stage == Stage::Joint && matches!(pending.want, Want::Matter(Matter::Change(_)))
        };
        let done = self.pending.iter().filter(|(_, pending)| is_done(pending)).map(|(request, _)| *request);
        for request in done.collect::<Vec<_>>() {
            self.answered(request, Outcome::Changed, world);
        }
    }

    /// A node that was removed asks for a vote: it hears why nobody listens to it, as etcd's
    /// members tell such a peer when it connects. Whether it was that; all else that it says,
    /// the last words of a leader that removed itself among it, is taken in as ever.
    pub(super) fn tell_removed(&mut self, from: NodeId, message: &Message<M>) -> bool {
        let (asked, pre_vote) = match message {
            Message::PreVote { term, .. } => (*term, true),
            Message::Raft { message: call @ noraft::Message::RequestVoteCall { .. }, .. } => {
                (convert::term(call.term()), false)
            }
            _ => return false,
        };
        self.outbox.letter(from, Message::Removed { asked, pre_vote });
        true
    }
}
