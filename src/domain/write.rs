//! What an operator may do to a cluster, and what came of it.
//!
//! A write is asked for, shown with all it takes with it, confirmed, carried out and looked
//! after. What was shown when it was confirmed travels with it, so that whoever carries it out
//! can tell that something else is there now and stop.

use serde::{Deserialize, Serialize};

use super::{AlarmKind, Key, LeaseId, MemberId, Revision};

/// Something to be done to a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Write {
    /// Revoke a lease: every key on it goes in one revision.
    Revoke {
        /// The lease.
        lease: LeaseId,
    },
    /// Delete one key of a lock if it is still the one that was shown. A key of the same name
    /// with another create_revision is a newer lock and never hit.
    Release {
        /// The lock's name.
        lock: Key,
        /// The holder's key, or a waiter's.
        key: Key,
        /// Its create_revision, which guards the transaction.
        create_revision: Revision,
    },
    /// Hand the lead over to another member.
    MoveLeader {
        /// The member that is to lead.
        to: MemberId,
    },
    /// Disarm an alarm of this kind, of every member that has it: of one alone it would not help,
    /// for the cluster goes by the alarms of all.
    Disarm(AlarmKind),
}

/// A write that was confirmed, with what was shown when it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirmed {
    /// What is to be done.
    pub write: Write,
    /// The keys that were to go, with their `create_revision`s, in the order of their names.
    pub shown: Vec<(Key, Revision)>,
}

/// A number that tells the writes of one session apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WriteId(pub u64);

/// What came of a write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteResult {
    /// It was done, and a look afterwards showed it.
    Done {
        /// The revision of that look.
        revision: Revision,
        /// What that look showed: the keys that went, one by one.
        gone: Vec<Key>,
    },
    /// Nothing was done: other keys are there than were shown.
    Changed {
        /// The keys that are there now, with their `create_revision`s.
        now: Vec<(Key, Revision)>,
    },
    /// Nothing was done: what it was to be done to is not there any more.
    Gone,
    /// Nothing was done, for it never was sent: the settings forbid it, the audit log does not take
    /// it, or what it is about could not be looked at first.
    NotSent {
        /// The reason, as one line.
        why: String,
    },
    /// Nothing was done: it was sent, and the cluster refused it.
    Refused {
        /// The reason, as one line.
        why: String,
    },
    /// Nobody knows: the answer was lost on the way. It may have been done, or be done yet.
    Unknown {
        /// What went wrong, as one line.
        why: String,
    },
}
