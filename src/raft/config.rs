//! What a cluster is built from.

use std::time::Duration;

use crate::domain::raft::Rules;

/// What a cluster is built from. The same values, and the same calls at the same times, make
/// the same run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// How many nodes, all with a vote: from 1 on. They are numbered from 1.
    pub nodes: usize,
    /// What fixes election timeouts, delays and losses.
    pub seed: u64,
    /// The rules to begin with.
    pub rules: Rules,
    /// How long a message takes at least.
    pub delay: Duration,
    /// How much longer it may take. Messages may then overtake each other.
    pub jitter: Duration,
    /// How many of a thousand messages are lost.
    pub loss: u16,
    /// A node takes a snapshot when it has applied this many entries since the last one (§7).
    /// Half as many stay in the log for those that lag.
    pub compact_after: u64,
    /// How many of the latest requests are traced; none at 0.
    pub trace: usize,
    /// How long a request waits until it fails. etcd waits 5 s and two election timeouts
    /// (`ServerConfig.ReqTimeout`).
    pub patience: Duration,
}

impl Default for Config {
    /// Three nodes half a millisecond apart, and the timeouts of the articles on Raft.
    fn default() -> Self {
        Self {
            nodes: 3,
            seed: 1,
            rules: Rules {
                heartbeat: Duration::from_millis(50),
                election_min: Duration::from_millis(100),
                election_max: Duration::from_millis(500),
                pre_vote: true,
                check_quorum: true,
            },
            delay: Duration::from_micros(500),
            jitter: Duration::ZERO,
            loss: 0,
            compact_after: 10_000,
            trace: 128,
            patience: Duration::from_secs(6),
        }
    }
}
