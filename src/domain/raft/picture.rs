//! A Raft cluster at one moment: its nodes with their logs and timers, the messages on their way, the
//! terms so far.
//!
//! Section numbers are those of the Raft paper (Ongaro and Ousterhout, extended version).

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{ClusterTime, Life, NodeId, RaftRole, Rules, Speed, Trace};
use crate::domain::{MemberId, RaftIndex, Revision, Term};

/// How much of a cluster a picture tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// All of it, as the embedded cluster does.
    #[default]
    All,
    /// What the members of a real etcd answer when they are asked for their status: roles, terms,
    /// committed and applied indexes, revisions. Of logs, votes, timers, messages and requests
    /// nothing, and of the terms those that were seen.
    Status,
}

/// A cluster at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RaftPicture {
    /// How much it tells.
    #[serde(default)]
    pub told: Told,
    /// The moment.
    pub now: ClusterTime,
    /// How fast the cluster's clock runs, in thousandths of the wall clock's speed.
    pub speed: Speed,
    /// Whether the clock stands still.
    pub paused: bool,
    /// What fixes timers, delays and losses.
    pub seed: u64,
    /// The rules the cluster runs by.
    pub rules: Rules,
    /// How messages travel.
    pub network: NetworkPicture,
    /// The nodes in the order of their ids, those that were removed left out.
    pub nodes: Vec<NodePicture>,
    /// The messages on their way, oldest first; when there are very many, the first of them.
    pub flights: Vec<Flight>,
    /// How many messages are on their way.
    pub in_flight: usize,
    /// What is known of each term that began, oldest first; only the last of them.
    pub terms: Vec<TermRecord>,
    /// The latest requests and their ways through the cluster, oldest first.
    pub traces: Vec<Trace>,
}

/// How messages travel between nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkPicture {
    /// How long a message takes at least.
    pub delay: Duration,
    /// How much longer it may take.
    pub jitter: Duration,
    /// How many of a thousand messages are lost.
    pub loss: u16,
    /// The pairs of nodes that cannot reach each other, the smaller id first.
    pub cuts: Vec<(NodeId, NodeId)>,
}

/// One node at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodePicture {
    /// Which one.
    pub id: NodeId,
    /// The id its API reports.
    pub member: MemberId,
    /// Whether it runs.
    pub life: Life,
    /// Its role; what it was last when it does not run.
    pub role: RaftRole,
    /// Whether it gets the log and has no vote.
    pub learner: bool,
    /// Its current term (§5.1).
    pub term: Term,
    /// Whom it voted for in that term.
    pub voted_for: Option<NodeId>,
    /// Whom it takes for the leader.
    pub leader: Option<NodeId>,
    /// What it waits for: the next election of a follower, the next heartbeat of a leader.
    pub timer: Option<Timer>,
    /// The last index of its log.
    pub last: RaftIndex,
    /// The last index it knows to be committed.
    pub commit: RaftIndex,
    /// The last index its store has taken in.
    pub applied: RaftIndex,
    /// The last index that is only in the snapshot; 0 without one.
    pub snapshot: RaftIndex,
    /// The revision of its store.
    pub revision: Revision,
    /// The end of its log, oldest entry first.
    pub log: Vec<LogCell>,
    /// As a candidate or pre-candidate: who has granted it the vote so far, itself included.
    pub granted: Vec<NodeId>,
    /// As a candidate or pre-candidate: who has refused.
    pub refused: Vec<NodeId>,
    /// As a leader: what it knows of each other node.
    pub progress: Vec<Progress>,
    /// As a leader: since when.
    pub leads_since: Option<ClusterTime>,
}

/// A timer that runs down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timer {
    /// When it was set.
    pub set: ClusterTime,
    /// When it goes off.
    pub due: ClusterTime,
}

/// One entry of a log, without what it carries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogCell {
    /// Where it is.
    pub index: RaftIndex,
    /// The term it was proposed in.
    pub term: Term,
    /// What it is.
    pub kind: EntryKind,
    /// What it does in a few words, such as `put /demo/lock/a`; keys in it are escaped ([`crate::domain::escape`]).
    pub what: String,
}

/// What a log entry is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// The first entry of a leader's term: only its own term's entries commit by count (§5.4.2).
    Term,
    /// A change of the membership (§6).
    Members,
    /// A request to the store.
    Request,
}

/// What a leader knows of another node (§5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Of which.
    pub node: NodeId,
    /// The last index known to be the same there.
    pub matched: RaftIndex,
    /// The next index to send.
    pub next: RaftIndex,
    /// When it was last heard of.
    pub heard: ClusterTime,
}

/// A message on its way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flight {
    /// A number of its own, growing in the order of sending.
    pub id: u64,
    /// From where.
    pub from: NodeId,
    /// To where.
    pub to: NodeId,
    /// When it was sent.
    pub sent: ClusterTime,
    /// When it arrives.
    pub arrives: ClusterTime,
    /// Whether it will not arrive: lost on the way, or sent into a cut.
    pub lost: bool,
    /// What it says.
    pub what: RaftMessage,
}

/// What a message says, in short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RaftMessage {
    /// A leader's call without entries (§5.2).
    Heartbeat {
        /// The sender's term.
        term: Term,
    },
    /// A leader's call with entries (§5.3).
    Append {
        /// The sender's term.
        term: Term,
        /// The first index it carries.
        first: RaftIndex,
        /// The last.
        last: RaftIndex,
    },
    /// The answer to both.
    AppendReply {
        /// The sender's term.
        term: Term,
        /// The last index of the sender's log.
        last: RaftIndex,
    },
    /// A candidate's call (§5.2).
    Vote {
        /// The term it stands in.
        term: Term,
    },
    /// The answer.
    VoteReply {
        /// The sender's term.
        term: Term,
        /// Whether it got the vote.
        granted: bool,
    },
    /// A question whether one could win.
    PreVote {
        /// The term it would stand in.
        term: Term,
    },
    /// The answer.
    PreVoteReply {
        /// The term that was asked about.
        term: Term,
        /// Whether it would get the vote.
        granted: bool,
    },
    /// The whole state for a node that lags behind the log (§7).
    Snapshot {
        /// The last index in it.
        last: RaftIndex,
    },
    /// The wish that the receiver stands for election at once (leader transfer, thesis §3.10).
    TimeoutNow {
        /// The sender's term.
        term: Term,
    },
    /// A follower passes a request on to its leader.
    Forward,
    /// The answer to one that was passed on.
    ForwardReply,
    /// The question whether a leader still leads, for a linearizable read (§8).
    ReadIndex,
    /// The answer.
    ReadIndexReply,
}

/// What is known of a term.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TermRecord {
    /// Which term.
    pub term: Term,
    /// When the first node stood for election in it.
    pub began: ClusterTime,
    /// Who stood, in order.
    pub candidates: Vec<NodeId>,
    /// Who voted for whom: voter, candidate.
    pub votes: Vec<(NodeId, NodeId)>,
    /// Who won and when; nobody when the votes were split or it still goes on.
    pub leader: Option<(NodeId, ClusterTime)>,
    /// When its leader was seen to lead no more.
    pub ended: Option<ClusterTime>,
}
