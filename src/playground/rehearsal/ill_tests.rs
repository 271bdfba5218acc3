//! What is done to clients, and what comes of it, in virtual time.

use std::time::Duration;

use super::Rehearsal;
use crate::domain::play::{ClientId, Happening, Ill, Life, Moment, Order, Whom};
use crate::domain::raft::{ClusterTime, Fault};
use crate::domain::{Key, Revision};
use crate::embedded::Config;
use crate::playground::cast::Protected;
use crate::playground::tally::OfLock;
use crate::playground::{Cast, Habits, LockOf, Span, Tally};
use crate::recipe::{Belief, Kind};

const MINUTE: Duration = Duration::from_mins(1);

fn at(millis: u64) -> ClusterTime {
    ClusterTime(millis * 1000)
}

fn lock() -> LockOf {
    LockOf::Queue(Key::from("/t/lock"))
}

fn habits() -> Habits {
    Habits {
        name: lock().name().clone(),
        writes: Some(Duration::from_millis(300)),
        hold: Span::of(MINUTE),
        ..Habits::default()
    }
}

/// Clients of one lock, with one ledger that checks tokens and one that does not.
fn cast(clients: impl IntoIterator<Item = Habits>) -> Cast {
    let ledger = |name: &str, fencing| Protected { name: name.into(), fencing };
    Cast {
        scenario: "ills".into(),
        summary: "what is done to clients".into(),
        summary_zh: String::new(),
        lock: lock(),
        prefix: Key::from("/t/"),
        clients: (1..).map(ClientId).zip(clients).collect(),
        resources: vec![ledger("fenced", true), ledger("blind", false)],
    }
}

/// A run whose first client holds when it is handed out.
fn run(clients: impl IntoIterator<Item = Habits>) -> Rehearsal {
    let late = Habits { think: Span::millis(200, 200), ..habits() };
    let mut run = Rehearsal::new(&cast([habits()].into_iter().chain(clients).chain([late])), Config::default(), 7);
    run.run(at(2_000));
    assert_eq!(belief(&run, 1), Belief::Holding);
    run
}

fn belief(run: &Rehearsal, client: u32) -> Belief {
    run.tally().clients()[&ClientId(client)].standing.belief
}

fn to(client: u32, ill: Ill) -> Order {
    Order::Client(Whom::Client(ClientId(client)), ill)
}

fn judged(tally: &Tally) -> &OfLock {
    &tally.locks()[&lock()]
}

fn moments(run: &Rehearsal, client: u32) -> Vec<Moment> {
    run.tally().moments().0.filter(|moment| moment.client == Some(ClientId(client))).cloned().collect()
}

/// When this first happened to a client.
fn when(run: &Rehearsal, client: u32, what: impl Fn(&Happening) -> bool) -> Option<ClusterTime> {
    moments(run, client).into_iter().find(|moment| what(&moment.what)).map(|moment| moment.at)
}

