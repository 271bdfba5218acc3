//! A lock's key hangs on a lease that the server made and nobody renews.

use super::{Finding, Found, Look, Rule, Severity, Thresholds};
use crate::domain::{Millis, Sentence, Value};
use crate::layout::Shape;
use crate::model::{KeyView, LockView, Renewal, TtlState};

pub(super) const RULE: Rule = Rule {
    code: "server-made-lease",
    severities: &[Severity::Warn],
    when: "a key of a lock is on a lease of 60 s that was never renewed",
    why: "A Lock or Campaign call without a lease gets one that nobody renews: the lock is lost after 60 s, whatever its client does.",
    advice: "Grant a lease, renew it, and name it in the call. The lease can be renewed by hand meanwhile.",
    source: "etcd `server/etcdserver/api/v3lock/lock.go`: a session with its default TTL, orphaned",
    look: Look::Locks(look),
};

/// The time of a session that names none (etcd `client/v3/concurrency/session.go`).
const DEFAULT: Millis = Millis(60_000);

/// The server grants the lease in the call that puts the key.
const TOGETHER: Millis = Millis(3_000);

fn look(lock: LockView<'_>, _: &Thresholds, found: &mut Found<'_>) {
    if !lock.has_etcd_leases() || !lock.layout().has_queue() {
        return;
    }
    let holders = lock.holder_count();
    for (at, key) in lock.queue().enumerate() {
        if !is_server_made(key) {
            continue;
        }
        let (Renewal::NotRenewed { since }, TtlState::Live { remaining, .. }) = (key.renewal(), key.ttl()) else {
            continue;
        };
        let words = if key.since().exact {
            "{key} {place} on lease {lease} of 60 s, granted {since} ago and never renewed: it goes in {remaining}; {waiters}"
        } else {
            "{key} {place} on lease {lease} of 60 s, not renewed for {since}: made by the server, or its client died; it goes in {remaining}; {waiters}"
        };
        let evidence = Sentence::new(words)
            .with("key", key.key())
            .with("place", if at < holders { "holds" } else { "waits" })
            .with("lease", key.lease())
            .with("since", since)
            .with("remaining", remaining)
            .with("waiters", Value::Count(lock.waiter_count(), "waiter"));
        let remedy = Sentence::new("etcdctl lease keep-alive -- {lease}").with("lease", key.lease());
        found.add(Finding::new(Severity::Warn, evidence, remedy).key_of(lock, key).since(key.unrenewed_since()));
    }
}

/// Whether its lease may be one that the server made: of the default time, and as old as the key.
fn is_server_made(key: KeyView<'_>) -> bool {
    if key.entry().placed.shape != Shape::LeaseHex || key.granted() != Some(DEFAULT) || key.was_renewed() {
        return false;
    }
    // Whoever renewed once was a client with a session of its own. Of a key that was there before,
    // nothing tells when it came.
    let known = key.since();
    key.unrenewed_since().is_some_and(|granted| {
        !known.exact || known.at.since(granted.at) <= TOGETHER && granted.at <= known.at + TOGETHER
    })
}

#[cfg(test)]
mod tests {
    use crate::model::findings::scene::Scene;

    #[test]
    fn a_lease_of_a_minute_that_was_never_renewed_is_the_servers() {
        let mut scene = Scene::reading(&[]);
        scene.put("/jobs/a/10", 0x10, "");
        for second in 1..=40 {
            scene.pass(1_000);
            scene.ttl(0x10, 60, 60 - second);
        }
        assert_eq!(scene.codes_of_lock("/jobs/a"), ["holder-not-renewing", "server-made-lease"]);
        let expected =
            "/jobs/a/10 holds on lease 10 of 60 s, granted 40s ago and never renewed: it goes in 20s; 0 waiters";
        assert_eq!(scene.told("server-made-lease"), [expected]);
        assert_eq!(scene.remedies("server-made-lease"), ["etcdctl lease keep-alive -- 10"]);
    }

    #[test]
    fn a_client_that_renewed_and_died_made_its_own() {
        let mut scene = Scene::reading(&[]);
        scene.put("/jobs/a/10", 0x10, "");
        for second in 1..=70 {
            scene.pass(1_000);
            scene.ttl(0x10, 60, if second < 30 { 60 - second % 20 } else { 80 - second });
        }
        assert_eq!(scene.codes_of_lock("/jobs/a"), ["holder-not-renewing"]);
    }
}
