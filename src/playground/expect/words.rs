//! What can be expected, in words.
//!
//! One table says which sentences there are; a name in braces stands for a number, a length or a
//! name, and is written in capitals where people read what can be said. The reader, its messages
//! and the list in the documents come from it.

use std::time::Duration;

use thiserror::Error;

use crate::config::parse;
use crate::domain::play::Said;
use crate::nearest;

/// Something that is expected of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The sentence.
    pub text: Said,
    /// Of which lock, below the prefix; none is the one that the scenario is about, or all.
    pub lock: Option<String>,
    /// What it says.
    pub rule: Rule,
}

/// What a sentence says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Who takes a lock has the oldest key of its queue.
    Fifo,
    /// No two believe at once that they hold.
    OneHolder,
    /// Two believe at once that they hold, so often at least.
    DoubleHolders(u64),
    /// It is handed over so often at least.
    Handoffs(u64),
    /// Each of its clients takes it at least once.
    EverybodyHolds,
    /// When a holder's key is taken away, somebody who waits has it so soon.
    ChangesAfterExpiry(Duration),
    /// So many keys go that their clients did not delete.
    Expired(u64),
    /// So often a client notices that it has lost its lease or key.
    Lost(u64),
    /// Somebody believes for so long that it holds what the store has taken away.
    StaleBelief(Duration),
    /// This resource takes no write with an old token, and one is tried.
    NoStaleAccepted(String),
    /// This resource refuses a write with an old token.
    StaleRefused(String),
    /// This resource takes a write with an old token.
    StaleAccepted(String),
    /// A leader that is lost has a successor so soon.
    NewLeader(Duration),
    /// So many leaders are elected.
    Elections(u64),
    /// A term passes in which two stand and nobody wins.
    SplitVote,
    /// A member that is cut off takes no write while the others do.
    Minority,
    /// Clients wait for each other in a circle for so long.
    Deadlock(Duration),
    /// A circle of clients that wait for each other ends.
    DeadlockEnds,
    /// So many events reach the clients for each handoff, at least.
    EventsAtLeast(Thousandths),
    /// Or at most.
    EventsAtMost(Thousandths),
    /// Clients make at most so many calls for each handoff.
    CallsAtMost(Thousandths),
    /// Fewer events for each handoff than of this lock.
    FewerEvents(String),
    /// What changes below a watched prefix is known to all who watch it so soon.
    WatchersSee(Duration),
    /// Who takes the lock or wins the election is known to all who watch it so soon.
    LeaderSeen(Duration),
    /// Who watches sees so many keys go.
    SeenGoing(u64),
    /// How evenly the clients come to hold: Jain's index.
    Fairness(Thousandths),
}

/// A number with up to three decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Thousandths(pub u64);

impl Thousandths {
    /// As a number.
    #[expect(clippy::cast_precision_loss, reason = "they are written with few digits")]
    pub fn value(self) -> f64 {
        self.0 as f64 / 1000.0
    }
}

/// A sentence with a gap.
#[derive(Clone, Copy, Debug)]
pub struct Phrase {
    /// The sentence; the name in braces is the gap.
    pub words: &'static str,
    /// When it is so, as a sentence without its full stop.
    pub help: &'static str,
    make: Make,
}

#[derive(Clone, Copy, Debug)]
enum Make {
    Plain(fn() -> Rule),
    Count(fn(u64) -> Rule),
    Ratio(fn(Thousandths) -> Rule),
    Length(fn(Duration) -> Rule),
    Resource(fn(String) -> Rule),
    Lock(fn(String) -> Rule),
}

const fn phrase(words: &'static str, help: &'static str, make: Make) -> Phrase {
    Phrase { words, help, make }
}

