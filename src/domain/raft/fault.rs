//! What can be done to an embedded cluster, as words that can be typed.
//!
//! One line is one fault: `kill n1`, `cut n1 n2`, `delay 200ms`, `loss 20%`, `speed 0.1`. The
//! same words are taken from standard input and from the dashboard's command line.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{NodeId, Speed};

mod words;

pub use words::{LONGEST_DELAY, WORDS, Word};

/// Something done to an embedded cluster or to its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// End a node as a power cut does: connections are reset, what it had to keep is kept.
    Kill(NodeId),
    /// Start a killed node again.
    Start(NodeId),
    /// Stop a node as SIGSTOP does: it takes connections and answers nothing.
    Pause(NodeId),
    /// Let a paused node go on.
    Resume(NodeId),
    /// Cut a node off from all others. Its clients still reach it.
    Isolate(NodeId),
    /// Cut two nodes off from each other.
    Cut(NodeId, NodeId),
    /// Messages take this long from now on.
    Delay(Duration),
    /// Of a thousand messages so many are lost from now on.
    Loss(u16),
    /// Mend all cuts, and let messages travel as they did at the start.
    Heal,
    /// Make a node's election timer go off now.
    Campaign(NodeId),
    /// Hand the lead over to this node (thesis §3.10).
    Transfer(NodeId),
    /// Let the clock run this fast.
    Speed(Speed),
    /// Stop the clock.
    Freeze,
    /// Let the clock run on.
    Thaw,
    /// Let the next thing happen and stop the clock behind it.
    Step,
    /// Ask before standing for election, or do not.
    PreVote(bool),
    /// Let a leader without a majority step down, or do not.
    CheckQuorum(bool),
}
