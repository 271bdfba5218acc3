//! The members have no leader.

use super::{Finding, Found, Look, Rule, Severity, Thresholds};
use crate::domain::{Millis, Sentence, Timestamp, Value};
use crate::model::{Facts, Since};

pub(super) const RULE: Rule = Rule {
    code: "no-leader",
    severities: &[Severity::Error],
    when: "members answer and none of them knows a leader, for longer than an election takes",
    why: "Without a leader nothing is written: nobody gets a lock, nobody can let go of one, and no lease runs out.",
    advice: "See whether a majority of the members runs and whether they reach each other; serializable reads still answer.",
    source: "Raft §5.2; etcd `server/etcdserver/v3_server.go`: `ErrNoLeader`",
    look: Look::All(look),
};

fn look(facts: &Facts, thresholds: &Thresholds, found: &mut Found<'_>) {
    let Some(since) = leaderless(facts, thresholds) else { return };
    let cluster = &facts.cluster;
    let answering = cluster.members().iter().filter(|member| member.answer().is_some()).count();
    let lasts = facts.now().since(since);
    let words = if lasts < Millis(1_000) {
        "no leader in term {term}, though {answering} of {members} answer: no lock changes hands, no lease runs out"
    } else {
        "no leader for at least {since} in term {term}, though {answering} of {members} answer: no lock changes hands, no lease runs out"
    };
    let evidence = Sentence::new(words)
        .with("since", lasts)
        .with("answering", i64::try_from(answering).unwrap_or(i64::MAX))
        .with("members", Value::Count(cluster.members().len(), "member"))
        .with("term", cluster.term());
    let since = Since { at: since, exact: false };
    found.add(Finding::new(Severity::Error, evidence, Sentence::new("lockscope members")).since(Some(since)));
}

/// Since when nobody leads, once that is longer than an election takes.
pub(super) fn leaderless(facts: &Facts, thresholds: &Thresholds) -> Option<Timestamp> {
    // An embedded cluster tells of its leader sooner than its members can be asked.
    if facts.raft.is_some() && facts.lead().is_some_and(|lead| lead.name.is_some()) {
        return None;
    }
    facts.cluster.leaderless_since().filter(|since| facts.now().since(*since) >= thresholds.leaderless)
}

#[cfg(test)]
mod tests {
    use crate::model::Diagnosis;
    use crate::model::findings::Thresholds;
    use crate::model::findings::scene::{Scene, follower};
    use crate::view::text::sentence;

    #[test]
    fn a_cluster_without_a_leader_is_in_trouble_once_an_election_would_be_over() {
        let mut scene = Scene::of_three();
        for member in [1, 2] {
            scene.says(member, follower(5, 0, 900));
        }
        scene.pass(4_900);
        assert_eq!(scene.codes(), [""; 0], "an election takes a while");
        scene.pass(200);
        assert_eq!(scene.codes(), ["no-leader"]);
        assert_eq!(
            scene.evidence("no-leader"),
            "no leader for at least 5s in term 5, though 3 of 3 members answer: no lock changes hands, no lease runs out"
        );
        scene.says(1, follower(6, 1, 901));
        assert_eq!(scene.codes(), [""; 0], "somebody leads again");
    }

    #[test]
    fn one_look_that_finds_no_leader_says_so_at_once() {
        let mut scene = Scene::of_three();
        for member in [1, 2] {
            scene.says(member, follower(5, 0, 900));
        }
        assert_eq!(scene.codes(), [""; 0]);
        assert_eq!(scene.codes_at_one_look(), ["no-leader"]);
        let diagnosis = Diagnosis::of(scene.model.live(), &Thresholds::default().at_one_look());
        let told = sentence(&diagnosis.findings()[0].evidence);
        assert!(told.starts_with("no leader in term 5, though 3 of 3 members answer"), "{told}");
    }
}
