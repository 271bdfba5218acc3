//! What is told of values to whom a recording is shared with.

use serde::{Deserialize, Serialize};

/// What is done to values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Redaction {
    /// Nothing.
    #[default]
    None,
    /// Each byte is a `*`: only the length is told.
    Values,
    /// Each value is a hash with a key that nobody keeps: equal values stay equal, and none can
    /// be found by guessing.
    Hash,
}

impl Redaction {
    /// The names of those that do something.
    pub const NAMES: [&str; 2] = ["values", "hash"];

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "values" => Some(Self::Values),
            "hash" => Some(Self::Hash),
            _ => None,
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Values => "values",
            Self::Hash => "hash",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_found_by_its_name() {
        for name in Redaction::NAMES {
            assert_eq!(Redaction::named(name).map(Redaction::name), Some(name));
        }
        assert_eq!(Redaction::named("keys"), None);
    }
}
