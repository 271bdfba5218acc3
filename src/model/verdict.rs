//! One sentence about a lock: who holds it since when, whether that ends by itself, who waits.
//!
//! It is made of clauses, each a sentence of its own with its values apart. What is not known is
//! said to be: a lease that was asked once tells nothing of renewals.

use crate::domain::{LeaseId, Millis, Sentence, Value};
use crate::layout::Layout;
use crate::layout::value::kubernetes;

use super::look::LARGE_LEASE;
use super::{Cause, Facts, KeyView, LockView, Renewal, Stale, TtlState};

/// The clauses of the verdict on a lock, to be read with semicolons between them; where there is
/// no room for all, the last ones can be left out first.
pub fn verdict(facts: &Facts, lock: &LockView<'_>) -> Vec<Sentence> {
    with_unread(facts, lock, 0)
}

/// The same, where the holder's lease told of so many keys more that were not read.
pub fn with_unread(facts: &Facts, lock: &LockView<'_>, unread: usize) -> Vec<Sentence> {
    if !lock.layout().is_lock() {
        return vec![
            Sentence::new("no lock: {keys}, each there as long as its lease")
                .with("keys", Value::Count(lock.holder_count(), "key")),
        ];
    }
    let Some(holder) = lock.holder() else { return free(facts, lock) };
    let mut clauses = held(facts, lock, &holder);
    clauses.extend(others_who_hold(lock));
    clauses.extend(waiting(lock, &holder));
    clauses.extend(same_lease(facts, lock, &holder, unread));
    clauses.extend(named(lock, &holder));
    clauses
}

/// Nobody holds it.
fn free(facts: &Facts, lock: &LockView<'_>) -> Vec<Sentence> {
    let mut clauses = vec![match lock.free_since() {
        Some(since) => Sentence::new("free for {free}").with("free", facts.now().since(since)),
        None => Sentence::new("free; since when was not seen"),
    }];
    let last = lock.holds().next_back().and_then(|hold| Some((hold, hold.ended?)));
    clauses.extend(last.and_then(|(hold, end)| {
        let words = match end.cause {
            Cause::Released => "its last holder {key} released it",
            Cause::Expired => "the lease of its last holder {key} expired",
            Cause::Revoked => "the lease of its last holder {key} was revoked",
            _ => return None,
        };
        Some(Sentence::new(words).with("key", hold.key.clone()))
    }));
    clauses
}

/// For how long it is held, by whom, and how that can end.
fn held(facts: &Facts, lock: &LockView<'_>, holder: &KeyView<'_>) -> Vec<Sentence> {
    let since = lock.held_since().unwrap_or(holder.since());
    let length = facts.told_until().since(since.at);
    let is_heard = facts.told_until() == facts.now();
    let for_how_long = |length: Millis| {
        // Who came later than the holder, or hears nothing more, knows the least it can be.
        let words = if since.exact && is_heard { "held for {held}" } else { "held for at least {held}" };
        Sentence::new(words).with("held", length)
    };
    let length = (since.exact || length >= Millis::from_secs(1)).then_some(length);
    if lock.layout() == Layout::KubernetesLease {
        return vec![by_its_value(facts, holder)];
    }
    if holder.is_foreign(lock.layout()) {
        return vec![foreign(holder)];
    }
    if holder.ttl() == TtlState::NoLease {
        let never = Sentence::new("never frees by itself: its holder has no lease");
        let long = length.map(for_how_long);
        return [never].into_iter().chain(long).collect();
    }
    let hold = length.map_or(Sentence::new("held"), for_how_long);
    vec![ending(facts, holder).with("hold", hold)]
}

