//! A run of simulated clients at one moment, as a screen shows it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Belief, ClientId, Moment, Said, Stake, Step};
use crate::domain::raft::ClusterTime;
use crate::domain::{Key, LeaseId, Revision};

/// A run at one moment, with what happened since the picture before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlayPicture {
    /// The moment, on the run's clock.
    pub now: ClusterTime,
    /// The name of the scenario.
    pub scenario: String,
    /// Its summary, one sentence.
    pub summary: String,
    /// The same in Chinese; empty when there is none.
    pub summary_zh: String,
    /// The lock that it is about.
    pub lock: Key,
    /// The clients by their numbers; those that were removed are not among them.
    pub clients: Vec<ClientPicture>,
    /// What the holders write to.
    pub resources: Vec<ResourcePicture>,
    /// What happened, oldest first: only what the picture before did not have.
    pub moments: Vec<Moment>,
    /// How many moments there were before those. A gap between two pictures is a loss.
    pub before: u64,
    /// The narration that was told last.
    pub narration: Option<Narration>,
    /// What is expected, and how it stands.
    pub expectations: Vec<Expected>,
}

/// A client at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientPicture {
    /// Its number.
    pub id: ClientId,
    /// What it does, in a word or two, such as `six-steps`.
    pub recipe: String,
    /// The name of what it takes part in.
    pub lock: Key,
    /// Whether it runs.
    pub life: Life,
    /// Where it is in the steps.
    pub step: Step,
    /// What it takes for true.
    pub belief: Belief,
    /// What the store says: its place in the queue, from 0 for who holds; none when no key of it
    /// is there.
    pub place: Option<usize>,
    /// The second lock of one that takes two, one after the other.
    pub second: Option<SecondPicture>,
    /// What of it is in the store, as far as it knows; where the server queues, as far as the store
    /// tells.
    pub stake: Stake,
    /// The length of its lease as it asks for it.
    pub ttl: Duration,
    /// The time between heartbeats.
    pub heartbeat: Duration,
    /// How long it holds, by what it was told last; the longest it can be where that is drawn
    /// anew each time.
    pub hold: Duration,
    /// How far its clock is ahead of the run's, in milliseconds; less than 0 when it is behind.
    pub skew_ms: i64,
    /// Whether its connection is cut.
    pub cut: bool,
}

/// Where a client stands in the second of two locks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecondPicture {
    /// The name of that lock.
    pub lock: Key,
    /// What the store says: its place in that queue, from 0 for who holds; none when no key of it
    /// is there.
    pub place: Option<usize>,
}

/// Whether a client runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Life {
    /// It runs.
    #[default]
    Up,
    /// It stands still.
    Paused,
    /// It crashed and may come back.
    Gone,
    /// It ended in order.
    Stopped,
}

/// A protected resource at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourcePicture {
    /// Its name.
    pub name: String,
    /// Whether it checks fencing tokens.
    pub fencing: bool,
    /// The highest token it has seen.
    pub highest: Revision,
    /// How many writes it took.
    pub accepted: u64,
    /// How many writes it refused.
    pub refused: u64,
    /// How many of those it took came with an older token than one before.
    pub stale_accepted: u64,
}

/// A narration of the scenario, in both languages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Narration {
    /// When it was told.
    pub at: ClusterTime,
    /// In English.
    pub en: String,
    /// In Chinese; empty when there is none.
    pub zh: String,
}

/// Something that is expected of the run, and how it stands.
///
/// Written as English sentences, which anybody can read, with what they are made of beside them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct Expected {
    /// What should be so.
    pub text: Said,
    /// Whether it is so as far as the run has come; none while that cannot be told.
    pub held: Option<bool>,
    /// What was seen that tells so.
    pub evidence: Said,
}

/// As it stands in recordings.
#[derive(Serialize, Deserialize)]
struct Written {
    text: String,
    held: Option<bool>,
    evidence: String,
    /// The two sentences again, the one that says what should be so first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    said: Option<(Said, Said)>,
}

impl From<Written> for Expected {
    fn from(written: Written) -> Self {
        let Written { text, held, evidence, said } = written;
        let (text, evidence) = said.unwrap_or_else(|| (text.into(), evidence.into()));
        Self { text, held, evidence }
    }
}

impl From<Expected> for Written {
    fn from(Expected { text, held, evidence }: Expected) -> Self {
        Self { text: text.to_string(), held, evidence: evidence.to_string(), said: Some((text, evidence)) }
    }
}

impl PlayPicture {
    /// The client of this number.
    pub fn client(&self, id: ClientId) -> Option<&ClientPicture> {
        self.clients.binary_search_by_key(&id, |client| client.id).ok().map(|at| &self.clients[at])
    }
}

impl ClientPicture {
    /// The lease of its session; 0 without one.
    pub const fn lease(&self) -> LeaseId {
        self.stake.lease
    }

    /// Whether it is there to take a lock, or to lead: others register, publish or watch.
    pub fn takes_lock(&self) -> bool {
        !matches!(self.recipe.as_str(), "registration" | "publish" | "watch" | "observe")
    }

    /// Whether it believes that it holds although the store says otherwise.
    pub fn is_stale(&self) -> bool {
        self.belief == Belief::Holding && self.place != Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_expected_is_written_in_english_with_what_it_is_made_of() {
        let expected = Expected {
            text: Said::new("handoffs >= {n}").with("n", 5),
            held: None,
            evidence: Said::new("{handoffs} of {name}").count("handoffs", 2, "handoff").with("name", "/a"),
        };
        let json = serde_json::to_value(&expected).unwrap();
        assert_eq!(
            (json["text"].as_str(), json["evidence"].as_str()),
            (Some("handoffs >= 5"), Some("2 handoffs of /a"))
        );
        assert_eq!(serde_json::from_value::<Expected>(json).unwrap(), expected);
    }

    #[test]
    fn what_is_expected_can_be_read_where_it_is_english_only() {
        let json = r#"{"text": "fifo", "held": true, "evidence": "12 of 12"}"#;
        let expected: Expected = serde_json::from_str(json).unwrap();
        assert_eq!(expected, Expected { text: "fifo".into(), held: Some(true), evidence: "12 of 12".into() });
    }
}
