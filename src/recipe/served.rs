//! The machine of recipes that leave the queueing to the server: one call, answered when the turn
//! has come.
//!
//! ```text
//!   idle ─ Leased ─► ask ─ answered ─► read the own key ─► work ─ Release ─► give back ─► idle
//!                     │ no answer              │ it is gone
//!                     ▼                        ▼
//!                    idle, in doubt           lost
//! ```
//!
//! The key is read back for what no answer tells: whether it is still there (a server of 3.4 hands a
//! lock to a waiter whose lease ended meanwhile) and which revision created it, the fencing
//! token. A call that ended without an answer leaves a server behind that will take the key out
//! of the queue when it notices, by its name, and so perhaps after the same session asked
//! anew under the same name. Therefore it does not ask again: it is in doubt, and a new session,
//! whose keys have other names, does.

use std::fmt::Debug;

use super::place::Place;
use super::session::AGAIN;
use super::words::Words;
use super::{Activity, Answer, Belief, Call, CallId, Command, Failure, Input, Recipe, Standing, Step, Timer};
use crate::domain::raft::ClusterTime;
use crate::domain::{Key, KeyRange, KeyValue, LeaseId, Revision};

/// What a service of the server is asked for.
pub trait Service: Debug + Send {
    /// The call that waits for the turn.
    fn ask(&self, lease: LeaseId, value: Vec<u8>) -> Call;
    /// Keeps what the turn was answered with; the own key, unless this is no such answer.
    fn take(&mut self, answer: Answer) -> Option<Key>;
    /// The call that gives it back.
    fn give_back(&self) -> Call;
    /// The call that proclaims a value, where the service has one.
    fn proclaim(&self, value: Vec<u8>) -> Option<Call>;
    /// The name of what it is about.
    fn name(&self) -> &Key;
}

/// A client of a service.
#[derive(Clone, Debug)]
pub struct Served<S> {
    service: S,
    words: Words,
    state: State,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// Here, in `Reading` and in `Releasing` the call is none while its failure is waited out.
    Asking(Option<CallId>),
    Reading(Option<CallId>),
    /// It may have proclaimed something by this call.
    Holding(Option<CallId>),
    Releasing(Option<CallId>),
    Lost,
}

impl<S: Service> Served<S> {
    /// A client that tells `value` where the service takes one.
    pub(super) fn by(service: S, value: Vec<u8>) -> Self {
        Self { service, words: Words::new(value), state: State::Idle, place: Place::default() }
    }

    /// The words it proclaims.
    pub(super) const fn words(&mut self) -> &mut Words {
        &mut self.words
    }

    fn begin(&mut self, lease: LeaseId) -> Vec<Command> {
        // The server will name it so, as the Go client does.
        let key = Key::from([&**self.service.name(), b"/", lease.to_string().as_bytes()].concat());
        self.place.enter(lease, key);
        self.ask()
    }

    /// Asks for its turn. Steps 3 and 4 are the server's; to the client they are one wait.
    fn ask(&mut self) -> Vec<Command> {
        let (id, call) = self.place.call(self.service.ask(self.place.standing.lease, self.words.first()));
        self.state = State::Asking(Some(id));
        vec![self.place.stand(Step::Watch, Belief::Waiting), call]
    }

    fn read(&mut self) -> Vec<Command> {
        let range = KeyRange::single(&self.place.standing.key);
        let (id, call) = self.place.call(Call::List { range });
        self.state = State::Reading(Some(id));
        vec![call]
    }

    fn hold(&mut self, now: ClusterTime, revision: Revision, keys: &[KeyValue]) -> Vec<Command> {
        let Standing { key, lease, .. } = &self.place.standing;
        let Some(own) = keys.iter().find(|kv| kv.key == *key && kv.lease == *lease) else { return self.lose() };
        self.place.standing.created = own.create_revision;
        self.place.standing.seen = revision;
        self.state = State::Holding(None);
        [self.place.stand(Step::Work, Belief::Holding)].into_iter().chain(self.words.set(now)).collect()
    }

    fn proclaim(&mut self) -> Vec<Command> {
        let value = self.words.next();
        let Some(call) = self.service.proclaim(value) else { return Vec::new() };
        let (id, call) = self.place.call(call);
        self.state = State::Holding(Some(id));
        vec![call]
    }

    fn proclaimed(&mut self, now: ClusterTime, answer: &Result<Answer, Failure>) -> Vec<Command> {
        self.state = State::Holding(None);
        match answer {
            // The server refuses what does not come from the leader.
            Err(Failure::LeaseGone | Failure::Refused) => self.lose(),
            Ok(_) | Err(Failure::Unanswered) => self.words.set(now),
        }
    }

