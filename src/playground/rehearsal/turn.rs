//! What a member does for a client that leaves the queueing to it: `Lock` and `Campaign` as etcd
//! makes them of other calls (`api/v3lock`, `api/v3election`, on `concurrency/mutex.go` and
//! `election.go`).
//!
//! ```text
//!   granting ─► entering ─► looking ─ somebody is before it ─► waiting
//!  without a     │   ▲       │   ▲                               │
//!    lease       ▼   │       │   └──────── that key is gone ─────┘
//!           reading, saying  ▼
//!           what was there   answered: nobody is before it
//! ```
//!
//! It looks at its own key only when its turn has come, and for an election not even then.

use std::time::Duration;

use crate::domain::{Key, KeyRange, KeyValue, LeaderKey, LeaseId, Revision};
use crate::mvcc::queue;
use crate::recipe::{Answer, Call, Failure};

/// How long the lease of a caller without one lives.
const SESSION: Duration = Duration::from_secs(queue::SESSION_TTL.unsigned_abs());

/// A caller's turn to come.
#[derive(Clone, Debug)]
pub struct Turn {
    name: Key,
    lease: LeaseId,
    /// What to say as the leader; none for a lock.
    value: Option<Vec<u8>>,
    /// When the own key was created, once that is known.
    created: Option<Revision>,
    state: State,
    /// Whether nobody waits for the answer any more.
    given_up: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Granting,
    Entering,
    Reading,
    Saying,
    Looking,
    Waiting,
}

/// What a turn needs next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// The answer to a call.
    Ask(Call),
    /// To be told when this key is gone.
    Wait {
        /// The key.
        key: Key,
        /// From which revision on it may go.
        from: Revision,
    },
    /// Nothing: this is the answer, and what has to be done behind it.
    Answer(Result<Answer, Failure>, Option<Call>),
}

impl Turn {
    /// The turn that this call asks for, if it does, and what it needs first.
    pub fn of(call: &Call) -> Option<(Self, Next)> {
        let (name, lease, value) = match call {
            Call::Lock { name, lease } => (name.clone(), *lease, None),
            Call::Campaign { name, lease, value } => (name.clone(), *lease, Some(value.clone())),
            _ => return None,
        };
        let mut turn = Self { name, lease, value, created: None, state: State::Granting, given_up: false };
        let first = if lease.is_none() { Next::Ask(Call::Grant { ttl: SESSION }) } else { turn.enter() };
        Some((turn, first))
    }

    /// Takes in the answer to what it asked.
    pub fn answered(&mut self, answer: Result<Answer, Failure>) -> Next {
        match (self.state, answer) {
            (_, Err(failure)) => self.fail(failure),
            (State::Granting, Ok(Answer::Granted { lease, .. })) => {
                self.lease = lease;
                self.enter()
            }
            (State::Entering, Ok(Answer::Created { revision, created, .. })) => {
                self.created = Some(created);
                if self.given_up {
                    return self.fail(Failure::Unanswered);
                }
                if self.value.is_some() && created < revision { self.read() } else { self.look() }
            }
            (State::Reading, Ok(Answer::Listed { keys, .. })) => self.say(&keys),
            (State::Saying, Ok(Answer::Updated(true))) => self.look(),
            (State::Looking, Ok(Answer::Looked { revision, ahead: Some(key), .. })) => {
                self.state = State::Waiting;
                Next::Wait { key, from: revision.next() }
            }
            (State::Looking, Ok(Answer::Looked { present, .. })) => self.come(present),
            _ => self.fail(Failure::Refused),
        }
    }

    /// The key it waited for is gone.
    pub fn look(&mut self) -> Next {
        self.state = State::Looking;
        let (key, created, queue) = (self.key(), self.created.unwrap_or_default(), self.queue());
        Next::Ask(Call::Look { key, created, queue })
    }

    /// Nobody waits for the answer any more. What has to be done for it; none if that is not known
    /// before the own key is there.
    pub fn give_up(&mut self) -> Option<Call> {
        self.given_up = true;
        self.leave()
    }

    fn queue(&self) -> Key {
        queue::of(&self.name).start
    }

    fn key(&self) -> Key {
        queue::place(&self.name, self.lease)
    }

    fn enter(&mut self) -> Next {
        self.state = State::Entering;
        let (key, value) = (self.key(), self.value.clone().unwrap_or_default());
        Next::Ask(Call::Create { key, value, lease: self.lease })
    }

    fn read(&mut self) -> Next {
        self.state = State::Reading;
        Next::Ask(Call::List { range: KeyRange::single(&self.key()) })
    }

    /// Who stands already says what he wants to say now.
    fn say(&mut self, found: &[KeyValue]) -> Next {
        let value = self.value.clone().unwrap_or_default();
        if found.first().is_some_and(|kv| kv.value == value) {
            return self.look();
        }
        self.state = State::Saying;
        let (key, created) = (self.key(), self.created.unwrap_or_default());
        Next::Ask(Call::Update { key, created, value, lease: self.lease })
    }

    /// Nobody is before it any more.
    fn come(&self, present: bool) -> Next {
        let (name, key, lease) = (self.name.clone(), self.key(), self.lease);
        let answer = match self.value {
            Some(_) => {
                let created = self.created.unwrap_or_default();
                Ok(Answer::Elected(LeaderKey { name, key, created, lease }))
            }
            None if present => Ok(Answer::Locked { key }),
            None => Err(Failure::LeaseGone),
        };
        Next::Answer(answer, None)
    }

    /// A lock that is not taken is given up; a candidate who gets an error may come back.
    fn fail(&self, failure: Failure) -> Next {
        let leaves = self.value.is_none() || self.given_up;
        Next::Answer(Err(failure), if leaves { self.leave() } else { None })
    }

    fn leave(&self) -> Option<Call> {
        self.created.map(|created| Call::Delete { key: self.key(), created })
    }
}
