//! What can be typed: commands, flags and their help.
//!
//! Flags are global, as in etcdctl: they may stand before or behind the command. Clap reads
//! them into typed values; what the environment and the file add is [`crate::config`]'s.
//!
//! It is long because it is one table: every command and every flag, each with its help.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};
use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;

use super::embedded::{self, EmbeddedArgs};
use super::given::Given;
use crate::config::{self, Endpoint, Format, Layer, Secret, TtlPolicy, VARIABLES, ValueError, parse};
use crate::domain::{Lang, Redaction, Revision};
use crate::input::SeekTo;
use crate::model::Severity;
use crate::model::ui::ReplaySpeed;
use crate::playground::Span;
use crate::playground::scenario::library;
use crate::view::theme::Palette;

/// The variable that names the configuration file.
pub const CONFIG_VARIABLE: &str = "LOCKSCOPE_CONFIG";

/// See who holds each lock in etcd, who waits for it, and whether its lease is kept alive.
///
/// Without a command the dashboard opens on the endpoints. Flags and ETCDCTL_* variables are
/// those of etcdctl; where etcdctl has no word for it, variables start with LOCKSCOPE_.
#[derive(Debug, Parser)]
#[command(
    name = "lockscope",
    version,
    max_term_width = 100,
    args_override_self = true,
    subcommand_help_heading = "Commands",
    after_help = AFTER_HELP,
    disable_help_subcommand = true,
)]
pub struct Cli {
    /// The command; none opens the dashboard.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// How to reach the cluster.
    #[command(flatten)]
    pub connection: ConnectionArgs,
    /// How to print.
    #[command(flatten)]
    pub output: OutputArgs,
    /// What etcdctl has no word for.
    #[command(flatten)]
    pub own: OwnArgs,
}

const AFTER_HELP: &str = "\
Durations are written as 5s, 500ms or 1m30s. A flag beats its variable, a variable beats the
configuration file. Data goes to standard output, everything else to standard error.

Exit codes: 0 done, 1 error, 2 cannot connect, 3 bad input, 5 interrupted, 6 file error,
8 doctor found something, 128 bad arguments.";

