//! A lock was taken from its holder by a put over its key.

use super::{Finding, Found, Look, Rule, Severity, Thresholds, remedy};
use crate::domain::Sentence;
use crate::model::LockView;

pub(super) const RULE: Rule = Rule {
    code: "stolen",
    severities: &[Severity::Error, Severity::Info],
    when: "the key that is a lock was put again by another client on another lease, without being deleted before; an info once the former lease is gone, because its client's session has ended then",
    why: "Nobody told the one who held before: two clients may believe that they hold, and both have the same fencing token.",
    advice: "Stop one of the two. Clients must create the key in a transaction that fails when it exists.",
    source: "etcd `client/v3/concurrency/key.go`; etcd3-py takes a lock by comparing its value; etcd-io/etcd 10811",
    look: Look::Locks(look),
};

fn look(lock: LockView<'_>, _: &Thresholds, found: &mut Found<'_>) {
    let Some(theft) = lock.history().and_then(|history| history.theft.as_ref()) else { return };
    let Some(holder) = lock.holders().find(|holder| holder.token() == theft.token) else { return };
    let on = if theft.lease.is_none() { "with no lease" } else { "on lease {lease}" };
    let words = if theft.former_gone.is_some() {
        "{owner} put over {key} at revision {revision} {on}, while {former} held it on lease {former_lease}, which is gone now"
    } else {
        "{owner} put over {key} at revision {revision} {on}, while {former} held it on lease {former_lease}"
    };
    let evidence = Sentence::new(words)
        .with("owner", theft.owner.clone())
        .with("key", holder.key())
        .with("revision", theft.revision)
        .with("on", Sentence::new(on).with("lease", theft.lease))
        .with("former", theft.former.clone())
        .with("former_lease", theft.former_lease);
    let finding = if theft.former_gone.is_some() {
        Finding::new(Severity::Info, evidence, remedy::show(lock.name())).lock(lock.name()).lease(theft.lease)
    } else {
        let finding = Finding::new(Severity::Error, evidence, remedy::revoke(theft.former_lease));
        finding.lock(lock.name()).lease(theft.lease).lease(theft.former_lease)
    };
    found.add(finding.key(holder.key()).since(Some(theft.since)));
}

#[cfg(test)]
mod tests {
    use crate::domain::{LeaseId, Term};
    use crate::event::{LeaseTtl, Observation};
    use crate::model::findings::scene::Scene;

    #[test]
    fn a_put_by_another_client_over_a_held_lock_is_a_theft_until_the_key_goes() {
        let mut scene = Scene::of_three();
        scene.put("/cron/lock/nightly", 1, "worker-1");
        assert_eq!(scene.codes(), [""; 0]);
        scene.put("/cron/lock/nightly", 2, "worker-2");
        assert_eq!(scene.codes(), ["stolen"]);
        let revision = scene.revision();
        assert_eq!(
            scene.evidence("stolen"),
            format!(
                "worker-2 put over /cron/lock/nightly at revision {revision} on lease 2, while worker-1 held it on lease 1"
            )
        );
        assert_eq!(scene.remedy("stolen"), "lockscope revoke 1");
        scene.put("/cron/lock/nightly", 2, "worker-2");
        assert_eq!(scene.codes(), ["stolen"], "a renewal does not undo it");
        scene.delete("/cron/lock/nightly");
        scene.put("/cron/lock/nightly", 2, "worker-2");
        assert_eq!(scene.codes(), [""; 0]);
    }

    #[test]
    fn a_theft_from_a_lease_that_is_gone_for_certain_is_no_error_any_more() {
        let mut scene = Scene::of_three();
        scene.put("/cron/lock/nightly", 1, "worker-1");
        scene.put("/cron/lock/nightly", 2, "worker-2");
        scene.observe(Observation::LeaseTtl(answer(1, 30, 12)));
        assert_eq!(scene.codes(), ["stolen"]);
        // A member that lags, or the mere passing of time, makes nothing certain.
        scene.observe(Observation::LeaseList(vec![LeaseId(2)]));
        scene.pass(10 * 60_000);
        assert!(scene.codes().contains(&"stolen"));
        assert!(scene.model.live().leases().contains(LeaseId(1)), "it is asked until that is known");
        scene.observe(Observation::LeaseTtl(answer(1, 0, -1)));
        assert!(!scene.codes().contains(&"stolen") && scene.infos().contains(&"stolen"), "{:?}", scene.infos());
        assert!(scene.evidence("stolen").ends_with("held it on lease 1, which is gone now"));
        assert_eq!(scene.remedy("stolen"), "lockscope show /cron/lock/nightly");
        assert!(!scene.model.live().leases().contains(LeaseId(1)));
        scene.put("/cron/lock/nightly", 3, "worker-3");
        assert!(scene.codes().contains(&"stolen"), "another theft is another matter");
    }

    fn answer(lease: i64, granted: i64, remaining: i64) -> LeaseTtl {
        LeaseTtl { lease: LeaseId(lease), granted, remaining, keys: None, term: Term(4) }
    }

    #[test]
    fn ways_of_renewing_are_no_theft() {
        let mut scene = Scene::of_three();
        scene.put("/cron/lock/nightly", 1, "worker-1");
        scene.put("/cron/lock/nightly", 2, "worker-1");
        scene.put("/cron/lock/nightly", 2, "worker-2");
        scene.put("/elect/lock/e1", 0xe1, "candidate");
        scene.put("/elect/lock/e1", 0xe1, "proclaimed");
        scene.put("/json/lock", 5, r#"{"LockerID":"me","at":1}"#);
        scene.put("/json/lock", 6, r#"{"LockerID":"me","at":2}"#);
        assert_eq!(scene.codes(), [""; 0]);
    }
}
