//! Writes to real clusters, on good days and on bad ones: what was confirmed is done or it is not,
//! what nobody can know is called unknown, and nothing is called done that was not seen.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

#[path = "writes/audit.rs"]
mod audit;
#[path = "writes/bad_days.rs"]
mod bad_days;
#[path = "writes/commands.rs"]
mod commands;
#[path = "writes/etcdctl.rs"]
mod etcdctl;
#[path = "writes/hand.rs"]
mod hand;
#[path = "writes/large.rs"]
mod large;
#[path = "cli/program.rs"]
#[expect(dead_code, reason = "another suite uses the rest")]
mod program;
#[path = "cli/pty.rs"]
mod pty;
#[path = "writes/rights.rs"]
mod rights;
#[path = "cli/store.rs"]
#[expect(dead_code, reason = "another suite uses the rest")]
mod store;
mod support;
#[path = "writes/typed.rs"]
mod typed;
