//! Takes one lock and then a second one, as a transfer between two accounts does.
//!
//! ```text
//!   idle ─► wait for the first ─► work with it ─► wait for the second, holding the first ─► hold both
//!    ▲                                          │ Release                      │ Release
//!    └── let go of the first ◄── let go of the second ◄────────────────────────┘
//! ```
//!
//! Two such clients that name the locks in opposite orders end up waiting for each other, and each
//! renews its lease for as long as it does: nothing but a release, a crash or a lost lease ends
//! that.

use std::time::Duration;

use super::{Activity, Belief, Command, Input, Mistakes, Mutex, Part, Recipe, Standing, Step, Timer};
use crate::domain::raft::ClusterTime;

/// A client of two locks.
#[derive(Clone, Debug)]
pub struct Pair {
    first: Mutex,
    second: Mutex,
    state: State,
    standing: Standing,
    /// How long it works with the first before it wants the second.
    lingers: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Idle, or with the first lock to wait for.
    First,
    /// It has the first one and works with it.
    Lingering,
    /// It has the first one and wants the second.
    Second,
    /// It has both.
    Both,
    /// It lets go of the second one, then of the first; or only of that one.
    Leaving,
}

impl Pair {
    /// A client of the lock `first` and then of the lock `second`, which puts `value` into its keys.
    pub fn new(first: &[u8], second: &[u8], value: Vec<u8>) -> Self {
        let (first, second) = (Mutex::new(first, value.clone()), Mutex::new(second, value).second());
        Self { first, second, state: State::First, standing: Standing::default(), lingers: None }
    }

    /// The same that works so long with the first lock before it wants the second.
    #[must_use]
    pub const fn lingers(mut self, length: Option<Duration>) -> Self {
        self.lingers = length;
        self
    }

    /// The same with mistakes in it.
    #[must_use]
    pub fn with(mut self, mistakes: Mistakes) -> Self {
        (self.first, self.second) = (self.first.with(mistakes), self.second.with(mistakes));
        self
    }

    /// Where the client of both stands: at the lock that it waits for, and in the queue of the first.
    fn stand(&self) -> Standing {
        let (first, second) = (self.first.standing(), self.second.standing());
        let lost = first.belief == Belief::Lost || second.belief == Belief::Lost;
        match self.state {
            State::First => first.clone(),
            _ if lost => Standing { belief: Belief::Lost, ahead: None, ..first.clone() },
            State::Lingering => {
                Standing { step: Step::Work, belief: Belief::Waiting, has_first: true, ..first.clone() }
            }
            State::Second => {
                let (step, ahead) = (second.step, second.ahead.clone());
                let seen = first.seen.max(second.seen);
                Standing { step, ahead, seen, belief: Belief::Waiting, has_first: true, ..first.clone() }
            }
            State::Both => Standing { seen: first.seen.max(second.seen), ..first.clone() },
            State::Leaving => Standing { step: Step::Release, belief: Belief::Idle, ahead: None, ..first.clone() },
        }
    }

    fn route(&mut self, now: ClusterTime, input: Input) -> Vec<Command> {
        match input {
            Input::Answer(id, _) if id.part == Part::Second => self.second.step(now, input),
            Input::Answer(..) | Input::Leased(_) => self.first.step(now, input),
            Input::Timer(Timer::Write) if self.state == State::Lingering => self.want_second(now),
            Input::Release if self.state == State::First => self.first.step(now, input),
            Input::Release => {
                self.state = State::Leaving;
                Vec::new()
            }
            // Of watches each knows its own, and of failures that are waited out there is one.
            _ => {
                let mut commands = self.second.step(now, input.clone());
                commands.extend(self.first.step(now, input));
                commands
            }
        }
    }

    fn want_second(&mut self, now: ClusterTime) -> Vec<Command> {
        self.state = State::Second;
        let lease = self.first.standing().lease;
        self.second.step(now, Input::Leased(lease))
    }

