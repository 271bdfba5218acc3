//! Another cluster answers than before.

use super::{Finding, Found, Look, Rule, Severity, Thresholds};
use crate::domain::Sentence;
use crate::model::Facts;

pub(super) const RULE: Rule = Rule {
    code: "other-cluster",
    severities: &[Severity::Warn],
    when: "another cluster answers at the same addresses than at first",
    why: "Everything that was known belonged to the other one and is forgotten; its locks protect nothing here.",
    advice: "See whether the addresses are right, or whether the cluster was made anew.",
    source: "etcd `api/etcdserverpb/rpc.proto`: ResponseHeader.cluster_id",
    look: Look::All(look),
};

fn look(facts: &Facts, _: &Thresholds, found: &mut Found<'_>) {
    let (Some(former), Some(now)) = (facts.link.replaced_cluster, facts.link.cluster_id) else { return };
    let evidence = Sentence::new("cluster {now} answers where {former} did before")
        .with("now", now.to_string())
        .with("former", former.to_string());
    found.add(Finding::new(Severity::Warn, evidence, Sentence::new("lockscope members")));
}

#[cfg(test)]
mod tests {
    use crate::domain::ClusterId;
    use crate::event::Observation;
    use crate::model::findings::scene::Scene;

    #[test]
    fn another_cluster_is_told_until_it_was_noted() {
        let mut scene = Scene::of_three();
        scene.observe(Observation::Cluster(ClusterId(0xbee)));
        assert_eq!(scene.codes(), ["other-cluster"]);
        assert_eq!(scene.evidence("other-cluster"), "cluster bee answers where 1 did before");
        scene.model.live_mut().dismiss();
        assert_eq!(scene.codes(), [""; 0]);
    }
}
