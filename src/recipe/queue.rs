//! The machine of all locks whose clients queue by keys of their own.
//!
//! ```text
//!                             ┌────────── what is watched ended, or the watch lost ────────┐
//!                             ▼                                                            │
//!   idle ─ Leased ─► put ─► compare ─ somebody is before us ─► watch ──────────────────────┘
//!    ▲                        │ nobody is
//!    │                        ▼
//!    └── deleted ─ release ◄─ work          LeaseLost, or the own key gone: lost
//! ```
//!
//! The key's `create_revision` is its place in the queue, so it is created once and never put
//! anew. The end of the predecessor is no proof of holding: it may have been a waiter that gave
//! up. So the queue is looked at again each time, and the own key with it. How the keys are named,
//! how the queue is looked at and what a waiter watches is each recipe's own [`Manner`].

use std::fmt::Debug;

use super::late::Late;
use super::place::Place;
use super::session::AGAIN;
use super::{
    Activity, Answer, Belief, Call, CallId, Command, Failure, Input, Mistakes, Part, Recipe, Standing, Step, Timer,
};
use crate::domain::raft::ClusterTime;
use crate::domain::{Key, KeyEvent, KeyRange, KeyValue, LeaseId, Revision};

/// What the recipes of queues differ in.
pub trait Manner: Debug + Send {
    /// The name of a new key of a client with this lease, without the queue's before it.
    fn name(&mut self, lease: LeaseId) -> String;

    /// The call that looks at what stands in `queue`, and whether the own key is still there.
    fn look(&self, own: &Standing, queue: Key) -> Call;

    /// What a client watches that waits for the end of the key `ahead`.
    fn waits_by(&self, ahead: &Key, _queue: &Key) -> KeyRange {
        KeyRange::single(ahead)
    }
}

/// One place in the queue of a lock, taken again and again.
#[derive(Clone, Debug)]
pub struct Queue<M> {
    name: Key,
    value: Vec<u8>,
    mistakes: Mistakes,
    manner: M,
    state: State,
    place: Place,
    late: Late,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// In these three, and in `Withdrawing`, the call is none while its failure is waited out.
    Putting(Option<CallId>),
    Comparing(Option<CallId>),
    Watching,
    Holding,
    Releasing(Option<CallId>),
    /// It ends and does not know yet which revision created the key that it has to delete.
    Withdrawing(Option<CallId>),
    Lost,
}

impl<M: Manner> Queue<M> {
    /// A client of the lock `name`, which puts `value` into its keys.
    pub(super) fn by(manner: M, name: &[u8], value: Vec<u8>) -> Self {
        Self {
            name: name.into(),
            value,
            mistakes: Mistakes::default(),
            manner,
            state: State::Idle,
            place: Place::default(),
            late: Late::default(),
        }
    }

    /// The same with mistakes in it.
    #[must_use]
    pub fn with(mut self, mistakes: Mistakes) -> Self {
        self.mistakes = mistakes;
        self
    }

    /// The same as the second lock of one client.
    #[must_use]
    pub(super) fn second(mut self) -> Self {
        self.place = Place::of(Part::Second);
        self
    }

    /// Gives the own key another value, which leaves its place as it is.
    pub(super) fn update(&mut self, value: Vec<u8>) -> (CallId, Command) {
        let Standing { key, created, lease, .. } = self.place.standing.clone();
        self.place.call(Call::Update { key, created, value, lease })
    }

    /// Learns that the own key is gone.
    pub(super) fn lose(&mut self) -> Vec<Command> {
        self.state = State::Lost;
        self.place.lose()
    }

    /// Whether it takes no part, be it that it has lost.
    pub(super) const fn is_out(&self) -> bool {
        matches!(self.state, State::Idle | State::Lost)
    }

    /// What it takes its queue's keys to begin with.
    fn queue(&self) -> Key {
        if self.mistakes.no_slash { self.name.clone() } else { below(&self.name) }
    }

