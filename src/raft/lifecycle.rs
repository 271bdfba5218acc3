//! Kill and start, pause and resume.
//!
//! Term, vote, log and snapshot outlive a kill, as if each change of them had been written to a
//! disk at once. All else is gone: a node that starts again applies its log anew from its
//! latest snapshot on, as far as a leader tells it that it is committed.

use noraft::Node as Raft;

use super::membership::Membership;
use super::message::Message;
use super::node::Node;
use super::outbox::Outbox;
use super::world::World;
use super::{FaultError, Machine, convert};
use crate::domain::RaftIndex;
use crate::domain::raft::{Life, NodeId};

/// How many messages wait for a node that is paused, as in a socket's buffer. What comes then
/// is lost.
const BUFFER: usize = 1024;

impl<M: Machine> Node<M> {
    /// Ends it as a power cut does.
    pub(super) fn kill(&mut self, world: &mut World<M>) -> Result<(), FaultError> {
        if self.life == Life::Killed {
            return Err(FaultError::NotUp(self.id));
        }
        if let Some(lead) = self.lead.take() {
            world.terms.ended(world.now, self.term());
            if lead.ready {
                self.machine.follow();
            }
        }
        self.life = Life::Killed;
        self.fail_all(world);
        (self.leader, self.ballot, self.timer, self.paused) = (None, None, None, None);
        self.outbox = Outbox::default();
        self.inbox.clear();
        world.network.go_down(self.id);
        Ok(())
    }

    /// Starts it again from what it kept.
    pub(super) fn start(&mut self, machine: M, world: &mut World<M>) -> Result<(), FaultError> {
        if self.life != Life::Killed {
            return Err(FaultError::NotDown(self.id));
        }
        let (term, vote, log) = (self.raft.current_term(), self.raft.voted_for(), self.raft.log().clone());
        self.raft = Raft::restart(convert::to_raft(self.id), term, vote, log);
        self.seen = (self.raft.role(), self.term());
        self.machine = machine;
        (self.applied, self.traced) = (RaftIndex(0), RaftIndex(0));
        self.membership = Membership::default();
        if let Some(image) = self.image.clone() {
            self.restore(&image);
        }
        (self.echo, self.forced, self.heard) = (0, None, world.now);
        self.life = Life::Up;
        self.dirty = true;
        world.network.come_up(self.id);
        Ok(())
    }

    /// Stops it as SIGSTOP does.
    pub(super) fn pause(&mut self, world: &World<M>) -> Result<(), FaultError> {
        if self.life != Life::Up {
            return Err(FaultError::NotUp(self.id));
        }
        self.life = Life::Paused;
        self.paused = Some(world.now);
        Ok(())
    }

    /// Lets it go on: its timers stood still, and what was sent to it comes now.
    pub(super) fn resume(&mut self, world: &mut World<M>) -> Result<(), FaultError> {
        let Some(since) = self.paused.take() else { return Err(FaultError::NotPaused(self.id)) };
        let slept = world.now.since(since);
        self.life = Life::Up;
        self.dirty = true;
        self.heard = self.heard + slept;
        for alarm in [&mut self.timer, &mut self.retry] {
            *alarm = alarm.map(|alarm| alarm.later(slept));
        }
        if let Some(handover) = &mut self.handover {
            handover.patience = handover.patience.later(slept);
        }
        if let Some(lead) = &mut self.lead {
            lead.shift(slept);
        }
        for (from, message) in std::mem::take(&mut self.inbox) {
            self.receive(from, message, world);
        }
        self.pass_on_what_waits(world);
        Ok(())
    }

    /// A message has arrived.
    pub(super) fn deliver(&mut self, from: NodeId, message: Message<M>, world: &mut World<M>) {
        match self.life {
            Life::Up => self.receive(from, message, world),
            Life::Paused if self.inbox.len() < BUFFER => self.inbox.push_back((from, message)),
            Life::Paused | Life::Killed => {}
        }
    }

