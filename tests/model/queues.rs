//! Who holds, who waits, and for whom.

use crate::store::{Bench, Store, picture};
use lockscope::domain::{LeaseId, Revision};
use lockscope::layout::Layout;
use lockscope::model::{LockState, What};

#[test]
fn the_oldest_create_revision_holds_and_each_waits_for_the_one_before() {
    let mut store = Store::new();
    let first = store.put("/jobs/a/30", "", 0x30);
    let second = store.put("/jobs/a/10", "", 0x10);
    store.put("/jobs/a/20", "", 0x20);
    let bench = Bench::reading(&store);
    let lock = bench.facts().lock_named(b"/jobs/a").unwrap();
    assert_eq!((lock.layout(), lock.state()), (Layout::Queue, LockState::Contended));
    assert_eq!(lock.holder().unwrap().token(), Revision(first));
    let waiters: Vec<_> = lock.waiters().map(|w| (w.position, w.waits_for, w.key.lease())).collect();
    assert_eq!(waiters, [(1, Revision(first), LeaseId(0x10)), (2, Revision(second), LeaseId(0x20))]);
}

#[test]
fn one_of_two_keys_that_one_transaction_made_holds_when_the_other_goes() {
    let mut store = Store::new();
    let mut bench = Bench::reading(&store);
    store.put_together(&[("/jobs/a/10", 0x10), ("/jobs/a/20", 0x20)]);
    store.put("/jobs/a/30", "", 0x30);
    bench.watch(&store);
    store.delete(&["/jobs/a/20"]);
    bench.watch(&store);
    let lock = bench.facts().lock_named(b"/jobs/a").unwrap();
    assert_eq!(lock.holder().unwrap().lease(), LeaseId(0x10));
    assert_eq!(picture(bench.facts()), picture(Bench::reading(&store).facts()));
    store.delete(&["/jobs/a/10"]);
    bench.watch(&store);
    let last = bench.facts().timeline.iter().rev().find_map(|happening| match &happening.what {
        What::Released(party, _) | What::WaiterGone(party, _) => {
            Some((matches!(happening.what, What::Released(..)), party))
        }
        _ => None,
    });
    assert!(last.is_some_and(|(held, party)| held && *party.key == *b"/jobs/a/10"), "{last:?}");
}

#[test]
fn a_holder_that_rewrites_its_value_still_holds() {
    let mut store = Store::new();
    let first = store.put("/core/lock/10", "", 0x10);
    store.put("/core/lock/20", "", 0x20);
    store.put("/core/lock/10", "4f9c2b1e-9f5a-4a51-8d7c-8f5a2f1f7a11", 0x10);
    let bench = Bench::reading(&store);
    let lock = bench.facts().lock_named(b"/core/lock").unwrap();
    assert_eq!(lock.holder().unwrap().token(), Revision(first));
    assert_eq!(lock.waiter_count(), 1);
}

#[test]
fn readers_hold_together_and_wait_for_writers_only() {
    let mut store = Store::new();
    let reader = |n: u64| format!("/rw/read/179597206946404000{n}");
    store.put(&reader(1), "", 1);
    let second = store.put(&reader(2), "", 2);
    let writer = store.put("/rw/write/1795972069467962405", "", 3);
    store.put(&reader(4), "", 4);
    store.put(&reader(5), "", 5);
    let bench = Bench::reading(&store);
    let lock = bench.facts().lock_named(b"/rw").unwrap();
    assert_eq!(lock.layout(), Layout::RwLock);
    assert_eq!(lock.holders().map(|key| key.lease().0).collect::<Vec<_>>(), [1, 2]);
    let waiters: Vec<_> = lock.waiters().map(|w| (w.key.lease().0, w.waits_for.0)).collect();
    assert_eq!(waiters, [(3, second), (4, writer), (5, writer)]);
    assert_eq!(lock.waiter_count(), 3);
}

#[test]
fn a_writer_in_front_holds_alone() {
    let mut store = Store::new();
    store.put("/rw/write/1795972069467962405", "", 1);
    store.put("/rw/read/1795972069467962406", "", 2);
    let bench = Bench::reading(&store);
    let lock = bench.facts().lock_named(b"/rw").unwrap();
    assert_eq!(lock.holders().map(|key| key.lease().0).collect::<Vec<_>>(), [1]);
    assert_eq!(lock.waiter_count(), 1);
}

#[test]
fn a_foreign_key_under_the_name_stands_in_the_queue() {
    let mut store = Store::new();
    let foreign = store.put("/jobs/a/README", "do not delete", 0);
    store.put("/jobs/a/10", "", 0x10);
    let bench = Bench::reading(&store);
    let lock = bench.facts().lock_named(b"/jobs/a").unwrap();
    let holder = lock.holder().unwrap();
    assert_eq!(holder.token(), Revision(foreign));
    assert!(holder.is_foreign(lock.layout()));
    let waiter = lock.waiters().next().unwrap();
    assert!(!waiter.key.is_foreign(lock.layout()));
    assert_eq!(waiter.waits_for, Revision(foreign));
}

