//! Who holds and who waits, by what was told.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::play::{ClientId, Happening, Ill, Moment};
use crate::domain::{Key, Revision};
use crate::playground::{Cast, LockOf};

/// The clients and their locks at a moment of the run.
#[derive(Debug, Default)]
pub(super) struct Scene {
    /// Who takes part in what.
    parts: BTreeMap<Key, BTreeSet<ClientId>>,
    /// Who looks at which range, and does nothing else.
    watchers: BTreeMap<ClientId, Key>,
    /// Those of them that run.
    watching: BTreeSet<ClientId>,
    /// Who takes a first lock and then this second one. Such a client speaks of holding when it
    /// has both; that it has the first, the store tells.
    pairs: BTreeMap<ClientId, Key>,
    /// Locks whose waiters have no key: there, who takes part and does not hold, waits.
    keyless: BTreeSet<Key>,
    holders: BTreeMap<Key, BTreeSet<ClientId>>,
    waiters: BTreeMap<Key, BTreeMap<ClientId, Revision>>,
}

impl Scene {
    pub fn new(cast: &Cast) -> Self {
        let mut scene = Self::default();
        for (client, habits) in &cast.clients {
            match habits.lock() {
                LockOf::Watched(range) => {
                    scene.watchers.insert(*client, range);
                }
                of => {
                    scene.parts.entry(of.name().clone()).or_default().insert(*client);
                    if let LockOf::SingleKey(key) = &of {
                        scene.keyless.insert(key.clone());
                    }
                    if let Some(second) = &habits.second {
                        scene.parts.entry(second.clone()).or_default().insert(*client);
                        scene.pairs.insert(*client, second.clone());
                    }
                }
            }
        }
        scene
    }

    /// Takes in what happened.
    pub fn see(&mut self, moment: &Moment) {
        let Some(client) = moment.client else { return };
        let lock = &moment.lock;
        if self.watchers.contains_key(&client) {
            match moment.what {
                Happening::Began | Happening::Returned | Happening::Resumed | Happening::Suffered(Ill::Mend) => {
                    self.watching.insert(client);
                }
                Happening::Crashed(_) | Happening::Stopped | Happening::Paused | Happening::Suffered(Ill::Cut) => {
                    self.watching.remove(&client);
                }
                _ => {}
            }
            return;
        }
        match &moment.what {
            // Who joins later takes part from then on.
            Happening::Began => {
                self.parts.entry(lock.clone()).or_default().insert(client);
            }
            Happening::Stopped => {
                if let Some(parts) = self.parts.get_mut(lock) {
                    parts.remove(&client);
                }
                self.leave(client, lock);
            }
            // Who is the first of a queue may be known to the store before it is to the client.
            Happening::Enqueued(_) if self.holds(client, lock) => {}
            Happening::Enqueued(created) => {
                self.waiters.entry(lock.clone()).or_default().insert(client, *created);
            }
            Happening::First(_) => {
                if let Some(second) = self.pairs.get(&client).cloned() {
                    self.holders.entry(lock.clone()).or_default().insert(client);
                    if let Some(waiters) = self.waiters.get_mut(lock) {
                        waiters.remove(&client);
                    }
                    if second != *lock {
                        self.waiters.entry(second).or_default().insert(client, Revision(0));
                    }
                }
            }
            Happening::Acquired(..) => {
                self.leave(client, lock);
                self.holders.entry(lock.clone()).or_default().insert(client);
                if let Some(second) = self.pairs.get(&client) {
                    self.holders.entry(second.clone()).or_default().insert(client);
                }
            }
            Happening::Released(_)
            | Happening::GaveUp
            | Happening::Lost(_)
            | Happening::Dropped(..)
            | Happening::Expired(..) => self.leave(client, lock),
            // Its keys are still there; it itself holds and waits for nothing.
            Happening::Crashed(_) => {
                for holders in self.holders.values_mut() {
                    holders.remove(&client);
                }
                for waiters in self.waiters.values_mut() {
                    waiters.remove(&client);
                }
            }
            _ => {}
        }
    }

    fn holds(&self, client: ClientId, lock: &Key) -> bool {
        self.holders.get(lock).is_some_and(|holders| holders.contains(&client))
    }

    fn leave(&mut self, client: ClientId, lock: &Key) {
        for lock in [Some(lock), self.pairs.get(&client)].into_iter().flatten() {
            if let Some(holders) = self.holders.get_mut(lock) {
                holders.remove(&client);
            }
            if let Some(waiters) = self.waiters.get_mut(lock) {
                waiters.remove(&client);
            }
        }
    }

    /// Who takes part in this.
    pub fn parts(&self, lock: &Key) -> impl Iterator<Item = ClientId> {
        self.parts.get(lock).into_iter().flatten().copied()
    }

    /// Who holds what, by the clients' own word.
    pub const fn holders(&self) -> &BTreeMap<Key, BTreeSet<ClientId>> {
        &self.holders
    }

    /// Whether somebody but this client waits for it.
    pub fn is_waited_for(&self, lock: &Key, but: ClientId) -> bool {
        if self.keyless.contains(lock) {
            return self.parts(lock).any(|client| client != but && !self.holds(client, lock));
        }
        self.waiters.get(lock).is_some_and(|waiters| waiters.keys().any(|client| *client != but))
    }

    /// Who waits for it with the oldest key.
    pub fn waiter(&self, lock: &Key) -> Option<ClientId> {
        self.waiters.get(lock)?.iter().min_by_key(|(_, created)| **created).map(|(client, _)| *client)
    }

    /// What this client waits for.
    pub fn waits_for(&self, client: ClientId) -> Option<&Key> {
        self.waiters.iter().find(|(_, waiters)| waiters.contains_key(&client)).map(|(lock, _)| lock)
    }

    /// Who runs and looks at a range that this key is in.
    pub fn watchers<'a>(&'a self, key: &'a Key) -> impl Iterator<Item = ClientId> + 'a {
        let watching = self.watchers.iter().filter(|(client, _)| self.watching.contains(client));
        watching.filter(|(_, range)| key.starts_with(range)).map(|(client, _)| *client)
    }

    /// Whether this client only looks.
    pub fn watches(&self, client: ClientId) -> bool {
        self.watchers.contains_key(&client)
    }
}