/// All sentences, in the order of the documents.
pub const PHRASES: &[Phrase] = &[
    phrase(
        "fifo",
        "Whoever took it had the oldest key of its queue, looked up in the store's history",
        Make::Plain(|| Rule::Fifo),
    ),
    phrase("one holder", "No two believed at once that they held it", Make::Plain(|| Rule::OneHolder)),
    phrase(
        "double holders >= {n}",
        "So often somebody took it while another believed that it held",
        Make::Count(Rule::DoubleHolders),
    ),
    phrase("handoffs >= {n}", "The store passed it on so often", Make::Count(Rule::Handoffs)),
    phrase("everybody holds", "Each of its clients held it at least once", Make::Plain(|| Rule::EverybodyHolds)),
    phrase(
        "holder changes within {length} of expiry",
        "Each time a holder's key went with its lease, somebody who waited held it so soon",
        Make::Length(Rule::ChangesAfterExpiry),
    ),
    phrase(
        "expired keys >= {n}",
        "So many keys were taken away, by the end of a lease, and not by their clients",
        Make::Count(Rule::Expired),
    ),
    phrase("lost leases >= {n}", "So often a client noticed that its lease or key was gone", Make::Count(Rule::Lost)),
    phrase(
        "stale belief for {length}",
        "Somebody believed for so long that it held what the store had taken away",
        Make::Length(Rule::StaleBelief),
    ),
    phrase(
        "no stale write accepted by {resource}",
        "Writes with an old fencing token were tried, and none was taken",
        Make::Resource(Rule::NoStaleAccepted),
    ),
    phrase(
        "stale write refused by {resource}",
        "A write with an old fencing token was refused",
        Make::Resource(Rule::StaleRefused),
    ),
    phrase(
        "stale write accepted by {resource}",
        "A write with an old fencing token was taken",
        Make::Resource(Rule::StaleAccepted),
    ),
    phrase(
        "new leader within {length} of fault",
        "Each time something was done to the cluster's leader, another was elected so soon",
        Make::Length(Rule::NewLeader),
    ),
    phrase("elections >= {n}", "So many leaders of the cluster were elected", Make::Count(Rule::Elections)),
    phrase(
        "split vote seen",
        "A term passed in which two or more members stood for election and none won",
        Make::Plain(|| Rule::SplitVote),
    ),
    phrase(
        "minority takes no write",
        "The store of a member that was cut off stood still while the others went on",
        Make::Plain(|| Rule::Minority),
    ),
    phrase(
        "deadlock for {length}",
        "Clients waited for each other in a circle for so long",
        Make::Length(Rule::Deadlock),
    ),
    phrase("deadlock ends", "Such a circle came to its end", Make::Plain(|| Rule::DeadlockEnds)),
    phrase(
        "events per handoff >= {n}",
        "Watches told its clients of so many changes for each handoff, or more",
        Make::Ratio(Rule::EventsAtLeast),
    ),
    phrase("events per handoff <= {n}", "Or less", Make::Ratio(Rule::EventsAtMost)),
    phrase(
        "calls per handoff <= {n}",
        "Its clients made so many calls for each handoff, or less",
        Make::Ratio(Rule::CallsAtMost),
    ),
    phrase(
        "fewer events per handoff than {lock}",
        "Watches told its clients of less, for each handoff, than those of another lock",
        Make::Lock(Rule::FewerEvents),
    ),
    phrase(
        "watchers see within {length}",
        "Whatever changed below a watched prefix was known to everybody who watched it so soon",
        Make::Length(Rule::WatchersSee),
    ),
    phrase(
        "leader seen within {length}",
        "Each time it was taken, everybody who watched it knew so soon by whom",
        Make::Length(Rule::LeaderSeen),
    ),
    phrase("keys seen to go >= {n}", "Watchers saw so many keys go", Make::Count(Rule::SeenGoing)),
    phrase(
        "fairness >= {n}",
        "Jain's index of how often each client held it: 1 is even, 1 in n is one for all",
        Make::Ratio(Rule::Fairness),
    ),
];

/// Why a sentence is not among them.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PhraseError {
    /// There is none like it.
    #[error("`{said}` is nothing that can be expected{hint}")]
    Unknown {
        /// The sentence.
        said: String,
        /// What was probably meant.
        hint: String,
    },
    /// What stands in the gap is no good.
    #[error("`{pattern}`: {gap} is {wanted}, not `{said}`")]
    Gap {
        /// The sentence.
        pattern: String,
        /// The gap.
        gap: &'static str,
        /// What can be there.
        wanted: &'static str,
        /// What is.
        said: String,
    },
}

impl Rule {
    /// Reads a sentence: what it says, and the sentence itself.
    ///
    /// # Errors
    /// When there is no such sentence, or what stands in its gap is no good.
    pub fn read(said: &str) -> Result<(Self, Said), PhraseError> {
        let words: Vec<&str> = said.split_whitespace().collect();
        let found = PHRASES.iter().find_map(|phrase| Some((phrase, phrase.gap(&words)?)));
        if let Some((phrase, gap)) = found {
            return Ok((phrase.fill(gap)?, phrase.said(gap)));
        }
        let patterns: Vec<String> = PHRASES.iter().map(Phrase::pattern).collect();
        let near = nearest::nearest(said, patterns.iter().map(String::as_str));
        let hint = near.map(|near| format!(", did you mean `{near}`?"));
        let hint = hint.unwrap_or_else(|| "; docs/scenarios.md lists what can".into());
        Err(PhraseError::Unknown { said: said.to_owned(), hint })
    }

    /// The resource that it is about.
    pub fn resource(&self) -> Option<&str> {
        match self {
            Self::NoStaleAccepted(name) | Self::StaleRefused(name) | Self::StaleAccepted(name) => Some(name),
            _ => None,
        }
    }

    /// The other lock that it is about.
    pub fn other_lock(&self) -> Option<&str> {
        match self {
            Self::FewerEvents(name) => Some(name),
            _ => None,
        }
    }

    /// Whether only a cluster can tell to which things can be done.
    pub const fn needs_faults(&self) -> bool {
        matches!(self, Self::NewLeader(_) | Self::SplitVote | Self::Minority)
    }
}

