//! What a store answers, with all that etcd's protocol can say (rpc.proto).
//!
//! Keys are shared with the store, so that a large answer is cheap to make and is copied once,
//! when it is put on the wire.

use std::sync::Arc;

use crate::domain::{KeyValue, LeaseId, Revision};

use super::Error;

/// What applying a request did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The answer. An error leaves the store as it was.
    pub result: Result<Response, Error>,
    /// The store's revision afterwards.
    pub revision: Revision,
    /// Whether the request made that revision, so that watchers have to be told.
    pub changed: bool,
}

/// The answer to a [`super::Request`], of the same kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    /// A put.
    Put(PutResponse),
    /// A delete.
    Delete(DeleteResponse),
    /// A transaction.
    Txn(TxnResponse),
    /// A compaction.
    Compact(CompactResponse),
    /// A granted lease.
    Grant(GrantResponse),
    /// A revoked lease.
    Revoke(RevokeResponse),
}

/// What a read found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeResponse {
    /// The store's revision when it was read, whatever revision was asked for.
    pub revision: Revision,
    /// The keys, filtered, sorted and cut.
    pub kvs: Vec<Arc<KeyValue>>,
    /// Whether the limit cut keys off.
    pub more: bool,
    /// How many keys the range has; filters and limit do not count.
    pub count: i64,
}

/// What a put did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PutResponse {
    /// The revision it made or is part of.
    pub revision: Revision,
    /// The key as it was, when it was asked for and there was one.
    pub prev_kv: Option<Arc<KeyValue>>,
}

/// What a delete did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteResponse {
    /// The revision it made or is part of; the store's, when nothing was there to delete.
    pub revision: Revision,
    /// How many keys went.
    pub deleted: i64,
    /// The keys as they were in key order, when they were asked for.
    pub prev_kvs: Vec<Arc<KeyValue>>,
}

/// What a transaction did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TxnResponse {
    /// The store's revision afterwards; etcd leaves it 0 in a transaction in a transaction.
    pub revision: Revision,
    /// Whether the comparisons held.
    pub succeeded: bool,
    /// An answer for each operation that ran, in order.
    pub responses: Vec<OpResponse>,
}

/// What an operation of a transaction did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpResponse {
    /// A read.
    Range(RangeResponse),
    /// A put.
    Put(PutResponse),
    /// A delete.
    Delete(DeleteResponse),
    /// A transaction in the transaction.
    Txn(TxnResponse),
}

/// What a compaction did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactResponse {
    /// The store's revision.
    pub revision: Revision,
}

/// What was granted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GrantResponse {
    /// The store's revision.
    pub revision: Revision,
    /// The lease's id.
    pub lease: LeaseId,
    /// Seconds granted; at least as many as were asked for.
    pub ttl: i64,
}

/// What a revocation did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RevokeResponse {
    /// The store's revision afterwards: one higher if keys hung on the lease.
    pub revision: Revision,
}
