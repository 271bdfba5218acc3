//! The summary of a run of simulated clients.

use std::time::Duration;

use serde::{Serialize, Serializer};

use super::{Each, SCHEMA, Style, Text};
use crate::domain::play::{Belief, Happening, Ill, Moment, Narration, ResourcePicture, Sight};
use crate::domain::{Revision, Term};
use crate::playground::summary::{Expectation, LockSummary};
use crate::playground::{Kind, LockOf, Scenario, Spread, Summary};

/// The document of `demo --headless` and `play --headless`.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// What it tells.
    pub summary: &'a Summary,
    /// How names are printed.
    pub style: Style,
}

#[derive(Serialize)]
struct Document<'a, L: Serialize, R: Serialize, E: Serialize, T: Serialize> {
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
    fairness: Option<f64>,
    calls_per_handoff: Option<f64>,
    events_per_handoff: Option<f64>,
    elections: usize,
    terms: u64,
    term: Term,
    expectations: E,
    locks: L,
    resources: R,
    timeline_cut: u64,
    timeline: T,
}

#[derive(Serialize)]
struct Expected {
    text: String,
    held: bool,
    evidence: String,
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
    calls_per_handoff: Option<f64>,
    events_per_handoff: Option<f64>,
}

#[derive(Serialize)]
struct Resource<'a> {
    name: &'a str,
    fencing: bool,
    highest_token: Revision,
    accepted: u64,
    stale_accepted: u64,
    refused: u64,
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
    more: More<'a>,
}

/// What only some events have.
#[derive(Serialize)]
#[serde(untagged)]
enum More<'a> {
    Nothing {},
    Enqueued { create_revision: Revision },
    First { revision: Revision },
    Acquired { create_revision: Revision, waited_ms: u64 },
    Released { held_ms: u64 },
    Believed { believed: &'static str },
    Dropped { revision: Revision, believed: &'static str },
    Expired { revision: Revision, after_ms: u64 },
    Every { every_ms: u64 },
    Ahead { ahead_ms: i64 },
    Wrote { token: Revision },
    Stale { token: Revision, highest_token: Revision },
    Saw { key: Text<'a>, value: Option<Text<'a>> },
    Circle { clients: Vec<String> },
    Term { term: Term },
    Fault { fault: String },
    Told { number: usize, en: &'a str, zh: &'a str },
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
            fairness: summary.fairness.map(rounded),
            calls_per_handoff: main.and_then(|lock| lock.calls_per_handoff).map(rounded),
            events_per_handoff: main.and_then(|lock| lock.events_per_handoff).map(rounded),
            elections: summary.elections,
            terms: summary.terms,
            term: summary.term,
            expectations: Each(|| summary.expectations.iter().map(Expected::from)),
            locks: Each(|| summary.locks.iter().map(|lock| Lock::of(lock, style))),
            resources: Each(|| summary.resources.iter().map(Resource::from)),
            timeline_cut: summary.timeline_cut,
            timeline: Each(|| summary.timeline.iter().map(|moment| Event::of(moment, summary, style))),
        }
        .serialize(to)
    }
}

impl From<&Expectation> for Expected {
    fn from(Expectation { text, held, evidence }: &Expectation) -> Self {
        Self { text: text.to_string(), held: *held, evidence: evidence.to_string() }
    }
}

impl<'a> Lock<'a> {
    fn of(lock: &'a LockSummary, style: Style) -> Self {
        Self {
            name: style.text(lock.lock.name()),
            recipe: recipe(&lock.lock, lock.kind),
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
            calls_per_handoff: lock.calls_per_handoff.map(rounded),
            events_per_handoff: lock.events_per_handoff.map(rounded),
        }
    }
}

impl<'a> From<&'a ResourcePicture> for Resource<'a> {
    fn from(resource: &'a ResourcePicture) -> Self {
        let ResourcePicture { name, fencing, highest, accepted, refused, stale_accepted } = resource;
        Self {
            name,
            fencing: *fencing,
            highest_token: *highest,
            accepted: *accepted,
            stale_accepted: *stale_accepted,
            refused: *refused,
        }
    }
}

/// A word for what clients that do this make of a lock.
pub const fn recipe(lock: &LockOf, kind: Kind) -> &'static str {
    match lock {
        LockOf::Queue(_) => "queue",
        LockOf::SingleKey(_) if matches!(kind, Kind::Registration) => "registration",
        LockOf::SingleKey(_) if matches!(kind, Kind::Publish) => "configuration",
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
    fn of(moment: &'a Moment, summary: &'a Summary, style: Style) -> Self {
        let (event, more) = told(&moment.what, &summary.narrations, style);
        Self {
            at_ms: moment.at.0 / 1000,
            event,
            client: moment.client.map(|client| client.to_string()),
            lock: (!moment.lock.is_empty()).then(|| style.text(&moment.lock)),
            more,
        }
    }
}

