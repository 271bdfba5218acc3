//! A key with its value and revisions, and one change of it.

use serde::{Deserialize, Serialize};

use super::{Key, LeaseId, Revision};

/// A key as the store has it at some revision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyValue {
    /// The key.
    pub key: Key,
    /// The value, whole.
    #[serde(with = "super::bytes")]
    pub value: Vec<u8>,
    /// The revision that created the key; it stays while the key lives.
    pub create_revision: Revision,
    /// The revision of the last put.
    pub mod_revision: Revision,
    /// The number of puts since the key was created; 1 right after.
    pub version: i64,
    /// The lease the key hangs on, or [`LeaseId::NONE`].
    pub lease: LeaseId,
}

/// One change of one key, as a watch delivers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyEvent {
    /// The key was put; the key as it is now.
    Put(KeyValue),
    /// The key was deleted. What it was before is known when etcd still had it (`prev_kv`).
    Delete {
        /// The key that is gone.
        key: Key,
        /// The key as it was, when the server could still tell.
        previous: Option<KeyValue>,
    },
}

/// What an election is won with, as the Election API hands it out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaderKey {
    /// The election's name.
    pub name: Key,
    /// The leader's key.
    pub key: Key,
    /// The revision that created it.
    pub created: Revision,
    /// The lease it hangs on.
    pub lease: LeaseId,
}

impl KeyEvent {
    /// The key that changed.
    pub fn key(&self) -> &Key {
        match self {
            Self::Put(kv) => &kv.key,
            Self::Delete { key, .. } => key,
        }
    }
}
