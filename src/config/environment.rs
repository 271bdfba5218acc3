//! Settings from environment variables.
//!
//! A variable that is set to nothing counts as not set, so that `ETCDCTL_USER= lockscope`
//! does what it looks like.

use std::ffi::OsString;
use std::path::PathBuf;

use super::parse::{self, ValueError};
use super::{ConfigError, Findings, Format, Layer, Secret, TtlPolicy};
use crate::domain::Lang;

/// Each setting with the variable it is taken from: etcdctl's where etcdctl has the setting,
/// lockscope's own for the rest.
pub const VARIABLES: [(&str, &str); 27] = [
    ("context", "LOCKSCOPE_CONTEXT"),
    ("endpoints", "ETCDCTL_ENDPOINTS"),
    ("cacert", "ETCDCTL_CACERT"),
    ("cert", "ETCDCTL_CERT"),
    ("key", "ETCDCTL_KEY"),
    ("user", "ETCDCTL_USER"),
    ("password", "ETCDCTL_PASSWORD"),
    ("insecure-skip-tls-verify", "ETCDCTL_INSECURE_SKIP_TLS_VERIFY"),
    ("insecure-transport", "ETCDCTL_INSECURE_TRANSPORT"),
    ("dial-timeout", "ETCDCTL_DIAL_TIMEOUT"),
    ("command-timeout", "ETCDCTL_COMMAND_TIMEOUT"),
    ("keepalive-time", "ETCDCTL_KEEPALIVE_TIME"),
    ("keepalive-timeout", "ETCDCTL_KEEPALIVE_TIMEOUT"),
    ("write-out", "ETCDCTL_WRITE_OUT"),
    ("hex", "ETCDCTL_HEX"),
    ("debug", "ETCDCTL_DEBUG"),
    ("prefix", "LOCKSCOPE_PREFIX"),
    ("read-only", "LOCKSCOPE_READ_ONLY"),
    ("lang", "LOCKSCOPE_LANG"),
    ("theme", "LOCKSCOPE_THEME"),
    ("ascii", "LOCKSCOPE_ASCII"),
    ("no-mouse", "LOCKSCOPE_NO_MOUSE"),
    ("reduce-motion", "LOCKSCOPE_REDUCE_MOTION"),
    ("log-file", "LOCKSCOPE_LOG_FILE"),
    ("audit-log", "LOCKSCOPE_AUDIT_LOG"),
    ("ttl-budget", "LOCKSCOPE_TTL_BUDGET"),
    ("ttl", "LOCKSCOPE_TTL"),
];

/// The variables of the locale that tell the language of messages, the strongest first (POSIX,
/// Base Definitions, 8.2).
const LOCALE: [&str; 3] = ["LC_ALL", "LC_MESSAGES", "LANG"];

/// The least and the most lease polls a second that can be asked for.
pub const TTL_BUDGET: (u32, u32) = (1, 100_000);

impl Layer {
    /// Reads what the environment says; `variable` looks one variable up.
    ///
    /// # Errors
    /// When a variable's value is no good, with the variable's name.
    pub fn from_environment(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, ConfigError> {
        let from = Variables(variable);
        Ok(Self {
            context: from.read("context", |text| Ok(text.to_owned()))?,
            endpoints: from.read("endpoints", parse::endpoints)?,
            cacert: from.path("cacert"),
            cert: from.path("cert"),
            key: from.path("key"),
            user: from.read("user", secret)?,
            password: from.read("password", secret)?,
            insecure_skip_tls_verify: from.read("insecure-skip-tls-verify", parse::boolean)?,
            insecure_transport: from.read("insecure-transport", parse::boolean)?,
            dial_timeout: from.read("dial-timeout", parse::duration)?,
            command_timeout: from.read("command-timeout", parse::duration)?,
            keepalive_time: from.read("keepalive-time", parse::duration)?,
            keepalive_timeout: from.read("keepalive-timeout", parse::duration)?,
            write_out: from.read("write-out", format)?,
            hex: from.read("hex", parse::boolean)?,
            debug: from.read("debug", parse::boolean)?,
            prefix: from.raw("prefix").map(|prefix| vec![prefix.into_encoded_bytes()]),
            read_only: from.read("read-only", parse::boolean)?,
            lang: from.read("lang", lang)?,
            theme: from.read("theme", |text| Ok(text.to_owned()))?,
            ascii: from.read("ascii", parse::boolean)?,
            no_mouse: from.read("no-mouse", parse::boolean)?,
            reduce_motion: from.read("reduce-motion", parse::boolean)?,
            log_file: from.path("log-file"),
            audit_log: from.path("audit-log"),
            ttl_budget: from.read("ttl-budget", ttl_budget)?,
            ttl: from.read("ttl", ttl)?,
            findings: Findings::default(),
        })
    }
}

impl Layer {
    /// What the locale says, which is less than what anybody chose for this program: its language.
    /// `variable` looks a variable up; of POSIX's three the first that is set counts.
    pub fn from_locale(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let set = LOCALE.into_iter().find_map(|name| variable(name).filter(|value| !value.is_empty()));
        Self { lang: set.map(|locale| Lang::of_locale(&locale.to_string_lossy())), ..Self::default() }
    }
}

/// Reads a language by its word.
pub fn lang(text: &str) -> Result<Lang, ValueError> {
    word(text, &Lang::WORDS, "en, zh")
}

/// Reads a format of output by its word.
pub fn format(text: &str) -> Result<Format, ValueError> {
    word(text, &Format::WORDS, "simple, table, json")
}

/// Reads a policy of asking leases by its word.
pub fn ttl(text: &str) -> Result<TtlPolicy, ValueError> {
    word(text, &TtlPolicy::WORDS, "holders, all, none")
}

/// Reads the most lease polls a second.
pub fn ttl_budget(text: &str) -> Result<u32, ValueError> {
    parse::count(text, TTL_BUDGET.0, TTL_BUDGET.1)
}

fn word<T: Copy>(text: &str, words: &[(&str, T)], all: &'static str) -> Result<T, ValueError> {
    words
        .iter()
        .find(|(word, _)| *word == text)
        .map(|(_, value)| *value)
        .ok_or_else(|| ValueError::NotAWord { text: text.to_owned(), words: all })
}

/// Takes a secret as it is.
///
/// # Errors
/// Never.
pub fn secret(text: &str) -> Result<Secret, ValueError> {
    Ok(Secret(text.to_owned()))
}

struct Variables<F>(F);

impl<F: Fn(&str) -> Option<OsString>> Variables<F> {
    /// The variable's name for a setting.
    fn name(setting: &str) -> &'static str {
        VARIABLES.iter().find(|(name, _)| *name == setting).map_or("", |(_, variable)| variable)
    }

