//! The holder has no lease: the lock never frees by itself.

use super::{Finding, Found, Look, Rule, Severity, Thresholds, remedy};
use crate::domain::{Sentence, Value};
use crate::model::{KeyView, LockView};

/// So many waiters are looked at: a later one comes first only after all of these.
const SEEN: usize = 1_000;

pub(super) const RULE: Rule = Rule {
    code: "holder-without-lease",
    severities: &[Severity::Error, Severity::Warn],
    when: "a key that holds a lock has no lease, where its recipe wants one: a warning while it waits in the queue, and where a single key is a lock's by its form only: nobody waits, and its name does not speak of a lock",
    why: "Nothing deletes the key when its client dies, so the lock never frees by itself.",
    advice: "Make sure that the client is gone, then delete its key; the transaction is guarded by its create_revision.",
    source: "etcd `server/lease/lessor.go`: only leases expire; hashicorp/vault 2526",
    look: Look::Locks(look),
};

fn look(lock: LockView<'_>, _: &Thresholds, found: &mut Found<'_>) {
    if !lock.has_etcd_leases() {
        return;
    }
    if let Some(waiting) = waiting(lock) {
        found.add(waiting);
    }
    if !lock.is_leaseless() && lock.holder_count() < 2 {
        return;
    }
    if let Some(holder) = lock.holder().filter(|_| lock.is_surmised()) {
        found.add(surmised(lock, &holder));
        return;
    }
    let several = lock.holder_count() > 1;
    // A key of another kind has a rule of its own, which tells this too.
    let bare = |holder: &KeyView<'_>| holder.lease().is_none() && !holder.is_foreign(lock.layout());
    for holder in lock.holders().filter(bare) {
        let since = lock.holds_since(&holder);
        let holding = Sentence::new(if since.exact { "holding for {held}" } else { "holding for {held} at least" });
        let mut evidence =
            Sentence::new("{key} has no lease: created at revision {revision}, {holding}; {waiters} blocked")
                .with("key", holder.key())
                .with("revision", holder.token())
                .with("holding", holding.with("held", lock.told_until().since(since.at)))
                .with("waiters", Value::Count(lock.waiter_count(), "waiter"));
        if !lock.has_any_lease() && !lock.is_everything_read() {
            evidence =
                Sentence::new("{found}; no lease points to this lock, so a later look finds it only with --prefix")
                    .with("found", evidence);
        }
        // Who did not see the lease that it lost may take it for no lock's.
        let named = several || holder.lost_lease().is_some();
        let remedy =
            if named { remedy::release(lock.name(), holder.key()) } else { remedy::release_holder(lock.name()) };
        found.add(
            Finding::new(Severity::Error, evidence, remedy).lock(lock.name()).key(holder.key()).since(Some(since)),
        );
    }
}

/// What can be a lock by the form of its key, and can be data.
fn surmised(lock: LockView<'_>, holder: &KeyView<'_>) -> Finding {
    let evidence = Sentence::new(
        "{key} has a lock's form and no lease: created at revision {revision}; a client that locks {name} would wait for it for ever",
    )
    .with("key", holder.key())
    .with("revision", holder.token())
    .with("name", lock.name());
    Finding::new(Severity::Warn, evidence, remedy::release(lock.name(), holder.key()))
        .lock(lock.name())
        .key(holder.key())
        .since(Some(lock.holds_since(holder)))
}

/// The oldest that waits without a lease; of one that lost it another rule tells.
fn waiting(lock: LockView<'_>) -> Option<Finding> {
    if !lock.layout().has_queue() || lock.waiter_count() == 0 {
        return None;
    }
    let bare = |key: &KeyView<'_>| key.lease().is_none() && !key.is_detached() && !key.is_foreign(lock.layout());
    let key = lock.waiters().take(SEEN).map(|waiter| waiter.key).find(bare)?;
    let evidence = Sentence::new(
        "{key} waits and has no lease: once it is first the lock never frees by itself; {waiters} in all",
    )
    .with("key", key.key())
    .with("waiters", Value::Count(lock.waiter_count(), "waiter"));
    Some(
        Finding::new(Severity::Warn, evidence, remedy::release(lock.name(), key.key()))
            .lock(lock.name())
            .key(key.key())
            .since(Some(key.since())),
    )
}

#[cfg(test)]
mod tests {
    use crate::domain::KeyRange;
    use crate::event::Observation;
    use crate::model::Severity;
    use crate::model::findings::scene::Scene;

    #[test]
    fn a_holder_without_a_lease_is_told_with_who_waits() {
        let mut scene = Scene::reading(&[("/vault/core/lock/10", "uuid", 0x10), ("/vault/core/lock/20", "", 0x20)]);
        assert!(scene.codes_of_lock("/vault/core/lock").is_empty());
        scene.put("/vault/core/lock/10", 0, "uuid");
        scene.pass(90_000);
        let expected =
            "/vault/core/lock/10 has no lease: created at revision 2, holding for 1m30s at least; 1 waiter blocked";
        assert_eq!(scene.told("holder-without-lease"), [expected]);
        assert_eq!(scene.remedies("holder-without-lease"), ["lockscope release /vault/core/lock /vault/core/lock/10"]);
        scene.delete("/vault/core/lock/10");
        assert!(scene.told("holder-without-lease").is_empty());
    }

