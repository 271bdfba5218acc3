//! Kill and start, pause and resume.
//!
//! Term, vote, log and snapshot outlive a kill, as if each change of them had been written to a
//! disk at once. All else is gone: a node that starts again applies its log anew from its
//! latest snapshot on, as far as a leader tells it that it is committed.

use noraft::Node as Raft;

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
        if self.life != Life::Killed || self.gone {
            return Err(if self.gone { FaultError::NoNode(self.id) } else { FaultError::NotDown(self.id) });
        }
        let (term, vote, log) = (self.raft.current_term(), self.raft.voted_for(), self.raft.log().clone());
        self.raft = Raft::restart(convert::to_raft(self.id), term, vote, log);
        self.seen = (self.raft.role(), self.term());
        self.machine = machine;
        (self.applied, self.traced) = (RaftIndex(0), RaftIndex(0));
        self.membership = super::membership::Membership::default();
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
    pub(super) fn deliver(&mut self, from: NodeId, message: super::message::Message<M>, world: &mut World<M>) {
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
