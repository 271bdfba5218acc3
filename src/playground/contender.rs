//! A simulated client: it thinks, takes a lock, works, releases, and begins again; some crash.
//!
//! ```text
//!   out ─ Start ─► session ─► think ─► lock ─► work ─► release ─┐
//!                    ▲          ▲                               │
//!                    │          └───────────────────────────────┘
//!                    │ Return                Crash, from anywhere
//!                   gone ◄──────────────────────────┘
//! ```
//!
//! Pure, as the recipes it follows: all lengths of time are drawn from its own seed. A client
//! that stands still ([`Input::Pause`]) learns of what happened meanwhile when it goes on, as a
//! process does after a long garbage collection. It goes on where it stood: a holder makes the
//! write that it was about to make, without a look at its lease, as real programs do. That is the
//! stale write which a fencing token is for.

use super::{Habits, Span};
use crate::chance::Chance;
use crate::domain::LeaseId;
use crate::domain::raft::ClusterTime;
use crate::recipe::{Activity, Belief, Command, Input, Part, Recipe, Session, Standing, Timer};

/// What a client that stands still can learn later. Of more than that its watch is lost, as a
/// server drops a watcher that takes nothing any more.
const MISSED: usize = 4096;

/// A simulated client.
#[derive(Debug)]
pub struct Contender {
    habits: Habits,
    chance: Chance,
    phase: Phase,
    session: Session,
    lock: Box<dyn Activity>,
    /// While it stands still: what it will learn when it goes on.
    missed: Option<Vec<Input>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Out,
    In,
    Gone,
    Stopping,
    Stopped,
}

impl Contender {
    /// A client with these habits, whose times follow from `chance`.
    pub fn new(habits: Habits, chance: Chance) -> Self {
        let lock = habits.role(&chance).activity();
        let session = Session::new(habits.ttl).every(habits.heartbeat);
        Self { habits, chance, phase: Phase::Out, session, lock, missed: None }
    }

    /// How it behaves.
    pub const fn habits(&self) -> &Habits {
        &self.habits
    }

    /// Where it stands in its lock.
    pub fn standing(&self) -> &Standing {
        self.lock.standing()
    }

    /// Whether it has ended in order.
    pub const fn is_stopped(&self) -> bool {
        matches!(self.phase, Phase::Stopped)
    }

    fn begin(&mut self, now: ClusterTime) -> Vec<Command> {
        self.phase = Phase::In;
        let crash = self.habits.crash.map(|after| Command::Set(Timer::Crash, now + after.draw(&mut self.chance)));
        let begin = if self.lock.needs_lease() { self.session.step(now, Input::Start) } else { self.think(now) };
        crash.into_iter().chain(begin).collect()
    }

    fn crash(&mut self, now: ClusterTime) -> Vec<Command> {
        self.phase = Phase::Gone;
        self.missed = None;
        self.session.reset();
        self.lock.reset();
        vec![Command::Crashed, Command::Set(Timer::Return, now + self.habits.away.draw(&mut self.chance))]
    }

    fn stop(&mut self, now: ClusterTime) -> Vec<Command> {
        self.phase = Phase::Stopping;
        let lock = self.lock.step(now, Input::Stop);
        let session = self.session.step(now, Input::Stop);
        lock.into_iter().chain(session).collect()
    }

    /// Hands an input to the machine it is for.
    fn route(&mut self, now: ClusterTime, input: Input) -> Vec<Command> {
        match input {
            Input::Answer(id, _) if id.part == Part::Session => self.session.step(now, input),
            Input::Timer(Timer::Heartbeat | Timer::Expiry) => self.session.step(now, input),
            Input::Answer(..)
            | Input::Changed { .. }
            | Input::WatchLost(_)
            | Input::Timer(Timer::Again)
            | Input::Release => self.lock.step(now, input),
            Input::Timer(Timer::Want) if !self.lock.needs_lease() => self.lock.step(now, Input::Start),
            Input::Timer(Timer::Want) => match self.session.lease() {
                Some(lease) => self.lock.step(now, Input::Leased(lease)),
                None => Vec::new(),
            },
            Input::Timer(Timer::Work) if self.standing().belief == Belief::Holding => {
                self.lock.step(now, Input::Release)
            }
            Input::Timer(Timer::Write) if self.lock.writes_itself() => self.lock.step(now, input),
            Input::Timer(Timer::Write) => self.write(now),
            Input::Refused(_) if self.standing().belief == Belief::Holding => self.begin_anew(now),
            _ => Vec::new(),
        }
    }

    /// As the holder, writes and will write again. Whether it still holds it does not ask: it
    /// believes so.
    fn write(&mut self, now: ClusterTime) -> Vec<Command> {
        match self.habits.writes {
            Some(every) if self.standing().belief == Belief::Holding && !self.lock.writes_itself() => {
                vec![Command::Write(self.standing().created), Command::Set(Timer::Write, now + every)]
            }
            _ => Vec::new(),
        }
    }

    /// Somebody else has held since: nothing that it has counts any more.
    fn begin_anew(&mut self, now: ClusterTime) -> Vec<Command> {
        let lost = self.lock.step(now, Input::LeaseLost);
        lost.into_iter().chain(self.session.step(now, Input::Stop)).collect()
    }

    /// What it learns of itself rather than of the world; it counts for all its lives.
    fn changes_habits(&mut self, now: ClusterTime, input: &Input) -> Option<Vec<Command>> {
        match *input {
            Input::Hold(length) => {
                self.habits.hold = Span::of(length);
                let holds = self.phase == Phase::In && self.standing().belief == Belief::Holding;
                Some(if holds { vec![Command::Set(Timer::Work, now + length)] } else { Vec::new() })
            }
            Input::Heartbeat(every) => {
                self.habits.heartbeat = Some(every);
                Some(self.session.step(now, Input::Heartbeat(every)))
            }
            _ => None,
        }
    }

