//! Where observations come from: everything that asks a real etcd.
//!
//! Two ways in. The one-shot functions ask once and give each fact to a closure; [`run`] keeps
//! watching and sends them through a bounded channel until it is told to stop. Nothing here
//! knows what a lock is: facts go out as etcd tells them, in an order the model can rely on.
//!
//! What that order is:
//! * `Cluster` comes first on every connection, then `Scope` when it is new.
//! * A range's `Listed` pages come in key order with no other range's between them. A page
//!   marked `first` may come again before a `last` one, when the read had to start anew.
//! * `Watched` changes are newer than the list of their range; none comes twice and none is
//!   missing, unless a `WatchLost` and a new list of the range tell of it.
//! * After a gap that is too long to wait for, `Filled` changes follow the list that was read
//!   instead: in order, from the revision that was seen last to the list's, then `FillEnded`,
//!   which also says when some of them are not to be had any more.
//! * The `Past` of a lock is a story of its own, told only when it is asked for: see
//!   [`crate::event::Past`].
//! * A revision is never split over two `Watched`, and their revisions only grow. How that is
//!   kept with several watches is told in [`sequence`].

mod agree;
mod beat;
mod cover;
mod discover;
mod fill;
mod flow;
mod granted;
mod handle;
mod heartbeat;
mod list;
mod live;
mod members;
mod memory;
mod oneshot;
mod out;
mod past;
mod poll;
mod quorum;
pub mod sequence;
mod session;
mod silence;
mod stripes;
mod watches;

use crate::domain::KeyRange;
use crate::event::EndpointError;
use crate::port::PortError;
use crate::port::pool::Failed;

pub use handle::{Handle, Wires};
pub use live::{Asked, run};
pub use members::alarms;
pub use oneshot::{Polled, connect, follow, poll_leases, poll_members, snapshot};
pub use past::{Ask, WantedPast, read_past};

/// What to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Watching {
    /// Whatever leases lead to.
    Discover,
    /// All keys with one of these prefixes; an empty one is the whole keyspace.
    Prefixes(Vec<Vec<u8>>),
}

impl Watching {
    /// What the prefixes of the settings say is to be watched: without any, whatever leases lead to.
    pub fn of(prefixes: &[Vec<u8>]) -> Self {
        if prefixes.is_empty() { Self::Discover } else { Self::Prefixes(prefixes.to_vec()) }
    }
}

/// Why asking an etcd failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// No endpoint could be used.
    #[error("no endpoint can be used: {}", reasons(.0))]
    NoEndpoint(Vec<Failed>),
    /// A call failed.
    #[error(transparent)]
    Port(#[from] PortError),
    /// The server ended a watch.
    #[error("the server ended the watch: {0}")]
    WatchEnded(String),
}

fn reasons(failed: &[Failed]) -> String {
    let reasons: Vec<_> = failed.iter().map(|failed| failed.error.to_string()).collect();
    reasons.join("; ")
}

impl From<Failed> for EndpointError {
    fn from(failed: Failed) -> Self {
        Self { endpoint: failed.endpoint, error: failed.error.to_string() }
    }
}

impl Watching {
    /// The ranges of prefixes, disjoint and in key order; none yet when they are to be found.
    fn ranges(&self) -> Vec<KeyRange> {
        match self {
            Self::Discover => Vec::new(),
            Self::Prefixes(prefixes) => {
                cover::disjoint(prefixes.iter().map(|prefix| KeyRange::prefix(prefix)).collect())
            }
        }
    }
}
