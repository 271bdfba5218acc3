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

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::super::{Change, Config};
    use super::*;
    use crate::domain::raft::{Fault, RaftRole};

    #[test]
    fn the_heir_leads_within_a_few_messages_and_its_followers_know() {
        let (mut cluster, leader) = led(Config::default());
        let heir = cluster.other(leader);
        let request = cluster.transfer(heir);
        let began = cluster.now();
        let outcome = cluster.wait(request, millis(500));
        assert!(matches!(outcome, Some(Outcome::Transferred)), "{}", words(outcome.as_ref()));
        assert!(cluster.now().since(began) < millis(10), "no timeout was waited for");
        assert_eq!(cluster.elected(), heir);
    }

    #[test]
    fn writes_that_come_meanwhile_wait_and_go_on() {
        let (mut cluster, leader) = led(Config::default());
        let heir = cluster.other(leader);
        cluster.transfer(heir);
        let writes: Vec<_> = cluster.nodes().into_iter().map(|id| cluster.propose(id, 7)).collect();
        cluster.run(millis(200));
        let done: Vec<_> = cluster.take_done().filter(|done| writes.contains(&done.request)).collect();
        assert_eq!(done.len(), 3);
        assert!(done.iter().all(|done| matches!(done.outcome, Outcome::Applied { .. })));
        assert_eq!(cluster.notes(heir), [7, 7, 7]);
    }

    #[test]
    fn an_heir_that_lags_catches_up_first() {
        let (mut cluster, leader) = led(Config::default());
        let heir = cluster.other(leader);
        cluster.do_(Fault::Cut(leader, heir));
        for note in 0..5 {
            cluster.note(leader, note);
        }
        cluster.do_(Fault::Heal);
        let request = cluster.transfer(heir);
        let outcome = cluster.wait(request, millis(500));
        assert!(matches!(outcome, Some(Outcome::Transferred)), "{}", words(outcome.as_ref()));
        assert_eq!(cluster.notes(heir), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_transfer_to_a_node_that_is_away_is_given_up_and_the_leader_goes_on() {
        let (mut cluster, leader) = led(Config::default());
        let away = cluster.other(leader);
        cluster.do_(Fault::Kill(away));
        let request = cluster.transfer(away);
        let write = cluster.propose(leader, 1);
        let outcome = cluster.wait(request, millis(500));
        assert!(matches!(outcome, Some(Outcome::Failed(Failure::TransferAborted))), "{}", words(outcome.as_ref()));
        let outcome = cluster.wait(write, millis(100));
        assert!(matches!(outcome, Some(Outcome::Applied { .. })), "{}", words(outcome.as_ref()));
        assert_eq!(cluster.node(leader).unwrap().role(), RaftRole::Leader);
    }

    #[test]
    fn only_voters_can_be_heirs() {
        let (mut cluster, leader) = led(Config::default());
        cluster.add_node(N4).unwrap();
        let change = cluster.change(leader, Change::AddLearner(N4));
        assert!(matches!(cluster.wait(change, millis(500)), Some(Outcome::Changed)));
        for to in [N4, NodeId(9)] {
            let request = cluster.transfer(to);
            let outcome = cluster.outcome(request);
            assert!(matches!(outcome, Some(Outcome::Refused(Refusal::CannotLead(id))) if id == to));
        }
        let request = cluster.transfer(leader);
        assert!(matches!(cluster.outcome(request), Some(Outcome::Transferred)), "it leads already");
    }
}