    /// It learnt that it was removed, and stops for good.
    pub(super) fn stop(&mut self, world: &mut World<M>) {
        let stopped = self.kill(world);
        debug_assert_eq!(stopped, Ok(()), "{} learnt something while it was down", self.id);
        self.gone = true;
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::super::{Config, Failure, Outcome};
    use super::*;
    use crate::domain::raft::{Fault, RaftRole};

    #[test]
    fn term_vote_and_log_outlive_a_kill_and_all_else_does_not() {
        let (mut cluster, leader) = led(Config::default());
        cluster.note(leader, 1);
        cluster.run(millis(20));
        let id = cluster.other(leader);
        let before = cluster.picture().nodes.into_iter().find(|node| node.id == id).unwrap();
        let vote = cluster.nodes[&id].raft.voted_for();
        cluster.do_(Fault::Kill(id));
        cluster.do_(Fault::Start(id));
        assert_eq!(cluster.nodes[&id].raft.voted_for(), vote);
        let after = cluster.picture().nodes.into_iter().find(|node| node.id == id).unwrap();
        assert_eq!((after.term, after.voted_for, after.last), (before.term, before.voted_for, before.last));
        assert_eq!(after.log, before.log);
        assert_eq!((after.leader, after.commit, after.applied), (None, RaftIndex(0), RaftIndex(0)));
        assert!(cluster.notes(id).is_empty());
        cluster.run(millis(200));
        assert_eq!(cluster.notes(id), [1]);
    }

    #[test]
    fn a_kill_drops_what_is_on_its_way_to_the_node_and_not_what_it_has_sent() {
        let (mut cluster, leader) = led(Config { delay: millis(20), ..Config::default() });
        let id = cluster.other(leader);
        cluster.propose(leader, 1);
        cluster.propose(id, 2);
        cluster.run(millis(5));
        cluster.do_(Fault::Kill(id));
        let flights = cluster.picture().flights;
        assert!(flights.iter().all(|flight| flight.to != id), "{flights:?}");
        assert!(flights.iter().any(|flight| flight.from == id && !flight.lost), "{flights:?}");
        cluster.propose(leader, 3);
        cluster.run(millis(5));
        let flights = cluster.picture().flights;
        assert!(flights.iter().any(|flight| flight.to == id && flight.lost), "what is sent to it now is lost");
        cluster.run(millis(200));
        assert_eq!(cluster.notes(leader), [1, 3, 2]);
    }

    #[test]
    fn a_paused_node_does_nothing_and_takes_up_where_it_was() {
        let (mut cluster, leader) = led(Config::default());
        let id = cluster.other(leader);
        cluster.do_(Fault::Pause(id));
        let at_pause = cluster.picture().nodes.into_iter().find(|node| node.id == id).unwrap();
        let left = at_pause.timer.unwrap().due.since(cluster.now());
        let asked = cluster.read(id);
        cluster.note(leader, 1);
        cluster.run(millis(3000));
        let asleep = cluster.picture().nodes.into_iter().find(|node| node.id == id).unwrap();
        assert_eq!((asleep.last, asleep.term), (at_pause.last, at_pause.term));
        assert_eq!(asleep.timer.unwrap().due.since(cluster.now()), left, "its timer stands still");
        assert!(cluster.outcome(asked).is_none());

        cluster.do_(Fault::Resume(id));
        cluster.run(millis(20));
        assert_eq!(cluster.notes(id), [1, OWN], "what was sent to it meanwhile has come");
        assert!(matches!(cluster.outcome(asked), Some(Outcome::Readable { .. })));
        assert_eq!(cluster.leader(), Some(leader));
    }

    #[test]
    fn a_paused_leader_is_replaced_and_follows_when_it_wakes() {
        let (mut cluster, leader) = led(Config::default());
        cluster.do_(Fault::Pause(leader));
        let next = cluster.elected();
        assert_ne!(next, leader);
        assert_eq!(cluster.node(leader).unwrap().role(), RaftRole::Leader, "it has heard of nothing");
        cluster.note(next, 1);
        cluster.do_(Fault::Resume(leader));
        let read = cluster.read(leader);
        let outcome = cluster.wait(read, millis(1000));
        assert!(matches!(outcome, Some(Outcome::Readable { .. })), "{}", words(outcome.as_ref()));
        assert!(cluster.notes(leader).contains(&1));
        assert_eq!(cluster.node(leader).unwrap().leader(), Some(next));
    }

    #[test]
    fn the_buffer_of_a_paused_node_has_an_end() {
        let (mut cluster, leader) = led(Config::default());
        let id = cluster.other(leader);
        cluster.do_(Fault::Pause(id));
        cluster.run(std::time::Duration::from_mins(2));
        assert_eq!(cluster.nodes[&id].inbox.len(), BUFFER);
        cluster.do_(Fault::Resume(id));
        cluster.run(millis(200));
        assert_eq!(cluster.leader(), Some(leader));
    }

    #[test]
    fn a_request_whose_time_is_over_fails_when_its_node_wakes() {
        let (mut cluster, leader) = led(Config::default());
        let id = cluster.other(leader);
        cluster.do_(Fault::Pause(id));
        let read = cluster.read(id);
        cluster.run(millis(7000));
        assert!(cluster.outcome(read).is_none());
        cluster.do_(Fault::Resume(id));
        cluster.run(millis(0));
        let outcome = cluster.outcome(read);
        assert!(
            matches!(outcome, Some(Outcome::Failed(Failure::NoLeader | Failure::Timeout))),
            "{}",
            words(outcome.as_ref())
        );
    }
}
