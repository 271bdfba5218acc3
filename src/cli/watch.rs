//! `watch`: a line for each thing that happens.

use std::io::Write;

use super::args::WatchArgs;
use super::exit::Failure;
use super::json::{self, Style};
use super::table;
use crate::config::{Config, Format};
use crate::domain::ClusterId;
use crate::model::{Happening, What};

/// Watches and prints.
///
/// # Errors
/// When no endpoint can be connected to.
pub async fn run(_args: &WatchArgs, _config: &Config, _to: &mut impl Write) -> Result<(), Failure> {
    todo!()
}

/// Prints one happening as a line.
pub fn print(
    happening: &Happening,
    cluster: Option<ClusterId>,
    format: Format,
    style: Style,
    to: &mut impl Write,
) -> Result<(), Failure> {
    if format == Format::Json {
        return Ok(json::write(&json::Line::of(happening, cluster, style), to)?);
    }
    let party = happening.what.party();
    let text = |bytes: Option<&[u8]>| bytes.map(|bytes| table::text(bytes, style)).unwrap_or_default();
    let fields = [
        json::rfc3339(happening.at).unwrap_or_default(),
        json::event(&happening.what).into(),
        text(party.map(|party| party.lock.as_bytes())),
        text(party.map(|party| party.key.as_bytes())),
        party.map(|party| table::lease(party.lease)).unwrap_or_default(),
        table::number(party.map(|party| party.create_revision)),
        happening.revision.to_string(),
        more(&happening.what),
    ];
    Ok(table::line(&fields, to)?)
}

/// What only some events have.
fn more(what: &What) -> String {
    match what {
        What::Enqueued(_) | What::Acquired(_) => String::new(),
        What::Released(_, cause) | What::WaiterGone(_, cause) => cause.name().into(),
        What::Rewritten { former_lease, .. } if former_lease.is_none() => "had no lease".into(),
        What::Rewritten { former_lease, .. } => format!("had lease {former_lease}"),
        What::LeaderChanged(change) => {
            let name =
                |id: Option<crate::domain::MemberId>| id.map_or_else(|| "nobody".to_owned(), |id| id.to_string());
            format!("from {} to {} in term {}", name(change.from), name(change.to), change.term)
        }
        What::Alarm(alarm, raised) => {
            format!("{} on {} {}", alarm.kind.name(), alarm.member, if *raised { "raised" } else { "gone" })
        }
        What::Gap { from, to } => format!("revisions {from} to {to} were not seen"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::domain::{Alarm, AlarmKind, LeaseId, MemberId, Revision, Term, Timestamp};
    use crate::model::timeline::Party;
    use crate::model::{Cause, LeaderChange};

    fn printed(what: What, format: Format) -> String {
        let happening = Happening { seq: 1, at: Timestamp(1_700_000_000_123), revision: Revision(9), what };
        let mut out = Vec::new();
        print(&happening, Some(ClusterId(0xc1)), format, Style::default(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn party() -> Party {
        Party { lock: "/a".into(), key: "/a/7".into(), lease: LeaseId(7), create_revision: Revision(5) }
    }

    fn kinds() -> Vec<(What, Value)> {
        let change = LeaderChange { at: Timestamp(0), from: Some(MemberId(1)), to: None, term: Term(8) };
        let alarm = Alarm { member: MemberId(2), kind: AlarmKind::NoSpace };
        vec![
            (What::Enqueued(party()), json!({"event": "enqueued"})),
            (What::Acquired(party()), json!({"event": "acquired"})),
            (What::Released(party(), Cause::Expired), json!({"event": "released", "cause": "expired"})),
            (What::WaiterGone(party(), Cause::Unknown), json!({"event": "waiter_gone", "cause": "unknown"})),
            (
                What::Rewritten { party: party(), former_lease: LeaseId(255) },
                json!({"event": "rewritten", "former_lease": "ff"}),
            ),
            (What::LeaderChanged(change), json!({"event": "leader_changed", "from": "1", "to": null, "term": 8})),
            (What::Alarm(alarm, true), json!({"event": "alarm", "member": "2", "alarm": "NOSPACE", "raised": true})),
            (
                What::Gap { from: Revision(3), to: Revision(9) },
                json!({"event": "gap", "from_revision": 3, "to_revision": 9}),
            ),
        ]
    }

    #[test]
    fn every_event_is_one_line_with_its_own_fields() {
        for (what, own) in kinds() {
            let line = printed(what.clone(), Format::Json);
            assert_eq!(line.matches('\n').count(), 1);
            let event: Value = serde_json::from_str(&line).unwrap();
            let mut expected = json!({
                "schema": "lockscope/1", "at": "2023-11-14T22:13:20.123Z", "cluster_id": "c1", "revision": 9,
            });
            if what.party().is_some() {
                let place = json!({"lock": "/a", "key": "/a/7", "lease": "7", "create_revision": 5});
                expected.as_object_mut().unwrap().extend(place.as_object().unwrap().clone());
            }
            expected.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
            assert_eq!(event, expected);
        }
    }

    #[test]
    fn every_line_of_text_has_the_same_number_of_fields() {
        for (what, _) in kinds() {
            let line = printed(what, Format::Simple);
            assert_eq!(line.trim_end().split('\t').count(), 8, "{line}");
        }
    }
}
