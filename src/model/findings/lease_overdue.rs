//! The holder's lease has run out and is not revoked.

use super::{Finding, Found, Look, Rule, Severity, Thresholds};
use crate::domain::{Sentence, Value};
use crate::model::{LockView, TtlState};

pub(super) const RULE: Rule = Rule {
    code: "lease-overdue",
    severities: &[Severity::Error],
    when: "the time of a holder's lease is up and the lease is not revoked",
    why: "Its client lost the lock by its own count, but the key still blocks the others.",
    advice: "The leader revokes leases through the log: look for a busy leader or a lost quorum first.",
    source: "etcd `server/etcdserver/server.go` revokeExpiredLeases; etcd-io/etcd 9935, 10686",
    look: Look::Locks(look),
};

fn look(lock: LockView<'_>, _: &Thresholds, found: &mut Found<'_>) {
    if !lock.has_etcd_leases() {
        return;
    }
    for holder in lock.holders() {
        let TtlState::Overdue { granted, by, .. } = holder.ttl() else { continue };
        let evidence = Sentence::new("lease {lease} of {granted} is overdue by {by}; {waiters} blocked")
            .with("lease", holder.lease())
            .with("granted", crate::domain::Millis::from_secs(granted))
            .with("by", by)
            .with("waiters", Value::Count(lock.waiter_count(), "waiter"));
        let remedy = Sentence::new("lockscope members");
        found.add(
            Finding::new(Severity::Error, evidence, remedy).lock(lock.name()).lease(holder.lease()).key(holder.key()),
        );
    }
}
