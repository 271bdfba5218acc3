//! A learner has not caught up.

use super::member_lag::{entries, lags, signed};
use super::{Finding, Found, Look, Rule, Severity, Thresholds};
use crate::domain::Sentence;
use crate::model::{Facts, Since};

/// A learner can be promoted once it has so much of the leader's log, in percent
/// (`etcdserver/server.go`, `readyPercent`).
const READY: u64 = 90;

pub(super) const RULE: Rule = Rule {
    code: "learner-behind",
    severities: &[Severity::Warn],
    when: "a learner lacks entries that others had some time ago, or a great many",
    why: "It cannot be promoted before it has nine tenths of the leader's log, and does not count for the majority till then.",
    advice: "Wait while it gets closer; when it does not, look at its disk and its network.",
    source: "etcd `server/etcdserver/server.go`: isLearnerReady",
    look: Look::All(look),
};

fn look(facts: &Facts, thresholds: &Thresholds, found: &mut Found<'_>) {
    for member in facts.cluster.members().iter().filter(|member| member.member.learner) {
        let (Some(behind), Some(status)) = (lags(member, thresholds), member.answer()) else { continue };
        let applied = status.applied_index.0;
        let known = applied.saturating_add(behind.entries);
        let percent = applied.saturating_mul(100) / known.max(1);
        let evidence = Sentence::new("{member} has {percent} % of the log, {entries} behind since {ago}: {promote}")
            .with("member", member.label())
            .with("percent", signed(percent))
            .with("entries", entries(behind.entries))
            .with("ago", member.answered_at.unwrap_or_default().since(behind.since))
            .with("promote", if percent < READY { "too few to be promoted" } else { "enough to be promoted" });
        let since = Some(Since { at: behind.since, exact: false });
        let remedy = Sentence::new("lockscope members");
        found.add(Finding::new(Severity::Warn, evidence, remedy).member(member.member.id).since(since));
    }
}

#[cfg(test)]
mod tests {
    use crate::model::findings::scene::{Scene, follower};

    #[test]
    fn a_learner_that_does_not_get_closer_is_told_with_its_share() {
        let mut scene = Scene::of(&["a", "b", "c", "learner"]);
        for second in 0..8 {
            scene.says(1, follower(4, 1, 2_000 + second));
            scene.pass(500);
            scene.says(4, follower(4, 1, 1_000));
            scene.pass(500);
        }
        assert_eq!(scene.codes(), ["learner-behind"]);
        assert_eq!(
            scene.evidence("learner-behind"),
            "learner has 49 % of the log, 1,007 entries behind since 6s: too few to be promoted"
        );
        scene.says(4, follower(4, 1, 2_007));
        assert_eq!(scene.codes(), [""; 0]);
    }
}
