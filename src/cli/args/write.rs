//! Arguments of the commands that write to a cluster.

use std::ffi::OsString;

use clap::Args;
use clap::builder::PossibleValuesParser;

/// How a write is confirmed.
#[derive(Args, Clone, Copy, Debug)]
pub struct WriteArgs {
    /// Show what it would do and do nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Do it without asking
    #[arg(long, conflicts_with = "dry_run")]
    pub yes: bool,
}

/// Arguments of `revoke`.
#[derive(Args, Debug)]
pub struct RevokeArgs {
    /// The lease's id in hex, padded or not, with or without 0x
    #[arg(value_name = "LEASE", allow_hyphen_values = true)]
    pub lease: String,
    /// The id is decimal
    #[arg(long)]
    pub dec: bool,
    /// How it is confirmed.
    #[command(flatten)]
    pub write: WriteArgs,
}

/// Arguments of `release`.
#[derive(Args, Debug)]
pub struct ReleaseArgs {
    /// The lock's whole name
    #[arg(value_name = "LOCK")]
    pub lock: OsString,
    /// Delete this key instead of the holder's: one of the lock's queue, or any other under the lock's
    /// name. --key KEY is the same, unless --cert is given; then --key names the certificate's key
    // Not `key`: that is the global flag's id.
    #[arg(value_name = "KEY")]
    pub queue_key: Option<OsString>,
    /// How it is confirmed.
    #[command(flatten)]
    pub write: WriteArgs,
}

/// Arguments of `move-leader`.
#[derive(Args, Debug)]
pub struct MoveLeaderArgs {
    /// The member that is to lead, by its name or its id
    #[arg(value_name = "MEMBER")]
    pub member: String,
    /// How it is confirmed.
    #[command(flatten)]
    pub write: WriteArgs,
}

/// Arguments of `disarm`.
#[derive(Args, Debug)]
pub struct DisarmArgs {
    /// Which alarm [default: the one that is raised]
    #[arg(value_name = "ALARM", ignore_case = true, value_parser = PossibleValuesParser::new(["nospace", "corrupt"]))]
    pub alarm: Option<String>,
    /// How it is confirmed.
    #[command(flatten)]
    pub write: WriteArgs,
}
