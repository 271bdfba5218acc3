//! What a store can be asked, with all that etcd's protocol can say (rpc.proto).
//!
//! A request is what a cluster agrees on, so it carries every choice in it: a lease's id is
//! chosen before, and nothing in it depends on a clock. Ranges are raw, as they came over the
//! wire: an empty end is one key, an end of one zero byte is everything from the start on.

use serde::{Deserialize, Serialize};

use crate::domain::{Key, KeyRange, LeaseId, Revision};

/// A request that may change the store, as it stands in a cluster's log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// Put a key.
    Put(PutRequest),
    /// Delete keys.
    Delete(DeleteRequest),
    /// Run a transaction.
    Txn(TxnRequest),
    /// Forget the changes before a revision.
    Compact {
        /// The oldest revision that can still be read afterwards.
        revision: Revision,
        /// Whether to answer only when the space is free; here it always is.
        physical: bool,
    },
    /// Grant a lease.
    Grant {
        /// Its id, already chosen: never [`LeaseId::NONE`].
        lease: LeaseId,
        /// Seconds wished for; a store grants no less than its shortest TTL.
        ttl: i64,
    },
    /// Revoke a lease and delete its keys in one revision.
    Revoke {
        /// Its id.
        lease: LeaseId,
    },
}

/// Put a key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PutRequest {
    /// The key.
    pub key: Key,
    /// Its value.
    pub value: Vec<u8>,
    /// The lease to hang it on; it leaves the one it hung on before.
    pub lease: LeaseId,
    /// Whether to answer with the key as it was.
    pub prev_kv: bool,
    /// Whether the key keeps its value. It must exist, and no value may be given.
    pub ignore_value: bool,
    /// Whether the key keeps its lease. It must exist, and no lease may be given.
    pub ignore_lease: bool,
}

/// Delete a range of keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeleteRequest {
    /// The range.
    pub range: KeyRange,
    /// Whether to answer with the keys as they were.
    pub prev_kv: bool,
}

/// Read a range of keys. Whether a member may answer without asking a quorum (`serializable`)
/// is no matter of the store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RangeRequest {
    /// The range.
    pub range: KeyRange,
    /// How many keys at most; 0 and less is all.
    pub limit: i64,
    /// The revision to read at; 0 and less is now.
    pub revision: Revision,
    /// Whether and in which direction to sort.
    pub sort_order: SortOrder,
    /// What to sort by.
    pub sort_target: SortTarget,
    /// Whether to leave values out.
    pub keys_only: bool,
    /// Whether to answer with the count alone.
    pub count_only: bool,
    /// Leaves out keys whose `mod_revision` is lower; 0 is no bound. Filters come before
    /// the limit and do not change the count.
    pub min_mod_revision: Revision,
    /// Leaves out keys whose `mod_revision` is higher; 0 is no bound.
    pub max_mod_revision: Revision,
    /// Leaves out keys whose `create_revision` is lower; 0 is no bound.
    pub min_create_revision: Revision,
    /// Leaves out keys whose `create_revision` is higher; 0 is no bound.
    pub max_create_revision: Revision,
}

/// The direction of sorting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SortOrder {
    /// Ascending, after the limit has cut the keys, and one more, off in key order.
    #[default]
    None,
    /// Lowest first.
    Ascend,
    /// Highest first.
    Descend,
}

/// What keys are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SortTarget {
    /// The key.
    #[default]
    Key,
    /// The version.
    Version,
    /// The `create_revision`.
    Create,
    /// The `mod_revision`.
    Mod,
    /// The value.
    Value,
}

/// A transaction: when all comparisons hold the operations of `success` run, else those of
/// `failure`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TxnRequest {
    /// The comparisons; none at all hold.
    pub compare: Vec<Compare>,
    /// What to do when they hold.
    pub success: Vec<Op>,
    /// What to do otherwise.
    pub failure: Vec<Op>,
}

/// An operation of a transaction. The wire also knows an operation that is none; etcd answers
/// it with [`super::Error::KeyNotFound`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Op {
    /// Read.
    Range(RangeRequest),
    /// Put.
    Put(PutRequest),
    /// Delete.
    Delete(DeleteRequest),
    /// A transaction in the transaction. Its comparisons see the store as it was before the
    /// outermost one.
    Txn(TxnRequest),
}

/// A comparison of every key of a range. A range without keys compares as one key whose
/// revisions, version and lease are 0, and never equals, exceeds or falls short of a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compare {
    /// The keys.
    pub range: KeyRange,
    /// How each has to compare with the operand.
    pub result: CompareResult,
    /// What of the key is compared with what.
    pub target: CompareTarget,
}

/// How a key's side has to relate to the operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CompareResult {
    /// The same.
    #[default]
    Equal,
    /// Greater than the operand.
    Greater,
    /// Less than the operand.
    Less,
    /// Not the same.
    NotEqual,
}

/// What of a key is compared, with the operand. On the wire these are two fields; where they
/// do not fit together etcd compares with 0 or the empty value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CompareTarget {
    /// The version.
    Version(i64),
    /// The `create_revision`.
    Create(Revision),
    /// The `mod_revision`.
    Mod(Revision),
    /// The value.
    Value(Vec<u8>),
    /// The lease.
    Lease(LeaseId),
}

impl TxnRequest {
    /// Whether the transaction consists of reads alone, so that it needs no place in the log.
    /// As in etcd, one with a transaction in it does not count, whatever that does.
    pub fn is_read_only(&self) -> bool {
        self.success.iter().chain(&self.failure).all(|op| matches!(op, Op::Range(_)))
    }
}
