//! What a client is to do, and the machine that does it.

use std::time::Duration;

use super::{Activity, Herd, Kind, Mistakes, Mutex, SingleKey, SixSteps};
use crate::chance::Chance;
use crate::domain::Key;

/// What a client is to do.
#[derive(Clone, Debug)]
pub struct Role {
    /// By which recipe.
    pub kind: Kind,
    /// The name of the lock or the election, the key, or the prefix.
    pub name: Key,
    /// The name of the second lock of a pair.
    pub second: Option<Key>,
    /// What it writes into its keys.
    pub value: Vec<u8>,
    /// What its programmer got wrong.
    pub mistakes: Mistakes,
    /// The time between what it proclaims or publishes; none does neither.
    pub writes: Option<Duration>,
    /// What the names of its keys are drawn from where it chooses them itself.
    pub ids: u64,
}

impl Role {
    /// The machine that does it.
    pub fn activity(self) -> Box<dyn Activity> {
        let Self { kind, name, value, mistakes, ids, .. } = self;
        match kind {
            Kind::SixSteps => Box::new(SixSteps::new(&name, value, Chance::new(ids, 0)).with(mistakes)),
            Kind::Herd => Box::new(Herd::new(&name, value).with(mistakes)),
            kind if kind.is_queue() => Box::new(Mutex::new(&name, value).with(mistakes)),
            _ => Box::new(SingleKey::new(name, value)),
        }
    }
}