#[test]
fn a_zombie_writes_with_an_old_token_and_only_the_fence_keeps_it_out() {
    let mut run = run([]);
    run.order(Order::Client(Whom::Holder, Ill::Pause)).unwrap();
    run.run(at(10_000));
    assert_eq!((belief(&run, 1), belief(&run, 2)), (Belief::Holding, Belief::Holding));
    let picture = run.picture(0);
    let zombie = picture.client(ClientId(1)).unwrap();
    assert!(zombie.is_stale() && zombie.life == Life::Paused && zombie.place.is_none());
    assert_eq!(picture.client(ClientId(2)).unwrap().place, Some(0));
    run.order(to(1, Ill::Resume)).unwrap();
    run.run(at(12_000));
    let (own, newer) = (zombie.stake.created, picture.client(ClientId(2)).unwrap().stake.created);
    assert!(own < newer);
    let said: Vec<_> = moments(&run, 1).into_iter().map(|moment| (moment.lock, moment.what)).collect();
    let woke = said.iter().position(|(_, what)| *what == Happening::Resumed).unwrap();
    let after = [
        (Key::from("fenced"), Happening::Refused(own, newer)),
        (Key::from("blind"), Happening::Damaged(own, newer)),
        (lock().name().clone(), Happening::Lost(Belief::Holding)),
    ];
    assert_eq!(said[woke + 1..woke + 4], after);
    let before = said.iter().rposition(|(_, what)| matches!(what, Happening::Dropped(_, Belief::Holding)));
    assert!(before.is_some_and(|before| before < woke), "{said:?}");
    let tally = run.tally();
    let of = judged(tally);
    assert_eq!((of.stale_refused, of.stale_accepted, of.stale_beliefs, of.lost), (1, 1, 1, 1));
    assert_eq!((of.double_holders, of.clashes, of.fifo_violations), (1, 0, 0), "the store had one holder only");
    assert!(of.stale().unwrap().max > Duration::from_secs(1), "{:?}", of.stale());
    assert_eq!(of.to_first().unwrap().max, Duration::ZERO, "the next one stood there already");
    assert!(of.to_acquired().unwrap().max < Duration::from_secs(1), "{:?}", of.to_acquired());
    let [fenced, blind] = tally.ledgers() else { panic!("two ledgers") };
    assert_eq!((fenced.refused, fenced.stale_accepted, blind.refused, blind.stale_accepted), (1, 0, 0, 1));
    assert_eq!((fenced.highest, blind.highest), (newer, newer));
    // It begins anew, behind the other.
    assert_eq!(belief(&run, 1), Belief::Waiting);
}

#[test]
fn a_pause_that_the_lease_outlives_harms_nobody() {
    let mut run = run([]);
    run.order(to(1, Ill::Pause)).unwrap();
    run.run(at(4_000));
    run.order(to(1, Ill::Resume)).unwrap();
    run.run(at(20_000));
    assert_eq!((belief(&run, 1), belief(&run, 2)), (Belief::Holding, Belief::Waiting));
    let of = judged(run.tally());
    assert_eq!((of.dropped, of.lost, of.stale_beliefs, of.double_holders), (0, 0, 0, 0));
}

#[test]
fn a_clock_that_was_set_back_makes_a_client_believe_too_long() {
    let mut run = run([]);
    run.order(to(1, Ill::Skew(-20_000))).unwrap();
    run.run(at(12_000));
    assert_eq!((belief(&run, 1), belief(&run, 2)), (Belief::Holding, Belief::Holding));
    assert_eq!(judged(run.tally()).stale_beliefs, 1);
    run.run(at(30_000));
    assert_ne!(belief(&run, 1), Belief::Holding, "by its own clock the lease ends as well");
    assert_eq!(run.picture(0).client(ClientId(1)).unwrap().skew_ms, -20_000);
}

#[test]
fn a_clock_that_was_set_forward_makes_a_client_give_up_early_and_that_is_safe() {
    let mut run = run([]);
    run.order(to(1, Ill::Skew(20_000))).unwrap();
    run.run(at(20_000));
    let lost = when(&run, 1, |what| *what == Happening::Lost(Belief::Holding)).unwrap();
    assert!(lost < at(2_100), "{lost:?}");
    let of = judged(run.tally());
    assert_eq!((of.stale_beliefs, of.double_holders, of.fifo_violations), (0, 0, 0));
    assert_eq!(belief(&run, 2), Belief::Holding);
}

#[test]
fn a_holder_behind_a_cut_link_gives_up_before_the_store_does() {
    let mut run = run([]);
    run.order(to(1, Ill::Cut)).unwrap();
    run.run(at(15_000));
    let lost = when(&run, 1, |what| *what == Happening::Lost(Belief::Holding)).unwrap();
    let dropped = when(&run, 1, |what| matches!(what, Happening::Dropped(..))).unwrap();
    assert!(lost <= dropped, "{lost:?} {dropped:?}");
    let of = judged(run.tally());
    assert_eq!((of.stale_beliefs, of.double_holders), (0, 0));
    assert_eq!(belief(&run, 2), Belief::Holding);
    assert!(run.picture(0).client(ClientId(1)).unwrap().cut);
    run.order(to(1, Ill::Mend)).unwrap();
    run.run(at(18_000));
    assert_eq!(belief(&run, 1), Belief::Waiting);
}

