//! A lock that is one key: who waits leaves no trace.

use super::{Finding, Found, Look, Rule, Severity, Thresholds};
use crate::domain::Sentence;
use crate::layout::Layout;
use crate::model::LockView;

pub(super) const RULE: Rule = Rule {
    code: "single-key-lock",
    severities: &[Severity::Info],
    when: "a lock is one key that clients try to create",
    why: "Waiters cannot be seen and have no turn: whoever tries first after a release has it.",
    advice: "Count the clients yourself; use a queue where turns matter.",
    source: "etcd `client/v3/concurrency` has the queue; leases without keys hint at waiters",
    look: Look::Locks(look),
};

fn look(lock: LockView<'_>, _: &Thresholds, found: &mut Found<'_>) {
    if lock.layout() != Layout::SingleKey {
        return;
    }
    let evidence = Sentence::new("one key and no queue");
    let remedy = Sentence::new("lockscope show {lock}").with("lock", lock.name());
    found.add(Finding::new(Severity::Info, evidence, remedy).lock(lock.name()));
}
