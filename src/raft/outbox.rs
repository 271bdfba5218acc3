//! What a node has to send at the end of an instant, beside what noraft sends.

use std::collections::{BTreeMap, BTreeSet};

use super::message::{Matter, Message, Passed, Said};
use super::world::World;
use super::{Machine, RequestId};
use crate::domain::RaftIndex;
use crate::domain::raft::NodeId;

/// Letters, and what is put together into one letter for each receiver.
pub(super) struct Outbox<M: Machine> {
    letters: Vec<(NodeId, Message<M>)>,
    forwards: BTreeMap<NodeId, Vec<Passed<M>>>,
    replies: BTreeMap<NodeId, Vec<(RequestId, Said<M>)>>,
    reads: BTreeMap<NodeId, Vec<RequestId>>,
    read_replies: BTreeMap<NodeId, Vec<(RequestId, RaftIndex)>>,
}

impl<M: Machine> Default for Outbox<M> {
    fn default() -> Self {
        Self {
            letters: Vec::new(),
            forwards: BTreeMap::new(),
            replies: BTreeMap::new(),
            reads: BTreeMap::new(),
            read_replies: BTreeMap::new(),
        }
    }
}

impl<M: Machine> Outbox<M> {
    pub(super) fn letter(&mut self, to: NodeId, message: Message<M>) {
        self.letters.push((to, message));
    }

    pub(super) fn forward(&mut self, to: NodeId, passed: Passed<M>) {
        self.forwards.entry(to).or_default().push(passed);
    }

    pub(super) fn reply(&mut self, to: NodeId, request: RequestId, said: Said<M>) {
        self.replies.entry(to).or_default().push((request, said));
    }

    pub(super) fn read(&mut self, to: NodeId, request: RequestId) {
        self.reads.entry(to).or_default().push(request);
    }

    pub(super) fn read_reply(&mut self, to: NodeId, request: RequestId, index: RaftIndex) {
        self.read_replies.entry(to).or_default().push((request, index));
    }

    /// Does not send these requests, unless they change the members.
    pub(super) fn forget(&mut self, requests: &BTreeSet<RequestId>) {
        for reads in self.reads.values_mut() {
            reads.retain(|request| !requests.contains(request));
        }
        for forwards in self.forwards.values_mut() {
            forwards.retain(|passed| matches!(passed.matter, Matter::Change(_)) || !requests.contains(&passed.request));
        }
        self.reads.retain(|_, reads| !reads.is_empty());
        self.forwards.retain(|_, forwards| !forwards.is_empty());
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.forwards.is_empty() && self.reads.is_empty()
    }

    /// Sends it all.
    pub(super) fn post(&mut self, from: NodeId, world: &mut World<M>) {
        let Self { letters, forwards, replies, reads, read_replies } = std::mem::take(self);
        for (to, message) in letters {
            world.send(from, to, message);
        }
        for (to, passed) in forwards {
            world.send(from, to, Message::Forward(passed));
        }
        for (to, said) in replies {
            world.send(from, to, Message::ForwardReply(said));
        }
        for (to, requests) in reads {
            world.send(from, to, Message::ReadIndex(requests));
        }
        for (to, confirmed) in read_replies {
            world.send(from, to, Message::ReadIndexReply(confirmed));
        }
    }
}
