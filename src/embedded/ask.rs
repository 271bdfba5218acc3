//! What an embedded cluster can be asked, what it answers, and what it refuses in etcd's words.

use std::sync::Arc;

use thiserror::Error;

use crate::domain::{LeaseId, Member, MemberId, Revision};
use crate::mvcc::{self, Request, Response};

/// The number of a request, growing in the order of asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// Something asked of the cluster at one member.
#[derive(Clone, Debug)]
pub enum Ask {
    /// Agree on a request, apply it and answer.
    Write(Arc<Request>),
    /// Answer when everything acknowledged before is in the member's store.
    Barrier,
    /// Ask the leader's lease clock.
    Lease(LeaseQuestion),
    /// Change the membership.
    Change(Change),
    /// Hand the lead over.
    Transfer(MemberId),
    /// Not a question: so many watches of this member were told what a revision changed.
    WatchersTold {
        /// The revision.
        revision: Revision,
        /// How many watches.
        watches: u32,
    },
}

/// What only the leader knows: how long leases live. Nothing of it is logged, as in etcd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseQuestion {
    /// Set the remaining time to the granted one again.
    Renew(LeaseId),
    /// How long it lives.
    TimeToLive(LeaseId),
}

/// The answer, in whole seconds as etcd tells them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseAnswer {
    /// Seconds granted; 0 when the lease is gone.
    pub granted: i64,
    /// Seconds left; -1 when it is gone.
    pub remaining: i64,
}

/// A change of the membership.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A new member; it starts by itself inside the program.
    Add {
        /// Where it would speak Raft with its peers, as the caller wrote it.
        peer_urls: Vec<String>,
        /// Whether it gets the log and no vote.
        learner: bool,
    },
    /// A learner gets a vote.
    Promote(MemberId),
    /// A member leaves.
    Remove(MemberId),
}

/// An answer.
#[derive(Clone, Debug)]
pub enum Told {
    /// To a write: the store's.
    Response(Result<Response, mvcc::Error>),
    /// To a barrier or a transfer: that it is done.
    Nothing,
    /// To a question about a lease.
    Lease(LeaseAnswer),
    /// To a change of the membership: the members since.
    Members(Arc<[Member]>),
}

/// Why a request got no answer, in the words of etcd's `rpctypes/error.go`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The store refuses.
    #[error(transparent)]
    Store(#[from] mvcc::Error),
    /// The member knows no leader.
    #[error("etcdserver: no leader")]
    NoLeader,
    /// No majority agreed in time.
    #[error("etcdserver: request timed out")]
    Timeout,
    /// The leader was lost on the way; the request may or may not have been agreed on.
    #[error("etcdserver: request timed out, possibly due to previous leader failure")]
    LeaderLost,
    /// The member stopped.
    #[error("etcdserver: server stopped")]
    Stopped,
    /// The member does not lead.
    #[error("etcdserver: not leader")]
    NotLeader,
    /// The member that should lead cannot.
    #[error("etcdserver: bad leader transferee")]
    BadTransferee,
    /// The leader did not change in time.
    #[error("etcdserver: request timed out, leader transfer took too long")]
    TransferTimeout,
    /// No member has this id.
    #[error("etcdserver: member not found")]
    MemberNotFound,
    /// A member has one of these URLs already.
    #[error("etcdserver: Peer URLs already exists")]
    PeerUrlsExist,
    /// There may be one learner at a time, as etcd has it by default.
    #[error("etcdserver: too many learner members in cluster")]
    TooManyLearners,
    /// Only a learner can be promoted.
    #[error("etcdserver: can only promote a learner member")]
    NotLearner,
    /// The learner lags too far behind.
    #[error("etcdserver: can only promote a learner member which is in sync with leader")]
    LearnerNotReady,
    /// The cluster would be left without a majority that runs.
    #[error("etcdserver: re-configuration failed due to not enough started members")]
    NotEnoughStarted,
    /// Another change of the membership is not finished yet.
    #[error("etcdserver: unhealthy cluster")]
    Unhealthy,
    /// A learner has no vote, so it answers only serializable reads.
    #[error("etcdserver: rpc not supported for learner")]
    NotForLearners,
}
