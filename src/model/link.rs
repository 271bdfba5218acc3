//! The connection to the cluster and how much of it can be seen.

use crate::domain::{ClusterId, KeyRange, Revision, Timestamp};
use crate::event::{Denied, LinkState};

/// What is known of the connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Link {
    /// Its state.
    pub state: LinkState,
    /// Since when it is in this state.
    pub since: Timestamp,
    /// Since when nothing can be reached, over all tries; `None` while something can.
    pub lost_since: Option<Timestamp>,
    /// The cluster that answers.
    pub cluster_id: Option<ClusterId>,
    /// The cluster that answered at this address before, when it was another one.
    pub replaced_cluster: Option<ClusterId>,
    /// The newest revision seen.
    pub revision: Revision,
    /// The ranges that are watched.
    pub scope: Vec<KeyRange>,
    /// Ranges this user may not read.
    pub denied: Vec<Denied>,
    /// Whether every range of the scope was read at least once.
    pub listed: bool,
    /// How many events came in since the start.
    pub events: u64,
    /// How many stretches of history were not seen.
    pub gaps: u32,
    /// How many of them the person has taken note of.
    pub noted_gaps: u32,
}

impl Link {
    /// Whether nothing of what is to be watched may be read.
    pub fn is_denied(&self) -> bool {
        let denied = |range| self.denied.iter().any(|denied| &denied.range == range);
        !self.denied.is_empty() && self.scope.iter().all(denied)
    }

    /// How many gaps are to be told of.
    pub const fn new_gaps(&self) -> u32 {
        self.gaps.saturating_sub(self.noted_gaps)
    }

    /// Whether the watch runs.
    pub const fn is_live(&self) -> bool {
        matches!(self.state, LinkState::Live { .. })
    }
}
