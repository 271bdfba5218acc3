//! Some of what happened was never seen.

use super::{Finding, Found, Look, Rule, Severity, Thresholds};
use crate::domain::{Revision, Sentence};
use crate::model::{Facts, Since, What};

pub(super) const RULE: Rule = Rule {
    code: "watch-gap",
    severities: &[Severity::Info],
    when: "events between two revisions were not seen: compacted before, skipped, or the store began anew",
    why: "Who held a lock in between, and how its holds ended, is not known.",
    advice: "Nothing: what is there now was read afresh.",
    source: "etcd `api/etcdserverpb/rpc.proto`: WatchResponse.compact_revision; etcd-io/etcd 9715, 18089",
    look: Look::All(look),
};

fn look(facts: &Facts, _: &Thresholds, found: &mut Found<'_>) {
    if facts.link.new_gaps() == 0 {
        return;
    }
    let gap = facts.timeline.iter().rev().find_map(|happening| match happening.what {
        What::Gap { from, to } if from != to => Some((from, to, happening.at)),
        _ => None,
    });
    let (from, to, at) = gap.unwrap_or_default();
    let words = match to {
        _ if gap.is_none() => "events were not seen; {gaps} in all",
        Revision(0) => "the history after revision {from} is another store's; {gaps} in all",
        _ if facts.is_filling() => "what happened between revisions {from} and {to} is being told; {gaps} in all",
        _ => "events between revisions {from} and {to} were not seen; {gaps} in all",
    };
    let gaps = crate::domain::Value::Count(facts.link.new_gaps() as usize, "gap");
    let evidence = Sentence::new(words).with("from", from).with("to", to).with("gaps", gaps);
    let since = gap.map(|_| Since { at, exact: true });
    found.add(Finding::new(Severity::Info, evidence, Sentence::new("lockscope ls")).since(since));
}

#[cfg(test)]
mod tests {
    use crate::domain::Revision;
    use crate::event::{Observation, WatchLoss};
    use crate::model::findings::scene::Scene;

    #[test]
    fn what_was_compacted_unseen_is_told_with_its_revisions() {
        let mut scene = Scene::of_three();
        scene.put("/a/1", 1, "");
        let seen = scene.revision();
        scene.observe(Observation::WatchLost(WatchLoss::Compacted { at: Revision(50) }));
        assert_eq!(scene.infos(), [""; 0], "not before it was read anew");
        scene.list_at(60);
        assert_eq!(scene.infos(), ["watch-gap"]);
        assert_eq!(
            scene.evidence("watch-gap"),
            format!("events between revisions {seen} and 60 were not seen; 1 gap in all")
        );
        scene.model.live_mut().dismiss();
        assert_eq!(scene.infos(), [""; 0]);
    }
}
