//! The words of a fault: read from a line, and written as one.
//!
//! One table says which there are and what follows each; the parser's messages, the command
//! line's help and its completion come from it. What is written reads back as the same fault.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::Fault;
use crate::domain::measure::{Decimal, Length, decimal, length};
use crate::domain::raft::{NodeId, Speed};
use crate::domain::words::{self, Said, WordError};

/// The longest delay of messages: ten times as long as a request waits for its answer.
pub const LONGEST_DELAY: Duration = Duration::from_mins(1);

/// A word that asks for a fault.
pub type Word = words::Word<Takes>;

/// What follows a word.
#[derive(Clone, Copy, Debug)]
pub enum Takes {
    /// Nothing.
    Nothing(Fault),
    /// A node.
    Node(fn(NodeId) -> Fault),
    /// Two nodes.
    Nodes(fn(NodeId, NodeId) -> Fault),
    /// A length.
    Length(fn(Duration) -> Fault),
    /// A percentage.
    Percent(fn(u16) -> Fault),
    /// A factor.
    Speed(fn(Speed) -> Fault),
    /// `on` or `off`.
    Switch(fn(bool) -> Fault),
}

const fn word(name: &'static str, arguments: &'static str, help: &'static str, takes: Takes) -> Word {
    Word::new(name, arguments, help, takes)
}

/// All words, in the order of the help.
pub const WORDS: &[Word] = &[
    word("kill", "NODE", "End a node as a power cut does; what it had to keep is kept", Takes::Node(Fault::Kill)),
    word("start", "NODE", "Start a node that was killed", Takes::Node(Fault::Start)),
    word("pause", "NODE", "Stop a node as SIGSTOP does: it answers nothing", Takes::Node(Fault::Pause)),
    word("resume", "NODE", "Let a node that was paused go on", Takes::Node(Fault::Resume)),
    word("isolate", "NODE", "Cut a node off from all others; its clients still reach it", Takes::Node(Fault::Isolate)),
    word("cut", "NODE NODE", "Cut two nodes off from each other", Takes::Nodes(Fault::Cut)),
    word("delay", "LENGTH", "Messages take this long from now on, such as 200ms", Takes::Length(Fault::Delay)),
    word("loss", "PERCENT", "Lose so many of the messages from now on, such as 20%", Takes::Percent(Fault::Loss)),
    word("heal", "", "Mend all cuts, and let messages travel as at the start", Takes::Nothing(Fault::Heal)),
    word("campaign", "NODE", "Make a node's election timer go off now", Takes::Node(Fault::Campaign)),
    word("transfer", "NODE", "Hand the lead over to a node", Takes::Node(Fault::Transfer)),
    word("speed", "FACTOR", "Let the cluster's clock run this fast, from 0.05 to 4", Takes::Speed(Fault::Speed)),
    word("freeze", "", "Stop the cluster's clock", Takes::Nothing(Fault::Freeze)),
    word("thaw", "", "Let the cluster's clock run on", Takes::Nothing(Fault::Thaw)),
    word("step", "", "Let the next thing happen and stop the clock behind it", Takes::Nothing(Fault::Step)),
    word("prevote", "on|off", "Ask before standing for election, or do not", Takes::Switch(Fault::PreVote)),
    word(
        "checkquorum",
        "on|off",
        "Let a leader without a majority step down, or not",
        Takes::Switch(Fault::CheckQuorum),
    ),
];

impl Word {
    /// The word of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        WORDS.iter().find(|word| word.name == name)
    }

    /// Whether a node's name follows it.
    pub const fn takes_node(&self) -> bool {
        matches!(self.takes, Takes::Node(_) | Takes::Nodes(_))
    }

    /// What can follow it when that is one of a few words.
    pub const fn choices(&self) -> &'static [&'static str] {
        match self.takes {
            Takes::Switch(_) => &["on", "off"],
            _ => &[],
        }
    }
}

/// Reads what follows a word.
fn read(takes: &Takes, said: &mut Said<'_>) -> Result<Fault, WordError> {
    Ok(match takes {
        Takes::Nothing(fault) => *fault,
        Takes::Node(make) => make(said.take(A_NODE, node)?),
        Takes::Nodes(make) => {
            let (first, second) = (said.next(TWO_NODES)?, said.next(TWO_NODES)?);
            let one = node(first).ok_or_else(|| said.wrong(TWO_NODES, first))?;
            let other = node(second).filter(|&other| other != one).ok_or_else(|| said.wrong(TWO_NODES, second))?;
            make(one, other)
        }
        Takes::Length(make) => {
            make(said.take(A_LENGTH, |said| length(said).filter(|&length| length <= LONGEST_DELAY))?)
        }
        Takes::Percent(make) => make(said.take(A_PERCENTAGE, |said| {
            let thousandths = decimal(said.strip_suffix('%').unwrap_or(said), 1).filter(|&part| part <= 1_000);
            thousandths.and_then(|part| u16::try_from(part).ok())
        })?),
        Takes::Speed(make) => make(said.take(A_FACTOR, |said| {
            let thousandths = decimal(said, 3).and_then(|part| u32::try_from(part).ok()).map(Speed);
            thousandths.filter(|speed| (Speed::SLOWEST..=Speed::FASTEST).contains(speed))
        })?),
        Takes::Switch(make) => make(said.take(A_SWITCH, |said| match said {
            "on" => Some(true),
            "off" => Some(false),
            _ => None,
        })?),
    })
}

