//! Each recipe in virtual time, on many seeds; and each mistake with the damage it is known for.

use std::time::Duration;

use super::tally::{Happening, Moment};
use super::testing::Town;
use super::tests::{Run, at, habits, is_in_order};
use super::{ClientId, Contender, Habits, Span, Told};
use crate::domain::{Key, LeaseId};
use crate::recipe::{Belief, Input, Kind, Mistakes};

const QUEUES: [Kind; 6] = [Kind::SixSteps, Kind::Herd, Kind::LockApi, Kind::Election, Kind::ElectionApi, Kind::Pair];

/// A client that does nothing but hold, once it does.
fn patient(kind: Kind) -> Habits {
    Habits { kind, think: Span::millis(0, 0), hold: Span::millis(600_000, 600_000), ..habits() }
}

fn of(kind: Kind) -> Habits {
    let (second, writes) = (Some(Key::from("/b")), Some(Duration::from_millis(40)));
    Habits { kind, second, writes, ..habits() }
}

#[test]
fn no_recipe_has_two_holders_or_forgets_a_client_under_any_seed() {
    for kind in QUEUES {
        let mut crashed = 0;
        for seed in 0..100 {
            let town = Town::new(seed).faulty(40, 30);
            let clumsy = Habits { crash: Some(Span::millis(500, 20_000)), ..of(kind) };
            let mut run = Run::of(seed, town, [vec![of(kind); 6], vec![clumsy; 3]].concat());
            run.until(40_000);
            is_in_order(&run, seed);
            let lock = run.lock();
            assert!(lock.handoffs > 10, "{kind}, seed {seed}: {} handoffs", lock.handoffs);
            let moments = run.moments();
            let held = |id: &ClientId| moments.iter().any(|moment| is_acquired(moment, *id));
            let hungry: Vec<_> = (1..=6).map(ClientId).filter(|id| !held(id)).collect();
            assert!(hungry.is_empty(), "{kind}, seed {seed}: {hungry:?} never held it");
            crashed += moments.iter().filter(|moment| matches!(moment.what, Happening::Crashed(_))).count();
        }
        assert!(crashed > 100, "{kind}: {crashed} crashed");
    }
}

fn is_acquired(moment: &Moment, id: ClientId) -> bool {
    moment.client == Some(id) && matches!(moment.what, Happening::Acquired(..))
}

#[test]
fn a_stopped_client_of_any_recipe_leaves_neither_keys_nor_leases() {
    for kind in Kind::ALL {
        for seed in 0..40 {
            let town = Town::new(seed).faulty(30, 0);
            let mut run = Run::of(seed, town, vec![of(kind); 6]);
            run.stage.run(at(400 + seed * 37), &mut |_: Told| {});
            leaves_nothing(run, &format!("{kind}, seed {seed}"));
        }
    }
}

#[test]
fn a_stopped_client_takes_a_key_along_that_hangs_on_no_lease_yet() {
    let mistakes = Mistakes { late_lease: true, ..Mistakes::default() };
    for kind in [Kind::SixSteps, Kind::Queue, Kind::Herd, Kind::Election, Kind::Pair, Kind::SingleKey] {
        for seed in 0..60 {
            let mut run = Run::of(seed, Town::new(seed), vec![Habits { mistakes, ..of(kind) }; 6]);
            run.until(100 + seed * 7);
            leaves_nothing(run, &format!("{kind}, seed {seed}"));
        }
    }
}

fn leaves_nothing(mut run: Run, what: &str) {
    for id in 1..=6 {
        run.tell(id, Input::Stop);
    }
    run.stage.run(at(30_000), &mut |_: Told| {});
    assert!(run.stage.clients.values().all(Contender::is_stopped), "{what}");
    let store = &run.stage.cluster.store;
    assert_eq!((store.keys.len(), store.leases()), (0, 0), "{what}: {:?}", store.keys.keys());
}

/// Goes on until then without asking whether who believes it holds is right; what came of it.
fn judged(run: &mut Run, millis: u64) {
    run.stage.run(at(millis), &mut |told: Told| run.tally.told(&told));
    let changes = run.stage.cluster.store.changes.clone();
    run.tally.changed(at(millis), &changes);
}

