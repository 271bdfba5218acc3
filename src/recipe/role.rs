//! What a client is to do, and the machine that does it.

use std::time::Duration;

use super::{
    Activity, Election, ElectionApi, Herd, Kind, LockApi, Mistakes, Mutex, Observe, Pair, Publish, Registration,
    SingleKey, SixSteps, Watch,
};
use crate::chance::Chance;
use crate::domain::Key;

/// What a client is to do.
#[derive(Clone, Debug)]
pub struct Role {
    /// By which recipe.
    pub kind: Kind,
    /// The name of the lock or the election, the key, or the prefix.
    pub name: Key,
    /// The name of the second lock of a pair; without one it takes the first alone.
    pub second: Option<Key>,
    /// What it writes into its keys.
    pub value: Vec<u8>,
    /// What its programmer got wrong.
    pub mistakes: Mistakes,
    /// The time between what it proclaims or publishes, or between the locks of a pair; none does
    /// neither.
    pub writes: Option<Duration>,
    /// What the names of its keys are drawn from where it chooses them itself.
    pub ids: u64,
}

impl Role {
    /// The machine that does it.
    pub fn activity(self) -> Box<dyn Activity> {
        let Self { kind, name, second, value, mistakes, writes, ids } = self;
        match kind {
            Kind::SixSteps => Box::new(SixSteps::new(&name, value, Chance::new(ids, 0)).with(mistakes)),
            Kind::Herd => Box::new(Herd::new(&name, value).with(mistakes)),
            Kind::LockApi => Box::new(LockApi::new(name)),
            Kind::Election => Box::new(Election::new(&name, value).with(mistakes).writes(writes)),
            Kind::ElectionApi => Box::new(ElectionApi::new(name, value).writes(writes)),
            Kind::Queue => Box::new(Mutex::new(&name, value).with(mistakes)),
            Kind::Pair => match second {
                Some(second) => Box::new(Pair::new(&name, &second, value).with(mistakes).lingers(writes)),
                None => Box::new(Mutex::new(&name, value).with(mistakes)),
            },
            Kind::SingleKey => Box::new(SingleKey::new(name, value).with(mistakes)),
            Kind::Registration => Box::new(Registration::new(name, value)),
            Kind::Watch => Box::new(Watch::new(&name)),
            Kind::Observe => Box::new(Observe::new(&name)),
            Kind::Publish => Box::new(Publish::new(name, value, writes)),
        }
    }
}