#[test]
fn a_heartbeat_slower_than_the_lease_loses_the_lock() {
    let mut run = run([]);
    run.order(to(1, Ill::Heartbeat(Duration::from_secs(8)))).unwrap();
    run.run(at(15_000));
    assert!(when(&run, 1, |what| *what == Happening::Lost(Belief::Holding)).is_some());
    assert_eq!(belief(&run, 2), Belief::Holding);
    assert_eq!(run.picture(0).client(ClientId(1)).unwrap().heartbeat, Duration::from_secs(8));
}

#[test]
fn a_lease_that_somebody_else_revokes_leaves_a_stale_belief() {
    let mut run = run([]);
    run.order(Order::Client(Whom::Holder, Ill::Revoke)).unwrap();
    run.run(at(2_500));
    let said: Vec<_> = moments(&run, 1).into_iter().map(|moment| moment.what).collect();
    assert!(said.contains(&Happening::Suffered(Ill::Revoke)), "{said:?}");
    assert!(said.iter().any(|what| matches!(what, Happening::Dropped(_, Belief::Holding))), "{said:?}");
    run.run(at(6_000));
    assert!(when(&run, 1, |what| matches!(what, Happening::Lost(_))).is_some(), "its heartbeat or a write told it");
    let of = judged(run.tally());
    assert_eq!((of.stale_beliefs, of.dropped, of.expired), (1, 1, 0));
}

#[test]
fn a_crashed_holder_is_seen_to_expire_and_comes_back() {
    let mut run = run([]);
    run.order(Order::Client(Whom::Holder, Ill::Crash)).unwrap();
    run.run(at(15_000));
    let of = judged(run.tally());
    assert_eq!((of.crashed, of.expired, of.dropped, of.stale_beliefs), (1, 1, 0, 0));
    assert!(of.expiries().unwrap().max <= Duration::from_secs(6), "{:?}", of.expiries());
    assert!(when(&run, 1, |what| *what == Happening::Returned).is_some());
    assert_eq!(belief(&run, 2), Belief::Holding);
    let first = when(&run, 2, |what| matches!(what, Happening::First(_))).unwrap();
    let acquired = when(&run, 2, |what| matches!(what, Happening::Acquired(..))).unwrap();
    assert!(first <= acquired);
}

#[test]
fn a_release_and_another_hold_take_effect_at_once() {
    let mut run = run([]);
    run.order(to(1, Ill::Release)).unwrap();
    run.run(at(2_200));
    assert_eq!((belief(&run, 1), belief(&run, 2)), (Belief::Waiting, Belief::Holding));
    run.order(to(2, Ill::Hold(Duration::from_millis(500)))).unwrap();
    run.run(at(3_000));
    assert_eq!((belief(&run, 1), belief(&run, 2)), (Belief::Holding, Belief::Waiting));
    // A waiter gives up.
    run.order(Order::Client(Whom::Waiter, Ill::Release)).unwrap();
    run.run(at(3_010));
    assert!(when(&run, 2, |what| *what == Happening::GaveUp).is_some());
    let of = judged(run.tally());
    assert_eq!((of.dropped, of.expired, of.lost), (0, 0, 0), "whoever let go was not dropped");
}

#[test]
fn clients_join_and_leave() {
    let mut run = run([]);
    run.order(Order::Add(3)).unwrap();
    run.run(at(4_000));
    assert_eq!(run.picture(0).clients.len(), 5);
    assert!((3..=5).all(|client| belief(&run, client) == Belief::Waiting));
    run.order(Order::Client(Whom::Holder, Ill::Remove)).unwrap();
    run.run(at(6_000));
    let picture = run.picture(0);
    assert_eq!(picture.clients.iter().map(|client| client.id.0).collect::<Vec<_>>(), [2, 3, 4, 5]);
    assert_eq!(belief(&run, 2), Belief::Holding);
    assert!(when(&run, 1, |what| *what == Happening::Stopped).is_some());
    assert_eq!(judged(run.tally()).dropped, 0);
    run.order(Order::Add(1)).unwrap();
    assert!(run.picture(0).client(ClientId(6)).is_some(), "a number is given once");
}

