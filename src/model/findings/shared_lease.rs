//! One lease holds keys of several locks.

use hashbrown::HashSet;

use super::{Finding, Found, Look, Rule, Severity, Thresholds};
use crate::domain::{Key, LeaseId, Sentence, Value};
use crate::model::{Facts, LockView, lock::LockIx};

pub(super) const RULE: Rule = Rule {
    code: "shared-lease",
    severities: &[Severity::Info],
    when: "a lease holds a lock and has keys of other locks as well",
    why: "Revoking it to free one lock frees the others too, and its expiry takes them all.",
    advice: "Release the one key instead of revoking the lease; give what has to live apart a session of its own.",
    source: "etcd `server/lease/lessor.go` Revoke: all keys of a lease go in one revision; cilium/cilium 9855",
    look: Look::Keys(look),
};

fn look(facts: &Facts, _: &Thresholds, found: &mut Found<'_>) {
    let mut shared: HashSet<LeaseId> = facts.leases().shared().collect();
    if shared.is_empty() {
        return;
    }
    let holding = facts.locks().filter(|lock| lock.layout().is_lock()).flat_map(|lock| lock.holders());
    let holding: HashSet<LeaseId> = holding.map(|key| key.lease()).collect();
    shared.retain(|id| holding.contains(id));
    // In an order of their own, so that one moment is always told in the same way.
    let mut shared: Vec<LeaseId> = shared.into_iter().collect();
    shared.sort_unstable();
    for id in shared {
        if let Some(finding) = of_lease(facts, id) {
            found.add(finding);
        }
    }
}

/// What is found of a lease that holds a lock.
fn of_lease(facts: &Facts, id: LeaseId) -> Option<Finding> {
    let lease = facts.lease(id)?;
    let mut locks: Vec<(LockIx, LockView<'_>)> = lease
        .keys()
        .into_iter()
        .filter_map(|key| facts.lock_of(key.entry()))
        .filter(|lock| lock.layout().is_lock())
        .map(|lock| (lock.ix(), lock))
        .collect();
    // Keys in the order of their names have those of a queue together, and a single key may have
    // its lock's name between them.
    locks.sort_by_key(|(ix, _)| *ix);
    locks.dedup_by_key(|(ix, _)| *ix);
    if locks.len() < 2 {
        return None;
    }
    let mut names: Vec<Key> = locks.iter().map(|(_, lock)| lock.name().into()).collect();
    names.sort_unstable();
    let evidence = Sentence::new("lease {lease} has keys of {number}: {locks}")
        .with("lease", id)
        .with("number", Value::Count(names.len(), "lock"))
        .with("locks", names.clone());
    // It says what goes with the lease, and does nothing.
    let remedy = Sentence::new("lockscope revoke {lease} --dry-run").with("lease", id);
    Some(Finding { locks: names, ..Finding::new(Severity::Info, evidence, remedy).lease(id) })
}

#[cfg(test)]
mod tests {
    use crate::model::findings::scene::Scene;

    #[test]
    fn a_session_that_holds_two_locks_is_shared_and_one_that_waits_twice_is_not() {
        let mut scene = Scene::reading(&[
            ("/a/10", "", 0x10),
            ("/b/10", "", 0x10),
            ("/b/20", "", 0x20),
            ("/c/30", "", 0x30),
            ("/c/20", "", 0x20),
            ("/svc/nodes/n1", "10.0.0.1:80", 0x30),
        ]);
        assert_eq!(scene.told("shared-lease"), ["lease 10 has keys of 2 locks: /a, /b"]);
        assert_eq!((scene.codes_of_lock("/a"), scene.codes_of_lock("/c")), (vec!["shared-lease"], vec![]));
        scene.delete("/b/10");
        assert_eq!(scene.told("shared-lease"), ["lease 20 has keys of 2 locks: /b, /c"], "it holds one of them now");
    }
}
