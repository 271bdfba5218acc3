//! The words of an order: read from a line, and written as one.
//!
//! One table says which there are and what follows each; the parser's messages, the command
//! line's help and its completion come from it. What is written reads back as the same order.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

use super::{Ill, Order, Whom};
use crate::domain::measure::{Length, length};
use crate::domain::play::ClientId;
use crate::domain::words::{self, Said, WordError};

/// The longest time that an order can speak of.
pub const LONGEST: Duration = Duration::from_hours(24);

/// The shortest time between heartbeats: closer together they would be all that a client does.
pub const SHORTEST_HEARTBEAT: Duration = Duration::from_millis(10);

/// The most clients that join by one order.
pub const MOST_ADDED: u16 = 1000;

/// A word that asks for an order.
pub type Word = words::Word<Takes>;

/// What follows a word.
#[derive(Clone, Copy, Debug)]
pub enum Takes {
    /// Whom it is about.
    Whom(Ill),
    /// Whom it is about, and a length from this one on.
    WhomAndLength(Duration, fn(Duration) -> Ill),
    /// Whom it is about, and milliseconds with a sign.
    WhomAndOffset(fn(i64) -> Ill),
    /// A number.
    Count(fn(u16) -> Order),
}

const fn word(name: &'static str, arguments: &'static str, help: &'static str, takes: Takes) -> Word {
    Word::new(name, arguments, help, takes)
}

/// All words, in the order of the help.
pub const WORDS: &[Word] = &[
    word("pause", "WHOM", "Let a client stand still, as in a long garbage collection", Takes::Whom(Ill::Pause)),
    word("resume", "WHOM", "Let a client that stands still go on", Takes::Whom(Ill::Resume)),
    word("crash", "WHOM", "End a client without a word: its lease has to run out", Takes::Whom(Ill::Crash)),
    word("cut", "WHOM", "Cut a client's connection: its calls are not answered", Takes::Whom(Ill::Cut)),
    word("mend", "WHOM", "Mend a client's connection", Takes::Whom(Ill::Mend)),
    word(
        "heartbeat",
        "WHOM LENGTH",
        "Let a client's heartbeats be this far apart from now on",
        Takes::WhomAndLength(SHORTEST_HEARTBEAT, Ill::Heartbeat),
    ),
    word("skew", "WHOM OFFSET", "Set a client's clock ahead, or behind as by -3s", Takes::WhomAndOffset(Ill::Skew)),
    word("release", "WHOM", "Let a client release what it holds, or give up waiting", Takes::Whom(Ill::Release)),
    word(
        "hold",
        "WHOM LENGTH",
        "Let a client hold this long from now on",
        Takes::WhomAndLength(Duration::ZERO, Ill::Hold),
    ),
    word("revoke", "WHOM", "Revoke a client's lease from outside", Takes::Whom(Ill::Revoke)),
    word("remove", "WHOM", "Let a client end in order, for good", Takes::Whom(Ill::Remove)),
    word("add", "COUNT", "Let so many clients more take part", Takes::Count(Order::Add)),
];

const WHOM: &str = "a client such as client-1, holder or waiter";
const A_LENGTH: &str = "a length from 10ms to 24h such as 500ms or 12s";
const ANY_LENGTH: &str = "a length up to 24h such as 500ms or 12s";
const AN_OFFSET: &str = "an offset of whole milliseconds up to 24h such as 200ms or -3s";
const A_COUNT: &str = "a number from 1 to 1000";

impl Word {
    /// The word of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        WORDS.iter().find(|word| word.name == name)
    }

    /// Whether a client is named behind it.
    pub const fn takes_whom(&self) -> bool {
        !matches!(self.takes, Takes::Count(_))
    }
}

