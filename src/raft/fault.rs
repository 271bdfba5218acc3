//! What can be done to a cluster, done.

use thiserror::Error;

use super::Machine;
use super::cluster::Cluster;
use super::node::Node;
use super::timer::Purpose;
use super::world::World;
use crate::domain::raft::fault::LONGEST_DELAY;
use crate::domain::raft::{Fault, Life, NodeId};

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
    #[error("{0} is paused or killed: it does not run")]
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
    /// Messages do not take that long.
    #[error("messages take {LONGEST_DELAY:?} at most")]
    Delay,
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

impl<M: Machine> Cluster<M> {
    /// Does something to the cluster. Faults of the clock are the driver's to do.
    pub fn fault(&mut self, fault: &Fault) -> Result<(), FaultError> {
        match *fault {
            Fault::Kill(id) => {
                let (node, world) = self.at(id)?;
                node.kill(world)?;
            }
            Fault::Start(id) => {
                self.at(id)?;
                let machine = (self.make)(id);
                let (node, world) = self.at(id)?;
                node.start(machine, world)?;
            }
            Fault::Pause(id) => {
                let (node, world) = self.at(id)?;
                node.pause(world)?;
            }
            Fault::Resume(id) => {
                let (node, world) = self.at(id)?;
                node.resume(world)?;
            }
            Fault::Isolate(id) => {
                self.at(id)?.1.network.isolate(id);
            }
            Fault::Cut(a, b) if a == b => return Err(FaultError::SameNode(a)),
            Fault::Cut(a, b) => {
                self.at(b)?;
                self.at(a)?.1.network.cut(a, b);
            }
            Fault::Delay(delay) if delay > LONGEST_DELAY => return Err(FaultError::Delay),
            Fault::Delay(delay) => self.world.network.set_delay(delay),
            Fault::Loss(loss) if loss > 1000 => return Err(FaultError::Loss(loss)),
            Fault::Loss(loss) => self.world.network.set_loss(loss),
            Fault::Heal => self.world.network.heal(&self.world.config),
            Fault::Campaign(id) => self.campaign(id)?,
            Fault::Transfer(id) => {
                self.can_lead(id)?;
                self.leader().ok_or(FaultError::NoLeader)?;
                self.transfer(id);
            }
            Fault::PreVote(on) => self.world.rules.pre_vote = on,
            Fault::CheckQuorum(on) => self.world.rules.check_quorum = on,
            Fault::Speed(_) | Fault::Freeze | Fault::Thaw | Fault::Step => return Err(FaultError::Clock),
        }
        Ok(())
    }

    fn at(&mut self, id: NodeId) -> Result<(&mut Node<M>, &mut World<M>), FaultError> {
        let node = self.nodes.get_mut(&id).ok_or(FaultError::NoNode(id))?;
        Ok((node, &mut self.world))
    }

    /// Whether a node runs, has a vote, and does not lead already.
    fn can_lead(&mut self, id: NodeId) -> Result<(), FaultError> {
        let (node, _) = self.at(id)?;
        if node.life != Life::Up {
            Err(FaultError::NotUp(id))
        } else if node.lead.is_some() {
            Err(FaultError::Leads(id))
        } else if !node.has_vote() {
            Err(FaultError::NoVote(id))
        } else {
            Ok(())
        }
    }

    fn campaign(&mut self, id: NodeId) -> Result<(), FaultError> {
        self.can_lead(id)?;
        let (node, world) = self.at(id)?;
        node.wake(Purpose::Raft, world);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::super::{Change, Config, Outcome};
    use super::*;

    #[test]
    fn what_cannot_be_done_is_said_and_changes_nothing() {
        let (mut cluster, leader) = led(Config::default());
        let other = cluster.other(leader);
        let nine = NodeId(9);
        let before = cluster.picture();
        for (fault, why) in [
            (Fault::Kill(nine), FaultError::NoNode(nine)),
            (Fault::Isolate(nine), FaultError::NoNode(nine)),
            (Fault::Cut(leader, nine), FaultError::NoNode(nine)),
            (Fault::Cut(nine, leader), FaultError::NoNode(nine)),
            (Fault::Cut(leader, leader), FaultError::SameNode(leader)),
            (Fault::Start(other), FaultError::NotDown(other)),
            (Fault::Resume(other), FaultError::NotPaused(other)),
            (Fault::Campaign(leader), FaultError::Leads(leader)),
            (Fault::Transfer(leader), FaultError::Leads(leader)),
            (Fault::Loss(1001), FaultError::Loss(1001)),
            (Fault::Delay(LONGEST_DELAY + millis(1)), FaultError::Delay),
            (Fault::Delay(std::time::Duration::MAX), FaultError::Delay),
            (Fault::Freeze, FaultError::Clock),
            (Fault::Step, FaultError::Clock),
        ] {
            assert_eq!(cluster.fault(&fault), Err(why), "{fault:?}");
        }
        assert_eq!(cluster.picture(), before);
    }

    #[test]
    fn a_node_that_is_not_up_is_neither_killed_twice_nor_paused_nor_made_to_lead() {
        let (mut cluster, leader) = led(Config::default());
        let id = cluster.other(leader);
        cluster.do_(Fault::Pause(id));
        for fault in [Fault::Pause(id), Fault::Campaign(id), Fault::Transfer(id)] {
            assert_eq!(cluster.fault(&fault), Err(FaultError::NotUp(id)), "{fault:?}");
        }
        cluster.do_(Fault::Kill(id));
        for fault in [Fault::Kill(id), Fault::Pause(id), Fault::Campaign(id)] {
            assert_eq!(cluster.fault(&fault), Err(FaultError::NotUp(id)), "{fault:?}");
        }
        assert_eq!(cluster.fault(&Fault::Resume(id)), Err(FaultError::NotPaused(id)));
        cluster.do_(Fault::Start(id));
    }

    #[test]
    fn learners_are_not_made_to_lead() {
        let (mut cluster, leader) = led(Config::default());
        cluster.add_node(N4).unwrap();
        let change = cluster.change(leader, Change::AddLearner(N4));
        assert!(matches!(cluster.wait(change, millis(500)), Some(Outcome::Changed)));
        for fault in [Fault::Campaign(N4), Fault::Transfer(N4)] {
            assert_eq!(cluster.fault(&fault), Err(FaultError::NoVote(N4)), "{fault:?}");
        }
    }

    #[test]
    fn the_lead_is_moved_on_demand_and_needs_a_leader() {
        let mut cluster = three();
        assert_eq!(cluster.fault(&Fault::Transfer(N1)), Err(FaultError::NoLeader));
        let leader = cluster.elected();
        let to = cluster.other(leader);
        cluster.do_(Fault::Transfer(to));
        cluster.run(millis(50));
        assert_eq!(cluster.leader(), Some(to));
    }
}
