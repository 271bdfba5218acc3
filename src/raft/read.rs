//! Reads that are never stale, and questions to the leader (§8; Ongaro's thesis §6.4).
//!
//! ```text
//!   asked ──► the leader notes its commit index ──► a majority answers a call ──► confirmed
//!             once an entry of its own term is        that was sent after that
//!             committed
//! ```
//!
//! A leader that was replaced without knowing it finds no majority, so it confirms nothing. The
//! node that was asked may read as soon as it has applied up to the index that was noted.

use std::time::Duration;

use super::message::Said;
use super::node::Node;
use super::pending::Stage;
use super::world::World;
use super::{Machine, Outcome, RequestId, convert};
use crate::domain::RaftIndex;
use crate::domain::raft::{ClusterTime, NodeId, Waypoint};

/// After how long a read or a question without an answer is asked again (etcd's
/// `readIndexRetryTime`): a message may have been lost.
pub(super) const RETRY: Duration = Duration::from_millis(500);

/// A read, or a question, that came to the leader.
pub(super) struct Asked<M: Machine> {
    pub(super) request: RequestId,
    pub(super) from: NodeId,
    /// None for a read.
    pub(super) question: Option<M::Question>,
    /// When it came.
    pub(super) since: ClusterTime,
}

/// One that waits for a majority to answer a call.
pub(super) struct Confirming<M: Machine> {
    pub(super) asked: Asked<M>,
    /// What was committed when the call was sent.
    index: RaftIndex,
    round: u64,
}

impl<M: Machine> Node<M> {
    /// A follower asks for reads. Who does not lead stays silent: the follower asks again.
    pub(super) fn reads_asked(&mut self, from: NodeId, requests: Vec<RequestId>, now: ClusterTime) {
        if let Some(lead) = &mut self.lead {
            for request in requests {
                lead.ask(Asked { request, from, question: None, since: now });
            }
        }
    }

    /// A call goes out: whoever asked before is confirmed by the answers to it. A leader that
    /// has committed nothing in its term does not know yet what is committed (§8). One that
    /// finds no majority forgets those who wait no more.
    pub(super) fn begin_to_confirm(&mut self, round: u64, world: &World<M>) {
        let index = self.commit();
        if let Some(lead) = &mut self.lead {
            lead.forget(|asked| world.now.since(asked.since) > world.config.patience);
        }
        let Some(lead) = self.lead.as_mut().filter(|lead| lead.ready) else { return };
        let asked = std::mem::take(&mut lead.asked);
        lead.confirming.extend(asked.into_iter().map(|asked| Confirming { asked, index, round }));
    }

    /// Confirms what a majority has answered; a leader that is alone needs nobody.
    pub(super) fn confirm_what_can_be(&mut self, world: &mut World<M>) {
        if self.raft.peers().next().is_none() {
            self.begin_to_confirm(0, world);
        }
        loop {
            let Some(lead) = &mut self.lead else { return };
            let Some(round) = lead.confirming.front().map(|first| first.round) else { return };
            let own = self.id;
            if !convert::is_majority(self.raft.config(), |id| id == own || lead.has_answered(id, round)) {
                return;
            }
            let Some(Confirming { asked, index, .. }) = lead.next_confirmed() else { return };
            self.answer(asked, index, world);
        }
    }

    fn answer(&mut self, asked: Asked<M>, index: RaftIndex, world: &mut World<M>) {
        let Asked { request, from, question, .. } = asked;
        world.step(request, self.id, Waypoint::Confirmed);
        match question {
            None if from == self.id => self.confirmed(request, index, world),
            None => self.outbox.read_reply(from, request, index),
            Some(question) => {
                let reply = self.machine.answer(world.now, &question);
                if from == self.id {
                    self.answered(request, Outcome::Answered(reply), world);
                } else {
                    self.outbox.reply(from, request, Said::Reply(reply));
                }
            }
        }
    }

    /// The leader has confirmed a read: it waits until so much is applied here.
    pub(super) fn confirmed(&mut self, request: RequestId, index: RaftIndex, world: &mut World<M>) {
        let Some(pending) = self.pending.get_mut(&request) else { return };
        if matches!(pending.stage, Stage::Confirmed) {
            return;
        }
        pending.stage = Stage::Confirmed;
        world.step(request, self.id, Waypoint::Confirmed);
        self.barriers.insert((index, request));
        self.pass_barriers(world);
    }

