//! The recipes by their names, as scenarios and screens call them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What a client does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The lock in six steps, written by hand: keys named by a UUID, a heartbeat of its own.
    SixSteps,
    /// The lock of etcd's Go client: keys named by the lease.
    Queue,
    /// A lock whose waiters all watch the whole prefix: every release wakes everybody.
    Herd,
    /// The lock of the Lock API: the server queues.
    LockApi,
    /// An election of etcd's Go client: campaign, proclaim, resign.
    Election,
    /// An election by the Election API: the server queues.
    ElectionApi,
    /// The lock of one key, which is also leader by lock.
    SingleKey,
    /// A leased key that says where a service is.
    Registration,
    /// Takes one lock and then a second one.
    Pair,
    /// Watches a prefix and knows what is there: a service's users, a cluster's monitor.
    Watch,
    /// Watches an election and knows who leads.
    Observe,
    /// Puts a configuration now and then.
    Publish,
}

/// No recipe is called so.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("no recipe `{0}`; there are {known}", known = Kind::ALL.map(Kind::name).join(", "))]
pub struct UnknownKind(pub String);

impl Kind {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::SixSteps,
        Self::Queue,
        Self::Herd,
        Self::LockApi,
        Self::Election,
        Self::ElectionApi,
        Self::SingleKey,
        Self::Registration,
        Self::Pair,
        Self::Watch,
        Self::Observe,
        Self::Publish,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SixSteps => "six-steps",
            Self::Queue => "queue",
            Self::Herd => "herd",
            Self::LockApi => "lock-api",
            Self::Election => "election",
            Self::ElectionApi => "election-api",
            Self::SingleKey => "single-key",
            Self::Registration => "registration",
            Self::Pair => "pair",
            Self::Watch => "watch",
            Self::Observe => "observe",
            Self::Publish => "publish",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| UnknownKind(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back_and_no_other_does() {
        for kind in Kind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        let error = "Queue".parse::<Kind>().unwrap_err().to_string();
        assert!(error.starts_with("no recipe `Queue`; there are six-steps, queue, "), "{error}");
    }
}
