//! Something may not be read.

use super::{Finding, Found, Look, Rule, Severity, Thresholds};
use crate::domain::{Sentence, Value};
use crate::event::Denied;
use crate::model::Facts;

pub(super) const RULE: Rule = Rule {
    code: "denied",
    severities: &[Severity::Error, Severity::Warn],
    when: "this user may not read a range: an error when that is everything that was asked for",
    why: "Locks in there are not seen, and nothing is known of what is wrong with them.",
    advice: "Have a role granted that may read it, or log in as a user who has one.",
    source: "etcd `server/auth/store.go`: roles grant ranges of keys",
    look: Look::All(look),
};

fn look(facts: &Facts, _: &Thresholds, found: &mut Found<'_>) {
    let severity = if facts.link.is_denied() { Severity::Error } else { Severity::Warn };
    for denied in &facts.link.denied {
        let (evidence, remedy) = (evidence(denied), remedy(denied));
        let finding = Finding::new(severity, evidence, remedy);
        found.add(if denied.is_everything() { finding } else { finding.key(denied.range.label()) });
    }
}

fn evidence(denied: &Denied) -> Sentence {
    let words = match (denied.is_everything(), denied.range.end.is_empty(), denied.user.is_empty()) {
        (true, _, true) => "all keys: nobody is logged in; it takes a role that may read everything, or a --prefix",
        (true, _, false) => "all keys: denied to {user}; it takes a role that may read everything, or a --prefix",
        (_, true, true) => "key {range}: nobody is logged in; it takes a role that may read it",
        (_, true, false) => "key {range}: denied to {user}; it takes a role that may read it",
        (_, false, true) => "prefix {range}: nobody is logged in; it takes a role that may read it",
        (_, false, false) => "prefix {range}: denied to {user}; it takes a role that may read it",
    };
    Sentence::new(words).with("range", denied.range.label()).with("user", denied.user.clone())
}

/// What root can do about it: a role with this right, for this user.
fn remedy(denied: &Denied) -> Sentence {
    if denied.user.is_empty() {
        return Sentence::new("lockscope doctor --user root");
    }
    let words = if denied.range.end.is_empty() {
        "etcdctl role add lockscope; etcdctl role grant-permission lockscope read {range} \
         && etcdctl user grant-role {user} lockscope"
    } else {
        "etcdctl role add lockscope; etcdctl role grant-permission lockscope --prefix=true read {range} \
         && etcdctl user grant-role {user} lockscope"
    };
    Sentence::new(words).with("range", denied.range.label()).with("user", Value::Text(denied.user.clone()))
}

#[cfg(test)]
mod tests {
    use crate::domain::KeyRange;
    use crate::event::{Denied, Observation};
    use crate::model::Severity;
    use crate::model::findings::scene::Scene;

    fn of(ranges: &[&str], denied: &str, user: &str) -> Scene {
        let mut scene = Scene::of_three();
        let scope = ranges.iter().map(|prefix| KeyRange::prefix(prefix.as_bytes())).collect();
        scene.observe(Observation::Scope(scope));
        let range = KeyRange::prefix(denied.as_bytes());
        scene.observe(Observation::Denied(Denied { range, user: user.into(), why: "permission denied".into() }));
        scene
    }

    #[test]
    fn a_prefix_that_may_not_be_read_names_the_right_that_it_takes() {
        let scene = of(&["/a/", "/b/"], "/b/", "it's me");
        assert_eq!(scene.codes(), ["denied"]);
        assert_eq!(scene.finding("denied").severity, Severity::Warn);
        assert_eq!(scene.evidence("denied"), "prefix /b/: denied to it's me; it takes a role that may read it");
        assert_eq!(
            scene.remedy("denied"),
            r"etcdctl role add lockscope; etcdctl role grant-permission lockscope --prefix=true read /b/ && etcdctl user grant-role 'it'\''s me' lockscope"
        );
    }

    #[test]
    fn where_nothing_may_be_read_that_is_an_error() {
        let scene = of(&[""], "", "");
        assert_eq!(scene.finding("denied").severity, Severity::Error);
        assert!(scene.evidence("denied").starts_with("all keys: nobody is logged in"));
        assert_eq!(scene.remedy("denied"), "lockscope doctor --user root");
    }
}