#[test]
fn a_no_says_what_to_do() {
    let mut run = run([]);
    let no = |run: &mut Rehearsal, order| run.order(order).unwrap_err();
    assert_eq!(no(&mut run, to(9, Ill::Pause)), "there is no client-9: clients are client-1 to client-2");
    run.order(to(1, Ill::Pause)).unwrap();
    assert_eq!(no(&mut run, to(1, Ill::Pause)), "client-1 stands still already: `resume client-1` lets it go on");
    assert_eq!(no(&mut run, to(2, Ill::Resume)), "client-2 does not stand still: `pause client-2` stops it");
    assert!(no(&mut run, to(2, Ill::Mend)).contains("`cut client-2`"));
    assert!(no(&mut run, to(2, Ill::Heartbeat(Duration::ZERO))).contains("at least 10ms"));
    assert!(no(&mut run, Order::Add(u16::MAX)).starts_with("at most 10000 clients"));
    run.order(to(2, Ill::Remove)).unwrap();
    run.run(at(3_000));
    assert!(no(&mut run, to(2, Ill::Pause)).contains("`add 1`"));
    assert!(no(&mut run, Order::Client(Whom::Waiter, Ill::Pause)).starts_with("nobody waits for /t/lock now"));
    run.order(to(1, Ill::Crash)).unwrap();
    assert!(no(&mut run, to(1, Ill::Release)).contains("has crashed"));
    run.run(at(3_001));
}

#[test]
fn of_a_lock_of_one_key_the_one_that_waited_longest_is_meant() {
    let one = Habits { kind: Kind::SingleKey, hold: Span::of(MINUTE), name: "/t/one".into(), ..Habits::default() };
    let late = Habits { think: Span::millis(900, 900), ..one.clone() };
    let cast = Cast { lock: LockOf::SingleKey("/t/one".into()), ..cast([one.clone(), late, one]) };
    let mut run = Rehearsal::new(&cast, Config::default(), 7);
    run.run(at(5_000));
    let holder = (1..=3).find(|client| belief(&run, *client) == Belief::Holding).unwrap();
    let waiter = if holder == 1 { 3 } else { 1 };
    run.order(Order::Client(Whom::Waiter, Ill::Pause)).unwrap();
    run.order(Order::Client(Whom::Holder, Ill::Skew(5))).unwrap();
    let picture = run.picture(0);
    assert_eq!(picture.client(ClientId(waiter)).unwrap().life, Life::Paused);
    assert_eq!(picture.client(ClientId(holder)).unwrap().skew_ms, 5);
}

#[test]
fn pictures_say_how_long_a_client_holds() {
    let drawn = Habits { hold: Span::millis(200, 1_500), think: Span::of(MINUTE), ..habits() };
    let mut run = run([drawn]);
    let hold = |run: &Rehearsal, client| run.picture(0).client(ClientId(client)).unwrap().hold;
    assert_eq!((hold(&run, 1), hold(&run, 2)), (MINUTE, Duration::from_millis(1_500)));
    run.order(to(2, Ill::Hold(Duration::from_secs(3)))).unwrap();
    run.order(to(1, Ill::Crash)).unwrap();
    run.run(at(40_000));
    assert_eq!((hold(&run, 1), hold(&run, 2)), (MINUTE, Duration::from_secs(3)));
}

#[test]
fn pictures_hand_out_each_moment_once() {
    let mut run = run([]);
    let first = run.picture(0);
    assert_eq!(first.before, 0);
    assert_eq!((first.scenario.as_str(), &first.lock), ("ills", lock().name()));
    assert!(matches!(first.moments[0].what, Happening::Began));
    let next = first.before + first.moments.len() as u64;
    assert!(run.picture(next).moments.is_empty());
    run.note(Happening::Told(0));
    let told = run.picture(next);
    assert_eq!((told.before, told.moments.len()), (next, 1));
    assert_eq!(told.moments[0].what, Happening::Told(0));
    assert_eq!(run.picture(u64::MAX).moments.len(), 0);
}

