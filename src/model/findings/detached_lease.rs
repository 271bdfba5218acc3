//! A put without a lease took the lease off a key of a lock.

use super::{Finding, Found, Look, Rule, Severity, Thresholds, remedy};
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
    // That a key was written again says nothing where its form alone makes it a lock's.
    if !lock.has_etcd_leases() || lock.is_surmised() {
        return;
    }
    for key in lock.detached() {
        let evidence = match key.lost_lease() {
            Some(lease) => Sentence::new(
                "{key} lost lease {lease}: created at revision {created}, written at {written} without it",
            )
            .with("lease", lease),
            None => {
                Sentence::new("{key} was created at revision {created} with a lease and written at {written} without")
            }
        };
        let evidence =
            evidence.with("key", key.key()).with("created", key.token()).with("written", key.entry().mod_revision);
        let remedy = remedy::release(lock.name(), key.key());
        found.add(
            Finding::new(Severity::Error, evidence, remedy)
                .lock(lock.name())
                .lease(key.entry().lost_lease())
                .key(key.key()),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::model::findings::scene::Scene;

    #[test]
    fn a_lease_that_a_put_took_off_is_found_in_a_queue_and_on_a_key_of_its_own() {
        let mut scene = Scene::reading(&[("/jobs/a/10", "", 0x10), ("/jobs/a/20", "", 0x20), ("/cron/lock", "h", 7)]);
        assert_eq!(
            scene.codes_of_lock("/jobs/a").join(" ") + &scene.codes_of_lock("/cron/lock").join(" "),
            "single-key-lock"
        );
        scene.put("/jobs/a/20", 0, "busy");
        scene.put("/cron/lock", 0, "host-b");
        assert_eq!(scene.codes_of_lock("/jobs/a"), ["detached-lease"], "and not a foreign key");
        // Another value without a delete may be another client's, too.
        let codes = ["holder-without-lease", "stolen", "detached-lease", "single-key-lock"];
        assert_eq!(scene.codes_of_lock("/cron/lock"), codes);
        let told = scene.told("detached-lease");
        assert!(
            told.contains(&"/jobs/a/20 lost lease 20: created at revision 3, written at 5 without it".into()),
            "{told:?}"
        );
        assert!(scene.remedies("detached-lease").contains(&"lockscope release /jobs/a /jobs/a/20".into()));
        scene.put("/jobs/a/20", 0x20, "");
        scene.delete("/cron/lock");
        assert!(scene.told("detached-lease").is_empty(), "it has a lease again, and the other is gone");
    }

    #[test]
    fn a_key_named_by_a_lease_tells_it_to_whoever_comes_later() {
        let key = "/jobs/a/2040a228242e2d06";
        let mut scene = Scene::reading(&[(key, "", 0x2040_a228_242e_2d06)]);
        scene.put(key, 0, "");
        let later = scene.read_anew();
        assert_eq!(later.codes_of_lock("/jobs/a"), ["holder-without-lease", "detached-lease"]);
        assert!(later.told("detached-lease")[0].contains("with a lease and written at 3 without"));
    }
}
