//! What goes on inside a Raft cluster, as a picture, and what can be done to it, as faults.
//!
//! A real etcd tells little of this; the embedded cluster tells all. Both the Raft screen and
//! whoever plays with a cluster speak these words and know nothing of how the cluster is made.
//! Section numbers are those of the Raft paper (Ongaro and Ousterhout, extended version).

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub mod fault;
mod picture;
pub mod trace;

pub use fault::Fault;
pub use picture::{
    EntryKind, Flight, LogCell, NetworkPicture, NodePicture, Progress, RaftMessage, RaftPicture, TermRecord, Timer,
    Told,
};
pub use trace::{Trace, TraceStep, Waypoint};

/// A node of an embedded cluster: a small number, from 1 on, that its name is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeId(pub u64);

impl fmt::Display for NodeId {
    /// The node's name, such as `n2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "n{}", self.0)
    }
}

/// A point on an embedded cluster's own clock: microseconds since the cluster began. The
/// clock can run slower or faster than the wall's, and stand still.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ClusterTime(pub u64);

impl ClusterTime {
    /// The time from `earlier` until here; zero when it lies ahead.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

impl std::ops::Add<Duration> for ClusterTime {
    type Output = Self;
    fn add(self, length: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(length.as_micros()).unwrap_or(u64::MAX)))
    }
}

/// A clock's speed in thousandths: 1000 is the wall clock's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Speed(pub u32);

impl Default for Speed {
    fn default() -> Self {
        Self(1000)
    }
}

impl Speed {
    /// The slowest a cluster can be set to: 0.05 times.
    pub const SLOWEST: Self = Self(50);
    /// The fastest: 4 times.
    pub const FASTEST: Self = Self(4000);
}

impl fmt::Display for Speed {
    /// As a factor with two decimals, such as `0.50`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:02}", self.0 / 1000, self.0 % 1000 / 10)
    }
}

/// The rules a cluster runs by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    /// The time between a leader's heartbeats (§5.2).
    pub heartbeat: Duration,
    /// The shortest election timeout; each is drawn anew between the two (§5.2).
    pub election_min: Duration,
    /// The longest election timeout.
    pub election_max: Duration,
    /// Whether a node asks whether it could win before it raises its term (Ongaro's thesis §9.6).
    pub pre_vote: bool,
    /// Whether a leader that hears no majority for an election timeout steps down (§6.2 there).
    pub check_quorum: bool,
}

/// Whether a node runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Life {
    /// It runs.
    #[default]
    Up,
    /// It takes connections and does nothing, as a process that was stopped.
    Paused,
    /// It does not run; what it had to keep is kept.
    Killed,
}

/// A node's role (§5.1). A learner is a follower without a vote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RaftRole {
    /// It follows a leader, or waits for one.
    #[default]
    Follower,
    /// It asks whether it could win, in its old term.
    PreCandidate,
    /// It stands for election in its term.
    Candidate,
    /// It leads its term.
    Leader,
}