/// How a hold on a lease can end; how long it has been is put in for `hold`.
fn ending(facts: &Facts, holder: &KeyView<'_>) -> Sentence {
    if let Some(stale) = holder.stale() {
        return last_seen(stale);
    }
    match (holder.ttl(), holder.renewal()) {
        (TtlState::Live { remaining, .. }, Renewal::Renewed { ago }) => {
            Sentence::new("{hold} by a live client: lease {remaining}, renewed {renewed} ago")
                .with("remaining", remaining)
                .with("renewed", ago)
        }
        (TtlState::Live { remaining, .. }, Renewal::NotRenewed { since: silent }) => {
            Sentence::new("{hold} by a client that stopped renewing {silent} ago: frees by itself in {remaining}")
                .with("silent", silent)
                .with("remaining", remaining)
        }
        (TtlState::Live { remaining, granted, .. }, Renewal::Unknown) => {
            Sentence::new("{hold}: lease {remaining} of {granted}, whether it is renewed was not seen")
                .with("remaining", remaining)
                .with("granted", Millis::from_secs(granted))
        }
        (TtlState::Overdue { by, .. }, _) => {
            Sentence::new("{hold} on a lease that is overdue by {overdue}: frees once the leader revokes it")
                .with("overdue", by)
        }
        (TtlState::Gone, _) => Sentence::new("{hold} on a lease that is gone"),
        (TtlState::Unpolled, _) if facts.plan.is_unanswered() => {
            Sentence::new("{hold}: its lease was asked for its time and gave no answer")
        }
        (TtlState::Unpolled | TtlState::NoLease, _) => Sentence::new("{hold}: the time of its lease was not asked"),
        (TtlState::Unknown, _) => Sentence::new("{hold}: a new leader does not know the time of its lease yet"),
    }
}

/// What was seen of its lease last, when that is too long ago to say how the hold can end.
fn last_seen(Stale { asked, ttl, renewal }: Stale) -> Sentence {
    let words = match (ttl, renewal) {
        (TtlState::Overdue { .. }, _) => {
            "{hold} on a lease that was overdue when last asked {asked} ago; what is now is not known"
        }
        (_, Renewal::Renewed { .. }) => {
            "{hold} by a client that was alive when last asked {asked} ago; what is now is not known"
        }
        (_, Renewal::NotRenewed { .. }) => {
            "{hold} by a client that had stopped renewing when last asked {asked} ago; what is now is not known"
        }
        (_, Renewal::Unknown) => {
            "{hold}: its lease had {remaining} when last asked {asked} ago; what is now is not known"
        }
    };
    Sentence::new(words).with("remaining", ttl.remaining().unwrap_or_default()).with("asked", asked)
}

/// The name that the holder's value gives its client.
fn named(lock: &LockView<'_>, holder: &KeyView<'_>) -> Option<Sentence> {
    let owner = holder.owner();
    // Of a Kubernetes lease it is the first that is said.
    let owner = owner.filter(|_| lock.layout() != Layout::KubernetesLease)?;
    Some(Sentence::new("its value names {owner}").with("owner", owner))
}

/// A key of another kind is first.
fn foreign(key: &KeyView<'_>) -> Sentence {
    let words = match key.ttl() {
        TtlState::NoLease => "never frees by itself: {key} is no key of this lock, leads its queue and has no lease",
        _ => "blocked by {key}, which is no key of this lock and leads its queue as long as its lease lasts",
    };
    Sentence::new(words).with("key", key.key())
}

/// A Kubernetes lease: its value says all.
fn by_its_value(facts: &Facts, holder: &KeyView<'_>) -> Sentence {
    let lease = kubernetes::Lease::parse(&holder.entry().value).unwrap_or_default();
    let by = lease.holder.clone().unwrap_or_default();
    let now = facts.now();
    match (lease.renewed, lease.expires()) {
        (Some(renewed), Some(end)) if end >= now => {
            Sentence::new("held by {owner}, renewed {renewed} ago by its value; others may take it over in {remaining}")
                .with("owner", by)
                .with("renewed", now.since(renewed))
                .with("remaining", end - now)
        }
        (Some(renewed), Some(end)) => Sentence::new(
            "held by {owner}, not renewed for {silent} by its value: others may take it over since {overdue}",
        )
        .with("owner", by)
        .with("silent", now.since(renewed))
        .with("overdue", now - end),
        _ => Sentence::new("held by {owner}; its value does not say for how long").with("owner", by),
    }
}

/// Readers of a read-write lock hold together.
fn others_who_hold(lock: &LockView<'_>) -> Option<Sentence> {
    let others = lock.holder_count().saturating_sub(1);
    match others {
        0 => None,
        1 => Some(Sentence::new("{others} more holds with it").with("others", 1)),
        _ => {
            let number = i64::try_from(others).unwrap_or(i64::MAX);
            Some(Sentence::new("{others} more hold with it").with("others", number))
        }
    }
}