/// Reads what follows a word.
fn read(takes: &Takes, said: &mut Said<'_>) -> Result<Order, WordError> {
    let whom = |said: &mut Said<'_>| said.take(WHOM, |name| name.parse().ok());
    Ok(match takes {
        Takes::Whom(ill) => Order::Client(whom(said)?, *ill),
        Takes::WhomAndLength(least, make) => {
            let whom = whom(said)?;
            let wanted = if least.is_zero() { ANY_LENGTH } else { A_LENGTH };
            let length = |said: &str| length(said).filter(|length| (*least..=LONGEST).contains(length));
            Order::Client(whom, make(said.take(wanted, length)?))
        }
        Takes::WhomAndOffset(make) => Order::Client(whom(said)?, make(said.take(AN_OFFSET, offset)?)),
        Takes::Count(make) => {
            let count = |said: &str| said.parse().ok().filter(|count| (1..=MOST_ADDED).contains(count));
            make(said.take(A_COUNT, count)?)
        }
    })
}

impl FromStr for Order {
    type Err = WordError;

    /// Reads one line. Words are parted by white space.
    fn from_str(line: &str) -> Result<Self, WordError> {
        words::read(line, "order", WORDS, read)
    }
}

/// Nobody is called so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("it is not {WHOM}")]
pub struct UnknownWhom;

impl FromStr for Whom {
    type Err = UnknownWhom;

    /// Reads a client's name, `holder` or `waiter`.
    fn from_str(name: &str) -> Result<Self, UnknownWhom> {
        match name {
            "holder" => Ok(Self::Holder),
            "waiter" => Ok(Self::Waiter),
            _ => client(name).map(Self::Client).ok_or(UnknownWhom),
        }
    }
}

impl fmt::Display for Order {
    /// The line that asks for it, such as `skew client-2 -3s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Add(count) => write!(f, "add {count}"),
            Self::Client(whom, ill) => {
                write!(f, "{} {whom}", ill.word())?;
                match ill {
                    Ill::Heartbeat(length) | Ill::Hold(length) => write!(f, " {}", Length(*length)),
                    Ill::Skew(millis) => {
                        let sign = if *millis < 0 { "-" } else { "" };
                        write!(f, " {sign}{}", Length(Duration::from_millis(millis.unsigned_abs())))
                    }
                    _ => Ok(()),
                }
            }
        }
    }
}

impl fmt::Display for Whom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(id) => id.fmt(f),
            Self::Holder => f.write_str("holder"),
            Self::Waiter => f.write_str("waiter"),
        }
    }
}

/// A client's name: `client-` and its number, which is not 0.
fn client(name: &str) -> Option<ClientId> {
    let digits = name.strip_prefix("client-").filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    digits.parse().ok().filter(|&number| number > 0).map(ClientId)
}

