//! The lock of one key: who creates it holds, all others watch it and try again when it goes.
//!
//! ```text
//!   idle ─ Leased ─► put ─ created ─► work ─ Release ─► release ─► idle
//!                    ▲ │ it is there already
//!                    │ ▼
//!                   watch ─ deleted, or the watch lost
//! ```
//!
//! There is no queue: whoever is quickest is next. "Leader by lock" is this recipe with a
//! value that says who leads; a registration is this recipe with a key that nobody else wants.

use super::place::Place;
use super::session::AGAIN;
use super::{Activity, Answer, Belief, Call, CallId, Command, Failure, Input, Recipe, Standing, Step, Timer};
use crate::domain::raft::ClusterTime;
use crate::domain::{Key, KeyEvent, KeyRange, LeaseId, Revision};

/// A client of a lock of one key.
#[derive(Clone, Debug)]
pub struct SingleKey {
    key: Key,
    value: Vec<u8>,
    state: State,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// Here and in `Releasing` the call is none while its failure is waited out.
    Putting(Option<CallId>),
    Watching,
    Holding,
    Releasing(Option<CallId>),
    Lost,
}

impl SingleKey {
    /// A client that puts `value` under `key` when it holds.
    pub fn new(key: Key, value: Vec<u8>) -> Self {
        Self { key, value, state: State::Idle, place: Place::default() }
    }

    fn put(&mut self) -> Vec<Command> {
        self.place.standing.ahead = None;
        let (key, lease) = (self.key.clone(), self.place.standing.lease);
        let (id, call) = self.place.call(Call::Create { key, value: self.value.clone(), lease });
        self.state = State::Putting(Some(id));
        vec![self.place.stand(Step::Put, Belief::Waiting), call]
    }

    fn created(&mut self, revision: Revision, created: Revision, lease: LeaseId) -> Vec<Command> {
        self.place.standing.seen = revision;
        if lease == self.place.standing.lease {
            self.place.standing.created = created;
            self.state = State::Holding;
            return vec![self.place.stand(Step::Work, Belief::Holding)];
        }
        let follow = self.place.watch(self.key.clone(), KeyRange::single(&self.key), revision);
        self.state = State::Watching;
        vec![self.place.stand(Step::Watch, Belief::Waiting), follow]
    }

    fn delete(&mut self) -> Command {
        let (key, created) = (self.key.clone(), self.place.standing.created);
        let (id, call) = self.place.call(Call::Delete { key, created });
        self.state = State::Releasing(Some(id));
        call
    }

    fn leave(&mut self) -> Vec<Command> {
        self.state = State::Idle;
        vec![self.place.leave()]
    }

    fn lose(&mut self) -> Vec<Command> {
        self.state = State::Lost;
        self.place.lose()
    }

    fn answered(&mut self, now: ClusterTime, id: CallId, answer: &Result<Answer, Failure>) -> Vec<Command> {
        match (self.state, answer) {
            (State::Putting(call) | State::Releasing(call), _) if call != Some(id) => Vec::new(),
            (State::Putting(_) | State::Releasing(_), Err(Failure::LeaseGone)) => self.lose(),
            (State::Putting(_), &Ok(Answer::Created { revision, created, lease })) => {
                self.created(revision, created, lease)
            }
            (State::Putting(_), answer) => {
                self.place.doubtful |= *answer != Err(Failure::Refused);
                self.again(now, State::Putting(None))
            }
            (State::Releasing(_), Ok(_)) => self.leave(),
            (State::Releasing(_), Err(_)) => self.again(now, State::Releasing(None)),
            (State::Idle | State::Watching | State::Holding | State::Lost, _) => Vec::new(),
        }
    }

    fn again(&mut self, now: ClusterTime, state: State) -> Vec<Command> {
        self.state = state;
        vec![Command::Set(Timer::Again, now + AGAIN)]
    }
}

impl Activity for SingleKey {
    fn standing(&self) -> &Standing {
        &self.place.standing
    }

    fn is_doubtful(&self) -> bool {
        self.place.doubtful
    }

    fn reset(&mut self) {
        self.state = State::Idle;
        self.place.reset();
    }
}

