//! The real binary on the command line: what it prints, where, and how it ends.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

#[path = "cli/arguments.rs"]
mod arguments;
#[path = "cli/cluster.rs"]
mod cluster;
#[path = "cli/doctor.rs"]
mod doctor;
#[path = "cli/documents.rs"]
mod documents;
#[path = "cli/history.rs"]
mod history;
#[path = "cli/hostile.rs"]
mod hostile;
#[path = "cli/leases.rs"]
mod leases;
#[path = "cli/ls.rs"]
mod ls;
#[path = "cli/members.rs"]
mod members;
#[path = "cli/play.rs"]
mod play;
#[path = "cli/program.rs"]
mod program;
#[path = "cli/pty.rs"]
mod pty;
#[path = "cli/record.rs"]
mod record;
#[path = "cli/rights.rs"]
mod rights;
#[path = "cli/settings.rs"]
mod settings;
#[path = "cli/show.rs"]
mod show;
#[path = "cli/store.rs"]
mod store;
mod support;
#[path = "cli/terminal.rs"]
mod terminal;
#[path = "cli/unreachable.rs"]
mod unreachable;
#[path = "cli/watch.rs"]
mod watch;
