//! The queue lock of etcd's Go client: `client/v3/concurrency/mutex.go`.
//!
//! ```text
//!                             ┌────────── predecessor deleted, or the watch lost ──────────┐
//!                             ▼                                                            │
//!   idle ─ Leased ─► put ─► compare ─ somebody is before us ─► watch the predecessor ──────┘
//!    ▲                        │ nobody is
//!    │                        ▼
//!    └── deleted ─ release ◄─ work          LeaseLost, or the own key gone: lost
//! ```
//!
//! The key is the lock's name, a slash, and the lease in hex. Its `create_revision` is its place
//! in the queue, so it is created once and never put anew. The end of the predecessor is no
//! proof of holding: it may have been a waiter that gave up. So the queue is looked at again
//! each time, and the own key with it, in one transaction.

use super::place::Place;
use super::session::AGAIN;
use super::{Answer, Belief, Call, CallId, Command, Failure, Input, Recipe, Standing, Step, Timer, WatchId};
use crate::domain::raft::ClusterTime;
use crate::domain::{Key, KeyEvent, LeaseId, Revision};

/// What people get wrong when they write this recipe themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mistakes {
    /// Taking the predecessor's end for one's own turn, without looking again.
    pub no_recheck: bool,
}

/// One place in the queue of a lock, taken again and again.
#[derive(Clone, Debug)]
pub struct Mutex {
    queue: Key,
    value: Vec<u8>,
    mistakes: Mistakes,
    state: State,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// In these three the call is none while its failure is waited out.
    Putting(Option<CallId>),
    Comparing(Option<CallId>),
    Watching(WatchId),
    Holding,
    Releasing(Option<CallId>),
    Lost,
}

impl Mutex {
    /// A client of the lock `name`, which puts `value` into its keys.
    pub fn new(name: &[u8], value: Vec<u8>) -> Self {
        let queue = Key::from([name, b"/"].concat());
        Self { queue, value, mistakes: Mistakes::default(), state: State::Idle, place: Place::default() }
    }

    /// The same with mistakes in it.
    #[must_use]
    pub const fn with(mut self, mistakes: Mistakes) -> Self {
        self.mistakes = mistakes;
        self
    }

    /// Where it stands.
    pub const fn standing(&self) -> &Standing {
        &self.place.standing
    }

    /// Whether a put that was never answered may still come to be: only the end of the lease
    /// makes sure that it does not.
    pub const fn is_doubtful(&self) -> bool {
        self.place.doubtful
    }

    /// Forgets everything but which names were used: the client begins anew.
    pub fn reset(&mut self) {
        self.state = State::Idle;
        self.place.reset();
    }

    fn enqueue(&mut self, lease: LeaseId) -> Vec<Command> {
        let key = Key::from([&*self.queue, lease.to_string().as_bytes()].concat());
        self.place.enter(lease, key);
        vec![self.place.stand(Step::Put, Belief::Waiting), self.put()]
    }

    fn put(&mut self) -> Command {
        let Standing { key, lease, .. } = self.place.standing.clone();
        let (id, call) = self.place.call(Call::Create { key, value: self.value.clone(), lease });
        self.state = State::Putting(Some(id));
        call
    }

    fn compare(&mut self) -> Vec<Command> {
        self.place.standing.ahead = None;
        vec![self.place.stand(Step::Compare, Belief::Waiting), self.look()]
    }

    fn look(&mut self) -> Command {
        let Standing { key, created, .. } = self.place.standing.clone();
        let (id, call) = self.place.call(Call::Look { key, created, queue: self.queue.clone() });
        self.state = State::Comparing(Some(id));
        call
    }

    fn looked(&mut self, revision: Revision, present: bool, ahead: Option<Key>) -> Vec<Command> {
        self.place.standing.seen = revision;
        match ahead {
            _ if !present => self.lose(),
            None => self.hold(),
            Some(ahead) => {
                let (watch, follow) = self.place.watch(ahead, revision);
                self.state = State::Watching(watch);
                vec![self.place.stand(Step::Watch, Belief::Waiting), follow]
            }
        }
    }

    fn changed(&mut self, watch: WatchId, revision: Revision, event: &KeyEvent) -> Vec<Command> {
        if !matches!(event, KeyEvent::Delete { key, .. } if self.place.standing.ahead.as_ref() == Some(key)) {
            return Vec::new();
        }
        self.place.standing.seen = revision;
        let next = if self.mistakes.no_recheck { self.hold() } else { self.compare() };
        [Command::Unwatch(watch)].into_iter().chain(next).collect()
    }

