//! What was missed in a long gap and is told afterwards.

use lockscope::domain::{Revision, Timestamp};
use lockscope::event::{Change, Observation, WatchLoss};
use lockscope::model::{Cause, LockView, What};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::order::step;
use crate::store::{Bench, Step, Store, picture, tell};

/// Skips what the store has and the model does not, and reads it anew; what was skipped.
fn skip(store: &Store, bench: &mut Bench) -> Vec<Change> {
    let from = bench.facts().link.revision;
    bench.observe(Observation::WatchLost(WatchLoss::Skipped { from, to: Revision(store.revision) }));
    bench.read(store);
    store.changes_after(from.0)
}

fn end(bench: &mut Bench, through: i64, why: Option<&str>) {
    bench.observe(Observation::FillEnded { through: Revision(through), why: why.map(Into::into) });
}

fn apply(store: &mut Store, steps: &[Step]) {
    for step in steps {
        store.apply(step);
    }
}

/// What happened in the gap, in words.
fn past(bench: &Bench) -> Vec<String> {
    bench.facts().past().iter().map(|happening| format!("{} {}", happening.revision, tell(&happening.what))).collect()
}

/// When, at which revision and why a hold ended.
type Ended = (Option<Timestamp>, i64, Cause);

/// The remembered holds of a lock: token, whether its beginning has a time, and its end.
fn holds(bench: &Bench, lock: &str) -> Vec<(i64, bool, Option<Ended>)> {
    let lock = bench.facts().lock_named(lock.as_bytes()).unwrap();
    let ended = |hold: &lockscope::model::Hold| hold.ended.map(|end| (end.at, end.revision.0, end.cause));
    lock.holds().map(|hold| (hold.create_revision.0, hold.began.is_some(), ended(hold))).collect()
}

/// `/a` is held by the key of revision 2 (lease 10) and awaited by that of revision 3 (lease 20).
fn contended() -> (Store, Bench) {
    let mut store = Store::new();
    let mut bench = Bench::reading(&store);
    store.put("/a/10", "", 0x10);
    store.put("/a/20", "", 0x20);
    bench.watch(&store);
    (store, bench)
}

#[test]
fn handovers_of_a_gap_enter_the_history_in_order_and_without_times() {
    let (mut store, mut bench) = contended();
    let first = bench.now;
    bench.tick(60_000);
    store.put("/other/10", "", 0x10);
    store.delete(&["/a/10"]); // 5: its lease lives on
    store.put("/a/30", "", 0x30); // 6
    store.delete(&["/a/20"]); // 7: nothing tells of its lease
    store.put("/a/40", "", 0x40); // 8
    let missed = skip(&store, &mut bench);
    let shown = picture(bench.facts());
    bench.tick(5_000);
    bench.observe(Observation::Filled(missed[..2].to_vec()));
    bench.observe(Observation::Filled(missed[2..].to_vec()));
    end(&mut bench, store.revision, None);
    assert_eq!(
        past(&bench),
        [
            "4 /other/10 enqueued",
            "4 /other/10 acquired",
            "5 /a/10 released",
            "5 /a/20 acquired",
            "6 /a/30 enqueued",
            "7 /a/20 unknown",
            "7 /a/30 acquired",
            "8 /a/40 enqueued",
        ]
    );
    assert_eq!(
        holds(&bench, "/a"),
        [(2, true, Some((None, 5, Cause::Released))), (3, false, Some((None, 7, Cause::Unknown))), (6, true, None),]
    );
    let lock = bench.facts().lock_named(b"/a").unwrap();
    assert_eq!(lock.holds().next().unwrap().began.unwrap().at, Timestamp(first));
    assert!(!lock.held_since().unwrap().exact, "the last was found holding when the list was read");
    assert_eq!(picture(bench.facts()), shown, "the present is as it was");
    assert_eq!(bench.facts().link.gaps, 0);
}

#[test]
fn what_happens_meanwhile_stays_behind_what_was_missed() {
    let (mut store, mut bench) = contended();
    store.delete(&["/a/10"]); // 4
    store.put("/a/30", "", 0x30); // 5
    store.delete(&["/a/20"]); // 6
    bench.tick(1_000);
    let missed = skip(&store, &mut bench);
    let listed = store.revision;
    bench.tick(1_000);
    store.put("/a/40", "", 0x40); // 7
    store.delete(&["/a/30"]); // 8
    bench.watch(&store);
    bench.observe(Observation::Filled(missed));
    end(&mut bench, listed, None);
    let order: Vec<_> = holds(&bench, "/a").into_iter().map(|(token, ..)| token).collect();
    assert_eq!(order, [2, 3, 5, 7]);
    let lock = bench.facts().lock_named(b"/a").unwrap();
    assert_eq!(lock.holder().unwrap().token(), Revision(7));
}

#[test]
fn who_held_before_anything_changed_is_told_once() {
    let mut store = Store::new();
    store.put("/a/10", "", 0x10);
    store.put("/a/20", "", 0x20);
    let mut bench = Bench::reading(&store);
    bench.tick(1_000);
    store.delete(&["/a/10"]);
    let missed = skip(&store, &mut bench);
    bench.observe(Observation::Filled(missed));
    end(&mut bench, store.revision, None);
    let told = holds(&bench, "/a");
    assert_eq!(told, [(2, true, Some((None, 4, Cause::Unknown))), (3, true, None)]);
}