    /// What follows for the one lock from what happened to the other.
    fn settle(&mut self, now: ClusterTime) -> Vec<Command> {
        let (first, second) = (self.first.standing(), self.second.standing());
        match self.state {
            State::First if first.belief == Belief::Holding => match self.lingers {
                Some(length) => {
                    self.state = State::Lingering;
                    vec![Command::Set(Timer::Write, now + length)]
                }
                None => self.want_second(now),
            },
            State::Lingering | State::Second | State::Both | State::Leaving
                if first.key.is_empty() || self.first.is_out() =>
            {
                self.state = State::First;
                Vec::new()
            }
            State::Second if second.belief == Belief::Holding => {
                self.state = State::Both;
                Vec::new()
            }
            // The second key is gone: it has nothing of both if not both.
            State::Second | State::Both if second.belief == Belief::Lost => {
                self.state = State::Leaving;
                self.first.step(now, Input::Release)
            }
            State::Second if self.second.is_out() => {
                let lease = first.lease;
                self.second.step(now, Input::Leased(lease))
            }
            // A put that is under way has to be answered first.
            State::Leaving if !self.second.is_out() && second.belief != Belief::Idle => {
                self.second.step(now, Input::Release)
            }
            State::Leaving if self.second.is_out() && first.belief == Belief::Holding => {
                self.first.step(now, Input::Release)
            }
            _ => Vec::new(),
        }
    }
}

impl Activity for Pair {
    fn standing(&self) -> &Standing {
        &self.standing
    }

    fn is_doubtful(&self) -> bool {
        self.first.is_doubtful() || self.second.is_doubtful()
    }

    fn writes_itself(&self) -> bool {
        true
    }

    fn is_closed(&self) -> bool {
        self.first.is_closed() && self.second.is_closed()
    }

    fn reset(&mut self) {
        self.first.reset();
        self.second.reset();
        self.state = State::First;
        self.standing = Standing::default();
    }
}

impl Recipe for Pair {
    fn step(&mut self, now: ClusterTime, input: Input) -> Vec<Command> {
        let mut commands = self.route(now, input);
        commands.extend(self.settle(now));
        // What each of the locks would report is only half of it.
        commands.retain(|command| !matches!(command, Command::Report(_)));
        let standing = self.stand();
        if standing != self.standing {
            self.standing = standing;
            // Before any call: it stops believing before it asks for a deletion.
            commands.insert(0, Command::Report(self.standing.clone()));
        }
        commands
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Store, beliefs, calls, deleted, set, watches};
    use super::super::{Answer, Call, CallId};
    use super::*;
    use crate::domain::{Key, LeaseId};

    const NOW: ClusterTime = ClusterTime(5_000_000);

    /// A client of the locks `/a` and `/b`, and the store that answers it.
    struct Scene {
        pair: Pair,
        store: Store,
        lease: LeaseId,
    }

    impl Scene {
        fn new() -> Self {
            let mut store = Store::default();
            let ttl = std::time::Duration::from_mins(1);
            let Ok(Answer::Granted { lease, .. }) = store.ask(NOW, &Call::Grant { ttl }) else { panic!("no lease") };
            Self { pair: Pair::new(b"/a", b"/b", Vec::new()), store, lease }
        }

        /// Somebody else's key in a lock.
        fn others(&mut self, key: &str) {
            let (key, value) = (Key::from(key), Vec::new());
            self.store.ask(NOW, &Call::Put { key, value, lease: LeaseId::NONE }).unwrap();
        }

        /// Tells it something and answers all it asks, until it asks nothing more.
        fn tell(&mut self, input: Input) -> Vec<Command> {
            let mut said = self.pair.step(NOW, input);
            let mut asked = calls(&said);
            while !asked.is_empty() {
                let (id, call) = asked.remove(0);
                let answer = self.store.ask(NOW, &call);
                let more = self.pair.step(NOW, Input::Answer(id, answer));
                asked.extend(calls(&more));
                said.extend(more);
            }
            said
        }

        fn keys(&self) -> Vec<String> {
            self.store.keys.keys().map(|key| key.escape_ascii().to_string()).collect()
        }
    }

    #[test]
    fn it_holds_when_it_has_both() {
        let mut scene = Scene::new();
        let commands = scene.tell(Input::Leased(scene.lease));
        assert_eq!(beliefs(&commands).last(), Some(&Belief::Holding));
        assert_eq!(beliefs(&commands).iter().filter(|belief| **belief == Belief::Holding).count(), 1);
        assert_eq!(scene.keys(), ["/a/1001", "/b/1001"]);
    }

