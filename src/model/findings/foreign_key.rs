//! A key of another kind stands in a lock's queue.

use super::{Finding, Found, Look, Rule, Severity, Thresholds};
use crate::domain::{Sentence, Value};
use crate::model::LockView;

pub(super) const RULE: Rule = Rule {
    code: "foreign-key",
    severities: &[Severity::Error, Severity::Warn],
    when: "a key under a lock's name is not of its recipe: an error when it leads the queue, a warning when it waits in it",
    why: "The recipe ranges over the whole prefix, so everyone behind that key waits for it to go.",
    advice: "Find out who wrote it and delete it; keep other keys out of a lock's prefix.",
    source: "etcd `client/v3/concurrency/mutex.go`: the queue is every key under the prefix",
    look: Look::Locks(look),
};

fn look(lock: LockView<'_>, _: &Thresholds, found: &mut Found<'_>) {
    if !lock.has_foreign() {
        return;
    }
    let behind = lock.waiter_count();
    let holders = lock.holders().map(|key| (key, true));
    let waiters = lock.waiters().map(|waiter| (waiter.key, false));
    for (key, leads) in holders.chain(waiters).filter(|(key, _)| key.is_foreign(lock.layout())) {
        let evidence = Sentence::new("{key} is no key of this lock and {place} its queue; {waiters} in all")
            .with("key", key.key())
            .with("place", if leads { "leads" } else { "stands in" })
            .with("waiters", Value::Count(behind, "waiter"));
        let remedy =
            Sentence::new("lockscope release {lock} --key {key}").with("lock", lock.name()).with("key", key.key());
        let severity = if leads { Severity::Error } else { Severity::Warn };
        found.add(
            Finding::new(severity, evidence, remedy)
                .lock(lock.name())
                .lease(key.lease())
                .key(key.key())
                .since(Some(key.since())),
        );
    }
}
