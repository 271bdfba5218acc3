//! One line of `watch`.

use jiff::Timestamp as At;
use serde::Serialize;

use super::{Hex, SCHEMA, Style, Text, lease_id};
use crate::cli::watch::Told;
use crate::domain::{Revision, Timestamp};
use crate::model::timeline::Party;
use crate::model::{Cause, What};

/// One thing that happened.
#[derive(Debug, Serialize)]
pub struct Line<'a> {
    schema: &'static str,
    event: &'static str,
    at: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    replayed: bool,
    cluster_id: Option<Hex>,
    revision: Revision,
    #[serde(flatten)]
    party: Option<Place<'a>>,
    #[serde(flatten)]
    more: More,
}

#[derive(Debug, Serialize)]
struct Place<'a> {
    lock: Text<'a>,
    key: Text<'a>,
    lease: Option<Hex>,
    create_revision: Revision,
}

/// What only some events have.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum More {
    Nothing {},
    Cause { cause: &'static str },
    Rewritten { former_lease: Option<Hex> },
    Leader { from: Option<Hex>, to: Option<Hex>, term: u64 },
    Alarm { member: Hex, alarm: String, raised: bool },
    Gap { from_revision: Revision, to_revision: Revision },
}

impl<'a> Line<'a> {
    /// The line for a happening.
    pub fn of(told: &Told<'a>, style: Style) -> Self {
        let happening = told.happening;
        let more = match &happening.what {
            What::Enqueued(_) | What::Acquired(_) => More::Nothing {},
            What::Released(_, cause) | What::WaiterGone(_, cause) => More::Cause { cause: self::cause(*cause) },
            What::Rewritten { former_lease, .. } => More::Rewritten { former_lease: lease_id(*former_lease) },
            What::LeaderChanged(change) => {
                More::Leader { from: change.from.map(Into::into), to: change.to.map(Into::into), term: change.term.0 }
            }
            What::Alarm(alarm, raised) => {
                More::Alarm { member: alarm.member.into(), alarm: alarm.kind.name(), raised: *raised }
            }
            What::Gap { from, to } => More::Gap { from_revision: *from, to_revision: *to },
        };
        Self {
            schema: SCHEMA,
            event: event(&happening.what),
            at: told.time(),
            replayed: told.replayed,
            cluster_id: told.cluster.map(Into::into),
            revision: happening.revision,
            party: happening.what.party().map(|party| Place::of(party, style)),
            more,
        }
    }
}

impl<'a> Place<'a> {
    fn of(party: &'a Party, style: Style) -> Self {
        Self {
            lock: style.text(&party.lock),
            key: style.text(&party.key),
            lease: lease_id(party.lease),
            create_revision: party.create_revision,
        }
    }
}

/// The word for an event.
pub const fn event(what: &What) -> &'static str {
    match what {
        What::Enqueued(_) => "enqueued",
        What::Acquired(_) => "acquired",
        What::Released(..) => "released",
        What::WaiterGone(..) => "waiter_gone",
        What::Rewritten { .. } => "rewritten",
        What::LeaderChanged(_) => "leader_changed",
        What::Alarm(..) => "alarm",
        What::Gap { .. } => "gap",
    }
}

/// The word for a cause. One that is still being asked for when it has to be told is unknown.
pub const fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Pending => Cause::Unknown.name(),
        known => known.name(),
    }
}

/// A time in UTC with milliseconds, as RFC 3339 has it; none for a year nobody has seen.
pub fn rfc3339(at: Timestamp) -> Option<String> {
    At::from_millisecond(at.0).ok().map(|at| format!("{at:.3}"))
}