/// A command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List locks and elections: holder, fencing token, TTL, waiters
    ///
    /// Without a prefix, locks are found by themselves: through the keys of all leases and
    /// those beside them. `ls ''` reads the whole keyspace.
    ///
    /// Fields: name, layout, state, key of the holder, fencing token, TTL as seconds left of
    /// seconds granted, number of waiters, findings.
    Ls(LsArgs),
    /// Show one lock: its queue in order, leases, TTLs, values
    ///
    /// LOCK is the name as `ls` prints it. Leases of the whole queue are asked for their TTL.
    ///
    /// The first field says what the line is. lock: name, layout, family, state, number of
    /// waiters, findings. verdict: a sentence. holder and waiter: position, key, lease, create_revision, revision it
    /// waits for, TTL, renewal, owner, value. lease-key: lease, another key that hangs on it.
    /// more-lease-keys: how many more there are, which --limit 0 prints.
    /// With --tree a line a client, each below the one it is blocked by, and deadlocks on top.
    Show(ShowArgs),
    /// Tell who held a lock from which revision to which, rebuilt from what etcd still has
    ///
    /// etcd keeps all revisions since its last compaction, so that nobody had to watch. Handoffs
    /// are printed as they are read, the oldest first. Revisions do not tell when they were made.
    /// The cause is unknown where they do not tell that either: a lease that ran out, was revoked,
    /// or was given up right after an unlock looks the same.
    ///
    /// Fields: revision of the handoff, key of the former holder, its lease, its fencing token, the
    /// revision since which it held, cause, keys of those who held next, owner, next owners.
    History(HistoryArgs),
    /// List leases: TTL, keys, what each holds and waits for
    ///
    /// Fields: lease, TTL, renewal, names of the locks it holds, of those it waits for, its
    /// keys. Lists have commas between their items.
    Leases,
    /// List members: role, term, indexes, database size, latency, alarms
    ///
    /// Fields: id, name, endpoint, role, term, raft index, applied index, lag, database size in
    /// bytes, version, latency in milliseconds, alarms, errors.
    Members,
    /// Print a line for each thing that happens: enqueued, acquired, released with its cause
    ///
    /// Lines are JSON unless `-w simple` or `-w table` asks for text. It goes on until
    /// `--for` is over, until Ctrl-C, or until nobody reads any more.
    ///
    /// Fields of text: time, event, lock, key, lease, create_revision, revision, and the cause
    /// or another detail.
    Watch(WatchArgs),
    /// Say what is wrong, or about to be, with the evidence and what to do about it
    ///
    /// Locks, the time of every lease, members and alarms are looked at, with any role that may
    /// read something; what could not be seen is said. A single look cannot tell whether a lease
    /// is renewed: `--for 30s` watches that first.
    ///
    /// A look at members and locks takes twice --command-timeout at most; leases have twice the
    /// time that --ttl-budget needs for them on top of it. After a few without an answer the rest
    /// is not asked.
    ///
    /// Fields: severity, code, locks, evidence, and a command that helps. The worst comes first.
    /// Infos that repeat are counted on standard error instead; `-w json` and `--fail-on info` have
    /// them all. Exit code 8: something as bad as --fail-on was found. 1: nothing
    /// that bad was found, but locks, leases or the list of members gave no answer. What the user may
    /// not read is reported and does not count, unless nothing may be read.
    Doctor(DoctorArgs),
    /// Start a cluster inside the program, with clients that contend for locks, and watch it
    ///
    /// Nothing is needed but this program. It is a playground: everything is held in memory, and
    /// only this machine can reach it. For anything real, point lockscope at etcd. With
    /// --engine etcd the cluster is made of the etcd found on PATH instead.
    ///
    /// A scenario says what is shown, such as `zombie` or `split-vote`: `lockscope play --list`
    /// lists them. Without one it is `fifo`. A file of one's own is named by its path.
    ///
    /// With --headless no screen opens: a summary is printed when --for is over. It fails when
    /// something that the scenario expects is not so.
    Demo(DemoArgs),
    /// Let simulated clients play a scenario on the cluster, and watch it
    ///
    /// They really do what lock clients do, on leases and keys of their own below
    /// /lockscope/SCENARIO/, and touch nothing else. When keys are there already, somebody else
    /// plays, and it is refused. Everything is taken away in the end; after a SIGKILL the leases
    /// run out.
    ///
    /// With --headless no screen opens: a summary is printed when --for is over. It fails when
    /// something that the scenario expects is not so.
    Play(PlayArgs),
    /// Serve an embedded cluster on loopback, for any etcd client, until Ctrl-C
    ///
    /// One line says where it listens. Each line on standard input is a command, answered by one
    /// line: kill n1, start n1, pause n2, resume n2, isolate n3, cut n1 n2, delay 200ms, loss
    /// 20%, heal, campaign n1, transfer n2, speed 0.1, freeze, thaw, step, prevote off,
    /// checkquorum off, status.
    Cluster(ClusterArgs),
    /// Revoke a lease: all its keys go, and every lock that one of them holds is freed
    ///
    /// What would go is shown first, keys outside the watched prefixes too, and the lease's id has
    /// to be typed, or --yes given. It is not done when the lease has other keys by then. A look
    /// afterwards verifies it; when the answer is lost and no look tells, it says that it is unknown.
    ///
    /// Fields: write: command, lease, what is done. key: name, create_revision. lock: name, freed
    /// or stays-held, the key that holds it next. note. etcdctl: the same with etcdctl. result:
    /// done, changed, gone-already, not-sent, refused or unknown, and the revision. gone: key.
    Revoke(RevokeArgs),
    /// Release a lock: delete its holder's key, or another one that is named
    ///
    /// It is one transaction that deletes the key only if it is the one that was shown: a newer lock
    /// of the same name is never hit. The client that held it is not told. What would happen is shown
    /// first, and a word has to be typed, such as the last part of its name, or --yes given.
    ///
    /// Fields are those of `revoke`.
    Release(ReleaseArgs),
    /// Move the lead to another member
    ///
    /// A word has to be typed, such as the member's name, or --yes given. It is verified with the new leader.
    MoveLeader(MoveLeaderArgs),
    /// Disarm an alarm, of every member that raised it
    ///
    /// The alarm's name has to be typed, or --yes given. NOSPACE comes back when no space was freed.
    Disarm(DisarmArgs),
    /// Record what the dashboard would see into a file, until Ctrl-C
    ///
    /// It may be started before the cluster is there. What there is of the file can be replayed
    /// at any time. docs/recording.md tells what is in it. Ctrl-C ends it in order, with exit code
    /// 0, or 5 before the time of --for is over; without any endpoint reached it is 2.
    ///
    /// Fields: file, observations, bytes, observations left out for a slow disk, seconds, what was
    /// redacted.
    Record(RecordArgs),
    /// Look at a recording as if it happened now
    ///
    /// Space plays and pauses, ] is faster and [ slower, . and , go on and back by one
    /// observation, > and < by one revision; :seek goes to a time or a revision, :find to what
    /// has a text in its name. No connection is made and nothing is written.
    Replay(ReplayArgs),
    /// Print versions, paths and settings, and what the cluster says of itself
    Info,
    /// Write, show and choose settings
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print the keys and commands of the dashboard as a document
    Keys,
    /// Print a completion script for a shell
    Completions {
        /// The shell.
        #[arg(value_name = "SHELL")]
        shell: Shell,
    },
    /// Print the manual page
    ///
    /// Read it with `lockscope man | man -l -`.
    Man(ManArgs),
}

