//! The holder's lease has run out and is not revoked.

use super::{Finding, Found, Look, Rule, Severity, Thresholds};
use crate::domain::{Millis, Sentence, Value};
use crate::model::lock::Since;
use crate::model::{LockView, TtlState};

pub(super) const RULE: Rule = Rule {
    code: "lease-overdue",
    severities: &[Severity::Error],
    when: "the time of a holder's lease is up and the lease is not revoked, by the last poll",
    why: "Its client lost the lock by its own count, but the key still blocks the others.",
    advice: "The leader revokes leases through the log: look for a busy leader or a lost quorum first.",
    source: "etcd `server/etcdserver/server.go` revokeExpiredLeases; etcd-io/etcd 9935, 10686",
    look: Look::Locks(look),
};

/// The leader looks for expired leases twice a second and revokes them through the log: a moment
/// is no finding.
const MOMENT: Millis = Millis(2_000);

fn look(lock: LockView<'_>, _: &Thresholds, found: &mut Found<'_>) {
    if !lock.has_etcd_leases() || lock.holder().is_none() {
        return;
    }
    for holder in lock.holders() {
        let TtlState::Overdue { granted, by, age } = holder.ttl() else { continue };
        // What is asserted is what the last poll showed.
        let seen = Millis(by.0 - age.0);
        if seen < MOMENT {
            continue;
        }
        let evidence =
            Sentence::new("lease {lease} of {granted} was overdue by {by} when asked {age} ago; {waiters} blocked")
                .with("lease", holder.lease())
                .with("granted", Millis::from_secs(granted))
                .with("by", seen)
                .with("age", age)
                .with("waiters", Value::Count(lock.waiter_count(), "waiter"));
        found.add(
            Finding::new(Severity::Error, evidence, Sentence::new("lockscope members"))
                .key_of(lock, holder)
                .since(Some(Since { at: lock.now() - by, exact: true })),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::domain::Timestamp;
    use crate::model::findings::scene::{START, Scene};

    #[test]
    fn a_lease_that_stays_beyond_its_time_is_overdue_and_a_moment_is_not() {
        let mut scene = Scene::reading(&[("/a/10", "", 0x10), ("/a/20", "", 0x20)]);
        for left in [0, -1] {
            scene.ttl(0x10, 60, left);
            scene.pass(1_000);
            assert!(scene.told("lease-overdue").is_empty(), "{left}");
        }
        scene.ttl(0x10, 60, -2);
        scene.pass(500);
        let expected = "lease 10 of 1m00s was overdue by 2s when asked 0.5s ago; 1 waiter blocked";
        assert_eq!(scene.told("lease-overdue"), [expected]);
        assert_eq!(scene.all("lease-overdue")[0].since.map(|since| since.at), Some(Timestamp(START)));
        scene.ttl(0x10, 60, 60);
        assert!(scene.told("lease-overdue").is_empty());
    }
}
