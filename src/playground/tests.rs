//! Many clients, many seeds, in virtual time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::expect::testing::said_of;
use super::stage::Stage;
use super::tally::Happening;
use super::testing::Town;
use super::traffic::Traffic;
use super::{ClientId, Contender, Habits, LockOf, Span, Tally, Told, What};
use crate::chance::Chance;
use crate::domain::Key;
use crate::domain::raft::ClusterTime;
use crate::recipe::{Belief, Input, Kind, Mistakes, Standing};

/// A run with its judge.
pub(super) struct Run {
    pub(super) stage: Stage<Town, Contender>,
    pub(super) tally: Tally,
    seen: usize,
    pub(super) stands: BTreeMap<ClientId, Standing>,
    paused: Vec<ClientId>,
}

fn queue() -> LockOf {
    LockOf::Queue(Key::from("/a"))
}

pub(super) fn habits() -> Habits {
    Habits {
        name: queue().name().clone(),
        think: Span::millis(0, 300),
        hold: Span::millis(10, 60),
        away: Span::millis(1_000, 3_000),
        ..Habits::default()
    }
}

pub(super) fn at(millis: u64) -> ClusterTime {
    ClusterTime(millis * 1000)
}

impl Run {
    pub(super) fn of(seed: u64, town: Town, clients: Vec<Habits>) -> Self {
        let ids = || (1..).map(ClientId);
        let mut run = Self {
            stage: Stage::new(town),
            tally: Tally::new(ids().zip(&clients), &[]),
            seen: 0,
            stands: BTreeMap::new(),
            paused: Vec::new(),
        };
        run.tally.listed(run.stage.cluster.store.revision, &[]);
        for (id, habits) in ids().zip(clients) {
            let client = Contender::new(habits, Chance::new(seed, u64::from(id.0)));
            let mut told = Vec::new();
            run.stage.enter(id, client, Traffic::default(), &mut |what| told.push(what));
            run.take(&told);
        }
        run
    }

    pub(super) fn tell(&mut self, id: u32, input: Input) {
        match input {
            Input::Pause => self.paused.push(ClientId(id)),
            Input::Resume => self.paused.retain(|paused| *paused != ClientId(id)),
            _ => {}
        }
        let mut told = Vec::new();
        self.stage.tell(ClientId(id), input, &mut |what| told.push(what));
        self.take(&told);
    }

    pub(super) fn take(&mut self, told: &[Told]) {
        let store = &self.stage.cluster.store;
        let changes = &store.changes[self.seen..];
        self.seen = store.changes.len();
        self.tally.changed(self.stage.now(), changes);
        for told in told {
            match &told.what {
                What::Stands(standing) => {
                    self.stands.insert(told.client, standing.clone());
                }
                What::Crashed | What::Stopped => {
                    self.stands.remove(&told.client);
                }
                What::Suffers(_) | What::Wrote(_) | What::Saw(_) => {}
            }
            self.tally.told(told);
        }
    }

    /// Goes on until then, checking each moment that whoever believes it holds is right.
    pub(super) fn until(&mut self, millis: u64) -> &mut Self {
        let mut told = Vec::new();
        while self.stage.step(at(millis), &mut |what| told.push(what)) {
            self.take(&told);
            told.clear();
            self.check_believers();
        }
        self
    }

    fn check_believers(&self) {
        let store = &self.stage.cluster.store;
        for (client, standing) in &self.stands {
            if standing.belief == Belief::Holding && !self.paused.contains(client) {
                let queue: Vec<_> = standing.key.rsplitn(2, |byte| *byte == b'/').collect();
                let mut prefix = queue[1].to_vec();
                prefix.push(b'/');
                let first = store.first(&prefix).map(|kv| (kv.key.clone(), kv.create_revision));
                let own = (standing.key.clone(), standing.created);
                assert_eq!(first, Some(own), "{client} at {:?} is not first", self.stage.now());
            }
        }
    }

    pub(super) fn lock(&self) -> &super::tally::OfLock {
        &self.tally.locks()[&queue()]
    }

    pub(super) fn belief(&self, id: u32) -> Belief {
        self.stands.get(&ClientId(id)).map_or(Belief::Idle, |standing| standing.belief)
    }

    pub(super) fn moments(&self) -> Vec<super::tally::Moment> {
        self.tally.moments().0.cloned().collect()
    }
}

