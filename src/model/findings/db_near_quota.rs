//! The backend has nearly reached its quota.

use super::nospace::{bytes, compact};
use super::{Finding, Found, Look, Rule, Severity, Thresholds};
use crate::domain::{AlarmKind, Sentence, Status};
use crate::model::{Facts, MemberFacts};

/// The quota that etcd has when none was set (`server/storage/quota.go`, `DefaultQuotaBytes`).
const DEFAULT: i64 = 2 << 30;

pub(super) const RULE: Rule = Rule {
    code: "db-near-quota",
    severities: &[Severity::Warn, Severity::Info],
    when: "a backend fills most of its quota; where etcd does not tell the quota, that is before 3.6, most of the default as a mere hint",
    why: "When the quota is used up the alarm NOSPACE is raised, and nobody can join a queue any more.",
    advice: "Compact and defragment before that; keep other data out, or raise --quota-backend-bytes.",
    source: "etcd `server/storage/quota.go`",
    look: Look::All(look),
};

fn look(facts: &Facts, thresholds: &Thresholds, found: &mut Found<'_>) {
    for member in facts.cluster.members() {
        let Some(status) = member.answer() else { continue };
        let full = |quota: i64| status.db_size >= quota / 100 * thresholds.near_quota;
        let (severity, quota) = match status.db_quota {
            Some(quota) if quota > 0 && full(quota) => (Severity::Warn, quota),
            // Who is above the default has set another quota, and nobody knows which.
            None if full(DEFAULT) && status.db_size <= DEFAULT => (Severity::Info, DEFAULT),
            _ => continue,
        };
        let is_raised = facts
            .cluster
            .alarms()
            .iter()
            .any(|alarm| alarm.member == member.member.id && alarm.kind == AlarmKind::NoSpace);
        if is_raised {
            continue;
        }
        found.add(
            Finding::new(severity, evidence(member, status, quota), remedy(facts, status)).member(member.member.id),
        );
    }
}

fn evidence(member: &MemberFacts, status: &Status, quota: i64) -> Sentence {
    let words = if status.db_quota.is_some() {
        "{member}: {size} of a quota of {quota}, {percent} %; {in_use} in use"
    } else {
        "{member}: {size}, {in_use} in use; its quota is not told before etcd 3.6, by default it is {quota}"
    };
    Sentence::new(words)
        .with("member", member.label())
        .with("size", bytes(status.db_size))
        .with("quota", bytes(quota))
        .with("percent", status.db_size / (quota / 100).max(1))
        .with("in_use", bytes(status.db_in_use))
}

/// What was freed already only has to be given back; else something has to be forgotten first.
fn remedy(facts: &Facts, status: &Status) -> Sentence {
    if status.db_in_use < status.db_size / 2 {
        return Sentence::new("etcdctl defrag --cluster");
    }
    Sentence::new("{compact} && etcdctl defrag --cluster").with("compact", compact(facts))
}

#[cfg(test)]
mod tests {
    use crate::domain::AlarmKind;
    use crate::model::findings::scene::{Scene, follower};

    fn of(size: i64, in_use: i64, quota: Option<i64>) -> Scene {
        let mut scene = Scene::of_three();
        let mut status = follower(4, 1, 900);
        (status.db_size, status.db_in_use, status.db_quota) = (size, in_use, quota);
        scene.says(1, status);
        scene
    }

    const MIB: i64 = 1 << 20;

    #[test]
    fn four_fifths_of_a_known_quota_are_a_warning() {
        assert_eq!(of(79 * MIB, 70 * MIB, Some(100 * MIB)).codes(), [""; 0]);
        let mut scene = of(81 * MIB, 70 * MIB, Some(100 * MIB));
        assert_eq!(scene.codes(), ["db-near-quota"]);
        assert!(scene.evidence("db-near-quota").contains("81 %"));
        assert_eq!(scene.remedy("db-near-quota"), "etcdctl compact 1 && etcdctl defrag --cluster");
        assert_eq!(of(81 * MIB, 7 * MIB, Some(100 * MIB)).remedy("db-near-quota"), "etcdctl defrag --cluster");
        scene.alarms(&[(1, AlarmKind::NoSpace)]);
        assert_eq!(scene.codes(), ["nospace"]);
    }

    #[test]
    fn a_quota_that_is_not_told_is_no_reason_to_warn() {
        assert_eq!(of(1_800 * MIB, 70 * MIB, None).codes(), [""; 0]);
        let hint = of(1_800 * MIB, 70 * MIB, None);
        assert_eq!(hint.infos(), ["db-near-quota"]);
        assert!(hint.evidence("db-near-quota").contains("not told before etcd 3.6"));
        assert_eq!(of(3_000 * MIB, 70 * MIB, None).infos(), [""; 0], "another quota was set");
    }
}
