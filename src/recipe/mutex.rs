//! The queue lock of etcd's Go client: `client/v3/concurrency/mutex.go`.
//!
//! ```text
//!   /lock/mylock/694d8c1b5f0a3c1a     oldest: holds
//!   /lock/mylock/694d8c1b5f0a3c2e  ─ watches the one above
//!   /lock/mylock/694d8c1b5f0a3c05  ─ watches the one above
//!                └── the lease, in hex
//! ```
//!
//! A session has one key in a lock, whichever of its threads wants it. The own key and the
//! one before it are read in one transaction, so that a long queue costs no more than a short one.

use super::queue::{Manner, Queue};
use super::{Call, Standing};
use crate::domain::{Key, LeaseId};

/// A client of a lock in the layout of the Go client.
pub type Mutex = Queue<ByLease>;

/// Keys named by the lease; a look at one predecessor.
#[derive(Clone, Copy, Debug)]
pub struct ByLease;

impl Mutex {
    /// A client of the lock `name`, which puts `value` into its keys.
    pub fn new(name: &[u8], value: Vec<u8>) -> Self {
        Self::by(ByLease, name, value)
    }
}

impl Manner for ByLease {
    fn name(&mut self, lease: LeaseId) -> String {
        lease.to_string()
    }

    fn look(&self, own: &Standing, queue: Key) -> Call {
        Call::Look { key: own.key.clone(), created: own.created, queue }
    }
}

#[cfg(test)]
mod tests {
    use super::super::session::AGAIN;
    use super::super::testing::{beliefs, calls, deleted, put, set, watches};
    use super::super::{
        Activity, Answer, Belief, CallId, Command, Failure, Input, Mistakes, Recipe, Step, Timer, WatchId,
    };
    use super::*;
    use crate::domain::raft::ClusterTime;
    use crate::domain::{KeyEvent, Revision};

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
