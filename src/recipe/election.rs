//! The election of etcd's Go client: `client/v3/concurrency/election.go`.
//!
//! ```text
//!   idle ─► campaign: the queue lock, ─► lead ─ Release ─► resign: delete the key
//!           with a value in the key       │ ▲
//!                                         ▼ │ now and then
//!                                       proclaim: another value, in the same key
//! ```
//!
//! Who stands first in the queue leads, and its key's value is what all may know of it. Another value
//! moves the key's `mod_revision` and not its `create_revision`: it leads on.

use std::time::Duration;

use super::words::Words;
use super::{Activity, Answer, Belief, CallId, Command, Failure, Input, Mistakes, Mutex, Recipe, Standing, Timer};
use crate::domain::raft::ClusterTime;

/// A candidate.
#[derive(Clone, Debug)]
pub struct Election {
    mutex: Mutex,
    words: Words,
    proclaiming: Option<CallId>,
}

impl Election {
    /// A candidate of the election `name`, which campaigns with `value`.
    pub fn new(name: &[u8], value: Vec<u8>) -> Self {
        Self { mutex: Mutex::new(name, value.clone()), words: Words::new(value), proclaiming: None }
    }

    /// The same with mistakes in it.
    #[must_use]
    pub fn with(mut self, mistakes: Mistakes) -> Self {
        self.mutex = self.mutex.with(mistakes);
        self
    }

    /// The same which, as the leader, proclaims another value that often.
    #[must_use]
    pub const fn writes(mut self, every: Option<Duration>) -> Self {
        self.words.every = every;
        self
    }

    fn proclaim(&mut self) -> Vec<Command> {
        let (id, call) = self.mutex.update(self.words.next());
        self.proclaiming = Some(id);
        vec![call]
    }

    fn proclaimed(&mut self, now: ClusterTime, answer: &Result<Answer, Failure>) -> Vec<Command> {
        self.proclaiming = None;
        match answer {
            _ if self.standing().belief != Belief::Holding => Vec::new(),
            Ok(Answer::Updated(false)) | Err(Failure::LeaseGone) => self.mutex.lose(),
            // One that failed is not made again: the next one says more.
            _ => self.words.set(now),
        }
    }
}

impl Activity for Election {
    fn standing(&self) -> &Standing {
        self.mutex.standing()
    }

    fn is_doubtful(&self) -> bool {
        self.mutex.is_doubtful()
    }

    fn is_closed(&self) -> bool {
        self.mutex.is_closed()
    }

    fn writes_itself(&self) -> bool {
        true
    }

    fn reset(&mut self) {
        self.mutex.reset();
        self.proclaiming = None;
    }
}

impl Recipe for Election {
    fn step(&mut self, now: ClusterTime, input: Input) -> Vec<Command> {
        let before = self.standing().belief;
        match input {
            Input::Answer(id, answer) if self.proclaiming == Some(id) => self.proclaimed(now, &answer),
            Input::Timer(Timer::Write) if before == Belief::Holding && self.proclaiming.is_none() => self.proclaim(),
            Input::Timer(Timer::Write) => Vec::new(),
            input => {
                let mut commands = self.mutex.step(now, input);
                if before != Belief::Holding && self.standing().belief == Belief::Holding {
                    self.proclaiming = None;
                    commands.extend(self.words.set(now));
                }
                commands
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Call;
    use super::super::testing::{beliefs, calls, set};
    use super::*;
    use crate::domain::{LeaseId, Revision};

    const NOW: ClusterTime = ClusterTime(5_000_000);
    const LEASE: LeaseId = LeaseId(0x1a);
    const EVERY: Duration = Duration::from_secs(2);

    /// A leader, elected with a key of revision 10.
    fn leader() -> Election {
        let mut election = Election::new(b"/e", b"me".to_vec()).writes(Some(EVERY));
        let (id, call) = calls(&election.step(NOW, Input::Leased(LEASE))).remove(0);
        assert_eq!(call, Call::Create { key: "/e/1a".into(), value: b"me".to_vec(), lease: LEASE });
        let created = Answer::Created { revision: Revision(10), created: Revision(10), lease: LEASE };
        let (id, _) = calls(&election.step(NOW, Input::Answer(id, Ok(created)))).remove(0);
        let first = Answer::Looked { revision: Revision(11), present: true, ahead: None };
        let commands = election.step(NOW, Input::Answer(id, Ok(first)));
        assert_eq!(beliefs(&commands), [Belief::Holding]);
        assert_eq!(set(&commands, Timer::Write), Some(NOW + EVERY));
        election
    }

    fn proclaim(election: &mut Election) -> (CallId, Vec<u8>) {
        let (id, call) = calls(&election.step(NOW, Input::Timer(Timer::Write))).remove(0);
        let Call::Update { key, created, value, lease } = call else { panic!("{call:?}") };
        assert_eq!((key, created, lease), ("/e/1a".into(), Revision(10), LEASE));
        (id, value)
    }

    #[test]
    fn a_leader_proclaims_now_and_then_and_each_time_something_else() {
        let mut election = leader();
        let (id, value) = proclaim(&mut election);
        assert_eq!(value, b"me #1");
        assert!(election.step(NOW, Input::Timer(Timer::Write)).is_empty(), "one at a time");
        let commands = election.step(NOW, Input::Answer(id, Ok(Answer::Updated(true))));
        assert_eq!(set(&commands, Timer::Write), Some(NOW + EVERY));
        let (id, value) = proclaim(&mut election);
        assert_eq!(value, b"me #2");
        let commands = election.step(NOW, Input::Answer(id, Err(Failure::Unanswered)));
        assert_eq!(set(&commands, Timer::Write), Some(NOW + EVERY), "it will have more to say then");
        assert_eq!(election.standing().created, Revision(10), "it leads on by the same key");
    }

    #[test]
    fn whose_proclamation_finds_no_key_leads_no_more() {
        for gone in [Ok(Answer::Updated(false)), Err(Failure::LeaseGone)] {
            let mut election = leader();
            let (id, _) = proclaim(&mut election);
            assert_eq!(beliefs(&election.step(NOW, Input::Answer(id, gone))), [Belief::Lost]);
        }
    }

    #[test]
    fn resigning_deletes_the_key_and_what_was_proclaimed_last_matters_no_more() {
        let mut election = leader();
        let (late, _) = proclaim(&mut election);
        let (id, call) = calls(&election.step(NOW, Input::Release)).remove(0);
        assert_eq!(call, Call::Delete { key: "/e/1a".into(), created: Revision(10) });
        assert!(election.step(NOW, Input::Answer(late, Ok(Answer::Updated(false)))).is_empty());
        assert!(election.step(NOW, Input::Timer(Timer::Write)).is_empty());
        election.step(NOW, Input::Answer(id, Ok(Answer::Deleted)));
        assert_eq!(election.standing().belief, Belief::Idle);
    }
}
