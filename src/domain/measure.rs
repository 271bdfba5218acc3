//! Numbers and lengths of time in lines that people type: exact, and what is written reads back.

use std::fmt;
use std::time::Duration;

/// The units of a length with how many nanoseconds each has, and how many decimals that leaves.
const UNITS: [(&str, usize); 4] = [("ns", 0), ("us", 3), ("ms", 6), ("s", 9)];

/// A length of time: a number with its unit.
pub(in crate::domain) fn length(said: &str) -> Option<Duration> {
    // `ns`, `us` and `ms` end in `s` too, so they go first.
    let (number, decimals) = UNITS.iter().find_map(|(unit, decimals)| Some((said.strip_suffix(unit)?, *decimals)))?;
    let nanos = decimal(number, decimals)?;
    let (secs, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    Some(Duration::new(u64::try_from(secs).ok()?, u32::try_from(rest).ok()?))
}

/// A number without a sign in units of its `decimals`th decimal; `None` when it has more of them.
pub(in crate::domain) fn decimal(said: &str, decimals: usize) -> Option<u128> {
    let (whole, part) = said.split_once('.').unwrap_or((said, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || part.len() > decimals || said.ends_with('.') || !digits(whole) || !digits(part) {
        return None;
    }
    format!("{whole}{part:0<decimals$}").parse().ok()
}

/// A number of units of a decimal, written without zeros at its end.
pub(in crate::domain) struct Decimal(pub u128, pub u32);

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(units, decimals) = *self;
        let one = 10_u128.pow(decimals);
        let (whole, part) = (units / one, units % one);
        if part == 0 {
            return write!(f, "{whole}");
        }
        let part = format!("{part:0>width$}", width = decimals as usize);
        write!(f, "{whole}.{}", part.trim_end_matches('0'))
    }
}

/// A length of time in milliseconds, or in seconds from one on.
pub struct Length(pub Duration);

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        if nanos >= 1_000_000_000 { write!(f, "{}s", Decimal(nanos, 9)) } else { write!(f, "{}ms", Decimal(nanos, 6)) }
    }
}
