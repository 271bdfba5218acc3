//! The documents of `config`.

use serde::Serialize;
use toml::Value;

use crate::config::{InForce, Layer, Origin, Secret};

/// The document of `config show`.
#[derive(Debug, Serialize)]
pub struct SettingsInForce<'a> {
    schema: &'static str,
    settings: Vec<OneInForce<'a>>,
}

#[derive(Debug, Serialize)]
struct OneInForce<'a> {
    name: &'a str,
    /// As the file would have it; null where there is no default.
    value: Option<&'a Value>,
    /// flag, variable, context, file, locale or default.
    source: &'static str,
    /// The flag, the variable, the context's name, the file's path.
    from: Option<String>,
}

/// The document of `config path`.
#[derive(Debug, Serialize)]
pub struct ConfigPath {
    /// Always [`SCHEMA`](super::SCHEMA).
    pub schema: &'static str,
    /// Where the configuration file is looked for.
    pub config_path: String,
    /// Whether it is there.
    pub is_there: bool,
}

/// The document of `config contexts`.
#[derive(Debug, Serialize)]
pub struct Contexts {
    /// Always [`SCHEMA`](super::SCHEMA).
    pub schema: &'static str,
    /// The contexts by name.
    pub contexts: Vec<Context>,
}

/// A context with what the rest of its file adds to it.
#[derive(Debug, Serialize)]
pub struct Context {
    /// Its name.
    pub name: String,
    /// Whether it is the one that is used now.
    pub chosen: bool,
    /// Its endpoints as they were written; empty when it has none.
    pub endpoints: Vec<String>,
    /// Who logs in, without a password.
    pub user: Option<String>,
    /// Whether writes are refused.
    pub read_only: bool,
    /// The prefixes that are watched.
    pub prefixes: Vec<String>,
}

impl<'a> SettingsInForce<'a> {
    /// The document of these.
    pub fn of(all: &'a [InForce]) -> Self {
        let settings = all.iter().map(|one| OneInForce {
            name: &one.name,
            value: one.value.as_ref(),
            source: match one.origin {
                Origin::Flags => "flag",
                Origin::Environment => "variable",
                Origin::Context(_) => "context",
                Origin::File(_) => "file",
                Origin::Locale => "locale",
                Origin::Default => "default",
            },
            from: match &one.origin {
                Origin::Context(name) => Some(name.clone()),
                Origin::Locale | Origin::Default => None,
                Origin::Flags | Origin::Environment | Origin::File(_) => Some(one.origin_words()),
            },
        });
        Self { schema: super::SCHEMA, settings: settings.collect() }
    }
}

impl Context {
    /// A context of this name.
    pub fn of(name: &str, chosen: bool, layer: &Layer) -> Self {
        let user = layer.user.as_ref().map(|Secret(user)| user.split(':').next().unwrap_or_default().to_owned());
        Self {
            name: name.to_owned(),
            chosen,
            endpoints: layer.endpoints.iter().flatten().map(ToString::to_string).collect(),
            user: user.filter(|name| !name.is_empty()),
            read_only: layer.read_only.unwrap_or(false),
            prefixes: layer
                .prefix
                .iter()
                .flatten()
                .map(|prefix| String::from_utf8_lossy(prefix).into_owned())
                .collect(),
        }
    }
}
