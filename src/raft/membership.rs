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
        if world.dismissed.contains(&id) && matches!(change, Change::AddLearner(_) | Change::AddVoter(_)) {
            return Err(Refusal::Removed(id));
        }
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
            Change::Promote(_) | Change::Remove(_) if !is_member => Err(Refusal::NoMember(id)),
            Change::Promote(_) if convert::votes(config, id) => Err(Refusal::NoLearner(id)),
            _ => Ok(()),
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::Config;
    use super::super::testing::*;
    use super::*;
    use crate::domain::raft::{Fault, Life, RaftRole};

    fn change(cluster: &mut Cluster, at: NodeId, change: Change) -> String {
        let request = cluster.change(at, change);
        let outcome = cluster.wait(request, millis(2000));
        words(outcome.as_ref())
    }

    /// A cluster with a learner that has caught up.
    fn with_learner() -> (Cluster, NodeId) {
        let (mut cluster, leader) = led(Config::default());
        cluster.note(leader, 1);
        cluster.add_node(N4).unwrap();
        assert_eq!(change(&mut cluster, leader, Change::AddLearner(N4)), "changed");
        cluster.run(millis(200));
        (cluster, leader)
    }

    #[test]
    fn a_learner_gets_the_log_and_has_no_vote() {
        let (mut cluster, leader) = with_learner();
        assert_eq!(cluster.notes(N4), [1]);
        assert!(cluster.node(N4).unwrap().is_learner());
        assert_eq!(cluster.nodes[&N4].timer, None);
        // Two of three voters are away; that a learner is there does not help.
        for id in cluster.nodes().into_iter().filter(|id| ![leader, N4].contains(id)) {
            cluster.do_(Fault::Kill(id));
        }
        let write = cluster.propose(leader, 2);
        assert_eq!(words(cluster.wait(write, millis(300)).as_ref()), "nothing yet");
        cluster.run(millis(2000));
        assert_eq!(cluster.leader(), None);
        assert_eq!(cluster.node(N4).unwrap().role(), RaftRole::Follower);
    }

    #[test]
    fn a_promoted_learner_can_lead() {
        let (mut cluster, leader) = with_learner();
        let at = cluster.other(leader);
        assert_eq!(change(&mut cluster, at, Change::Promote(N4)), "changed");
        assert_eq!(cluster.node(at).unwrap().members().voters, [N1, N2, N3, N4].into());
        let request = cluster.transfer(N4);
        assert_eq!(words(cluster.wait(request, millis(500)).as_ref()), "transferred");
        assert_eq!(cluster.elected(), N4);
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_reason() {
        let (mut cluster, leader) = with_learner();
        let at = cluster.other(leader);
        let ten = NodeId(10);
        for (asked, why) in [
            (Change::AddVoter(N1), "n1 is a member already"),
            (Change::AddLearner(N4), "n4 is a member already"),
            (Change::AddLearner(ten), "there is a learner already"),
            (Change::Promote(N1), "n1 is no learner"),
            (Change::Promote(ten), "n10 is no member"),
            (Change::Remove(ten), "n10 is no member"),
        ] {
            assert_eq!(change(&mut cluster, at, asked), format!("refused: {why}"), "{asked}");
        }
    }

    #[test]
    fn a_learner_that_lags_or_is_away_is_not_promoted() {
        let (mut cluster, leader) = with_learner();
        cluster.do_(Fault::Kill(N4));
        for note in 0..30 {
            cluster.note(leader, note);
        }
        let refused = "refused: the learner n4 lags too far behind the leader";
        assert_eq!(change(&mut cluster, leader, Change::Promote(N4)), refused);
        cluster.do_(Fault::Start(N4));
        cluster.run(millis(200));
        assert_eq!(change(&mut cluster, leader, Change::Promote(N4)), "changed");
    }

    #[test]
    fn only_one_change_goes_on_at_a_time() {
        let (mut cluster, leader) = led(Config { delay: millis(10), ..Config::default() });
        cluster.add_node(N4).unwrap();
        let first = cluster.change(leader, Change::AddVoter(N4));
        let other = cluster.other(leader);
        let second = change(&mut cluster, leader, Change::Remove(other));
        assert_eq!(second, "refused: another change of the membership goes on");
        cluster.run(millis(200));
        assert!(!cluster.nodes[&leader].pending.contains_key(&first));
        assert_eq!(cluster.node(leader).unwrap().members().voters.len(), 4);
    }

    #[test]
    fn a_removed_node_stops_and_its_number_is_not_given_again() {
        let (mut cluster, leader) = led(Config::default());
        let gone = cluster.other(leader);
        assert_eq!(change(&mut cluster, leader, Change::Remove(gone)), "changed");
        cluster.run(millis(20));
        assert!(cluster.node(gone).is_none());
        assert!(!cluster.nodes().contains(&gone));
        assert!(cluster.picture().nodes.iter().all(|node| node.id != gone));
        assert_eq!(cluster.fault(&Fault::Start(gone)), Err(super::super::FaultError::NoNode(gone)));
        assert!(cluster.add_node(gone).is_err());
        let refused = format!("refused: {gone} was removed, and its number is not given again");
        assert_eq!(change(&mut cluster, leader, Change::AddVoter(gone)), refused);
    }

    #[test]
    fn one_that_was_away_when_it_was_removed_is_told_when_it_asks_for_votes() {
        for pre_vote in [true, false] {
            let (mut cluster, leader) = led(Config::default());
            cluster.do_(Fault::PreVote(pre_vote));
            let gone = cluster.other(leader);
            cluster.do_(Fault::Kill(gone));
            cluster.run(millis(600));
            assert_eq!(change(&mut cluster, leader, Change::Remove(gone)), "changed");
            cluster.do_(Fault::Start(gone));
            assert_eq!(cluster.node(gone).unwrap().life(), Life::Up);
            cluster.run(millis(1000));
            assert!(cluster.node(gone).is_none());
            assert_eq!(cluster.leader(), Some(leader), "and deposes nobody");
        }
    }

    #[test]
    fn a_leader_that_removes_itself_hands_over() {
        let (mut cluster, leader) = led(Config::default());
        let at = cluster.other(leader);
        let request = cluster.change(at, Change::Remove(leader));
        let began = cluster.now();
        assert_eq!(words(cluster.wait(request, millis(1000)).as_ref()), "changed");
        assert!(cluster.now().since(began) < Duration::from_millis(50), "no timeout was waited for");
        let next = cluster.elected();
        assert_ne!(next, leader);
        assert_eq!(cluster.nodes().len(), 2);
        cluster.note(next, 1);
    }

    #[test]
    fn a_change_that_would_cost_the_quorum_is_refused_and_one_that_mends_it_is_not() {
        let (mut cluster, leader) = led(Config::default());
        let (dead, alive) = {
            let mut others = cluster.nodes().into_iter().filter(|id| *id != leader);
            (others.next().unwrap(), others.next().unwrap())
        };
        cluster.do_(Fault::Kill(dead));
        cluster.run(millis(600));
        cluster.add_node(N4).unwrap();
        let unhealthy = "refused: with the nodes that can be reached now the cluster would lose its quorum";
        assert_eq!(change(&mut cluster, leader, Change::Remove(alive)), unhealthy);
        assert_eq!(change(&mut cluster, leader, Change::AddVoter(N4)), unhealthy);
        assert_eq!(change(&mut cluster, leader, Change::Remove(dead)), "changed");
        assert_eq!(change(&mut cluster, leader, Change::AddVoter(N4)), "changed");
    }

    #[test]
    fn one_node_becomes_two_and_the_last_one_stays() {
        let (mut cluster, leader) = led(Config { nodes: 1, ..Config::default() });
        assert_eq!(change(&mut cluster, leader, Change::Remove(leader)), "refused: too few members would be left");
        cluster.note(leader, 1);
        cluster.add_node(N2).unwrap();
        assert_eq!(change(&mut cluster, leader, Change::AddVoter(N2)), "changed");
        cluster.run(millis(100));
        assert_eq!(cluster.notes(N2), [1]);
        assert_eq!(change(&mut cluster, N2, Change::Remove(N2)), "changed");
        assert_eq!(cluster.nodes(), [leader]);
    }
}