    fn enqueue(&mut self, lease: LeaseId) -> Vec<Command> {
        let key = Key::from([&*below(&self.name), self.manner.name(lease).as_bytes()].concat());
        self.place.enter(lease, key);
        self.late = if self.mistakes.late_lease { Late::Without } else { Late::default() };
        let put = self.put();
        vec![self.place.stand(Step::Put, Belief::Waiting), put]
    }

    fn create(&mut self) -> (CallId, Command) {
        let Standing { key, lease, .. } = self.place.standing.clone();
        let lease = self.late.create_with(lease);
        self.place.call(Call::Create { key, value: self.value.clone(), lease })
    }

    fn put(&mut self) -> Command {
        let (id, call) = self.create();
        self.state = State::Putting(Some(id));
        call
    }

    fn withdraw(&mut self) -> Command {
        let (id, call) = self.create();
        self.state = State::Withdrawing(Some(id));
        call
    }

    fn compare(&mut self) -> Vec<Command> {
        self.place.standing.ahead = None;
        vec![self.place.stand(Step::Compare, Belief::Waiting), self.look()]
    }

    fn look(&mut self) -> Command {
        let look = self.manner.look(&self.place.standing, self.queue());
        let (id, call) = self.place.call(look);
        self.state = State::Comparing(Some(id));
        call
    }

    fn looked(&mut self, revision: Revision, present: bool, ahead: Option<Key>) -> Vec<Command> {
        self.place.standing.seen = revision;
        match ahead {
            _ if !present => self.lose(),
            None => self.hold(),
            Some(ahead) => {
                let range = self.manner.waits_by(&ahead, &self.queue());
                let follow = self.place.watch(ahead, range, revision);
                self.state = State::Watching;
                vec![self.place.stand(Step::Watch, Belief::Waiting), follow]
            }
        }
    }

    fn changed(&mut self, revision: Revision, event: &KeyEvent) -> Vec<Command> {
        if !(self.mistakes.any_event || matches!(event, KeyEvent::Delete { .. })) {
            return Vec::new();
        }
        self.place.standing.seen = revision;
        let unwatch = self.place.unwatch();
        let next = if self.mistakes.no_recheck { self.hold() } else { self.compare() };
        unwatch.into_iter().chain(next).collect()
    }

    fn hold(&mut self) -> Vec<Command> {
        self.state = State::Holding;
        self.place.standing.ahead = None;
        let report = self.place.stand(Step::Work, Belief::Holding);
        [report].into_iter().chain(self.late.attach(&mut self.place, &self.value)).collect()
    }

