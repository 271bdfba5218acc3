//! A holder lost its lease a short while ago.

use super::{Finding, Found, Look, Rule, Severity, Thresholds, remedy};
use crate::domain::Sentence;
use crate::model::{Cause, Facts, Since, What};

/// Of so many locks this is told at most.
const MOST: usize = 16;

pub(super) const RULE: Rule = Rule {
    code: "holder-lost",
    severities: &[Severity::Info],
    when: "a lock was lost a short while ago, because its holder's lease ran out or was revoked",
    why: "The client may not have noticed and still be at work beside the next holder; a fencing token tells them apart.",
    advice: "See what became of that client.",
    source: "etcd `server/lease/lessor.go`: the keys go with their lease",
    look: Look::All(look),
};

fn look(facts: &Facts, thresholds: &Thresholds, found: &mut Found<'_>) {
    let now = facts.now();
    let recent = facts.timeline.iter().rev().take_while(|happening| now.since(happening.at) < thresholds.lost_holder);
    let mut told: Vec<&[u8]> = Vec::new();
    for happening in recent {
        let What::Released(party, cause @ (Cause::Expired | Cause::Revoked)) = &happening.what else { continue };
        if told.len() == MOST {
            return;
        }
        if told.contains(&party.lock()) {
            continue;
        }
        told.push(party.lock());
        let words = if *cause == Cause::Expired {
            "lease {lease} of {key} expired {ago} ago, at revision {revision}"
        } else {
            "lease {lease} of {key} was revoked {ago} ago, at revision {revision}"
        };
        let evidence = Sentence::new(words)
            .with("lease", party.lease)
            .with("key", party.key.clone())
            .with("ago", now.since(happening.at))
            .with("revision", happening.revision);
        let remedy = remedy::show(party.lock());
        found.add(
            Finding::new(Severity::Info, evidence, remedy)
                .lock(party.lock())
                .lease(party.lease)
                .key(party.key.clone())
                .since(Some(Since { at: happening.at, exact: true })),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::model::findings::scene::Scene;

    #[test]
    fn a_holder_whose_lease_ran_out_is_told_for_a_minute() {
        let mut scene = Scene::of_three();
        scene.put("/a/1", 1, "");
        scene.put("/a/2", 2, "");
        scene.ttl(1, 10, 8);
        scene.pass(8_000);
        scene.delete("/a/1");
        scene.gone(1);
        scene.pass(3_000);
        assert_eq!(scene.infos(), ["holder-lost"]);
        let revision = scene.revision();
        assert_eq!(scene.evidence("holder-lost"), format!("lease 1 of /a/1 expired 3s ago, at revision {revision}"));
        scene.pass(60_000);
        assert_eq!(scene.infos(), [""; 0]);
    }

    #[test]
    fn who_unlocks_lost_nothing() {
        let mut scene = Scene::of_three();
        scene.put("/a/1", 1, "");
        scene.ttl(1, 10, 8);
        scene.delete("/a/1");
        scene.ttl(1, 10, 8);
        assert_eq!(scene.infos(), [""; 0]);
    }
}
