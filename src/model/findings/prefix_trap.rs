//! Keys of one lock lie in the range that another lock's clients take for their queue.
//!
//! A recipe ranges over `<name>/`, so the keys of a lock `a/b` stand in the queue of `a`. Names that
//! only begin alike, as `/jobs/1` and `/jobs/10`, keep out of each other's way, unless clients range
//! over the bare name. Locks are looked up by the parents of their names; names are sorted only
//! where such clients are known.

use hashbrown::HashMap;

use super::{Finding, Found, Look, Rule, Severity, Thresholds};
use crate::domain::{Key, Millis, Sentence, Value};
use crate::layout::Layout;
use crate::model::{Facts, KeyView, LockIx, LockView};

/// How many of the locks in a range are named.
const NAMED: usize = 3;
/// A lock that is free for so long may never be taken again.
const OF_USE: Millis = Millis(10 * 60_000);
/// The families whose clients range over a lock's bare name: as written by hand, with `/lock/a`
/// for a prefix.
const BARE: [&str; 1] = ["uuid-queue"];

pub(super) const RULE: Rule = Rule {
    code: "prefix-trap",
    severities: &[Severity::Warn],
    when: "one lock's keys lie in the range of another's queue: its name is the other's with a slash and more, or just with more where clients range over the bare name",
    why: "Every key in its range stands in a lock's queue, so who holds the one blocks the other.",
    advice: "Give locks names of which none is the beginning of another up to a slash, and range over names with their closing slash.",
    source: "etcd `client/v3/concurrency/mutex.go`: the queue is everything under `<name>/`; etcd PR 6284",
    look: Look::Moving(look),
};

/// A lock with others in its range.
struct Trap<'a> {
    outer: LockView<'a>,
    /// Whether their names go on without a slash.
    bare: bool,
    count: usize,
    /// The first of them by name.
    named: Vec<&'a [u8]>,
    /// The oldest key of them.
    oldest: Option<KeyView<'a>>,
}

fn look(facts: &Facts, _: &Thresholds, found: &mut Found<'_>) {
    let mut traps: HashMap<(LockIx, bool), Trap<'_>> = HashMap::new();
    nested(facts, &mut traps);
    alike(facts, &mut traps);
    let mut traps: Vec<Trap<'_>> = traps.into_values().collect();
    traps.sort_unstable_by_key(|trap| (trap.outer.name(), trap.bare));
    for trap in &traps {
        found.add(trap.finding());
    }
}

/// Locks whose names are others' with a slash and more.
fn nested<'a>(facts: &'a Facts, traps: &mut HashMap<(LockIx, bool), Trap<'a>>) {
    for inner in facts.locks().filter(|lock| is_of_use(lock)) {
        let name = inner.name();
        for at in (1..name.len()).filter(|&at| name[at] == b'/') {
            let outer = facts.lock_named(&name[..at]).filter(|outer| outer.ix() != inner.ix() && ranges(outer));
            if let Some(outer) = outer {
                Trap::at(traps, outer, false).take(inner);
            }
        }
    }
}

/// Locks whose names are others' with more, and no slash between, where clients range over the
/// bare name.
fn alike<'a>(facts: &'a Facts, traps: &mut HashMap<(LockIx, bool), Trap<'a>>) {
    if !facts.locks().any(|lock| ranges_bare(&lock)) {
        return;
    }
    let mut locks: Vec<LockView<'_>> = facts.locks().filter(is_of_use).collect();
    locks.sort_unstable_by_key(|lock| (lock.name(), lock.ix()));
    // In this order all that begin with a name come right behind it.
    let mut open: Vec<LockView<'_>> = Vec::new();
    for lock in locks {
        while open.last().is_some_and(|outer| !lock.name().starts_with(outer.name())) {
            open.pop();
        }
        for outer in &open {
            if lock.name().get(outer.name().len()).is_some_and(|next| *next != b'/') {
                Trap::at(traps, *outer, true).take(lock);
            }
        }
        if ranges_bare(&lock) {
            open.push(lock);
        }
    }
}

/// Whether the clients of a lock take everything under its name for its queue.
fn ranges(lock: &LockView<'_>) -> bool {
    // Scalingo's readers have a queue elsewhere.
    lock.layout().has_queue() && (lock.layout() != Layout::RwLock || lock.family() != "scalingo") && is_of_use(lock)
}

fn ranges_bare(lock: &LockView<'_>) -> bool {
    BARE.contains(&lock.family()) && ranges(lock)
}

fn is_of_use(lock: &LockView<'_>) -> bool {
    lock.layout().is_lock() && lock.free_since().is_none_or(|since| lock.facts.now().since(since) < OF_USE)
}

impl<'a> Trap<'a> {
    fn at<'t>(traps: &'t mut HashMap<(LockIx, bool), Self>, outer: LockView<'a>, bare: bool) -> &'t mut Self {
        traps.entry((outer.ix(), bare)).or_insert_with(|| Self {
            outer,
            bare,
            count: 0,
            named: Vec::new(),
            oldest: None,
        })
    }

