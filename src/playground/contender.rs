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
//! process does after a long garbage collection.

use std::time::Duration;

use crate::chance::Chance;
use crate::domain::raft::ClusterTime;
use crate::domain::{Key, LeaseId};
use crate::recipe::{Activity, Belief, Command, Input, Kind, Mistakes, Part, Recipe, Role, Session, Standing, Timer};

/// How a client behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Habits {
    /// What it does.
    pub kind: Kind,
    /// The name of what it takes part in: of a lock or an election, a key, or a prefix.
    pub name: Key,
    /// The name of the second lock of a pair.
    pub second: Option<Key>,
    /// What it writes into its keys.
    pub value: Vec<u8>,
    /// The length of its lease, in whole seconds.
    pub ttl: Duration,
    /// The time between heartbeats; none is a third of the lease.
    pub heartbeat: Option<Duration>,
    /// The time between writes to what the lock protects, while it holds; none never writes. A
    /// leader proclaims that often, a publisher publishes.
    pub writes: Option<Duration>,
    /// How long it does without the lock.
    pub think: Span,
    /// How long it works with it.
    pub hold: Span,
    /// How long it lives until it crashes; none never does.
    pub crash: Option<Span>,
    /// How long it is away after that.
    pub away: Span,
    /// What its programmer got wrong.
    pub mistakes: Mistakes,
}

impl Default for Habits {
    /// A contender of a nameless queue that does everything at once and never crashes.
    fn default() -> Self {
        let now = Span::millis(0, 0);
        Self {
            kind: Kind::Queue,
            name: Key::default(),
            second: None,
            value: Vec::new(),
            ttl: Duration::from_secs(5),
            heartbeat: None,
            writes: None,
            think: now,
            hold: now,
            crash: None,
            away: now,
            mistakes: Mistakes::default(),
        }
    }
}

impl Habits {
    /// What its recipe is asked for; names are drawn beside `chance`, which does not move.
    fn role(&self, chance: &Chance) -> Role {
        let Self { kind, mistakes, writes, .. } = *self;
        let (name, second, value) = (self.name.clone(), self.second.clone(), self.value.clone());
        Role { kind, name, second, value, mistakes, writes, ids: chance.clone().up_to(u64::MAX) }
    }

    /// What of the store its recipe is about.
    pub fn lock(&self) -> LockOf {
        match self.kind {
            kind if kind.is_queue() => LockOf::Queue(self.name.clone()),
            Kind::Watch | Kind::Observe => LockOf::Watched(self.name.clone()),
            _ => LockOf::SingleKey(self.name.clone()),
        }
    }
}

/// What of the store a recipe is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LockOf {
    /// The queue below this name.
    Queue(Key),
    /// This one key.
    SingleKey(Key),
    /// What is below this prefix is only looked at: there is nothing to hold.
    Watched(Key),
}

impl LockOf {
    /// Its name.
    pub const fn name(&self) -> &Key {
        match self {
            Self::Queue(name) | Self::SingleKey(name) | Self::Watched(name) => name,
        }
    }
}

/// A length of time that is drawn between two bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The shortest it can be.
    pub shortest: Duration,
    /// The longest.
    pub longest: Duration,
}

impl Span {
    /// From so many milliseconds to so many.
    pub const fn millis(shortest: u64, longest: u64) -> Self {
        Self { shortest: Duration::from_millis(shortest), longest: Duration::from_millis(longest) }
    }

    fn draw(self, chance: &mut Chance) -> Duration {
        chance.between(self.shortest, self.longest)
    }
}

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
        let session = Session::new(habits.ttl);
        Self { habits, chance, phase: Phase::Out, session, lock, missed: None }
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
        crash.into_iter().chain(self.session.step(now, Input::Start)).collect()
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
            Input::Timer(Timer::Want) => match self.session.lease() {
                Some(lease) => self.lock.step(now, Input::Leased(lease)),
                None => Vec::new(),
            },
            Input::Timer(Timer::Work) if self.standing().belief == Belief::Holding => {
                self.lock.step(now, Input::Release)
            }
            _ => Vec::new(),
        }
    }

    /// What follows from a step for the client as a whole.
    fn settle(&mut self, now: ClusterTime, leased: Option<LeaseId>, believed: Belief) -> Vec<Command> {
        if self.phase == Phase::Stopping {
            if !self.session.is_closed() {
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
            Belief::Holding => vec![Command::Set(Timer::Work, now + self.habits.hold.draw(&mut self.chance))],
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
        match (self.phase, input) {
            (Phase::Out, Input::Start) | (Phase::Gone, Input::Timer(Timer::Return)) => self.begin(now),
            (Phase::In, Input::Crash | Input::Timer(Timer::Crash)) => self.crash(now),
            (Phase::In, Input::Pause) => {
                self.missed.get_or_insert_default();
                Vec::new()
            }
            (Phase::In, Input::Resume) => {
                let missed = self.missed.take().unwrap_or_default();
                missed.into_iter().flat_map(|input| self.live(now, input)).collect()
            }
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
                    missed.push(input);
                    Vec::new()
                }
                None => self.live(now, input),
            },
            (Phase::Stopping, input) => self.live(now, input),
            (Phase::Out | Phase::Gone | Phase::Stopped, _) => Vec::new(),
        }
    }
}