pub(super) fn is_in_order(run: &Run, seed: u64) {
    let lock = run.lock();
    assert_eq!((lock.fifo_violations, lock.double_holders), (0, 0), "seed {seed}: {lock:?}");
    assert_eq!(lock.judged, lock.acquired, "seed {seed}");
}

#[test]
fn two_thousand_clients_hold_one_after_another_and_nobody_is_forgotten() {
    let clients = 2_000;
    let once = Habits { ttl: Duration::from_mins(2), think: Span::millis(0, 2_000), ..habits() };
    let once = Habits { hold: Span::millis(0, 1), ..once };
    let mut run = Run::of(1, Town::new(1), vec![once; clients]);
    let mut order = Vec::new();
    let mut held = BTreeSet::new();
    while held.len() < clients && run.stage.now() < at(200_000) {
        let mut told = Vec::new();
        run.stage.step(at(200_000), &mut |what| told.push(what));
        for told in told {
            if let What::Stands(Standing { belief: Belief::Holding, created, .. }) = told.what {
                order.push(created);
                held.insert(told.client);
            }
        }
    }
    assert_eq!(held.len(), clients, "each of them held it");
    assert!(order.is_sorted(), "in the order in which they came");
}

#[test]
fn a_hundred_clients_are_in_order_under_every_seed() {
    for seed in 0..40 {
        let mut run = Run::of(seed, Town::new(seed), vec![habits(); 100]);
        run.until(20_000);
        is_in_order(&run, seed);
        let lock = run.lock();
        assert!(lock.handoffs > 150 && lock.acquired >= lock.handoffs, "seed {seed}: {}", lock.handoffs);
    }
}

#[test]
fn lost_calls_late_calls_broken_watches_and_crashes_break_no_order() {
    let mut crashed = 0;
    let mut expired = 0;
    for seed in 0..400 {
        let town = Town::new(seed).faulty(40, 30);
        let clumsy = Habits { crash: Some(Span::millis(500, 20_000)), ..habits() };
        let mut run = Run::of(seed, town, [vec![habits(); 6], vec![clumsy; 3]].concat());
        run.until(60_000);
        is_in_order(&run, seed);
        let lock = run.lock();
        assert!(lock.handoffs > 20, "seed {seed}: {} handoffs in a minute", lock.handoffs);
        crashed += lock.crashed;
        expired += lock.expired;
    }
    assert!(crashed > 400 && expired * 2 > crashed, "{crashed} crashed, {expired} expired");
}

#[test]
fn nobody_waits_longer_than_all_others_and_the_crashed_among_them_take() {
    for seed in 0..50 {
        let clumsy = Habits { crash: Some(Span::millis(4_000, 20_000)), ..habits() };
        let mut run = Run::of(seed, Town::new(seed), [vec![habits(); 9], vec![clumsy]].concat());
        run.until(120_000);
        // Nine others hold for 60 ms and hand over in some 100 ms; a lease may run out on the way.
        let longest = run.lock().waits().unwrap().max;
        assert!(longest < Duration::from_secs(5 + 3), "seed {seed}: {longest:?}");
    }
}

#[test]
fn a_crashed_holder_hands_over_to_the_oldest_waiter_when_its_lease_runs_out() {
    let slow = Habits { hold: Span::millis(60_000, 60_000), think: Span::millis(0, 0), ..habits() };
    let mut run = Run::of(3, Town::new(3), vec![slow; 3]);
    run.until(1_000);
    let holder = (1..=3).find(|id| run.belief(*id) == Belief::Holding).unwrap();
    let next = run
        .stands
        .iter()
        .filter(|(id, _)| id.0 != holder)
        .min_by_key(|(_, standing)| standing.created)
        .map(|(id, _)| id.0)
        .unwrap();
    run.tell(holder, Input::Crash);
    run.until(3_000);
    assert_eq!(run.belief(next), Belief::Waiting, "the lease still lives");
    run.until(7_000);
    assert_eq!(run.belief(next), Belief::Holding);
    let lock = run.lock();
    assert_eq!((lock.crashed, lock.expired, lock.handoffs), (1, 1, 1));
    let after = run.moments().into_iter().find_map(|moment| match moment.what {
        Happening::Expired(_, after) => Some(after),
        _ => None,
    });
    let after = after.unwrap();
    assert!(Duration::from_secs(3) < after && after <= Duration::from_secs(5), "{after:?}");
    is_in_order(&run, 3);
}

