//! Members run different versions of etcd.

use super::{Finding, Found, Look, Rule, Severity, Thresholds};
use crate::domain::{Member, Sentence, Status, Value};
use crate::model::{Facts, MemberFacts};

pub(super) const RULE: Rule = Rule {
    code: "version-skew",
    severities: &[Severity::Warn, Severity::Info],
    when: "members run different versions: a warning when they are more than one minor version apart",
    why: "The cluster does what its oldest member can, and versions further apart than one were never made to work together.",
    advice: "Finish the upgrade, one minor version after the other.",
    source: "etcd `server/etcdserver/api/membership/cluster.go`: the cluster's version is the lowest",
    look: Look::All(look),
};

fn look(facts: &Facts, _: &Thresholds, found: &mut Found<'_>) {
    let answers = facts.cluster.members().iter().filter_map(|member| Some((member, member.answer()?)));
    let told: Vec<_> = answers.filter(|(_, status)| !status.version.is_empty()).collect();
    let Some((_, first)) = told.first() else { return };
    if told.iter().all(|(_, status)| status.version == first.version) {
        return;
    }
    let minors: Vec<(u32, u32)> = told.iter().filter_map(|(_, status)| minor(&status.version)).collect();
    let (lowest, highest) = (minors.iter().min().copied(), minors.iter().max().copied());
    let far = lowest.zip(highest).is_some_and(|(low, high)| low.0 != high.0 || high.1 - low.1 > 1);
    let version = |(member, status): &(&MemberFacts, &Status)| {
        Sentence::new("{member} runs {version}").with("member", member.label()).with("version", status.version.clone())
    };
    let versions = told.iter().map(|told| version(told).into()).collect();
    let words = if far { "{versions}: too far apart" } else { "{versions}" };
    let evidence = Sentence::new(words).with("versions", Value::List(versions));
    let severity = if far { Severity::Warn } else { Severity::Info };
    let finding = Finding::new(severity, evidence, Sentence::new("lockscope members"));
    found.add(told.iter().map(|(of, _)| &of.member).fold(finding, |finding, Member { id, .. }| finding.member(*id)));
}

/// Major and minor version.
fn minor(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.').map(str::parse);
    Some((parts.next()?.ok()?, parts.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::findings::scene::{Scene, follower};

    fn of(versions: [&str; 3]) -> Scene {
        let mut scene = Scene::of_three();
        for (member, version) in (1..).zip(versions) {
            scene.says(member, crate::domain::Status { version: version.into(), ..follower(4, 1, 900) });
        }
        scene
    }

    #[test]
    fn an_upgrade_under_way_is_worth_knowing_and_a_leap_a_warning() {
        assert_eq!(of(["3.5.30"; 3]).infos(), [""; 0]);
        let upgrade = of(["3.5.30", "3.6.1", "3.5.30"]);
        assert_eq!((upgrade.codes(), upgrade.infos()), (vec![], vec!["version-skew"]));
        assert_eq!(upgrade.evidence("version-skew"), "a runs 3.5.30, b runs 3.6.1, c runs 3.5.30");
        assert_eq!(of(["3.4.23", "3.6.1", "3.4.23"]).codes(), ["version-skew"]);
        assert_eq!(of(["3.6.1", "4.0.0", "3.6.1"]).codes(), ["version-skew"]);
        assert_eq!(minor("unknown"), None);
    }
}
