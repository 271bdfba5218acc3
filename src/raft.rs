//! A whole Raft cluster as one machine: nodes, the network between them, timers and faults, all on
//! one clock of its own. Nothing here waits, and nothing reads a clock or draws by real chance:
//! whoever drives a [`Cluster`] tells it what time it is, and the same seed with the same calls at
//! the same times makes the same run, to the byte.
//!
//! The crate noraft decides what a node may vote for and what is committed (Ongaro and Ousterhout,
//! "In Search of an Understandable Consensus Algorithm", extended version; cited as §). Around it
//! stand the parts that make a service of it, most of them after Ongaro's thesis "Consensus:
//! Bridging Theory and Practice": pre-vote, check-quorum, transfer of the lead, reads, members,
//! snapshots, and requests that find the leader. Where there is a choice, it is made as etcd
//! makes it.
//!
//! ```text
//!   calls ──► Cluster ──► Node ──► noraft          state, votes, log
//!               │          │  └──► Machine         what the log drives
//!               │          └─────► World.network ──► other nodes
//!               └── next_event, advance, step       the driver's clock
//! ```

mod apply;
mod cluster;
mod config;
mod convert;
mod election;
mod fault;
mod lead;
mod lifecycle;
mod log;
mod machine;
mod membership;
mod message;
mod network;
mod node;
mod outbox;
mod pending;
mod picture;
mod read;
mod replication;
mod request;
mod snapshot;
mod stranded;
mod terms;
#[cfg(test)]
mod testing;
mod timer;
mod trace;
mod transfer;
mod view;
mod world;

pub use cluster::Cluster;
pub use config::Config;
pub use fault::FaultError;
pub use machine::Machine;
pub use request::{Change, Done, Failure, Outcome, Refusal, RequestId};
pub use view::{Members, NodeView};