#[test]
fn a_lock_is_free_when_its_last_key_goes_and_stays_known() {
    let mut store = Store::new();
    store.put("/jobs/a/10", "", 0x10);
    let mut bench = Bench::reading(&store);
    store.delete(&["/jobs/a/10"]);
    bench.watch(&store);
    let lock = bench.facts().lock_named(b"/jobs/a").unwrap();
    assert_eq!(lock.state(), LockState::Free);
    assert_eq!(lock.free_since().map(|at| at.0), Some(bench.now));
    store.put("/jobs/a/20", "", 0x20);
    bench.watch(&store);
    let lock = bench.facts().lock_named(b"/jobs/a").unwrap();
    assert_eq!((lock.state(), lock.free_since()), (LockState::Held, None));
    assert_eq!(lock.holds().count(), 2);
}

#[test]
fn no_more_than_a_thousand_free_locks_are_remembered() {
    let mut store = Store::new();
    let mut bench = Bench::reading(&store);
    for n in 0..1_200 {
        let key = format!("/jobs/{n}/10");
        store.put(&key, "", 0x10);
        store.delete(&[&key]);
        bench.watch(&store);
        store.changes.clear();
    }
    assert_eq!(bench.facts().lock_count(), 1_000);
    assert!(bench.facts().lock_named(b"/jobs/0").is_none());
    assert!(bench.facts().lock_named(b"/jobs/1199").is_some());
}

#[test]
fn a_single_key_lock_changes_hands_by_delete_and_create() {
    let mut store = Store::new();
    store.put("/cron/lock", "host-a", 1);
    let mut bench = Bench::reading(&store);
    store.delete(&["/cron/lock"]);
    store.put("/cron/lock", "host-b", 2);
    bench.watch(&store);
    let lock = bench.facts().lock_named(b"/cron/lock").unwrap();
    assert_eq!((lock.layout(), lock.state()), (Layout::SingleKey, LockState::Held));
    assert_eq!(lock.holder().unwrap().lease(), LeaseId(2));
    assert_eq!(lock.holds().count(), 2);
    assert_eq!(bench.story(), ["/cron/lock pending", "/cron/lock acquired"]);
}

#[test]
fn one_lease_tells_what_it_holds_and_what_it_waits_for() {
    let mut store = Store::new();
    store.put("/a/10", "", 0x10);
    store.put("/b/20", "", 0x20);
    store.put("/b/10", "", 0x10);
    let bench = Bench::reading(&store);
    let lease = bench.facts().lease(LeaseId(0x10)).unwrap();
    assert_eq!(lease.holds().iter().map(lockscope::model::LockView::name).collect::<Vec<_>>(), [b"/a"]);
    assert_eq!(lease.waits_for().iter().map(lockscope::model::LockView::name).collect::<Vec<_>>(), [b"/b"]);
    assert_eq!(lease.keys().len(), 2);
}

#[test]
fn a_foreign_key_holds_a_lock_even_when_nobody_queues_behind_it() {
    let mut store = Store::new();
    let foreign = store.put("/jobs/a/stray", "v", 0);
    store.put("/jobs/a/10", "", 0x10);
    let mut bench = Bench::reading(&store);
    store.delete(&["/jobs/a/10"]);
    bench.watch(&store);
    let lock = bench.facts().lock_named(b"/jobs/a").unwrap();
    assert_eq!((lock.state(), lock.free_since()), (LockState::Held, None));
    assert_eq!(lock.holder().unwrap().token(), Revision(foreign));
    assert!(lock.is_leaseless(), "nothing frees it by itself");
    store.put("/jobs/a/20", "", 0x20);
    bench.watch(&store);
    assert_eq!(bench.story(), ["/jobs/a/10 gave up: pending", "/jobs/a/20 enqueued"]);
    store.delete(&["/jobs/a/stray"]);
    bench.watch(&store);
    let lock = bench.facts().lock_named(b"/jobs/a").unwrap();
    assert_eq!(lock.holder().unwrap().lease(), LeaseId(0x20));
}

#[test]
fn a_key_in_a_queue_is_no_second_lock() {
    let mut store = Store::new();
    store.put("/zk/lock/leader", "host-a", 5);
    store.put("/zk/lock/10", "", 0x10);
    let bench = Bench::reading(&store);
    let names: Vec<_> = bench.facts().locks().map(|lock| lock.name().to_vec()).collect();
    assert_eq!(names, [b"/zk/lock".to_vec()]);
}

#[test]
fn no_leases_at_all_means_that_everything_is_read() {
    let mut bench = Bench::new();
    bench.observe(lockscope::event::Observation::Scope(Vec::new()));
    assert!(!bench.facts().link.listed);
    bench.observe(lockscope::event::Observation::LeaseList(Vec::new()));
    assert!(bench.facts().link.listed);
}
