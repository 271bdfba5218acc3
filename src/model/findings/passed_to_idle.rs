//! The lock passed on to a client that does not renew its lease any more.

use super::{Finding, Found, Look, Rule, Severity, Thresholds, remedy};
use crate::domain::{Millis, Sentence, Value};
use crate::model::{LockView, Renewal, TtlState};

pub(super) const RULE: Rule = Rule {
    code: "passed-to-idle",
    severities: &[Severity::Error],
    when: "a lock passed on to a waiter whose lease was not renewed for too long by then",
    why: "Whoever holds now gave up or died while it waited: nobody works, and all others wait until its lease is up.",
    advice: "Revoke the lease, and let clients take their key back when they stop waiting.",
    source: "etcd-io/jetcd 291: the lock goes to a call that timed out",
    look: Look::Locks(look),
};

fn look(lock: LockView<'_>, _: &Thresholds, found: &mut Found<'_>) {
    if !lock.has_etcd_leases() || !lock.layout().has_queue() {
        return;
    }
    let Some(history) = lock.history() else { return };
    for holder in lock.queue().take(lock.holder_count()) {
        let Renewal::NotRenewed { since } = holder.renewal() else { continue };
        let (Some(unrenewed), Some(granted)) = (holder.unrenewed_since(), holder.granted()) else { continue };
        let Some(hold) = history.open(holder.token()) else { continue };
        let Some(began) = hold.began.filter(|began| began.exact) else { continue };
        // One renewal at least was missing when it got the lock; etcd's whole seconds make it seem
        // a second earlier.
        let missing = began.at.since(unrenewed.at);
        if missing < Millis(granted.0 / 3 + 2_000) || began.at <= holder.since().at {
            continue;
        }
        let left = match holder.ttl() {
            TtlState::Live { remaining, .. } => remaining,
            _ => Millis(0),
        };
        let evidence = Sentence::new(
            "{key} got the lock {held} ago and was not renewed for {since} by now; frees in {left}, {waiters} blocked",
        )
        .with("key", holder.key())
        .with("held", lock.now().since(began.at))
        .with("since", since)
        .with("left", left)
        .with("waiters", Value::Count(lock.waiter_count(), "waiter"));
        let remedy = remedy::revoke(holder.lease());
        found.add(Finding::new(Severity::Error, evidence, remedy).key_of(lock, holder).since(Some(began)));
    }
}

#[cfg(test)]
mod tests {
    use crate::model::findings::scene::Scene;

    /// The waiter's lease was renewed last so many seconds before it got the lock.
    fn passed(before: i64) -> Scene {
        let mut scene = Scene::reading(&[("/jobs/a/10", "", 0x10), ("/jobs/a/20", "", 0x20), ("/jobs/a/30", "", 0x30)]);
        for second in 0..60 {
            scene.pass(1_000);
            if second == 30 {
                scene.delete("/jobs/a/10");
                scene.ttl(0x10, 60, 60);
            }
            let unrenewed = second - (30 - before);
            scene.ttl(0x20, 60, if unrenewed < 0 { 60 - second % 4 } else { 60 - unrenewed });
            scene.ttl(0x30, 60, 60 - second % 20);
        }
        scene
    }

    #[test]
    fn who_did_not_renew_when_it_got_the_lock_is_idle() {
        let scene = passed(25);
        assert_eq!(scene.codes_of_lock("/jobs/a"), ["passed-to-idle", "holder-not-renewing"]);
        let expected =
            "/jobs/a/20 got the lock 29s ago and was not renewed for 54s by now; frees in 6s, 1 waiter blocked";
        assert_eq!(scene.told("passed-to-idle"), [expected]);
        assert_eq!(scene.remedies("passed-to-idle"), ["lockscope revoke 20"]);
    }

    #[test]
    fn who_died_after_it_got_the_lock_is_not() {
        assert_eq!(passed(1).codes_of_lock("/jobs/a"), ["holder-not-renewing"]);
    }
}
