//! Another member leads since a short while.

use super::{Finding, Found, Look, Rule, Severity, Thresholds};
use crate::domain::{MemberId, Millis, Sentence, Value};
use crate::model::{Facts, MemberFacts, Since};

/// Over so long changes are counted.
const COUNTED: Millis = Millis(10 * 60_000);

pub(super) const RULE: Rule = Rule {
    code: "leader-changed",
    severities: &[Severity::Info],
    when: "the leader changed a short while ago",
    why: "A new leader gives every lease its full time again, so a jump of the TTLs is no sign of life, and dead clients hold for longer.",
    advice: "Nothing, unless it goes on: then look at the disks and the network of the members.",
    source: "etcd `server/lease/lessor.go`: Promote; etcd-io/etcd 13294, 9395",
    look: Look::All(look),
};

fn look(facts: &Facts, thresholds: &Thresholds, found: &mut Found<'_>) {
    let (cluster, now) = (&facts.cluster, facts.now());
    let elected = || cluster.changes().rev().filter(|change| change.to.is_some());
    let Some(last) = elected().next().filter(|change| now.since(change.at) <= thresholds.leader_change) else { return };
    // Between two leaders there may have been a time without one.
    let from = cluster.changes().rev().skip_while(|change| change.to.is_none()).find_map(|change| change.from);
    let recent = elected().take_while(|change| now.since(change.at) <= COUNTED).count();
    let name = |id: Option<MemberId>| {
        let known = id.and_then(|id| cluster.member(id)).map(MemberFacts::label);
        known.or_else(|| id.map(|id| id.to_string())).unwrap_or_else(|| "nobody".into())
    };
    // It may have lost the lead and won it back while nobody was seen to lead between.
    let words = match (from == last.to, recent > 1) {
        (true, true) => "{to} leads again for {ago}: TTLs were refreshed at term {term}; {count} in 10 min",
        (true, false) => "{to} leads again for {ago}: TTLs were refreshed at term {term}",
        (false, true) => {
            "{to} leads for {ago}, before that {from}: TTLs were refreshed at term {term}; {count} in 10 min"
        }
        (false, false) => "{to} leads for {ago}, before that {from}: TTLs were refreshed at term {term}",
    };
    let evidence = Sentence::new(words)
        .with("to", name(last.to))
        .with("from", name(from))
        .with("ago", now.since(last.at))
        .with("term", last.term)
        .with("count", Value::Count(recent, "change"));
    let finding = Finding::new(Severity::Info, evidence, Sentence::new("lockscope members"));
    let finding = last.to.into_iter().fold(finding, Finding::member);
    found.add(finding.since(Some(Since { at: last.at, exact: false })));
}

#[cfg(test)]
mod tests {
    use crate::model::findings::scene::{Scene, follower};

    #[test]
    fn the_first_leader_is_no_change_and_the_second_is_told_for_a_while() {
        let mut scene = Scene::of_three();
        assert_eq!(scene.infos(), [""; 0]);
        scene.says(2, follower(5, 0, 900));
        scene.pass(1_000);
        scene.says(2, follower(6, 3, 901));
        scene.pass(1_000);
        assert_eq!(scene.evidence("leader-changed"), "c leads for 1s, before that a: TTLs were refreshed at term 6");
        scene.says(2, follower(7, 2, 902));
        scene.pass(1_000);
        assert_eq!(
            scene.evidence("leader-changed"),
            "b leads for 1s, before that c: TTLs were refreshed at term 7; 2 changes in 10 min"
        );
        scene.pass(121_000);
        assert_eq!(scene.infos(), [""; 0]);
    }

    #[test]
    fn who_lost_the_lead_and_won_it_back_leads_again() {
        let mut scene = Scene::of_three();
        for (member, status) in [(2, follower(5, 0, 900)), (1, follower(6, 1, 901))] {
            scene.says(member, status);
            scene.pass(1_000);
        }
        assert_eq!(scene.evidence("leader-changed"), "a leads again for 1s: TTLs were refreshed at term 6");
    }
}
