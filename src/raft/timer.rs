//! Timers that run down.

use std::time::Duration;

use crate::domain::raft::{ClusterTime, Timer};

/// A timer of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Alarm {
    pub(super) set: ClusterTime,
    pub(super) due: ClusterTime,
    /// Orders what is due at one instant: what was set first goes off first.
    pub(super) sequence: u64,
}

/// What a node's timer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Purpose {
    /// The next election of a follower, the next heartbeat of a leader (§5.2).
    Raft,
    /// Whether a leader still hears a majority (thesis §6.2).
    Quorum,
    /// The leader's machine has something to propose.
    Machine,
    /// Reads and questions that got no answer are asked again.
    Retry,
    /// The oldest request has waited too long.
    Patience,
    /// A transfer of the lead has taken too long (thesis §3.10).
    Handover,
}

impl Alarm {
    /// By what alarms are ordered.
    pub(super) const fn key(&self) -> (ClusterTime, u64) {
        (self.due, self.sequence)
    }

    /// The same alarm after a time that did not count.
    pub(super) fn later(self, by: Duration) -> Self {
        Self { set: self.set + by, due: self.due + by, ..self }
    }
}

impl From<Alarm> for Timer {
    fn from(alarm: Alarm) -> Self {
        Self { set: alarm.set, due: alarm.due }
    }
}
