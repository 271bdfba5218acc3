//! The summary of a run of simulated clients.

use std::time::Duration;

use serde::{Serialize, Serializer};

use super::{Each, SCHEMA, Style, Text};
use crate::domain::{Revision, Term};
use crate::playground::summary::{Expectation, LockSummary};
use crate::playground::tally::{Happening, Moment};
use crate::playground::{LockOf, Spread, Summary};

/// The document of `demo --headless`.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// What it tells.
    pub summary: &'a Summary,
    /// How names are printed.
    pub style: Style,
}

#[derive(Serialize)]
struct Document<'a, L: Serialize, E: Serialize, T: Serialize> {
    schema: &'static str,
    scenario: &'a str,
    seed: u64,
    length_ms: u64,
    lock: Text<'a>,
    handoffs: u64,
    fifo_violations: u64,
    double_holders: u64,
    wait_ms: Option<Millis>,
    hold_ms: Option<Millis>,
    elections: usize,
    terms: u64,
    term: Term,
    expectations: E,
    locks: L,
    timeline_cut: u64,
    timeline: T,
}

#[derive(Serialize)]
struct Expected<'a> {
    text: &'a str,
    held: bool,
    evidence: &'a str,
}

#[derive(Serialize)]
struct Lock<'a> {
    name: Text<'a>,
    recipe: &'static str,
    clients: usize,
    handoffs: u64,
    fifo_violations: u64,
    double_holders: u64,
    acquired: u64,
    released: u64,
    crashed: u64,
    expired: u64,
    lost: u64,
    wait_ms: Option<Millis>,
    hold_ms: Option<Millis>,
}

/// Percentiles in whole milliseconds.
#[derive(Serialize)]
struct Millis {
    p50: u64,
    p90: u64,
    p99: u64,
    max: u64,
}

#[derive(Serialize)]
struct Event<'a> {
    at_ms: u64,
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lock: Option<Text<'a>>,
    #[serde(flatten)]
    more: More,
}

/// What only some events have.
#[derive(Serialize)]
#[serde(untagged)]
enum More {
    Nothing {},
    Enqueued { create_revision: Revision },
    Acquired { create_revision: Revision, waited_ms: u64 },
    Released { held_ms: u64 },
    Believed { believed: &'static str },
    Expired { revision: Revision, after_ms: u64 },
    Term { term: Term },
}

impl Serialize for Run<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self { summary, style } = *self;
        let main = summary.main();
        Document {
            schema: SCHEMA,
            scenario: &summary.scenario,
            seed: summary.seed,
            length_ms: millis(summary.length),
            lock: style.text(&summary.lock),
            handoffs: main.map_or(0, |lock| lock.handoffs),
            fifo_violations: summary.fifo_violations(),
            double_holders: summary.double_holders(),
            wait_ms: main.and_then(|lock| lock.wait).map(Into::into),
            hold_ms: main.and_then(|lock| lock.hold).map(Into::into),
            elections: summary.elections,
            terms: summary.terms,
            term: summary.term,
            expectations: Each(|| summary.expectations.iter().map(Expected::from)),
            locks: Each(|| summary.locks.iter().map(|lock| Lock::of(lock, style))),
            timeline_cut: summary.timeline_cut,
            timeline: Each(|| summary.timeline.iter().map(|moment| Event::of(moment, style))),
        }
        .serialize(to)
    }
}

impl<'a> From<&'a Expectation> for Expected<'a> {
    fn from(Expectation { text, held, evidence }: &'a Expectation) -> Self {
        Self { text, held: *held, evidence }
    }
}

impl<'a> Lock<'a> {
    fn of(lock: &'a LockSummary, style: Style) -> Self {
        Self {
            name: style.text(lock.lock.name()),
            recipe: recipe(&lock.lock),
            clients: lock.clients,
            handoffs: lock.handoffs,
            fifo_violations: lock.fifo_violations,
            double_holders: lock.double_holders,
            acquired: lock.acquired,
            released: lock.released,
            crashed: lock.crashed,
            expired: lock.expired,
            lost: lock.lost,
            wait_ms: lock.wait.map(Into::into),
            hold_ms: lock.hold.map(Into::into),
        }
    }
}

/// A word for the recipe that makes a lock.
pub const fn recipe(lock: &LockOf) -> &'static str {
    match lock {
        LockOf::Queue(_) => "queue",
        LockOf::SingleKey(_) => "single-key",
        LockOf::Watched(_) => "watched",
    }
}

impl From<Spread> for Millis {
    fn from(Spread { p50, p90, p99, max }: Spread) -> Self {
        Self { p50: millis(p50), p90: millis(p90), p99: millis(p99), max: millis(max) }
    }
}

impl<'a> Event<'a> {
    fn of(moment: &'a Moment, style: Style) -> Self {
        let (event, more) = match moment.what {
            Happening::Enqueued(create_revision) => ("enqueued", More::Enqueued { create_revision }),
            Happening::Acquired(create_revision, waited) => {
                ("acquired", More::Acquired { create_revision, waited_ms: millis(waited) })
            }
            Happening::Released(held) => ("released", More::Released { held_ms: millis(held) }),
            Happening::GaveUp => ("gave_up", More::Nothing {}),
            Happening::Lost(believed) => ("lost", More::Believed { believed: believed.name() }),
            Happening::Crashed(believed) => ("crashed", More::Believed { believed: believed.name() }),
            Happening::Expired(revision, after) => ("expired", More::Expired { revision, after_ms: millis(after) }),
            Happening::Returned => ("returned", More::Nothing {}),
            Happening::Term(term) => ("term", More::Term { term }),
            // Nobody tells of these yet.
            _ => ("other", More::Nothing {}),
        };
        Self {
            at_ms: moment.at.0 / 1000,
            event,
            client: moment.client.map(|client| client.to_string()),
            lock: (!moment.lock.is_empty()).then(|| style.text(&moment.lock)),
            more,
        }
    }
}

fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}
