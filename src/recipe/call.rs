//! The calls a lock client makes, and what they are answered.
//!
//! A few calls are all the recipes need. Each says what it is on the wire, so that whoever
//! drives a recipe can make the same of it on any cluster. Those that wait in the server for a
//! turn to come are marked by [`Call::is_patient`].

use std::time::Duration;

use crate::domain::{Key, KeyRange, KeyValue, LeaderKey, LeaseId, Revision};

/// Something asked of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Grant a lease (`LeaseGrant`); the server chooses its id.
    Grant {
        /// How long it lives, in whole seconds.
        ttl: Duration,
    },
    /// Renew a lease once (`LeaseKeepAlive`).
    KeepAlive(LeaseId),
    /// Revoke a lease; its keys go with it (`LeaseRevoke`).
    Revoke(LeaseId),
    /// Create a key unless it is there, and tell of the one that is (`Txn`: if `create_revision` is 0
    /// then put, else get). Asking twice creates once, so an answer that got lost is resolved
    /// by asking again.
    Create {
        /// The key.
        key: Key,
        /// Its value.
        value: Vec<u8>,
        /// The lease to hang it on.
        lease: LeaseId,
    },
    /// Read the own key and the one before it in the queue, both at one revision (`Txn`: two gets,
    /// the second for the largest `create_revision` below the own).
    Look {
        /// The own key.
        key: Key,
        /// The revision that created it.
        created: Revision,
        /// What the keys of the queue begin with.
        queue: Key,
    },
    /// Delete the own key, unless it is another one by now (`Txn`: if `create_revision` is the same
    /// then delete). A plain delete that is sent again after a lost answer could take a
    /// newer lock of the same session.
    Delete {
        /// The own key.
        key: Key,
        /// The revision that created it.
        created: Revision,
    },
    /// Put a key, whatever is there (`Put`).
    Put {
        /// The key.
        key: Key,
        /// Its value.
        value: Vec<u8>,
        /// The lease to hang it on; none hangs it on nothing.
        lease: LeaseId,
    },
    /// Give the own key another value, unless it is another one by now (`Txn`: if
    /// `create_revision` is the same then put). The key keeps its lease and its place.
    Update {
        /// The own key.
        key: Key,
        /// The revision that created it.
        created: Revision,
        /// The new value.
        value: Vec<u8>,
        /// The lease it hangs on.
        lease: LeaseId,
    },
    /// Read everything in a range, with values (`Range`).
    List {
        /// The range.
        range: KeyRange,
    },
    /// Take a lock by the server's own queueing; it answers when the lock is held
    /// (`v3lockpb.Lock/Lock`).
    Lock {
        /// The lock's name, without a slash at its end.
        name: Key,
        /// The lease to hold it by.
        lease: LeaseId,
    },
    /// Give it back (`v3lockpb.Lock/Unlock`).
    Unlock {
        /// The key that the lock was answered with.
        key: Key,
    },
    /// Stand for election by the server's own queueing; it answers when the election is won
    /// (`v3electionpb.Election/Campaign`).
    Campaign {
        /// The election's name.
        name: Key,
        /// The lease to lead by.
        lease: LeaseId,
        /// What to proclaim.
        value: Vec<u8>,
    },
    /// Proclaim another value as the leader (`v3electionpb.Election/Proclaim`); who does not lead
    /// by this key any more is refused.
    Proclaim {
        /// What the election was won with.
        leader: LeaderKey,
        /// The new value.
        value: Vec<u8>,
    },
    /// Give up the lead (`v3electionpb.Election/Resign`).
    Resign {
        /// What the election was won with.
        leader: LeaderKey,
    },
}

impl Call {
    /// Whether the server answers only when the caller's turn has come, however long that takes.
    pub const fn is_patient(&self) -> bool {
        matches!(self, Self::Lock { .. } | Self::Campaign { .. })
    }
}

/// What a call is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A lease.
    Granted {
        /// Its id.
        lease: LeaseId,
        /// How long it lives; may be longer than asked for.
        ttl: Duration,
    },
    /// Whether the lease still lived, and was renewed.
    Renewed(bool),
    /// The lease is gone.
    Revoked,
    /// The key that is there now.
    Created {
        /// The store's revision.
        revision: Revision,
        /// The revision that created the key.
        created: Revision,
        /// The lease it hangs on: the own one, unless somebody else was here before.
        lease: LeaseId,
    },
    /// What stands in the queue.
    Looked {
        /// The revision of the store that was read.
        revision: Revision,
        /// Whether the own key is still there.
        present: bool,
        /// The key before the own one.
        ahead: Option<Key>,
    },
    /// The own key is gone.
    Deleted,
    /// The key was put, or the value proclaimed, which made this revision.
    Put(Revision),
    /// Whether the own key was still there, and has the new value.
    Updated(bool),
    /// Everything in the range.
    Listed {
        /// The revision of the store that was read.
        revision: Revision,
        /// The keys, in key order.
        keys: Vec<KeyValue>,
    },
    /// The lock is held, by this key. The answer does not tell which revision created it.
    Locked {
        /// The key.
        key: Key,
    },
    /// The election is won.
    Elected(LeaderKey),
}

/// Why a call was not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// No answer came, or one that says nothing: it may have been done, may yet be done, or not.
    Unanswered,
    /// The lease it names is gone; nothing was done.
    LeaseGone,
    /// The server refuses; nothing was done.
    Refused,
}