/// What is done with settings.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Write a configuration file with every setting and its default, all commented out
    ///
    /// It is written where `lockscope info` looks for it, for its owner alone. A file that is there
    /// already is left alone.
    Init(InitArgs),
    /// Print the settings in force, and where each came from
    ///
    /// No connection is made. A password is never shown.
    ///
    /// Fields: setting, value as the file would have it, the flag, variable, context or file that said it.
    Show,
    /// Print the path of the configuration file, whether it is there or not
    Path,
    /// List the contexts of the configuration file
    ///
    /// Fields: name, whether it is chosen, endpoints, user, whether it is read-only, prefixes. What a
    /// context leaves to the rest of the file is shown as that has it.
    Contexts,
}

/// Arguments of `config init`.
#[derive(Args, Debug)]
pub struct InitArgs {
    /// Print it instead of writing a file
    #[arg(long)]
    pub stdout: bool,
    /// Write over a file that is there
    #[arg(short, long, conflicts_with = "stdout")]
    pub force: bool,
}

/// Arguments of `man`.
#[derive(Args, Debug)]
pub struct ManArgs {
    /// Write a page for every command into this folder instead, which is made if it is not there
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

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
#[derive(Args, Debug)]
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
#[derive(Args, Debug)]
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

/// How to reach the cluster.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Connection")]
pub struct ConnectionArgs {
    /// Endpoints of the cluster, with commas between them or repeated; the scheme may be left out
    /// [default: 127.0.0.1:2379]
    #[arg(long, global = true, value_name = "HOST:PORT,...", value_parser = endpoint_list)]
    pub endpoints: Vec<EndpointList>,
    /// Trust servers whose certificates these authorities signed
    #[arg(long, global = true, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// Show this client certificate
    #[arg(long, global = true, value_name = "FILE")]
    pub cert: Option<PathBuf>,
    /// The key of the client certificate
    #[arg(long, global = true, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// Log in as this user; without a password the terminal asks for it
    #[arg(long, global = true, value_name = "NAME[:PASSWORD]", allow_hyphen_values = true, value_parser = secret)]
    pub user: Option<Secret>,
    /// The user's password; then --user is the name alone
    #[arg(long, global = true, value_name = "PASSWORD", allow_hyphen_values = true, value_parser = secret)]
    pub password: Option<Secret>,
    /// Accept any server certificate
    #[arg(long, global = true, value_name = "BOOL", value_parser = parse::boolean,
        num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub insecure_skip_tls_verify: Option<bool>,
    /// Plain connections to endpoints without a scheme; =false means TLS [default: true, false when
    /// a certificate is given]
    #[arg(long, global = true, value_name = "BOOL", value_parser = parse::boolean,
        num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub insecure_transport: Option<bool>,
    /// How long opening a connection may take [default: 2s]
    #[arg(long, global = true, value_name = "DURATION", allow_hyphen_values = true, value_parser = parse::duration)]
    pub dial_timeout: Option<Duration>,
    /// How long one call may take [default: 5s]
    #[arg(long, global = true, value_name = "DURATION", allow_hyphen_values = true, value_parser = parse::duration)]
    pub command_timeout: Option<Duration>,
    /// How often an idle connection is pinged [default: 2s]
    #[arg(long, global = true, value_name = "DURATION", allow_hyphen_values = true, value_parser = parse::duration)]
    pub keepalive_time: Option<Duration>,
    /// How long the answer to a ping may take [default: 6s]
    #[arg(long, global = true, value_name = "DURATION", allow_hyphen_values = true, value_parser = parse::duration)]
    pub keepalive_timeout: Option<Duration>,
}

/// How to print.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// simple is a line an item with tabs between its fields, table is boxed, json is one document [default: simple; watch: json]
    #[arg(short = 'w', long, global = true, value_name = "FORMAT", hide_possible_values = true,
        value_parser = PossibleValuesParser::new(["simple", "table", "json"]).try_map(|word| config::format(&word)))]
    pub write_out: Option<Format>,
    /// Print keys and values as hex
    #[arg(long, global = true, value_name = "BOOL", value_parser = parse::boolean,
        num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub hex: Option<bool>,
    /// Log in detail what is asked and answered
    #[arg(long, global = true, value_name = "BOOL", value_parser = parse::boolean,
        num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub debug: Option<bool>,
    /// Append the log to this file
    #[arg(long, global = true, value_name = "FILE")]
    pub log_file: Option<PathBuf>,
}

