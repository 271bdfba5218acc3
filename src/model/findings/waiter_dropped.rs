//! A waiter fell out of the queue: its lease ran out.

use super::{Finding, Found, Look, Rule, Severity, Thresholds, remedy};
use crate::domain::{Sentence, Value};
use crate::model::lock::Since;
use crate::model::{LockView, lock::Dropout};

pub(super) const RULE: Rule = Rule {
    code: "waiter-dropped",
    severities: &[Severity::Warn],
    when: "a waiter's key vanished while it waited, because its lease ran out; told for some minutes",
    why: "Its client is dead, or believes that it still waits; until 3.5 its Lock call may answer OK although it holds nothing.",
    advice: "Let clients renew their lease while they wait, and check that they hold before they begin.",
    source: "etcd `server/etcdserver/api/v3lock/lock.go`; etcd-io/etcd 9921, 11456",
    look: Look::Locks(look),
};

fn look(lock: LockView<'_>, thresholds: &Thresholds, found: &mut Found<'_>) {
    let Some(history) = lock.history() else { return };
    let now = lock.now();
    let lately = || history.dropouts().filter(|gone| now.since(gone.at) < thresholds.dropped_for);
    let (Some(first), Some(Dropout { key, lease, at })) = (lately().next(), lately().next_back()) else { return };
    let evidence = Sentence::new("{key} fell out of the queue {ago} ago: lease {lease} ran out; {number} lately")
        .with("key", key.clone())
        .with("ago", now.since(*at))
        .with("lease", *lease)
        .with("number", Value::Count(lately().count(), "waiter"));
    let remedy = remedy::show(lock.name());
    let finding = Finding::new(Severity::Warn, evidence, remedy).lock(lock.name());
    let named = lately().fold(finding, |finding, gone| finding.key(gone.key.clone()).lease(gone.lease));
    found.add(named.since(Some(Since { at: first.at, exact: true })));
}

#[cfg(test)]
mod tests {
    use crate::model::findings::scene::Scene;

    /// A queue of two whose waiter is not renewed any more.
    fn falling() -> Scene {
        let mut scene = Scene::reading(&[("/jobs/a/10", "", 0x10), ("/jobs/a/20", "", 0x20)]);
        for second in 0..10 {
            scene.pass(1_000);
            scene.ttl(0x10, 10, 10 - second % 3);
            scene.ttl(0x20, 10, 9 - second);
        }
        scene
    }

    #[test]
    fn a_waiter_whose_lease_ran_out_is_told_for_some_minutes() {
        let mut scene = falling();
        scene.pass(500);
        scene.delete("/jobs/a/20");
        scene.ttl(0x20, 0, -1);
        scene.pass(2_000);
        scene.ttl(0x10, 10, 10);
        assert_eq!(scene.codes_of_lock("/jobs/a"), ["waiter-dropped"]);
        let told = scene.told("waiter-dropped");
        assert_eq!(told, ["/jobs/a/20 fell out of the queue 2s ago: lease 20 ran out; 1 waiter lately"]);
        scene.pass(5 * 60_000);
        assert!(scene.codes_of_lock("/jobs/a").is_empty());
    }

    #[test]
    fn who_gives_up_by_itself_is_no_finding() {
        // It deletes its key and keeps its lease.
        let mut scene = falling();
        scene.delete("/jobs/a/20");
        scene.ttl(0x20, 10, 0);
        assert!(scene.told("waiter-dropped").is_empty());
        // It closes its session, which revokes a lease that it kept, shortly before a renewal.
        let mut scene = Scene::reading(&[("/jobs/a/10", "", 0x10), ("/jobs/a/20", "", 0x20)]);
        for second in 0..9 {
            scene.pass(1_000);
            scene.ttl(0x10, 2, 1);
            scene.ttl(0x20, 2, i64::from(second % 3 > 0));
        }
        scene.delete("/jobs/a/20");
        scene.ttl(0x20, 0, -1);
        assert!(scene.told("waiter-dropped").is_empty());
    }
}
