//! Places in a recording, as a person names them.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::domain::{Millis, Revision, Sentence, Timestamp};

/// A place in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeekTo {
    /// Where it begins.
    Start,
    /// Where it ends.
    End,
    /// A time.
    At(Timestamp),
    /// A time of day, in the zone that times are shown in: on the recording's first day, or on the next one if only
    /// that lies in the recording.
    Clock {
        /// The hour, up to 23.
        hour: i8,
        /// The minute.
        minute: i8,
        /// The second.
        second: i8,
    },
    /// So much later than where it is.
    Later(Millis),
    /// So much earlier.
    Earlier(Millis),
    /// Where the store first has this revision.
    Revision(Revision),
}

/// No place is called that.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct SeekError(String);

impl SeekError {
    /// The message, with what was said apart from its words.
    pub fn sentence(&self) -> Sentence {
        Sentence::new("`{said}` is no place in a recording; these are: {examples}")
            .with("said", self.0.clone())
            .with("examples", SeekTo::EXAMPLES.to_owned())
    }
}

impl fmt::Display for SeekError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sentence().fmt(f)
    }
}

impl SeekTo {
    /// What can be said.
    pub const EXAMPLES: &str = "12:04:10, +30s, -1m30s, rev 84213, 2026-03-01T12:04:10Z, start, end";
}

impl FromStr for SeekTo {
    type Err = SeekError;
    fn from_str(text: &str) -> Result<Self, SeekError> {
        let text = text.trim();
        let place = match text {
            "start" => Some(Self::Start),
            "end" => Some(Self::End),
            _ => relative(text).or_else(|| revision(text)).or_else(|| clock(text)).or_else(|| time(text)),
        };
        place.ok_or_else(|| SeekError(text.to_owned()))
    }
}

impl fmt::Display for SeekTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start => f.write_str("start"),
            Self::End => f.write_str("end"),
            Self::At(at) => match jiff::Timestamp::from_millisecond(at.0) {
                Ok(at) => at.fmt(f),
                Err(_) => at.0.fmt(f),
            },
            Self::Clock { hour, minute, second } => write!(f, "{hour:02}:{minute:02}:{second:02}"),
            Self::Later(length) => write!(f, "+{}ms", length.0),
            Self::Earlier(length) => write!(f, "-{}ms", length.0),
            Self::Revision(revision) => write!(f, "rev {revision}"),
        }
    }
}

fn relative(text: &str) -> Option<SeekTo> {
    let (sign, rest) = text.split_at_checked(1)?;
    match sign {
        "+" => Some(SeekTo::Later(length(rest)?)),
        "-" => Some(SeekTo::Earlier(length(rest)?)),
        _ => None,
    }
}

/// `1h2m3s`, `500ms`; a bare number is seconds.
fn length(text: &str) -> Option<Millis> {
    if let Ok(seconds) = text.parse::<u32>() {
        return Some(Millis::from_secs(i64::from(seconds)));
    }
    let (mut rest, mut sum) = (text, 0_i64);
    while !rest.is_empty() {
        let digits = rest.find(|char: char| !char.is_ascii_digit())?;
        let number: i64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let unit = rest.find(|char: char| char.is_ascii_digit()).unwrap_or(rest.len());
        let millis = match &rest[..unit] {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        rest = &rest[unit..];
        sum = sum.checked_add(number.checked_mul(millis)?)?;
    }
    (!text.is_empty()).then_some(Millis(sum))
}

fn revision(text: &str) -> Option<SeekTo> {
    let number = text.strip_prefix("rev").map_or(text, |rest| rest.trim_start_matches(['=', ':', ' ']));
    let number: String = number.chars().filter(|&char| char != ',').collect();
    let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| number.parse().ok())?.map(|number| SeekTo::Revision(Revision(number)))
}

fn clock(text: &str) -> Option<SeekTo> {
    let parts: Vec<&str> = text.split(':').collect();
    let number = |part: &&str, below: i8| {
        let digits = !part.is_empty() && part.len() <= 2 && part.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| part.parse().ok())?.filter(|number| *number < below)
    };
    match &parts[..] {
        [hour, minute] => Some(SeekTo::Clock { hour: number(hour, 24)?, minute: number(minute, 60)?, second: 0 }),
        [hour, minute, second] => {
            Some(SeekTo::Clock { hour: number(hour, 24)?, minute: number(minute, 60)?, second: number(second, 60)? })
        }
        _ => None,
    }
}

fn time(text: &str) -> Option<SeekTo> {
    text.parse::<jiff::Timestamp>().ok().map(|at| SeekTo::At(Timestamp(at.as_millisecond())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_as_they_are_said() {
        for (text, place) in [
            ("start", SeekTo::Start),
            (" end ", SeekTo::End),
            ("12:04:10", SeekTo::Clock { hour: 12, minute: 4, second: 10 }),
            ("7:05", SeekTo::Clock { hour: 7, minute: 5, second: 0 }),
            ("+30s", SeekTo::Later(Millis(30_000))),
            ("+5", SeekTo::Later(Millis(5_000))),
            ("-1m30s", SeekTo::Earlier(Millis(90_000))),
            ("+1h2m3s4ms", SeekTo::Later(Millis(3_723_004))),
            ("rev 84213", SeekTo::Revision(Revision(84_213))),
            ("84,213", SeekTo::Revision(Revision(84_213))),
            ("rev=9", SeekTo::Revision(Revision(9))),
            ("1970-01-01T00:00:07Z", SeekTo::At(Timestamp(7_000))),
        ] {
            assert_eq!(text.parse(), Ok(place), "{text}");
        }
    }

    #[test]
    fn what_is_no_place_is_quoted_with_what_would_be() {
        for text in [
            "",
            "noon",
            "+",
            "-",
            "+x",
            "+3y",
            "24:00:00",
            "12:60",
            "1:2:3:4",
            "rev",
            "rev -3",
            "rev 1e9",
            "+9999999999999d",
            "é",
        ] {
            let error = text.parse::<SeekTo>().unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("`{}` is no place", text.trim())) && error.contains("rev 84213"),
                "{error}"
            );
        }
    }

    #[test]
    fn what_is_said_again_is_the_same_place() {
        for text in ["start", "end", "12:04:10", "+30s", "-1m", "rev 7", "2026-03-01T12:04:10Z"] {
            let place: SeekTo = text.parse().unwrap();
            assert_eq!(place.to_string().parse(), Ok(place));
        }
    }
}