const A_NODE: &str = "a node such as n1";
const TWO_NODES: &str = "two different nodes such as n1 n2";
const A_LENGTH: &str = "a length up to 60s such as 200ms or 1.5s";
const A_PERCENTAGE: &str = "a percentage from 0% to 100%";
const A_FACTOR: &str = "a factor from 0.05 to 4";
const A_SWITCH: &str = "on or off";

impl FromStr for Fault {
    type Err = WordError;

    /// Reads one line. Words are parted by white space.
    fn from_str(line: &str) -> Result<Self, WordError> {
        words::read(line, "fault", WORDS, read)
    }
}

impl FromStr for NodeId {
    type Err = WordError;

    /// Reads a node's name, such as `n2`.
    fn from_str(name: &str) -> Result<Self, WordError> {
        node(name).ok_or_else(|| WordError::argument("node", A_NODE, name))
    }
}

impl fmt::Display for Fault {
    /// The line that asks for it, such as `cut n1 n2`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let switch = |on: &bool| if *on { "on" } else { "off" };
        match self {
            Self::Kill(node) => write!(f, "kill {node}"),
            Self::Start(node) => write!(f, "start {node}"),
            Self::Pause(node) => write!(f, "pause {node}"),
            Self::Resume(node) => write!(f, "resume {node}"),
            Self::Isolate(node) => write!(f, "isolate {node}"),
            Self::Cut(one, other) => write!(f, "cut {one} {other}"),
            Self::Delay(length) => write!(f, "delay {}", Length(*length)),
            Self::Loss(thousandths) => write!(f, "loss {}%", Decimal(u128::from(*thousandths), 1)),
            Self::Heal => f.write_str("heal"),
            Self::Campaign(node) => write!(f, "campaign {node}"),
            Self::Transfer(node) => write!(f, "transfer {node}"),
            Self::Speed(Speed(thousandths)) => write!(f, "speed {}", Decimal(u128::from(*thousandths), 3)),
            Self::Freeze => f.write_str("freeze"),
            Self::Thaw => f.write_str("thaw"),
            Self::Step => f.write_str("step"),
            Self::PreVote(on) => write!(f, "prevote {}", switch(on)),
            Self::CheckQuorum(on) => write!(f, "checkquorum {}", switch(on)),
        }
    }
}