    fn take(&mut self, inner: LockView<'a>) {
        self.count += 1;
        let at = self.named.partition_point(|known| *known < inner.name());
        if at < NAMED {
            self.named.insert(at, inner.name());
            self.named.truncate(NAMED);
        }
        if let Some(holder) = inner.holder()
            && self.oldest.is_none_or(|oldest| holder.token() < oldest.token())
        {
            self.oldest = Some(holder);
        }
    }

    fn finding(&self) -> Finding {
        let name = self.outer.name();
        // By its own keys the lock seems to be held by one that waits in truth.
        let blocks = self.outer.holder().zip(self.oldest).filter(|(first, oldest)| oldest.token() < first.token());
        let words = match (self.bare, blocks.is_some()) {
            (false, false) => "its clients range over {range}, where keys of {count} lie: {inner}",
            (false, true) => {
                "its clients range over {range}, where keys of {count} lie: {first} waits for {oldest}, of {inner}"
            }
            (true, false) => {
                "{family} clients range over {range} without a closing slash, where keys of {count} lie: {inner}"
            }
            (true, true) => {
                "{family} clients range over {range} without a closing slash, where keys of {count} lie: {first} waits for {oldest}, of {inner}"
            }
        };
        let range = if self.bare { Key::from(name) } else { Key::from([name, b"/"].concat()) };
        let named: Vec<Key> = self.named.iter().copied().map(Key::from).collect();
        let mut evidence = Sentence::new(words)
            .with("family", self.outer.family())
            .with("range", range.clone())
            .with("count", Value::Count(self.count, "other lock"))
            .with("inner", named.clone());
        if let Some((first, oldest)) = blocks {
            evidence = evidence.with("first", first.key()).with("oldest", oldest.key());
        }
        let remedy = Sentence::new("etcdctl get --prefix --keys-only {range}").with("range", range);
        let finding = Finding::new(Severity::Warn, evidence, remedy).lock(name);
        let finding = named.into_iter().fold(finding, Finding::lock);
        blocks.into_iter().fold(finding, |finding, (first, oldest)| finding.key(oldest.key()).key(first.key()))
    }
}

#[cfg(test)]
mod tests {
    use crate::model::findings::scene::Scene;

    const ONE: &str = "7c7ad9fd-f80f-4426-98c8-5a225d58f2c7";
    const TWO: &str = "7c7ad9fd-f80f-4426-98c8-5a225d58f2c8";

    #[test]
    fn names_that_only_begin_alike_are_no_trap_for_recipes_that_close_them() {
        let mut scene = Scene::of_three();
        scene.put("/jobs/1/11", 0x11, "");
        scene.put("/jobs/10/12", 0x12, "");
        scene.put("/lock/mylock/13", 0x13, "");
        scene.put("/lock/mylock2/14", 0x14, "");
        assert_eq!(scene.codes(), [""; 0]);
    }

    #[test]
    fn a_nested_lock_stands_in_the_queue_of_the_outer_one() {
        let mut scene = Scene::of_three();
        scene.put("a/11", 0x11, "");
        scene.put("a/b/12", 0x12, "");
        assert_eq!(scene.codes(), ["prefix-trap"]);
        assert_eq!(scene.evidence("prefix-trap"), "its clients range over a/, where keys of 1 other lock lie: a/b");
        assert_eq!(scene.remedy("prefix-trap"), "etcdctl get --prefix --keys-only a/");
        scene.delete("a/11");
        scene.put("a/13", 0x13, "");
        assert_eq!(
            scene.evidence("prefix-trap"),
            "its clients range over a/, where keys of 1 other lock lie: a/13 waits for a/b/12, of a/b"
        );
        scene.delete("a/b/12");
        scene.pass(601_000);
        assert_eq!(scene.codes(), [""; 0], "nobody uses the inner one any more");
    }

    #[test]
    fn queues_of_uuids_are_read_without_a_closing_slash() {
        let mut scene = Scene::of_three();
        scene.put(&format!("/lock/mylock2/{TWO}"), 2, "");
        scene.put(&format!("/lock/mylock/{ONE}"), 1, "");
        assert_eq!(scene.codes(), ["prefix-trap"]);
        assert_eq!(
            scene.evidence("prefix-trap"),
            format!(
                "uuid-queue clients range over /lock/mylock without a closing slash, where keys of 1 other lock lie: \
                 /lock/mylock/{ONE} waits for /lock/mylock2/{TWO}, of /lock/mylock2"
            )
        );
        let finding = scene.finding("prefix-trap");
        assert_eq!(finding.locks, ["/lock/mylock".into(), "/lock/mylock2".into()]);
    }

    #[test]
    fn one_finding_names_the_first_of_many_locks_in_a_range() {
        let mut scene = Scene::of_three();
        scene.put("/jobs/99", 0x99, "");
        for job in 10..40_i64 {
            scene.put(&format!("/jobs/{job}/{:x}", 0x1000 + job), 0x1000 + job, "");
        }
        let findings = scene.all("prefix-trap");
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].locks.len(), 4);
        let evidence = scene.evidence("prefix-trap");
        assert!(evidence.ends_with("keys of 30 other locks lie: /jobs/10, /jobs/11, /jobs/12"), "{evidence}");
    }
}
