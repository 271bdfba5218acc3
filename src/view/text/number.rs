//! Numbers as people read them on a narrow screen: grouped digits and short units.

use std::time::Duration;

use jiff::tz::TimeZone;

use crate::domain::raft::ClusterTime;
use crate::domain::{Millis, Timestamp};
use crate::lang;

const SECOND: i64 = 1000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Digits in groups of three: `84,213`. What is larger than any number of etcd's is told as the
/// largest of these.
pub fn grouped(number: impl TryInto<i64>) -> String {
    let number = number.try_into().unwrap_or(i64::MAX);
    let digits = number.unsigned_abs().to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3 + 1);
    if number < 0 {
        out.push('-');
    }
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number with its noun: `1 waiter`, `9 waiters`, `1,204 keys`, `0 entries`.
pub fn quantity(number: usize, noun: &'static str) -> String {
    lang::counted(&grouped(number), noun, number as u64)
}

/// A length of time in at most six columns (until 100 days): `40ms`, `0.4s`, `42s`, `2m14s`, `18m`,
/// `6h02m`, `3d04h`, `120d`. Negative lengths read as zero.
pub fn duration(length: Millis) -> String {
    let ms = length.0.max(0);
    match ms {
        0..100 => format!("{ms}ms"),
        100..SECOND => format!("0.{}s", ms / 100),
        SECOND..MINUTE => format!("{}s", ms / SECOND),
        MINUTE..600_000 => format!("{}m{:02}s", ms / MINUTE, ms % MINUTE / SECOND),
        600_000..HOUR => format!("{}m", ms / MINUTE),
        HOUR..DAY => format!("{}h{:02}m", ms / HOUR, ms % HOUR / MINUTE),
        _ if ms < 100 * DAY => format!("{}d{:02}h", ms / DAY, ms % DAY / HOUR),
        _ => format!("{}d", ms / DAY),
    }
}

/// A length of time in at most three columns (until 1,000 days), for a cell beside a bar:
/// `42s`, `99s`, `12m`, `6h`, `23h`, `3d`.
pub fn short_duration(length: Millis) -> String {
    let secs = length.0.max(0) / SECOND;
    match secs {
        0..100 => format!("{secs}s"),
        100..6_000 => format!("{}m", secs / 60),
        6_000..360_000 => format!("{}h", secs / 3_600),
        _ => format!("{}d", secs / 86_400),
    }
}

/// A size in bytes: `512 B`, `2.1 MiB`, `14 GiB`.
pub fn bytes(size: i64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let size = size.max(0);
    if size < 1024 {
        return format!("{size} B");
    }
    // Tenths of the unit, in integers: no rounding surprises at the borders.
    let mut unit = 0;
    let mut tenths = i128::from(size) * 10 / 1024;
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    if tenths < 100 {
        format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
    } else {
        format!("{} {}", tenths / 10, UNITS[unit])
    }
}

/// The wall-clock time `at` in `zone`, eight columns: `12:04:11`, or the day when it lies
/// more than a day before `now`: `03-14 12`. Times out of the calendar's range read `-`.
pub fn clock(at: Timestamp, now: Timestamp, zone: &TimeZone) -> String {
    let Ok(instant) = jiff::Timestamp::from_millisecond(at.0) else { return "-".into() };
    let local = zone.to_datetime(instant);
    if now.since(at).0 < DAY {
        format!("{:02}:{:02}:{:02}", local.hour(), local.minute(), local.second())
    } else {
        format!("{:02}-{:02} {:02}", local.month(), local.day(), local.hour())
    }
}

/// A time on an embedded cluster's clock, with tenths of a second: `00:41.3`, `1:02:03.4`.
pub fn cluster_clock(at: ClusterTime) -> String {
    let tenths = at.0 / 100_000;
    format!("{}.{}", minutes(tenths / 10), tenths % 10)
}

/// The same with milliseconds: `00:41.312`.
pub fn exact_clock(at: ClusterTime) -> String {
    let millis = at.0 / 1_000;
    format!("{}.{:03}", minutes(millis / 1_000), millis % 1_000)
}

fn minutes(secs: u64) -> String {
    match secs {
        0..3_600 => format!("{:02}:{:02}", secs / 60, secs % 60),
        _ => format!("{}:{:02}:{:02}", secs / 3_600, secs % 3_600 / 60, secs % 60),
    }
}

