//! The holder has no lease: the lock never frees by itself.

use super::{Finding, Found, Look, Rule, Severity, Thresholds};
use crate::domain::{Sentence, Value};
use crate::model::LockView;

pub(super) const RULE: Rule = Rule {
    code: "holder-without-lease",
    severities: &[Severity::Error],
    when: "a key that holds a lock has no lease, where its recipe wants one",
    why: "Nothing deletes the key when its client dies, so the lock never frees by itself.",
    advice: "Make sure that the client is gone, then delete its key; the transaction is guarded by its create_revision.",
    source: "etcd `server/lease/lessor.go`: only leases expire; hashicorp/vault 2526",
    look: Look::Locks(look),
};

fn look(lock: LockView<'_>, _: &Thresholds, found: &mut Found<'_>) {
    if !lock.has_etcd_leases() {
        return;
    }
    for holder in lock.holders().filter(|holder| holder.lease().is_none()) {
        let evidence = Sentence::new("{key} holds with no lease at revision {revision}; {waiters} blocked")
            .with("key", holder.key())
            .with("revision", holder.token())
            .with("waiters", Value::Count(lock.waiter_count(), "waiter"));
        let remedy = Sentence::new("lockscope release {lock}").with("lock", lock.name());
        found.add(
            Finding::new(Severity::Error, evidence, remedy)
                .lock(lock.name())
                .key(holder.key())
                .since(Some(holder.since())),
        );
    }
}
