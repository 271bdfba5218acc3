//! From when on something counts as a finding: the section `[findings]` of the file.

use std::time::Duration;

use serde::Deserialize;

use super::file::de;

/// What the file says; `None` leaves it to the rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "kebab-case", deny_unknown_fields)]
pub struct Findings {
    /// A lock that is held for longer while others wait is held long.
    #[serde(deserialize_with = "de::duration")]
    pub long_hold: Option<Duration>,
    /// So many times its own median hold is long, too.
    #[serde(deserialize_with = "de::times")]
    pub long_hold_medians: Option<u32>,
    /// A lease of more time than this blocks others for long when its client crashes.
    #[serde(deserialize_with = "de::duration")]
    pub long_ttl: Option<Duration>,
}

impl Findings {
    /// The names of all settings of the section.
    pub const NAMES: [&'static str; 3] = ["long-hold", "long-hold-medians", "long-ttl"];

    /// These settings laid over those `below`.
    #[must_use]
    pub fn over(self, below: Self) -> Self {
        Self {
            long_hold: self.long_hold.or(below.long_hold),
            long_hold_medians: self.long_hold_medians.or(below.long_hold_medians),
            long_ttl: self.long_ttl.or(below.long_ttl),
        }
    }
}
