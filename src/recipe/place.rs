//! What the recipes of locks have in common: the names of their calls and watches, and where
//! they stand.

use super::{Belief, Call, CallId, Command, Part, Standing, Step, WatchId};
use crate::domain::{Key, KeyRange, LeaseId, Revision};

/// A client's place in a lock.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    /// Where it stands.
    pub standing: Standing,
    /// Whether a put was never answered and may still come to be.
    pub doubtful: bool,
    calls: u64,
    watches: u64,
}

impl Place {
    /// Begins to take part.
    pub fn enter(&mut self, lease: LeaseId, key: Key) {
        self.standing = Standing { lease, key, ..Standing::default() };
        self.doubtful = false;
    }

    /// Forgets everything but which names were used.
    pub fn reset(&mut self) {
        *self = Self { calls: self.calls, watches: self.watches, ..Self::default() };
    }

    /// Moves to a step and reports it.
    pub fn stand(&mut self, step: Step, belief: Belief) -> Command {
        self.standing.step = step;
        self.standing.belief = belief;
        Command::Report(self.standing.clone())
    }

    /// Takes part no more; the session goes on.
    pub fn leave(&mut self) -> Command {
        self.standing = Standing { step: Step::Heartbeat, lease: self.standing.lease, ..Standing::default() };
        Command::Report(self.standing.clone())
    }

    /// Has lost the lease or the key in the midst of what it did.
    pub fn lose(&mut self) -> Command {
        self.standing.ahead = None;
        self.stand(self.standing.step, Belief::Lost)
    }

    /// A call under a new name.
    pub fn call(&mut self, call: Call) -> (CallId, Command) {
        self.calls += 1;
        let id = CallId { part: Part::Lock, number: self.calls };
        (id, Command::Call(id, call))
    }

    /// A watch for the end of a key that was there at `revision`.
    pub fn watch(&mut self, key: Key, revision: Revision) -> (WatchId, Command) {
        self.watches += 1;
        let watch = WatchId(self.watches);
        let range = KeyRange::single(&key);
        self.standing.ahead = Some(key);
        (watch, Command::Watch { watch, range, from: revision.next() })
    }
}
