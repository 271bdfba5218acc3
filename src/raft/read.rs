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
use crate::domain::raft::{NodeId, Waypoint};

/// After how long a read or a question without an answer is asked again (etcd's
/// `readIndexRetryTime`): a message may have been lost.
pub(super) const RETRY: Duration = Duration::from_millis(500);

/// A read, or a question, that came to the leader.
pub(super) struct Asked<M: Machine> {
    pub(super) request: RequestId,
    pub(super) from: NodeId,
    /// None for a read.
    pub(super) question: Option<M::Question>,
}

/// One that waits for a majority to answer a call.
pub(super) struct Confirming<M: Machine> {
    asked: Asked<M>,
    /// What was committed when the call was sent.
    index: RaftIndex,
    round: u64,
}

impl<M: Machine> Node<M> {
    /// A follower asks for reads. Who does not lead stays silent: the follower asks again.
    pub(super) fn reads_asked(&mut self, from: NodeId, requests: Vec<RequestId>) {
        if let Some(lead) = &mut self.lead {
            lead.asked.extend(requests.into_iter().map(|request| Asked { request, from, question: None }));
        }
    }

    /// A call goes out: whoever asked before is confirmed by the answers to it. A leader that
    /// has committed nothing in its term does not know yet what is committed (§8).
    pub(super) fn begin_to_confirm(&mut self, round: u64) {
        let index = self.commit();
        let Some(lead) = self.lead.as_mut().filter(|lead| lead.ready) else { return };
        let asked = std::mem::take(&mut lead.asked);
        lead.confirming.extend(asked.into_iter().map(|asked| Confirming { asked, index, round }));
    }

    /// Confirms what a majority has answered; a leader that is alone needs nobody.
    pub(super) fn confirm_what_can_be(&mut self, world: &mut World<M>) {
        if self.raft.peers().next().is_none() {
            self.begin_to_confirm(0);
        }
        loop {
            let Some(lead) = &mut self.lead else { return };
            let Some(round) = lead.confirming.front().map(|first| first.round) else { return };
            let own = self.id;
            if !convert::is_majority(self.raft.config(), |id| id == own || lead.has_answered(id, round)) {
                return;
            }
            let Some(Confirming { asked, index, .. }) = lead.confirming.pop_front() else { return };
            self.answer(asked, index, world);
        }
    }

    fn answer(&mut self, asked: Asked<M>, index: RaftIndex, world: &mut World<M>) {
        let Asked { request, from, question } = asked;
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
