//! The way of one request through the cluster, with the time of each station.

use serde::{Deserialize, Serialize};

use super::{ClusterTime, NodeId};
use crate::domain::{RaftIndex, Revision, Term};

/// The way of one request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// A number of its own, growing in the order of the requests.
    pub id: u64,
    /// What was asked in a few words, such as `put /demo/lock/a`; keys in it are escaped ([`crate::domain::escape`]).
    pub what: String,
    /// The stations so far, in the order of time.
    pub steps: Vec<TraceStep>,
    /// Why it goes no further, when it does not.
    pub stopped: Option<String>,
}

/// One station of a request's way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceStep {
    /// When.
    pub at: ClusterTime,
    /// At which node.
    pub node: NodeId,
    /// What happened to it there.
    pub what: Waypoint,
}

/// What happened to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Waypoint {
    /// The member's API took it from a client.
    Received,
    /// It was passed on to the leader.
    Forwarded {
        /// Whom the node takes for the leader.
        to: NodeId,
    },
    /// The leader made an entry of it.
    Proposed {
        /// Of this term.
        term: Term,
        /// At this place of the log.
        index: RaftIndex,
    },
    /// The node has the entry in its log; in etcd this is the write-ahead log's part.
    Appended,
    /// The leader heard that the node has it.
    Acknowledged {
        /// Which node.
        by: NodeId,
    },
    /// The node learnt that a majority has it (§5.3).
    Committed,
    /// The node's store took it in.
    Applied {
        /// The store's revision after it.
        revision: Revision,
    },
    /// The entry is no longer in the node's log, only in its snapshot (§7).
    Compacted {
        /// The last index in the snapshot.
        snapshot: RaftIndex,
    },
    /// The client has its answer.
    Answered {
        /// Whether it is a success.
        ok: bool,
    },
    /// Watches were told what it changed.
    WatchersTold {
        /// How many watches.
        watches: u32,
    },
    /// A read was confirmed: the node led when it was asked, or heard so from the leader.
    Confirmed,
}
