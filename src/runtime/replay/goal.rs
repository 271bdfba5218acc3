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
    /// What a person means who is at `now` in a recording that goes from `begin` to `end`.
    pub fn of(place: SeekTo, (begin, end): (Timestamp, Timestamp), now: Timestamp, zone: &TimeZone) -> Self {
        match place {
            SeekTo::Start => Self::Time(begin),
            SeekTo::End => Self::End,
            SeekTo::At(at) => Self::Time(at),
            SeekTo::Later(length) => Self::Time(now + length),
            SeekTo::Earlier(length) => Self::Time(now - length),
            SeekTo::Revision(revision) => Self::Revision(revision),
            SeekTo::Clock { hour, minute, second } => {
                let time = Time::new(hour, minute, second, 0).ok();
                Self::Time(time.and_then(|time| clock(time, (begin, end), zone)).unwrap_or(begin))
            }
        }
    }
}

/// This time of day on the day the recording begins, or on the next one if only that lies in it:
/// a time before the begin is before the begin.
fn clock(time: Time, (begin, end): (Timestamp, Timestamp), zone: &TimeZone) -> Option<Timestamp> {
    let instant = jiff::Timestamp::from_millisecond(begin.0.div_euclid(1_000) * 1_000).ok()?;
    let start: Zoned = instant.to_zoned(zone.clone());
    let today = start.date().to_datetime(time).to_zoned(zone.clone()).ok()?;
    let moment = |day: &Zoned| Timestamp(day.timestamp().as_millisecond());
    let found = if today < start {
        let tomorrow = today.checked_add(Span::new().days(1)).ok()?;
        if moment(&tomorrow) <= end { tomorrow } else { today }
    } else {
        today
    };
    let found = moment(&found);
    // All of that second is meant, as far as it is recorded.
    let last = found + Millis(999);
    Some(if found <= end { last.min(end.max(begin)) } else { last })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp(text.parse::<jiff::Timestamp>().unwrap().as_millisecond())
    }

    #[test]
    fn a_time_of_day_is_on_the_first_day_of_the_recording_or_on_the_next_if_that_is_recorded() {
        let begin = at("2026-03-01T22:30:10.500Z");
        let until = |end: Timestamp| {
            move |text: &str, zone: &TimeZone| Goal::of(text.parse().unwrap(), (begin, end), begin, zone)
        };
        let find = until(at("2026-03-03T00:00:00Z"));
        let utc = TimeZone::UTC;
        assert_eq!(find("23:00", &utc), Goal::Time(at("2026-03-01T23:00:00.999Z")));
        assert_eq!(find("22:30:10", &utc), Goal::Time(at("2026-03-01T22:30:10.999Z")), "the very second it begins in");
        assert_eq!(find("22:30:09", &utc), Goal::Time(at("2026-03-02T22:30:09.999Z")), "the day after");
        let find = until(at("2026-03-01T23:30:00.200Z"));
        assert_eq!(find("22:30:09", &utc), Goal::Time(at("2026-03-01T22:30:09.999Z")), "before the begin");
        assert_eq!(find("00:00:01", &utc), Goal::Time(at("2026-03-01T00:00:01.999Z")), "long before the begin");
        assert_eq!(find("23:30", &utc), Goal::Time(at("2026-03-01T23:30:00.200Z")), "the very second it ends in");
        assert_eq!(find("23:30:01", &utc), Goal::Time(at("2026-03-01T23:30:01.999Z")), "behind the end");
        let east = TimeZone::fixed(jiff::tz::offset(8));
        assert_eq!(find("07:00", &east), Goal::Time(at("2026-03-01T23:00:00.999Z")));
    }

    #[test]
    fn other_places_are_taken_from_where_one_is() {
        let find = |text: &str| {
            let span = (Timestamp(100), Timestamp(200_000));
            Goal::of(text.parse().unwrap(), span, Timestamp(70_000), &TimeZone::UTC)
        };
        assert_eq!(find("+30s"), Goal::Time(Timestamp(100_000)));
        assert_eq!(find("-1m"), Goal::Time(Timestamp(10_000)));
        assert_eq!(find("start"), Goal::Time(Timestamp(100)));
        assert_eq!(find("end"), Goal::End);
        assert_eq!(find("rev 7"), Goal::Revision(Revision(7)));
    }
}
