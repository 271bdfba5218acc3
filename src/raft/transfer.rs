//! Handing the lead over (Ongaro's thesis §3.10).
//!
//! The leader takes no more requests, waits until the heir has its whole log, and tells it to
//! stand for election at once. Nobody is loyal to a leader that wishes to go. If the heir does
//! not lead after an election timeout, the leader goes on.

use super::message::Message;
use super::node::Node;
use super::timer::Alarm;
use super::world::World;
use super::{Failure, Machine, Outcome, Refusal, RequestId, convert};
use crate::domain::Term;
use crate::domain::raft::NodeId;

/// A handover that goes on.
pub(super) struct Handover {
    pub(super) request: RequestId,
    to: NodeId,
    /// When it is given up.
    pub(super) patience: Alarm,
}

impl<M: Machine> Node<M> {
    /// The leader is asked to hand over.
    pub(super) fn hand_over(&mut self, request: RequestId, to: NodeId, world: &mut World<M>) {
        self.dirty = true;
        if to == self.id {
            world.finish(request, self.id, Outcome::Transferred);
        } else if !convert::votes(self.raft.config(), to) {
            world.finish(request, self.id, Outcome::Refused(Refusal::CannotLead(to)));
        } else {
            self.abort_handover(world);
            let patience = world.alarm(world.rules.election_max);
            self.handover = Some(Handover { request, to, patience });
            // The heir's answer tells how far its log goes.
            self.raft.heartbeat();
        }
    }

    /// A follower has answered: if it is the heir and has the whole log, its time has come.
    pub(super) fn call_heir(&mut self, from: NodeId) {
        let is_heir = self.handover.as_ref().is_some_and(|handover| handover.to == from);
        let has_all = self.lead.as_ref().is_some_and(|lead| lead.matched(from) == self.log.last());
        if is_heir && has_all {
            self.outbox.letter(from, Message::TimeoutNow { term: self.term() });
        }
    }

    /// The leader of this term wishes that this node stands for election.
    pub(super) fn timeout_now(&mut self, term: Term, world: &mut World<M>) {
        if term == self.term() && self.raft.role().is_follower() && self.has_vote() {
            self.forced = Some(Term(term.0 + 1));
            self.raft.handle_election_timeout();
            self.observe(world);
        }
    }

    /// Another leads: the heir, as was wished, or somebody who was faster.
    pub(super) fn end_handover(&mut self, leader: NodeId, world: &mut World<M>) {
        if let Some(Handover { request, to, .. }) = self.handover.take() {
            let outcome = if leader == to { Outcome::Transferred } else { Outcome::Failed(Failure::TransferAborted) };
            world.finish(request, self.id, outcome);
        }
    }

    /// It has taken too long, or another handover was asked for.
    pub(super) fn abort_handover(&mut self, world: &mut World<M>) {
        if let Some(Handover { request, .. }) = self.handover.take() {
            world.finish(request, self.id, Outcome::Failed(Failure::TransferAborted));
            self.pass_on_what_waits(world);
        }
    }
}
