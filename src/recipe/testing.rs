//! For tests of recipes: a store that knows their calls, leases, and its history; and ways to
//! find something among commands.
//!
//! The store answers at once and in order, except those who wait for a turn; delays, losses and
//! the order of things are for the tests to choose.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{Answer, Belief, Call, CallId, Command, Failure, Timer, WatchId};
use crate::domain::play::Sight;
use crate::domain::raft::ClusterTime;
use crate::domain::{Key, KeyEvent, KeyRange, KeyValue, LeaderKey, LeaseId, Revision};

/// The store.
#[derive(Clone, Debug, Default)]
pub struct Store {
    /// The revision of the last change.
    pub revision: Revision,
    /// What is there.
    pub keys: BTreeMap<Key, KeyValue>,
    /// What changed, in order.
    pub changes: Vec<(Revision, KeyEvent)>,
    ages: BTreeMap<Revision, Key>,
    leases: BTreeMap<LeaseId, (Duration, ClusterTime)>,
    ends: BTreeSet<(ClusterTime, LeaseId)>,
    granted: i64,
}

/// A call that waits for its turn.
#[derive(Clone, Debug)]
pub struct Turn {
    call: Call,
    name: Key,
    lease: LeaseId,
    key: Key,
    created: Revision,
}

impl Store {
    /// Makes a call.
    ///
    /// # Panics
    /// With one that waits for its turn: that is [`Store::enqueue`]'s.
    pub fn ask(&mut self, now: ClusterTime, call: &Call) -> Result<Answer, Failure> {
        self.expire(now);
        match call.clone() {
            Call::Grant { ttl } => {
                self.granted += 1;
                let lease = LeaseId(0x1000 + self.granted);
                self.leases.insert(lease, (ttl, now + ttl));
                self.ends.insert((now + ttl, lease));
                Ok(Answer::Granted { lease, ttl })
            }
            Call::KeepAlive(lease) => Ok(Answer::Renewed(match self.leases.get_mut(&lease) {
                Some((ttl, ends)) => {
                    self.ends.remove(&(*ends, lease));
                    *ends = now + *ttl;
                    self.ends.insert((*ends, lease));
                    true
                }
                None => false,
            })),
            Call::Revoke(lease) => {
                let (_, ends) = self.leases.remove(&lease).ok_or(Failure::LeaseGone)?;
                self.ends.remove(&(ends, lease));
                self.drop_keys_of(lease);
                Ok(Answer::Revoked)
            }
            Call::Create { key, value, lease } => {
                if !self.keys.contains_key(&key) {
                    if !lease.is_none() {
                        self.leases.get(&lease).ok_or(Failure::LeaseGone)?;
                    }
                    self.put(KeyValue { key: key.clone(), value, lease, ..KeyValue::default() });
                }
                let kv = &self.keys[&key];
                Ok(Answer::Created { revision: self.revision, created: kv.create_revision, lease: kv.lease })
            }
            Call::Look { key, created, queue } => {
                let present = self.keys.get(&key).is_some_and(|kv| kv.create_revision == created);
                let older = self.ages.range(..created).rev().map(|(_, key)| key);
                let ahead = older.into_iter().find(|key| key.starts_with(&queue)).cloned();
                Ok(Answer::Looked { revision: self.revision, present, ahead })
            }
            Call::Delete { key, created } => {
                if self.keys.get(&key).is_some_and(|kv| kv.create_revision == created) {
                    self.revision = self.revision.next();
                    self.delete(key);
                }
                Ok(Answer::Deleted)
            }
            Call::Put { key, value, lease } => {
                if !lease.is_none() {
                    self.leases.get(&lease).ok_or(Failure::LeaseGone)?;
                }
                self.put(KeyValue { key, value, lease, ..KeyValue::default() });
                Ok(Answer::Put(self.revision))
            }
            Call::Update { key, created, value, lease } => {
                let is_own = self.keys.get(&key).is_some_and(|kv| kv.create_revision == created);
                if is_own {
                    self.put(KeyValue { key, value, lease, ..KeyValue::default() });
                }
                Ok(Answer::Updated(is_own))
            }
            Call::List { range } => {
                let keys = self.keys.values().filter(|kv| range.contains(&kv.key)).cloned().collect();
                Ok(Answer::Listed { revision: self.revision, keys })
            }
            Call::Unlock { key } => {
                self.remove(key);
                Ok(Answer::Deleted)
            }
            Call::Resign { leader: LeaderKey { key, created, .. } } => self.ask(now, &Call::Delete { key, created }),
            Call::Proclaim { leader: LeaderKey { key, created, lease, .. }, value } => {
                match self.ask(now, &Call::Update { key, created, value, lease })? {
                    Answer::Updated(true) => Ok(Answer::Put(self.revision)),
                    _ => Err(Failure::Refused),
                }
            }
            Call::Lock { .. } | Call::Campaign { .. } => panic!("it waits for its turn: see `enqueue`"),
        }
    }

    /// Begins a call that waits for its turn, as the server does: by a key of its own.
    ///
    /// # Panics
    /// With any other.
    pub fn enqueue(&mut self, now: ClusterTime, call: &Call) -> Result<Turn, Failure> {
        let (name, lease, value) = match call.clone() {
            Call::Lock { name, lease } => (name, lease, Vec::new()),
            Call::Campaign { name, lease, value } => (name, lease, value),
            other => panic!("it waits for nothing: {other:?}"),
        };
        let key = Key::from([&*name, b"/", lease.to_string().as_bytes()].concat());
        match self.ask(now, &Call::Create { key: key.clone(), value, lease })? {
            Answer::Created { created, .. } => Ok(Turn { call: call.clone(), name, lease, key, created }),
            other => panic!("{other:?}"),
        }
    }

