//! The election of the Election API: `v3electionpb.Election`.
//!
//! ```text
//!   client                             server
//!     ├── Campaign(name, lease, value) ──► puts <name>/<lease>, waits for its turn …
//!     ◄────────── the leader's key ────┤
//!     ├── Proclaim(leader's key, value) ─► another value, if the key is still the same
//!     ├── Resign(leader's key) ──────────► deletes it, if it is still the same
//! ```

use std::time::Duration;

use super::served::{Served, Service};
use super::{Answer, Call};
use crate::domain::{Key, LeaderKey, LeaseId};

/// A candidate by the Election API.
pub type ElectionApi = Served<ElectionService>;

/// The Election service, asked about one election.
#[derive(Clone, Debug)]
pub struct ElectionService {
    name: Key,
    leader: LeaderKey,
}

impl ElectionApi {
    /// A candidate of the election `name`, which campaigns with `value`.
    pub fn new(name: Key, value: Vec<u8>) -> Self {
        Self::by(ElectionService { name, leader: LeaderKey::default() }, value)
    }

    /// The same which, as the leader, proclaims another value that often.
    #[must_use]
    pub fn writes(mut self, every: Option<Duration>) -> Self {
        self.words().every = every;
        self
    }
}

impl Service for ElectionService {
    fn ask(&self, lease: LeaseId, value: Vec<u8>) -> Call {
        Call::Campaign { name: self.name.clone(), lease, value }
    }

    fn take(&mut self, answer: Answer) -> Option<Key> {
        let Answer::Elected(leader) = answer else { return None };
        self.leader = leader;
        Some(self.leader.key.clone())
    }

    fn give_back(&self) -> Call {
        Call::Resign { leader: self.leader.clone() }
    }

    fn proclaim(&self, value: Vec<u8>) -> Option<Call> {
        Some(Call::Proclaim { leader: self.leader.clone(), value })
    }

    fn name(&self) -> &Key {
        &self.name
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{beliefs, calls, set};
    use super::super::{Activity as _, Belief, Failure, Input, Recipe as _, Timer};
    use super::*;
    use crate::domain::raft::ClusterTime;
    use crate::domain::{KeyValue, Revision};

    const NOW: ClusterTime = ClusterTime(5_000_000);
    const LEASE: LeaseId = LeaseId(0x1a);
    const EVERY: Duration = Duration::from_secs(2);

    fn leader_key() -> LeaderKey {
        LeaderKey { name: "/e".into(), key: "/e/1a".into(), created: Revision(10), lease: LEASE }
    }

    fn leader() -> ElectionApi {
        let mut client = ElectionApi::new("/e".into(), b"me".to_vec()).writes(Some(EVERY));
        let (id, call) = calls(&client.step(NOW, Input::Leased(LEASE))).remove(0);
        assert_eq!(call, Call::Campaign { name: "/e".into(), lease: LEASE, value: b"me".to_vec() });
        let (id, _) = calls(&client.step(NOW, Input::Answer(id, Ok(Answer::Elected(leader_key()))))).remove(0);
        let own = KeyValue { key: "/e/1a".into(), create_revision: Revision(10), lease: LEASE, ..KeyValue::default() };
        let listed = Answer::Listed { revision: Revision(30), keys: vec![own] };
        let commands = client.step(NOW, Input::Answer(id, Ok(listed)));
        assert_eq!((beliefs(&commands), set(&commands, Timer::Write)), (vec![Belief::Holding], Some(NOW + EVERY)));
        client
    }

    #[test]
    fn a_leader_proclaims_by_what_it_was_elected_with() {
        let mut client = leader();
        assert!(client.writes_itself());
        let (id, call) = calls(&client.step(NOW, Input::Timer(Timer::Write))).remove(0);
        assert_eq!(call, Call::Proclaim { leader: leader_key(), value: b"me #1".to_vec() });
        let commands = client.step(NOW, Input::Answer(id, Ok(Answer::Put(Revision(31)))));
        assert_eq!(set(&commands, Timer::Write), Some(NOW + EVERY));
        assert_eq!(client.standing().belief, Belief::Holding);
    }

    #[test]
    fn a_proclamation_that_is_refused_comes_from_no_leader() {
        for refused in [Failure::Refused, Failure::LeaseGone] {
            let mut client = leader();
            let (id, _) = calls(&client.step(NOW, Input::Timer(Timer::Write))).remove(0);
            assert_eq!(beliefs(&client.step(NOW, Input::Answer(id, Err(refused)))), [Belief::Lost]);
        }
    }

    #[test]
    fn resigning_gives_back_what_it_was_elected_with() {
        let mut client = leader();
        let (id, call) = calls(&client.step(NOW, Input::Release)).remove(0);
        assert_eq!(call, Call::Resign { leader: leader_key() });
        client.step(NOW, Input::Answer(id, Ok(Answer::Deleted)));
        assert!(client.standing().key.is_empty() && !client.is_doubtful());
    }
}
