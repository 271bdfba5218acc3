//! The past of one lock, rebuilt from revisions.

use lockscope::domain::{KeyRange, LeaseId, Revision, Timestamp};
use lockscope::event::{Observation, Past};
use lockscope::model::{Cause, Handoffs, LockView};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::order::step;
use crate::store::{Bench, Step, Store};

/// What a source tells of the lock's past: all of it, or what a compaction at `floor` left.
fn parts(store: &Store, at_floor: &Store, lock: &str, alive: &[i64]) -> Vec<Past> {
    let range = range(lock);
    let floor = at_floor.revision;
    let compacted = (floor > 1).then_some(Revision(floor));
    let mut parts = vec![Past::Begun { since: Revision(floor + 1), to: Revision(store.revision), compacted }];
    if compacted.is_some() {
        parts.extend(at_floor.pages(&range, 2).into_iter().map(Past::Listed));
    }
    let mut changes = store.changes_after(floor);
    changes.retain(|change| range.contains(change.event.key()));
    for changes in changes.chunk_by(|one, other| one.revision.0 / 4 == other.revision.0 / 4) {
        let alive = alive.iter().copied().map(LeaseId).collect();
        parts.push(Past::Changes { changes: changes.to_vec(), alive });
    }
    parts.push(Past::Ended { why: None });
    parts
}

fn range(lock: &str) -> KeyRange {
    if lock == "/cron/lock" {
        KeyRange::single(lock.as_bytes())
    } else {
        KeyRange::prefix(format!("{lock}/").as_bytes())
    }
}

fn play(lock: &str, parts: Vec<Past>) -> (Handoffs, Vec<String>) {
    let mut past = Handoffs::of(lock.into());
    let mut told = Vec::new();
    for part in parts {
        past.take(Timestamp(0), part);
        while let Some(handoff) = past.next_handoff() {
            let name = |key: &[u8]| String::from_utf8_lossy(key).rsplit('/').next().unwrap_or_default().to_owned();
            let from = handoff.from.from.map_or_else(|| "?".into(), |from| from.to_string());
            let to: Vec<_> = handoff.to.iter().map(|turn| name(&turn.key)).collect();
            let (revision, cause) = (handoff.revision, handoff.cause.name());
            told.push(format!("{revision}: {} {from}.. {cause} -> {}", name(&handoff.from.key), to.join(" ")));
        }
    }
    (past, told)
}

/// All handoffs of a lock in the whole of a store's history.
fn whole(store: &Store, lock: &str, alive: &[i64]) -> Vec<String> {
    play(lock, parts(store, &Store::new(), lock, alive)).1
}

#[test]
fn who_held_from_which_revision_to_which_and_why_it_ended() {
    let mut store = Store::new();
    store.put("/a/10", "", 0x10); // 2
    store.put("/a/20", "", 0x20); // 3
    store.delete(&["/a/10"]); // 4: its lease lives
    store.put("/a/30", "", 0x30); // 5
    store.delete(&["/a/20"]); // 6: nothing tells
    store.delete(&["/a/30"]); // 7: nobody waits
    store.put("/a/40", "", 0x40); // 8
    let (past, told) = play("/a", parts(&store, &Store::new(), "/a", &[0x10, 0x30]));
    assert_eq!(told, ["4: 10 2.. released -> 20", "6: 20 4.. unknown -> 30", "7: 30 6.. released -> "]);
    assert_eq!(past.turns().len(), 1);
    assert_eq!((past.turns()[0].create_revision, past.turns()[0].from), (Revision(8), Some(Revision(8))));
    assert_eq!((past.since(), past.to(), past.compacted()), (Revision(2), Revision(8), None));
}

#[test]
fn a_holder_without_a_lease_was_deleted() {
    let mut store = Store::new();
    store.put("/s/job/7e055af811b4bb53", "who", 0);
    store.put("/s/job/c3", "", 0xc3);
    store.delete(&["/s/job/7e055af811b4bb53"]);
    assert_eq!(whole(&store, "/s/job", &[0xc3]), ["4: 7e055af811b4bb53 2.. deleted -> c3"]);
}

#[test]
fn who_held_before_the_compaction_has_no_beginning() {
    let mut store = Store::new();
    store.put("/a/10", "", 0x10); // 2
    store.put("/a/20", "", 0x20); // 3
    let floor = store.clone();
    store.delete(&["/a/10"]); // 4
    store.delete(&["/a/20"]); // 5
    let (past, told) = play("/a", parts(&store, &floor, "/a", &[]));
    assert_eq!(told, ["4: 10 ?.. unknown -> 20", "5: 20 4.. unknown -> "]);
    assert_eq!(past.compacted(), Some(Revision(3)));
    assert!(past.turns().is_empty());
}

