//! Arguments of the commands that let simulated clients play, and of those that start a cluster.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::embedded::{self, EmbeddedArgs};
use super::known::Known;
use crate::config::parse;
use crate::playground::Span;
use crate::playground::scenario::library;

/// How a scenario is played.
#[derive(Args, Clone, Debug, Default)]
pub struct CastArgs {
    /// How many clients contend for the scenario's lock [default: as many as the scenario says]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = clients)]
    pub clients: Option<u16>,
    /// How long those hold it, such as 0ms or 1s..3s [default: as the scenario says]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = Span::read)]
    pub hold: Option<Span>,
    /// How long those do without it [default: as the scenario says]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = Span::read)]
    pub think: Option<Span>,
    /// How long their leases are, in whole seconds [default: as the scenario says]
    #[arg(long, value_name = "DURATION", allow_hyphen_values = true, value_parser = whole_seconds)]
    pub lease: Option<Duration>,
}

/// Arguments of `play`.
#[derive(Args, Clone, Debug)]
pub struct PlayArgs {
    /// A scenario's name, or the path of its file
    #[arg(value_name = "SCENARIO", required_unless_present_any = ["list", "check"], hide_possible_values = true,
        value_parser = Known(|| library::names().collect()))]
    pub scenario: Option<String>,
    /// List the scenarios that come with the program, with a sentence each
    #[arg(long, conflicts_with_all = ["scenario", "check"])]
    pub list: bool,
    /// Check a scenario's file: print ok, or what is wrong and where
    #[arg(long, value_name = "FILE", conflicts_with = "scenario")]
    pub check: Option<PathBuf>,
    /// Print a summary instead of opening the dashboard
    #[arg(long, requires = "length")]
    pub headless: bool,
    /// Stop after this long
    #[arg(long = "for", value_name = "DURATION", requires = "headless", allow_hyphen_values = true,
        value_parser = parse::duration)]
    pub length: Option<Duration>,
    /// Fixes the clients' times [default: another one each time]
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = embedded::seed)]
    pub seed: Option<u64>,
    /// Play although keys are there already
    #[arg(long)]
    pub join: bool,
    /// How it is played.
    #[command(flatten)]
    pub cast: CastArgs,
}

/// Arguments of `demo`.
#[derive(Args, Clone, Debug)]
pub struct DemoArgs {
    /// A scenario's name, or the path of its file [default: fifo]
    #[arg(value_name = "SCENARIO", hide_possible_values = true, value_parser = Known(|| library::names().collect()))]
    pub scenario: Option<String>,
    /// How it is played.
    #[command(flatten)]
    pub cast: CastArgs,
    /// Print a summary instead of opening the dashboard
    #[arg(long, requires = "length")]
    pub headless: bool,
    /// Stop after this long
    #[arg(long = "for", value_name = "DURATION", requires = "headless", allow_hyphen_values = true,
        value_parser = parse::duration)]
    pub length: Option<Duration>,
    /// Run as fast as it goes on a clock of its own: the same seed gives the same run
    #[arg(long, requires = "headless")]
    pub virtual_time: bool,
    /// What the cluster is made of: embedded, or etcd, which starts the etcd found on PATH
    ///
    /// With etcd its data is in a temporary folder that goes with the demo. Members are killed,
    /// paused and cut off with the same keys; the clock, delays, losses and rules are etcd's own.
    #[arg(long, value_name = "ENGINE", value_enum, default_value_t, hide_possible_values = true)]
    pub engine: EngineChoice,
    /// How to start the cluster.
    #[command(flatten)]
    pub embedded: EmbeddedArgs,
}

/// What a demo's cluster is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum EngineChoice {
    /// The cluster inside the program.
    #[default]
    Embedded,
    /// Real etcds.
    Etcd,
}

/// Arguments of `cluster`.
#[derive(Args, Debug)]
pub struct ClusterArgs {
    /// How to start the cluster.
    #[command(flatten)]
    pub embedded: EmbeddedArgs,
}

fn clients(text: &str) -> Result<u16, String> {
    match text.parse() {
        Ok(count @ 1..=1000) => Ok(count),
        _ => Err(format!("`{text}` is no whole number from 1 to 1000")),
    }
}

fn whole_seconds(text: &str) -> Result<Duration, String> {
    let length = parse::duration(text).map_err(|error| error.to_string())?;
    if length.subsec_nanos() == 0 && !length.is_zero() {
        return Ok(length);
    }
    Err(format!("`{text}` is no number of whole seconds: etcd counts leases in those"))
}
