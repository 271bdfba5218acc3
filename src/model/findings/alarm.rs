//! An alarm is raised that nobody here knows.

use super::nospace::{label, of_kind};
use super::{Finding, Found, Look, Rule, Severity, Thresholds};
use crate::domain::{AlarmKind, Sentence};
use crate::model::Facts;

pub(super) const RULE: Rule = Rule {
    code: "alarm",
    severities: &[Severity::Error],
    when: "an alarm other than NOSPACE and CORRUPT is raised",
    why: "Members raise alarms when they cannot go on as they should.",
    advice: "Look it up in the documentation of that version of etcd.",
    source: "etcd `api/etcdserverpb/rpc.proto`: AlarmType",
    look: Look::All(look),
};

fn look(facts: &Facts, _: &Thresholds, found: &mut Found<'_>) {
    for alarm in of_kind(facts, |kind| matches!(kind, AlarmKind::Other(_))) {
        let evidence = Sentence::new("{alarm} is raised on {member}")
            .with("alarm", alarm.kind.name())
            .with("member", label(facts, alarm));
        found.add(Finding::new(Severity::Error, evidence, Sentence::new("etcdctl alarm list")).member(alarm.member));
    }
}

#[cfg(test)]
mod tests {
    use crate::domain::AlarmKind;
    use crate::model::findings::scene::Scene;

    #[test]
    fn an_alarm_of_a_newer_etcd_is_told_by_its_number() {
        let mut scene = Scene::of_three();
        scene.alarms(&[(1, AlarmKind::Other(7))]);
        assert_eq!(scene.evidence("alarm"), "ALARM 7 is raised on a");
    }
}
