//! Where in a recording somebody wants to be.

use jiff::civil::Time;
use jiff::tz::TimeZone;
use jiff::{Span, Zoned};

use crate::domain::{Millis, Revision, Timestamp};
use crate::input::SeekTo;

/// A place that can be found without knowing where one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// Behind all that was observed by then.
    Time(Timestamp),
    /// Behind the observation that told of this revision.
    Revision(Revision),
    /// Behind the last one.
    End,
}

impl Goal {
    /// What a person means who is at `now` in a recording that begins at `begin`.
    pub fn of(place: SeekTo, begin: Timestamp, now: Timestamp, zone: &TimeZone) -> Self {
        match place {
            SeekTo::Start => Self::Time(begin),
            SeekTo::End => Self::End,
            SeekTo::At(at) => Self::Time(at),
            SeekTo::Later(length) => Self::Time(now + length),
            SeekTo::Earlier(length) => Self::Time(now - length),
            SeekTo::Revision(revision) => Self::Revision(revision),
            SeekTo::Clock { hour, minute, second } => {
                let time = Time::new(hour, minute, second, 0).ok();
                Self::Time(time.and_then(|time| first(time, begin, zone)).unwrap_or(begin))
            }
        }
    }
}

/// The first moment of this time of day at or after `begin`, to the second.
fn first(time: Time, begin: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let instant = jiff::Timestamp::from_millisecond(begin.0.div_euclid(1_000) * 1_000).ok()?;
    let begin: Zoned = instant.to_zoned(zone.clone());
    let today = begin.date().to_datetime(time).to_zoned(zone.clone()).ok()?;
    let found = if today < begin { today.checked_add(Span::new().days(1)).ok()? } else { today };
    // All of that second is meant.
    Some(Timestamp(found.timestamp().as_millisecond()) + Millis(999))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp(text.parse::<jiff::Timestamp>().unwrap().as_millisecond())
    }

    #[test]
    fn a_time_of_day_is_the_first_one_in_the_recording() {
        let begin = at("2026-03-01T22:30:10.500Z");
        let find = |text: &str, zone: &TimeZone| Goal::of(text.parse().unwrap(), begin, begin, zone);
        let utc = TimeZone::UTC;
        assert_eq!(find("23:00", &utc), Goal::Time(at("2026-03-01T23:00:00.999Z")));
        assert_eq!(find("22:30:10", &utc), Goal::Time(at("2026-03-01T22:30:10.999Z")), "the very second it begins in");
        assert_eq!(find("22:30:09", &utc), Goal::Time(at("2026-03-02T22:30:09.999Z")), "the day after");
        let east = TimeZone::fixed(jiff::tz::offset(8));
        assert_eq!(find("07:00", &east), Goal::Time(at("2026-03-01T23:00:00.999Z")));
    }

    #[test]
    fn other_places_are_taken_from_where_one_is() {
        let find = |text: &str| Goal::of(text.parse().unwrap(), Timestamp(100), Timestamp(70_000), &TimeZone::UTC);
        assert_eq!(find("+30s"), Goal::Time(Timestamp(100_000)));
        assert_eq!(find("-1m"), Goal::Time(Timestamp(10_000)));
        assert_eq!(find("start"), Goal::Time(Timestamp(100)));
        assert_eq!(find("end"), Goal::End);
        assert_eq!(find("rev 7"), Goal::Revision(Revision(7)));
    }
}
