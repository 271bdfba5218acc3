//! A lock that is one key: who waits leaves no trace.

use hashbrown::HashMap;

use super::{Finding, Found, Look, Rule, Severity, Thresholds, remedy};
use crate::domain::{Millis, Sentence, Value};
use crate::layout::Layout;
use crate::model::{Facts, LockView};

pub(super) const RULE: Rule = Rule {
    code: "single-key-lock",
    severities: &[Severity::Info],
    when: "a lock is one key that clients try to create",
    why: "Waiters cannot be seen and have no turn: whoever tries first after a release has it.",
    advice: "Count the clients yourself; use a queue where turns matter.",
    source: "etcd `client/v3/concurrency` has the queue; leases without keys hint at waiters",
    look: Look::Keys(look),
};

fn look(facts: &Facts, _: &Thresholds, found: &mut Found<'_>) {
    let mut keyless: Option<HashMap<Millis, usize>> = None;
    for lock in facts.locks().filter(|lock| lock.layout() == Layout::SingleKey) {
        let granted = lock.holder().and_then(|holder| holder.granted());
        let alike = granted.and_then(|granted| keyless.get_or_insert_with(|| count(facts)).get(&granted).copied());
        found.add(of_lock(lock, granted, alike.unwrap_or(0)));
    }
}

/// How many leases without keys there are of each time.
fn count(facts: &Facts) -> HashMap<Millis, usize> {
    let mut counts = HashMap::new();
    for (_, granted, _) in facts.leases().keyless() {
        *counts.entry(granted).or_default() += 1;
    }
    counts
}

fn of_lock(lock: LockView<'_>, granted: Option<Millis>, alike: usize) -> Finding {
    let evidence = match granted {
        Some(granted) if alike > 0 => {
            Sentence::new("one key and no queue; {leases} of {granted} without keys may be of those who wait")
                .with("leases", Value::Count(alike, "lease"))
                .with("granted", granted)
        }
        _ => Sentence::new("one key and no queue: waiters cannot be seen"),
    };
    let remedy = remedy::show(lock.name());
    let finding = Finding::new(Severity::Info, evidence, remedy).lock(lock.name());
    match lock.holder() {
        Some(holder) => finding.key(holder.key()).lease(holder.lease()).since(lock.held_since()),
        None => finding,
    }
}

#[cfg(test)]
mod tests {
    use crate::model::findings::scene::Scene;

    #[test]
    fn leases_of_the_holders_time_without_keys_hint_at_waiters() {
        let mut scene = Scene::reading(&[("/cron/lock", "host-a", 1), ("/db/lock", "host-b", 2)]);
        assert_eq!(scene.told("single-key-lock"), ["one key and no queue: waiters cannot be seen"; 2]);
        scene.leases(1..=5);
        for (lease, granted) in [(1, 30), (2, 10), (3, 30), (4, 30), (5, 60)] {
            scene.ttl(lease, granted, granted);
        }
        let mut told = scene.told("single-key-lock");
        told.sort();
        let hint = "one key and no queue; 2 leases of 30s without keys may be of those who wait";
        assert_eq!(told, ["one key and no queue: waiters cannot be seen", hint].map(String::from));
    }
}