    /// Keeps for later what it cannot learn now.
    fn miss(missed: &mut Vec<Input>, input: Input) {
        let is_much = missed.len() >= MISSED;
        match input {
            Input::Changed { watch, .. } if is_much => {
                if !missed.contains(&Input::WatchLost(watch)) {
                    missed.push(Input::WatchLost(watch));
                }
            }
            input => missed.push(input),
        }
    }

    /// Goes on where it stood, which for a holder is its next write, and learns what it missed.
    fn wake(&mut self, now: ClusterTime) -> Vec<Command> {
        let missed = self.missed.take().unwrap_or_default();
        let (writes, rest): (Vec<_>, Vec<_>) =
            missed.into_iter().partition(|input| *input == Input::Timer(Timer::Write));
        writes.into_iter().chain(rest).flat_map(|input| self.live(now, input)).collect()
    }

    /// What follows from a step for the client as a whole.
    fn settle(&mut self, now: ClusterTime, leased: Option<LeaseId>, believed: Belief) -> Vec<Command> {
        if self.phase == Phase::Stopping {
            if !self.session.is_closed() || !self.lock.is_closed() {
                return Vec::new();
            }
            self.phase = Phase::Stopped;
            return vec![Command::Stopped];
        }
        if self.session.is_lost() {
            let mut commands = self.lock.step(now, Input::LeaseLost);
            commands.extend(self.session.step(now, Input::Start));
            return commands;
        }
        if self.session.is_closed() {
            self.session.reset();
            return self.session.step(now, Input::Start);
        }
        let belief = self.standing().belief;
        if leased.is_none() && self.session.lease().is_some() {
            return self.think(now);
        }
        match belief {
            _ if belief == believed => Vec::new(),
            Belief::Holding => {
                let work = Command::Set(Timer::Work, now + self.habits.hold.draw(&mut self.chance));
                let writes = self.write(now);
                [work].into_iter().chain(writes).collect()
            }
            // The lock lost its key. Whether the lease is gone too, a heartbeat tells.
            Belief::Lost => {
                let heartbeat = self.session.step(now, Input::Timer(Timer::Heartbeat));
                self.think(now).into_iter().chain(heartbeat).collect()
            }
            Belief::Idle | Belief::Waiting => Vec::new(),
        }
    }

    /// After a release: what was put in doubt ends with the lease, or it could come to be later
    /// and stand in the queue for nobody.
    fn released(&mut self, now: ClusterTime) -> Vec<Command> {
        if self.lock.is_doubtful() { self.session.step(now, Input::Stop) } else { self.think(now) }
    }

    fn think(&mut self, now: ClusterTime) -> Vec<Command> {
        vec![Command::Set(Timer::Want, now + self.habits.think.draw(&mut self.chance))]
    }

    fn live(&mut self, now: ClusterTime, input: Input) -> Vec<Command> {
        let (leased, before) = (self.session.lease(), self.standing().clone());
        let mut commands = self.route(now, input);
        commands.extend(self.settle(now, leased, before.belief));
        // The key is gone: the standing names none any more.
        if self.phase == Phase::In && !before.key.is_empty() && self.standing().key.is_empty() {
            commands.extend(self.released(now));
        }
        commands
    }
}

impl Recipe for Contender {
    fn step(&mut self, now: ClusterTime, input: Input) -> Vec<Command> {
        if let Some(commands) = self.changes_habits(now, &input) {
            return commands;
        }
        match (self.phase, input) {
            (Phase::Out, Input::Start) if !self.habits.starts.is_zero() => {
                self.phase = Phase::Gone;
                vec![Command::Set(Timer::Return, now + self.habits.starts)]
            }
            (Phase::Out, Input::Start) | (Phase::Gone, Input::Timer(Timer::Return)) => self.begin(now),
            (Phase::In, Input::Crash | Input::Timer(Timer::Crash)) => self.crash(now),
            (Phase::In, Input::Pause) => {
                self.missed.get_or_insert_default();
                Vec::new()
            }
            (Phase::In, Input::Resume) => self.wake(now),
            (Phase::In, Input::Stop) => {
                self.missed = None;
                let mut commands = self.stop(now);
                commands.extend(self.settle(now, None, Belief::Idle));
                commands
            }
            (Phase::Out | Phase::Gone, Input::Stop) => {
                self.phase = Phase::Stopped;
                vec![Command::Stopped]
            }
            (Phase::In, input) => match &mut self.missed {
                Some(missed) => {
                    Self::miss(missed, input);
                    Vec::new()
                }
                None => self.live(now, input),
            },
            (Phase::Stopping, input) => self.live(now, input),
            (Phase::Out | Phase::Gone | Phase::Stopped, _) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Revision;
    use crate::recipe::WatchId;
    use crate::recipe::testing::put;

    #[test]
    fn a_client_that_stands_still_keeps_only_so_much_for_later() {
        let mut missed = Vec::new();
        let watch = WatchId(1);
        for revision in 0..10_000 {
            Contender::miss(&mut missed, Input::Changed { watch, revision: Revision(revision), event: put("/a") });
        }
        assert_eq!((missed.len(), missed.last()), (MISSED + 1, Some(&Input::WatchLost(watch))));
        Contender::miss(&mut missed, Input::Timer(Timer::Expiry));
        assert_eq!(missed.last(), Some(&Input::Timer(Timer::Expiry)), "what ends its lease is never left out");
    }
}
