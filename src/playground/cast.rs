//! Who takes part in the demo: a lock that many want, and a few other things to look at.

use std::time::Duration;

use super::{ClientId, Habits, LockOf, Span};
use crate::domain::Key;
use crate::recipe::Kind;

/// What all keys of the playground begin with.
pub const PREFIX: &str = "/lockscope/";

/// What the keys of the demo begin with.
pub const DEMO: &str = "/lockscope/demo/";

/// Of so many clients that contend for a lock one is clumsy: it crashes now and then.
const CLUMSY: usize = 8;

/// The clients of a run, and the lock that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cast {
    /// The name of what is shown.
    pub scenario: String,
    /// What it shows, in a sentence.
    pub summary: String,
    /// The lock that it is about.
    pub lock: LockOf,
    /// What all its keys begin with.
    pub prefix: Key,
    /// The clients, with their numbers.
    pub clients: Vec<(ClientId, Habits)>,
    /// What holders write to.
    pub resources: Vec<Protected>,
}

/// Something that a lock protects: a ledger that holders write to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protected {
    /// Its name.
    pub name: String,
    /// Whether it refuses a write with an older fencing token than one that it has seen.
    pub fencing: bool,
}

impl Cast {
    /// A lock that `contenders` clients want, which hold it for a quarter of a second; and beside
    /// it an election, a lock of one key, and two registrations. The lease of a client that
    /// crashes runs out after five seconds: while it does, the others wait.
    pub fn demo(contenders: usize) -> Self {
        let lock = LockOf::Queue(key("ledger"));
        let ttl = Duration::from_secs(5);
        let away = Span::millis(2_000, 5_000);
        let contender = |number: usize| Habits {
            name: lock.name().clone(),
            ttl,
            think: Span::millis(50, 400),
            hold: Span::millis(150, 400),
            crash: (number % CLUMSY == CLUMSY / 2).then(|| clumsy(contenders)),
            away,
            ..Habits::default()
        };
        let other = |kind: Kind, name: &str, value: String, think: Span, hold: Span| {
            let value = value.into_bytes();
            Habits { kind, name: key(name), value, ttl: 2 * ttl, think, hold, away, ..Habits::default() }
        };
        let candidate = |number: usize| {
            let hold = Span::millis(3_000, 6_000);
            other(Kind::Election, "scheduler", format!("host-{number}:8080"), Span::millis(500, 1_500), hold)
        };
        let nightly = |number: usize| {
            let hold = Span::millis(1_500, 3_000);
            other(Kind::SingleKey, "backup", format!("node-{number}"), Span::millis(1_000, 4_000), hold)
        };
        let service = |number: usize| {
            let name = format!("services/web/web-{number}");
            let address = format!("10.0.0.{number}:443");
            // It is there all day.
            let hold = Span::millis(86_400_000, 86_400_000);
            other(Kind::Registration, &name, address, Span::millis(0, 0), hold)
        };
        let clients = (1..=contenders).map(contender);
        let clients = clients.chain((1..=3).map(candidate)).chain((1..=2).map(nightly)).chain((1..=2).map(service));
        Self {
            scenario: "fifo".into(),
            summary: "a queue hands a lock from client to client, oldest key first".into(),
            lock: lock.clone(),
            prefix: Key::from(DEMO),
            clients: (1..).map(ClientId).zip(clients).collect(),
            resources: Vec::new(),
        }
    }

    /// The clients with what each takes part in.
    pub fn locks(&self) -> impl Iterator<Item = (ClientId, LockOf)> {
        self.clients.iter().map(|(client, habits)| (*client, habits.lock()))
    }
}

fn key(name: &str) -> Key {
    Key::from(&*format!("{DEMO}{name}"))
}

/// The first crash comes when the lock has been handed over for a while; and of many clumsy
/// clients each crashes the more seldom, so that the queue does not stand still for ever.
fn clumsy(contenders: usize) -> Span {
    let share = u64::try_from(contenders.div_ceil(CLUMSY)).unwrap_or(u64::MAX);
    Span::millis(6_000, 10_000_u64.saturating_add(share.saturating_mul(20_000)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_has_a_number_and_every_key_is_the_playgrounds() {
        let cast = Cast::demo(8);
        assert_eq!(cast.clients.len(), 15);
        assert!(cast.clients.iter().enumerate().all(|(at, (client, _))| client.0 as usize == at + 1));
        let on_it = cast.locks().filter(|(_, lock)| *lock == cast.lock).count();
        assert_eq!(on_it, 8);
        assert!(cast.locks().all(|(_, lock)| lock.name().starts_with(DEMO.as_bytes())));
        assert!(DEMO.starts_with(PREFIX));
    }

    #[test]
    fn among_eight_one_is_clumsy() {
        for (contenders, clumsy) in [(3, 0), (8, 1), (17, 2), (80, 10)] {
            let cast = Cast::demo(contenders);
            let crash = cast.clients.iter().filter(|(_, habits)| habits.crash.is_some()).count();
            assert_eq!(crash, clumsy, "of {contenders}");
        }
    }
}
