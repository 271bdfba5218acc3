//! A waiter's lease runs out before the holder has to let go.

use super::{Finding, Found, Look, Rule, Severity, Thresholds};
use crate::domain::{Millis, Sentence, Value};
use crate::model::{KeyView, LockView, Renewal, TtlState};

pub(super) const RULE: Rule = Rule {
    code: "waiter-will-drop",
    severities: &[Severity::Warn],
    when: "a waiter's lease is not renewed and is up before the holder's can be",
    why: "Its key goes with the lease, so it falls out of the queue; until 3.5 the Lock call then answers OK all the same.",
    advice: "Let clients renew their lease while they wait. If this one still lives, renew it by hand.",
    source: "etcd `server/etcdserver/api/v3lock/lock.go`; etcd-io/etcd 9921, 11456",
    look: Look::Locks(look),
};

/// etcd answers in whole seconds: what differs by less may be the same.
const GRAIN: Millis = Millis(1_500);

/// How many of them are named.
const NAMED: usize = 16;

fn look(lock: LockView<'_>, _: &Thresholds, found: &mut Found<'_>) {
    if !lock.has_etcd_leases() || lock.waiter_count() == 0 {
        return;
    }
    let holders = lock.holder_count();
    let Some(last) = lock.queue().take(holders).map(left).try_fold(Left::Time(Millis(0)), Left::later) else { return };
    let mut dropping = 0;
    let mut first: Option<(Millis, Millis, KeyView<'_>)> = None;
    for waiter in lock.queue().skip(holders) {
        let (Renewal::NotRenewed { since }, TtlState::Live { remaining, .. }) = (waiter.renewal(), waiter.ttl()) else {
            continue;
        };
        if last.outlasts(remaining) {
            dropping += 1;
            if first.is_none_or(|(soonest, ..)| remaining < soonest) {
                first = Some((remaining, since, waiter));
            }
        }
    }
    let Some((remaining, since, waiter)) = first else { return };
    let evidence = match last {
        Left::Time(left) => Sentence::new(
            "{key} drops out in {remaining}, not renewed for {since}; the holder has {left}, {number} in all",
        )
        .with("left", left),
        Left::Forever => Sentence::new(
            "{key} drops out in {remaining}, not renewed for {since}; the holder never lets go by itself, {number} in all",
        ),
    };
    let evidence = evidence
        .with("key", waiter.key())
        .with("remaining", remaining)
        .with("since", since)
        .with("number", Value::Count(dropping, "waiter"));
    let remedy = Sentence::new("etcdctl lease keep-alive --once -- {lease}").with("lease", waiter.lease());
    let mut finding = Finding::new(Severity::Warn, evidence, remedy).lock(lock.name()).since(waiter.unrenewed_since());
    for waiter in lock.queue().skip(holders).filter(|waiter| drops(*waiter, last)).take(NAMED) {
        finding = finding.key(waiter.key()).lease(waiter.lease());
    }
    found.add(finding);
}

fn drops(waiter: KeyView<'_>, last: Left) -> bool {
    let unrenewed = matches!(waiter.renewal(), Renewal::NotRenewed { .. });
    matches!(waiter.ttl(), TtlState::Live { remaining, .. } if unrenewed && last.outlasts(remaining))
}

/// For how long a holder can go on if nobody renews its lease from now on.
#[derive(Clone, Copy)]
enum Left {
    Time(Millis),
    Forever,
}

/// `None` when that is not known.
fn left(holder: KeyView<'_>) -> Option<Left> {
    match holder.ttl() {
        TtlState::NoLease => Some(Left::Forever),
        TtlState::Live { remaining, .. } => Some(Left::Time(remaining)),
        TtlState::Overdue { .. } | TtlState::Gone | TtlState::Unpolled | TtlState::Unknown => None,
    }
}

impl Left {
    fn later(self, other: Option<Self>) -> Option<Self> {
        match (self, other?) {
            (Self::Time(one), Self::Time(other)) => Some(Self::Time(one.max(other))),
            _ => Some(Self::Forever),
        }
    }

    const fn outlasts(self, remaining: Millis) -> bool {
        match self {
            Self::Forever => true,
            Self::Time(left) => remaining.0 + GRAIN.0 < left.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::domain::LeaseId;
    use crate::model::findings::scene::Scene;

    fn three() -> Scene {
        Scene::reading(&[("/jobs/a/10", "", 0x10), ("/jobs/a/20", "", 0x20), ("/jobs/a/30", "", 0x30)])
    }

    #[test]
    fn a_waiter_that_is_not_renewed_drops_before_a_holder_that_is() {
        let mut scene = three();
        for second in 0..25 {
            scene.pass(1_000);
            scene.ttl(0x10, 90, 90 - second % 30);
            scene.ttl(0x20, 90, 70 - second);
            scene.ttl(0x30, 90, 90 - second % 30);
        }
        assert_eq!(scene.codes_of_lock("/jobs/a"), ["waiter-will-drop"]);
        let expected = "/jobs/a/20 drops out in 46s, not renewed for 44s; the holder has 1m06s, 1 waiter in all";
        assert_eq!(scene.told("waiter-will-drop"), [expected]);
        assert_eq!(scene.remedies("waiter-will-drop"), ["etcdctl lease keep-alive --once -- 20"]);
        assert_eq!(scene.all("waiter-will-drop")[0].leases, [LeaseId(0x20)]);
        scene.pass(1_000);
        scene.ttl(0x20, 90, 90);
        assert_eq!(scene.codes_of_lock("/jobs/a"), [""; 0]);
    }

    #[test]
    fn a_holder_that_ends_first_lets_the_waiter_in() {
        let mut scene = three();
        for second in 0..9 {
            scene.pass(1_000);
            scene.ttl(0x10, 90, 20 - second);
            scene.ttl(0x20, 90, 30 - second);
        }
        assert_eq!(scene.codes_of_lock("/jobs/a"), ["holder-not-renewing"]);
    }

    #[test]
    fn nothing_is_said_while_the_holder_is_not_known_and_much_when_it_has_no_lease() {
        let mut scene = Scene::reading(&[("/jobs/a/10", "", 0x10), ("/jobs/a/20", "", 0x20), ("/jobs/b/9f", "", 0)]);
        scene.put("/jobs/b/20", 0x20, "");
        for second in 0..3 {
            scene.pass(1_000);
            scene.ttl(0x20, 90, 30 - second);
        }
        assert!(scene.codes_of_lock("/jobs/a").is_empty());
        assert!(scene.told("waiter-will-drop")[0].ends_with("the holder never lets go by itself, 1 waiter in all"));
    }
}
