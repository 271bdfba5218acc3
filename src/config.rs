//! Settings, merged once into typed values: flags > environment > context > file > default. A
//! context that is typed comes before the environment.
//!
//! Each source is read into a [`Layer`]; [`merge()`] puts the layers over each other and gives
//! the one [`Config`] that the rest of the program sees. Nothing here parses a command line
//! (that is `cli`) or opens a connection (`port`).

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

mod environment;
mod file;
mod findings;
mod layer;
mod merge;
mod origin;
pub mod parse;
mod settings;

use crate::domain::{Lang, Redaction};

pub use environment::{VARIABLES, format, lang, secret, ttl, ttl_budget};
pub use file::{File, FileError, default_path};
pub use findings::Findings;
pub use layer::{Layer, Secret};
pub use merge::{ConfigError, chosen, merge};
pub use origin::{InForce, MASK, Origin, in_force};
pub use parse::{Endpoint, ValueError};
pub use settings::{SETTINGS, Setting, commented_file};

/// All settings of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// The context that was chosen: whose settings these are.
    pub context: Option<String>,
    /// How to reach the cluster.
    pub connection: Connection,
    /// The prefixes to watch; empty when locks are to be found through their leases. An
    /// empty prefix is the whole keyspace.
    pub prefixes: Vec<Vec<u8>>,
    /// What says that everything that writes to the cluster is refused: the flag, the variable or
    /// the file, as a person would look for it. None when nothing does.
    pub read_only: Option<String>,
    /// The file that every write to a cluster is noted in.
    pub audit_log: Option<PathBuf>,
    /// The language that people are spoken to in.
    pub lang: Lang,
    /// How the dashboard looks.
    pub display: Display,
    /// How commands print.
    pub output: Output,
    /// How leases are polled.
    pub polling: Polling,
    /// What is logged and where to.
    pub logging: Logging,
    /// From when on something counts as a finding.
    pub findings: Findings,
    /// What is recorded and where to.
    pub recording: Recording,
}

/// What is recorded of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// The file; none when nothing is recorded.
    pub file: Option<PathBuf>,
    /// What is done to values, also in a recording that is begun later.
    pub redaction: Redaction,
}

/// How the dashboard looks and feels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Display {
    /// The theme that was asked for; by the terminal's background when none was.
    pub theme: Option<String>,
    /// Only ASCII characters.
    pub ascii: bool,
    /// Whether the mouse is captured at start.
    pub mouse: bool,
    /// No motion but countdowns.
    pub reduce_motion: bool,
}

/// How commands print what they found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The format that was asked for; each command has its own default.
    pub format: Option<Format>,
    /// Print keys and values as hex.
    pub hex: bool,
}

/// A format of output, as `etcdctl -w` names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One line an item, fields separated by tabs.
    Simple,
    /// A boxed table.
    Table,
    /// One JSON document.
    Json,
}

/// How leases are asked for their time to live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Polling {
    /// The most questions a second.
    pub budget: u32,
    /// Which leases one-shot commands ask for; each command has its own default.
    pub ttl: Option<TtlPolicy>,
}

/// Which leases a one-shot command asks for their time to live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TtlPolicy {
    /// Those of holders.
    Holders,
    /// All of them.
    All,
    /// None: faster, and TTLs stay unknown.
    None,
}

/// What is logged and where to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Logging {
    /// Log what the program does in detail.
    pub debug: bool,
    /// The file the log is appended to.
    pub file: Option<PathBuf>,
}

/// How to reach the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connection {
    /// Endpoints as URLs with a scheme, in the order they are tried.
    pub endpoints: Vec<String>,
    /// TLS settings; used for every endpoint whose scheme is `https`.
    pub tls: Tls,
    /// Who to log in as.
    pub user: Option<Credentials>,
    /// How long a connection may take to open.
    pub dial_timeout: Duration,
    /// How long a call may take to be answered.
    pub command_timeout: Duration,
    /// How often an idle connection is pinged.
    pub keepalive_time: Duration,
    /// How long the answer to a ping may take before the connection counts as dead.
    pub keepalive_timeout: Duration,
}