impl Recipe for SingleKey {
    fn step(&mut self, now: ClusterTime, input: Input) -> Vec<Command> {
        match (self.state, input) {
            (State::Idle | State::Lost, Input::Leased(lease)) => {
                self.place.enter(lease, self.key.clone());
                self.put()
            }
            (State::Idle | State::Lost, _) => Vec::new(),
            (_, Input::LeaseLost) => self.lose(),
            (_, Input::Stop) => {
                self.state = State::Idle;
                self.place.stop()
            }
            (_, Input::Answer(id, answer)) => self.answered(now, id, &answer),
            (State::Watching, Input::Changed { watch, event: KeyEvent::Delete { .. }, .. })
                if self.place.watches(watch) =>
            {
                self.place.unwatch().into_iter().chain(self.put()).collect()
            }
            (State::Watching, Input::WatchLost(watch)) if self.place.watches(watch) => {
                self.place.lose_watch();
                let report = self.place.stand(Step::Put, Belief::Waiting);
                [report].into_iter().chain(self.again(now, State::Putting(None))).collect()
            }
            (State::Putting(None), Input::Timer(Timer::Again)) => self.put(),
            (State::Releasing(None), Input::Timer(Timer::Again)) => vec![self.delete()],
            (State::Watching, Input::Release) => self.place.unwatch().into_iter().chain(self.leave()).collect(),
            (State::Holding, Input::Release) => {
                // It stops believing before it asks: once the key is gone another may hold.
                vec![self.place.stand(Step::Release, Belief::Idle), self.delete()]
            }
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{beliefs, calls, deleted, set, watches};
    use super::*;

    const NOW: ClusterTime = ClusterTime(5_000_000);
    const LEASE: LeaseId = LeaseId(0x1a);

    fn asking() -> (SingleKey, CallId) {
        let mut single = SingleKey::new("/one".into(), b"me".to_vec());
        let (id, call) = calls(&single.step(NOW, Input::Leased(LEASE))).remove(0);
        assert_eq!(call, Call::Create { key: "/one".into(), value: b"me".to_vec(), lease: LEASE });
        (single, id)
    }

    fn created(lease: LeaseId) -> Answer {
        Answer::Created { revision: Revision(12), created: Revision(9), lease }
    }

    #[test]
    fn whoever_created_the_key_holds() {
        let (mut single, id) = asking();
        assert_eq!(beliefs(&single.step(NOW, Input::Answer(id, Ok(created(LEASE))))), [Belief::Holding]);
        let commands = single.step(NOW, Input::Release);
        assert_eq!(calls(&commands)[0].1, Call::Delete { key: "/one".into(), created: Revision(9) });
    }

    #[test]
    fn all_others_try_again_when_it_goes() {
        let (mut single, id) = asking();
        let commands = single.step(NOW, Input::Answer(id, Ok(created(LeaseId(5)))));
        let (watch, _, from) = watches(&commands).remove(0);
        assert_eq!((beliefs(&commands), from), (vec![Belief::Waiting], Revision(13)));
        let commands = single.step(NOW, Input::Changed { watch, revision: Revision(14), event: deleted("/one") });
        assert!(matches!(calls(&commands)[0].1, Call::Create { .. }));
        assert_eq!(single.standing().belief, Belief::Waiting, "somebody else may be quicker");
    }

    #[test]
    fn a_lost_watch_leads_to_another_try_a_little_later() {
        let (mut single, id) = asking();
        let commands = single.step(NOW, Input::Answer(id, Ok(created(LeaseId(5)))));
        let (watch, ..) = watches(&commands).remove(0);
        assert_eq!(set(&single.step(NOW, Input::WatchLost(watch)), Timer::Again), Some(NOW + AGAIN));
        assert!(matches!(calls(&single.step(NOW, Input::Timer(Timer::Again)))[0].1, Call::Create { .. }));
    }

    #[test]
    fn a_lost_lease_ends_it() {
        let (mut single, id) = asking();
        single.step(NOW, Input::Answer(id, Ok(created(LEASE))));
        assert_eq!(beliefs(&single.step(NOW, Input::LeaseLost)), [Belief::Lost]);
    }
}
