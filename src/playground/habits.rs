//! How a client behaves, and what of the store that is about.

use std::time::Duration;

use crate::chance::Chance;
use crate::domain::Key;
use crate::recipe::{Kind, Mistakes, Role};

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
    /// leader proclaims that often, a publisher publishes; so long a pair works with its first
    /// lock before it wants the second.
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
    /// How long after the others it begins.
    pub starts: Duration,
    /// Whether it stays at the member that it is connected to although that does not answer: it
    /// reaches no other.
    pub stays: bool,
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
            starts: Duration::ZERO,
            stays: false,
        }
    }
}

impl Habits {
    /// What its recipe is asked for; names are drawn beside `chance`, which does not move.
    pub(super) fn role(&self, chance: &Chance) -> Role {
        let Self { kind, mistakes, writes, .. } = *self;
        let (name, second, value) = (self.name.clone(), self.second.clone(), self.value.clone());
        Role { kind, name, second, value, mistakes, writes, ids: chance.clone().up_to(u64::MAX) }
    }

    /// What of the store its recipe is about.
    pub fn lock(&self) -> LockOf {
        let name = self.name.clone();
        match self.kind {
            Kind::SixSteps
            | Kind::Queue
            | Kind::Herd
            | Kind::LockApi
            | Kind::Election
            | Kind::ElectionApi
            | Kind::Pair => LockOf::Queue(name),
            Kind::SingleKey | Kind::Registration | Kind::Publish => LockOf::SingleKey(name),
            Kind::Watch | Kind::Observe => LockOf::Watched(name),
        }
    }

    /// The time between heartbeats, also where it follows from the lease.
    pub fn heartbeat(&self) -> Duration {
        self.heartbeat.unwrap_or(self.ttl / 3)
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

    /// Whether a key is one of this lock's.
    pub fn has(&self, key: &Key) -> bool {
        match self {
            Self::Queue(name) => key.strip_prefix(&**name).is_some_and(|rest| rest.starts_with(b"/")),
            Self::SingleKey(name) => name == key,
            Self::Watched(_) => false,
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

    /// This length and no other.
    pub const fn of(length: Duration) -> Self {
        Self { shortest: length, longest: length }
    }

    pub(super) fn draw(self, chance: &mut Chance) -> Duration {
        chance.between(self.shortest, self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::play::ClientPicture;

    #[test]
    fn pictures_tell_by_the_recipes_name_who_takes_a_lock() {
        for kind in Kind::ALL {
            let queues = matches!(Habits { kind, ..Habits::default() }.lock(), LockOf::Queue(_));
            let picture = ClientPicture { recipe: kind.name().to_owned(), ..ClientPicture::default() };
            assert_eq!(picture.takes_lock(), queues || kind == Kind::SingleKey, "{kind}");
        }
    }
}
