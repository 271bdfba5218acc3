//! etcd's key-value store as a pure machine: revisions, transactions, leases, history.
//!
//! Equal requests in equal order make equal stores, to the byte, on every member and in every
//! test: there is no clock, no chance and no I/O in here. What etcd does is the rule, down to
//! its oddities; each of those names the place in etcd's source that has it. What a lease's
//! time is worth is known to one member only, the leader, and kept beside the store.

pub mod error;
pub mod request;
pub mod response;

pub use error::{Code, Error};
pub use request::{
    Compare, CompareResult, CompareTarget, DeleteRequest, Op, PutRequest, RangeRequest, Request, SortOrder, SortTarget,
    TxnRequest,
};
pub use response::{
    Applied, CompactResponse, DeleteResponse, GrantResponse, OpResponse, PutResponse, RangeResponse, Response,
    RevokeResponse, TxnResponse,
};