/// A length of whole milliseconds with or without a sign.
fn offset(said: &str) -> Option<i64> {
    let (behind, size) = match said.strip_prefix('-') {
        Some(size) => (true, size),
        None => (false, said.strip_prefix('+').unwrap_or(said)),
    };
    let size = length(size).filter(|size| *size <= LONGEST && size.subsec_nanos() % 1_000_000 == 0)?;
    let millis = i64::try_from(size.as_millis()).ok()?;
    Some(if behind { -millis } else { millis })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(line: &str) -> Result<Order, String> {
        line.parse().map_err(|error: WordError| error.to_string())
    }

    #[test]
    fn every_word_is_read() {
        let one = Whom::Client(ClientId(1));
        let lines = [
            ("pause client-1", Order::Client(one, Ill::Pause)),
            ("resume client-1", Order::Client(one, Ill::Resume)),
            ("crash holder", Order::Client(Whom::Holder, Ill::Crash)),
            ("cut waiter", Order::Client(Whom::Waiter, Ill::Cut)),
            ("mend client-12", Order::Client(Whom::Client(ClientId(12)), Ill::Mend)),
            ("heartbeat client-1 12s", Order::Client(one, Ill::Heartbeat(Duration::from_secs(12)))),
            ("skew client-1 -3s", Order::Client(one, Ill::Skew(-3_000))),
            ("release holder", Order::Client(Whom::Holder, Ill::Release)),
            ("hold client-1 2s", Order::Client(one, Ill::Hold(Duration::from_secs(2)))),
            ("revoke client-1", Order::Client(one, Ill::Revoke)),
            ("remove client-1", Order::Client(one, Ill::Remove)),
            ("add 3", Order::Add(3)),
        ];
        assert_eq!(lines.len(), WORDS.len());
        for ((line, order), word) in lines.into_iter().zip(WORDS) {
            assert_eq!(parsed(line).as_ref(), Ok(&order), "{line}");
            assert_eq!(order.to_string(), line);
            assert_eq!(line.split(' ').next(), Some(word.name));
        }
    }

    #[test]
    fn lengths_are_taken_in_the_ways_people_write_them() {
        let one = Whom::Client(ClientId(1));
        for (line, ill) in [
            ("  hold\tclient-1  0ms ", Ill::Hold(Duration::ZERO)),
            ("heartbeat client-1 1.5s", Ill::Heartbeat(Duration::from_millis(1_500))),
            ("skew client-1 +200ms", Ill::Skew(200)),
            ("skew client-1 0s", Ill::Skew(0)),
        ] {
            assert_eq!(parsed(line), Ok(Order::Client(one, ill)), "{line}");
        }
    }

    #[test]
    fn mistakes_are_quoted_with_what_is_taken() {
        for (line, message) in [
            ("pause", "`pause` wants a client such as client-1, holder or waiter"),
            ("pause 1", "`pause` wants a client such as client-1, holder or waiter, not `1`"),
            ("crash client-0", "`crash` wants a client such as client-1, holder or waiter, not `client-0`"),
            ("crash client-1 now", "`crash` takes nothing more, not `now`"),
            ("heartbeat client-1", "`heartbeat` wants a length from 10ms to 24h such as 500ms or 12s"),
            ("heartbeat client-1 0s", "`heartbeat` wants a length from 10ms to 24h such as 500ms or 12s, not `0s`"),
            ("hold holder 2", "`hold` wants a length up to 24h such as 500ms or 12s, not `2`"),
            (
                "skew holder 0.5ms",
                "`skew` wants an offset of whole milliseconds up to 24h such as 200ms or -3s, not `0.5ms`",
            ),
            ("add", "`add` wants a number from 1 to 1000"),
            ("add 0", "`add` wants a number from 1 to 1000, not `0`"),
            ("add 1001", "`add` wants a number from 1 to 1000, not `1001`"),
        ] {
            assert_eq!(parsed(line), Err(message.into()), "{line}");
        }
        let unknown = parsed("frob client-1").unwrap_err();
        assert!(unknown.starts_with("no order `frob`; there are pause, resume, crash, "), "{unknown}");
        assert!(unknown.ends_with(", remove, add"), "{unknown}");
    }

    fn ills() -> impl Strategy<Value = Ill> {
        let length = |least: u64| (least..86_400_000_000_000).prop_map(Duration::from_nanos);
        prop_oneof![
            length(10_000_000).prop_map(Ill::Heartbeat),
            length(0).prop_map(Ill::Hold),
            (0..2_000_000_000_u64).prop_map(|nanos| Ill::Hold(Duration::from_nanos(nanos))),
            (-86_400_000..=86_400_000_i64).prop_map(Ill::Skew),
            proptest::sample::select(vec![
                Ill::Pause,
                Ill::Resume,
                Ill::Crash,
                Ill::Cut,
                Ill::Mend,
                Ill::Release,
                Ill::Revoke,
                Ill::Remove
            ]),
        ]
    }

    fn orders() -> impl Strategy<Value = Order> {
        let whom = prop_oneof![
            Just(Whom::Holder),
            Just(Whom::Waiter),
            (1..=u32::MAX).prop_map(|number| Whom::Client(ClientId(number))),
        ];
        prop_oneof![
            4 => (whom, ills()).prop_map(|(whom, ill)| Order::Client(whom, ill)),
            1 => (1..=MOST_ADDED).prop_map(Order::Add),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(order in orders()) {
            prop_assert_eq!(order.to_string().parse(), Ok(order));
        }

        #[test]
        fn no_line_is_too_odd_to_be_refused(line in "\\PC{0,40}") {
            let _: Result<Order, WordError> = line.parse();
        }
    }
}
