//! One node: what it keeps, what it knows, and the timers that wake it.
//!
//! What a node does is told in the files of its rules: `election`, `replication`, `read`,
//! `membership`, `stranded`, `snapshot`, `transfer`, `pending`, `apply`, `lifecycle`. All of it knows other
//! nodes by their messages only. Consensus itself, who may vote for whom and what is committed,
//! is noraft's; when a node asks for votes, when it gives up the lead, and all that is not in
//! the first part of the paper is decided here.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use noraft::Role;

use super::election::Ballot;
use super::lead::Lead;
use super::log::Log;
use super::membership::Membership;
use super::message::{Message, Passed};
use super::outbox::Outbox;
use super::pending::Pending;
use super::snapshot::Image;
use super::timer::{Alarm, Purpose};
use super::transfer::Handover;
use super::world::World;
use super::{Machine, RequestId, convert};
use crate::chance::Chance;
use crate::domain::raft::{ClusterTime, Life, NodeId};
use crate::domain::{RaftIndex, Term};

/// A node.
pub(super) struct Node<M: Machine> {
    pub(super) id: NodeId,
    pub(super) life: Life,
    /// It learnt that it was removed, and will not run again; the cluster lets go of it.
    pub(super) gone: bool,

    /// Term, vote and log, which outlive a kill, and what noraft knows beside these.
    pub(super) raft: noraft::Node,
    /// The log once more, with what the entries carry.
    pub(super) log: Log<M::Command>,
    /// The latest snapshot (§7).
    pub(super) image: Option<Arc<Image<M>>>,
    /// The vote it cast last. noraft puts the leader in its place once it knows it.
    pub(super) vote: Option<(Term, NodeId)>,

    pub(super) machine: M,
    pub(super) applied: RaftIndex,
    /// Who was in the cluster as of what is applied.
    pub(super) membership: Membership,

    /// Role and term when noraft was looked at last.
    pub(super) seen: (Role, Term),
    pub(super) leader: Option<NodeId>,
    /// How often it learnt of another leader.
    pub(super) reigns: u64,
    /// When it heard of the leader last.
    pub(super) heard: ClusterTime,
    /// The number of the leader's latest call.
    pub(super) echo: u64,
    pub(super) ballot: Option<Ballot>,
    /// The term in which it stands because the leader wished so.
    pub(super) forced: Option<Term>,
    pub(super) lead: Option<Lead<M>>,
    pub(super) handover: Option<Handover>,
    /// Requests of others that wait for the end of a handover or for the lead to be sure.
    pub(super) held: Vec<(NodeId, Passed<M>)>,
    /// Requests that came to this node and are not done.
    pub(super) pending: BTreeMap<RequestId, Pending<M>>,
    /// Reads that wait until so much is applied.
    pub(super) barriers: BTreeSet<(RaftIndex, RequestId)>,
    /// Up to where the entries' ways are written down as committed.
    pub(super) traced: RaftIndex,
    pub(super) timer: Option<Alarm>,
    pub(super) retry: Option<Alarm>,
    pub(super) outbox: Outbox<M>,
    /// Whether there may be something to apply or to send.
    pub(super) dirty: bool,
    /// While it is paused: since when, and what has come meanwhile.
    pub(super) paused: Option<ClusterTime>,
    pub(super) inbox: VecDeque<(NodeId, Message<M>)>,
    pub(super) chance: Chance,
}

impl<M: Machine> Node<M> {
    pub(super) fn new(id: NodeId, raft: noraft::Node, log: Log<M::Command>, machine: M, seed: u64) -> Self {
        Self {
            id,
            life: Life::Up,
            gone: false,
            seen: (raft.role(), convert::term(raft.current_term())),
            raft,
            log,
            image: None,
            vote: None,
            machine,
            applied: RaftIndex(0),
            membership: Membership::default(),
            leader: None,
            reigns: 0,
            heard: ClusterTime::default(),
            echo: 0,
            ballot: None,
            forced: None,
            lead: None,
            handover: None,
            held: Vec::new(),
            pending: BTreeMap::new(),
            barriers: BTreeSet::new(),
            traced: RaftIndex(0),
            timer: None,
            retry: None,
            outbox: Outbox::default(),
            dirty: true,
            paused: None,
            inbox: VecDeque::new(),
            chance: Chance::new(seed, id.0),
        }
    }

    pub(super) fn term(&self) -> Term {
        convert::term(self.raft.current_term())
    }

