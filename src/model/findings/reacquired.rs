//! The holder held before, by the same key.

use super::{Finding, Found, Look, Rule, Severity, Thresholds, remedy};
use crate::domain::Sentence;
use crate::model::LockView;

/// How many holds back this is looked for.
const BACK: usize = 16;

pub(super) const RULE: Rule = Rule {
    code: "reacquired",
    severities: &[Severity::Info],
    when: "the holder's key held before and was created anew since: the same session again",
    why: "The key looks the same and is another hold with another fencing token; what was meant for the former must not hit it.",
    advice: "Guard deletes by create_revision, as `lockscope release` does.",
    source: "etcd `client/v3/concurrency/mutex.go`: the key is made of the lease; etcd-io/etcd 22082",
    look: Look::Locks(look),
};

fn look(lock: LockView<'_>, _: &Thresholds, found: &mut Found<'_>) {
    if lock.history().is_none() || !lock.layout().has_queue() {
        return;
    }
    let Some(holder) = lock.holder().filter(|holder| !holder.lease().is_none()) else { return };
    let same_session = |key: &[u8]| key == holder.key();
    let former =
        lock.holds().rev().take(BACK).find(|hold| {
            hold.create_revision < holder.token() && hold.lease == holder.lease() && same_session(&hold.key)
        });
    let Some(former) = former else { return };
    let words = match former.ended {
        Some(_) => "{key} holds since revision {created}, and held before from {before} to {ended}",
        None => "{key} holds since revision {created}, and held before from {before}",
    };
    let evidence = Sentence::new(words)
        .with("key", holder.key())
        .with("created", holder.token())
        .with("before", former.create_revision)
        .with("ended", former.ended.map(|end| end.revision).unwrap_or_default());
    let remedy = remedy::show(lock.name());
    found.add(Finding::new(Severity::Info, evidence, remedy).key_of(lock, holder).since(lock.held_since()));
}

#[cfg(test)]
mod tests {
    use crate::model::findings::scene::Scene;

    #[test]
    fn the_same_session_again_is_another_hold() {
        let mut scene = Scene::of_three();
        scene.put("/a/1", 1, "");
        let first = scene.revision();
        scene.delete("/a/1");
        let ended = scene.revision();
        scene.put("/a/2", 2, "");
        assert_eq!(scene.infos(), [""; 0], "another session");
        scene.delete("/a/2");
        scene.put("/a/1", 1, "");
        let again = scene.revision();
        assert_eq!(scene.infos(), ["reacquired"]);
        assert_eq!(
            scene.evidence("reacquired"),
            format!("/a/1 holds since revision {again}, and held before from {first} to {ended}")
        );
    }
}