/// Who waits, and who is next when the holder is about to go.
fn waiting(lock: &LockView<'_>, holder: &KeyView<'_>) -> Vec<Sentence> {
    if !lock.layout().has_queue() {
        return vec![Sentence::new("who waits cannot be seen")];
    }
    let count = lock.waiter_count();
    let mut clauses = vec![match count {
        0 => Sentence::new("nobody waits"),
        1 => Sentence::new("{waiters} waits").with("waiters", 1),
        _ => Sentence::new("{waiters} wait").with("waiters", i64::try_from(count).unwrap_or(i64::MAX)),
    }];
    let stays =
        matches!(holder.ttl(), TtlState::Live { .. }) && !matches!(holder.renewal(), Renewal::NotRenewed { .. });
    let next = if stays { None } else { lock.waiters().next() };
    clauses.extend(next.map(|next| {
        let words = match next.key.renewal() {
            Renewal::NotRenewed { .. } => "next is {next}, which is not renewed either",
            _ => "next is {next}",
        };
        Sentence::new(words).with("next", next.key.key())
    }));
    clauses
}

/// What else the holder's lease is in. What each key of a lease does has to be looked up, so of a
/// large one only their number is told.
fn same_lease(facts: &Facts, lock: &LockView<'_>, holder: &KeyView<'_>, unread: usize) -> Vec<Sentence> {
    let mut clauses = Vec::new();
    let lease = facts.lease(holder.lease()).filter(|_| holder.lease() != LeaseId::NONE);
    let Some(lease) = lease else { return clauses };
    let keys = lease.key_count() + unread;
    if keys > LARGE_LEASE {
        return vec![Sentence::new("the lease has {keys}").with("keys", Value::Count(keys, "key"))];
    }
    let others = lease.holds().iter().filter(|other| other.ix() != lock.ix()).count();
    if others > 0 {
        clauses.push(Sentence::new("the lease also holds {others}").with("others", Value::Count(others, "other lock")));
    }
    if let Some(other) = lease.waits_for().iter().find(|other| other.ix() != lock.ix()) {
        clauses.push(Sentence::new("the lease waits for {other} itself").with("other", other.name()));
    }
    let words = match unread {
        0 => return clauses,
        1 => "the lease has {keys} more that was not read",
        _ => "the lease has {keys} more that were not read",
    };
    clauses.push(Sentence::new(words).with("keys", Value::Count(unread, "key")));
    clauses
}

#[cfg(test)]
mod tests {
    use crate::domain::Millis;
    use crate::event::{LeasePollCost, LinkState, Observation};
    use crate::model::findings::scene::Scene;
    use crate::view::text;

    fn said(scene: &Scene, lock: &str) -> String {
        let facts = scene.model.live();
        let lock = facts.lock_named(lock.as_bytes()).expect("it is there");
        text::verdict(&super::verdict(facts, &lock))
    }

    /// A queue whose three leases are asked when they are new, and then a while later.
    fn queue(later: i64, left: [i64; 3]) -> Scene {
        let mut scene = Scene::of_three();
        for lease in 1..=3 {
            scene.put(&format!("/jobs/a/{lease}"), lease, "");
            scene.ttl(lease, 60, 60);
        }
        scene.pass(later);
        for (lease, left) in (1..).zip(left) {
            scene.ttl(lease, 60, left);
        }
        scene
    }

    #[test]
    fn a_live_client_is_told_with_its_lease_and_who_waits() {
        let mut scene = queue(30_000, [58, 58, 58]);
        scene.put("/jobs/b/1", 1, "");
        scene.put("/jobs/c/1", 1, "");
        scene.pass(1_000);
        assert_eq!(
            said(&scene, "/jobs/a"),
            "held for 31s by a live client: lease 57s, renewed 3s ago; 2 wait; the lease also holds 2 other locks"
        );
    }

