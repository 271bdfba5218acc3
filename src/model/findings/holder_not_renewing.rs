//! The holder's lease falls and nobody renews it.

use super::{Finding, Found, Look, Rule, Severity, Thresholds};
use crate::domain::{Millis, Sentence, Value};
use crate::model::{LockView, Renewal, TtlState};

pub(super) const RULE: Rule = Rule {
    code: "holder-not-renewing",
    severities: &[Severity::Warn],
    when: "the time of a holder's lease falls below three fifths in two polls and is not raised",
    why: "Its client is dead, paused or cut off; the lock frees when the time is up.",
    advice: "Wait until it is up, or revoke the lease if the client is surely gone.",
    source: "etcd `client/v3/lease.go`: clients renew after a third of the time",
    look: Look::Locks(look),
};

fn look(lock: LockView<'_>, _: &Thresholds, found: &mut Found<'_>) {
    if !lock.has_etcd_leases() {
        return;
    }
    for holder in lock.holders() {
        let (Renewal::NotRenewed { since }, TtlState::Live { granted, remaining, .. }) =
            (holder.renewal(), holder.ttl())
        else {
            continue;
        };
        let evidence = Sentence::new("not renewed for {since}: frees in {remaining} of {granted}; {waiters} blocked")
            .with("since", since)
            .with("remaining", remaining)
            .with("granted", Millis::from_secs(granted))
            .with("waiters", Value::Count(lock.waiter_count(), "waiter"));
        let remedy = Sentence::new("lockscope revoke {lease}").with("lease", holder.lease());
        found.add(
            Finding::new(Severity::Warn, evidence, remedy).lock(lock.name()).lease(holder.lease()).key(holder.key()),
        );
    }
}
