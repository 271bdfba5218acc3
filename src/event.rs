//! Everything that can reach the core, as plain serialisable data.
//!
//! This is one half of the seam: a source turns a cluster into [`Observation`]s, a terminal
//! turns hands into input, a timer turns time into ticks. Whatever is not in here, the model
//! cannot know, which is why a recording of the observations replays to the same model.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::domain::play::{Order, PlayPicture};
use crate::domain::raft::{Fault, RaftPicture};
use crate::domain::write::{Write, WriteId, WriteResult};
use crate::domain::{
    Alarm, ClusterId, Key, KeyEvent, KeyRange, KeyValue, LeaseId, Member, MemberId, Millis, Revision, Status, Term,
    Timestamp,
};
use crate::input::{Hits, Input};

/// Something reaches the core.
#[derive(Clone, Debug)]
pub enum Event {
    /// A key, the mouse, a paste or a new size, with where things were drawn when it came.
    Input(Input, Hits),
    /// A fact about the cluster.
    Observed(Stamped<Observation>),
    /// Time passed; the only way it does.
    Tick(Timestamp),
}

/// A fact with the time it was learnt at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamped<T> {
    /// When the source learnt it.
    pub at: Timestamp,
    /// What it learnt.
    pub what: T,
}

/// One fact about the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Observation {
    /// The connection changed.
    Link(LinkState),
    /// An answer named its cluster: sent on every (re)connection. Another id than before
    /// means that another cluster answers at the same address.
    Cluster(ClusterId),
    /// The ranges that are watched from now on; with discovery they grow as locks are found.
    Scope(Vec<KeyRange>),
    /// One page of a full read of `range` at one `revision`. The pages of a range come in
    /// key order, from `first` to `last`; what the range held before and the pages do not
    /// have is gone.
    Listed(ListPage),
    /// Changes in the order of their revisions; a revision is never split over two of these.
    Watched(Vec<Change>),
    /// Every change up to this revision has been seen.
    Progress(Revision),
    /// Events were missed or may have been; a full read of all ranges follows unless the
    /// watch could resume where it stopped.
    WatchLost(WatchLoss),
    /// What was skipped, told afterwards: changes in the order of their revisions, whole
    /// revisions only, all of them older than the list that was read instead. They say nothing
    /// about what is there now.
    Filled(Vec<Change>),
    /// No more of what was skipped follows.
    FillEnded {
        /// Everything that was skipped up to this revision was told.
        through: Revision,
        /// Why the rest is not, if there is a rest.
        why: Option<String>,
    },
    /// A part of what etcd still has of one lock's past, read from its revisions. It says
    /// nothing about what is there now.
    Past {
        /// The lock's name.
        lock: Key,
        /// What is told of it.
        part: Past,
    },
    /// The server refuses to let this user read a range.
    Denied(Denied),
    /// The ids of all leases, as one member knows them.
    LeaseList(Vec<LeaseId>),
    /// The leases that other members know and this one does not, at two looks some seconds apart;
    /// told when they are others than before.
    LeasesMissing {
        /// The member that does not know them.
        member: MemberId,
        /// The leases, in rising order; none when it knows all again.
        leases: Vec<LeaseId>,
    },
    /// The answer to one time-to-live question.
    LeaseTtl(LeaseTtl),
    /// A burst of time-to-live questions ended: what it cost, so that the next can be sized.
    LeasesPolled(LeasePollCost),
    /// The membership.
    Members(Vec<Member>),
    /// What one member says of itself, or why it does not.
    Status {
        /// The member that was asked.
        member: MemberId,
        /// Its answer, or the reason there is none.
        answer: Result<Status, NoStatus>,
    },
    /// All alarms that are raised now.
    Alarms(Vec<Alarm>),
    /// What goes on inside the embedded cluster.
    Raft(Box<RaftPicture>),
    /// What a fault led to: nothing to say, or why it could not be done.
    FaultDone(Fault, Result<(), String>),
    /// How the simulated clients are, and what happened to them since the picture before.
    Play(Box<PlayPicture>),
    /// What an order to them led to: nothing to say, or why it could not be done.
    OrderDone(Order, Result<(), String>),
    /// All that hangs on a lease, as the cluster answered when it was asked.
    LeaseKeys(LeaseId, OnLease),
    /// What came of a write that a person confirmed.
    WriteDone(Box<WriteDone>),
}

/// What hangs on a lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnLease {
    /// There is no such lease.
    Gone,
    /// All of its keys with their `create_revision`s, in the order of their names, whether they
    /// are watched or not.
    Keys(Vec<(Key, Revision)>),
    /// The cluster did not tell: the reason, as one line.
    NotTold(String),
}

/// What came of a write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteDone {
    /// Which one.
    pub id: WriteId,
    /// What was to be done, for whoever did not ask for it.
    pub write: Write,
    /// What came of it.
    pub result: WriteResult,
    /// What is worth knowing beside it, a line each.
    pub notes: Vec<String>,
}

/// Why a member says nothing of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoStatus {
    /// It could not be asked, or did not answer in time.
    Unreachable(String),
    /// It answers, but this user may not ask: etcd tells its status to root only from 3.5.30 on
    /// when users have to log in.
    Denied(String),
}

impl NoStatus {
    /// The reason in words, as one line.
    pub fn why(&self) -> &str {
        match self {
            Self::Unreachable(why) | Self::Denied(why) => why,
        }
    }
}

impl fmt::Display for NoStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(why) => f.write_str(why),
            Self::Denied(why) => write!(f, "not allowed: {why}"),
        }
    }
}

