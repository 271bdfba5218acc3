//! What a write would take with it: every key that goes, every lock that is freed by it, and who
//! gets each next.

use std::collections::BTreeSet;

use crate::domain::escape::go_quoted;
use crate::domain::write::Write;
use crate::domain::{Key, Revision, Sentence, Value};

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
    /// A command for a shell that shows what came of it, when nobody knows.
    pub look: Sentence,
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

    /// The same where it is known which keys go, those that are not watched among them.
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
        Self { etcdctl: etcdctl(write), look: look(write), write: write.clone(), keys, locks }.reached_by(&[])
    }

    /// The same with commands that find the cluster: with the variables that say where it is and
    /// who asks, a password never among them.
    #[must_use]
    pub fn reached_by(mut self, variables: &[(&'static str, String)]) -> Self {
        for command in [&mut self.etcdctl, &mut self.look] {
            command.values.retain(|(name, _)| *name != "reach");
            command.values.push(("reach", Value::Variables(variables.to_vec())));
        }
        self
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

/// The write as etcdctl makes it. Ids below zero need the dashes before them, or they are flags.
fn etcdctl(write: &Write) -> Sentence {
    match write {
        Write::Revoke { lease } if lease.0 < 0 => {
            Sentence::new("{reach}etcdctl lease revoke -- {lease}").with("lease", *lease)
        }
        Write::Revoke { lease } => Sentence::new("{reach}etcdctl lease revoke {lease}").with("lease", *lease),
        // What `etcdctl txn` reads: comparisons, an empty line, requests for when they hold, an
        // empty line, requests for when they do not. Keys are strings of Go.
        Write::Release { key, create_revision, .. } => {
            let key = go_quoted(key);
            Sentence::new("printf '%s\\n' {compare} '' {delete} '' '' | {reach}etcdctl txn")
                .with("compare", format!("create({key}) = \"{create_revision}\""))
                .with("delete", format!("del -- {key}"))
        }
        // Only the leader takes it, so it has to be among the endpoints.
        Write::MoveLeader { to } => Sentence::new("{reach}etcdctl move-leader {member}").with("member", to.to_string()),
        Write::Disarm(_) => Sentence::new("{reach}etcdctl alarm disarm  # every alarm of every member"),
    }
}

fn look(write: &Write) -> Sentence {
    match write {
        Write::Revoke { lease } => Sentence::new("{reach}lockscope revoke {lease} --dry-run").with("lease", *lease),
        // A name that begins with a dash would be taken for a flag.
        Write::Release { lock, .. } if lock.starts_with(b"-") => {
            Sentence::new("{reach}lockscope show -- {lock}").with("lock", lock.clone())
        }
        Write::Release { lock, .. } => Sentence::new("{reach}lockscope show {lock}").with("lock", lock.clone()),
        Write::MoveLeader { .. } | Write::Disarm(_) => Sentence::new("{reach}lockscope members"),
    }
}
