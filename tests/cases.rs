//! What others ran into and reported in public, each as a test with the right value: what
//! lockscope tells of it, or what makes it harmless. On every real etcd found; where a real etcd
//! cannot be brought to it, on the model, which then says so.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

#[path = "cases/cluster.rs"]
mod cluster;
#[path = "cases/common.rs"]
mod common;
#[path = "cases/compaction.rs"]
mod compaction;
#[path = "cases/leases.rs"]
mod leases;
#[path = "cases/names.rs"]
mod names;
#[path = "cases/queues.rs"]
mod queues;
mod support;
#[path = "cases/unlocks.rs"]
mod unlocks;