    #[test]
    fn a_lone_key_is_told_alike_by_who_saw_its_waiters_and_by_who_comes_later() {
        let mut scene = Scene::reading(&[("/jobs/nl/694d82254d5fa305", "", 0), ("/jobs/nl/20", "", 0x20)]);
        assert_eq!(scene.codes_of_lock("/jobs/nl"), ["holder-without-lease"]);
        scene.delete("/jobs/nl/20");
        let later = scene.read_anew();
        assert_eq!(later.codes_of_lock("/jobs/nl"), ["holder-without-lease"]);
        assert_eq!(later.codes_of_lock("/jobs/nl"), scene.codes_of_lock("/jobs/nl"));
        assert_eq!(later.remedies("holder-without-lease"), scene.remedies("holder-without-lease"));
        scene.put("/jobs/nl/f040a2285077ba19", 0, "");
        let later = scene.read_anew();
        assert_eq!(
            (scene.codes_of_lock("/jobs/nl"), later.codes_of_lock("/jobs/nl")),
            (Vec::new(), Vec::new()),
            "digests"
        );
    }

    #[test]
    fn a_lone_key_with_a_value_is_a_warning_until_somebody_waits_or_the_name_says_lock() {
        let mut scene = Scene::reading(&[("/orph/job/694d000000000001", "hostA", 0)]);
        let told = "/orph/job/694d000000000001 has a lock's form and no lease: created at revision 2; a client that \
                    locks /orph/job would wait for it for ever";
        assert_eq!(scene.told("holder-without-lease"), [told]);
        assert_eq!(scene.finding("holder-without-lease").severity, Severity::Warn);
        scene.put("/orph/job/694d000000000001", 0, "hostB");
        assert_eq!(scene.codes_of_lock("/orph/job"), ["holder-without-lease"], "settings are written again");
        scene.put("/orph/job/20", 0x20, "");
        assert_eq!(scene.finding("holder-without-lease").severity, Severity::Error);
        assert_eq!(scene.codes_of("foreign-key"), 0);
        let named = Scene::reading(&[("/orph/lock/694d000000000001", "hostA", 0)]);
        assert_eq!(named.finding("holder-without-lease").severity, Severity::Error);
    }

    #[test]
    fn hex_beside_hex_without_leases_is_data() {
        let two = [("/blobs/694d000000000001", "a", 0), ("/blobs/f040a2285077ba19", "b", 0)];
        assert!(Scene::reading(&two).codes_of_lock("/blobs").is_empty());
        let long = "x".repeat(300);
        let beside_long = [("/blobs/694d000000000001", "a", 0), ("/blobs/f040a2285077ba19", long.as_str(), 0)];
        assert!(Scene::reading(&beside_long).codes_of_lock("/blobs").is_empty());
    }

    #[test]
    fn a_key_of_the_queues_own_form_is_no_foreign_key_even_of_digits_alone() {
        for key in ["/jobs/nl/694d000000000001", "/jobs/nl/1795972100434902"] {
            let mut scene = Scene::reading(&[(key, "hostA", 0), ("/jobs/nl/20", "", 0x20)]);
            assert_eq!(scene.codes_of_lock("/jobs/nl"), ["holder-without-lease"], "{key}");
            assert_eq!(scene.finding("holder-without-lease").severity, Severity::Error);
            scene.put("/jobs/nl/30", 0x30, "");
            assert_eq!(scene.codes_of("foreign-key"), 0);
        }
    }

    #[test]
    fn who_waits_without_a_lease_is_told_before_it_holds() {
        let scene = Scene::reading(&[("/jobs/nl/20", "", 0x20), ("/jobs/nl/694d000000000001", "hostA", 0)]);
        let told = "/jobs/nl/694d000000000001 waits and has no lease: once it is first the lock never frees by itself; \
                    1 waiter in all";
        assert_eq!(scene.told("holder-without-lease"), [told]);
        assert_eq!(scene.finding("holder-without-lease").severity, Severity::Warn);
    }

    #[test]
    fn a_lock_that_no_lease_leads_to_says_how_it_is_found_again() {
        let mut scene = Scene::reading(&[("/jobs/nl/694d82254d5fa305", "", 0), ("/jobs/nl/20", "", 0x20)]);
        scene.observe(Observation::Scope(vec![KeyRange::prefix(b"/jobs/nl/")]));
        assert!(scene.told("holder-without-lease")[0].ends_with("1 waiter blocked"));
        scene.delete("/jobs/nl/20");
        let told = scene.told("holder-without-lease");
        assert!(
            told[0].ends_with(
                "0 waiters blocked; no lease points to this lock, so a later look finds it only with --prefix"
            ),
            "{told:?}"
        );
    }

    #[test]
    fn who_waited_first_has_held_only_since_it_came_first() {
        let mut scene = Scene::reading(&[("/vault/core/lock/10", "uuid", 0x10), ("/vault/core/lock/20", "uuid", 0x20)]);
        scene.put("/vault/core/lock/20", 0, "uuid");
        scene.pass(90_000);
        scene.delete("/vault/core/lock/10");
        scene.pass(5_000);
        let told = scene.told("holder-without-lease");
        assert_eq!(
            told,
            ["/vault/core/lock/20 has no lease: created at revision 3, holding for 5s; 0 waiters blocked"]
        );
    }
}
