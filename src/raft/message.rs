//! What nodes say to each other.

use std::sync::Arc;

use noraft::LogPosition;

use super::log::{Body, Entry};
use super::snapshot::Image;
use super::{Change, Machine, Refusal, RequestId};
use crate::domain::raft::RaftMessage;
use crate::domain::{RaftIndex, Term};

/// A message from one node to another.
pub(super) enum Message<M: Machine> {
    /// What noraft says: votes and entries.
    Raft {
        message: noraft::Message,
        /// What the entries carry.
        entries: Vec<Entry<M::Command>>,
        /// A leader numbers its calls and the answer repeats the number, so that the leader
        /// knows what it was led by when (see `read`).
        round: u64,
        /// Whether the sender stands for election because the leader wished so (thesis §3.10).
        forced: bool,
        /// Up to where the sender knows its log to be committed. Every leader to come has that
        /// too (§5.4), so an answer need not be followed by a look behind it.
        committed: RaftIndex,
    },
    /// Whether the sender could win this term (thesis §9.6).
    PreVote { term: Term, last: LogPosition },
    /// The answer, with the sender's own term.
    PreVoteReply { asked: Term, term: Term, granted: bool },
    /// The receiver is no member any more; said to those that ask for votes.
    Removed { asked: Term, pre_vote: bool },
    /// The whole state, for a node that needs entries the leader has no more (§7).
    Snapshot { term: Term, round: u64, image: Arc<Image<M>> },
    /// The receiver should stand for election at once (thesis §3.10).
    TimeoutNow { term: Term },
    /// Requests for the leader.
    Forward(Vec<Passed<M>>),
    /// What the leader says to them; commands are answered by the log.
    ForwardReply(Vec<(RequestId, Said<M>)>),
    /// Whether the receiver leads (§8).
    ReadIndex(Vec<RequestId>),
    /// It did; what was committed by then.
    ReadIndexReply(Vec<(RequestId, RaftIndex)>),
}

impl<M: Machine> Message<M> {
    /// Whether it has a configuration for the receiver's log.
    pub(super) fn carries_members(&self) -> bool {
        matches!(self, Self::Raft { entries, .. } if entries.iter().any(|entry| entry.body.is_members()))
    }
}

/// A request that is passed on to the leader.
pub(super) struct Passed<M: Machine> {
    pub(super) request: RequestId,
    pub(super) matter: Matter<M>,
    /// How often it was passed on. One that took the wrong turn is put right once, so that two
    /// nodes that take each other for the leader do not play ball.
    pub(super) hops: u8,
}

/// What a request is about.
pub(super) enum Matter<M: Machine> {
    Propose(Arc<Body<M::Command>>),
    Ask(M::Question),
    Change(Change),
}

/// What a leader says to a request that was passed on.
pub(super) enum Said<M: Machine> {
    Reply(M::Reply),
    Refused(Refusal),
}

impl<M: Machine> Clone for Matter<M> {
    fn clone(&self) -> Self {
        match self {
            Self::Propose(body) => Self::Propose(Arc::clone(body)),
            Self::Ask(question) => Self::Ask(question.clone()),
            Self::Change(change) => Self::Change(*change),
        }
    }
}

impl<M: Machine> Message<M> {
    /// In short, for the picture.
    pub(super) fn picture(&self) -> RaftMessage {
        match self {
            Self::Raft { message, .. } => picture_of(message),
            Self::PreVote { term, .. } => RaftMessage::PreVote { term: *term },
            Self::PreVoteReply { asked, granted, .. } => RaftMessage::PreVoteReply { term: *asked, granted: *granted },
            Self::Removed { asked, pre_vote: true } => RaftMessage::PreVoteReply { term: *asked, granted: false },
            Self::Removed { asked, pre_vote: false } => RaftMessage::VoteReply { term: *asked, granted: false },
            Self::Snapshot { image, .. } => RaftMessage::Snapshot { last: image.index() },
            Self::TimeoutNow { term } => RaftMessage::TimeoutNow { term: *term },
            Self::Forward(_) => RaftMessage::Forward,
            Self::ForwardReply(_) => RaftMessage::ForwardReply,
            Self::ReadIndex(_) => RaftMessage::ReadIndex,
            Self::ReadIndexReply(_) => RaftMessage::ReadIndexReply,
        }
    }
}

fn picture_of(message: &noraft::Message) -> RaftMessage {
    let term = Term(message.term().get());
    match message {
        noraft::Message::RequestVoteCall { .. } => RaftMessage::Vote { term },
        noraft::Message::RequestVoteReply { vote_granted, .. } => {
            RaftMessage::VoteReply { term, granted: *vote_granted }
        }
        noraft::Message::AppendEntriesCall { entries, .. } if entries.is_empty() => RaftMessage::Heartbeat { term },
        noraft::Message::AppendEntriesCall { entries, .. } => RaftMessage::Append {
            term,
            first: RaftIndex(entries.prev_position().index.get() + 1),
            last: RaftIndex(entries.last_position().index.get()),
        },
        noraft::Message::AppendEntriesReply { last_position, .. } => {
            RaftMessage::AppendReply { term, last: RaftIndex(last_position.index.get()) }
        }
    }
}
