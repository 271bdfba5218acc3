//! What a write would take with it: every key that goes, every lock that is freed by it, and who
//! gets each next.

use std::collections::BTreeSet;

use crate::domain::write::Write;
use crate::domain::{Key, Revision, Sentence};

use super::{Facts, LockView};

/// What a write would do, as far as is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlastRadius {
    /// The write.
    pub write: Write,
    /// Every key that goes, with its create_revision, in the order of their names.
    pub keys: Vec<(Key, Revision)>,
    /// Every lock that one of them holds or waits for, in the order of their names.
    pub locks: Vec<Struck>,
    /// The same with etcdctl: a command for a shell.
    pub etcdctl: Sentence,
}

/// A lock that a write takes keys from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Struck {
    /// Its name.
    pub name: Key,
    /// Whether its holder goes, so that it passes on; else only someone who waits goes.
    pub freed: bool,
    /// The key that holds it then; `None` when nobody is known to wait.
    pub next: Option<Key>,
}

impl BlastRadius {
    /// What a write would do by these facts.
    pub fn of(facts: &Facts, write: &Write) -> Self {
        let keys = match write {
            Write::Revoke { lease } => facts.lease(*lease).map_or_else(Vec::new, |lease| {
                lease.keys().iter().map(|key| (Key::from(key.key()), key.token())).collect()
            }),
            Write::Release { key, create_revision, .. } => vec![(key.clone(), *create_revision)],
            Write::MoveLeader { .. } | Write::Disarm(_) => Vec::new(),
        };
        Self::of_keys(facts, write, keys)
    }

    /// What a write would do that takes these keys, which the cluster told of: some may be
    /// outside of what is watched. Of those it is not known whether they are in a lock.
    pub fn of_keys(facts: &Facts, write: &Write, mut keys: Vec<(Key, Revision)>) -> Self {
        keys.sort_unstable();
        let gone: BTreeSet<&[u8]> = keys.iter().map(|(key, _)| key.as_bytes()).collect();
        let mut locks: Vec<Struck> = gone
            .iter()
            .filter_map(|key| facts.lock_of(facts.key(key)?.entry()))
            .filter(|lock| lock.layout().is_lock())
            .map(|lock| Struck::of(&lock, &gone))
            .collect();
        locks.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        locks.dedup_by(|a, b| a.name == b.name);
        Self { etcdctl: etcdctl(write), write: write.clone(), keys, locks }
    }
}

impl Struck {
    fn of(lock: &LockView<'_>, gone: &BTreeSet<&[u8]>) -> Self {
        let stays = |key: &[u8]| !gone.contains(key);
        let still_held = lock.holders().find(|holder| stays(holder.key()));
        let next = still_held.or_else(|| lock.waiters().map(|waiter| waiter.key).find(|key| stays(key.key())));
        Self { name: lock.name().into(), freed: still_held.is_none(), next: next.map(|key| key.key().into()) }
    }
}

fn etcdctl(write: &Write) -> Sentence {
    match write {
        Write::Revoke { lease } => Sentence::new("etcdctl lease revoke {lease}").with("lease", *lease),
        // etcdctl's own form of the guarded transaction: compares, an empty line, then the request.
        Write::Release { key, create_revision, .. } => {
            Sentence::new("etcdctl del {key}  # only while its create_revision is {revision}")
                .with("key", key.clone())
                .with("revision", *create_revision)
        }
        Write::MoveLeader { to } => Sentence::new("etcdctl move-leader {member}").with("member", to.to_string()),
        Write::Disarm(_) => Sentence::new("etcdctl alarm disarm"),
    }
}
