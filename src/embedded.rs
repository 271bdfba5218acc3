//! An etcd cluster without I/O: a Raft cluster whose state machine is etcd's store.
//!
//! Pure and deterministic: everything that happens is due at a time of the cluster's own clock,
//! or was asked for. Who drives it decides what that clock is: `server` the wall's, scaled;
//! a simulation none at all.
//!
//! ```text
//! Ask ──► Cluster ──► raft::Cluster ──► Replica (mvcc::Store, mvcc::Lessor), one a node
//!            ▲  └──► Told, Refusal            ▲
//!          Fault                       roster: names, ids and URLs of the members
//! ```

mod ask;
mod cluster;
mod compactor;
mod replica;
mod roster;
mod words;

pub use ask::{Ask, Change, LeaseAnswer, LeaseQuestion, Refusal, RequestId, Told};
pub use cluster::{Board, Cluster, Config, Finished};
pub use replica::{Replica, SharedStore};
