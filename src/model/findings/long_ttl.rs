//! A holder's lease is long: so is the wait after a crash.

use super::{Finding, Found, Look, Rule, Severity, Thresholds, remedy};
use crate::domain::{Sentence, Value};
use crate::model::LockView;

pub(super) const RULE: Rule = Rule {
    code: "long-ttl",
    severities: &[Severity::Info],
    when: "a holder's lease was granted more time than a threshold",
    why: "When its client crashes, everybody waits until that time is up.",
    advice: "Choose a TTL of a few renewals, and let the client renew it.",
    source: "etcd `server/lease/lessor.go`: a key goes when its lease is up, not when its client is",
    look: Look::Locks(look),
};

fn look(lock: LockView<'_>, thresholds: &Thresholds, found: &mut Found<'_>) {
    if !lock.has_etcd_leases() {
        return;
    }
    let Some(holder) = lock.holder() else { return };
    let Some(granted) = holder.granted().filter(|granted| *granted > thresholds.long_ttl) else { return };
    let evidence = Sentence::new("lease {lease} of {granted}: a crash of its client blocks for that long; {waiters}")
        .with("lease", holder.lease())
        .with("granted", granted)
        .with("waiters", Value::Count(lock.waiter_count(), "waiter"));
    let remedy = remedy::show(lock.name());
    found.add(Finding::new(Severity::Info, evidence, remedy).key_of(lock, holder).since(Some(holder.since())));
}

#[cfg(test)]
mod tests {
    use crate::model::findings::scene::Scene;

    #[test]
    fn a_lease_of_ten_minutes_is_long_and_one_of_five_is_not() {
        let mut scene = Scene::reading(&[("/jobs/a/10", "", 0x10), ("/jobs/b/20", "", 0x20)]);
        scene.ttl(0x10, 600, 590);
        scene.ttl(0x20, 300, 290);
        assert_eq!((scene.codes_of_lock("/jobs/a"), scene.codes_of_lock("/jobs/b")), (vec!["long-ttl"], vec![]));
        let told = ["lease 10 of 10m: a crash of its client blocks for that long; 0 waiters"];
        assert_eq!(scene.told("long-ttl"), told);
    }
}
