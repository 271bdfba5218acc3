//! A member gives no answer.

use super::{Finding, Found, Look, Rule, Severity, Thresholds};
use crate::domain::{MemberId, Millis, Sentence, Value};
use crate::model::{Facts, MemberFacts, Since};

pub(super) const RULE: Rule = Rule {
    code: "member-unreachable",
    severities: &[Severity::Warn],
    when: "a member cannot be reached or does not answer, for longer than one question takes",
    why: "It is down, paused or cut off, from here at least; clients that use it wait.",
    advice: "See whether it runs and whether its client URL can be reached from here.",
    source: "etcd `api/etcdserverpb/rpc.proto`: `Maintenance.Status` is answered by the member that is asked",
    look: Look::All(look),
};

fn look(facts: &Facts, thresholds: &Thresholds, found: &mut Found<'_>) {
    let members = facts.cluster.members();
    // Where nothing at all can be reached, that is told once.
    if facts.link.lost_since.is_some() && members.iter().all(|member| member.silent_since.is_some()) {
        return;
    }
    for member in members.iter().filter(|member| is_silent(facts, member, thresholds)) {
        let why = member.unreachable().unwrap_or_default().to_owned();
        let lasts = member.silent_since.map(|since| facts.now().since(since)).filter(|lasts| *lasts >= Millis(1_000));
        let words = match lasts {
            Some(_) => "{member} gives no answer for {since}: {why}",
            // Whoever looks once does not know.
            None => "{member} gives no answer: {why}",
        };
        let evidence = Sentence::new(words)
            .with("member", member.label())
            .with("since", lasts.unwrap_or_default())
            .with("why", why);
        let since = member.silent_since.map(|at| Since { at, exact: false });
        found.add(
            Finding::new(Severity::Warn, evidence, Sentence::new("lockscope members"))
                .member(member.member.id)
                .since(since),
        );
    }
}

/// Whether a member gives no answer for longer than can happen to one that is well.
pub(super) fn is_silent(facts: &Facts, member: &MemberFacts, thresholds: &Thresholds) -> bool {
    member.silent_since.is_some_and(|since| facts.now().since(since) >= thresholds.silent)
}

/// The voting members that are silent, and what they are called.
pub(super) fn silent_voters(facts: &Facts, thresholds: &Thresholds) -> (Vec<MemberId>, Value) {
    let silent: Vec<_> = facts.cluster.voters().filter(|member| is_silent(facts, member, thresholds)).collect();
    let names = silent.iter().map(|member| member.label().into()).collect();
    (silent.iter().map(|member| member.member.id).collect(), Value::List(names))
}

#[cfg(test)]
mod tests {
    use crate::model::Diagnosis;
    use crate::model::findings::Thresholds;
    use crate::model::findings::scene::{Scene, follower};
    use crate::view::text::sentence;

    #[test]
    fn a_member_that_is_late_once_is_well() {
        let mut scene = Scene::of_three();
        scene.silent(2);
        scene.pass(2_000);
        assert_eq!(scene.codes(), [""; 0]);
        scene.says(2, follower(4, 1, 900));
        scene.pass(5_000);
        assert_eq!(scene.codes(), [""; 0]);
    }

    #[test]
    fn a_member_that_stays_silent_is_told_with_the_reason() {
        let mut scene = Scene::of(&["a", "b", "c", "d", "e"]);
        scene.silent(2);
        scene.pass(3_000);
        scene.silent(2);
        assert_eq!(scene.codes(), ["member-unreachable"]);
        assert_eq!(scene.evidence("member-unreachable"), "b gives no answer for 3s: connection refused");
        assert_eq!(scene.codes_at_one_look(), ["member-unreachable"]);
    }

    #[test]
    fn one_look_does_not_say_for_how_long() {
        let mut scene = Scene::of_three();
        scene.silent(2);
        let diagnosis = Diagnosis::of(scene.model.live(), &Thresholds::default().at_one_look());
        let found = diagnosis.findings().iter().find(|finding| finding.code == "member-unreachable").unwrap();
        assert_eq!(sentence(&found.evidence), "b gives no answer: connection refused");
    }
}