/// A length of time on an embedded cluster's clock: `0.4ms`, `212ms`, `1.5s`, `28s`, `2m14s`.
pub fn lasting(length: Duration) -> String {
    let micros = length.as_micros();
    match micros {
        0 => "0ms".into(),
        1..10_000 => format!("{}.{}ms", micros / 1_000, micros % 1_000 / 100),
        10_000..1_000_000 => format!("{}ms", micros / 1_000),
        1_000_000..10_000_000 => format!("{}.{}s", micros / 1_000_000, micros % 1_000_000 / 100_000),
        _ => duration(Millis(i64::try_from(micros / 1_000).unwrap_or(i64::MAX))),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn digits_are_grouped() {
        for (number, text) in
            [(0, "0"), (999, "999"), (1000, "1,000"), (84_213, "84,213"), (1_234_567, "1,234,567"), (-1000, "-1,000")]
        {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(grouped(i64::MIN), "-9,223,372,036,854,775,808");
    }

    #[test]
    fn nouns_agree_with_their_number() {
        assert_eq!(quantity(1, "waiter"), "1 waiter");
        assert_eq!(quantity(0, "waiter"), "0 waiters");
        assert_eq!(quantity(1204, "key"), "1,204 keys");
        assert_eq!(quantity(0, "entry"), "0 entries");
    }

    #[test]
    fn durations_take_the_unit_that_matters() {
        for (ms, text) in [
            (-5, "0ms"),
            (99, "99ms"),
            (450, "0.4s"),
            (42_000, "42s"),
            (59_999, "59s"),
            (134_000, "2m14s"),
            (18 * MINUTE, "18m"),
            (6 * HOUR + 2 * MINUTE, "6h02m"),
            (18 * HOUR + 58 * MINUTE, "18h58m"),
            (3 * DAY + 4 * HOUR, "3d04h"),
            (120 * DAY, "120d"),
        ] {
            assert_eq!(duration(Millis(ms)), text);
        }
        for (secs, text) in [(0, "0s"), (99, "99s"), (100, "1m"), (5_999, "99m"), (6_000, "1h"), (90_000, "25h")] {
            assert_eq!(short_duration(Millis::from_secs(secs)), text);
        }
    }

    #[test]
    fn times_of_a_cluster_count_from_its_start() {
        let at = ClusterTime(41_312_900);
        assert_eq!((cluster_clock(at).as_str(), exact_clock(at).as_str()), ("00:41.3", "00:41.312"));
        assert_eq!(cluster_clock(ClusterTime(3_723_400_000)), "1:02:03.4");
        assert!(!cluster_clock(ClusterTime(u64::MAX)).is_empty());
        for (micros, text) in [
            (0, "0ms"),
            (400, "0.4ms"),
            (9_999, "9.9ms"),
            (212_000, "212ms"),
            (1_500_000, "1.5s"),
            (28_900_000, "28s"),
            (134_000_000, "2m14s"),
        ] {
            assert_eq!(lasting(Duration::from_micros(micros)), text);
        }
        assert!(!lasting(Duration::MAX).is_empty());
    }

    #[test]
    fn sizes_take_binary_units() {
        for (size, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (25 * 1024, "25 KiB"),
            (2_202_009, "2.0 MiB"),
            (8 << 30, "8.0 GiB"),
            (i64::MAX, "7.9 EiB"),
        ] {
            assert_eq!(bytes(size), text);
        }
    }

    #[test]
    fn a_time_of_another_day_shows_the_day() {
        let now = Timestamp(1_700_000_000_000);
        assert_eq!(clock(now, now, &TimeZone::UTC), "22:13:20");
        assert_eq!(clock(now - Millis(3 * DAY), now, &TimeZone::UTC), "11-11 22");
        assert_eq!(clock(Timestamp(i64::MAX), now, &TimeZone::UTC), "-");
        let east = TimeZone::fixed(jiff::tz::offset(8));
        assert_eq!(clock(now, now, &east), "06:13:20");
    }

    proptest! {
        #[test]
        fn durations_stay_narrow(ms in 0..100 * DAY) {
            prop_assert!(duration(Millis(ms)).len() <= 6);
            prop_assert!(short_duration(Millis(ms)).len() <= 3);
        }
    }
}
