//! The holder's lease falls and nobody renews it.

use super::{Finding, Found, Look, Rule, Severity, Thresholds, remedy};
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
    if !lock.has_etcd_leases() || lock.holder().is_none() {
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
        let remedy = remedy::revoke(holder.lease());
        found.add(Finding::new(Severity::Warn, evidence, remedy).key_of(lock, holder).since(holder.unrenewed_since()));
    }
}

#[cfg(test)]
mod tests {
    use crate::domain::Timestamp;
    use crate::model::findings::scene::{START, Scene};

    #[test]
    fn a_lease_that_falls_is_told_from_the_second_low_poll_on() {
        let mut scene = Scene::reading(&[("/a/10", "", 0x10), ("/a/20", "", 0x20)]);
        scene.ttl(0x10, 60, 30);
        scene.ttl(0x10, 60, 30);
        assert!(scene.codes_of_lock("/a").is_empty(), "one moment is one poll");
        scene.pass(1_000);
        scene.ttl(0x10, 60, 29);
        scene.pass(500);
        let expected = "not renewed for 31s: frees in 28s of 1m00s; 1 waiter blocked";
        assert_eq!(scene.told("holder-not-renewing"), [expected]);
        let since = scene.all("holder-not-renewing")[0].since.unwrap();
        assert_eq!((since.at, since.exact), (Timestamp(START - 30_000), false));
        scene.pass(500);
        scene.ttl(0x10, 60, 60);
        assert!(scene.codes_of_lock("/a").is_empty());
    }
}
