//! What is expected of a run, and whether it was so: each judged by a rule of its own, from
//! evidence in numbers.
//!
//! What was not seen is not claimed: an expectation whose cause never occurred does not hold, and
//! its evidence says so. The rules take in moments as they happen and keep only what they count,
//! so that a run may be as long as it likes.

use std::time::Duration;

use super::{Cast, LockOf, Tally};
use crate::domain::Key;
use crate::domain::play::{ClientId, Expected, Moment, Said};
use crate::domain::raft::{ClusterTime, NodeId, RaftPicture};

mod circle;
mod cluster;
mod counts;
mod expiry;
mod queue;
mod scene;
mod sights;
#[cfg(test)]
pub(super) mod testing;
mod traffic;
mod words;

pub(super) use cluster::struck;
use scene::Scene;
pub use words::{PHRASES, Phrase, PhraseError, Rule, Thousandths, Wanted};

/// What is expected of a run, with what was seen so far.
#[derive(Debug)]
pub struct Expectations {
    scene: Scene,
    judges: Vec<Judge>,
    now: ClusterTime,
}

#[derive(Debug)]
struct Judge {
    text: Said,
    rule: Box<dyn Judging>,
}

/// A rule with what it has seen.
trait Judging: std::fmt::Debug + Send + Sync {
    /// Takes in what happened. The scene is as it was before.
    fn see(&mut self, _moment: &Moment, _scene: &Scene) {}

    /// Takes in what happened, with the scene as it is behind it.
    fn seen(&mut self, _now: ClusterTime, _scene: &Scene) {}

    /// Takes in what a cluster of one's own tells of itself.
    fn look(&mut self, _picture: &RaftPicture) {}

    /// Something is done to this node, which leads or not.
    fn strike(&mut self, _strike: Strike) {}

    /// What it comes to.
    fn verdict(&self, facts: &Facts<'_>) -> Verdict;
}

/// Something is done to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strike {
    /// When.
    pub at: ClusterTime,
    /// To which.
    pub node: NodeId,
    /// Whether it leads.
    pub leads: bool,
}

/// What else is known when it is judged.
struct Facts<'a> {
    tally: &'a Tally,
    now: ClusterTime,
}

/// What a rule says.
struct Verdict {
    /// None while it cannot be told. At the end that is a no.
    held: Option<bool>,
    evidence: Said,
}

impl Verdict {
    fn new(held: impl Into<Option<bool>>, evidence: Said) -> Self {
        Self { held: held.into(), evidence }
    }

    /// It is so as soon as there are enough, and before that nobody knows.
    fn enough(enough: bool, evidence: Said) -> Self {
        Self::new(enough.then_some(true), evidence)
    }
}

impl Expectations {
    /// What is wanted of a run of this cast.
    pub fn new(wanted: &[Wanted], cast: &Cast) -> Self {
        let scene = Scene::new(cast);
        let judges = wanted.iter().map(|wanted| {
            let text = match &wanted.lock {
                Some(lock) => Said::new("{that} ({lock})").part("that", wanted.text.clone()).with("lock", lock),
                None => wanted.text.clone(),
            };
            Judge { text, rule: judging(wanted, cast, &scene) }
        });
        let judges = judges.collect();
        Self { scene, judges, now: ClusterTime(0) }
    }

    /// Takes in what happened.
    pub fn see(&mut self, moment: &Moment) {
        self.now = self.now.max(moment.at);
        for judge in &mut self.judges {
            judge.rule.see(moment, &self.scene);
        }
        self.scene.see(moment);
        for judge in &mut self.judges {
            judge.rule.seen(moment.at, &self.scene);
        }
    }

    /// Takes in what a cluster of one's own tells of itself.
    pub fn look(&mut self, picture: &RaftPicture) {
        for judge in &mut self.judges {
            judge.rule.look(picture);
        }
    }

    /// Something is done to a node.
    pub fn strike(&mut self, strike: Strike) {
        for judge in &mut self.judges {
            judge.rule.strike(strike);
        }
    }

    /// Who holds this, by the clients' own word.
    pub fn holder(&self, lock: &Key) -> Option<ClientId> {
        self.scene.holders().get(lock)?.first().copied()
    }

    /// Who waits for it longest, of those whose keys are in its queue.
    pub fn waiter(&self, lock: &Key) -> Option<ClientId> {
        self.scene.waiter(lock)
    }

    /// How they stand at this time.
    pub fn stand(&self, tally: &Tally, now: ClusterTime) -> Vec<Expected> {
        let facts = Facts { tally, now: self.now.max(now) };
        let expected = |judge: &Judge| {
            let Verdict { held, evidence } = judge.rule.verdict(&facts);
            Expected { text: judge.text.clone(), held, evidence }
        };
        self.judges.iter().map(expected).collect()
    }
}

