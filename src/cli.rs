//! The command line: parses, merges the settings, runs a command, maps its end to an exit code.
//!
//! Each command has a file that prints from the model; what fills the model is in `reading`
//! for commands that look once. Data goes to standard output, everything else to standard
//! error.

use std::ffi::OsString;
use std::io::{self, BufWriter, IsTerminal as _, Write as _};
use std::process::ExitCode;

use clap::FromArgMatches as _;
use color_eyre::config::{HookBuilder, Theme};
use tokio::runtime::Builder;

use crate::config::{Config, Format};
use crate::domain::Lang;
use crate::lang;

pub mod args;
mod cluster;
mod config;
mod dashboard;
mod demo;
mod doctor;
mod document;
mod exit;
mod given;
mod history;
mod info;
mod json;
mod leases;
mod lines;
mod live;
mod logging;
mod lone;
mod ls;
mod members;
mod outcome;
mod password;
mod performance;
mod piece;
mod play;
mod prose;
mod reading;
mod record;
mod replay;
mod rest;
#[cfg(test)]
mod sample;
mod settings;
mod show;
mod stage;
mod table;
mod tree;
mod unseen;
mod wait;
mod watch;
mod write;

use args::{Cli, Command};
use exit::Failure;
use rest::Load;
use settings::Settings;

/// Runs the program with these arguments, the first of which is its name; returns the exit
/// code, one of etcdctl's.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    report_panics();
    match parse(arguments).and_then(|cli| dispatch(&cli)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

/// Makes panics, and errors nobody foresaw, readable: they are bugs to report.
fn report_panics() {
    let plain = !io::stderr().is_terminal() || std::env::var_os("NO_COLOR").is_some_and(|set| !set.is_empty());
    let hooks = HookBuilder::default().panic_section("This is a bug in lockscope; please report it.");
    let hooks = if plain { hooks.theme(Theme::new()) } else { hooks };
    // It fails when hooks are there already, which then do.
    let _ = hooks.display_env_section(false).install();
}

fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Cli, Failure> {
    let matches = args::command().try_get_matches_from(arguments)?;
    Ok(Cli::from_arg_matches(&matches)?.settled())
}

fn dispatch(cli: &Cli) -> Result<(), Failure> {
    match &cli.command {
        None => dashboard::run(Settings::read(cli)?.config),
        Some(Command::Demo(args)) if !args.headless => demo::show(args, Settings::read(cli)?.config),
        Some(Command::Play(args)) if !args.headless && !args.list && args.check.is_none() => {
            play::show(args, Settings::read(cli)?.config)
        }
        Some(Command::Replay(args)) if !args.headless => replay::show(args, Settings::read(cli)?.config),
        Some(Command::Cluster(args)) => {
            let settings = ready(cli)?;
            cluster::run(args, &settings.config)
        }
        Some(command) => print(command, cli),
    }
}

/// Runs a command that prints.
fn print(command: &Command, cli: &Cli) -> Result<(), Failure> {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout());
    match command {
        Command::Watch(args) => {
            let config = ready(cli)?.config;
            let args = args.clone();
            let load = Load::default();
            return wait::run_task(&load.clone(), async move { watch::run(&args, &config, load, &mut out).await });
        }
        Command::Completions { shell } => document::completions(*shell, &mut out)?,
        Command::Man(args) => match &args.out {
            Some(folder) => document::man_pages(folder)?,
            None => document::man(&mut out)?,
        },
        Command::Config(command) => config::run(command, cli, &mut out)?,
        Command::Keys => document::keys(&mut out)?,
        Command::Doctor(args) if args.list => document::findings(&mut out)?,
        Command::Demo(args) => {
            let settings = ready(cli)?;
            demo::run(args, &settings.config, &mut out)?;
        }
        Command::Play(args) => {
            let settings = ready(cli)?;
            lang::within(spoken(&settings.config), || play::run(args, &settings.config, &mut out))?;
        }
        Command::Revoke(_) | Command::Release(_) | Command::MoveLeader(_) | Command::Disarm(_) => {
            let settings = ready(cli)?;
            wait::alone(write::run(command, &settings.config, &mut out))?;
        }
        Command::Record(args) => {
            let settings = ready(cli)?;
            // It ends in order when somebody breaks it off.
            wait::block_on(&mut Builder::new_current_thread(), record::run(args, &settings.config, &mut out))?;
        }
        Command::Replay(args) => {
            let settings = ready(cli)?;
            wait::run(replay::run(args, &settings.config, &mut out))?;
        }
        _ => {
            let settings = ready(cli)?;
            wait::run(look(command, &settings, &mut out))?;
        }
    }
    Ok(out.flush()?)
}

/// The settings of a command without a screen that speaks to a cluster, whose log begins with them. A person
/// who may take it for another one is told.
fn ready(cli: &Cli) -> Result<Settings, Failure> {
    let settings = Settings::read(cli)?;
    logging::start(&settings.config.logging)?;
    if let Some(warning) = settings.warning().filter(|_| io::stderr().is_terminal()) {
        exit::say(format_args!("{warning}"));
    }
    Ok(settings)
}

/// The language of sentences that people read: findings, verdicts, what a scenario shows. Words that
/// scripts look for, and all that programs read, are English.
fn spoken(config: &Config) -> Lang {
    if config.output.format == Some(Format::Json) { Lang::English } else { config.lang }
}

/// Runs a command that looks at a cluster.
async fn look(command: &Command, settings: &Settings, out: &mut impl io::Write) -> Result<(), Failure> {
    let Settings { config, .. } = settings;
    match command {
        Command::Ls(args) => ls::run(args, config, out).await,
        Command::Show(args) => show::run(args, config, out).await,
        Command::History(args) => history::run(args, config, out).await,
        Command::Leases => leases::run(config, out).await,
        Command::Members => members::run(config, out).await,
        Command::Doctor(args) => doctor::run(args, config, out).await,
        Command::Info => info::run(settings, out).await,
        // They look at nothing and were run before.
        Command::Keys
        | Command::Completions { .. }
        | Command::Man(_)
        | Command::Config(_)
        | Command::Cluster(_)
        | Command::Demo(_)
        | Command::Play(_)
        | Command::Revoke(_)
        | Command::Release(_)
        | Command::MoveLeader(_)
        | Command::Disarm(_)
        | Command::Record(_)
        | Command::Replay(_)
        | Command::Watch(_) => Ok(()),
    }
}