/// A node's name: `n` and its number, which is not 0.
fn node(name: &str) -> Option<NodeId> {
    let digits = name.strip_prefix('n').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    digits.parse().ok().filter(|&number| number > 0).map(NodeId)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(line: &str) -> Result<Fault, String> {
        line.parse().map_err(|error: WordError| error.to_string())
    }

    #[test]
    fn every_word_is_read() {
        let (one, two, three) = (NodeId(1), NodeId(2), NodeId(3));
        let lines = [
            ("kill n1", Fault::Kill(one)),
            ("start n1", Fault::Start(one)),
            ("pause n2", Fault::Pause(two)),
            ("resume n2", Fault::Resume(two)),
            ("isolate n3", Fault::Isolate(three)),
            ("cut n1 n2", Fault::Cut(one, two)),
            ("delay 200ms", Fault::Delay(Duration::from_millis(200))),
            ("loss 20%", Fault::Loss(200)),
            ("heal", Fault::Heal),
            ("campaign n1", Fault::Campaign(one)),
            ("transfer n2", Fault::Transfer(two)),
            ("speed 0.1", Fault::Speed(Speed(100))),
            ("freeze", Fault::Freeze),
            ("thaw", Fault::Thaw),
            ("step", Fault::Step),
            ("prevote off", Fault::PreVote(false)),
            ("checkquorum on", Fault::CheckQuorum(true)),
        ];
        assert_eq!(lines.len(), WORDS.len());
        for ((line, fault), word) in lines.into_iter().zip(WORDS) {
            assert_eq!(parsed(line), Ok(fault), "{line}");
            assert_eq!(fault.to_string(), line);
            assert_eq!(line.split(' ').next(), Some(word.name));
        }
    }

    #[test]
    fn numbers_are_taken_in_the_ways_people_write_them() {
        for (line, fault) in [
            ("  delay\t1.5s ", Fault::Delay(Duration::from_millis(1_500))),
            ("delay 250us", Fault::Delay(Duration::from_micros(250))),
            ("delay 0ms", Fault::Delay(Duration::ZERO)),
            ("delay 60s", Fault::Delay(LONGEST_DELAY)),
            ("loss 0.5%", Fault::Loss(5)),
            ("loss 100", Fault::Loss(1_000)),
            ("speed 4", Fault::Speed(Speed::FASTEST)),
            ("speed 0.05", Fault::Speed(Speed::SLOWEST)),
            ("kill n12", Fault::Kill(NodeId(12))),
        ] {
            assert_eq!(parsed(line), Ok(fault), "{line}");
        }
    }

    #[test]
    fn mistakes_are_quoted_with_what_is_taken() {
        for (line, message) in [
            ("kill", "`kill` wants a node such as n1"),
            ("kill 1", "`kill` wants a node such as n1, not `1`"),
            ("kill n0", "`kill` wants a node such as n1, not `n0`"),
            ("kill n+1", "`kill` wants a node such as n1, not `n+1`"),
            ("kill n1 n2", "`kill` takes nothing more, not `n2`"),
            ("cut n1", "`cut` wants two different nodes such as n1 n2"),
            ("cut n1 n1", "`cut` wants two different nodes such as n1 n2, not `n1`"),
            ("delay 200", "`delay` wants a length up to 60s such as 200ms or 1.5s, not `200`"),
            ("delay -1s", "`delay` wants a length up to 60s such as 200ms or 1.5s, not `-1s`"),
            (
                "delay 99999999999999999999s",
                "`delay` wants a length up to 60s such as 200ms or 1.5s, not `99999999999999999999s`",
            ),
            ("delay 60.001s", "`delay` wants a length up to 60s such as 200ms or 1.5s, not `60.001s`"),
            ("loss 120%", "`loss` wants a percentage from 0% to 100%, not `120%`"),
            ("speed 9", "`speed` wants a factor from 0.05 to 4, not `9`"),
            ("speed 0.01", "`speed` wants a factor from 0.05 to 4, not `0.01`"),
            ("speed 1.", "`speed` wants a factor from 0.05 to 4, not `1.`"),
            ("prevote yes", "`prevote` wants on or off, not `yes`"),
            ("step 2", "`step` takes nothing more, not `2`"),
        ] {
            assert_eq!(parsed(line), Err(message.into()), "{line}");
        }
        let unknown = parsed("frob n1").unwrap_err();
        assert!(unknown.starts_with("no fault `frob`; there are kill, start, pause, "), "{unknown}");
        let slip = "isolat n1".parse::<Fault>().unwrap_err().to_string();
        assert!(slip.starts_with("no fault `isolat`; did you mean `isolate`? There are kill, start, "), "{slip}");
        assert!(unknown.ends_with(", prevote, checkquorum"), "{unknown}");
    }

    fn node_ids() -> impl Strategy<Value = NodeId> {
        (1..=u64::MAX).prop_map(NodeId)
    }

    fn faults() -> impl Strategy<Value = Fault> {
        prop_oneof![
            node_ids().prop_map(Fault::Kill),
            node_ids().prop_map(Fault::Start),
            node_ids().prop_map(Fault::Pause),
            node_ids().prop_map(Fault::Resume),
            node_ids().prop_map(Fault::Isolate),
            (node_ids(), node_ids())
                .prop_filter("two nodes", |(one, other)| one != other)
                .prop_map(|(one, other)| Fault::Cut(one, other)),
            (0..60_u64, 0..1_000_000_000_u32).prop_map(|(secs, nanos)| Fault::Delay(Duration::new(secs, nanos))),
            (0..1_000_000_000_u32).prop_map(|nanos| Fault::Delay(Duration::new(0, nanos))),
            (0..=1_000_u16).prop_map(Fault::Loss),
            node_ids().prop_map(Fault::Campaign),
            node_ids().prop_map(Fault::Transfer),
            (Speed::SLOWEST.0..=Speed::FASTEST.0).prop_map(|speed| Fault::Speed(Speed(speed))),
            any::<bool>().prop_map(Fault::PreVote),
            any::<bool>().prop_map(Fault::CheckQuorum),
            proptest::sample::select(vec![Fault::Heal, Fault::Freeze, Fault::Thaw, Fault::Step]),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(fault in faults()) {
            prop_assert_eq!(fault.to_string().parse(), Ok(fault));
        }

        #[test]
        fn no_line_is_too_odd_to_be_refused(line in "\\PC{0,40}") {
            let _: Result<Fault, WordError> = line.parse();
        }
    }
}