    /// Reads whose index is applied may go on.
    pub(super) fn pass_barriers(&mut self, world: &mut World<M>) {
        while let Some((index, request)) = self.barriers.first().copied().filter(|(index, _)| *index <= self.applied) {
            self.barriers.pop_first();
            self.answered(request, Outcome::Readable { index }, world);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::super::{Config, Failure};
    use super::*;
    use crate::domain::raft::{Fault, RaftMessage, Rules};

    #[test]
    fn a_read_at_any_node_sees_the_write_before_it() {
        let (mut cluster, leader) = led(Config::default());
        for (count, at) in cluster.nodes().into_iter().enumerate() {
            cluster.note(leader, 1);
            let read = cluster.read(at);
            let outcome = cluster.wait(read, millis(100));
            assert!(matches!(outcome, Some(Outcome::Readable { .. })), "{at}: {}", words(outcome.as_ref()));
            assert_eq!(cluster.notes(at).len(), count + 1);
        }
    }

    #[test]
    fn a_leader_that_was_replaced_confirms_nothing() {
        let rules = Rules { check_quorum: false, ..Config::default().rules };
        let (mut cluster, leader) = led(Config { rules, ..Config::default() });
        cluster.do_(Fault::Isolate(leader));
        cluster.run(millis(2000));
        assert_ne!(cluster.leader(), Some(leader));
        let (read, question) = (cluster.read(leader), cluster.ask(leader, ()));
        cluster.run(millis(5900));
        assert_eq!(cluster.take_done().filter(|done| [read, question].contains(&done.request)).count(), 0);
        let outcome = cluster.wait(read, millis(200));
        assert!(matches!(outcome, Some(Outcome::Failed(Failure::Timeout))), "{}", words(outcome.as_ref()));
    }

    #[test]
    fn a_read_waits_for_a_call_that_was_sent_after_it() {
        let (mut cluster, leader) = led(Config { delay: millis(10), ..Config::default() });
        // A heartbeat is on its way; its answers come too early for the read.
        while !cluster.picture().flights.iter().any(|flight| matches!(flight.what, RaftMessage::Heartbeat { .. })) {
            assert!(cluster.step());
        }
        cluster.run(millis(9));
        let read = cluster.read(leader);
        cluster.run(millis(12));
        assert!(cluster.outcome(read).is_none());
        cluster.run(millis(9));
        assert!(matches!(cluster.outcome(read), Some(Outcome::Readable { .. })));
    }

    #[test]
    fn a_new_leader_commits_in_its_term_before_it_confirms() {
        let (mut cluster, leader) = led(Config { delay: millis(10), ..Config::default() });
        cluster.do_(Fault::Kill(leader));
        while cluster.leader().is_none() {
            assert!(cluster.step());
        }
        let next = cluster.leader().unwrap();
        // The first entry of its term is lost, so its heartbeat is answered before that is there.
        cluster.do_(Fault::Isolate(next));
        cluster.do_(Fault::Heal);
        let read = cluster.read(next);
        assert!(!cluster.nodes[&next].lead.as_ref().unwrap().ready);
        let outcome = cluster.wait(read, millis(200));
        let Some(Outcome::Readable { index }) = outcome else { panic!("{}", words(outcome.as_ref())) };
        let own = cluster.nodes[&next].lead.as_ref().unwrap().own.unwrap();
        assert!(index >= own, "{index} < {own}");
    }

    #[test]
    fn a_question_is_answered_by_the_leader_through_any_node() {
        let (mut cluster, leader) = led(Config::default());
        cluster.note(leader, 1);
        for at in cluster.nodes() {
            let question = cluster.ask(at, ());
            let outcome = cluster.wait(question, millis(100));
            assert!(matches!(outcome, Some(Outcome::Answered(1))), "{at}: {}", words(outcome.as_ref()));
        }
    }

    #[test]
    fn reads_and_questions_that_were_lost_are_asked_again() {
        let (mut cluster, leader) = led(Config::default());
        let at = cluster.other(leader);
        let asked = [cluster.read(at), cluster.ask(at, ())];
        cluster.do_(Fault::Loss(1000));
        cluster.run(millis(1));
        cluster.do_(Fault::Heal);
        cluster.run(millis(490));
        assert_eq!(cluster.take_done().filter(|done| asked.contains(&done.request)).count(), 0);
        cluster.run(millis(20));
        assert_eq!(cluster.take_done().filter(|done| asked.contains(&done.request)).count(), 2);
    }

    #[test]
    fn reads_go_to_the_next_leader_when_theirs_is_lost() {
        let (mut cluster, leader) = led(Config::default());
        let at = cluster.other(leader);
        cluster.do_(Fault::Kill(leader));
        let read = cluster.read(at);
        let outcome = cluster.wait(read, millis(3000));
        assert!(matches!(outcome, Some(Outcome::Readable { .. })), "{}", words(outcome.as_ref()));
    }

    #[test]
    fn one_node_alone_needs_no_messages() {
        let (mut cluster, leader) = led(Config { nodes: 1, ..Config::default() });
        cluster.note(leader, 1);
        let (read, question) = (cluster.read(leader), cluster.ask(leader, ()));
        let now = cluster.now();
        cluster.advance(now);
        let done: Vec<_> = cluster.take_done().map(|done| done.request).collect();
        assert_eq!(done, [read, question]);
    }

    #[test]
    fn a_leader_without_a_majority_keeps_each_read_once_and_forgets_it_in_time() {
        let rules = Rules { check_quorum: false, ..Config::default().rules };
        let (mut cluster, leader) = led(Config { rules, nodes: 5, ..Config::default() });
        let at = cluster.other(leader);
        for id in cluster.nodes().into_iter().filter(|id| ![leader, at].contains(id)) {
            cluster.do_(Fault::Kill(id));
        }
        cluster.read(at);
        cluster.ask(at, ());
        cluster.read(leader);
        let kept = |cluster: &Cluster| {
            let lead = cluster.nodes[&leader].lead.as_ref().unwrap();
            lead.asked.len() + lead.confirming.len()
        };
        cluster.run(millis(3000));
        assert_eq!(kept(&cluster), 3);
        cluster.run(millis(10_000));
        assert_eq!(kept(&cluster), 0);
    }
}