fn double_holders(clients: &[Habits]) -> u64 {
    let of_seed = |seed| {
        let mut run = Run::of(seed, Town::new(seed), clients.to_vec());
        judged(&mut run, 30_000);
        run.lock().double_holders
    };
    (0..20).map(of_seed).sum()
}

#[test]
fn six_steps_without_the_second_look_have_two_holders_when_a_waiter_vanishes() {
    let clients = |mistakes| {
        let steady = Habits { hold: Span::millis(500, 4_000), mistakes, ..of(Kind::SixSteps) };
        let clumsy = Habits { crash: Some(Span::millis(500, 10_000)), ..steady.clone() };
        [vec![steady; 5], vec![clumsy; 3]].concat()
    };
    let without = Mistakes { no_recheck: true, ..Mistakes::default() };
    assert!(double_holders(&clients(without)) > 20);
    assert_eq!(double_holders(&clients(Mistakes::default())), 0);
}

#[test]
fn a_put_taken_for_an_end_makes_two_holders_unless_there_is_a_second_look() {
    // A leader that proclaims puts its key again, and nobody crashes or gives up.
    let clients = |mistakes| {
        let long = Habits { hold: Span::millis(500, 900), ..of(Kind::Election) };
        vec![Habits { mistakes, ..long }; 4]
    };
    let any_event = Mistakes { any_event: true, ..Mistakes::default() };
    assert!(double_holders(&clients(Mistakes { no_recheck: true, ..any_event })) > 20);
    assert_eq!(double_holders(&clients(any_event)), 0);
    let no_recheck = Mistakes { no_recheck: true, ..Mistakes::default() };
    assert_eq!(double_holders(&clients(no_recheck)), 0, "here it is the put that does it");
}

#[test]
fn without_the_slash_a_lock_waits_for_the_keys_of_another() {
    for no_slash in [false, true] {
        let other = Habits { name: Key::from("/ab"), ..patient(Kind::Queue) };
        let mistakes = Mistakes { no_slash, ..Mistakes::default() };
        let client = Habits { mistakes, think: Span::millis(500, 500), ..patient(Kind::SixSteps) };
        let mut run = Run::of(1, Town::new(1), vec![other, client]);
        run.until(20_000);
        let standing = &run.stands[&ClientId(2)];
        let waits_for = standing.ahead.as_ref().map(|key| key.starts_with(b"/ab/"));
        let expected = if no_slash { (Belief::Waiting, Some(true)) } else { (Belief::Holding, None) };
        assert_eq!((standing.belief, waits_for), expected);
    }
}

#[test]
fn a_waiter_with_a_late_lease_that_crashes_blocks_the_lock_for_ever() {
    for late_lease in [false, true] {
        let mistakes = Mistakes { late_lease, ..Mistakes::default() };
        let short = Habits { mistakes, hold: Span::millis(2_000, 2_000), ..of(Kind::SixSteps) };
        let mut run = Run::of(4, Town::new(4), vec![short; 4]);
        run.until(1_000);
        let waiter = *run.stands.iter().find(|(_, standing)| standing.belief == Belief::Waiting).unwrap().0;
        let left = run.stands[&waiter].key.clone();
        run.tell(waiter.0, Input::Crash);
        run.until(300_000);
        let kept = run.stage.cluster.store.keys.get(&left).map(|kv| kv.lease);
        assert_eq!(kept, late_lease.then_some(LeaseId::NONE));
        assert_eq!(run.stands.values().any(|standing| standing.belief == Belief::Holding), !late_lease);
        is_in_order(&run, 4);
    }
}

#[test]
fn a_heartbeat_slower_than_the_lease_loses_the_lock_at_work() {
    for slow in [false, true] {
        let heartbeat = slow.then_some(Duration::from_secs(8));
        let work = Habits { heartbeat, hold: Span::millis(30_000, 30_000), ..of(Kind::SixSteps) };
        let mut run = Run::of(2, Town::new(2), vec![work; 3]);
        run.until(20_000);
        is_in_order(&run, 2);
        let lock = run.lock();
        assert_eq!((lock.lost > 0, lock.handoffs > 0, lock.released), (slow, slow, 0), "{lock:?}");
    }
}
