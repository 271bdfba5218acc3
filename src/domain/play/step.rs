//! The steps of taking a lock, and what a client believes of it.

use serde::{Deserialize, Serialize};

/// The steps of taking a lock.
///
/// They are numbered as most descriptions of the recipe count them, which take comparing and
/// watching for one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// 1: choose a key and have a lease granted.
    #[default]
    Prepare,
    /// 2: keep the lease alive. From here on this goes on beside all other steps.
    Heartbeat,
    /// 3: put the key and note its revision.
    Put,
    /// 4: compare revisions: the smallest holds.
    Compare,
    /// 4, for all others: watch the predecessor until it is deleted.
    Watch,
    /// 5: work, as the holder.
    Work,
    /// 6: delete the key.
    Release,
}

impl Step {
    /// Its number, from 1 to 6.
    pub const fn number(self) -> u8 {
        match self {
            Self::Prepare => 1,
            Self::Heartbeat => 2,
            Self::Put => 3,
            Self::Compare | Self::Watch => 4,
            Self::Work => 5,
            Self::Release => 6,
        }
    }

    /// A word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Prepare => "prepare",
            Self::Heartbeat => "heartbeat",
            Self::Put => "put",
            Self::Compare => "compare",
            Self::Watch => "watch",
            Self::Work => "work",
            Self::Release => "release",
        }
    }
}

/// What a client believes of its lock. What the cluster says may differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Belief {
    /// It takes no part.
    #[default]
    Idle,
    /// It waits.
    Waiting,
    /// It holds.
    Holding,
    /// It has lost its lease or its key.
    Lost,
}

impl Belief {
    /// A word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Waiting => "waiting",
            Self::Holding => "holding",
            Self::Lost => "lost",
        }
    }
}
