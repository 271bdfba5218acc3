//! Nothing of the cluster can be reached.

use super::{Finding, Found, Look, Rule, Severity, Thresholds};
use crate::domain::{Sentence, Value};
use crate::event::LinkState;
use crate::model::{Facts, Since};

pub(super) const RULE: Rule = Rule {
    code: "unreachable",
    severities: &[Severity::Error],
    when: "no endpoint can be used, for longer than it takes to get to another member",
    why: "What is shown is what was known before; it may have changed since.",
    advice: "See whether the endpoints are right and can be reached, and whether user and password are.",
    source: "none: the state of the own connection",
    look: Look::All(look),
};

fn look(facts: &Facts, thresholds: &Thresholds, found: &mut Found<'_>) {
    let link = &facts.link;
    let (LinkState::Retrying { attempt, why, .. }, Some(since)) = (&link.state, link.lost_since) else { return };
    let Some(first) = why.first() else { return };
    let lasts = facts.now().since(since);
    // One that was never there has nothing to come back to.
    if link.cluster_id.is_some() && lasts < thresholds.link_lost {
        return;
    }
    let words = if why.len() > 1 {
        "{endpoint}: {why}, and {more}; {attempts} tries in {since}"
    } else {
        "{endpoint}: {why}; {attempts} tries in {since}"
    };
    let evidence = Sentence::new(words)
        .with("endpoint", first.endpoint.clone())
        .with("why", first.reason().to_owned())
        .with("more", Value::Count(why.len() - 1, "other endpoint"))
        .with("attempts", i64::from(*attempt))
        .with("since", lasts);
    let remedy = Sentence::new("lockscope members --endpoints {endpoint}").with("endpoint", first.endpoint.clone());
    found.add(Finding::new(Severity::Error, evidence, remedy).since(Some(Since { at: since, exact: false })));
}

#[cfg(test)]
mod tests {
    use crate::event::{EndpointError, LinkState};
    use crate::model::findings::scene::Scene;

    fn lost(scene: &Scene, attempt: u32) -> LinkState {
        let tried = ["http://a:1", "http://b:1"].map(|endpoint| EndpointError {
            endpoint: endpoint.into(),
            error: format!("cannot reach {endpoint}: refused"),
        });
        LinkState::Retrying { attempt, next_at: scene.now(), why: tried.into() }
    }

    #[test]
    fn a_link_that_comes_back_at_once_is_no_trouble_and_one_that_stays_away_is() {
        let mut scene = Scene::of_three();
        scene.link(lost(&scene, 1));
        scene.pass(1_000);
        assert_eq!(scene.codes(), [""; 0]);
        scene.link(lost(&scene, 2));
        scene.pass(1_000);
        for member in [1, 2, 3] {
            scene.silent(member);
        }
        scene.pass(4_000);
        assert_eq!(scene.codes(), ["unreachable"], "that each member is, goes without saying");
        assert_eq!(scene.evidence("unreachable"), "http://a:1: refused, and 1 other endpoint; 2 tries in 6s");
        scene.link(LinkState::Live { endpoint: "http://b:1".into() });
        assert!(!scene.codes().contains(&"unreachable"));
    }
}
