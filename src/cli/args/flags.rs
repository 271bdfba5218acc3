//! The flags that every command takes, and the layer of settings that they make.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};

use super::{Cli, Command, LsArgs};
use crate::cli::given::Given;
use crate::config::{self, Endpoint, Format, Layer, Secret, TtlPolicy, ValueError, parse};
use crate::domain::{Lang, Redaction};

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
    #[arg(long, global = true, value_name = "NAME[:PASSWORD]", allow_hyphen_values = true, value_parser = config::secret)]
    pub user: Option<Secret>,
    /// The user's password; then --user is the name alone
    #[arg(long, global = true, value_name = "PASSWORD", allow_hyphen_values = true, value_parser = config::secret)]
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
    #[arg(long, global = true, value_name = "NAME")]
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

/// The endpoints of one `--endpoints`.
#[derive(Clone, Debug)]
pub struct EndpointList(Vec<Endpoint>);

impl Cli {
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

fn redaction(word: &str) -> Result<Redaction, String> {
    Redaction::named(word).ok_or_else(|| format!("`{word}` cannot be redacted"))
}

fn endpoint_list(text: &str) -> Result<EndpointList, ValueError> {
    parse::endpoints(text).map(EndpointList)
}
