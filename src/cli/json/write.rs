//! Writes: the document of `revoke`, `release`, `move-leader` and `disarm`.

use serde::{Serialize, Serializer};

use super::{Head, Hex, Style, Text};
use crate::cli::write::Plan;
use crate::domain::write::{Confirmed, Write, WriteResult};
use crate::domain::{Key, Revision};
use crate::model::Facts;
use crate::operate::Outcome;
use crate::view::text::command;

/// What a write would do, and with outcomes what came of it.
pub struct Writing<'a> {
    /// What there is to do.
    pub plan: &'a Plan,
    /// What was learnt.
    pub facts: &'a Facts,
    /// What came of it; `None` when nothing was tried.
    pub outcomes: Option<&'a [(&'a Confirmed, Outcome)]>,
    /// How texts are printed.
    pub style: Style,
}

#[derive(Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    head: Head,
    write: &'static str,
    lease: Option<Hex>,
    ttl: Option<Ttl>,
    #[serde(skip_serializing_if = "Option::is_none")]
    member: Option<Hex>,
    #[serde(skip_serializing_if = "Option::is_none")]
    alarm: Option<String>,
    keys: Vec<Text<'a>>,
    created: Vec<Created<'a>>,
    locks: Vec<Struck<'a>>,
    etcdctl: String,
    notes: &'a [String],
    dry_run: bool,
    results: Vec<Came<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    look: Option<String>,
}

#[derive(Serialize)]
struct Ttl {
    granted: i64,
    remaining: i64,
}

#[derive(Serialize)]
struct Created<'a> {
    key: Text<'a>,
    create_revision: Revision,
}

#[derive(Serialize)]
struct Struck<'a> {
    name: Text<'a>,
    freed: bool,
    next: Option<Text<'a>>,
}

#[derive(Serialize)]
struct Came<'a> {
    outcome: &'static str,
    revision: Option<Revision>,
    gone: Vec<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    now: Option<Vec<Created<'a>>>,
    why: Option<&'a str>,
    notes: &'a [String],
}

impl Serialize for Writing<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self { plan, facts, outcomes, style } = self;
        let unknown = |(_, outcome): &(_, Outcome)| matches!(outcome.result, WriteResult::Unknown { .. });
        let is_unknown = outcomes.is_some_and(|outcomes| outcomes.iter().any(unknown));
        Document {
            head: Head::of(facts),
            write: plan.verb,
            lease: plan.lease.map(Hex::Lease),
            ttl: plan.ttl.map(|(granted, remaining)| Ttl { granted, remaining }),
            member: match plan.blast.write {
                Write::MoveLeader { to } => Some(Hex::Member(to)),
                _ => None,
            },
            alarm: match plan.blast.write {
                Write::Disarm(kind) => Some(kind.name()),
                _ => None,
            },
            keys: plan.blast.keys.iter().map(|(key, _)| style.text(key)).collect(),
            created: created(&plan.blast.keys, *style),
            locks: plan
                .blast
                .locks
                .iter()
                .map(|lock| Struck {
                    name: style.text(&lock.name),
                    freed: lock.freed,
                    next: lock.next.as_deref().map(|next| style.text(next)),
                })
                .collect(),
            etcdctl: command(&plan.blast.etcdctl),
            notes: &plan.notes,
            dry_run: outcomes.is_none(),
            results: outcomes
                .iter()
                .flat_map(|outcomes| outcomes.iter())
                .map(|(_, came)| Came::of(came, *style))
                .collect(),
            look: is_unknown.then(|| command(&plan.blast.look)),
        }
        .serialize(to)
    }
}

impl<'a> Came<'a> {
    fn of(outcome: &'a Outcome, style: Style) -> Self {
        let nothing = |word| Self {
            outcome: word,
            revision: None,
            gone: Vec::new(),
            now: None,
            why: None,
            notes: &outcome.notes,
        };
        match &outcome.result {
            WriteResult::Done { revision, gone } => Self {
                revision: Some(*revision).filter(|revision| revision.0 > 0),
                gone: gone.iter().map(|key| style.text(key)).collect(),
                ..nothing("done")
            },
            WriteResult::Changed { now } => Self { now: Some(created(now, style)), ..nothing("changed") },
            WriteResult::Gone => nothing("gone"),
            WriteResult::NotSent { why } => Self { why: Some(why), ..nothing("not-sent") },
            WriteResult::Refused { why } => Self { why: Some(why), ..nothing("refused") },
            WriteResult::Unknown { why } => Self { why: Some(why), ..nothing("unknown") },
        }
    }
}

fn created(keys: &[(Key, Revision)], style: Style) -> Vec<Created<'_>> {
    keys.iter().map(|(key, created)| Created { key: style.text(key), create_revision: *created }).collect()
}
