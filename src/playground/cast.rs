//! Who takes part in a run, and what it is about.

use super::scenario::{Wishes, library};
use super::{ClientId, Habits, LockOf};
use crate::domain::Key;

/// What all keys of the playground begin with.
pub const PREFIX: &str = "/lockscope/";

/// What the keys of the demo begin with.
pub const DEMO: &str = "/lockscope/demo/";

/// The clients of a run, and the lock that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cast {
    /// The name of what is shown.
    pub scenario: String,
    /// What it shows, in a sentence.
    pub summary: String,
    /// The same in Chinese.
    pub summary_zh: String,
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
    /// The scenario `fifo`, with so many clients that want its lock; its keys are the demo's.
    ///
    /// # Panics
    /// Never: the tests read every scenario that comes along.
    pub fn demo(contenders: usize) -> Self {
        let clients = u16::try_from(contenders).unwrap_or(u16::MAX);
        let fifo = library::find("fifo").ok().and_then(Result::ok).expect("tests read every scenario that comes along");
        fifo.cast(DEMO, Wishes { clients: Some(clients), ..Wishes::default() })
    }

    /// The clients with what each takes part in.
    pub fn locks(&self) -> impl Iterator<Item = (ClientId, LockOf)> {
        self.clients.iter().map(|(client, habits)| (*client, habits.lock()))
    }
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
}