#[test]
fn a_session_that_comes_again_had_released() {
    let mut store = Store::new();
    store.put("/a/10", "", 0x10); // 2
    store.put("/a/20", "", 0x20); // 3
    store.delete(&["/a/10"]); // 4
    store.put("/a/10", "", 0x10); // 5: reacquired
    store.delete(&["/a/20"]); // 6
    store.delete(&["/a/10"]); // 7
    let expected = ["4: 10 2.. released -> 20", "6: 20 4.. unknown -> 10", "7: 10 6.. unknown -> "];
    assert_eq!(whole(&store, "/a", &[]), expected);
}

#[test]
fn what_deletes_keys_of_two_leases_is_no_lease_that_ran_out() {
    let mut store = Store::new();
    store.put("/a/10", "", 0x10);
    store.put("/a/20", "", 0x20);
    store.put("/a/30", "", 0x30);
    store.delete(&["/a/10", "/a/20"]); // 5
    assert_eq!(whole(&store, "/a", &[]), ["5: 10 2.. deleted -> 30"]);
}

#[test]
fn a_waiter_that_left_hands_nothing_over() {
    let mut store = Store::new();
    store.put("/a/10", "", 0x10);
    store.put("/a/20", "", 0x20);
    store.put("/a/30", "", 0x30);
    store.delete(&["/a/20"]);
    store.delete(&["/a/10"]); // 6
    assert_eq!(whole(&store, "/a", &[]), ["6: 10 2.. unknown -> 30"]);
}

#[test]
fn readers_hold_together_and_a_writer_hands_on_to_all_of_them() {
    let name = |of: &str, n: u32| format!("/rw/{of}/179597206946404{n:04}");
    let mut store = Store::new();
    store.put(&name("write", 1), "", 0x10); // 2
    store.put(&name("read", 2), "", 0x20); // 3
    store.put(&name("read", 3), "", 0x30); // 4
    store.put(&name("write", 4), "", 0x40); // 5
    store.delete(&[&name("write", 1)]); // 6
    store.delete(&[&name("read", 3)]); // 7
    store.delete(&[&name("read", 2)]); // 8
    let expected = [
        "6: 1795972069464040001 2.. unknown -> 1795972069464040002 1795972069464040003",
        "7: 1795972069464040003 6.. unknown -> ",
        "8: 1795972069464040002 6.. unknown -> 1795972069464040004",
    ];
    assert_eq!(whole(&store, "/rw", &[]), expected);
}

#[test]
fn a_lock_of_one_key_is_taken_and_let_go() {
    let mut store = Store::new();
    store.put("/cron/lock", "a", 0x10); // 2
    store.put("/cron/lock", "a", 0x10); // 3: put again, the same hold
    store.delete(&["/cron/lock"]); // 4
    store.put("/cron/lock", "b", 0x20); // 5
    store.delete(&["/cron/lock"]); // 6
    assert_eq!(whole(&store, "/cron/lock", &[0x10]), ["4: lock 2.. released -> ", "6: lock 5.. unknown -> "]);
}

#[test]
fn a_compaction_while_it_is_read_leaves_a_gap_and_what_was_told_stays() {
    let mut store = Store::new();
    store.put("/a/10", "", 0x10); // 2
    store.put("/a/20", "", 0x20); // 3
    let first = store.changes_after(1);
    store.delete(&["/a/10"]); // 4: compacted before it was told
    store.put("/a/30", "", 0x30); // 5
    let page = store.pages(&range("/a"), 9).remove(0);
    store.delete(&["/a/20"]); // 6
    let parts = vec![
        Past::Begun { since: Revision(2), to: Revision(6), compacted: None },
        Past::Changes { changes: first, alive: vec![] },
        Past::Compacted { from: Revision(3), to: Revision(5) },
        Past::Listed(page),
        Past::Changes { changes: store.changes_after(5), alive: vec![] },
        Past::Ended { why: None },
    ];
    let (past, told) = play("/a", parts);
    assert_eq!(told, ["5: 10 2.. unknown -> 20", "6: 20 ?.. unknown -> 30"]);
    assert_eq!(past.gaps(), [(Revision(3), Revision(5))]);
}

