//! The scenarios that come with the program.

use std::path::Path;

use super::{Scenario, ScenarioError};
use crate::nearest;

/// A scenario's name and its file's text.
type Entry = (&'static str, &'static str);

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../demo/scenarios/", $name, ".toml")))),*]
    };
}

/// All of them, in the order in which they are best seen.
const FILES: &[Entry] = files![
    "fifo",
    "six-steps",
    "lease-expiry",
    "lock-api",
    "herd",
    "zombie",
    "auto-leader",
    "service-discovery",
    "config-watch",
    "cluster-monitor",
    "deadlock",
    "leader-failover",
    "split-vote",
    "partition",
];

/// No scenario is called so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no scenario `{name}`{}", match near {
    Some(near) => format!("; did you mean `{near}`?"),
    None => format!("; there are {}", names().collect::<Vec<_>>().join(", ")),
})]
pub struct UnknownScenario {
    /// What was asked for.
    pub name: String,
    /// What was probably meant.
    pub near: Option<&'static str>,
}

/// The names, in order.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().map(|(name, _)| *name)
}

/// All of them, in order.
///
/// # Errors
/// When one of them is no good, which the tests of this module rule out.
pub fn all() -> Result<Vec<Scenario>, ScenarioError> {
    FILES.iter().map(|entry| read(*entry)).collect()
}

/// The scenario of this name.
///
/// # Errors
/// When there is none.
pub fn find(name: &str) -> Result<Result<Scenario, ScenarioError>, UnknownScenario> {
    match FILES.iter().find(|(known, _)| *known == name) {
        Some(entry) => Ok(read(*entry)),
        None => Err(UnknownScenario { name: name.to_owned(), near: nearest::nearest(name, names()) }),
    }
}

fn read((name, text): Entry) -> Result<Scenario, ScenarioError> {
    Scenario::from_toml(text, Path::new(&format!("demo/scenarios/{name}.toml")))
}
