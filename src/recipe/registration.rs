//! A leased key that says "I am here", as services register themselves.
//!
//! ```text
//!   idle ─ Leased ─► put ─► read it back ─► registered ─ Release ─► delete ─► idle
//!                                              │ LeaseLost
//!                                              ▼
//!                                            lost, until it has another lease: put anew
//! ```
//!
//! Nobody waits for the key, so it is plainly put. Whoever crashes leaves it until the lease
//! runs out: to those who watch, that is how long the service is still there. The key has to
//! be the client's own. Two that share one overwrite each other's value and lease, and who of them
//! ends first takes the other's registration with it.

use super::place::Place;
use super::session::AGAIN;
use super::{Activity, Answer, Belief, Call, CallId, Command, Failure, Input, Recipe, Standing, Step, Timer};
use crate::domain::raft::ClusterTime;
use crate::domain::{Key, KeyRange, KeyValue, LeaseId, Revision};

/// A service that registers itself.
#[derive(Clone, Debug)]
pub struct Registration {
    key: Key,
    value: Vec<u8>,
    state: State,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// Here, in `Reading` and in `Deleting` the call is none while its failure is waited out.
    Putting(Option<CallId>),
    Reading(Option<CallId>),
    Registered,
    Deleting(Option<CallId>),
    Lost,
}

impl Registration {
    /// A service that registers `value` under `key`.
    pub fn new(key: Key, value: Vec<u8>) -> Self {
        Self { key, value, state: State::Idle, place: Place::default() }
    }

    fn put(&mut self) -> Vec<Command> {
        let (key, lease) = (self.key.clone(), self.place.standing.lease);
        let (id, call) = self.place.call(Call::Put { key, value: self.value.clone(), lease });
        self.state = State::Putting(Some(id));
        vec![self.place.stand(Step::Put, Belief::Waiting), call]
    }

    /// Asks which revision created the key: under a lease that was not gone yet, another than the put's.
    fn read(&mut self) -> Command {
        let (id, call) = self.place.call(Call::List { range: KeyRange::single(&self.key) });
        self.state = State::Reading(Some(id));
        call
    }

    fn found(&mut self, now: ClusterTime, revision: Revision, own: Option<&KeyValue>) -> Vec<Command> {
        let Some(own) = own else { return self.again(now, State::Putting(None)) };
        self.place.standing.created = own.create_revision;
        self.place.standing.seen = revision;
        self.state = State::Registered;
        vec![self.place.stand(Step::Work, Belief::Holding)]
    }

    fn delete(&mut self) -> Command {
        let (key, created) = (self.key.clone(), self.place.standing.created);
        let (id, call) = self.place.call(Call::Delete { key, created });
        self.state = State::Deleting(Some(id));
        call
    }

    fn lose(&mut self) -> Vec<Command> {
        self.state = State::Lost;
        self.place.lose()
    }

    fn answered(&mut self, now: ClusterTime, id: CallId, answer: &Result<Answer, Failure>) -> Vec<Command> {
        match (self.state, answer) {
            (State::Putting(call) | State::Reading(call) | State::Deleting(call), _) if call != Some(id) => Vec::new(),
            (_, Err(Failure::LeaseGone)) => self.lose(),
            (State::Putting(_), Ok(_)) => vec![self.read()],
            (State::Putting(_), Err(failure)) => {
                self.place.doubtful |= *failure == Failure::Unanswered;
                self.again(now, State::Putting(None))
            }
            (State::Reading(_), Ok(Answer::Listed { revision, keys })) => self.found(now, *revision, keys.first()),
            (State::Reading(_), _) => self.again(now, State::Reading(None)),
            (State::Deleting(_), Ok(_)) => {
                self.state = State::Idle;
                vec![self.place.leave()]
            }
            (State::Deleting(_), Err(_)) => self.again(now, State::Deleting(None)),
            (State::Idle | State::Registered | State::Lost, _) => Vec::new(),
        }
    }

    fn again(&mut self, now: ClusterTime, state: State) -> Vec<Command> {
        self.state = state;
        vec![Command::Set(Timer::Again, now + AGAIN)]
    }

