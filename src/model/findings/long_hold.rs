//! A lock is held for long.

use super::{Finding, Found, Look, Rule, Severity, Thresholds, remedy};
use crate::domain::{Millis, Sentence, Value};
use crate::layout::{Layout, names_role};
use crate::model::LockView;

pub(super) const RULE: Rule = Rule {
    code: "long-hold",
    severities: &[Severity::Warn, Severity::Info],
    when: "a lock is held for longer than a threshold while others wait, or for several times its own median; with no median to go by, a client that renews and keeps others waiting for a while is told as an info; where the holder leads until it dies, this is no finding",
    why: "The holder may be stuck: it renews its lease and does not come to its end, and all others wait.",
    advice: "Look at what its client does before anything is revoked.",
    source: "the remembered holds of the lock",
    look: Look::Locks(look),
};

/// Fewer finished holds than this have no median that means anything.
const FEW: usize = 5;

/// A hold this short is never long.
pub(super) const SHORT: Millis = Millis(10_000);

fn look(lock: LockView<'_>, thresholds: &Thresholds, found: &mut Found<'_>) {
    if !lock.has_etcd_leases() || leads(lock) {
        return;
    }
    let Some(since) = lock.held_since() else { return };
    let held = lock.told_until().since(since.at);
    if held < SHORT {
        return;
    }
    let waiters = lock.waiter_count();
    let blocks = waiters > 0 && held >= thresholds.long_hold;
    let times = lock.hold_times();
    let median = times.get(times.len() / 2).filter(|_| times.len() >= FEW).copied();
    let most = |median: Millis| i64::from(thresholds.long_hold_medians).saturating_mul(median.0.max(1));
    let evidence = match median.filter(|&median| held.0 > most(median)) {
        Some(median) => {
            Sentence::new("held for {held}, {times} times its median of {median} in {finished}; {waiters} blocked")
                .with("times", held.0 / median.0.max(1))
                .with("median", median)
                .with("finished", Value::Count(times.len(), "hold"))
        }
        None if blocks && since.exact => Sentence::new("held for {held}; {waiters} blocked"),
        None if blocks => Sentence::new("held for {held} at least; {waiters} blocked"),
        None if median.is_none() && keeps_waiting(lock, held, thresholds) => Sentence::new(if since.exact {
            "held for {held} by a client that renews and does not let go; {waiters} blocked"
        } else {
            "held for {held} at least by a client that renews and does not let go; {waiters} blocked"
        }),
        None => return,
    };
    let evidence = evidence.with("held", held).with("waiters", Value::Count(waiters, "waiter"));
    let remedy = remedy::show(lock.name());
    let severity = if blocks { Severity::Warn } else { Severity::Info };
    let mut finding = Finding::new(severity, evidence, remedy).lock(lock.name()).since(Some(since));
    if let Some(holder) = lock.holder() {
        finding = finding.key(holder.key()).lease(holder.lease());
    }
    found.add(finding);
}

/// Whether others wait for a while behind a client that is alive: at work, or a zombie whose
/// heartbeat goes on without it.
fn keeps_waiting(lock: LockView<'_>, held: Millis, thresholds: &Thresholds) -> bool {
    held >= thresholds.kept_waiting && lock.waiter_count() > 0 && lock.holder().is_some_and(|holder| holder.was_alive())
}

/// Whether whoever holds it leads until it dies, so that others wait as long as all is well.
fn leads(lock: LockView<'_>) -> bool {
    lock.layout() == Layout::Election || LEADERS.contains(&lock.family()) || names_role(lock.name())
}