impl Phrase {
    /// The sentence with what can stand in its gap, in capitals.
    pub fn pattern(&self) -> String {
        self.said(self.make.gap().0).to_string()
    }

    /// The sentence with something in its gap.
    #[cfg(test)]
    pub fn example(&self) -> String {
        let example = match self.make {
            Make::Plain(_) => "",
            Make::Count(_) => "3",
            Make::Ratio(_) => "1.5",
            Make::Length(_) => "2s",
            Make::Resource(_) | Make::Lock(_) => "ledger",
        };
        self.said(example).to_string()
    }

    /// The sentence with this in its gap.
    fn said(&self, gap: &str) -> Said {
        let said = Said::new(self.words);
        match self.words.split_once('{').and_then(|(_, name)| name.split_once('}')) {
            Some((name, _)) => said.with(name, gap),
            None => said,
        }
    }

    /// What stands in the gap when the other words are the sentence's; empty without a gap.
    fn gap<'a>(&self, said: &[&'a str]) -> Option<&'a str> {
        let mut gap = "";
        let words: Vec<&str> = self.words.split(' ').collect();
        if words.len() != said.len() {
            return None;
        }
        for (word, said) in words.into_iter().zip(said) {
            if is_gap(word) {
                gap = said;
            } else if word != *said {
                return None;
            }
        }
        Some(gap)
    }

    fn fill(&self, said: &str) -> Result<Rule, PhraseError> {
        let (gap, wanted) = self.make.gap();
        let wrong = || PhraseError::Gap { pattern: self.pattern(), gap, wanted, said: said.to_owned() };
        match self.make {
            Make::Plain(make) => Ok(make()),
            Make::Count(make) => said.parse().map(make).map_err(|_| wrong()),
            Make::Ratio(make) => thousandths(said).map(make).ok_or_else(wrong),
            Make::Length(make) => parse::duration(said).map(make).map_err(|_| wrong()),
            Make::Resource(make) | Make::Lock(make) => Ok(make(said.to_owned())),
        }
    }
}

impl Make {
    /// What the gap is called, and what can stand there.
    const fn gap(self) -> (&'static str, &'static str) {
        match self {
            Self::Plain(_) => ("", ""),
            Self::Count(_) => ("N", "a whole number"),
            Self::Ratio(_) => ("X", "a number with up to three decimals"),
            Self::Length(_) => ("T", "a length such as 2s"),
            Self::Resource(_) => ("RESOURCE", "the name of a resource"),
            Self::Lock(_) => ("LOCK", "the name of a lock"),
        }
    }
}

fn is_gap(word: &str) -> bool {
    word.starts_with('{')
}

fn thousandths(said: &str) -> Option<Thousandths> {
    let (whole, part) = said.split_once('.').unwrap_or((said, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(part) || part.len() > 3 || whole.len() > 12 {
        return None;
    }
    format!("{whole}{part:0<3}").parse().ok().map(Thousandths)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(said: &str) -> Result<Rule, String> {
        Rule::read(said).map(|(rule, _)| rule).map_err(|error| error.to_string())
    }

    #[test]
    fn every_phrase_is_read_and_none_hides_another() {
        for phrase in PHRASES {
            let said = phrase.example();
            let words: Vec<&str> = said.split(' ').collect();
            let fits = PHRASES.iter().filter(|other| other.gap(&words).is_some()).count();
            assert_eq!(fits, 1, "{}", phrase.words);
            assert_eq!(Rule::read(&said).unwrap().1.to_string(), said, "{}", phrase.words);
        }
        assert_eq!(read("handoffs >= 5"), Ok(Rule::Handoffs(5)));
        assert_eq!(read("  fairness  >= 0.9 "), Ok(Rule::Fairness(Thousandths(900))));
        assert_eq!(read("holder changes within 2s of expiry"), Ok(Rule::ChangesAfterExpiry(Duration::from_secs(2))));
        assert_eq!(read("stale write accepted by blind"), Ok(Rule::StaleAccepted("blind".into())));
    }

    #[test]
    fn mistakes_are_quoted_with_what_could_be() {
        let error = read("handoff >= 5").unwrap_err();
        assert_eq!(error, "`handoff >= 5` is nothing that can be expected, did you mean `handoffs >= N`?");
        let error = read("handoffs >= many").unwrap_err();
        assert_eq!(error, "`handoffs >= N`: N is a whole number, not `many`");
        let error = read("fairness >= 0.12345").unwrap_err();
        assert_eq!(error, "`fairness >= X`: X is a number with up to three decimals, not `0.12345`");
        let error = read("deadlock for 3").unwrap_err();
        assert_eq!(error, "`deadlock for T`: T is a length such as 2s, not `3`");
        assert!(read("world peace").unwrap_err().ends_with("; docs/scenarios.md lists what can"));
    }
}
