//! A lock was taken from its holder by a put over its key.

use super::{Finding, Found, Look, Rule, Severity, Thresholds, remedy};
use crate::domain::Sentence;
use crate::model::LockView;

pub(super) const RULE: Rule = Rule {
    code: "stolen",
    severities: &[Severity::Error],
    when: "the key that is a lock was put again by another client on another lease, without being deleted before",
    why: "Nobody told the one who held before: two clients may believe that they hold, and both have the same fencing token.",
    advice: "Stop one of the two. Clients must create the key in a transaction that fails when it exists.",
    source: "etcd `client/v3/concurrency/key.go`; etcd3-py takes a lock by comparing its value; etcd-io/etcd 10811",
    look: Look::Locks(look),
};

fn look(lock: LockView<'_>, _: &Thresholds, found: &mut Found<'_>) {
    let Some(theft) = lock.history().and_then(|history| history.theft.as_ref()) else { return };
    let Some(holder) = lock.holders().find(|holder| holder.token() == theft.token) else { return };
    let words = if theft.lease.is_none() {
        "{owner} put over {key} at revision {revision} with no lease, while {former} held it on lease {former_lease}"
    } else {
        "{owner} put over {key} at revision {revision} on lease {lease}, while {former} held it on lease {former_lease}"
    };
    let evidence = Sentence::new(words)
        .with("owner", theft.owner.clone())
        .with("key", holder.key())
        .with("revision", theft.revision)
        .with("lease", theft.lease)
        .with("former", theft.former.clone())
        .with("former_lease", theft.former_lease);
    let remedy = remedy::revoke(theft.former_lease);
    found.add(
        Finding::new(Severity::Error, evidence, remedy)
            .lock(lock.name())
            .lease(theft.lease)
            .lease(theft.former_lease)
            .key(holder.key())
            .since(Some(theft.since)),
    );
}

#[cfg(test)]
mod tests {
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
