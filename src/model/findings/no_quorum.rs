//! Fewer members are there than it takes to decide anything.

use super::member_unreachable::silent_voters;
use super::no_leader::leaderless;
use super::{Finding, Found, Look, Rule, Severity, Thresholds};
use crate::domain::{Sentence, Value};
use crate::model::{Facts, Since};

pub(super) const RULE: Rule = Rule {
    code: "no-quorum",
    severities: &[Severity::Error],
    when: "so many voting members give no answer that the rest is no majority, and the rest knows no leader",
    why: "Only a majority can write: no lock changes hands and no lease runs out until enough members are back.",
    advice: "Start the members that are down; what they have on disk is enough. Serializable reads still answer.",
    source: "Raft §5.2 and §5.3: a majority elects and commits",
    look: Look::All(look),
};

fn look(facts: &Facts, thresholds: &Thresholds, found: &mut Found<'_>) {
    // Who cannot be reached from here may well be there for the others: then somebody leads.
    let Some(since) = leaderless(facts, thresholds) else { return };
    let (silent, names) = silent_voters(facts, thresholds);
    let (voters, quorum) = (facts.cluster.voters().count(), facts.cluster.quorum());
    if voters - silent.len() >= quorum {
        return;
    }
    let up = voters - silent.len();
    let words = if up == 1 {
        "{up} of {voters} answers and {quorum} are needed; no answer from {silent}: no writes, no grants, no expiry"
    } else {
        "{up} of {voters} answer and {quorum} are needed; no answer from {silent}: no writes, no grants, no expiry"
    };
    let evidence = Sentence::new(words)
        .with("up", number(up))
        .with("voters", Value::Count(voters, "voting member"))
        .with("quorum", number(quorum))
        .with("silent", names);
    let since = Some(Since { at: since, exact: false });
    let finding = Finding::new(Severity::Error, evidence, Sentence::new("lockscope members")).since(since);
    found.add(silent.into_iter().fold(finding, Finding::member));
}

/// A count among the numbers of a sentence.
pub(super) fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use crate::model::findings::scene::{Scene, follower};

    #[test]
    fn one_of_three_is_no_majority_and_the_silent_ones_are_named() {
        let mut scene = Scene::of_three();
        scene.silent(2);
        scene.silent(3);
        scene.says(1, follower(5, 0, 900));
        scene.pass(6_000);
        let codes = scene.codes();
        assert!(codes.contains(&"no-quorum") && codes.contains(&"no-leader"), "{codes:?}");
        assert!(!codes.contains(&"quorum-at-risk"), "{codes:?}");
        assert_eq!(
            scene.evidence("no-quorum"),
            "1 of 3 voting members answers and 2 are needed; no answer from b, c: no writes, no grants, no expiry"
        );
        assert_eq!(scene.finding("no-quorum").members.len(), 2);
    }

    #[test]
    fn members_that_only_we_cannot_reach_take_no_majority_away() {
        let mut scene = Scene::of_three();
        scene.silent(2);
        scene.silent(3);
        scene.says(1, follower(4, 3, 900));
        scene.pass(60_000);
        assert_eq!(scene.codes(), ["member-unreachable", "member-unreachable"]);
    }
}