/// What etcdctl has no word for.
#[expect(clippy::doc_markdown, reason = "the text is shown as help, where marks would be printed")]
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Locks and dashboard")]
pub struct OwnArgs {
    /// Watch the keys that start with this; repeatable; '' is the whole keyspace [default: find locks
    /// through their leases, which can miss locks of a few seconds where there are many leases]
    #[arg(long, global = true, value_name = "PREFIX", allow_hyphen_values = true)]
    pub prefix: Vec<OsString>,
    /// Ask these leases for their TTL: holders, all, none [default: holders; show and leases: all]
    #[arg(long, global = true, value_name = "LEASES", hide_possible_values = true,
        value_parser = PossibleValuesParser::new(["holders", "all", "none"]).try_map(|word| config::ttl(&word)))]
    pub ttl: Option<TtlPolicy>,
    /// At most this many lease polls a second [default: 200]
    #[arg(long, global = true, value_name = "N", allow_hyphen_values = true, value_parser = config::ttl_budget)]
    pub ttl_budget: Option<u32>,
    /// Refuse everything that writes to the cluster
    #[arg(long, global = true, value_name = "BOOL", value_parser = parse::boolean,
        num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub read_only: Option<bool>,
    /// Note every write to the cluster in this file, before and after it is made
    #[arg(long, global = true, value_name = "FILE")]
    pub audit_log: Option<PathBuf>,
    /// Speak English or Chinese: en, zh [default: by LC_ALL, LC_MESSAGES or LANG]
    #[arg(long, global = true, value_name = "LANGUAGE", hide_possible_values = true,
        value_parser = PossibleValuesParser::new(Lang::WORDS.map(|(word, _)| word)).try_map(|word| config::lang(&word)))]
    pub lang: Option<Lang>,
    /// Colours of the dashboard [default: by the terminal's background]
    #[arg(long, global = true, value_name = "NAME", hide_possible_values = true,
        value_parser = Known(|| Palette::builtin_names().collect()))]
    pub theme: Option<String>,
    /// Draw with ASCII characters only
    #[arg(long, global = true, value_name = "BOOL", value_parser = parse::boolean,
        num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub ascii: Option<bool>,
    /// Leave the mouse to the terminal
    #[arg(long, global = true, value_name = "BOOL", value_parser = parse::boolean,
        num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub no_mouse: Option<bool>,
    /// No motion but countdowns
    #[arg(long, global = true, value_name = "BOOL", value_parser = parse::boolean,
        num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub reduce_motion: Option<bool>,
    /// Record what a screen shows into this file, for `lockscope replay`
    #[arg(long, global = true, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// In recordings, leave values out or hash them: values, hash
    #[arg(long, global = true, value_name = "WHAT", hide_possible_values = true,
        value_parser = PossibleValuesParser::new(Redaction::NAMES).try_map(|word| redaction(&word)))]
    pub redact: Option<Redaction>,
    /// Use this context of the configuration file: its [contexts.NAME]; '' is none
    #[arg(long, global = true, value_name = "NAME")]
    pub context: Option<String>,
    /// Read this configuration file [default: $XDG_CONFIG_HOME/lockscope/config.toml, else
    /// ~/.config/lockscope/config.toml]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// A word, with those that are known by name: others are taken as well, such as the path of a file.
