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
//! value that says who leads. Whose the key is that is there, its lease tells; to a client that
//! makes the mistake of a late lease, its value, which it reads back.

use super::late::Late;
use super::place::Place;
use super::session::AGAIN;
use super::{Activity, Answer, Belief, Call, CallId, Command, Failure, Input, Mistakes, Recipe, Standing, Step, Timer};
use crate::domain::raft::ClusterTime;
use crate::domain::{Key, KeyEvent, KeyRange, KeyValue, LeaseId, Revision};

/// A client of a lock of one key.
#[derive(Clone, Debug)]
pub struct SingleKey {
    key: Key,
    value: Vec<u8>,
    mistakes: Mistakes,
    state: State,
    place: Place,
    late: Late,
    /// It ends, and has yet to find out whether a key of it is there that hangs on no lease.
    ending: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// Here, in `Reading` and in `Releasing` the call is none while its failure is waited out.
    Putting(Option<CallId>),
    /// It asks whose the key is that hangs on no lease.
    Reading(Option<CallId>),
    Watching,
    Holding,
    Releasing(Option<CallId>),
    Lost,
}

impl SingleKey {
    /// A client that puts `value` under `key` when it holds.
    pub fn new(key: Key, value: Vec<u8>) -> Self {
        let (mistakes, place, late) = (Mistakes::default(), Place::default(), Late::default());
        Self { key, value, mistakes, state: State::Idle, place, late, ending: false }
    }

    /// The same with mistakes in it.
    #[must_use]
    pub const fn with(mut self, mistakes: Mistakes) -> Self {
        self.mistakes = mistakes;
        self
    }

    fn begin(&mut self, lease: LeaseId) -> Vec<Command> {
        self.place.enter(lease, self.key.clone());
        self.late = if self.mistakes.late_lease { Late::Without } else { Late::Done };
        self.ending = false;
        self.put()
    }

    /// What it writes into the key. Where its value has to tell whose the key is, nobody else's is the same.
    fn words(&self) -> Vec<u8> {
        let mut words = self.value.clone();
        if self.mistakes.late_lease {
            words.extend(format!(" {}", self.place.standing.lease).bytes());
        }
        words
    }

    fn put(&mut self) -> Vec<Command> {
        self.place.standing.ahead = None;
        let (key, lease) = (self.key.clone(), self.late.create_with(self.place.standing.lease));
        let (id, call) = self.place.call(Call::Create { key, value: self.words(), lease });
        self.state = State::Putting(Some(id));
        if self.ending { vec![call] } else { vec![self.place.stand(Step::Put, Belief::Waiting), call] }
    }

    fn created(&mut self, revision: Revision, created: Revision, lease: LeaseId) -> Vec<Command> {
        self.place.standing.seen = revision;
        if lease != self.late.create_with(self.place.standing.lease) {
            return self.wait(revision);
        }
        if self.late.is_due() {
            return vec![self.read()];
        }
        self.hold(created)
    }

    fn hold(&mut self, created: Revision) -> Vec<Command> {
        self.place.standing.created = created;
        if self.ending {
            return vec![self.delete()];
        }
        self.state = State::Holding;
        let words = self.words();
        let report = self.place.stand(Step::Work, Belief::Holding);
        [report].into_iter().chain(self.late.attach(&mut self.place, &words)).collect()
    }

    fn wait(&mut self, revision: Revision) -> Vec<Command> {
        if self.ending {
            return self.leave();
        }
        let follow = self.place.watch(self.key.clone(), KeyRange::single(&self.key), revision);
        self.state = State::Watching;
        vec![self.place.stand(Step::Watch, Belief::Waiting), follow]
    }

    fn read(&mut self) -> Command {
        let (id, call) = self.place.call(Call::List { range: KeyRange::single(&self.key) });
        self.state = State::Reading(Some(id));
        call
    }

    fn found(&mut self, revision: Revision, kv: Option<&KeyValue>) -> Vec<Command> {
        self.place.standing.seen = revision;
        match kv {
            Some(kv) if kv.value == self.words() => self.hold(kv.create_revision),
            Some(_) => self.wait(revision),
            None if self.ending => self.leave(),
            None => self.put(),
        }
    }

    fn release(&mut self, belief: Belief) -> Vec<Command> {
        self.place.doubtful |= self.late.is_asked();
        // It stops believing before it asks: once the key is gone another may hold.
        vec![self.place.stand(Step::Release, belief), self.delete()]
    }