    /// The last index it knows to be committed. What is applied was; noraft forgets that when it
    /// is set up anew, as after a step down.
    pub(super) fn commit(&self) -> RaftIndex {
        convert::index(self.raft.commit_index()).max(self.applied)
    }

    pub(super) fn has_vote(&self) -> bool {
        convert::votes(self.raft.config(), self.id)
    }

    /// Takes in a message.
    pub(super) fn receive(&mut self, from: NodeId, message: Message<M>, world: &mut World<M>) {
        self.dirty = true;
        if self.membership.removed.contains(&from) && self.tell_removed(from, &message) {
            return;
        }
        match message {
            Message::Raft { message, entries, round, forced, committed } => match message {
                noraft::Message::RequestVoteCall { .. } => self.vote_asked(from, &message, forced, world),
                noraft::Message::RequestVoteReply { term, vote_granted, .. } => {
                    self.count_vote(from, convert::term(term), vote_granted);
                    self.hear(&message, world);
                }
                noraft::Message::AppendEntriesCall { .. } => self.append_asked(from, &message, entries, round, world),
                noraft::Message::AppendEntriesReply { .. } => {
                    self.append_answered(from, &message, round, committed, world);
                }
            },
            Message::PreVote { term, last } => self.pre_vote_asked(from, term, last, world),
            Message::PreVoteReply { asked, term, granted } => {
                self.pre_vote_answered(from, asked, term, granted, world);
            }
            Message::Removed { .. } => self.membership.remove(self.id),
            Message::Snapshot { term, round, image } => self.snapshot_sent(from, term, round, &image, world),
            Message::TimeoutNow { term } => self.timeout_now(term, world),
            Message::Forward(passed) => self.forwarded(from, passed, world),
            Message::ForwardReply(said) => self.forward_answered(said, world),
            Message::ReadIndex(requests) => self.reads_asked(from, requests, world.now),
            Message::ReadIndexReply(confirmed) => {
                for (request, index) in confirmed {
                    self.confirmed(request, index, world);
                }
            }
        }
    }

    /// Whether a configuration waits for it while it is paused.
    pub(super) fn carries_members(&self) -> bool {
        self.inbox.iter().any(|(_, message)| message.carries_members())
    }

    /// Hands a message to noraft and looks at what it makes of it.
    pub(super) fn hear(&mut self, message: &noraft::Message, world: &mut World<M>) {
        let heard = self.raft.handle_message(message);
        debug_assert!(heard.is_ok(), "{}: a snapshot of what was not committed", self.id);
        self.observe(world);
    }

    /// The timer that goes off next, what it is for, and by what it is ordered.
    pub(super) fn next_alarm(&self) -> Option<((ClusterTime, u64), Purpose)> {
        if self.life != Life::Up {
            return None;
        }
        let of = |alarm: Option<Alarm>, purpose| alarm.map(|alarm| (alarm.key(), purpose));
        [
            of(self.timer, Purpose::Raft),
            of(self.lead.as_ref().map(|lead| lead.quorum), Purpose::Quorum),
            self.next_due().map(|due| ((due, u64::MAX), Purpose::Machine)),
            of(self.retry, Purpose::Retry),
            self.pending.first_key_value().map(|(_, first)| (first.patience.key(), Purpose::Patience)),
            of(self.handover.as_ref().map(|handover| handover.patience), Purpose::Handover),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// A timer has gone off.
    pub(super) fn wake(&mut self, purpose: Purpose, world: &mut World<M>) {
        self.dirty = true;
        match purpose {
            Purpose::Raft => self.timed_out(world),
            Purpose::Quorum => self.check_quorum(world),
            Purpose::Machine => self.propose_what_is_due(world),
            Purpose::Retry => self.ask_again(world),
            Purpose::Patience => self.give_up_the_oldest(world),
            Purpose::Handover => self.abort_handover(world),
        }
    }

    /// Applies what is committed and sends what is to be sent. Done when all that is due at one
    /// instant was taken in, so that one message carries what came together.
    pub(super) fn flush(&mut self, world: &mut World<M>) {
        self.dirty = false;
        if self.life != Life::Up {
            return;
        }
        self.apply(world);
        self.lead_on(world);
        self.carry_out(world);
        self.outbox.post(self.id, world);
        if self.membership.removed.contains(&self.id) {
            self.stop(world);
        }
    }
}
