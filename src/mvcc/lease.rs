//! The leases that every member agrees on: which there are, what was granted, what hangs on
//! them. How long each still lives only the leader knows: [`super::Lessor`].

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::{Key, LeaseId};

use super::Error;

/// The longest TTL etcd grants, in seconds (etcd `lease/lessor.go`, `MaxLeaseTTL`).
pub const LONGEST_TTL: i64 = 9_000_000_000;

/// The shortest TTL etcd grants with its default election timeout, in seconds.
pub const SHORTEST_TTL: i64 = 2;

/// A lease as the store knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseInfo {
    /// Seconds granted.
    pub ttl: i64,
    /// The keys that hang on it.
    pub keys: BTreeSet<Key>,
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Leases(BTreeMap<LeaseId, LeaseInfo>);

impl Leases {
    pub fn get(&self, lease: LeaseId) -> Option<&LeaseInfo> {
        self.0.get(&lease)
    }

    pub fn iter(&self) -> impl Iterator<Item = (LeaseId, &LeaseInfo)> {
        self.0.iter().map(|(id, info)| (*id, info))
    }

    /// Adds a lease of this TTL.
    pub fn grant(&mut self, lease: LeaseId, ttl: i64) -> Result<(), Error> {
        if lease.is_none() {
            return Err(Error::LeaseNotFound);
        }
        if ttl > LONGEST_TTL {
            return Err(Error::LeaseTtlTooLarge);
        }
        if self.0.contains_key(&lease) {
            return Err(Error::LeaseExists);
        }
        self.0.insert(lease, LeaseInfo { ttl, keys: BTreeSet::new() });
        Ok(())
    }

    /// Adds a lease without looking.
    pub fn restore(&mut self, lease: LeaseId, ttl: i64) {
        self.0.insert(lease, LeaseInfo { ttl, keys: BTreeSet::new() });
    }

    /// Removes a lease; the keys that hung on it in key order.
    pub fn revoke(&mut self, lease: LeaseId) -> Result<BTreeSet<Key>, Error> {
        self.0.remove(&lease).map(|info| info.keys).ok_or(Error::LeaseNotFound)
    }

    /// Hangs a key, which may hang on `from`, on `to`.
    pub fn move_key(&mut self, key: &Key, from: LeaseId, to: LeaseId) {
        if from == to {
            return;
        }
        if let Some(old) = self.0.get_mut(&from) {
            old.keys.remove(key.as_bytes());
        }
        if let Some(new) = self.0.get_mut(&to) {
            new.keys.insert(key.clone());
        }
    }
}
