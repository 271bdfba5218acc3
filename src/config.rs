//! Settings, merged once into typed values: flags > environment > file > default.
//!
//! Nothing here parses a command line (that is `cli`) or opens a connection (`port`).

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

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
