//! One source of settings: what it says, and nothing about what it leaves open.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use super::file::de;
use super::{Endpoint, Findings, Format, TtlPolicy};
use crate::domain::Lang;

/// What one source (the flags, the environment, a file) says; `None` leaves a setting to
/// the sources below. The names are the flags' names, which are also those of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Layer {
    /// The cluster's endpoints.
    #[serde(deserialize_with = "de::endpoints")]
    pub endpoints: Option<Vec<Endpoint>>,
    /// Certificates of the authorities to trust.
    pub cacert: Option<PathBuf>,
    /// The client's certificate.
    pub cert: Option<PathBuf>,
    /// The key of the client's certificate.
    pub key: Option<PathBuf>,
    /// `name` or `name:password`.
    #[serde(deserialize_with = "de::secret")]
    pub user: Option<Secret>,
    /// The password; then `user` is the name alone.
    #[serde(deserialize_with = "de::secret")]
    pub password: Option<Secret>,
    /// Accept any server certificate.
    pub insecure_skip_tls_verify: Option<bool>,
    /// `false`: TLS even without any certificate of one's own.
    pub insecure_transport: Option<bool>,
    /// How long a connection may take to open.
    #[serde(deserialize_with = "de::duration")]
    pub dial_timeout: Option<Duration>,
    /// How long a call may take to be answered.
    #[serde(deserialize_with = "de::duration")]
    pub command_timeout: Option<Duration>,
    /// How often an idle connection is pinged.
    #[serde(deserialize_with = "de::duration")]
    pub keepalive_time: Option<Duration>,
    /// How long the answer to a ping may take.
    #[serde(deserialize_with = "de::duration")]
    pub keepalive_timeout: Option<Duration>,
    /// The format of output.
    #[serde(deserialize_with = "de::format")]
    pub write_out: Option<Format>,
    /// Print keys and values as hex.
    pub hex: Option<bool>,
    /// Log in detail.
    pub debug: Option<bool>,
    /// The prefixes to watch.
    #[serde(deserialize_with = "de::prefixes")]
    pub prefix: Option<Vec<Vec<u8>>>,
    /// Refuse everything that writes.
    pub read_only: Option<bool>,
    /// The language that people are spoken to in.
    #[serde(deserialize_with = "de::lang")]
    pub lang: Option<Lang>,
    /// The theme.
    pub theme: Option<String>,
    /// Only ASCII characters.
    pub ascii: Option<bool>,
    /// Leave the mouse to the terminal.
    pub no_mouse: Option<bool>,
    /// No motion but countdowns.
    pub reduce_motion: Option<bool>,
    /// The file the log is appended to.
    pub log_file: Option<PathBuf>,
    /// The file that writes to the cluster are noted in.
    pub audit_log: Option<PathBuf>,
    /// The most lease polls a second.
    #[serde(deserialize_with = "de::ttl_budget")]
    pub ttl_budget: Option<u32>,
    /// Which leases one-shot commands ask for.
    #[serde(deserialize_with = "de::ttl")]
    pub ttl: Option<TtlPolicy>,
    /// From when on something counts as a finding; only a file has this section.
    pub findings: Findings,
}

/// Text that may hold a password and is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl Layer {
    /// The names of all settings, as flags and as the file have them; sections come on top.
    pub const NAMES: [&'static str; 26] = [
        "endpoints",
        "cacert",
        "cert",
        "key",
        "user",
        "password",
        "insecure-skip-tls-verify",
        "insecure-transport",
        "dial-timeout",
        "command-timeout",
        "keepalive-time",
        "keepalive-timeout",
        "write-out",
        "hex",
        "debug",
        "prefix",
        "read-only",
        "lang",
        "theme",
        "ascii",
        "no-mouse",
        "reduce-motion",
        "log-file",
        "audit-log",
        "ttl-budget",
        "ttl",
    ];

    /// The sections of the file.
    pub const SECTIONS: [&'static str; 1] = ["findings"];

    /// This layer laid over `below`: what this one leaves open is taken from there.
    #[must_use]
    pub fn over(self, below: Self) -> Self {
        Self {
            endpoints: self.endpoints.or(below.endpoints),
            cacert: self.cacert.or(below.cacert),
            cert: self.cert.or(below.cert),
            key: self.key.or(below.key),
            user: self.user.or(below.user),
            password: self.password.or(below.password),
            insecure_skip_tls_verify: self.insecure_skip_tls_verify.or(below.insecure_skip_tls_verify),
            insecure_transport: self.insecure_transport.or(below.insecure_transport),
            dial_timeout: self.dial_timeout.or(below.dial_timeout),
            command_timeout: self.command_timeout.or(below.command_timeout),
            keepalive_time: self.keepalive_time.or(below.keepalive_time),
            keepalive_timeout: self.keepalive_timeout.or(below.keepalive_timeout),
            write_out: self.write_out.or(below.write_out),
            hex: self.hex.or(below.hex),
            debug: self.debug.or(below.debug),
            prefix: self.prefix.or(below.prefix),
            read_only: self.read_only.or(below.read_only),
            lang: self.lang.or(below.lang),
            theme: self.theme.or(below.theme),
            ascii: self.ascii.or(below.ascii),
            no_mouse: self.no_mouse.or(below.no_mouse),
            reduce_motion: self.reduce_motion.or(below.reduce_motion),
            log_file: self.log_file.or(below.log_file),
            audit_log: self.audit_log.or(below.audit_log),
            ttl_budget: self.ttl_budget.or(below.ttl_budget),
            ttl: self.ttl.or(below.ttl),
            findings: self.findings.over(below.findings),
        }
    }
}
