//! A member is behind the others.

use super::{Finding, Found, Look, Rule, Severity, Thresholds};
use crate::domain::{Millis, Sentence, Value};
use crate::model::{Behind, Facts, MemberFacts, Since};

/// etcd takes no more proposals when the leader has so many entries committed and not applied
/// (`v3_server.go`, `maxGapBetweenApplyAndCommitIndex`).
const REFUSES: u64 = 5_000;

pub(super) const RULE: Rule = Rule {
    code: "member-lag",
    severities: &[Severity::Warn],
    when: "a voting member lacks entries that others had some time ago, or a great many",
    why: "Serializable reads and watches on it are late, and it is of no use when another member is lost.",
    advice: "Look at its disk and its network; a leader that lags can hand over.",
    source: "etcd `server/etcdserver/v3_server.go`: maxGapBetweenApplyAndCommitIndex; Raft §5.3",
    look: Look::All(look),
};

fn look(facts: &Facts, thresholds: &Thresholds, found: &mut Found<'_>) {
    for member in facts.cluster.voters() {
        let Some(status) = member.answer() else { continue };
        let (index, applied) = (status.raft_index.0, status.applied_index.0);
        let leads = facts.cluster.leader() == Some(member.member.id);
        let unapplied = index.saturating_sub(applied);
        let remedy = match next_leader(facts).filter(|_| leads) {
            Some(next) => Sentence::new("lockscope move-leader {member}").with("member", next),
            None => Sentence::new("lockscope members"),
        };
        let finding = if let Some(behind) = lags(member, thresholds) {
            let ago = member.answered_at.unwrap_or_default().since(behind.since);
            let evidence = Sentence::new("{member} is {entries} behind, since {ago}: applied {applied}, known {known}")
                .with("member", member.label())
                .with("entries", entries(behind.entries))
                .with("ago", ago)
                .with("applied", signed(applied))
                .with("known", signed(applied.saturating_add(behind.entries)));
            Finding::new(Severity::Warn, evidence, remedy).since(Some(Since { at: behind.since, exact: false }))
        } else if applied > 0 && unapplied >= REFUSES {
            let evidence =
                Sentence::new("{member} has {entries} committed and not applied: etcd refuses writes from {limit} on")
                    .with("member", member.label())
                    .with("entries", entries(unapplied))
                    .with("limit", signed(REFUSES));
            Finding::new(Severity::Warn, evidence, remedy)
        } else {
            continue;
        };
        found.add(finding.member(member.member.id));
    }
}

/// Entries of the log, counted.
pub(super) fn entries(number: u64) -> Value {
    Value::Count(usize::try_from(number).unwrap_or(usize::MAX), "entry")
}

/// How far a member is behind, when that is more than a busy cluster brings about.
pub(super) fn lags(member: &MemberFacts, thresholds: &Thresholds) -> Option<Behind> {
    let behind = member.behind?;
    let since: Millis = member.answered_at?.since(behind.since);
    (since >= thresholds.lag || behind.entries >= thresholds.lag_entries).then_some(behind)
}

/// The follower that could lead best: the one with the most of the log.
fn next_leader(facts: &Facts) -> Option<String> {
    let followers = facts.cluster.voters().filter(|member| facts.cluster.leader() != Some(member.member.id));
    let best = followers
        .filter(|member| member.answer().is_some())
        .max_by_key(|member| member.answer().map(|status| status.applied_index));
    best.map(MemberFacts::label)
}

/// An index among the numbers of a sentence.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use crate::domain::RaftIndex;
    use crate::model::findings::scene::{Scene, follower};

    #[test]
    fn a_busy_cluster_whose_members_are_asked_one_after_the_other_has_no_lag() {
        let mut scene = Scene::of_three();
        let mut index = 1_000;
        for _ in 0..60 {
            for member in [1, 2, 3] {
                scene.says(member, follower(4, 1, index));
                scene.pass(330);
                index += 3_000;
                assert_eq!(scene.codes(), [""; 0]);
            }
        }
    }

    #[test]
    fn a_member_that_stands_still_lags_after_a_while_and_not_when_it_has_caught_up() {
        let mut scene = Scene::of_three();
        for second in 0..6 {
            scene.says(1, follower(4, 1, 1_000 + second * 100));
            scene.pass(500);
            scene.says(2, follower(4, 1, 1_000));
            scene.pass(500);
        }
        assert_eq!(scene.codes(), [""; 0], "not long enough");
        scene.says(1, follower(4, 1, 1_600));
        scene.pass(1_000);
        scene.says(2, follower(4, 1, 1_000));
        assert_eq!(scene.codes(), ["member-lag"]);
        assert_eq!(scene.evidence("member-lag"), "b is 600 entries behind, since 6s: applied 1,000, known 1,600");
        assert_eq!(scene.remedy("member-lag"), "lockscope members");
        scene.says(1, follower(4, 1, 2_600));
        let evidence = scene.evidence("member-lag");
        assert!(evidence.ends_with("applied 1,000, known 1,600"), "as when it was asked: {evidence}");
        scene.says(2, follower(4, 1, 2_600));
        assert_eq!(scene.codes(), [""; 0]);
    }

    #[test]
    fn a_great_many_entries_are_a_lag_at_once() {
        let mut scene = Scene::of_three();
        scene.pass(10);
        scene.says(1, follower(4, 1, 50_000));
        scene.pass(10);
        scene.says(3, follower(4, 1, 900));
        assert_eq!(scene.codes(), ["member-lag"]);
    }

    #[test]
    fn a_leader_that_does_not_apply_can_hand_over() {
        let mut scene = Scene::of_three();
        let mut status = follower(4, 1, 9_000);
        status.applied_index = RaftIndex(900);
        scene.says(1, status);
        assert_eq!(
            scene.evidence("member-lag"),
            "a has 8,100 entries committed and not applied: etcd refuses writes from 5,000 on"
        );
        assert_eq!(scene.remedy("member-lag"), "lockscope move-leader c");
    }
}
