//! The lock of the Lock API: `v3lockpb.Lock`.
//!
//! ```text
//!   client                        server
//!     ├── Lock(name, lease) ────────► puts <name>/<lease>, waits for its turn
//!     │                               as the Go client would …
//!     ◄──────────────── the key ──┤
//!     ├── Unlock(key) ──────────────► deletes it; the lease lives on
//! ```

use super::served::{Served, Service};
use super::{Answer, Call};
use crate::domain::{Key, LeaseId};

/// A client of a lock of the Lock API.
pub type LockApi = Served<LockService>;

/// The Lock service, asked for one lock.
#[derive(Clone, Debug)]
pub struct LockService {
    name: Key,
    key: Key,
}

impl LockApi {
    /// A client of the lock `name`.
    pub fn new(name: Key) -> Self {
        Self::by(LockService { name, key: Key::default() }, Vec::new())
    }
}

impl Service for LockService {
    fn ask(&self, lease: LeaseId, _value: Vec<u8>) -> Call {
        Call::Lock { name: self.name.clone(), lease }
    }

    fn take(&mut self, answer: Answer) -> Option<Key> {
        let Answer::Locked { key } = answer else { return None };
        self.key = key.clone();
        Some(key)
    }

    fn give_back(&self) -> Call {
        Call::Unlock { key: self.key.clone() }
    }

    fn proclaim(&self, _value: Vec<u8>) -> Option<Call> {
        None
    }

    fn name(&self) -> &Key {
        &self.name
    }
}

#[cfg(test)]
mod tests {
    use super::super::session::AGAIN;
    use super::super::testing::{beliefs, calls, set};
    use super::super::{Activity as _, Belief, CallId, Command, Failure, Input, Recipe as _, Timer};
    use super::*;
    use crate::domain::raft::ClusterTime;
    use crate::domain::{KeyRange, KeyValue, Revision};

    const NOW: ClusterTime = ClusterTime(5_000_000);
    const LEASE: LeaseId = LeaseId(0x1a);

    fn asking() -> (LockApi, CallId) {
        let mut client = LockApi::new("/a".into());
        let commands = client.step(NOW, Input::Leased(LEASE));
        assert_eq!(beliefs(&commands), [Belief::Waiting]);
        let (id, call) = calls(&commands).remove(0);
        assert_eq!(call, Call::Lock { name: "/a".into(), lease: LEASE });
        assert!(call.is_patient());
        (client, id)
    }

    /// A client whose call was answered and which reads its key.
    fn reading() -> (LockApi, CallId) {
        let (mut client, id) = asking();
        let commands = client.step(NOW, Input::Answer(id, Ok(Answer::Locked { key: "/a/1a".into() })));
        assert!(beliefs(&commands).is_empty(), "it does not know its token yet");
        let (id, call) = calls(&commands).remove(0);
        assert_eq!(call, Call::List { range: KeyRange::single(b"/a/1a") });
        (client, id)
    }

    fn own(lease: LeaseId) -> Answer {
        let kv = KeyValue { key: "/a/1a".into(), create_revision: Revision(10), lease, ..KeyValue::default() };
        Answer::Listed { revision: Revision(30), keys: vec![kv] }
    }

    fn holding() -> LockApi {
        let (mut client, id) = reading();
        assert_eq!(beliefs(&client.step(NOW, Input::Answer(id, Ok(own(LEASE))))), [Belief::Holding]);
        client
    }

    #[test]
    fn the_token_is_what_created_the_key_and_is_read_from_it() {
        let client = holding();
        assert_eq!((client.standing().created, client.standing().seen), (Revision(10), Revision(30)));
    }

    #[test]
    fn an_answer_for_a_key_that_is_gone_is_no_lock() {
        for answer in [Answer::Listed { revision: Revision(30), keys: Vec::new() }, own(LeaseId(3))] {
            let (mut client, id) = reading();
            assert_eq!(beliefs(&client.step(NOW, Input::Answer(id, Ok(answer)))), [Belief::Lost]);
        }
    }

    #[test]
    fn a_call_without_an_answer_is_not_made_again_by_the_same_session() {
        let (mut client, id) = asking();
        let commands = client.step(NOW, Input::Answer(id, Err(Failure::Unanswered)));
        assert!(client.is_doubtful() && calls(&commands).is_empty());
        assert_eq!((client.standing().belief, &client.standing().key), (Belief::Idle, &Key::default()));
    }

    #[test]
    fn a_refusal_did_nothing_and_is_waited_out() {
        let (mut client, id) = asking();
        let commands = client.step(NOW, Input::Answer(id, Err(Failure::Refused)));
        assert_eq!(set(&commands, Timer::Again), Some(NOW + AGAIN));
        assert!(matches!(calls(&client.step(NOW, Input::Timer(Timer::Again)))[0].1, Call::Lock { .. }));
        assert!(!client.is_doubtful());
    }

    #[test]
    fn who_gives_up_waiting_gives_up_the_call() {
        for input in [Input::Release, Input::Stop, Input::LeaseLost] {
            let (mut client, id) = asking();
            let commands = client.step(NOW, input.clone());
            assert_eq!(commands[0], Command::Abandon(id), "{input:?}");
            assert_eq!(client.is_doubtful(), input == Input::Release, "otherwise the lease ends anyway");
            assert!(client.step(NOW, Input::Answer(id, Ok(Answer::Locked { key: "/a/1a".into() }))).is_empty());
        }
    }

    #[test]
    fn an_unlock_is_made_until_it_is_answered_and_then_the_session_has_to_end() {
        let mut client = holding();
        let (id, call) = calls(&client.step(NOW, Input::Release)).remove(0);
        assert_eq!((&call, client.standing().belief), (&Call::Unlock { key: "/a/1a".into() }, Belief::Idle));
        client.step(NOW, Input::Answer(id, Err(Failure::Unanswered)));
        let (id, same) = calls(&client.step(NOW, Input::Timer(Timer::Again))).remove(0);
        assert_eq!(same, call);
        client.step(NOW, Input::Answer(id, Ok(Answer::Deleted)));
        assert!(client.is_doubtful() && client.standing().key.is_empty());
    }
}
