//! What the recipes of locks have in common: the names of their calls and watches, and where
//! they stand.

use super::{Belief, Call, CallId, Command, Part, Standing, Step, WatchId};
use crate::domain::{Key, KeyEvent, KeyRange, LeaseId, Revision};

/// A client's place in a lock.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// Where it stands.
    pub standing: Standing,
    /// Whether a put was never answered and may still come to be.
    pub doubtful: bool,
    /// The watch that it waits by, and of what.
    watching: Option<(WatchId, KeyRange)>,
    part: Part,
    calls: u64,
    watches: u64,
}

impl Default for Place {
    fn default() -> Self {
        Self::of(Part::Lock)
    }
}

impl Place {
    /// The place of this part of a client.
    pub fn of(part: Part) -> Self {
        Self { standing: Standing::default(), doubtful: false, watching: None, part, calls: 0, watches: 0 }
    }

    /// Begins to take part.
    pub fn enter(&mut self, lease: LeaseId, key: Key) {
        self.standing = Standing { lease, key, ..Standing::default() };
        self.doubtful = false;
        self.watching = None;
    }

    /// Forgets everything but which names were used.
    pub fn reset(&mut self) {
        *self = Self { calls: self.calls, watches: self.watches, ..Self::of(self.part) };
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
        let id = CallId { part: self.part, number: self.calls };
        (id, Command::Call(id, call))
    }

    /// Watches `range` for the end of the key `ahead`, which was there at `revision`.
    pub fn watch(&mut self, ahead: Key, range: KeyRange, revision: Revision) -> Command {
        self.standing.ahead = Some(ahead);
        self.follow(range, revision)
    }

    /// Watches `range` for what happens after `revision`.
    pub fn follow(&mut self, range: KeyRange, revision: Revision) -> Command {
        self.watches += 1;
        // The two locks of a pair name their watches apart, as they share one.
        let watch = WatchId(self.watches * 2 + u64::from(self.part == Part::Second));
        self.watching = Some((watch, range.clone()));
        Command::Watch { watch, range, from: revision.next() }
    }

    /// Whether this is the watch it has.
    pub fn watches(&self, watch: WatchId) -> bool {
        self.watching.as_ref().is_some_and(|(id, _)| *id == watch)
    }

    /// Whether this is the watch it has, and the change one of what it is for.
    pub fn watches_for(&self, watch: WatchId, event: &KeyEvent) -> bool {
        self.watching.as_ref().is_some_and(|(id, range)| *id == watch && range.contains(event.key()))
    }

    /// Ends the watch it has.
    pub fn unwatch(&mut self) -> Option<Command> {
        self.watching.take().map(|(watch, _)| Command::Unwatch(watch))
    }

    /// The watch it has ended by itself.
    pub fn lose_watch(&mut self) {
        self.watching = None;
        self.standing.ahead = None;
    }
}
