//! Many leases hang on nothing and are not renewed.

use hashbrown::HashMap;

use super::{Finding, Found, Look, Rule, Severity, Thresholds};
use crate::domain::{LeaseId, Millis, Sentence, Value};
use crate::model::Facts;

pub(super) const RULE: Rule = Rule {
    code: "keyless-leases",
    severities: &[Severity::Warn, Severity::Info],
    when: "many leases of one TTL have no keys and miss their renewal: a warning when they are very many",
    why: "Clients grant leases and forget them: each costs the leader work until its time is up.",
    advice: "Find the client that grants a lease for each try; let it revoke them, or use one session.",
    source: "sensu/sensu-go 2760; a session that is idle renews its lease",
    look: Look::All(look),
};

/// How many of them are named.
const NAMED: usize = 16;

#[derive(Default)]
struct Group {
    all: usize,
    falling: usize,
    named: Vec<LeaseId>,
}

fn look(facts: &Facts, thresholds: &Thresholds, found: &mut Found<'_>) {
    let mut groups: HashMap<Millis, Group> = HashMap::new();
    for (id, granted, low) in facts.leases().keyless() {
        let group = groups.entry(granted).or_default();
        group.all += 1;
        if low {
            group.falling += 1;
            if group.named.len() < NAMED {
                group.named.push(id);
            }
        }
    }
    let mut groups: Vec<(Millis, Group)> =
        groups.into_iter().filter(|(_, group)| group.falling >= thresholds.keyless as usize).collect();
    groups.sort_unstable_by_key(|(granted, _)| *granted);
    for (granted, group) in groups {
        let evidence = Sentence::new("{number} of {granted} without keys, {falling} of them not renewed")
            .with("number", Value::Count(group.all, "lease"))
            .with("granted", granted)
            .with("falling", i64::try_from(group.falling).unwrap_or(i64::MAX));
        let many = group.falling >= thresholds.keyless_many as usize;
        let severity = if many { Severity::Warn } else { Severity::Info };
        let finding = Finding::new(severity, evidence, Sentence::new("lockscope leases"));
        found.add(Finding { leases: group.named, ..finding });
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Severity;
    use crate::model::findings::scene::Scene;

    #[test]
    fn leases_that_were_forgotten_are_told_by_their_number() {
        let mut scene = Scene::reading(&[("/a/1", "", 1)]);
        scene.leases(1..=150);
        for lease in 2..=150 {
            // Granted one after the other, and none is renewed.
            scene.ttl(lease, 300, lease * 2 - 3);
        }
        scene.ttl(1, 300, 1);
        assert_eq!(scene.told("keyless-leases"), ["149 leases of 5m00s without keys, 90 of them not renewed"]);
        let finding = &scene.all("keyless-leases")[0];
        assert_eq!((finding.severity, finding.leases.len()), (Severity::Info, 16));
        scene.pass(30_000);
        for lease in 2..=150 {
            scene.ttl(lease, 300, (lease * 2 - 33).max(1));
        }
        assert_eq!(scene.all("keyless-leases")[0].severity, Severity::Warn);
        scene.leases(1..=9);
        assert!(scene.told("keyless-leases").is_empty());
    }

    #[test]
    fn idle_sessions_and_a_few_crashed_ones_are_not_leaked() {
        let mut scene = Scene::reading(&[]);
        scene.leases(1..=500);
        for lease in 1..=500 {
            scene.ttl(lease, 5, if lease < 9 { 1 } else { 3 + lease % 2 });
        }
        assert!(scene.told("keyless-leases").is_empty());
    }
}