#[test]
fn a_fault_is_timed_until_somebody_leads() {
    let mut run = run([]);
    let leader = run.cluster().leader().unwrap();
    run.note(Happening::Fault(Fault::Kill(leader)));
    run.fault(Fault::Kill(leader)).unwrap();
    run.run(at(10_000));
    let recovery = run.tally().reigns().recoveries().unwrap().max;
    assert!(Duration::from_millis(100) < recovery && recovery < Duration::from_secs(5), "{recovery:?}");
}

#[test]
fn writes_are_counted_and_shared_evenly_among_patient_clients() {
    let quick = Habits { hold: Span::millis(100, 100), writes: Some(Duration::from_millis(40)), ..habits() };
    let cast = cast(vec![quick; 4]);
    let mut run = Rehearsal::new(&cast, Config::default(), 7);
    run.run(at(30_000));
    let tally = run.tally();
    let of = judged(tally);
    let fair = tally.fairness(&lock()).unwrap();
    assert!(fair.by_count > 0.98 && fair.by_time > 0.98, "{fair:?}");
    let traffic = of.traffic();
    let calls = traffic.calls_per(of.handoffs).unwrap();
    assert!((3.0..7.0).contains(&calls), "put, look, watch, look and delete make {calls}");
    assert!((0.9..1.6).contains(&traffic.events_per(of.handoffs).unwrap()), "{traffic:?}");
    // At once, and after 40 and 80 ms.
    let [fenced, blind] = tally.ledgers() else { panic!("two ledgers") };
    assert_eq!((fenced.accepted, fenced.refused), (blind.accepted, 0));
    assert!(fenced.accepted.abs_diff(3 * of.acquired) <= 3, "{} writes, {} holds", fenced.accepted, of.acquired);
    assert_eq!(of.stale_accepted + of.stale_refused, 0);
}

#[test]
fn a_watcher_is_timed_from_the_change_in_the_store() {
    let service = Habits {
        kind: Kind::Registration,
        name: "/t/s/web".into(),
        hold: Span::of(MINUTE),
        think: Span::millis(3_000, 3_000),
        value: b"up".to_vec(),
        away: Span::of(MINUTE),
        ..Habits::default()
    };
    let watcher = Habits { kind: Kind::Watch, name: "/t/s/".into(), ..Habits::default() };
    let about = watcher.lock();
    let cast = Cast { lock: about.clone(), ..cast([watcher, service]) };
    let mut run = Rehearsal::new(&cast, Config::default(), 7);
    run.run(at(6_000));
    run.order(to(2, Ill::Crash)).unwrap();
    run.run(at(20_000));
    let of = &run.tally().locks()[&about];
    assert!(of.sights >= 2, "it came and it went: {:?}", moments(&run, 1));
    let learnt = of.learnt().expect("it watched meanwhile");
    assert!(learnt.max < Duration::from_millis(200), "{learnt:?}");
}

/// Everything that can be done, at drawn times.
fn everything(seed: u64) -> (Vec<Moment>, Revision) {
    let quick = Habits {
        hold: Span::millis(200, 900),
        think: Span::millis(0, 400),
        away: Span::millis(500, 2_000),
        ..habits()
    };
    let mut run = Rehearsal::new(&cast(vec![quick; 5]), Config { seed, ..Config::default() }, seed);
    let mut chance = crate::chance::Chance::new(seed, 99);
    let ills = [
        Ill::Pause,
        Ill::Resume,
        Ill::Crash,
        Ill::Cut,
        Ill::Mend,
        Ill::Heartbeat(Duration::from_secs(7)),
        Ill::Heartbeat(Duration::from_secs(1)),
        Ill::Skew(-6_000),
        Ill::Skew(0),
        Ill::Release,
        Ill::Hold(Duration::from_millis(700)),
        Ill::Revoke,
    ];
    let mut done = 0;
    for round in 0..200 {
        let ill = ills[usize::try_from(chance.up_to(ills.len() as u64 - 1)).unwrap()];
        let client = 1 + u32::try_from(chance.up_to(4)).unwrap();
        done += u32::from(run.order(to(client, ill)).is_ok());
        run.run(at(2_000 + round * 700));
    }
    assert!(done > 100, "{done} of 200 orders");
    let of = judged(run.tally());
    assert_eq!(
        (of.fifo_violations, of.clashes),
        (0, 0),
        "seed {seed}: {:?} {:?}",
        of.first_out_of_turn,
        of.first_clash
    );
    assert!(of.stale_beliefs > 0 && of.handoffs > 50, "seed {seed}: {of:?}");
    let revision = Revision(i64::try_from(of.handoffs).unwrap());
    (run.tally().moments().0.cloned().collect(), revision)
}