    fn release(&mut self) -> Vec<Command> {
        // It stops believing before it asks: once the key is gone another may hold.
        vec![self.place.stand(Step::Release, Belief::Idle), self.give_back()]
    }

    fn give_back(&mut self) -> Command {
        let (id, call) = self.place.call(self.service.give_back());
        self.state = State::Releasing(Some(id));
        call
    }

    fn leave(&mut self) -> Vec<Command> {
        self.state = State::Idle;
        vec![self.place.leave()]
    }

    /// It waits no more, and what the server does with its call it will not learn.
    fn leave_in_doubt(&mut self) -> Vec<Command> {
        self.place.doubtful = true;
        self.leave()
    }

    fn lose(&mut self) -> Vec<Command> {
        self.state = State::Lost;
        self.place.lose()
    }

    /// Gives up the call that waits for the turn.
    fn abandon(&self) -> Option<Command> {
        match self.state {
            State::Asking(Some(id)) => Some(Command::Abandon(id)),
            _ => None,
        }
    }

    fn answered(&mut self, now: ClusterTime, id: CallId, answer: Result<Answer, Failure>) -> Vec<Command> {
        match (self.state, answer) {
            (State::Asking(call) | State::Reading(call) | State::Holding(call) | State::Releasing(call), _)
                if call != Some(id) =>
            {
                Vec::new()
            }
            (State::Holding(_), answer) => self.proclaimed(now, &answer),
            (_, Err(Failure::LeaseGone)) => self.lose(),
            (State::Asking(_), Ok(answer)) => match self.service.take(answer) {
                Some(key) => {
                    self.place.standing.key = key;
                    self.read()
                }
                None => self.leave_in_doubt(),
            },
            (State::Asking(_), Err(Failure::Unanswered)) => self.leave_in_doubt(),
            (State::Asking(_), Err(_)) => self.again(now, State::Asking(None)),
            (State::Reading(_), Ok(Answer::Listed { revision, keys })) => self.hold(now, revision, &keys),
            (State::Reading(_), _) => self.again(now, State::Reading(None)),
            (State::Releasing(_), Ok(_)) => self.leave(),
            (State::Releasing(_), Err(failure)) => {
                // Sent again it could take a newer key of the same name.
                self.place.doubtful |= failure == Failure::Unanswered;
                self.again(now, State::Releasing(None))
            }
            (State::Idle | State::Lost, _) => Vec::new(),
        }
    }

    fn again(&mut self, now: ClusterTime, state: State) -> Vec<Command> {
        self.state = state;
        vec![Command::Set(Timer::Again, now + AGAIN)]
    }
}

impl<S: Service> Activity for Served<S> {
    fn standing(&self) -> &Standing {
        &self.place.standing
    }

    fn is_doubtful(&self) -> bool {
        self.place.doubtful
    }

    fn writes_itself(&self) -> bool {
        self.service.proclaim(Vec::new()).is_some()
    }

    fn reset(&mut self) {
        self.state = State::Idle;
        self.place.reset();
    }
}

impl<S: Service> Recipe for Served<S> {
    fn step(&mut self, now: ClusterTime, input: Input) -> Vec<Command> {
        match (self.state, input) {
            (State::Idle | State::Lost, Input::Leased(lease)) => self.begin(lease),
            (State::Idle | State::Lost, _) => Vec::new(),
            (_, Input::LeaseLost) => self.abandon().into_iter().chain(self.lose()).collect(),
            (_, Input::Stop) => {
                let abandon = self.abandon();
                self.state = State::Idle;
                abandon.into_iter().chain(self.place.stop()).collect()
            }
            (_, Input::Answer(id, answer)) => self.answered(now, id, answer),
            (State::Asking(None), Input::Timer(Timer::Again)) => self.ask(),
            (State::Reading(None), Input::Timer(Timer::Again)) => self.read(),
            (State::Releasing(None), Input::Timer(Timer::Again)) => vec![self.give_back()],
            (State::Holding(None), Input::Timer(Timer::Write)) => self.proclaim(),
            (State::Asking(Some(_)), Input::Release) => {
                self.abandon().into_iter().chain(self.leave_in_doubt()).collect()
            }
            (State::Asking(None), Input::Release) => self.leave(),
            (State::Reading(_) | State::Holding(_), Input::Release) => self.release(),
            _ => Vec::new(),
        }
    }
}