#[derive(Clone, Copy)]
struct Known(fn() -> Vec<&'static str>);

impl TypedValueParser for Known {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.0)().into_iter().map(PossibleValue::new)))
    }
}

/// The endpoints of one `--endpoints`.
#[derive(Clone, Debug)]
pub struct EndpointList(Vec<Endpoint>);

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

fn redaction(word: &str) -> Result<Redaction, String> {
    Redaction::named(word).ok_or_else(|| format!("`{word}` cannot be redacted"))
}

fn seek(text: &str) -> Result<SeekTo, String> {
    text.parse().map_err(|error: crate::input::seek::SeekError| error.to_string())
}

fn speed(text: &str) -> Result<ReplaySpeed, String> {
    ReplaySpeed::named(text).ok_or_else(|| format!("`{text}` is none of {}", ReplaySpeed::names()))
}

fn endpoint_list(text: &str) -> Result<EndpointList, ValueError> {
    parse::endpoints(text).map(EndpointList)
}

#[expect(clippy::unnecessary_wraps, reason = "clap wants a reader that can fail")]
fn secret(text: &str) -> Result<Secret, ValueError> {
    Ok(Secret(text.to_owned()))
}

impl Cli {
    /// Gives the key that `--key` names to `release`, where it means that one: without a certificate
    /// there can be no key of it.
    #[must_use]
    pub fn settled(mut self) -> Self {
        if let Some(Command::Release(release)) = &mut self.command
            && self.connection.cert.is_none()
            && release.queue_key.is_none()
        {
            release.queue_key = self.connection.key.take().map(PathBuf::into_os_string);
        }
        self
    }

    /// Whether it opens a screen of what happens now.
    pub const fn has_screen(&self) -> bool {
        match &self.command {
            None => true,
            Some(Command::Demo(args)) => !args.headless,
            Some(Command::Play(args)) => !args.headless && !args.list && args.check.is_none(),
            Some(_) => false,
        }
    }

    /// What is to be recorded of a screen, or by `record`.
    pub fn recording(&self) -> config::Recording {
        config::Recording { file: self.own.record.clone(), redaction: self.own.redact.unwrap_or_default() }
    }

    /// What the flags say, as the strongest layer of settings.
    pub fn layer(&self) -> Layer {
        let ConnectionArgs {
            endpoints,
            cacert,
            cert,
            key,
            user,
            password,
            insecure_skip_tls_verify,
            insecure_transport,
            dial_timeout,
            command_timeout,
            keepalive_time,
            keepalive_timeout,
        } = self.connection.clone();
        let OutputArgs { write_out, hex, debug, log_file } = self.output.clone();
        let OwnArgs {
            prefix,
            ttl,
            ttl_budget,
            read_only,
            audit_log,
            lang,
            theme,
            ascii,
            no_mouse,
            reduce_motion,
            record: _,
            redact: _,
            config: _,
            context,
        } = self.own.clone();
        let mut beneath = Vec::new();
        if let Some(Command::Ls(LsArgs { beneath: Some(argument), .. })) = &self.command {
            // A prefix may be given as a name is printed; what has no name is no prefix for everything.
            let given = Given::of(argument.as_encoded_bytes(), hex == Some(true));
            let named = given.names().iter().filter(|name| !name.is_empty() || argument.is_empty());
            beneath = named.cloned().collect();
        }
        let endpoints: Vec<_> = endpoints.into_iter().flat_map(|EndpointList(list)| list).collect();
        let prefix: Vec<_> = prefix.into_iter().map(OsString::into_encoded_bytes).chain(beneath).collect();
        Layer {
            context,
            endpoints: (!endpoints.is_empty()).then_some(endpoints),
            cacert,
            cert,
            key,
            user,
            password,
            insecure_skip_tls_verify,
            insecure_transport,
            dial_timeout,
            command_timeout,
            keepalive_time,
            keepalive_timeout,
            write_out,
            hex,
            debug,
            prefix: (!prefix.is_empty()).then_some(prefix),
            read_only,
            lang,
            theme,
            ascii,
            no_mouse,
            reduce_motion,
            log_file,
            audit_log,
            ttl_budget,
            ttl,
            findings: config::Findings::default(),
        }
    }
}