#[test]
fn without_the_second_look_a_waiter_that_vanishes_makes_two_holders() {
    let wrong = Mistakes { no_recheck: true, ..Mistakes::default() };
    let clumsy = Habits { mistakes: wrong, crash: Some(Span::millis(500, 10_000)), ..habits() };
    let broken = Habits { mistakes: wrong, hold: Span::millis(500, 4_000), ..habits() };
    let (mut doubles, mut violations) = (0, 0);
    for seed in 0..20 {
        let mut run = Run::of(seed, Town::new(seed), [vec![broken.clone(); 5], vec![clumsy.clone(); 3]].concat());
        run.stage.run(at(60_000), &mut |told: Told| run.tally.told(&told));
        let changes = run.stage.cluster.store.changes.clone();
        run.tally.changed(at(60_000), &changes);
        doubles += run.lock().double_holders;
        violations += run.lock().fifo_violations;
        let lock = run.lock();
        assert_eq!(lock.first_double.is_some(), lock.double_holders > 0);
        assert_eq!(lock.first_out_of_turn.is_some(), lock.fifo_violations > 0);
        let said = said_of(&run.tally, queue().name());
        let told = |words: &str| said.iter().any(|evidence| evidence.contains(words));
        assert_eq!(told(") while client-"), lock.double_holders > 0, "{said:?}");
        assert_eq!(told(" out of turn; "), lock.fifo_violations > 0, "{said:?}");
    }
    assert!(doubles > 20 && violations > 20, "{doubles} double holders, {violations} out of turn");
}

#[test]
fn a_client_that_stands_still_past_its_lease_believes_on_until_it_wakes() {
    let slow = Habits { hold: Span::millis(60_000, 60_000), think: Span::millis(0, 0), ..habits() };
    let mut run = Run::of(5, Town::new(5), vec![slow; 2]);
    run.until(1_000);
    let holder = if run.belief(1) == Belief::Holding { 1 } else { 2 };
    run.tell(holder, Input::Pause);
    run.until(9_000);
    assert_eq!((run.belief(1), run.belief(2)), (Belief::Holding, Belief::Holding));
    assert_eq!((run.lock().double_holders, run.lock().fifo_violations), (1, 0), "the queue itself is in order");
    run.tell(holder, Input::Resume);
    run.until(9_500);
    assert_eq!(run.belief(3 - holder), Belief::Holding);
    assert_ne!(run.belief(holder), Belief::Holding);
    assert_eq!(run.lock().lost, 1);
}

#[test]
fn what_is_stopped_leaves_neither_keys_nor_leases() {
    for seed in 0..100 {
        let town = Town::new(seed).faulty(30, 0);
        let mut run = Run::of(seed, town, vec![habits(); 8]);
        run.until(400 + seed * 13);
        for id in 1..=8 {
            run.tell(id, Input::Stop);
        }
        run.until(30_000);
        assert!(run.stage.clients.values().all(Contender::is_stopped), "seed {seed}");
        let store = &run.stage.cluster.store;
        // A grant whose answer was lost is known to nobody: that lease runs out.
        assert_eq!((store.keys.len(), store.leases()), (0, 0), "seed {seed}");
        is_in_order(&run, seed);
    }
}

#[test]
fn a_lock_of_one_key_has_one_holder_too() {
    let lock = LockOf::SingleKey(Key::from("/one/key"));
    for seed in 0..100 {
        let town = Town::new(seed).faulty(30, 30);
        let crash = Some(Span::millis(1_000, 30_000));
        let one = Habits { kind: Kind::SingleKey, name: lock.name().clone(), crash, ..habits() };
        let mut run = Run::of(seed, town, vec![one; 5]);
        run.until(30_000);
        let lock = &run.tally.locks()[&lock];
        assert_eq!((lock.fifo_violations, lock.double_holders), (0, 0), "seed {seed}: {lock:?}");
        assert!(lock.handoffs > 10, "seed {seed}: {}", lock.handoffs);
    }
}

#[test]
fn the_same_seed_is_the_same_run() {
    let run = |seed| {
        let town = Town::new(seed).faulty(20, 10);
        let clumsy = Habits { crash: Some(Span::millis(1_000, 9_000)), ..habits() };
        let mut run = Run::of(seed, town, [vec![habits(); 6], vec![clumsy; 2]].concat());
        run.until(60_000);
        run.moments()
    };
    let first = run(42);
    assert!(first.len() > 100, "{} moments", first.len());
    assert_eq!(first, run(42));
    assert_ne!(first, run(43));
}