/// The stable name of what happened, and what belongs to it.
fn told<'a>(what: &'a Happening, narrations: &'a [Narration], style: Style) -> (&'static str, More<'a>) {
    let believed = |belief: &Belief| belief.name();
    match what {
        Happening::Began => ("began", More::Nothing {}),
        Happening::Enqueued(created) => ("enqueued", More::Enqueued { create_revision: *created }),
        Happening::First(revision) => ("first", More::First { revision: *revision }),
        Happening::Acquired(created, waited) => {
            ("acquired", More::Acquired { create_revision: *created, waited_ms: millis(*waited) })
        }
        Happening::HasFirst(created, waited) => {
            ("has_first", More::Acquired { create_revision: *created, waited_ms: millis(*waited) })
        }
        Happening::Released(held) => ("released", More::Released { held_ms: millis(*held) }),
        Happening::GaveUp => ("gave_up", More::Nothing {}),
        Happening::Lost(belief) => ("lost", More::Believed { believed: believed(belief) }),
        Happening::Dropped(revision, belief) => {
            ("dropped", More::Dropped { revision: *revision, believed: believed(belief) })
        }
        Happening::Crashed(belief) => ("crashed", More::Believed { believed: believed(belief) }),
        Happening::Expired(revision, after) => {
            ("expired", More::Expired { revision: *revision, after_ms: millis(*after) })
        }
        Happening::Returned => ("returned", More::Nothing {}),
        Happening::Stopped => ("stopped", More::Nothing {}),
        Happening::Paused => ("paused", More::Nothing {}),
        Happening::Resumed => ("resumed", More::Nothing {}),
        Happening::Suffered(ill) => (suffered(*ill), of_ill(*ill)),
        Happening::Wrote(token) => ("wrote", More::Wrote { token: *token }),
        Happening::Damaged(token, highest) => ("damaged", More::Stale { token: *token, highest_token: *highest }),
        Happening::Refused(token, highest) => ("refused", More::Stale { token: *token, highest_token: *highest }),
        Happening::Saw(sight) => {
            let (event, value) = match sight {
                Sight::Appeared(_, value) => ("saw_appear", Some(value)),
                Sight::Changed(_, value) => ("saw_change", Some(value)),
                Sight::Went(_) => ("saw_go", None),
            };
            (event, More::Saw { key: style.text(sight.key()), value: value.map(|value| style.text(value)) })
        }
        Happening::Circle(clients) => {
            ("circle", More::Circle { clients: clients.iter().map(ToString::to_string).collect() })
        }
        Happening::Term(term) => ("term", More::Term { term: *term }),
        Happening::Fault(fault) => ("fault", More::Fault { fault: fault.to_string() }),
        Happening::Told(number) => match narrations.get(*number) {
            Some(Narration { en, zh, .. }) => ("told", More::Told { number: *number, en, zh }),
            None => ("told", More::Told { number: *number, en: "", zh: "" }),
        },
    }
}

/// What was done to a client.
const fn suffered(ill: Ill) -> &'static str {
    match ill {
        Ill::Pause => "paused",
        Ill::Resume => "resumed",
        Ill::Crash => "crashed",
        Ill::Cut => "cut",
        Ill::Mend => "mended",
        Ill::Heartbeat(_) => "heartbeat_set",
        Ill::Skew(_) => "clock_set",
        Ill::Release => "told_to_release",
        Ill::Hold(_) => "hold_set",
        Ill::Revoke => "revoked",
        Ill::Remove => "removed",
    }
}

fn of_ill(ill: Ill) -> More<'static> {
    match ill {
        Ill::Heartbeat(every) | Ill::Hold(every) => More::Every { every_ms: millis(every) },
        Ill::Skew(ahead_ms) => More::Ahead { ahead_ms },
        _ => More::Nothing {},
    }
}

/// The document of `play --list`.
#[derive(Serialize)]
pub struct Scenarios<'a> {
    schema: &'static str,
    scenarios: Vec<Listed<'a>>,
}

#[derive(Serialize)]
struct Listed<'a> {
    name: &'a str,
    summary: &'a str,
    summary_zh: &'a str,
    lock: &'a str,
    needs_faults: bool,
    clients: u32,
    expectations: Vec<String>,
}

impl<'a> Scenarios<'a> {
    /// These, in this order.
    pub fn of(scenarios: &'a [Scenario]) -> Self {
        let listed = |scenario: &'a Scenario| Listed {
            name: &scenario.name,
            summary: &scenario.summary,
            summary_zh: &scenario.summary_zh,
            lock: &scenario.lock,
            needs_faults: scenario.needs.faults,
            clients: scenario.groups.iter().map(|group| u32::from(group.count)).sum(),
            expectations: scenario.wanted.iter().map(|wanted| wanted.text.to_string()).collect(),
        };
        Self { schema: SCHEMA, scenarios: scenarios.iter().map(listed).collect() }
    }
}

/// With three decimals: more would be chance.
fn rounded(number: f64) -> f64 {
    (number * 1_000.0).round() / 1_000.0
}

fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}
