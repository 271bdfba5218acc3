//! etcd's key-value store as a pure machine: revisions, transactions, leases, history.
//!
//! Equal requests in equal order make equal stores, to the byte, on every member and in every
//! test: there is no clock, no chance and no I/O in here. What etcd does is the rule, down to
//! its oddities; each of those names the place in etcd's source that has it. What a lease's
//! time is worth is known to one member only, the leader, and kept beside the store.

mod check;
pub mod error;
mod history;
mod index;
mod lease;
mod lessor;
#[cfg(test)]
mod properties;
pub mod queue;
mod range;
pub mod request;
pub mod response;
mod snapshot;
mod store;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod txn;
pub mod watch;
mod write;

pub use check::MAX_TXN_OPS;
pub use error::{Code, Error};
pub use history::{Change, Compacted, Event};
pub use lease::{LONGEST_TTL, LeaseInfo, SHORTEST_TTL};
pub use lessor::{Lessor, RenewError};
pub use request::{
    Compare, CompareResult, CompareTarget, DeleteRequest, Op, PutRequest, RangeRequest, Request, SortOrder, SortTarget,
    TxnRequest,
};
pub use response::{
    Applied, CompactResponse, DeleteResponse, GrantResponse, OpResponse, PutResponse, RangeResponse, Response,
    RevokeResponse, TxnResponse,
};
pub use snapshot::Snapshot;
pub use store::Store;
pub use watch::Watch;