/// TLS settings, as paths: the files are read when a connection is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tls {
    /// Certificates of the authorities to trust; the system's when absent.
    pub cacert: Option<PathBuf>,
    /// The client's certificate.
    pub cert: Option<PathBuf>,
    /// The key of the client's certificate.
    pub key: Option<PathBuf>,
    /// Accept any server certificate.
    pub skip_verify: bool,
}

/// A name and its password.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// The user's name.
    pub name: String,
    /// The password; never printed.
    pub password: String,
}

impl Format {
    /// The formats by the words they are chosen with.
    pub const WORDS: [(&'static str, Self); 3] =
        [("simple", Self::Simple), ("table", Self::Table), ("json", Self::Json)];

    /// The word it is chosen with.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Table => "table",
            Self::Json => "json",
        }
    }
}

impl TtlPolicy {
    /// The policies by the words they are chosen with.
    pub const WORDS: [(&'static str, Self); 3] = [("holders", Self::Holders), ("all", Self::All), ("none", Self::None)];

    /// The word it is chosen with.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Holders => "holders",
            Self::All => "all",
            Self::None => "none",
        }
    }
}

impl Connection {
    /// The variables that lead etcdctl to the same cluster as the same user, where they are not
    /// what etcdctl takes by itself. They are set for a command instead of giving it flags: etcdctl
    /// refuses a flag whose variable is set. A password is never among them.
    pub fn etcdctl_variables(&self) -> Vec<(&'static str, String)> {
        let mut set = Vec::new();
        let mut add = |setting: &str, value: String| {
            let variable = VARIABLES.iter().find(|(name, _)| *name == setting);
            set.extend(variable.map(|(_, variable)| (*variable, value)));
        };
        if self.endpoints != Self::default().endpoints {
            add("endpoints", self.endpoints.join(","));
        }
        for (setting, path) in [("cacert", &self.tls.cacert), ("cert", &self.tls.cert), ("key", &self.tls.key)] {
            if let Some(path) = path {
                add(setting, path.to_string_lossy().into_owned());
            }
        }
        if self.tls.skip_verify {
            add("insecure-skip-tls-verify", "true".into());
        }
        if let Some(user) = &self.user {
            add("user", user.name.clone());
        }
        set
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").field("name", &self.name).field("password", &"***").finish()
    }
}

impl Default for Connection {
    fn default() -> Self {
        Self {
            endpoints: vec!["http://127.0.0.1:2379".into()],
            tls: Tls::default(),
            user: None,
            dial_timeout: Duration::from_secs(2),
            command_timeout: Duration::from_secs(5),
            keepalive_time: Duration::from_secs(2),
            keepalive_timeout: Duration::from_secs(6),
        }
    }
}

impl Default for Display {
    fn default() -> Self {
        Self { theme: None, ascii: false, mouse: true, reduce_motion: false }
    }
}

impl Default for Polling {
    fn default() -> Self {
        Self { budget: 200, ttl: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn etcdctl_is_told_where_and_who_and_no_password() {
        assert_eq!(Connection::default().etcdctl_variables(), []);
        let connection = Connection {
            endpoints: vec!["https://a:1".into(), "https://b:1".into()],
            tls: Tls { cacert: Some("ca.pem".into()), ..Tls::default() },
            user: Some(Credentials { name: "ann".into(), password: "hunter2".into() }),
            ..Connection::default()
        };
        let expected = [
            ("ETCDCTL_ENDPOINTS", "https://a:1,https://b:1".to_owned()),
            ("ETCDCTL_CACERT", "ca.pem".to_owned()),
            ("ETCDCTL_USER", "ann".to_owned()),
        ];
        assert_eq!(connection.etcdctl_variables(), expected);
    }
}
