//! Puts one key anew now and then: a configuration that others watch.
//!
//! ```text
//!   idle ─ Leased ─► put "value #1" ─► wait ─ Timer::Write ─► put "value #2" ─► wait …
//! ```
//!
//! It holds nothing and nobody waits for it. The key hangs on the session's lease, so that a run
//! leaves nothing behind.

use std::time::Duration;

use super::place::Place;
use super::session::AGAIN;
use super::words::Words;
use super::{Activity, Answer, Belief, Call, CallId, Command, Failure, Input, Recipe, Standing, Step, Timer};
use crate::domain::raft::ClusterTime;
use crate::domain::{Key, LeaseId};

/// Who publishes a configuration.
#[derive(Clone, Debug)]
pub struct Publish {
    key: Key,
    words: Words,
    state: State,
    /// What is being put, to be put again when it fails.
    value: Vec<u8>,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// The call is none while its failure is waited out.
    Putting(Option<CallId>),
    Published,
}

impl Publish {
    /// Who publishes values that begin with `value` under `key`, that often; or one only.
    pub fn new(key: Key, value: Vec<u8>, every: Option<Duration>) -> Self {
        let mut words = Words::new(value);
        words.every = every;
        Self { key, words, state: State::Idle, value: Vec::new(), place: Place::default() }
    }

    fn begin(&mut self, lease: LeaseId) -> Vec<Command> {
        self.place.enter(lease, self.key.clone());
        let report = self.place.stand(Step::Work, Belief::Idle);
        [report].into_iter().chain(self.put_next()).collect()
    }

    fn put_next(&mut self) -> Vec<Command> {
        self.value = self.words.next();
        vec![self.put()]
    }

    fn put(&mut self) -> Command {
        let (key, value, lease) = (self.key.clone(), self.value.clone(), self.place.standing.lease);
        let (id, call) = self.place.call(Call::Put { key, value, lease });
        self.state = State::Putting(Some(id));
        call
    }

    fn answered(&mut self, now: ClusterTime, answer: &Result<Answer, Failure>) -> Vec<Command> {
        match answer {
            Ok(answer) => {
                self.state = State::Published;
                if let Answer::Put(revision) = answer {
                    self.place.standing.seen = *revision;
                }
                let report = self.place.stand(Step::Work, Belief::Idle);
                [report].into_iter().chain(self.words.set(now)).collect()
            }
            Err(Failure::LeaseGone) => self.lose(),
            Err(_) => {
                self.state = State::Putting(None);
                vec![Command::Set(Timer::Again, now + AGAIN)]
            }
        }
    }

    fn lose(&mut self) -> Vec<Command> {
        self.state = State::Idle;
        self.place.lose()
    }
}

impl Activity for Publish {
    fn standing(&self) -> &Standing {
        &self.place.standing
    }

    fn writes_itself(&self) -> bool {
        true
    }

    fn reset(&mut self) {
        self.state = State::Idle;
        self.place.reset();
    }
}

impl Recipe for Publish {
    fn step(&mut self, now: ClusterTime, input: Input) -> Vec<Command> {
        match (self.state, input) {
            (State::Idle, Input::Leased(lease)) => self.begin(lease),
            (State::Idle, _) => Vec::new(),
            (_, Input::LeaseLost) => self.lose(),
            (_, Input::Stop) => {
                self.state = State::Idle;
                self.place.stop()
            }
            (State::Putting(Some(call)), Input::Answer(id, answer)) if call == id => self.answered(now, &answer),
            (State::Putting(None), Input::Timer(Timer::Again)) => vec![self.put()],
            (State::Published, Input::Timer(Timer::Write)) => self.put_next(),
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{beliefs, calls, set};
    use super::*;
    use crate::domain::Revision;

    const NOW: ClusterTime = ClusterTime(5_000_000);
    const LEASE: LeaseId = LeaseId(7);
    const EVERY: Duration = Duration::from_secs(3);

    fn putting(publish: &mut Publish, input: Input) -> (CallId, Vec<u8>) {
        let (id, call) = calls(&publish.step(NOW, input)).remove(0);
        let Call::Put { key, value, lease } = call else { panic!("{call:?}") };
        assert_eq!((key, lease), ("/config".into(), LEASE));
        (id, value)
    }

    #[test]
    fn each_value_is_another_and_comes_after_its_time() {
        let mut publish = Publish::new("/config".into(), b"v".to_vec(), Some(EVERY));
        let (id, value) = putting(&mut publish, Input::Leased(LEASE));
        assert_eq!(value, b"v #1");
        let commands = publish.step(NOW, Input::Answer(id, Ok(Answer::Put(Revision(9)))));
        assert_eq!((set(&commands, Timer::Write), beliefs(&commands)), (Some(NOW + EVERY), vec![Belief::Idle]));
        let (id, value) = putting(&mut publish, Input::Timer(Timer::Write));
        assert_eq!(value, b"v #2");
        publish.step(NOW, Input::Answer(id, Err(Failure::Unanswered)));
        let (_, value) = putting(&mut publish, Input::Timer(Timer::Again));
        assert_eq!(value, b"v #2", "what was not answered is put again");
    }

    #[test]
    fn it_publishes_on_with_another_lease() {
        let mut publish = Publish::new("/config".into(), b"v".to_vec(), None);
        let (id, _) = putting(&mut publish, Input::Leased(LEASE));
        assert_eq!(beliefs(&publish.step(NOW, Input::Answer(id, Err(Failure::LeaseGone)))), [Belief::Lost]);
        assert_eq!(putting(&mut publish, Input::Leased(LEASE)).1, b"v #2");
    }
}