    fn release(&mut self) -> Vec<Command> {
        let unwatch = self.place.unwatch();
        self.place.standing.ahead = None;
        self.place.doubtful |= self.late.is_asked();
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

    /// The session ends, or is lost, and takes the key with it.
    fn end(&mut self, belief: Belief) -> Vec<Command> {
        if self.late.is_due() {
            return self.end_without_lease(belief);
        }
        if belief == Belief::Lost {
            return self.lose();
        }
        self.state = State::Idle;
        self.place.stop()
    }

    /// It ends, and nobody but itself takes away a key that hangs on nothing.
    fn end_without_lease(&mut self, belief: Belief) -> Vec<Command> {
        let unwatch = self.place.unwatch();
        self.place.standing.ahead = None;
        let next = match self.state {
            State::Releasing(_) | State::Withdrawing(_) => return Vec::new(),
            State::Putting(Some(call)) => {
                self.state = State::Withdrawing(Some(call));
                None
            }
            State::Putting(None) => Some(self.withdraw()),
            _ => Some(self.delete()),
        };
        unwatch.into_iter().chain([self.place.stand(Step::Release, belief)]).chain(next).collect()
    }

    fn answered(&mut self, now: ClusterTime, id: CallId, answer: Result<Answer, Failure>) -> Vec<Command> {
        match (self.state, answer) {
            (State::Holding, answer) if self.late.is(id) => match self.late.answered(now, &answer) {
                Some(next) => next,
                None => self.end(Belief::Lost),
            },
            (State::Putting(call) | State::Comparing(call) | State::Releasing(call) | State::Withdrawing(call), _)
                if call != Some(id) =>
            {
                Vec::new()
            }
            // Somebody else's key under this name, which is made of what nobody else has.
            (State::Putting(_), Ok(Answer::Created { lease, .. }))
                if lease != self.late.create_with(self.place.standing.lease) =>
            {
                self.lose()
            }
            (State::Putting(_), Ok(Answer::Created { revision, created, .. })) => {
                self.place.standing.created = created;
                self.place.standing.seen = revision;
                self.compare()
            }
            (State::Comparing(_), Ok(answer)) => match found(&self.place.standing, answer) {
                Some((revision, present, ahead)) => self.looked(revision, present, ahead),
                None => self.again(now, State::Comparing(None)),
            },
            (State::Withdrawing(_), Ok(Answer::Created { created, .. })) => {
                self.place.standing.created = created;
                vec![self.delete()]
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
            (State::Withdrawing(_), _) => self.again(now, State::Withdrawing(None)),
            (State::Idle | State::Watching | State::Holding | State::Lost, _) => Vec::new(),
        }
    }

    fn again(&mut self, now: ClusterTime, state: State) -> Vec<Command> {
        self.state = state;
        vec![Command::Set(Timer::Again, now + AGAIN)]
    }

    fn once_more(&mut self) -> Vec<Command> {
        match self.state {
            State::Putting(None) => vec![self.put()],
            State::Comparing(None) => vec![self.look()],
            State::Releasing(None) => vec![self.delete()],
            State::Withdrawing(None) => vec![self.withdraw()],
            State::Holding => self.late.attach(&mut self.place, &self.value).into_iter().collect(),
            _ => Vec::new(),
        }
    }
}

/// What the keys below a name begin with.
pub(super) fn below(name: &[u8]) -> Key {
    Key::from([name, b"/"].concat())
}

/// What an answer says of the own key: the revision that was read, whether it is there, and which
/// one is before it.
fn found(own: &Standing, answer: Answer) -> Option<(Revision, bool, Option<Key>)> {
    match answer {
        Answer::Looked { revision, present, ahead } => Some((revision, present, ahead)),
        Answer::Listed { revision, keys } => {
            let present = keys.iter().any(|kv| kv.key == own.key && kv.create_revision == own.created);
            let older = keys.into_iter().filter(|kv| kv.create_revision < own.created);
            let ahead = older.max_by_key(|kv| kv.create_revision).map(|KeyValue { key, .. }| key);
            Some((revision, present, ahead))
        }
        _ => None,
    }
}

impl<M: Manner> Activity for Queue<M> {
    fn standing(&self) -> &Standing {
        &self.place.standing
    }

    fn is_doubtful(&self) -> bool {
        self.place.doubtful
    }

    fn is_closed(&self) -> bool {
        self.is_out()
    }

    fn reset(&mut self) {
        self.state = State::Idle;
        self.place.reset();
        self.late = Late::default();
    }
}

impl<M: Manner> Recipe for Queue<M> {
    fn step(&mut self, now: ClusterTime, input: Input) -> Vec<Command> {
        match (self.state, input) {
            (State::Idle | State::Lost, Input::Leased(lease)) => self.enqueue(lease),
            (State::Idle | State::Lost, _) => Vec::new(),
            (_, Input::LeaseLost) => self.end(Belief::Lost),
            (_, Input::Stop) => self.end(Belief::Idle),
            (_, Input::Answer(id, answer)) => self.answered(now, id, answer),
            (State::Watching, Input::Changed { watch, revision, event }) if self.place.watches_for(watch, &event) => {
                self.changed(revision, &event)
            }
            (State::Watching, Input::WatchLost(watch)) if self.place.watches(watch) => {
                self.place.lose_watch();
                let report = self.place.stand(Step::Compare, Belief::Waiting);
                [report].into_iter().chain(self.again(now, State::Comparing(None))).collect()
            }
            (_, Input::Timer(Timer::Again)) => self.once_more(),
            (State::Comparing(_) | State::Watching | State::Holding, Input::Release) => self.release(),
            _ => Vec::new(),
        }
    }
}