    /// The answer to a call that waits for its turn, when it has come. As a server of 3.4 it does not
    /// look whether the key is still there.
    pub fn answer(&self, turn: &Turn) -> Option<Answer> {
        let Turn { call, name, lease, key, created } = turn.clone();
        let queue = Key::from([&*name, b"/"].concat());
        if self.ages.range(..created).any(|(_, older)| older.starts_with(&queue)) {
            return None;
        }
        Some(match call {
            Call::Lock { .. } => Answer::Locked { key },
            _ => Answer::Elected(LeaderKey { name, key, created, lease }),
        })
    }

    /// The server notices that the caller has gone, and takes its key out of the queue by its name.
    pub fn hang_up(&mut self, turn: Turn) {
        self.remove(turn.key);
    }

    fn remove(&mut self, key: Key) {
        if self.keys.contains_key(&key) {
            self.revision = self.revision.next();
            self.delete(key);
        }
    }

    /// Revokes the leases that ran out.
    pub fn expire(&mut self, now: ClusterTime) {
        while let Some(&(ends, lease)) = self.ends.first().filter(|(ends, _)| *ends <= now) {
            self.ends.remove(&(ends, lease));
            self.leases.remove(&lease);
            self.drop_keys_of(lease);
        }
    }

    /// When the next lease runs out.
    pub fn next_expiry(&self) -> Option<ClusterTime> {
        self.ends.first().map(|(ends, _)| *ends)
    }

    /// The changes of a range from a revision on.
    pub fn since(&self, range: &KeyRange, from: Revision) -> Vec<(Revision, KeyEvent)> {
        let start = self.changes.partition_point(|(revision, _)| *revision < from);
        self.changes[start..].iter().filter(|(_, event)| range.contains(event.key())).cloned().collect()
    }

    /// The oldest key of a queue.
    pub fn first(&self, queue: &[u8]) -> Option<&KeyValue> {
        self.ages.values().find(|key| key.starts_with(queue)).and_then(|key| self.keys.get(key))
    }

    /// How many leases live.
    pub fn leases(&self) -> usize {
        self.leases.len()
    }

    fn put(&mut self, kv: KeyValue) {
        self.revision = self.revision.next();
        let before = self.keys.get(&kv.key);
        let create_revision = before.map_or(self.revision, |before| before.create_revision);
        let version = before.map_or(1, |before| before.version + 1);
        let kv = KeyValue { create_revision, mod_revision: self.revision, version, ..kv };
        self.changes.push((self.revision, KeyEvent::Put(kv.clone())));
        self.ages.insert(create_revision, kv.key.clone());
        self.keys.insert(kv.key.clone(), kv);
    }

    fn drop_keys_of(&mut self, lease: LeaseId) {
        let keys: Vec<_> = self.keys.values().filter(|kv| kv.lease == lease).map(|kv| kv.key.clone()).collect();
        if !keys.is_empty() {
            self.revision = self.revision.next();
        }
        for key in keys {
            self.delete(key);
        }
    }

    fn delete(&mut self, key: Key) {
        let previous = self.keys.remove(&key);
        if let Some(kv) = &previous {
            self.ages.remove(&kv.create_revision);
        }
        self.changes.push((self.revision, KeyEvent::Delete { key, previous }));
    }
}

/// The calls among commands.
pub fn calls(commands: &[Command]) -> Vec<(CallId, Call)> {
    let call = |command: &Command| match command {
        Command::Call(id, call) => Some((*id, call.clone())),
        _ => None,
    };
    commands.iter().filter_map(call).collect()
}

/// The watches among commands.
pub fn watches(commands: &[Command]) -> Vec<(WatchId, KeyRange, Revision)> {
    let watch = |command: &Command| match command {
        Command::Watch { watch, range, from } => Some((*watch, range.clone(), *from)),
        _ => None,
    };
    commands.iter().filter_map(watch).collect()
}

/// The beliefs that are reported.
pub fn beliefs(commands: &[Command]) -> Vec<Belief> {
    let belief = |command: &Command| match command {
        Command::Report(standing) => Some(standing.belief),
        _ => None,
    };
    commands.iter().filter_map(belief).collect()
}

/// When a timer is set to.
pub fn set(commands: &[Command], which: Timer) -> Option<ClusterTime> {
    commands.iter().find_map(|command| match command {
        Command::Set(timer, at) if *timer == which => Some(*at),
        _ => None,
    })
}

/// A key's end.
pub fn deleted(key: &str) -> KeyEvent {
    KeyEvent::Delete { key: key.into(), previous: None }
}

/// A put of a key.
pub fn put(key: &str) -> KeyEvent {
    KeyEvent::Put(KeyValue { key: key.into(), ..KeyValue::default() })
}

/// What of what is watched is told.
pub fn sights(commands: &[Command]) -> Vec<Sight> {
    let sight = |command: &Command| match command {
        Command::Saw(sight) => Some(sight.clone()),
        _ => None,
    };
    commands.iter().filter_map(sight).collect()
}

/// A key that this revision created, with its value.
pub fn value(key: &str, created: i64, value: &str) -> KeyValue {
    KeyValue { key: key.into(), create_revision: Revision(created), value: value.into(), ..KeyValue::default() }
}