    fn hold(&mut self) -> Vec<Command> {
        self.state = State::Holding;
        self.place.standing.ahead = None;
        vec![self.place.stand(Step::Work, Belief::Holding)]
    }

    fn release(&mut self) -> Vec<Command> {
        let unwatch = self.unwatch();
        self.place.standing.ahead = None;
        // It stops believing before it asks: once the key is gone another may hold.
        let report = self.place.stand(Step::Release, Belief::Idle);
        unwatch.into_iter().chain([report, self.delete()]).collect()
    }

    fn delete(&mut self) -> Command {
        let Standing { key, created, .. } = self.place.standing.clone();
        let (id, call) = self.place.call(Call::Delete { key, created });
        self.state = State::Releasing(Some(id));
        call
    }

    /// The end of the session takes the key with it.
    fn stop(&mut self) -> Vec<Command> {
        let unwatch = self.unwatch();
        self.state = State::Idle;
        self.place.standing.ahead = None;
        unwatch.into_iter().chain([self.place.stand(Step::Release, Belief::Idle)]).collect()
    }

    fn lose(&mut self) -> Vec<Command> {
        let unwatch = self.unwatch();
        self.state = State::Lost;
        unwatch.into_iter().chain([self.place.lose()]).collect()
    }

    fn unwatch(&self) -> Option<Command> {
        if let State::Watching(watch) = self.state { Some(Command::Unwatch(watch)) } else { None }
    }

    fn answered(&mut self, now: ClusterTime, id: CallId, answer: Result<Answer, Failure>) -> Vec<Command> {
        match (self.state, answer) {
            (State::Putting(call) | State::Comparing(call) | State::Releasing(call), _) if call != Some(id) => {
                Vec::new()
            }
            // Somebody else's key under this name: no other session has this lease.
            (State::Putting(_), Ok(Answer::Created { lease, .. })) if lease != self.place.standing.lease => self.lose(),
            (State::Putting(_), Ok(Answer::Created { revision, created, .. })) => {
                self.place.standing.created = created;
                self.place.standing.seen = revision;
                self.compare()
            }
            (State::Comparing(_), Ok(Answer::Looked { revision, present, ahead })) => {
                self.looked(revision, present, ahead)
            }
            (State::Releasing(_), Ok(_)) => {
                self.state = State::Idle;
                vec![self.place.leave()]
            }
            (State::Putting(_) | State::Comparing(_) | State::Releasing(_), Err(Failure::LeaseGone)) => self.lose(),
            (State::Putting(_), answer) => {
                self.place.doubtful |= answer != Err(Failure::Refused);
                self.again(now, State::Putting(None))
            }
            (State::Comparing(_), _) => self.again(now, State::Comparing(None)),
            (State::Releasing(_), _) => self.again(now, State::Releasing(None)),
            (State::Idle | State::Watching(_) | State::Holding | State::Lost, _) => Vec::new(),
        }
    }

    fn again(&mut self, now: ClusterTime, state: State) -> Vec<Command> {
        self.state = state;
        vec![Command::Set(Timer::Again, now + AGAIN)]
    }
}

impl Recipe for Mutex {
    fn step(&mut self, now: ClusterTime, input: Input) -> Vec<Command> {
        match (self.state, input) {
            (State::Idle | State::Lost, Input::Leased(lease)) => self.enqueue(lease),
            (State::Idle | State::Lost, _) => Vec::new(),
            (_, Input::LeaseLost) => self.lose(),
            (_, Input::Stop) => self.stop(),
            (_, Input::Answer(id, answer)) => self.answered(now, id, answer),
            (State::Watching(ours), Input::Changed { watch, revision, event }) if watch == ours => {
                self.changed(watch, revision, &event)
            }
            (State::Watching(ours), Input::WatchLost(watch)) if watch == ours => {
                self.place.standing.ahead = None;
                let report = self.place.stand(Step::Compare, Belief::Waiting);
                [report].into_iter().chain(self.again(now, State::Comparing(None))).collect()
            }
            (State::Putting(None), Input::Timer(Timer::Again)) => vec![self.put()],
            (State::Comparing(None), Input::Timer(Timer::Again)) => vec![self.look()],
            (State::Releasing(None), Input::Timer(Timer::Again)) => vec![self.delete()],
            (State::Comparing(_) | State::Watching(_) | State::Holding, Input::Release) => self.release(),
            _ => Vec::new(),
        }
    }
}
