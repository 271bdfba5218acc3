//! A session: a lease, and the heartbeat that keeps it alive.
//!
//! ```text
//!   idle ─ Start ─► granting ─ granted ─► live ─ gone, or run out by the own clock ─► lost
//!                    ▲    │ failed          │ Stop
//!                    └────┘                 └───► revoking ─► closed
//!                  Stop: whatever is granted yet is revoked ──┘
//! ```
//!
//! As `Session` of etcd's `client/v3/concurrency` it renews every third of the TTL, unless it is
//! told otherwise. It does not wait for the server to say that the lease is gone: what was granted
//! counts from the moment the call was sent, so that a client stops believing before the server
//! may give its lock to another.

use std::time::Duration;

use super::{Answer, Call, CallId, Command, Failure, Input, Part, Recipe, Standing, Step, Timer};
use crate::domain::LeaseId;
use crate::domain::raft::ClusterTime;

/// How long a client waits before it makes a failed call again.
pub(super) const AGAIN: Duration = Duration::from_millis(200);

/// A lease that is kept alive.
#[derive(Clone, Debug)]
pub struct Session {
    ttl: Duration,
    every: Option<Duration>,
    state: State,
    calls: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Granting { call: Option<CallId>, sent: ClusterTime },
    Abandoning { call: CallId, sent: ClusterTime },
    Live { lease: LeaseId, ttl: Duration, ends: ClusterTime, renewing: Option<(CallId, ClusterTime)> },
    Revoking { lease: LeaseId, call: Option<CallId>, ends: ClusterTime },
    Lost,
    Closed,
}

impl Session {
    /// A session that will ask for leases of this length, in whole seconds.
    pub const fn new(ttl: Duration) -> Self {
        Self { ttl, every: None, state: State::Idle, calls: 0 }
    }

    /// The same with heartbeats this far apart; none is a third of the TTL. If the TTL is no longer
    /// than that the lease is lost before the first of them.
    #[must_use]
    pub const fn every(mut self, every: Option<Duration>) -> Self {
        self.every = every;
        self
    }

    /// The lease, while the session may rely on it.
    pub const fn lease(&self) -> Option<LeaseId> {
        match self.state {
            State::Live { lease, .. } => Some(lease),
            _ => None,
        }
    }

    /// Whether it had a lease and lost it. It can be started again.
    pub const fn is_lost(&self) -> bool {
        matches!(self.state, State::Lost)
    }

    /// Whether it has given up its lease.
    pub const fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed)
    }

    /// Forgets everything but which names of calls were used: the client begins anew.
    pub const fn reset(&mut self) {
        self.state = State::Idle;
    }

    fn call(&mut self, call: Call) -> (CallId, Command) {
        self.calls += 1;
        let id = CallId { part: Part::Session, number: self.calls };
        (id, Command::Call(id, call))
    }

    fn grant(&mut self, now: ClusterTime) -> Vec<Command> {
        let (id, call) = self.call(Call::Grant { ttl: self.ttl });
        self.state = State::Granting { call: Some(id), sent: now };
        vec![Command::Report(Standing::default()), call]
    }

    fn granted(&mut self, now: ClusterTime, sent: ClusterTime, lease: LeaseId, ttl: Duration) -> Vec<Command> {
        let ends = sent + ttl;
        self.state = State::Live { lease, ttl, ends, renewing: None };
        let standing = Standing { step: Step::Heartbeat, lease, ..Standing::default() };
        [Command::Report(standing)].into_iter().chain(self.timers(now, ttl, ends)).collect()
    }

    fn timers(&self, now: ClusterTime, ttl: Duration, ends: ClusterTime) -> [Command; 2] {
        let next = now + self.every.unwrap_or(ttl / 3);
        [Command::Set(Timer::Heartbeat, next), Command::Set(Timer::Expiry, ends)]
    }

    /// Sends heartbeats this far apart from now on, the next one so long from now.
    fn beat(&mut self, now: ClusterTime, every: Duration) -> Vec<Command> {
        self.every = Some(every);
        match self.state {
            State::Live { renewing: None, .. } => vec![Command::Set(Timer::Heartbeat, now + every)],
            _ => Vec::new(),
        }
    }

    fn answered(&mut self, now: ClusterTime, id: CallId, answer: &Result<Answer, Failure>) -> Vec<Command> {
        match (self.state, answer) {
            (State::Granting { call: Some(call), sent }, &Ok(Answer::Granted { lease, ttl })) if call == id => {
                self.granted(now, sent, lease, ttl)
            }
            (State::Granting { call: Some(call), sent }, _) if call == id => {
                self.state = State::Granting { call: None, sent };
                vec![Command::Set(Timer::Heartbeat, now + AGAIN)]
            }
            (State::Abandoning { call, sent }, &Ok(Answer::Granted { lease, ttl })) if call == id => {
                self.revoke(lease, sent + ttl)
            }
            (State::Abandoning { call, .. }, _) if call == id => {
                self.state = State::Closed;
                Vec::new()
            }
            (State::Live { lease, ttl, ends, renewing: Some((call, sent)) }, answer) if call == id => {
                self.renewed(now, (lease, ttl), ends, sent, answer)
            }
            (State::Revoking { call: Some(call), .. }, Ok(_) | Err(Failure::LeaseGone)) if call == id => {
                self.state = State::Closed;
                Vec::new()
            }
            (State::Revoking { lease, call: Some(call), ends }, _) if call == id => {
                self.state = State::Revoking { lease, call: None, ends };
                vec![Command::Set(Timer::Heartbeat, now + AGAIN)]
            }
            _ => Vec::new(),
        }
    }

    fn renewed(
        &mut self,
        now: ClusterTime,
        (lease, ttl): (LeaseId, Duration),
        ends: ClusterTime,
        sent: ClusterTime,
        answer: &Result<Answer, Failure>,
    ) -> Vec<Command> {
        match answer {
            Ok(Answer::Renewed(true)) => {
                let ends = sent + ttl;
                self.state = State::Live { lease, ttl, ends, renewing: None };
                self.timers(now, ttl, ends).into()
            }
            Ok(_) | Err(Failure::LeaseGone) => {
                self.state = State::Lost;
                Vec::new()
            }
            Err(_) => {
                self.state = State::Live { lease, ttl, ends, renewing: None };
                vec![Command::Set(Timer::Heartbeat, now + AGAIN)]
            }
        }
    }

    fn heartbeat(&mut self, now: ClusterTime) -> Vec<Command> {
        match self.state {
            State::Granting { call: None, .. } => self.grant(now),
            State::Live { lease, ttl, ends, renewing: None } => {
                let (id, call) = self.call(Call::KeepAlive(lease));
                self.state = State::Live { lease, ttl, ends, renewing: Some((id, now)) };
                vec![call]
            }
            State::Revoking { ends, .. } if now >= ends => {
                self.state = State::Closed;
                Vec::new()
            }
            State::Revoking { lease, call: None, ends } => self.revoke(lease, ends),
            _ => Vec::new(),
        }
    }

    fn revoke(&mut self, lease: LeaseId, ends: ClusterTime) -> Vec<Command> {
        let (id, call) = self.call(Call::Revoke(lease));
        self.state = State::Revoking { lease, call: Some(id), ends };
        vec![call]
    }

    /// Whether the lease has run out by now, whatever the server knows.
    fn is_over(&self, now: ClusterTime) -> bool {
        matches!(self.state, State::Live { ends, .. } if now >= ends)
    }
}