    fn raw(&self, setting: &str) -> Option<OsString> {
        (self.0)(Self::name(setting)).filter(|value| !value.is_empty())
    }

    fn path(&self, setting: &str) -> Option<PathBuf> {
        self.raw(setting).map(PathBuf::from)
    }

    fn read<T>(&self, setting: &str, parse: impl Fn(&str) -> Result<T, ValueError>) -> Result<Option<T>, ConfigError> {
        let Some(value) = self.raw(setting) else { return Ok(None) };
        let read = value.to_str().ok_or(ValueError::NotText).and_then(parse);
        read.map(Some).map_err(|why| ConfigError::Variable { name: Self::name(setting), why })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(pairs: &[(&str, &str)]) -> Result<Layer, ConfigError> {
        Layer::from_environment(|name| {
            pairs.iter().find(|(variable, _)| *variable == name).map(|(_, value)| (*value).into())
        })
    }

    #[test]
    fn every_setting_has_a_variable_and_every_variable_a_setting() {
        let names: Vec<_> = VARIABLES.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, Layer::NAMES);
        for (name, variable) in VARIABLES {
            let (_, rest) = variable.split_once('_').unwrap();
            assert_eq!(rest, name.to_uppercase().replace('-', "_"));
        }
    }

    #[test]
    fn every_variable_is_read() {
        for (name, variable) in VARIABLES {
            let value = match name {
                "endpoints" => "db1:2379",
                "dial-timeout" | "command-timeout" | "keepalive-time" | "keepalive-timeout" => "7s",
                "write-out" => "json",
                "ttl-budget" => "70",
                "ttl" => "all",
                "lang" => "zh",
                _ => "true",
            };
            let read = layer(&[(variable, value)]).unwrap();
            assert_ne!(read, Layer::default(), "{variable} is ignored");
            assert_eq!(layer(&[(variable, "")]).unwrap(), Layer::default(), "{variable} set to nothing counts");
        }
    }

    #[test]
    fn of_the_locale_the_first_variable_that_is_set_counts() {
        let lang = |pairs: &[(&str, &str)]| {
            Layer::from_locale(|name| pairs.iter().find(|pair| pair.0 == name).map(|pair| pair.1.into())).lang
        };
        assert_eq!(lang(&[]), None);
        assert_eq!(lang(&[("LANG", "zh_CN.UTF-8")]), Some(Lang::Chinese));
        assert_eq!(lang(&[("LANG", "zh_CN.UTF-8"), ("LC_MESSAGES", "en_GB")]), Some(Lang::English));
        assert_eq!(lang(&[("LC_MESSAGES", "en_GB"), ("LC_ALL", "zh_CN")]), Some(Lang::Chinese));
        assert_eq!(lang(&[("LC_ALL", ""), ("LANG", "zh_CN")]), Some(Lang::Chinese));
        assert_eq!(lang(&[("LC_ALL", "C"), ("LANG", "zh_CN")]), Some(Lang::English));
    }

    #[test]
    fn a_bad_variable_is_named() {
        let error = layer(&[("ETCDCTL_DIAL_TIMEOUT", "5")]).unwrap_err().to_string();
        assert!(error.starts_with("ETCDCTL_DIAL_TIMEOUT: a duration needs a unit"), "{error}");
        let error = layer(&[("LOCKSCOPE_READ_ONLY", "perhaps")]).unwrap_err().to_string();
        assert_eq!(error, "LOCKSCOPE_READ_ONLY: `perhaps` is neither true nor false");
    }
}
