//! The holder by create_revision and the one by mod_revision are not the same.

use super::{Finding, Found, Look, Rule, Severity, Thresholds};
use crate::domain::Sentence;
use crate::layout::Layout;
use crate::model::LockView;

/// Programs that write to the key that holds, and whose clients sort by create_revision.
const BY_DESIGN: [&str; 1] = ["vault"];

pub(super) const RULE: Rule = Rule {
    code: "rewritten-holder",
    severities: &[Severity::Warn, Severity::Info],
    when: "a holder's key was written again after a waiter's: worth knowing where the program does that by design and sorts by create_revision (Vault), a warning elsewhere",
    why: "A client that sorts by mod_revision sees another holder than one that sorts by create_revision, so two may work.",
    advice: "Let clients sort by create_revision, and let no one write to a key that holds.",
    source: "etcd `client/v3/concurrency/mutex.go` sorts by create_revision, `experimental/recipes/rwmutex.go` by mod_revision",
    look: Look::Locks(look),
};

fn look(lock: LockView<'_>, _: &Thresholds, found: &mut Found<'_>) {
    if !matches!(lock.layout(), Layout::Queue | Layout::RwLock) {
        return;
    }
    let severity = if BY_DESIGN.contains(&lock.family()) { Severity::Info } else { Severity::Warn };
    let Some(holder) = lock.holder() else { return };
    let (written, created) = (holder.entry().mod_revision, holder.token());
    if written <= created {
        return;
    }
    let first = lock.waiters().map(|waiter| waiter.key).min_by_key(|key| key.entry().mod_revision);
    let Some(other) = first.filter(|other| other.entry().mod_revision < written) else { return };
    let evidence = Sentence::new(
        "{holder} holds by its create_revision {created}; it was written at {written}, so by mod_revision {other} holds, at {at}",
    )
    .with("holder", holder.key())
    .with("created", created)
    .with("written", written)
    .with("other", other.key())
    .with("at", other.entry().mod_revision);
    let remedy = Sentence::new("lockscope show {lock}").with("lock", lock.name());
    found.add(
        Finding::new(severity, evidence, remedy)
            .lock(lock.name())
            .lease(holder.lease())
            .key(holder.key())
            .key(other.key()),
    );
}

#[cfg(test)]
mod tests {
    use super::Severity;
    use crate::model::findings::scene::Scene;

    #[test]
    fn a_holder_that_was_written_to_after_a_waiter_came_is_not_first_by_mod_revision() {
        let mut scene = Scene::of_three();
        scene.put("/a/11", 0x11, "");
        scene.put("/a/11", 0x11, "mine");
        scene.put("/a/12", 0x12, "");
        scene.put("/a/13", 0x13, "");
        assert_eq!(scene.codes_of("rewritten-holder"), 0, "both orders agree");
        scene.put("/a/11", 0x11, "still mine");
        assert_eq!(
            scene.evidence("rewritten-holder"),
            "/a/11 holds by its create_revision 2; it was written at 6, so by mod_revision /a/12 holds, at 4"
        );
        scene.delete("/a/12");
        scene.delete("/a/13");
        assert_eq!(scene.codes_of("rewritten-holder"), 0);
    }

    #[test]
    fn programs_that_do_so_by_design_are_no_reason_to_worry() {
        let mut scene = Scene::of_three();
        scene.put("/vault/core/lock/11", 0x11, "");
        scene.put("/vault/core/lock/12", 0x12, "");
        scene.put("/vault/core/lock/11", 0x11, "7c7ad9fd-f80f-4426-98c8-5a225d58f2c7");
        assert_eq!(scene.finding("rewritten-holder").severity, Severity::Info);
    }
}
