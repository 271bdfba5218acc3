//! A lock that is usually held is free for longer than usual.

use super::{Finding, Found, Look, Rule, Severity, Thresholds, remedy};
use crate::domain::{Millis, Sentence};
use crate::model::LockView;
use crate::model::lock::Since;

pub(super) const RULE: Rule = Rule {
    code: "no-holder",
    severities: &[Severity::Warn],
    when: "a lock that was held nine tenths of the time and for long at a time is free for longer than it ever was; told until that is usual",
    why: "Whoever led is gone and nobody took over: what the lock guards is not done.",
    advice: "See whether its clients run and can reach etcd.",
    source: "how long the lock was held and free while it was watched",
    look: Look::Locks(look),
};

/// Less time seen than this says nothing of what is usual.
const SEEN: Millis = Millis(10 * 60_000);

/// Locks that are held shorter than this as a rule guard pieces of work, and work ends.
const LED: Millis = Millis(30_000);

/// So many times the longest time that it was free before.
const TIMES: i64 = 3;

fn look(lock: LockView<'_>, thresholds: &Thresholds, found: &mut Found<'_>) {
    if !lock.layout().is_lock() {
        return;
    }
    let Some(at) = lock.free_since().filter(|_| lock.holder().is_none()) else { return };
    let free = lock.told_until().since(at);
    if free < thresholds.free_for {
        return;
    }
    let Some(history) = lock.history() else { return };
    let usage = &history.usage;
    let seen = Millis(usage.held.0 + usage.free.0 + free.0);
    if usage.held < SEEN || usage.held.0 < seen.0 / 10 * 9 || free.0 < usage.longest_free.0 * TIMES {
        return;
    }
    let mut times: Vec<Millis> = lock.holds().filter_map(|hold| Some(hold.ended?.at? - hold.began?.at)).collect();
    times.sort_unstable();
    if times.get(times.len() / 2).is_none_or(|median| *median < LED) {
        return;
    }
    let evidence = Sentence::new(
        "free for {free}; held {share} % of the last {seen}, and never free for more than {longest} before",
    )
    .with("free", free)
    .with("share", usage.held.0 * 100 / seen.0.max(1))
    .with("seen", seen)
    .with("longest", usage.longest_free);
    let remedy = remedy::show(lock.name());
    found.add(Finding::new(Severity::Warn, evidence, remedy).lock(lock.name()).since(Some(Since { at, exact: true })));
}

#[cfg(test)]
mod tests {
    use crate::model::findings::scene::Scene;

    /// Leaders who lead for a while each, with a pause between them; the last is gone.
    fn led(each: i64, pause: i64) -> Scene {
        let mut scene = Scene::reading(&[]);
        for turn in 0..10 {
            let key = format!("/app/leader/{:x}", 16 + turn);
            scene.put(&key, 16 + turn, "host");
            scene.pass(each);
            scene.delete(&key);
            scene.pass(if turn < 9 { pause } else { 0 });
        }
        scene
    }

    #[test]
    fn nobody_leads_for_longer_than_ever() {
        let mut scene = led(120_000, 5_000);
        scene.pass(59_000);
        assert!(scene.told("no-holder").is_empty());
        scene.pass(1_000);
        let told = ["free for 1m00s; held 91 % of the last 21m, and never free for more than 5s before"];
        assert_eq!(scene.told("no-holder"), told);
        scene.put("/app/leader/99", 0x99, "host");
        assert!(scene.told("no-holder").is_empty());
    }

    #[test]
    fn what_is_free_for_long_is_usual_in_the_end() {
        let mut scene = led(120_000, 5_000);
        scene.pass(10 * 60_000);
        assert!(scene.told("no-holder").is_empty());
    }

    #[test]
    fn a_queue_that_has_no_more_work_is_no_finding() {
        let mut scene = Scene::reading(&[]);
        for turn in 0..800 {
            let key = format!("/jobs/a/{:x}", 16 + turn);
            scene.put(&key, 16 + turn, "");
            scene.pass(1_000);
            scene.delete(&key);
            scene.pass(50);
        }
        scene.pass(70_000);
        assert!(scene.told("no-holder").is_empty());
    }
}
