//! Whether a diagnosis still stands although time went on.
//!
//! Of very many locks nearly all are held by a client that is well, with nobody behind it: what is found
//! of such a lock changes with its keys and with what its lease amounts to, and not by the time. So
//! between two changes it is looked only at what time alone can change, and where that is as it was,
//! the whole diagnosis is.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::{Diagnosis, Finding, Found, Look, RULES, Thresholds};
use crate::domain::LeaseId;
use crate::layout::Layout;
use crate::model::lease::{Renewal, TtlState};
use crate::model::{Facts, KeyView, LockIx, LockView};

/// What a diagnosis stands on.
#[derive(Clone, Debug)]
pub struct Grounds {
    basis: Basis,
    moving: Moving,
}

/// What time alone can change of a diagnosis.
#[derive(Clone, Debug)]
pub(super) struct Moving {
    /// The locks of which it can change what is found.
    pub locks: Vec<LockIx>,
    /// The findings that it can change, as they were found, by their places.
    pub findings: Vec<u32>,
    /// Whether it can change the order of the findings: somebody waits for a lock that one names.
    pub weighs: bool,
}

/// What all other findings were made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Basis {
    keys: u64,
    histories: u64,
    leases: u64,
    listed: bool,
}

/// The findings of one look in the order of the rules, and which of them time alone can change.
pub(super) struct Sorted {
    pub findings: Vec<Finding>,
    pub moving: Vec<usize>,
    pub locks: Vec<LockIx>,
}

