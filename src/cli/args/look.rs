//! Arguments of the commands that look at a cluster.

use std::ffi::OsString;
use std::time::Duration;

use clap::builder::TypedValueParser as _;
use clap::{Args, ValueEnum};

use crate::config::parse;
use crate::domain::Revision;
use crate::model::Severity;

/// Arguments of `ls`.
#[derive(Args, Debug)]
pub struct LsArgs {
    /// Read the keys that start with this; '' reads everything
    // Not `prefix`: that is the global flag's id.
    #[arg(value_name = "PREFIX")]
    pub beneath: Option<OsString>,
    /// Add registrations and other leased keys
    #[arg(long)]
    pub all: bool,
}

/// Arguments of `show`.
#[derive(Args, Debug)]
pub struct ShowArgs {
    /// The lock's whole name, or that of any key; with --tree it may be left out
    #[arg(value_name = "LOCK", required_unless_present = "tree")]
    pub lock: Option<OsString>,

    /// Show who waits for whom, across locks: all that waits for the lock's clients, and what
    /// these wait for; without LOCK everybody that waits. Reads all locks
    #[arg(long)]
    pub tree: bool,
    /// Print so many other keys of the leases at most; 0 is all. JSON has all
    #[arg(long, value_name = "N", default_value_t = LEASE_KEYS)]
    pub limit: usize,
}

/// So many other keys of the leases of a lock's queue are printed for people, when nobody says how many.
const LEASE_KEYS: usize = 100;

/// Arguments of `history`.
#[derive(Args, Debug)]
pub struct HistoryArgs {
    /// The lock's whole name
    #[arg(value_name = "LOCK")]
    pub lock: OsString,
    /// Print the newest N handoffs only; 0 is all
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub limit: usize,
    /// Begin at this revision [default: the first one after the last compaction]
    #[arg(long, value_name = "REVISION", value_parser = clap::value_parser!(i64).range(1..).map(Revision))]
    pub since: Option<Revision>,
}

/// Arguments of `watch`.
#[derive(Args, Clone, Debug)]
pub struct WatchArgs {
    /// Stop after this long
    #[arg(long = "for", value_name = "DURATION", allow_hyphen_values = true, value_parser = parse::duration)]
    pub length: Option<Duration>,
}

/// Arguments of `doctor`.
#[derive(Args, Debug)]
pub struct DoctorArgs {
    /// Exit with 8 when something as bad as this is found: info, warn, error
    #[arg(long, value_name = "SEVERITY", value_enum, default_value_t, hide_possible_values = true)]
    pub fail_on: FailOn,
    /// Print all that can be found as a document, and look at nothing
    #[arg(long)]
    pub list: bool,
    /// Watch renewals and changes for this long first
    #[arg(long = "for", value_name = "DURATION", allow_hyphen_values = true, value_parser = parse::duration)]
    pub length: Option<Duration>,
}

/// How bad is too bad.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Anything.
    Info,
    /// What is about to go wrong, or worse.
    Warn,
    /// What does not work.
    #[default]
    Error,
}

impl FailOn {
    /// The severity from which on it counts.
    pub const fn severity(self) -> Severity {
        match self {
            Self::Info => Severity::Info,
            Self::Warn => Severity::Warn,
            Self::Error => Severity::Error,
        }
    }
}
