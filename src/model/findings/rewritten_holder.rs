//! The holder by create_revision and the one by mod_revision are not the same.

use super::{Finding, Found, Look, Rule, Severity, Thresholds};
use crate::domain::Sentence;
use crate::layout::Layout;
use crate::model::LockView;

pub(super) const RULE: Rule = Rule {
    code: "rewritten-holder",
    severities: &[Severity::Warn],
    when: "a holder's key was written again after a waiter's, in a queue where nobody does that by design",
    why: "A client that sorts by mod_revision sees another holder than one that sorts by create_revision, so two may work.",
    advice: "Let clients sort by create_revision, and let no one write to a key that holds.",
    source: "etcd `client/v3/concurrency/mutex.go` sorts by create_revision",
    look: Look::Locks(look),
};

fn look(lock: LockView<'_>, _: &Thresholds, found: &mut Found<'_>) {
    if !matches!(lock.layout(), Layout::Queue | Layout::RwLock) {
        return;
    }
    let Some(holder) = lock.holder() else { return };
    let (written, created) = (holder.entry().mod_revision, holder.token());
    if written <= created {
        return;
    }
    let Some(other) = lock.waiters().find(|waiter| waiter.key.entry().mod_revision < written) else { return };
    let evidence = Sentence::new("{holder} was created at {created} and written at {written}, after {other}")
        .with("holder", holder.key())
        .with("created", created)
        .with("written", written)
        .with("other", other.key.key());
    let remedy = Sentence::new("lockscope show {lock}").with("lock", lock.name());
    found.add(
        Finding::new(Severity::Warn, evidence, remedy)
            .lock(lock.name())
            .lease(holder.lease())
            .key(holder.key())
            .key(other.key.key()),
    );
}
