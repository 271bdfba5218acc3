//! The backend's quota is used up.

use super::{Finding, Found, Look, Rule, Severity, Thresholds};
use crate::domain::{Alarm, AlarmKind, Revision, Sentence};
use crate::model::{Facts, MemberFacts};

pub(super) const RULE: Rule = Rule {
    code: "nospace",
    severities: &[Severity::Error],
    when: "the alarm NOSPACE is raised",
    why: "Nobody can join a queue, because puts and grants fail on all members; who holds can still renew and let go.",
    advice: "Compact, defragment every member, then disarm the alarm; it does not go by itself. What is in use has to be deleted first, or the quota raised.",
    source: "etcd `server/etcdserver/apply/apply.go`: applierV3Capped; etcd-io/etcd 14497, 17318",
    look: Look::All(look),
};

fn look(facts: &Facts, _: &Thresholds, found: &mut Found<'_>) {
    for alarm in of_kind(facts, |kind| kind == AlarmKind::NoSpace) {
        let status = facts.cluster.member(alarm.member).and_then(|member| member.status.as_ref());
        let words = match status.map(|status| status.db_quota) {
            Some(Some(_)) => {
                "NOSPACE on {member}: {size} of a quota of {quota}, {in_use} in use; joins blocked, unlocks OK"
            }
            Some(None) => "NOSPACE on {member}: {size}, {in_use} in use; joins blocked, unlocks OK",
            None => "NOSPACE on {member}: joins blocked, unlocks OK",
        };
        let evidence = Sentence::new(words)
            .with("member", label(facts, alarm))
            .with("size", bytes(status.map_or(0, |status| status.db_size)))
            .with("in_use", bytes(status.map_or(0, |status| status.db_in_use)))
            .with("quota", bytes(status.and_then(|status| status.db_quota).unwrap_or(0)));
        let remedy = Sentence::new("{compact} && etcdctl defrag --cluster && lockscope disarm nospace")
            .with("compact", compact(facts));
        found.add(Finding::new(Severity::Error, evidence, remedy).member(alarm.member));
    }
}

/// Forgets the past up to the newest revision; the command asks for it where it is not known.
pub(super) fn compact(facts: &Facts) -> Sentence {
    match facts.newest_revision() {
        Revision(0) => Sentence::new(
            "etcdctl compact \"$(etcdctl endpoint status -w fields | sed -n 's/^\"Revision\" : //p' | head -n 1)\"",
        ),
        revision => Sentence::new("etcdctl compact {revision}").with("revision", revision),
    }
}

/// The alarms of a kind.
pub(super) fn of_kind(facts: &Facts, which: impl Fn(AlarmKind) -> bool) -> impl Iterator<Item = &Alarm> {
    facts.cluster.alarms().iter().filter(move |alarm| which(alarm.kind))
}

/// What the member is called that an alarm is raised for.
pub(super) fn label(facts: &Facts, alarm: &Alarm) -> String {
    facts.cluster.member(alarm.member).map_or_else(|| alarm.member.to_string(), MemberFacts::label)
}

/// An amount of bytes among the values of a sentence.
pub(super) const fn bytes(amount: i64) -> crate::domain::Value {
    crate::domain::Value::Bytes(amount)
}

#[cfg(test)]
mod tests {
    use crate::domain::{AlarmKind, ClusterId, Member, MemberId, Revision, Status};
    use crate::event::Observation;
    use crate::model::findings::scene::{Scene, follower};

    #[test]
    fn a_full_backend_says_what_still_works_and_how_to_get_out() {
        let mut scene = Scene::of_three();
        let mut status = follower(4, 1, 900);
        (status.db_size, status.db_in_use, status.db_quota) = (16 << 20, 12 << 20, Some(16 << 20));
        scene.says(2, status);
        scene.alarms(&[(2, AlarmKind::NoSpace)]);
        assert_eq!(scene.codes()[0], "nospace");
        let evidence = scene.evidence("nospace");
        assert!(evidence.starts_with("NOSPACE on b: 16") && evidence.contains(" of a quota of 16"), "{evidence}");
        assert!(evidence.ends_with("in use; joins blocked, unlocks OK"), "{evidence}");
        let rest = "&& etcdctl defrag --cluster && lockscope disarm nospace";
        assert_eq!(scene.remedy("nospace"), format!("etcdctl compact 1 {rest}"));
        scene.says(3, Status { revision: Revision(70), ..follower(4, 1, 900) });
        assert_eq!(scene.remedy("nospace"), format!("etcdctl compact 70 {rest}"), "members tell it as well");
        scene.alarms(&[]);
        assert!(!scene.codes().contains(&"nospace"));
    }

    #[test]
    fn a_revision_that_nobody_told_is_asked_for_by_the_command() {
        let mut scene = Scene::of_three();
        scene.observe(Observation::Cluster(ClusterId(2)));
        scene.observe(Observation::Members(vec![Member { id: MemberId(1), ..Member::default() }]));
        scene.alarms(&[(1, AlarmKind::NoSpace)]);
        let remedy = scene.remedy("nospace");
        assert!(remedy.starts_with("etcdctl compact \"$(etcdctl endpoint status -w fields | sed "), "{remedy}");
        assert!(!remedy.contains(';') && remedy.ends_with("&& lockscope disarm nospace"), "{remedy}");
    }
}
