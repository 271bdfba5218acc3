//! An etcd cluster without I/O: a Raft cluster whose state machine is etcd's store.
//!
//! Pure and deterministic: everything that happens is due at a time of the cluster's own clock,
//! or was asked for. Who drives it decides what that clock is; see `server`.

mod ask;

pub use ask::{Ask, Change, Done, LeaseAnswer, LeaseQuestion, Refusal, RequestId, Told};
