//! A put without a lease took the lease off a key of a lock.

use super::{Finding, Found, Look, Rule, Severity, Thresholds};
use crate::domain::Sentence;
use crate::model::LockView;

pub(super) const RULE: Rule = Rule {
    code: "detached-lease",
    severities: &[Severity::Error],
    when: "a key of a lock was written again without the lease it had",
    why: "Revoking the lease or its expiry no longer deletes the key, so a dead client keeps its place.",
    advice: "Release the key once its client is gone, and let the client put values with its lease.",
    source: "etcd `server/storage/mvcc/kvstore_txn.go` put: the old lease is detached",
    look: Look::Locks(look),
};

fn look(lock: LockView<'_>, _: &Thresholds, found: &mut Found<'_>) {
    if !lock.has_etcd_leases() || !lock.has_detached() {
        return;
    }
    for key in lock.detached() {
        let evidence =
            Sentence::new("{key} was created at revision {created} with a lease and written at {written} without")
                .with("key", key.key())
                .with("created", key.token())
                .with("written", key.entry().mod_revision);
        let remedy =
            Sentence::new("lockscope release {lock} --key {key}").with("lock", lock.name()).with("key", key.key());
        found.add(Finding::new(Severity::Error, evidence, remedy).lock(lock.name()).key(key.key()));
    }
}
