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
use super::{Activity, Answer, Belief, Call, CallId, Command, Failure, Input, Mistakes, Recipe, Standing, Step, Timer};
use crate::domain::raft::ClusterTime;
use crate::domain::{Key, KeyEvent, LeaseId, Revision};

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
    Watching,
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
                let follow = self.place.watch(ahead, revision);
                self.state = State::Watching;
                vec![self.place.stand(Step::Watch, Belief::Waiting), follow]
            }
        }
    }

    fn changed(&mut self, revision: Revision, event: &KeyEvent) -> Vec<Command> {
        if !matches!(event, KeyEvent::Delete { key, .. } if self.place.standing.ahead.as_ref() == Some(key)) {
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
        vec![self.place.stand(Step::Work, Belief::Holding)]
    }

    fn release(&mut self) -> Vec<Command> {
        let unwatch = self.place.unwatch();
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

    fn lose(&mut self) -> Vec<Command> {
        self.state = State::Lost;
        self.place.lose()
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
            (State::Idle | State::Watching | State::Holding | State::Lost, _) => Vec::new(),
        }
    }

    fn again(&mut self, now: ClusterTime, state: State) -> Vec<Command> {
        self.state = state;
        vec![Command::Set(Timer::Again, now + AGAIN)]
    }
}

impl Activity for Mutex {
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

impl Recipe for Mutex {
    fn step(&mut self, now: ClusterTime, input: Input) -> Vec<Command> {
        match (self.state, input) {
            (State::Idle | State::Lost, Input::Leased(lease)) => self.enqueue(lease),
            (State::Idle | State::Lost, _) => Vec::new(),
            (_, Input::LeaseLost) => self.lose(),
            (_, Input::Stop) => {
                self.state = State::Idle;
                self.place.stop()
            }
            (_, Input::Answer(id, answer)) => self.answered(now, id, answer),
            (State::Watching, Input::Changed { watch, revision, event }) if self.place.watches(watch) => {
                self.changed(revision, &event)
            }
            (State::Watching, Input::WatchLost(watch)) if self.place.watches(watch) => {
                self.place.lose_watch();
                let report = self.place.stand(Step::Compare, Belief::Waiting);
                [report].into_iter().chain(self.again(now, State::Comparing(None))).collect()
            }
            (State::Putting(None), Input::Timer(Timer::Again)) => vec![self.put()],
            (State::Comparing(None), Input::Timer(Timer::Again)) => vec![self.look()],
            (State::Releasing(None), Input::Timer(Timer::Again)) => vec![self.delete()],
            (State::Comparing(_) | State::Watching | State::Holding, Input::Release) => self.release(),
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::WatchId;
    use super::super::testing::{beliefs, calls, deleted, put, set, watches};
    use super::*;

    const NOW: ClusterTime = ClusterTime(5_000_000);
    const LEASE: LeaseId = LeaseId(0x1a);

    fn mutex() -> Mutex {
        Mutex::new(b"/a", b"me".to_vec())
    }

    fn answer(mutex: &mut Mutex, id: CallId, answer: Answer) -> Vec<Command> {
        mutex.step(NOW, Input::Answer(id, Ok(answer)))
    }

    /// A mutex that has put its key at revision 10 and looks; the name of the call.
    fn looking(mut mutex: Mutex) -> (Mutex, CallId) {
        let (id, call) = calls(&mutex.step(NOW, Input::Leased(LEASE))).remove(0);
        assert_eq!(call, Call::Create { key: "/a/1a".into(), value: b"me".to_vec(), lease: LEASE });
        let created = Answer::Created { revision: Revision(10), created: Revision(10), lease: LEASE };
        let (id, call) = calls(&answer(&mut mutex, id, created)).remove(0);
        assert_eq!(call, Call::Look { key: "/a/1a".into(), created: Revision(10), queue: "/a/".into() });
        (mutex, id)
    }

    fn seen(ahead: Option<&str>) -> Answer {
        Answer::Looked { revision: Revision(12), present: true, ahead: ahead.map(Key::from) }
    }

    fn waiting(mutex: Mutex) -> (Mutex, WatchId) {
        let (mut mutex, id) = looking(mutex);
        let commands = answer(&mut mutex, id, seen(Some("/a/9")));
        let (watch, range, from) = watches(&commands).remove(0);
        assert_eq!((range, from), (crate::domain::KeyRange::single(b"/a/9"), Revision(13)));
        (mutex, watch)
    }

    fn changed(mutex: &mut Mutex, watch: WatchId, event: KeyEvent) -> Vec<Command> {
        mutex.step(NOW, Input::Changed { watch, revision: Revision(15), event })
    }

    #[test]
    fn whoever_has_nobody_before_it_holds() {
        let (mut mutex, id) = looking(mutex());
        assert_eq!(beliefs(&answer(&mut mutex, id, seen(None))), [Belief::Holding]);
        let standing = mutex.standing();
        assert_eq!((standing.step, standing.created, standing.seen), (Step::Work, Revision(10), Revision(12)));
    }

    #[test]
    fn a_waiter_looks_again_when_its_predecessor_is_deleted() {
        let (mut mutex, watch) = waiting(mutex());
        let commands = changed(&mut mutex, watch, deleted("/a/9"));
        assert!(commands.contains(&Command::Unwatch(watch)));
        assert_eq!(mutex.standing().belief, Belief::Waiting);
        let (id, call) = calls(&commands).remove(0);
        assert!(matches!(call, Call::Look { .. }));
        // It was a waiter that went; somebody is still before.
        let (_, range, _) = watches(&answer(&mut mutex, id, seen(Some("/a/8")))).remove(0);
        assert_eq!(range, crate::domain::KeyRange::single(b"/a/8"));
    }

    #[test]
    fn without_the_second_look_it_takes_any_end_for_its_turn() {
        let (mut mutex, watch) = waiting(mutex().with(Mistakes { no_recheck: true, ..Mistakes::default() }));
        assert_eq!(beliefs(&changed(&mut mutex, watch, deleted("/a/9"))), [Belief::Holding]);
    }

    #[test]
    fn a_put_is_no_end_and_an_old_watch_tells_nothing() {
        let (mut mutex, watch) = waiting(mutex());
        assert!(changed(&mut mutex, watch, put("/a/9")).is_empty());
        assert!(changed(&mut mutex, watch, deleted("/a/8")).is_empty());
        assert!(changed(&mut mutex, WatchId(watch.0 + 1), deleted("/a/9")).is_empty());
        assert!(mutex.step(NOW, Input::WatchLost(WatchId(watch.0 + 1))).is_empty());
    }

    #[test]
    fn a_lost_watch_leads_to_another_look_a_little_later() {
        let (mut mutex, watch) = waiting(mutex());
        let commands = mutex.step(NOW, Input::WatchLost(watch));
        assert_eq!(set(&commands, Timer::Again), Some(NOW + AGAIN));
        let commands = mutex.step(NOW + AGAIN, Input::Timer(Timer::Again));
        assert!(matches!(calls(&commands)[0].1, Call::Look { .. }));
    }

    #[test]
    fn a_put_without_an_answer_is_made_again_and_finds_what_the_first_did() {
        let mut mutex = mutex();
        let (id, call) = calls(&mutex.step(NOW, Input::Leased(LEASE))).remove(0);
        mutex.step(NOW, Input::Answer(id, Err(Failure::Unanswered)));
        assert!(mutex.is_doubtful());
        let (again, same) = calls(&mutex.step(NOW, Input::Timer(Timer::Again))).remove(0);
        assert!(again != id && same == call);
        let created = Answer::Created { revision: Revision(20), created: Revision(11), lease: LEASE };
        answer(&mut mutex, again, created);
        assert_eq!(mutex.standing().created, Revision(11), "its place is that of the first put");
        assert!(mutex.step(NOW, Input::Answer(id, Err(Failure::LeaseGone))).is_empty(), "that call is of the past");
    }

    #[test]
    fn a_key_that_is_gone_is_a_lock_that_is_lost() {
        let (mut mutex, id) = looking(mutex());
        let gone = Answer::Looked { revision: Revision(12), present: false, ahead: None };
        assert_eq!(beliefs(&answer(&mut mutex, id, gone)), [Belief::Lost]);
        let (mut mutex, id) = looking(super::tests::mutex());
        assert_eq!(beliefs(&mutex.step(NOW, Input::Answer(id, Err(Failure::LeaseGone)))), [Belief::Lost]);
    }

    #[test]
    fn a_lost_lease_ends_holding_and_waiting() {
        let (mut holder, id) = looking(mutex());
        answer(&mut holder, id, seen(None));
        assert_eq!(beliefs(&holder.step(NOW, Input::LeaseLost)), [Belief::Lost]);
        let (mut waiter, watch) = waiting(mutex());
        let commands = waiter.step(NOW, Input::LeaseLost);
        assert!(commands.contains(&Command::Unwatch(watch)) && beliefs(&commands) == [Belief::Lost]);
    }

    #[test]
    fn a_holder_stops_believing_before_it_asks_for_the_deletion() {
        let (mut mutex, id) = looking(mutex());
        answer(&mut mutex, id, seen(None));
        let commands = mutex.step(NOW, Input::Release);
        let report = commands.iter().position(|command| matches!(command, Command::Report(_)));
        let call = commands.iter().position(|command| matches!(command, Command::Call(..)));
        assert!(report < call && beliefs(&commands) == [Belief::Idle]);
        let (id, call) = calls(&commands).remove(0);
        assert_eq!(call, Call::Delete { key: "/a/1a".into(), created: Revision(10) });
        mutex.step(NOW, Input::Answer(id, Err(Failure::Unanswered)));
        let (id, same) = calls(&mutex.step(NOW, Input::Timer(Timer::Again))).remove(0);
        assert_eq!(same, call, "until the answer is known");
        answer(&mut mutex, id, Answer::Deleted);
        assert_eq!((mutex.standing().step, &mutex.standing().key), (Step::Heartbeat, &Key::default()));
    }

    #[test]
    fn a_waiter_can_give_up() {
        let (mut mutex, watch) = waiting(mutex());
        let commands = mutex.step(NOW, Input::Release);
        assert_eq!(commands[0], Command::Unwatch(watch));
        assert!(matches!(calls(&commands)[0].1, Call::Delete { .. }));
    }
}