impl Recipe for Session {
    fn step(&mut self, now: ClusterTime, input: Input) -> Vec<Command> {
        // Asked first: a client that stood still may have an answer waiting that is stale.
        if self.is_over(now) && input != Input::Stop {
            self.state = State::Lost;
        }
        match (self.state, input) {
            (State::Idle | State::Lost, Input::Start) => self.grant(now),
            (_, Input::Answer(id, answer)) => self.answered(now, id, &answer),
            (_, Input::Timer(Timer::Heartbeat)) => self.heartbeat(now),
            (_, Input::Heartbeat(every)) => self.beat(now, every),
            (State::Live { lease, ends, .. }, Input::Stop) => self.revoke(lease, ends),
            (State::Granting { call: Some(call), sent }, Input::Stop) => {
                self.state = State::Abandoning { call, sent };
                Vec::new()
            }
            (State::Revoking { .. } | State::Abandoning { .. }, Input::Stop) => Vec::new(),
            (_, Input::Stop) => {
                self.state = State::Closed;
                Vec::new()
            }
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{calls, set};
    use super::*;

    const TTL: Duration = Duration::from_secs(6);
    const LEASE: LeaseId = LeaseId(7);

    fn at(millis: u64) -> ClusterTime {
        ClusterTime(millis * 1000)
    }

    const GRANTED: Answer = Answer::Granted { lease: LEASE, ttl: TTL };

    /// A session whose grant was sent at 0 and answered at 500 ms.
    fn live() -> Session {
        let mut session = Session::new(TTL);
        let (id, call) = calls(&session.step(at(0), Input::Start)).remove(0);
        assert_eq!(call, Call::Grant { ttl: TTL });
        let commands = session.step(at(500), Input::Answer(id, Ok(GRANTED)));
        assert_eq!(set(&commands, Timer::Heartbeat), Some(at(2_500)));
        assert_eq!(set(&commands, Timer::Expiry), Some(at(6_000)), "it counts from the sending");
        session
    }

    fn heartbeat(session: &mut Session, now: ClusterTime) -> CallId {
        let (id, call) = calls(&session.step(now, Input::Timer(Timer::Heartbeat))).remove(0);
        assert_eq!(call, Call::KeepAlive(LEASE));
        id
    }

    #[test]
    fn a_lease_is_renewed_every_third_of_its_time() {
        let mut session = live();
        let id = heartbeat(&mut session, at(2_500));
        let commands = session.step(at(2_600), Input::Answer(id, Ok(Answer::Renewed(true))));
        assert_eq!(set(&commands, Timer::Heartbeat), Some(at(4_600)));
        assert_eq!(set(&commands, Timer::Expiry), Some(at(8_500)));
        assert_eq!(session.lease(), Some(LEASE));
    }

    #[test]
    fn another_interval_counts_from_now_on_and_one_above_the_ttl_loses_the_lease() {
        let mut session = live();
        let second = Duration::from_secs(1);
        assert_eq!(set(&session.step(at(600), Input::Heartbeat(second)), Timer::Heartbeat), Some(at(1_600)));
        let id = heartbeat(&mut session, at(1_600));
        assert_eq!(
            set(&session.step(at(1_650), Input::Heartbeat(TTL * 2)), Timer::Heartbeat),
            None,
            "one is under way"
        );
        let commands = session.step(at(1_700), Input::Answer(id, Ok(Answer::Renewed(true))));
        assert_eq!(set(&commands, Timer::Heartbeat), Some(at(13_700)));
        assert_eq!(set(&commands, Timer::Expiry), Some(at(7_600)));
        session.step(at(7_600), Input::Timer(Timer::Expiry));
        assert!(session.is_lost());
    }

    #[test]
    fn the_interval_can_be_chosen_from_the_beginning() {
        let mut session = Session::new(TTL).every(Some(TTL / 2));
        let (id, _) = calls(&session.step(at(0), Input::Start)).remove(0);
        let commands = session.step(at(500), Input::Answer(id, Ok(GRANTED)));
        assert_eq!(set(&commands, Timer::Heartbeat), Some(at(3_500)));
    }

    #[test]
    fn a_heartbeat_that_fails_is_sent_again_soon() {
        let mut session = live();
        let id = heartbeat(&mut session, at(2_500));
        let commands = session.step(at(4_000), Input::Answer(id, Err(Failure::Unanswered)));
        assert_eq!(set(&commands, Timer::Heartbeat), Some(at(4_000) + AGAIN));
        assert_eq!(set(&commands, Timer::Expiry), None, "the lease has not become longer");
        heartbeat(&mut session, at(4_200));
    }

    #[test]
    fn the_session_is_lost_when_the_server_says_so() {
        for gone in [Ok(Answer::Renewed(false)), Err(Failure::LeaseGone)] {
            let mut session = live();
            let id = heartbeat(&mut session, at(2_500));
            session.step(at(2_600), Input::Answer(id, gone));
            assert!(session.is_lost() && session.lease().is_none());
        }
    }

    #[test]
    fn the_session_is_lost_when_its_time_is_up_whoever_answers_later() {
        let mut session = live();
        session.step(at(6_000), Input::Timer(Timer::Expiry));
        assert!(session.is_lost());
        let mut session = live();
        let id = heartbeat(&mut session, at(2_500));
        session.step(at(6_000), Input::Answer(id, Ok(Answer::Renewed(true))));
        assert!(session.is_lost(), "the answer lay about while the client stood still");
    }

    #[test]
    fn a_lost_session_can_begin_anew_and_old_answers_mean_nothing_to_it() {
        let mut session = live();
        let old = heartbeat(&mut session, at(2_500));
        session.step(at(6_000), Input::Timer(Timer::Expiry));
        let (new, _) = calls(&session.step(at(6_000), Input::Start)).remove(0);
        assert_ne!(old, new);
        assert!(session.step(at(6_100), Input::Answer(old, Ok(Answer::Renewed(true)))).is_empty());
        session.step(at(6_200), Input::Answer(new, Ok(GRANTED)));
        assert_eq!(session.lease(), Some(LEASE));
    }

    #[test]
    fn a_grant_that_is_not_answered_is_asked_for_again() {
        let mut session = Session::new(TTL);
        let (id, _) = calls(&session.step(at(0), Input::Start)).remove(0);
        let commands = session.step(at(100), Input::Answer(id, Err(Failure::Unanswered)));
        assert_eq!(set(&commands, Timer::Heartbeat), Some(at(100) + AGAIN));
        let (again, call) = calls(&session.step(at(300), Input::Timer(Timer::Heartbeat))).remove(0);
        assert!(again != id && call == Call::Grant { ttl: TTL });
    }

    #[test]
    fn stopping_revokes_what_was_granted_and_what_is_granted_yet() {
        let mut session = live();
        let (id, call) = calls(&session.step(at(700), Input::Stop)).remove(0);
        assert_eq!((call, session.lease()), (Call::Revoke(LEASE), None));
        session.step(at(800), Input::Answer(id, Err(Failure::Unanswered)));
        let (again, call) = calls(&session.step(at(1_000), Input::Timer(Timer::Heartbeat))).remove(0);
        assert_eq!(call, Call::Revoke(LEASE));
        session.step(at(1_100), Input::Answer(again, Err(Failure::LeaseGone)));
        assert!(session.is_closed(), "gone is as good as revoked");

        let mut session = Session::new(TTL);
        let (id, _) = calls(&session.step(at(0), Input::Start)).remove(0);
        assert!(session.step(at(10), Input::Stop).is_empty() && !session.is_closed());
        assert_eq!(calls(&session.step(at(20), Input::Answer(id, Ok(GRANTED))))[0].1, Call::Revoke(LEASE));
    }
}