/// Families whose queues are elections.
const LEADERS: [&str; 3] = ["vault", "dolphinscheduler", "mayastor"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::LinkState;
    use crate::model::Diagnosis;
    use crate::model::findings::scene::Scene;

    fn severity(scene: &Scene) -> Option<Severity> {
        scene.all("long-hold").first().map(|finding| finding.severity)
    }

    #[test]
    fn longer_than_the_threshold_is_long_when_others_wait() {
        let mut scene = Scene::reading(&[("/jobs/a/10", "", 0x10), ("/jobs/a/20", "", 0x20), ("/jobs/b/10", "", 0x10)]);
        scene.pass(14 * 60_000);
        assert_eq!(severity(&scene), None);
        scene.pass(60_000);
        assert_eq!(severity(&scene), Some(Severity::Warn));
        assert_eq!(scene.told("long-hold"), ["held for 15m at least; 1 waiter blocked"]);
        scene.delete("/jobs/a/10");
        assert_eq!(severity(&scene), None, "who holds now holds for a moment");
    }

    #[test]
    fn several_times_the_median_is_worth_knowing() {
        let mut scene = Scene::reading(&[]);
        for turn in 0..6 {
            let key = format!("/jobs/a/{:x}", 16 + turn);
            scene.put(&key, 16 + turn, "");
            scene.pass(4_000);
            scene.delete(&key);
        }
        scene.put("/jobs/a/40", 0x40, "");
        scene.pass(20_000);
        assert_eq!(severity(&scene), None);
        scene.pass(1_000);
        assert_eq!(severity(&scene), Some(Severity::Info));
        assert_eq!(scene.told("long-hold"), ["held for 21s, 5 times its median of 4s in 6 holds; 0 waiters blocked"]);
    }

    #[test]
    fn while_nothing_is_heard_no_hold_grows_long() {
        let mut scene = Scene::reading(&[]);
        for turn in 0..6 {
            let key = format!("/jobs/a/{:x}", 16 + turn);
            scene.put(&key, 16 + turn, "");
            scene.pass(2_000);
            scene.delete(&key);
        }
        scene.put("/jobs/a/40", 0x40, "");
        scene.pass(9_000);
        scene.ttl(0x40, 60, 50);
        scene.pass(5_000);
        scene.link(LinkState::Retrying { attempt: 1, next_at: scene.now(), why: Vec::new() });
        scene.pass(30_000);
        assert_eq!(severity(&scene), None, "it was heard of when the lock was held for nine seconds");
        scene.link(LinkState::Live { endpoint: "http://a:1".into() });
        assert_eq!(severity(&scene), Some(Severity::Info));
    }

    #[test]
    fn a_client_that_renews_and_keeps_others_waiting_is_worth_knowing() {
        let mut scene = Scene::reading(&[("/jobs/a/10", "", 0x10), ("/jobs/a/20", "", 0x20)]);
        scene.ttl(0x10, 30, 22);
        scene.pass(10_000);
        scene.ttl(0x10, 30, 28);
        scene.pass(9_000);
        assert_eq!(severity(&scene), None);
        scene.ttl(0x10, 30, 29);
        scene.pass(1_000);
        assert_eq!(severity(&scene), Some(Severity::Info));
        let told = "held for 20s at least by a client that renews and does not let go; 1 waiter blocked";
        assert_eq!(scene.told("long-hold"), [told]);
        scene.delete("/jobs/a/20");
        assert_eq!(severity(&scene), None, "nobody waits");
    }

    #[test]
    fn who_watches_for_a_short_time_is_told_of_those_who_wait_all_the_time() {
        let mut scene = Scene::reading(&[("/jobs/a/10", "", 0x10), ("/jobs/a/20", "", 0x20)]);
        scene.ttl(0x10, 30, 22);
        scene.pass(6_000);
        scene.ttl(0x10, 30, 28);
        scene.pass(5_700);
        let found = |thresholds: &Thresholds| {
            let diagnosis = Diagnosis::of(scene.model.live(), thresholds);
            diagnosis.findings().iter().any(|finding| finding.code == "long-hold")
        };
        let usual = Thresholds::default();
        assert!(!found(&usual));
        assert!(found(&usual.while_watched(Millis(12_000))));
        assert!(!found(&usual.while_watched(Millis(18_000))), "they did not wait for most of that");
    }

    #[test]
    fn a_leader_may_lead_for_years() {
        let mut scene = Scene::reading(&[
            ("/ctl/election/10", "host-a", 0x10),
            ("/ctl/election/20", "host-b", 0x20),
            ("/app/leader/30", "", 0x30),
            ("/app/leader/40", "", 0x40),
        ]);
        scene.pass(24 * 60 * 60_000);
        assert_eq!(severity(&scene), None);
    }
}