/// What is expected of a run that nobody expects anything else of.
pub(super) fn usual() -> [Wanted; 3] {
    let all = [
        (Said::new("handoffs >= {n}").with("n", 1), Rule::Handoffs(1)),
        (Said::new("fifo"), Rule::Fifo),
        (Said::new("one holder"), Rule::OneHolder),
    ];
    all.map(|(text, rule)| Wanted { text, lock: None, rule })
}

/// The rule that judges what is wanted.
fn judging(wanted: &Wanted, cast: &Cast, scene: &Scene) -> Box<dyn Judging> {
    let below = |name: &str| {
        let mut key = cast.prefix.to_vec();
        key.extend_from_slice(name.as_bytes());
        Key::from(key)
    };
    let named = wanted.lock.as_deref().map(below);
    let lock = named.clone().unwrap_or_else(|| cast.lock.name().clone());
    match wanted.rule.clone() {
        Rule::Fifo => Box::new(queue::Fifo(named)),
        Rule::OneHolder => Box::new(queue::OneHolder(named)),
        Rule::DoubleHolders(least) => Box::new(queue::DoubleHolders(lock, least)),
        Rule::Handoffs(least) => Box::new(queue::Handoffs(lock, least)),
        Rule::EverybodyHolds => Box::new(queue::Everybody::new(lock, scene)),
        Rule::Fairness(least) => Box::new(queue::Fairness::new(lock, scene, least)),
        Rule::ChangesAfterExpiry(within) => Box::new(expiry::Changes::new(lock, within)),
        Rule::StaleBelief(least) => Box::new(expiry::StaleBelief::new(lock, least)),
        Rule::Expired(least) => Box::new(counts::Expired::new(named, least)),
        Rule::Lost(least) => Box::new(counts::Lost::new(named, least)),
        Rule::NoStaleAccepted(name) => Box::new(counts::Writes::new(&name, counts::Stale::NeverTaken)),
        Rule::StaleRefused(name) => Box::new(counts::Writes::new(&name, counts::Stale::Refused)),
        Rule::StaleAccepted(name) => Box::new(counts::Writes::new(&name, counts::Stale::Taken)),
        Rule::NewLeader(within) => Box::new(cluster::NewLeader::new(within)),
        Rule::Elections(least) => Box::new(cluster::Elections(least)),
        Rule::SplitVote => Box::new(cluster::SplitVote::default()),
        Rule::Minority => Box::new(cluster::Minority::default()),
        Rule::Deadlock(least) => Box::new(circle::Deadlock::new(Some(least))),
        Rule::DeadlockEnds => Box::new(circle::Deadlock::new(None)),
        Rule::EventsAtLeast(least) => Box::new(traffic::PerHandoff::events(lock, traffic::Bound::AtLeast(least))),
        Rule::EventsAtMost(most) => Box::new(traffic::PerHandoff::events(lock, traffic::Bound::AtMost(most))),
        Rule::CallsAtMost(most) => Box::new(traffic::PerHandoff::calls(lock, traffic::Bound::AtMost(most))),
        Rule::FewerEvents(other) => Box::new(traffic::Fewer { lock, other: below(&other) }),
        Rule::WatchersSee(within) => Box::new(sights::Changes::new(within)),
        Rule::LeaderSeen(within) => Box::new(sights::Leader::new(lock, within)),
        Rule::SeenGoing(least) => Box::new(sights::Going::new(least)),
    }
}

/// What came of the locks of this name; of all of them without a name.
fn locks<'a>(tally: &'a Tally, name: Option<&'a Key>) -> impl Iterator<Item = (&'a LockOf, &'a super::tally::OfLock)> {
    tally.locks().iter().filter(move |(of, _)| name.is_none_or(|name| of.name() == name))
}

/// So many times.
fn times(count: u64) -> Said {
    Said::new(if count == 1 { "{n} time" } else { "{n} times" }).with("n", count)
}

/// A length of time in words.
fn span(length: Duration) -> String {
    if length < Duration::from_secs(1) {
        format!("{} ms", length.as_millis())
    } else {
        format!("{:.2} s", length.as_secs_f64())
    }
}

/// A point of the run in words.
fn point(at: ClusterTime) -> String {
    format!("{:.2} s", at.since(ClusterTime(0)).as_secs_f64())
}

/// A name in words.
fn shown(key: &Key) -> String {
    crate::domain::escape::escape(key).into_owned()
}