    fn begin(&mut self, lease: LeaseId) -> Vec<Command> {
        self.place.enter(lease, self.key.clone());
        self.put()
    }
}

impl Activity for Registration {
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

impl Recipe for Registration {
    fn step(&mut self, now: ClusterTime, input: Input) -> Vec<Command> {
        match (self.state, input) {
            (State::Idle | State::Lost, Input::Leased(lease)) => self.begin(lease),
            (State::Idle | State::Lost, _) => Vec::new(),
            (_, Input::LeaseLost) => self.lose(),
            (_, Input::Stop) => {
                self.state = State::Idle;
                self.place.stop()
            }
            (_, Input::Answer(id, answer)) => self.answered(now, id, &answer),
            (State::Putting(None), Input::Timer(Timer::Again)) => self.put(),
            (State::Reading(None), Input::Timer(Timer::Again)) => vec![self.read()],
            (State::Deleting(None), Input::Timer(Timer::Again)) => vec![self.delete()],
            (State::Registered, Input::Release) => {
                vec![self.place.stand(Step::Release, Belief::Idle), self.delete()]
            }
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Store, beliefs, calls};
    use super::*;

    const NOW: ClusterTime = ClusterTime(5_000_000);

    fn lease(store: &mut Store) -> LeaseId {
        match store.ask(NOW, &Call::Grant { ttl: std::time::Duration::from_secs(5) }) {
            Ok(Answer::Granted { lease, .. }) => lease,
            other => panic!("{other:?}"),
        }
    }

    /// Tells it something and answers all it asks; what it believed on the way.
    fn tell(service: &mut Registration, store: &mut Store, input: Input) -> Vec<Belief> {
        let mut said = service.step(NOW, input);
        let mut asked = calls(&said);
        while !asked.is_empty() {
            let (id, call) = asked.remove(0);
            let more = service.step(NOW, Input::Answer(id, store.ask(NOW, &call)));
            asked.extend(calls(&more));
            said.extend(more);
        }
        beliefs(&said)
    }

    fn service() -> Registration {
        Registration::new("/services/api/1".into(), b"10.0.0.1:80".to_vec())
    }

    #[test]
    fn it_is_there_while_its_lease_is_and_comes_back_with_another() {
        let (mut store, mut service) = (Store::default(), service());
        let first = lease(&mut store);
        assert_eq!(tell(&mut service, &mut store, Input::Leased(first)), [Belief::Waiting, Belief::Holding]);
        assert_eq!(store.keys[&Key::from("/services/api/1")].value, b"10.0.0.1:80");
        store.ask(NOW, &Call::Revoke(first)).unwrap();
        assert_eq!(tell(&mut service, &mut store, Input::LeaseLost), [Belief::Lost]);
        let second = lease(&mut store);
        tell(&mut service, &mut store, Input::Leased(second));
        assert_eq!((service.standing().belief, service.standing().created), (Belief::Holding, store.revision));
    }

    #[test]
    fn put_over_an_older_key_of_its_own_it_knows_what_created_it_and_can_delete_it() {
        let (mut store, mut service) = (Store::default(), service());
        let first = lease(&mut store);
        tell(&mut service, &mut store, Input::Leased(first));
        let created = service.standing().created;
        // By its own clock the lease has run out; the server has not looked yet.
        tell(&mut service, &mut store, Input::LeaseLost);
        let second = lease(&mut store);
        tell(&mut service, &mut store, Input::Leased(second));
        assert_eq!(service.standing().created, created);
        tell(&mut service, &mut store, Input::Release);
        assert!(store.keys.is_empty() && service.standing().key.is_empty());
    }

    #[test]
    fn a_put_without_an_answer_is_made_again() {
        let mut service = service();
        let (id, call) = calls(&service.step(NOW, Input::Leased(LeaseId(7)))).remove(0);
        service.step(NOW, Input::Answer(id, Err(Failure::Unanswered)));
        let (_, same) = calls(&service.step(NOW, Input::Timer(Timer::Again))).remove(0);
        assert_eq!(same, call);
        assert!(service.is_doubtful());
    }
}