#[test]
fn a_store_that_was_compacted_up_to_now_has_no_first_revision_to_tell() {
    let begun = |since, to| {
        let mut past = Handoffs::of("/a".into());
        past.take(
            Timestamp(0),
            Past::Begun { since: Revision(since), to: Revision(to), compacted: Some(Revision(52)) },
        );
        past.first_told()
    };
    assert_eq!(begun(53, 52), None);
    assert_eq!(begun(53, 53), Some(Revision(53)));
}

#[test]
fn a_long_past_is_told_without_being_kept() {
    let mut past = Handoffs::of("/a".into());
    past.take(Timestamp(0), Past::Begun { since: Revision(2), to: Revision(90_000), compacted: None });
    let (mut store, mut told) = (Store::new(), 0);
    store.put("/a/10", "", 0x10);
    for turn in 0..5_000 {
        let (now, next) = (format!("/a/{:x}", 16 + turn), format!("/a/{:x}", 17 + turn));
        store.put(&next, "", 17 + turn);
        store.delete(&[&now]);
        let changes = std::mem::take(&mut store.changes);
        past.take(Timestamp(turn), Past::Changes { changes, alive: vec![] });
        told += std::iter::from_fn(|| past.next_handoff()).count();
        assert!(turn < 200 || told >= usize::try_from(turn).unwrap() - 150, "turn {turn}: {told} told");
    }
}

fn apply(store: &mut Store, steps: &[Step]) {
    for step in steps {
        store.apply(step);
    }
}

/// Plays these steps on a store with that history, watched and rebuilt from its revisions.
fn is_what_a_watch_saw(before: &[Step], steps: &[Step]) -> Result<(), TestCaseError> {
    let mut store = Store::new();
    apply(&mut store, before);
    let floor = store.clone();
    for lock in ["/q/a", "/rw", "/cron/lock"] {
        let mut store = store.clone();
        let mut witness = Bench::new();
        let scope = range(lock);
        for page in store.pages(&scope, 3) {
            witness.observe(Observation::Listed(page));
        }
        let mut seen = Vec::new();
        for step in steps {
            let from = store.revision;
            store.apply(step);
            let mut changes = store.changes_after(from);
            changes.retain(|change| scope.contains(change.event.key()));
            if changes.is_empty() {
                continue;
            }
            witness.observe(Observation::Watched(changes));
            let at = Revision(store.revision);
            let ends = |lock: LockView<'_>| -> Vec<_> {
                let ended = lock.holds().filter_map(|hold| Some((hold.create_revision, hold.from, hold.ended?)));
                ended
                    .filter(|(.., end)| end.revision == at)
                    .map(|(token, from, end)| (at, token, from, end.cause))
                    .collect()
            };
            seen.extend(witness.facts().lock_named(lock.as_bytes()).map(ends).unwrap_or_default());
        }
        let mut past = Handoffs::of(lock.into());
        let mut told = Vec::new();
        for part in parts(&store, &floor, lock, &[]) {
            past.take(Timestamp(0), part);
            told.extend(std::iter::from_fn(|| past.next_handoff()));
        }
        let bare = |(at, token, from): &(Revision, Revision, Option<Revision>)| (*at, *token, *from);
        let known: Vec<_> =
            told.iter().map(|told| (told.revision, told.from.create_revision, told.from.from)).collect();
        let watched: Vec<_> = seen.iter().map(|(at, token, from, _)| (*at, *token, *from)).collect();
        prop_assert_eq!(known.iter().map(bare).collect::<Vec<_>>(), watched, "{}", lock);
        prop_assert!(told.iter().all(|told| told.cause != Cause::Pending));
        let holders = |lock: LockView<'_>| lock.holders().map(|key| key.token()).collect::<Vec<_>>();
        let mut held = witness.facts().lock_named(lock.as_bytes()).map(holders).unwrap_or_default();
        let mut turns: Vec<_> = past.turns().iter().map(|turn| turn.create_revision).collect();
        held.sort_unstable();
        turns.sort_unstable();
        prop_assert_eq!(turns, held, "{}", lock);
    }
    Ok(())
}

#[test]
fn a_key_that_was_put_again_goes_on_holding() {
    let key = "/rw/read/1795972069464040016";
    let again = |value: &str| Step::Put { key: key.into(), value: value.into(), lease: 0 };
    is_what_a_watch_saw(&[again("host-a")], &[again("")]).unwrap();
}

proptest! {
    /// Whatever happened, its revisions tell the same holds and ends as a watch told at the time.
    #[test]
    fn the_past_is_what_a_watch_saw(before in vec(step(), 0..20), steps in vec(step(), 1..60)) {
        is_what_a_watch_saw(&before, &steps)?;
    }
}