#[test]
fn what_is_not_filled_stays_a_gap() {
    let (mut store, mut bench) = contended();
    store.delete(&["/a/10"]); // 4
    store.delete(&["/a/20"]); // 5
    store.put("/a/30", "", 0x30); // 6
    let missed = skip(&store, &mut bench);
    bench.observe(Observation::Filled(missed[..1].to_vec()));
    end(&mut bench, 4, Some("compacted up to revision 6"));
    assert_eq!(bench.facts().link.gaps, 1);
    let gap = bench.facts().timeline.iter().find_map(|happening| match happening.what {
        What::Gap { from, to } => Some((from.0, to.0)),
        _ => None,
    });
    assert_eq!(gap, Some((4, 6)));
    let told = holds(&bench, "/a");
    assert_eq!(told[0], (2, true, Some((None, 4, Cause::Unknown))));
    assert!(told.iter().all(|(token, _, ended)| ended.is_some() == (*token != 6)), "{told:?}");
}

#[test]
fn a_gap_that_nothing_was_told_of_is_left_as_it_is() {
    let (mut store, mut bench) = contended();
    store.delete(&["/a/10"]);
    skip(&store, &mut bench);
    let before = (holds(&bench, "/a"), bench.story());
    end(&mut bench, 3, Some("compacted up to revision 4"));
    assert_eq!((holds(&bench, "/a"), bench.story()), before);
    assert_eq!(bench.facts().link.gaps, 1);
}

#[test]
fn another_cluster_ends_a_fill_and_what_was_told_stays_told() {
    let (mut store, mut bench) = contended();
    store.delete(&["/a/10"]);
    let missed = skip(&store, &mut bench);
    bench.observe(Observation::Filled(missed));
    let told = bench.facts().past().next_seq();
    bench.observe(Observation::WatchLost(WatchLoss::BeganAnew { why: "revision 1 after 4".into() }));
    assert!(!bench.facts().is_filling());
    assert_eq!(bench.facts().past().next_seq(), told);
    end(&mut bench, 4, None);
    assert_eq!(bench.facts().lock_count(), 0);
}

#[test]
fn nobody_is_asked_about_leases_of_the_past() {
    let (mut store, mut bench) = contended();
    bench.tick(1_000);
    store.put("/a/30", "", 0x30);
    store.delete(&["/a/30"]);
    let missed = skip(&store, &mut bench);
    bench.observe(Observation::Filled(missed));
    assert!(!bench.tick(1_000).contains(&0x30));
}

proptest! {
    /// Whatever was missed, a fill leaves the present alone, and tells of the same holds and
    /// ends, at the same revisions, as a watch would have.
    #[test]
    fn a_fill_tells_what_a_watch_would_have(before in vec(step(), 0..20), missed in vec(step(), 1..40), after in prop_oneof![Just(Vec::new()), vec(step(), 0..10)]) {
        let mut store = Store::new();
        apply(&mut store, &before);
        let mut bench = Bench::reading(&store);
        let mut witness = Bench::reading(&store);
        let first = store.revision;
        apply(&mut store, &missed);
        let skipped = skip(&store, &mut bench);
        witness.observe(Observation::Watched(skipped.clone()));
        let listed = store.revision;
        apply(&mut store, &after);
        bench.watch(&store);
        witness.watch(&store);
        let shown = picture(bench.facts());
        for changes in skipped.chunk_by(|one, other| one.revision == other.revision) {
            bench.observe(Observation::Filled(changes.to_vec()));
        }
        end(&mut bench, listed, None);
        prop_assert_eq!(picture(bench.facts()), shown.clone());
        prop_assert_eq!(shown, picture(Bench::reading(&store).facts()));
        let kind = |what: &What| match what {
            What::Released(party, _) => Some(("released", party.key.clone())),
            What::WaiterGone(party, _) => Some(("gone", party.key.clone())),
            What::Acquired(party) => Some(("acquired", party.key.clone())),
            What::Enqueued(party) => Some(("enqueued", party.key.clone())),
            _ => None,
        };
        let told = |timeline: &lockscope::model::Timeline| -> Vec<_> {
            timeline.iter().filter_map(|happening| Some((happening.revision, kind(&happening.what)?))).collect()
        };
        let seen: Vec<_> = told(&witness.facts().timeline).into_iter().filter(|(at, _)| at.0 <= listed).collect();
        prop_assert_eq!(told(bench.facts().past()), seen);
        prop_assert!(told(bench.facts().past()).iter().all(|(revision, _)| revision.0 > first && revision.0 <= listed));
        prop_assert_eq!(bench.facts().link.gaps, 0);
        // Where the present goes on, it may have another opinion of what is a lock.
        let known = |lock: &LockView<'_>| after.is_empty() && witness.facts().lock_named(lock.name()).is_some();
        for lock in bench.facts().locks().filter(|lock| lock.layout().is_lock()).filter(known) {
            let name = String::from_utf8_lossy(lock.name()).into_owned();
            let ends = |bench: &Bench| -> Vec<_> {
                holds(bench, &name).into_iter().filter_map(|(token, _, ended)| Some((token, ended?.1))).collect()
            };
            let (filled, seen) = (ends(&bench), ends(&witness));
            let mut rest = filled.iter();
            let in_order = seen.iter().all(|end| rest.any(|filled| filled == end));
            prop_assert!(in_order, "{name}: {seen:?} is not in {filled:?}");
        }
    }
}