/// The definition of the command line, with each flag's variable in its help.
pub fn command() -> clap::Command {
    // The context stands beside the file that it is in.
    let [context, others @ ..] = VARIABLES;
    let variables = others.into_iter().chain([context, ("config", CONFIG_VARIABLE)]);
    let command = variables.fold(Cli::command(), |command, (name, variable)| {
        command.mut_arg(name.replace('-', "_"), |arg| {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            arg.help(format!("{help} [env: {variable}]"))
        })
    });
    // What is changed moves to the end: these, which have no variable, stay behind their neighbours.
    hinted(["record", "redact"].into_iter().fold(command, |command, name| command.mut_arg(name, |arg| arg)))
}

/// The same with a hint at what completes each argument: nothing of the file system where no file is meant.
fn hinted(command: clap::Command) -> clap::Command {
    let of_arg = |arg: clap::Arg| {
        let takes_words = arg.get_action().takes_values() && arg.get_possible_values().is_empty();
        let is_file = arg.get_id() == "scenario" || arg.get_value_hint() != ValueHint::Unknown;
        if takes_words && !is_file { arg.value_hint(ValueHint::Other) } else { arg }
    };
    command.mut_args(of_arg).mut_subcommands(hinted)
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches as _;

    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Cli, clap::Error> {
        let arguments = ["lockscope"].iter().chain(arguments);
        command().try_get_matches_from(arguments).and_then(|matches| Cli::from_arg_matches(&matches))
    }

    fn layer(arguments: &[&str]) -> Layer {
        parsed(arguments).unwrap().layer()
    }

    #[test]
    fn the_definition_is_sound() {
        command().debug_assert();
    }

    #[test]
    fn what_rules_advise_is_a_command_whatever_the_names_look_like() {
        for advised in [
            &["show", "/a"][..],
            &["show", "--", "-a"],
            &["show", "--tree"],
            &["release", "/a", "/a/1"],
            &["release", "--", "-a", "--yes"],
            &["revoke", "-7fab"],
            &["move-leader", "n2"],
            &["disarm", "nospace"],
            &["members", "--endpoints", "http://a:1"],
            &["doctor", "--user", "root"],
        ] {
            assert!(parsed(advised).is_ok(), "{advised:?}: {}", parsed(advised).unwrap_err());
        }
    }

    #[test]
    fn every_setting_is_a_flag_before_and_behind_every_command() {
        for name in Layer::NAMES {
            let value = match name {
                "endpoints" => "db1:2379",
                "dial-timeout" | "command-timeout" | "keepalive-time" | "keepalive-timeout" => "7s",
                "write-out" => "json",
                "ttl-budget" => "70",
                "ttl" => "all",
                "lang" => "zh",
                _ => "true",
            };
            let flag = format!("--{name}={value}");
            let before = layer(&[&flag, "leases"]);
            assert_ne!(before, Layer::default(), "{flag} is ignored");
            for behind in [&["ls", &flag][..], &["show", "x", &flag], &["leases", &flag], &["watch", &flag]] {
                assert_eq!(layer(behind), before, "{behind:?}");
            }
            // The same text means the same in the environment.
            let variable = VARIABLES.iter().find(|pair| pair.0 == name).unwrap().1;
            let environment = Layer::from_environment(|asked| (asked == variable).then(|| value.into())).unwrap();
            assert_eq!(environment, before, "{variable}");
        }
    }

    #[test]
    fn endpoints_are_listed_or_repeated_and_other_flags_are_taken_from_their_last_place() {
        let listed = layer(&["--endpoints", "a:1,b:1", "--endpoints", "c:1", "ls"]).endpoints.unwrap();
        let names: Vec<_> = listed.iter().map(|endpoint| endpoint.authority.as_str()).collect();
        assert_eq!(names, ["a:1", "b:1", "c:1"]);
        let last = layer(&["--dial-timeout", "1s", "--dial-timeout", "3s", "ls"]);
        assert_eq!(last.dial_timeout, Some(Duration::from_secs(3)));
    }

    #[test]
    fn switches_take_a_value_behind_an_equals_sign_only() {
        assert_eq!(layer(&["--hex", "ls"]).hex, Some(true));
        assert_eq!(layer(&["--hex=false", "ls"]).hex, Some(false));
        assert_eq!(layer(&["--insecure-transport=F", "ls"]).insecure_transport, Some(false));
        assert_eq!(layer(&["--insecure-skip-tls-verify", "ls"]).insecure_skip_tls_verify, Some(true));
        assert!(parsed(&["--hex=maybe", "ls"]).is_err());
    }

    #[test]
    fn the_prefix_of_ls_is_one_more_prefix() {
        assert_eq!(layer(&["ls", "/a/"]).prefix, Some(vec![b"/a/".to_vec()]));
        assert_eq!(layer(&["ls", ""]).prefix, Some(vec![vec![]]));
        assert_eq!(layer(&["ls"]).prefix, None);
        let printed = vec![br"/odd/esc\x1b".to_vec(), b"/odd/esc\x1b".to_vec()];
        assert_eq!(layer(&["ls", r"/odd/esc\x1b"]).prefix, Some(printed), "as it is printed");
        assert_eq!(layer(&["ls", "''"]).prefix, Some(vec![b"''".to_vec()]), "not everything");
        assert_eq!(layer(&["--prefix", "/b/", "ls", "/a/"]).prefix, Some(vec![b"/b/".to_vec(), b"/a/".to_vec()]));
    }

    #[test]
    fn the_key_to_release_is_told_from_the_key_of_a_certificate() {
        let settled = |arguments: &[&str]| {
            let cli = parsed(arguments).unwrap().settled();
            let layer = cli.layer();
            let Some(Command::Release(release)) = cli.command else { panic!("it is a release") };
            (release.queue_key.map(|key| key.into_string().unwrap()), layer.key)
        };
        assert_eq!(settled(&["release", "/q"]), (None, None));
        assert_eq!(settled(&["release", "/q", "/q/1"]), (Some("/q/1".into()), None));
        assert_eq!(settled(&["release", "/q", "--key", "/q/1"]), (Some("/q/1".into()), None));
        let tls = ["--cert", "c", "--key", "k", "release", "/q"];
        assert_eq!(settled(&tls), (None, Some("k".into())));
        assert_eq!(settled(&[&tls[..], &["/q/1"]].concat()), (Some("/q/1".into()), Some("k".into())));
    }

    #[test]
    fn the_id_of_a_lease_may_look_like_a_flag() {
        for arguments in
            [&["revoke", "-7fab12cd34ef5601", "--dry-run"][..], &["revoke", "--dry-run", "-7fab12cd34ef5601"]]
        {
            let Some(Command::Revoke(revoke)) = parsed(arguments).unwrap().command else { panic!("it is a revoke") };
            assert_eq!((&*revoke.lease, revoke.write.dry_run), ("-7fab12cd34ef5601", true));
        }
    }

    #[test]
    fn what_is_completed_is_known_words_and_files_only_where_a_file_is_meant() {
        let script = |shell: Shell| {
            let mut out = Vec::new();
            clap_complete::generate(shell, &mut command(), "lockscope", &mut out);
            String::from_utf8(out).unwrap()
        };
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = script(shell);
            assert!(script.contains("solarized-dark"), "{shell}");
            // Of words behind a command fish is told nothing by the generator.
            assert!(script.contains("split-vote") || shell == Shell::Fish, "{shell}");
        }
        let bash = script(Shell::Bash);
        let behind = |flag: &str| {
            let (_, behind) = bash.split_once(&format!(" --{flag})\n")).unwrap();
            behind.split(";;").next().unwrap().to_owned()
        };
        for flag in ["context", "user", "prefix", "dial-timeout", "ttl-budget"] {
            assert!(!behind(flag).contains("compgen -f"), "{flag}: {}", behind(flag));
        }
        for flag in ["cacert", "config", "log-file"] {
            assert!(behind(flag).contains("compgen -f"), "{flag}: {}", behind(flag));
        }
        assert!(behind("theme").contains("gruvbox"), "{}", behind("theme"));
        // They are no restriction: a theme of one's own and a file are taken.
        assert_eq!(layer(&["--theme", "mine", "ls"]).theme.as_deref(), Some("mine"));
        assert!(parsed(&["demo", "./mine.toml"]).is_ok() && parsed(&["play", "./mine.toml"]).is_ok());
    }

    #[test]
    fn no_debug_output_shows_a_password() {
        let cli = parsed(&["--user", "root:hunter2", "--password", "hunter3", "ls"]).unwrap();
        assert!(!format!("{cli:?}").contains("hunter"));
    }
}
