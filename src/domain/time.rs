//! Points in time and lengths of time, in milliseconds.
//!
//! Time enters the pure core only as a stamp on an event; nothing here reads a clock.

use std::ops::{Add, Sub};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A wall-clock time: milliseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Timestamp(pub i64);

/// A length of time in milliseconds; negative when it lies in the past.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Millis(pub i64);

impl Timestamp {
    /// How long ago `earlier` was, seen from here; zero when it lies ahead.
    #[must_use]
    pub fn since(self, earlier: Self) -> Millis {
        Millis((self.0 - earlier.0).max(0))
    }

    /// In UTC with milliseconds, as RFC 3339 has it; none for a year nobody has seen.
    pub fn rfc3339(self) -> Option<String> {
        jiff::Timestamp::from_millisecond(self.0).ok().map(|at| format!("{at:.3}"))
    }
}

impl Millis {
    /// Whole seconds as milliseconds.
    #[must_use]
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(1000))
    }

    /// Whole seconds, rounded down.
    pub const fn secs(self) -> i64 {
        self.0.div_euclid(1000)
    }
}

impl From<Duration> for Millis {
    /// Rounded down; what does not fit is as long as can be told.
    fn from(length: Duration) -> Self {
        Self(i64::try_from(length.as_millis()).unwrap_or(i64::MAX))
    }
}

impl Add<Millis> for Timestamp {
    type Output = Self;
    fn add(self, length: Millis) -> Self {
        Self(self.0.saturating_add(length.0))
    }
}

impl Sub<Millis> for Timestamp {
    type Output = Self;
    fn sub(self, length: Millis) -> Self {
        Self(self.0.saturating_sub(length.0))
    }
}

impl Sub for Timestamp {
    type Output = Millis;
    fn sub(self, other: Self) -> Millis {
        Millis(self.0.saturating_sub(other.0))
    }
}
