//! Arguments of the commands that make a recording and show one.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::config::parse;
use crate::input::SeekTo;
use crate::input::seek::SeekError;
use crate::model::ui::ReplaySpeed;

/// Arguments of `record`.
#[derive(Args, Debug)]
pub struct RecordArgs {
    /// The file to make; one that is there already is left alone
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Stop after this long
    #[arg(long = "for", value_name = "DURATION", allow_hyphen_values = true, value_parser = parse::duration)]
    pub length: Option<Duration>,
}

/// Arguments of `replay`.
#[derive(Args, Clone, Debug)]
pub struct ReplayArgs {
    /// The recording
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Print the locks at its end, as `ls` does, instead of opening the dashboard
    #[arg(long)]
    pub headless: bool,
    /// Go there first, or end there: 12:04:10, +30s, rev 84213, 2026-03-01T12:04:10Z, start, end
    #[arg(long, value_name = "WHERE", allow_hyphen_values = true, value_parser = seek)]
    pub at: Option<SeekTo>,
    /// How fast it is played: 0.25, 0.5, 1, 2, 4, 8, 16, 32, 64 or max [default: 1]
    #[arg(long, value_name = "X", conflicts_with = "headless", allow_hyphen_values = true, value_parser = speed)]
    pub speed: Option<ReplaySpeed>,
    /// At its end wait for more, as it is written
    #[arg(long, conflicts_with = "headless")]
    pub follow: bool,
    /// With --headless: add registrations and other leased keys
    #[arg(long, requires = "headless")]
    pub all: bool,
}

fn seek(text: &str) -> Result<SeekTo, String> {
    text.parse().map_err(|error: SeekError| error.to_string())
}

fn speed(text: &str) -> Result<ReplaySpeed, String> {
    ReplaySpeed::named(text).ok_or_else(|| format!("`{text}` is none of {}", ReplaySpeed::names()))
}
