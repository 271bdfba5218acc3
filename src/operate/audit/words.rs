//! What the lines of the audit log say of a write: what is to be done, what was there before, what came
//! of it. Keys are as every document of lockscope has them.

use serde_json::{Value, json};

use crate::domain::write::{Confirmed, Write, WriteResult};
use crate::domain::{Alarm, Key, KeyValue, Revision};
use crate::operate::sight::Before;

/// What is to be done, and what was shown when it was confirmed.
pub(super) fn what(confirmed: &Confirmed) -> Value {
    let shown = keys_and_revisions(&confirmed.shown);
    match &confirmed.write {
        Write::Revoke { lease } => json!({"write": "revoke", "lease": lease.to_string(), "shown": shown}),
        Write::Release { lock, key, create_revision } => json!({
            "write": "release",
            "lock": lock,
            "key": key,
            "create_revision": create_revision,
            "shown": shown,
        }),
        Write::MoveLeader { to } => json!({"write": "move-leader", "to": to.to_string()}),
        Write::Disarm(kind) => json!({"write": "disarm", "alarm": kind.name()}),
    }
}

/// What was there right before.
pub(super) fn before(seen: &Before) -> Value {
    let mut all = serde_json::Map::new();
    let mut add = |name: &str, value: Value| all.insert(name.to_owned(), value);
    if let Some(ttl) = &seen.ttl {
        add("ttl", json!({"granted": ttl.granted, "remaining": ttl.remaining}));
    }
    if seen.ttl.is_some() || !seen.keys.is_empty() {
        add("keys", seen.keys.iter().map(key_told).collect());
    }
    if let Some(holder) = &seen.holder {
        add("holder", json!(holder));
    }
    if let Some(leader) = seen.leader {
        add("leader", json!(leader.to_string()));
    }
    if !seen.alarms.is_empty() {
        add("alarms", seen.alarms.iter().map(|alarm| alarm_told(*alarm)).collect());
    }
    Value::Object(all)
}

/// What came of it.
pub(super) fn after(result: &WriteResult, notes: &[String]) -> Value {
    let mut all = match result {
        WriteResult::Done { revision, gone } => json!({
            "outcome": "done",
            "revision": Some(revision).filter(|revision| revision.0 > 0),
            "gone": gone,
        }),
        WriteResult::Changed { now } => json!({"outcome": "changed", "now": keys_and_revisions(now)}),
        WriteResult::Gone => json!({"outcome": "gone"}),
        WriteResult::NotSent { why } => json!({"outcome": "not-sent", "why": why}),
        WriteResult::Refused { why } => json!({"outcome": "refused", "why": why}),
        WriteResult::Unknown { why } => json!({"outcome": "unknown", "why": why}),
    };
    if !notes.is_empty() {
        all["notes"] = json!(notes);
    }
    all
}

fn key_told(kv: &KeyValue) -> Value {
    json!({
        "key": kv.key,
        "create_revision": kv.create_revision,
        "mod_revision": kv.mod_revision,
        "lease": Some(kv.lease).filter(|lease| !lease.is_none()).map(|lease| lease.to_string()),
    })
}

fn keys_and_revisions(keys: &[(Key, Revision)]) -> Value {
    keys.iter().map(|(key, created)| json!({"key": key, "create_revision": created})).collect()
}

fn alarm_told(alarm: Alarm) -> Value {
    json!({"alarm": alarm.kind.name(), "member": alarm.member.to_string()})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::LeaseId;
    use crate::port::TimeToLive;

    #[test]
    fn a_line_says_what_was_there_and_no_value() {
        let kv = KeyValue {
            key: "/q/1".into(),
            value: b"hunter2".into(),
            create_revision: Revision(3),
            mod_revision: Revision(5),
            lease: LeaseId(0xa1),
            ..KeyValue::default()
        };
        let ttl = TimeToLive { granted: 60, remaining: 7, ..TimeToLive::default() };
        let told = before(&Before { keys: vec![kv], ttl: Some(ttl), ..Before::default() });
        let expected = json!({
            "ttl": {"granted": 60, "remaining": 7},
            "keys": [{"key": "/q/1", "create_revision": 3, "mod_revision": 5, "lease": "a1"}],
        });
        assert_eq!(told, expected);
    }
}
