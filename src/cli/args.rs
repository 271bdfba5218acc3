//! What can be typed: every command with its help.
//!
//! Clap reads it into typed values; what the environment and the file add is [`crate::config`]'s. The
//! flags that all commands take are in `flags`; they are global, as in etcdctl: they may stand before or
//! behind the command. What a command alone takes is in a file with that of its kin.

mod embedded;
mod flags;
mod known;
mod look;
mod play;
mod program;
mod record;
mod write;

use std::path::PathBuf;

use clap::{CommandFactory as _, Parser, Subcommand, ValueHint};
use clap_complete::Shell;

use crate::config::VARIABLES;

pub use embedded::EmbeddedArgs;
pub use flags::{ConnectionArgs, OutputArgs, OwnArgs};
pub use look::{DoctorArgs, FailOn, HistoryArgs, LsArgs, ShowArgs, WatchArgs};
pub use play::{CastArgs, ClusterArgs, DemoArgs, EngineChoice, PlayArgs};
pub use program::{ConfigCommand, InitArgs, ManArgs};
pub use record::{RecordArgs, ReplayArgs};
pub use write::{DisarmArgs, MoveLeaderArgs, ReleaseArgs, RevokeArgs, WriteArgs};

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
    ///
    /// A release is told once its cause is known, so the line about the next holder, which does not
    /// wait for that, comes before it; time and revision are those of the event.
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
}

/// The definition of the command line, with each flag's variable in its help.
pub fn command() -> clap::Command {
    Cli::command().mut_args(|arg| {
        let Some(variable) = variable(arg.get_id().as_str()) else { return arg };
        let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        arg.help(format!("{help} [env: {variable}]"))
    })
}

/// The same for a shell's completion, which no other start has to pay for.
pub fn completed() -> clap::Command {
    hinted(command())
}

/// Gives each argument a hint at what completes it: nothing of the file system where no file is meant.
fn hinted(command: clap::Command) -> clap::Command {
    let of_arg = |arg: clap::Arg| {
        let takes_words = arg.get_action().takes_values() && arg.get_possible_values().is_empty();
        let is_file = arg.get_id() == "scenario" || arg.get_value_hint() != ValueHint::Unknown;
        if takes_words && !is_file { arg.value_hint(ValueHint::Other) } else { arg }
    };
    command.mut_args(of_arg).mut_subcommands(hinted)
}

/// The variable of a flag, by the name of its argument.
fn variable(argument: &str) -> Option<&'static str> {
    let is_it = |name: &str| name.len() == argument.len() && name.replace('-', "_") == argument;
    let variables = VARIABLES.into_iter().chain([("config", CONFIG_VARIABLE)]);
    variables.into_iter().find(|(name, _)| is_it(name)).map(|(_, variable)| variable)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::FromArgMatches as _;

    use super::*;
    use crate::config::Layer;

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
            clap_complete::generate(shell, &mut completed(), "lockscope", &mut out);
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
