//! One member more that is lost stops all writes.

use super::member_unreachable::silent_voters;
use super::no_leader::leaderless;
use super::no_quorum::number;
use super::{Finding, Found, Look, Rule, Severity, Thresholds};
use crate::domain::{Sentence, Value};
use crate::model::Facts;

pub(super) const RULE: Rule = Rule {
    code: "quorum-at-risk",
    severities: &[Severity::Warn],
    when: "voting members give no answer and the rest is just a majority",
    why: "With one member more lost nothing can be written, and no lock changes hands.",
    advice: "Bring the silent members back before touching any of the others.",
    source: "Raft §5.2 and §5.3: a majority elects and commits",
    look: Look::All(look),
};

fn look(facts: &Facts, thresholds: &Thresholds, found: &mut Found<'_>) {
    let (silent, names) = silent_voters(facts, thresholds);
    let (voters, quorum) = (facts.cluster.voters().count(), facts.cluster.quorum());
    if silent.is_empty() || voters - silent.len() != quorum || leaderless(facts, thresholds).is_some() {
        return;
    }
    let evidence = Sentence::new(
        "{up} of {voters} answer and {quorum} are needed: one more lost stops all writes; silent: {silent}",
    )
    .with("up", number(quorum))
    .with("voters", Value::Count(voters, "voting member"))
    .with("quorum", number(quorum))
    .with("silent", names);
    let finding = Finding::new(Severity::Warn, evidence, Sentence::new("lockscope members"));
    found.add(silent.into_iter().fold(finding, Finding::member));
}

#[cfg(test)]
mod tests {
    use crate::model::findings::scene::Scene;

    #[test]
    fn two_of_three_can_lose_nobody_any_more() {
        let mut scene = Scene::of_three();
        scene.silent(3);
        scene.pass(3_500);
        assert_eq!(scene.codes(), ["member-unreachable", "quorum-at-risk"]);
        assert_eq!(
            scene.evidence("quorum-at-risk"),
            "2 of 3 voting members answer and 2 are needed: one more lost stops all writes; silent: c"
        );
    }

    #[test]
    fn four_of_five_can_lose_one_more() {
        let mut scene = Scene::of(&["a", "b", "c", "d", "e"]);
        scene.silent(5);
        scene.pass(3_500);
        assert_eq!(scene.codes(), ["member-unreachable"]);
        scene.silent(4);
        scene.pass(3_500);
        assert_eq!(scene.codes(), ["member-unreachable", "member-unreachable", "quorum-at-risk"]);
    }
}
