//! What the clients of one lock ask of the cluster, and what they are told by watches.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::recipe::{Command, Input, Part};

/// What was asked and told; clones count together.
#[derive(Clone, Debug, Default)]
pub struct Traffic(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    calls: AtomicU64,
    heartbeats: AtomicU64,
    events: AtomicU64,
}

/// The counts at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Calls of the recipe, the opening of watches among them. Those that keep a lease are not:
    /// they come by the clock and not by the lock.
    pub calls: u64,
    /// Calls of sessions: grants, heartbeats, revocations.
    pub heartbeats: u64,
    /// Changes that watches told of.
    pub events: u64,
}

impl Traffic {
    /// A client is told this.
    pub fn heard(&self, input: &Input) {
        if matches!(input, Input::Changed { .. }) {
            self.0.events.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A client wants this done.
    pub fn asked(&self, command: &Command) {
        let count = match command {
            Command::Call(id, _) if id.part == Part::Session => &self.0.heartbeats,
            Command::Call(..) | Command::Watch { .. } => &self.0.calls,
            _ => return,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// What there was up to now.
    pub fn counted(&self) -> Counted {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Counted { calls: of(&self.0.calls), heartbeats: of(&self.0.heartbeats), events: of(&self.0.events) }
    }
}

impl Counted {
    /// How many calls there were for each of `handoffs`; none without one.
    pub fn calls_per(&self, handoffs: u64) -> Option<f64> {
        per(self.calls, handoffs)
    }

    /// How many events watches told for each of `handoffs`.
    pub fn events_per(&self, handoffs: u64) -> Option<f64> {
        per(self.events, handoffs)
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of a run are far below 2^53")]
fn per(count: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| count as f64 / of as f64)
}
