//! A whole Raft cluster as one machine without I/O.

mod cluster;
mod config;
mod fault;
mod machine;
mod node;
mod request;

pub use cluster::Cluster;
pub use config::Config;
pub use fault::FaultError;
pub use machine::Machine;
pub use node::{Members, NodeView};
pub use request::{Change, Done, Failure, Outcome, Refusal, RequestId};