/// The state of the connection to the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkState {
    /// No endpoint has answered yet.
    #[default]
    Connecting,
    /// The watch runs on this endpoint.
    Live {
        /// The URL that serves the watch.
        endpoint: String,
    },
    /// The last try failed; the next comes by itself.
    Retrying {
        /// How many tries failed in a row.
        attempt: u32,
        /// When the next one starts.
        next_at: Timestamp,
        /// The endpoints that were tried, each with its error.
        why: Vec<EndpointError>,
    },
}

/// Why one endpoint could not be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointError {
    /// The endpoint's URL.
    pub endpoint: String,
    /// What went wrong, as one line.
    pub error: String,
}

impl EndpointError {
    /// Why it cannot be used, without the endpoint's name, which stands beside it: what matters
    /// must not be cut off behind a long URL.
    pub fn reason(&self) -> &str {
        let error = self.error.as_str();
        if error.contains("authentication failed") {
            return "authentication failed: check --user and --password";
        }
        let of_network =
            || error.strip_prefix("cannot reach ")?.strip_prefix(self.endpoint.as_str())?.strip_prefix(": ");
        let of_login = || Some(error.strip_prefix("cannot log in to ")?.split_once("\": ")?.1);
        let of_strangers = || error.strip_prefix(self.endpoint.as_str())?.strip_prefix(' ');
        of_network().or_else(of_login).or_else(of_strangers).unwrap_or(error)
    }
}

/// One page of a full read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListPage {
    /// The range that is read.
    pub range: KeyRange,
    /// The revision all its pages are read at.
    pub revision: Revision,
    /// The keys of this page in key order.
    pub keys: Vec<KeyValue>,
    /// Whether this page opens the read.
    pub first: bool,
    /// Whether this page closes it.
    pub last: bool,
}

/// One key's change at one revision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The revision that made it.
    pub revision: Revision,
    /// What happened to which key.
    pub event: KeyEvent,
}

/// A part of one lock's past. They come in this order: `Begun`, `Listed` pages when something
/// can have been there before, `Changes`, `Ended`; in between a compaction may take what was
/// not told yet: then `Compacted` comes with new `Listed` pages, and it goes on behind them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Past {
    /// It begins.
    Begun {
        /// The first revision that is told of.
        since: Revision,
        /// The last one: that of the store when it was asked.
        to: Revision,
        /// The compaction that keeps what was before from being told; `None` when it was not
        /// wanted, or when there is nothing before.
        compacted: Option<Revision>,
    },
    /// What was there before the changes that follow.
    Listed(ListPage),
    /// Changes, whole revisions in their order.
    Changes {
        /// The changes of the lock's keys.
        changes: Vec<Change>,
        /// Which leases of the keys that went in them outlived all that is told.
        alive: Vec<LeaseId>,
    },
    /// Revisions were compacted before they could be told.
    Compacted {
        /// Everything up to this one was told.
        from: Revision,
        /// The compaction: the keys are listed anew as they were at this revision.
        to: Revision,
    },
    /// Nothing more is told.
    Ended {
        /// Why the rest is not, if there is a rest.
        why: Option<String>,
    },
}

/// How a watch ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WatchLoss {
    /// The revisions up to `at` were compacted before they were seen.
    Compacted {
        /// The compaction revision the server named.
        at: Revision,
    },
    /// More was missed than it is worth waiting for: what is there now is read at once. The
    /// changes that are skipped by that follow as [`Observation::Filled`], as far as the
    /// server still has them.
    Skipped {
        /// Everything up to this revision was seen.
        from: Revision,
        /// The revision the store has reached.
        to: Revision,
    },
    /// The server cancelled it.
    Cancelled {
        /// The server's reason.
        why: String,
    },
    /// The same address and the same cluster id, but the store's history began anew: a member
    /// was started with an empty data folder. Nothing that was told before holds any more;
    /// keys, leases, revisions and terms are those of another store.
    BeganAnew {
        /// What told so.
        why: String,
    },
    /// The connection died; the watch resumes at the revision after the last one seen.
    Transport {
        /// The transport's reason.
        why: String,
    },
}

/// A range this user may not read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Denied {
    /// The range.
    pub range: KeyRange,
    /// The user that asked; empty when nobody is logged in.
    pub user: String,
    /// The server's words.
    pub why: String,
}

impl Denied {
    /// Whether it is about the whole keyspace, as where locks may not be found through leases.
    pub fn is_everything(&self) -> bool {
        self.range == KeyRange::prefix(b"")
    }
}

/// The answer to `LeaseTimeToLive`, in etcd's own numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseTtl {
    /// The lease that was asked for.
    pub lease: LeaseId,
    /// Seconds granted; 0 when the lease is gone.
    pub granted: i64,
    /// Seconds left; -1 when the lease is gone, 9223372036 when the member does not know,
    /// 0 or less with `granted > 0` when it is overdue.
    pub remaining: i64,
    /// The keys that hang on it, when they were asked for.
    pub keys: Option<Vec<Key>>,
    /// The term of the member that answered. A new leader gives every lease its time again, so
    /// times of two terms cannot be compared. Zero when it is not known.
    pub term: Term,
}

/// What a burst of time-to-live questions cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeasePollCost {
    /// How many were asked.
    pub asked: u32,
    /// How many of them failed or ran into their deadline.
    pub failed: u32,
    /// How long the burst took from first question to last answer.
    pub took: Millis,
}