    #[test]
    fn it_works_with_the_first_before_it_wants_the_second() {
        let mut scene = Scene::new();
        let length = std::time::Duration::from_secs(1);
        scene.pair = scene.pair.lingers(Some(length));
        let commands = scene.tell(Input::Leased(scene.lease));
        assert_eq!(set(&commands, Timer::Write), Some(NOW + length));
        assert_eq!((scene.keys(), scene.pair.standing().belief), (vec!["/a/1001".into()], Belief::Waiting));
        let commands = scene.tell(Input::Timer(Timer::Write));
        assert_eq!(beliefs(&commands).last(), Some(&Belief::Holding));
        scene.tell(Input::Release);
        scene.tell(Input::Leased(scene.lease));
        // It gives up while it works with the first.
        scene.tell(Input::Release);
        assert!(scene.keys().is_empty() && scene.tell(Input::Timer(Timer::Write)).is_empty());
        scene.tell(Input::Leased(scene.lease));
        assert_eq!(beliefs(&scene.tell(Input::LeaseLost)), [Belief::Lost]);
    }

    #[test]
    fn with_the_first_alone_it_waits_and_shows_what_for() {
        let mut scene = Scene::new();
        scene.others("/b/else");
        let commands = scene.tell(Input::Leased(scene.lease));
        assert!(!beliefs(&commands).contains(&Belief::Holding));
        let standing = scene.pair.standing().clone();
        assert_eq!((standing.key, standing.ahead), ("/a/1001".into(), Some("/b/else".into())));
        assert!(standing.has_first);
        let (watch, ..) = watches(&commands).remove(0);
        let (key, created) = (Key::from("/b/else"), scene.store.keys[&Key::from("/b/else")].create_revision);
        scene.store.ask(NOW, &Call::Delete { key, created }).unwrap();
        let revision = scene.store.revision;
        let commands = scene.tell(Input::Changed { watch, revision, event: deleted("/b/else") });
        assert_eq!(beliefs(&commands).last(), Some(&Belief::Holding));
    }

    #[test]
    fn it_lets_go_of_the_second_before_the_first() {
        let mut scene = Scene::new();
        scene.tell(Input::Leased(scene.lease));
        let commands = scene.tell(Input::Release);
        assert!(matches!(commands[0], Command::Report(_)), "it stops believing first");
        let deleted: Vec<_> = calls(&commands).into_iter().map(|(_, call)| call).collect();
        assert!(
            matches!(&deleted[..], [Call::Delete { key: one, .. }, Call::Delete { key: other, .. }]
                if *one == "/b/1001".into() && *other == "/a/1001".into()),
            "{deleted:?}"
        );
        assert_eq!(scene.pair.standing().key, Key::default());
        let commands = scene.tell(Input::Leased(scene.lease));
        assert_eq!(beliefs(&commands).last(), Some(&Belief::Holding), "and can begin again");
    }

    #[test]
    fn a_waiter_for_the_second_gives_up_both() {
        let mut scene = Scene::new();
        scene.others("/b/else");
        scene.tell(Input::Leased(scene.lease));
        scene.tell(Input::Release);
        assert_eq!(scene.keys(), ["/b/else"]);
    }

    #[test]
    fn giving_up_waits_for_a_put_that_is_under_way() {
        let mut scene = Scene::new();
        let mut asked: Vec<(CallId, Call)> = calls(&scene.pair.step(NOW, Input::Leased(scene.lease)));
        while !matches!(asked[0], (CallId { part: Part::Second, .. }, Call::Create { .. })) {
            let (id, call) = asked.remove(0);
            let answer = scene.store.ask(NOW, &call);
            asked = calls(&scene.pair.step(NOW, Input::Answer(id, answer)));
        }
        assert!(calls(&scene.pair.step(NOW, Input::Release)).is_empty());
        let (id, call) = asked.remove(0);
        let answer = scene.store.ask(NOW, &call);
        scene.tell(Input::Answer(id, answer));
        assert!(scene.keys().is_empty(), "{:?}", scene.keys());
    }

    #[test]
    fn a_lost_lease_ends_both() {
        let mut scene = Scene::new();
        scene.tell(Input::Leased(scene.lease));
        assert_eq!(beliefs(&scene.tell(Input::LeaseLost)), [Belief::Lost]);
        assert!(scene.pair.is_closed());
    }

    #[test]
    fn without_the_second_key_it_does_not_keep_the_first() {
        let mut scene = Scene::new();
        scene.others("/b/else");
        let commands = scene.tell(Input::Leased(scene.lease));
        let (watch, ..) = watches(&commands).remove(0);
        scene.store.keys.remove(&Key::from("/b/1001"));
        let revision = scene.store.revision.next();
        let commands = scene.tell(Input::Changed { watch, revision, event: deleted("/b/else") });
        assert_eq!(beliefs(&commands)[1..], [Belief::Lost, Belief::Idle]);
        assert_eq!(scene.keys(), ["/b/else"]);
    }
}
