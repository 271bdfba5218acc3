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
    /// The watch for the end of the key ahead.
    watching: Option<WatchId>,
    calls: u64,
    watches: u64,
}

impl Place {
    /// Begins to take part.
    pub fn enter(&mut self, lease: LeaseId, key: Key) {
        self.standing = Standing { lease, key, ..Standing::default() };
        self.doubtful = false;
        self.watching = None;
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
    pub fn lose(&mut self) -> Vec<Command> {
        let unwatch = self.unwatch();
        self.standing.ahead = None;
        let report = self.stand(self.standing.step, Belief::Lost);
        unwatch.into_iter().chain([report]).collect()
    }

    /// The session ends, and takes the key with it.
    pub fn stop(&mut self) -> Vec<Command> {
        let unwatch = self.unwatch();
        self.standing.ahead = None;
        unwatch.into_iter().chain([self.stand(Step::Release, Belief::Idle)]).collect()
    }

    /// A call under a new name.
    pub fn call(&mut self, call: Call) -> (CallId, Command) {
        self.calls += 1;
        let id = CallId { part: Part::Lock, number: self.calls };
        (id, Command::Call(id, call))
    }

    /// Watches for the end of a key that was there at `revision`.
    pub fn watch(&mut self, key: Key, revision: Revision) -> Command {
        self.watches += 1;
        let watch = WatchId(self.watches);
        let range = KeyRange::single(&key);
        self.standing.ahead = Some(key);
        self.watching = Some(watch);
        Command::Watch { watch, range, from: revision.next() }
    }

    /// Whether this is the watch it has.
    pub fn watches(&self, watch: WatchId) -> bool {
        self.watching == Some(watch)
    }

    /// Ends the watch it has.
    pub fn unwatch(&mut self) -> Option<Command> {
        self.watching.take().map(Command::Unwatch)
    }

    /// The watch it has ended by itself.
    pub fn lose_watch(&mut self) {
        self.watching = None;
        self.standing.ahead = None;
    }
}
