//! What is told of it, and why keys went.

use crate::store::{Bench, Store, everything};
use lockscope::domain::{ClusterId, KeyRange, LeaseId, Revision};
use lockscope::event::{Denied, ListPage, Observation, WatchLoss};
use lockscope::model::Cause;

/// A queue of two that was read, and a model whose leases were asked once.
fn two_in_a_queue() -> (Store, Bench) {
    let mut store = Store::new();
    store.put("/a/10", "", 0x10);
    store.put("/a/20", "", 0x20);
    let mut bench = Bench::reading(&store);
    let mut asked = bench.tick(1_000);
    asked.sort_unstable();
    assert_eq!(asked, [0x10, 0x20]);
    bench.ttl(0x10, 60, 50);
    bench.ttl(0x20, 60, 50);
    (store, bench)
}

#[test]
fn what_was_there_before_is_no_news() {
    let (_, bench) = two_in_a_queue();
    assert_eq!(bench.story(), [""; 0]);
}

#[test]
fn a_waiter_enqueues_and_the_next_acquires_when_the_holder_goes() {
    let (mut store, mut bench) = two_in_a_queue();
    store.put("/a/30", "", 0x30);
    store.delete(&["/a/10"]);
    bench.watch(&store);
    assert_eq!(bench.story(), ["/a/30 enqueued", "/a/10 pending", "/a/20 acquired"]);
}

#[test]
fn a_lease_that_lives_on_means_released() {
    let (mut store, mut bench) = two_in_a_queue();
    store.delete(&["/a/10"]);
    bench.watch(&store);
    assert_eq!(bench.tick(200), [0x10], "the lease is asked before the next burst");
    bench.ttl(0x10, 60, 49);
    assert_eq!(bench.story()[0], "/a/10 released");
    let lock = bench.facts().lock_named(b"/a").unwrap();
    assert_eq!(lock.holds().next().unwrap().ended.unwrap().cause, Cause::Released);
}

#[test]
fn a_lease_that_went_before_its_time_was_revoked() {
    let (mut store, mut bench) = two_in_a_queue();
    bench.tick(5_000);
    store.delete(&["/a/10"]);
    bench.watch(&store);
    bench.ttl(0x10, 0, -1);
    assert_eq!(bench.story(), ["/a/10 revoked", "/a/20 acquired"]);
}

#[test]
fn a_lease_that_went_at_its_time_expired() {
    let (mut store, mut bench) = two_in_a_queue();
    bench.tick(49_500);
    store.delete(&["/a/10"]);
    bench.watch(&store);
    bench.ttl(0x10, 0, -1);
    assert_eq!(bench.story()[0], "/a/10 expired");
}

#[test]
fn an_answer_that_never_comes_leaves_the_cause_unknown() {
    let (mut store, mut bench) = two_in_a_queue();
    store.delete(&["/a/20"]);
    bench.watch(&store);
    bench.tick(2_900);
    assert_eq!(bench.story(), ["/a/20 gave up: pending"]);
    bench.tick(200);
    assert_eq!(bench.story(), ["/a/20 gave up: unknown"]);
}

#[test]
fn another_key_on_the_same_lease_proves_that_it_lives() {
    let (mut store, mut bench) = two_in_a_queue();
    store.delete(&["/a/10"]);
    store.put("/b/10", "", 0x10);
    bench.watch(&store);
    assert_eq!(bench.story(), ["/a/10 released", "/a/20 acquired", "/b/10 enqueued", "/b/10 acquired"]);
}

#[test]
fn a_key_without_a_lease_is_deleted_and_a_rewrite_tells_the_former_lease() {
    let (mut store, mut bench) = two_in_a_queue();
    store.put("/a/10", "", 0);
    store.delete(&["/a/10"]);
    bench.watch(&store);
    assert_eq!(bench.story(), ["/a/10 rewritten, was on 10", "/a/10 deleted", "/a/20 acquired"]);
}

#[test]
fn after_a_compaction_the_gap_is_marked_and_causes_are_unknown() {
    let (mut store, mut bench) = two_in_a_queue();
    store.delete(&["/a/10"]);
    store.put("/a/40", "", 0x40);
    bench.observe(Observation::WatchLost(WatchLoss::Compacted { at: Revision(5) }));
    bench.read(&store);
    assert_eq!(bench.facts().link.gaps, 1);
    let told = bench.story();
    assert!(told.contains(&"/a/10 unknown".into()), "{told:?}");
    assert!(told.contains(&"gap 3..5".into()), "{told:?}");
    assert_eq!(bench.facts().lock_named(b"/a").unwrap().holder().unwrap().lease(), LeaseId(0x20));
}

#[test]
fn events_that_come_twice_change_nothing() {
    let (mut store, mut bench) = two_in_a_queue();
    let from = store.revision;
    store.delete(&["/a/10"]);
    store.put("/a/10", "", 0x10);
    bench.watch(&store);
    let told = bench.story();
    bench.observe(Observation::Watched(store.changes_after(from)));
    assert_eq!(bench.story(), told);
}

#[test]
fn another_cluster_at_the_same_address_starts_from_nothing() {
    let (_, mut bench) = two_in_a_queue();
    bench.observe(Observation::Cluster(ClusterId(1)));
    assert_eq!(bench.facts().link.replaced_cluster, None);
    bench.observe(Observation::Cluster(ClusterId(2)));
    assert_eq!(bench.facts().link.replaced_cluster, Some(ClusterId(1)));
    assert_eq!((bench.facts().lock_count(), bench.facts().keyspace().len()), (0, 0));
    let mut other = Store::new();
    other.put("/c/10", "", 0x10);
    bench.read(&other);
    assert_eq!(bench.facts().link.revision, Revision(2));
    assert_eq!(bench.story(), ["gap 3..0"]);
}