/// Lets every rule look at everything.
pub(super) fn look(facts: &Facts, thresholds: &Thresholds) -> Sorted {
    let locks: Vec<(LockView<'_>, bool)> = facts.locks().map(|lock| (lock, moves(&lock))).collect();
    let moving_locks: Vec<LockIx> = locks.iter().filter(|(_, moves)| *moves).map(|(lock, _)| lock.ix()).collect();
    let (mut findings, mut moving) = (Vec::new(), Vec::new());
    for rule in RULES {
        let from = findings.len();
        let mut found = Found { code: rule.code, findings: &mut findings };
        let moves = match rule.look {
            Look::Locks(look) => {
                for (lock, moves) in &locks {
                    let from = found.findings.len();
                    look(*lock, thresholds, &mut found);
                    if *moves {
                        moving.extend(from..found.findings.len());
                    }
                }
                false
            }
            Look::Keys(look) => {
                look(facts, thresholds, &mut found);
                false
            }
            Look::Moving(look) => {
                look(facts, thresholds, &mut found);
                !moving_locks.is_empty()
            }
            Look::All(look) => {
                look(facts, thresholds, &mut found);
                true
            }
        };
        if moves {
            moving.extend(from..findings.len());
        }
    }
    Sorted { findings, moving, locks: moving_locks }
}

impl Grounds {
    pub(super) fn new(facts: &Facts, moving: Moving) -> Self {
        Self { basis: Basis::of(facts), moving }
    }

    /// Whether these facts would lead to the diagnosis that was made with it.
    pub fn holds(&self, diagnosis: &Diagnosis, facts: &Facts, thresholds: &Thresholds) -> bool {
        let Moving { locks, findings: before, weighs } = &self.moving;
        if *weighs || self.basis != Basis::of(facts) {
            return false;
        }
        let mut findings = Vec::new();
        for rule in RULES {
            let mut found = Found { code: rule.code, findings: &mut findings };
            match rule.look {
                Look::Locks(look) => {
                    for lock in locks.iter().filter_map(|&ix| facts.lock(ix)) {
                        look(lock, thresholds, &mut found);
                    }
                }
                Look::Moving(look) if !locks.is_empty() => look(facts, thresholds, &mut found),
                Look::Keys(_) | Look::Moving(_) => {}
                Look::All(look) => look(facts, thresholds, &mut found),
            }
        }
        let before = before.iter().filter_map(|&at| diagnosis.findings.get(at as usize));
        findings.iter().eq(before)
    }
}

impl Basis {
    fn of(facts: &Facts) -> Self {
        Self {
            keys: facts.keys_version(),
            histories: facts.histories,
            leases: amount(facts),
            listed: facts.link.listed,
        }
    }
}

/// What all leases amount to: the time each was granted, whether it is in trouble, and whether it has keys.
fn amount(facts: &Facts) -> u64 {
    let leases = facts.leases();
    let one = |id: LeaseId| {
        let mut hasher = DefaultHasher::new();
        let keyless = leases.key_count(id) == 0;
        (id, leases.granted(id), keyless && leases.full_at(id).is_some(), is_in_trouble(facts, id)).hash(&mut hasher);
        hasher.finish()
    };
    // They come in no order that means anything.
    leases.ids().map(one).fold(0, u64::wrapping_add)
}

/// Whether time alone can change what is found of a lock.
fn moves(lock: &LockView<'_>) -> bool {
    let moves = |holder: &KeyView<'_>| holder.lease().is_none() || is_in_trouble(lock.facts, holder.lease());
    let Some(first) = lock.holder() else { return true };
    lock.history().is_some()
        || lock.waiter_count() > 0
        || lock.layout() == Layout::KubernetesLease
        || moves(&first)
        || lock.holder_count() > 1 && lock.holders().any(|holder| moves(&holder))
}

/// Whether nobody renews a lease, or its time is up.
fn is_in_trouble(facts: &Facts, id: LeaseId) -> bool {
    let (leases, now) = (facts.leases(), facts.now());
    matches!(leases.renewal(id, now), Renewal::NotRenewed { .. })
        || matches!(leases.ttl(id, now), TtlState::Overdue { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::findings::scene::Scene;

    /// A few locks of clients that are well, and one whose lease is long.
    fn calm() -> Scene {
        let mut scene = Scene::reading(&[("/a/1", "", 1), ("/b/2", "", 2), ("/c/3", "", 3)]);
        for (lease, granted) in [(1, 60), (2, 60), (3, 86_400)] {
            scene.ttl(lease, granted, granted - 1);
        }
        scene
    }

    fn made(scene: &Scene) -> (Diagnosis, Grounds) {
        Diagnosis::with_grounds(scene.model.live(), &Thresholds::default())
    }

    fn holds((diagnosis, grounds): &(Diagnosis, Grounds), scene: &Scene) -> bool {
        grounds.holds(diagnosis, scene.model.live(), &Thresholds::default())
    }

    #[test]
    fn time_and_answers_that_were_expected_change_nothing() {
        let mut scene = calm();
        let made = made(&scene);
        assert_eq!((made.0.codes(b"/c"), made.1.moving.locks.len()), (vec!["long-ttl"], 0));
        scene.pass(5_000);
        scene.ttl(3, 86_400, 86_394);
        assert!(holds(&made, &scene));
    }

    #[test]
    fn a_key_a_lease_that_is_not_renewed_and_one_that_was_granted_another_time_do() {
        let changes: [fn(&mut Scene); 3] = [
            |scene| scene.put("/d/1", 1, ""),
            |scene| {
                scene.ttl(2, 60, 20);
                scene.pass(1_000);
                scene.ttl(2, 60, 19);
            },
            |scene| scene.ttl(1, 7_200, 7_199),
        ];
        for (at, change) in changes.into_iter().enumerate() {
            let mut scene = calm();
            let made = made(&scene);
            change(&mut scene);
            assert!(!holds(&made, &scene), "{at}");
        }
    }

    #[test]
    fn what_is_in_trouble_is_looked_at_alone() {
        let mut scene = calm();
        for left in [20, 19] {
            scene.ttl(2, 60, left);
            scene.pass(1_000);
        }
        let made = made(&scene);
        assert_eq!(made.1.moving.locks.len(), 1);
        assert!(holds(&made, &scene), "it is the same moment");
        scene.pass(1_000);
        assert!(!holds(&made, &scene), "it is not renewed for longer");
    }
}