    #[test]
    fn of_a_large_lease_the_keys_are_counted() {
        let mut scene = queue(30_000, [58, 58, 58]);
        for number in 0..1_000 {
            scene.put(&format!("/many/{number}/1"), 1, "");
        }
        assert!(said(&scene, "/jobs/a").ends_with("2 wait; the lease has 1,001 keys"));
    }

    #[test]
    fn keys_that_only_the_lease_tells_of_are_counted() {
        let scene = queue(30_000, [58, 58, 58]);
        let facts = scene.model.live();
        let lock = facts.lock_named(b"/jobs/a").expect("it is there");
        let last = |unread| text::verdict(&super::with_unread(facts, &lock, unread)[2..]);
        assert_eq!(last(1), "the lease has 1 key more that was not read");
        assert_eq!(last(99_000), "the lease has 99,001 keys");
    }

    #[test]
    fn a_dead_client_is_told_with_the_time_that_is_left_and_who_is_next() {
        let mut scene = queue(30_000, [30, 58, 58]);
        scene.pass(1_000);
        scene.ttl(1, 60, 29);
        assert_eq!(
            said(&scene, "/jobs/a"),
            "held for 31s by a client that stopped renewing 31s ago: frees by itself in 29s; 2 wait; \
             next is /jobs/a/2"
        );
    }

    #[test]
    fn who_was_alive_when_nothing_was_heard_any_more_is_not_called_alive() {
        let mut scene = queue(30_000, [58, 58, 58]);
        scene.link(LinkState::Retrying { attempt: 1, next_at: scene.now(), why: Vec::new() });
        scene.pass(65_000);
        assert_eq!(
            said(&scene, "/jobs/a"),
            "held for at least 30s by a client that was alive when last asked 1m05s ago; what is now is not known; \
             2 wait"
        );
    }

    #[test]
    fn who_has_no_lease_never_lets_go() {
        let mut scene = Scene::of_three();
        scene.put("/jobs/a/694d82254d5fa305", 0, "");
        scene.put("/jobs/a/6", 6, "");
        scene.pass(5_000);
        let verdict = said(&scene, "/jobs/a");
        assert!(
            verdict.starts_with("never frees by itself: its holder has no lease; held for 5s; 1 waits"),
            "{verdict}"
        );
    }

    #[test]
    fn what_is_not_known_is_said_to_be() {
        let mut scene = Scene::of_three();
        scene.put("/jobs/a/1", 1, "");
        scene.pass(2_000);
        assert_eq!(said(&scene, "/jobs/a"), "held for 2s: the time of its lease was not asked; nobody waits");
        scene.observe(Observation::LeasesPolled(LeasePollCost { asked: 1, failed: 1, took: Millis(5_000) }));
        assert_eq!(
            said(&scene, "/jobs/a"),
            "held for 2s: its lease was asked for its time and gave no answer; nobody waits"
        );
        let mut late = scene.read_anew();
        late.pass(2_000);
        let verdict = said(&late, "/jobs/a");
        assert_eq!(verdict, "held for at least 2s: the time of its lease was not asked; nobody waits");
        scene.ttl(1, 60, 57);
        assert_eq!(
            said(&scene, "/jobs/a"),
            "held for 2s: lease 57s of 1m00s, whether it is renewed was not seen; nobody waits"
        );
    }

    #[test]
    fn a_free_lock_tells_how_its_last_hold_ended() {
        let mut scene = Scene::of_three();
        scene.put("/jobs/a/1", 1, "");
        scene.ttl(1, 60, 58);
        scene.delete("/jobs/a/1");
        scene.ttl(1, 60, 58);
        scene.pass(20_000);
        assert_eq!(said(&scene, "/jobs/a"), "free for 20s; its last holder /jobs/a/1 released it");
    }

    #[test]
    fn a_holder_that_waits_itself_is_told_so() {
        let mut scene = Scene::of_three();
        for (key, lease) in [("/d/one/1", 1), ("/d/two/2", 2), ("/d/two/1", 1), ("/d/one/2", 2)] {
            scene.put(key, lease, "");
        }
        let verdict = said(&scene, "/d/one");
        assert!(verdict.ends_with("1 waits; next is /d/one/2; the lease waits for /d/two itself"), "{verdict}");
    }
}