#[test]
fn a_denied_range_hides_nothing_else() {
    let mut store = Store::new();
    store.put("/mine/a/10", "", 0x10);
    let mut bench = Bench::new();
    let (mine, theirs) = (KeyRange::prefix(b"/mine/"), KeyRange::prefix(b"/theirs/"));
    bench.observe(Observation::Scope(vec![mine.clone(), theirs.clone()]));
    let denied = Denied { range: theirs, user: "ann".into(), why: "permission denied".into() };
    bench.observe(Observation::Denied(denied.clone()));
    assert!(!bench.facts().link.listed);
    for page in store.pages(&mine, 10) {
        bench.observe(Observation::Listed(page));
    }
    assert!(bench.facts().link.listed);
    assert_eq!(bench.facts().link.denied, [denied]);
    assert!(bench.facts().lock_named(b"/mine/a").is_some());
}

#[test]
fn a_later_read_of_one_range_leaves_the_others_alone() {
    let mut store = Store::new();
    store.put("/a/x/10", "", 0x10);
    store.put("/b/x/20", "", 0x20);
    let mut bench = Bench::reading(&store);
    let range = KeyRange::prefix(b"/a/");
    let empty = ListPage { range, revision: Revision(9), keys: Vec::new(), first: true, last: true };
    bench.observe(Observation::Listed(empty));
    assert!(bench.facts().key(b"/a/x/10").is_none());
    assert!(bench.facts().key(b"/b/x/20").is_some());
    assert_eq!(bench.facts().link.scope, [everything()]);
}

#[test]
fn a_lease_is_forgotten_once_its_keys_are_gone_for_a_while() {
    let mut store = Store::new();
    store.put("/a/10", "", 0x10);
    store.put("/b/10", "", 0x10);
    let mut bench = Bench::reading(&store);
    store.delete(&["/a/10", "/b/10"]);
    bench.watch(&store);
    bench.tick(1_000);
    assert!(bench.facts().leases().contains(LeaseId(0x10)), "a session may put its next key any time");
    bench.tick(60_000);
    assert!(!bench.facts().leases().contains(LeaseId(0x10)));
}

#[test]
fn a_lease_that_is_listed_stays_without_keys() {
    let mut store = Store::new();
    store.put("/a/10", "", 0x10);
    let mut bench = Bench::reading(&store);
    bench.observe(Observation::LeaseList(vec![LeaseId(0x10)]));
    store.delete(&["/a/10"]);
    bench.watch(&store);
    bench.tick(70_000);
    assert!(bench.facts().leases().contains(LeaseId(0x10)));
    bench.observe(Observation::LeaseList(Vec::new()));
    assert!(!bench.facts().leases().contains(LeaseId(0x10)));
}

#[test]
fn open_causes_are_settled_when_another_cluster_answers() {
    let (mut store, mut bench) = two_in_a_queue();
    bench.observe(Observation::Cluster(ClusterId(1)));
    store.delete(&["/a/10"]);
    bench.watch(&store);
    bench.observe(Observation::Cluster(ClusterId(2)));
    assert_eq!(bench.story(), ["/a/10 unknown", "/a/20 acquired", "gap 4..0"]);
}

#[test]
fn a_gap_is_marked_by_the_range_that_lost_events() {
    let (mut store, mut bench) = two_in_a_queue();
    store.delete(&["/a/10"]);
    bench.observe(Observation::WatchLost(WatchLoss::Compacted { at: Revision(4) }));
    let elsewhere = KeyRange::single(b"\xffz");
    bench.observe(Observation::Listed(ListPage {
        range: elsewhere,
        revision: Revision(4),
        keys: Vec::new(),
        first: true,
        last: true,
    }));
    bench.read(&store);
    assert!(bench.story().contains(&"gap 3..4".into()), "{:?}", bench.story());
}

#[test]
fn ranges_that_are_joined_tell_what_changed_and_are_quiet_about_what_is_new() {
    let mut store = Store::new();
    store.put("/apps/1/a/10", "", 0x10);
    store.put("/apps/1/a/20", "", 0x20);
    store.put("/apps/2/b/30", "", 0x30);
    let mut bench = Bench::new();
    let (one, both) = (KeyRange::prefix(b"/apps/1/"), KeyRange::prefix(b"/apps/"));
    bench.observe(Observation::Scope(vec![one.clone()]));
    for page in store.pages(&one, 10) {
        bench.observe(Observation::Listed(page));
    }
    store.delete(&["/apps/1/a/10"]);
    bench.observe(Observation::Scope(vec![both.clone()]));
    for page in store.pages(&both, 10) {
        bench.observe(Observation::Listed(page));
    }
    assert_eq!(bench.story(), ["/apps/1/a/10 unknown", "/apps/1/a/20 acquired"]);
    assert!(bench.facts().lock_named(b"/apps/2/b").is_some());
}

#[test]
fn a_wait_that_left_no_trace_is_not_counted_as_none() {
    let mut store = Store::new();
    let mut bench = Bench::reading(&store);
    store.put("/cron/lock", "host-a", 1);
    store.put("/a/10", "", 0x10);
    bench.watch(&store);
    let waits = |name: &[u8]| bench.facts().lock_named(name).unwrap().wait_times();
    assert_eq!(waits(b"/cron/lock"), []);
    assert_eq!(waits(b"/a"), [lockscope::domain::Millis(0)]);
}
