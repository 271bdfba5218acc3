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
    use crate::model::findings::bench::Bench;

    /// A queue of two whose waiter is not renewed any more.
    fn falling() -> Bench {
        let mut bench = Bench::reading(&[("/jobs/a/10", "", 0x10), ("/jobs/a/20", "", 0x20)]);
        for second in 0..10 {
            bench.pass(1_000);
            bench.ttl(0x10, 10, 10 - second % 3);
            bench.ttl(0x20, 10, 9 - second);
        }
        bench
    }

    #[test]
    fn a_waiter_whose_lease_ran_out_is_told_for_some_minutes() {
        let mut bench = falling();
        bench.pass(500);
        bench.delete(&["/jobs/a/20"]);
        bench.ttl(0x20, 0, -1);
        bench.pass(2_000);
        bench.ttl(0x10, 10, 10);
        assert_eq!(bench.codes("/jobs/a"), ["waiter-dropped"]);
        let told = bench.told("waiter-dropped");
        assert_eq!(told, ["/jobs/a/20 fell out of the queue 2s ago: lease 20 ran out; 1 waiter lately"]);
        bench.pass(5 * 60_000);
        assert!(bench.codes("/jobs/a").is_empty());
    }

    #[test]
    fn who_gives_up_by_itself_is_no_finding() {
        // It deletes its key and keeps its lease.
        let mut bench = falling();
        bench.delete(&["/jobs/a/20"]);
        bench.ttl(0x20, 10, 0);
        assert!(bench.told("waiter-dropped").is_empty());
        // It closes its session, which revokes a lease that it kept, shortly before a renewal.
        let mut bench = Bench::reading(&[("/jobs/a/10", "", 0x10), ("/jobs/a/20", "", 0x20)]);
        for second in 0..9 {
            bench.pass(1_000);
            bench.ttl(0x10, 2, 1);
            bench.ttl(0x20, 2, i64::from(second % 3 > 0));
        }
        bench.delete(&["/jobs/a/20"]);
        bench.ttl(0x20, 0, -1);
        assert!(bench.told("waiter-dropped").is_empty());
    }
}