#[test]
fn whatever_is_done_to_clients_the_store_has_one_holder_and_the_same_seed_is_the_same_run() {
    let first = everything(1);
    assert_eq!(first, everything(1));
    assert_ne!(first.0, everything(2).0);
    for seed in 3..8 {
        everything(seed);
    }
}

#[test]
fn of_two_locks_each_is_told_and_so_is_the_circle_when_it_closes() {
    let pair = |name: &str, second: &str| Habits {
        kind: Kind::Pair,
        name: name.into(),
        second: Some(second.into()),
        writes: Some(Duration::from_secs(1)),
        ..Habits::default()
    };
    let cast = Cast { resources: Vec::new(), ..cast([pair("/t/lock", "/t/other"), pair("/t/other", "/t/lock")]) };
    let mut run = Rehearsal::new(&cast, Config::default(), 7);
    run.run(at(8_000));
    let picture = run.picture(0);
    for (client, first, second) in [(1, "/t/lock", "/t/other"), (2, "/t/other", "/t/lock")] {
        let told: Vec<_> = picture.moments.iter().filter(|moment| moment.client == Some(ClientId(client))).collect();
        let place = |lock: &str, is: fn(&Happening) -> bool| {
            told.iter().position(|moment| moment.lock == lock.into() && is(&moment.what)).unwrap()
        };
        let enqueued = |what: &Happening| matches!(what, Happening::Enqueued(_));
        let has_first = |what: &Happening| matches!(what, Happening::HasFirst(..));
        let steps = [place(first, enqueued), place(first, has_first), place(second, enqueued)];
        assert!(steps.is_sorted(), "{told:?}");
        let client = picture.client(ClientId(client)).unwrap();
        let queued = client.second.as_ref().unwrap();
        assert_eq!((client.place, queued.lock.clone(), queued.place), (Some(0), second.into(), Some(1)));
    }
    let circles = |run: &Rehearsal| {
        let picture = run.picture(0);
        let circle = |moment: &Moment| matches!(&moment.what, Happening::Circle(_));
        picture.moments.into_iter().filter(circle).map(|moment| moment.what).collect::<Vec<_>>()
    };
    let circle = Happening::Circle(vec![ClientId(1), ClientId(2)]);
    assert_eq!(circles(&run), [circle]);
    run.order(to(1, Ill::Release)).unwrap();
    run.run(at(60_000));
    assert!(circles(&run).len() > 1, "they do it again, and it is told again");
}

#[test]
fn where_the_server_queues_the_store_tells_who_stands_in_it() {
    let served = Habits { kind: Kind::LockApi, writes: None, ..habits() };
    let late = Habits { think: Span::millis(500, 500), ..served.clone() };
    let cast = Cast { resources: Vec::new(), ..cast([served, late]) };
    let mut run = Rehearsal::new(&cast, Config::default(), 7);
    run.run(at(3_000));
    let waiter = run.picture(0).client(ClientId(2)).unwrap().clone();
    assert_eq!((waiter.belief, waiter.place), (Belief::Waiting, Some(1)));
    assert!(waiter.stake.created > Revision(0), "{waiter:?}");
    run.order(to(1, Ill::Release)).unwrap();
    run.run(at(4_000));
    let moments = run.picture(0).moments;
    let told: Vec<_> = moments.iter().filter(|moment| moment.client == Some(ClientId(2))).collect();
    let enqueued: Vec<_> = (0..told.len()).filter(|at| matches!(told[*at].what, Happening::Enqueued(_))).collect();
    let first = told.iter().position(|moment| matches!(moment.what, Happening::First(_))).unwrap();
    let acquired = told.iter().position(|moment| matches!(moment.what, Happening::Acquired(..))).unwrap();
    assert!(enqueued.len() == 1 && enqueued[0] < first && first < acquired, "{told:?}");
}