    /// The session ends, or is lost, and takes the key with it, unless that hangs on no lease.
    fn end(&mut self, belief: Belief) -> Vec<Command> {
        match self.state {
            State::Holding if self.late.is_due() => self.release(belief),
            State::Releasing(_) if self.late.is_due() => Vec::new(),
            State::Putting(_) | State::Reading(_) if self.late.is_due() => {
                self.ending = true;
                vec![self.place.stand(Step::Release, belief)]
            }
            _ if belief == Belief::Lost => self.lose(),
            _ => {
                self.state = State::Idle;
                self.place.stop()
            }
        }
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
            (State::Holding, answer) if self.late.is(id) => match self.late.answered(now, answer) {
                Some(next) => next,
                None => self.end(Belief::Lost),
            },
            (State::Putting(call) | State::Reading(call) | State::Releasing(call), _) if call != Some(id) => Vec::new(),
            (State::Putting(_) | State::Releasing(_), Err(Failure::LeaseGone)) => self.lose(),
            (State::Putting(_), &Ok(Answer::Created { revision, created, lease })) => {
                self.created(revision, created, lease)
            }
            (State::Putting(_), answer) => {
                self.place.doubtful |= *answer != Err(Failure::Refused);
                self.again(now, State::Putting(None))
            }
            (State::Reading(_), Ok(Answer::Listed { revision, keys })) => self.found(*revision, keys.first()),
            (State::Reading(_), _) => self.again(now, State::Reading(None)),
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

    fn is_closed(&self) -> bool {
        matches!(self.state, State::Idle | State::Lost)
    }

    fn reset(&mut self) {
        self.state = State::Idle;
        self.place.reset();
        self.late = Late::default();
        self.ending = false;
    }
}

impl Recipe for SingleKey {
    fn step(&mut self, now: ClusterTime, input: Input) -> Vec<Command> {
        match (self.state, input) {
            (State::Idle | State::Lost, Input::Leased(lease)) => self.begin(lease),
            (State::Idle | State::Lost, _) => Vec::new(),
            (_, Input::LeaseLost) => self.end(Belief::Lost),
            (_, Input::Stop) => self.end(Belief::Idle),
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
            (State::Reading(None), Input::Timer(Timer::Again)) => vec![self.read()],
            (State::Releasing(None), Input::Timer(Timer::Again)) => vec![self.delete()],
            (State::Watching, Input::Release) => self.place.unwatch().into_iter().chain(self.leave()).collect(),
            (State::Holding, Input::Timer(Timer::Again)) => {
                let words = self.words();
                self.late.attach(&mut self.place, &words).into_iter().collect()
            }
            (State::Holding, Input::Release) => self.release(Belief::Idle),
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

    /// A client with a late lease that asked for the key, which hangs on nothing.
    fn late() -> (SingleKey, CallId, Vec<u8>) {
        let mistakes = Mistakes { late_lease: true, ..Mistakes::default() };
        let mut single = SingleKey::new("/one".into(), b"me".to_vec()).with(mistakes);
        let (id, call) = calls(&single.step(NOW, Input::Leased(LEASE))).remove(0);
        let Call::Create { value, lease: LeaseId::NONE, .. } = call else { panic!("{call:?}") };
        let (id, call) = calls(&single.step(NOW, Input::Answer(id, Ok(created(LeaseId::NONE))))).remove(0);
        assert_eq!(call, Call::List { range: KeyRange::single(b"/one") });
        (single, id, value)
    }

    fn there(value: &[u8], lease: LeaseId) -> Answer {
        let kv = KeyValue { value: value.to_vec(), create_revision: Revision(9), lease, ..KeyValue::default() };
        Answer::Listed { revision: Revision(13), keys: vec![kv] }
    }

    #[test]
    fn without_a_lease_the_value_tells_whose_the_key_is() {
        let (mut single, id, own) = late();
        let commands = single.step(NOW, Input::Answer(id, Ok(there(&own, LeaseId::NONE))));
        assert_eq!(beliefs(&commands), [Belief::Holding]);
        assert_eq!(calls(&commands)[0].1, Call::Put { key: "/one".into(), value: own, lease: LEASE });
        let (mut single, id, _) = late();
        let commands = single.step(NOW, Input::Answer(id, Ok(there(b"me 1b", LeaseId::NONE))));
        assert_eq!((beliefs(&commands), watches(&commands).len()), (vec![Belief::Waiting], 1));
    }

    #[test]
    fn a_key_without_a_lease_is_deleted_at_the_end_also_if_it_was_not_known_to_be_its_own() {
        let (mut single, id, own) = late();
        assert!(calls(&single.step(NOW, Input::Stop)).is_empty() && !single.is_closed());
        let (id, call) = calls(&single.step(NOW, Input::Answer(id, Ok(there(&own, LeaseId::NONE))))).remove(0);
        assert_eq!(call, Call::Delete { key: "/one".into(), created: Revision(9) });
        single.step(NOW, Input::Answer(id, Ok(Answer::Deleted)));
        assert!(single.is_closed());
        let (mut single, id, _) = late();
        single.step(NOW, Input::Stop);
        assert!(calls(&single.step(NOW, Input::Answer(id, Ok(there(b"me 1b", LeaseId(5)))))).is_empty());
        assert!(single.is_closed(), "it was somebody else's");
    }
}
