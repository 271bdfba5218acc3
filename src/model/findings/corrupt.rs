//! The members' stores differ.

use super::nospace::{label, of_kind};
use super::{Finding, Found, Look, Rule, Severity, Thresholds};
use crate::domain::{AlarmKind, Sentence};
use crate::model::Facts;

pub(super) const RULE: Rule = Rule {
    code: "corrupt",
    severities: &[Severity::Error],
    when: "the alarm CORRUPT is raised",
    why: "What a member says may be wrong, and all writes fail on all members: nobody can lock or unlock.",
    advice: "Find the member whose hash differs, remove it, add it again with an empty data folder, then disarm the alarm.",
    source: "etcd `server/etcdserver/corrupt.go`, `apply/apply.go`: applierV3Corrupt",
    look: Look::All(look),
};

fn look(facts: &Facts, _: &Thresholds, found: &mut Found<'_>) {
    for alarm in of_kind(facts, |kind| kind == AlarmKind::Corrupt) {
        let evidence = Sentence::new(
            "CORRUPT on {member}: its data differs from the others'; joins blocked, unlocks blocked, renewals OK",
        )
        .with("member", label(facts, alarm));
        let remedy = Sentence::new("etcdctl endpoint hashkv --cluster");
        found.add(Finding::new(Severity::Error, evidence, remedy).member(alarm.member));
    }
}

#[cfg(test)]
mod tests {
    use crate::domain::AlarmKind;
    use crate::model::findings::scene::Scene;

    #[test]
    fn data_that_differs_is_told_with_the_member() {
        let mut scene = Scene::of_three();
        scene.alarms(&[(3, AlarmKind::Corrupt)]);
        assert_eq!(scene.codes(), ["corrupt"]);
        assert!(scene.evidence("corrupt").starts_with("CORRUPT on c: "));
        assert_eq!(scene.finding("corrupt").members.len(), 1);
    }
}
