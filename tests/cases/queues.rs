//! Queues: who waits and drops out, who is passed to and is not there, who holds for ever.

use lockscope::domain::LeaseId;
use lockscope::model::{Cause, Facts, LockState, Severity, What};
use lockscope::port::Etcd;

use crate::common::{Live, Told, client, delete, join, on_every_real_etcd, put};

/// The key that holds a lock.
fn holder(facts: &Facts, lock: &str) -> Option<String> {
    let lock = facts.lock_named(lock.as_bytes())?;
    Some(String::from_utf8_lossy(lock.holder()?.key()).into_owned())
}

/// etcd issues 9921 and 11456: a waiter's lease ran out while it waited. Its key went and it does
/// not stand in the queue any more, whatever its client is told (on 3.4 that it has the lock).
#[test]
fn a_waiter_whose_lease_runs_out_leaves_and_never_holds() {
    on_every_real_etcd("a waiter whose lease runs out", async |version| {
        let cluster = version.cluster().start();
        let etcd = client(&cluster.endpoint(0)).await;
        join(&etcd, "/q", 0xa1, 600).await;
        let mut live = Live::watch(&cluster.endpoints(), "/q/");
        live.until("the holder is read", |facts| holder(facts, "/q").as_deref() == Some("/q/a1")).await;
        join(&etcd, "/q", 0xb2, 20).await;
        join(&etcd, "/q", 0xc3, 600).await;
        live.until_found("waiter-will-drop", "/q").await;
        let left = |facts: &Facts| {
            facts.timeline.iter().find_map(|happening| match &happening.what {
                What::WaiterGone(party, cause) if party.lease == LeaseId(0xb2) => Some(*cause),
                _ => None,
            })
        };
        live.until("the waiter leaves", |facts| left(facts).is_some_and(|cause| cause != Cause::Pending)).await;
        assert_eq!(left(live.facts()), Some(Cause::Expired), "{version}");
        assert!(live.codes("/q").contains(&"waiter-dropped"), "{version}: {:?}", live.codes("/q"));
        let waiters: Vec<_> =
            live.facts().lock_named(b"/q").unwrap().waiters().map(|waiter| waiter.key.lease()).collect();
        assert_eq!(waiters, [LeaseId(0xc3)], "{version}");
        delete(&etcd, "/q/a1").await;
        live.until("the next one holds", |facts| holder(facts, "/q").as_deref() == Some("/q/c3")).await;
        let held = live
            .facts()
            .timeline
            .iter()
            .any(|happening| matches!(&happening.what, What::Acquired(party) if party.lease == LeaseId(0xb2)));
        assert!(!held, "{version}: nobody is told to hold whose key is gone");
        live.end().await;
    });
}

/// jetcd issue 291, and etcd issue 9715: a client gave up waiting, by a deadline of its own or by
/// an error of its watch, and left its key behind. The lock is passed to it all the same, and
/// nobody works: its lease is not renewed.
#[test]
fn a_lock_that_passes_to_a_client_that_gave_up_is_held_by_nobody_who_renews() {
    on_every_real_etcd("a lock that passes to a client that gave up", async |version| {
        let cluster = version.cluster().start();
        let etcd = client(&cluster.endpoint(0)).await;
        join(&etcd, "/q", 0xa1, 600).await;
        join(&etcd, "/q", 0xb2, 20).await;
        join(&etcd, "/q", 0xc3, 600).await;
        let mut live = Live::watch(&cluster.endpoints(), "/q/");
        live.until("the queue is read", |facts| holder(facts, "/q").as_deref() == Some("/q/a1")).await;
        live.until_found("waiter-will-drop", "/q").await;
        assert!(!live.codes("/q").contains(&"passed-to-idle"), "{version}: it was not passed on yet");
        delete(&etcd, "/q/a1").await;
        live.until("it is passed on", |facts| holder(facts, "/q").as_deref() == Some("/q/b2")).await;
        live.until_found("holder-not-renewing", "/q").await;
        live.until_found("passed-to-idle", "/q").await;
        assert_eq!(holder(live.facts(), "/q").as_deref(), Some("/q/b2"), "{version}: found before it is over");
        live.until("it frees itself in the end", |facts| holder(facts, "/q").as_deref() == Some("/q/c3")).await;
        live.end().await;
    });
}

/// Vault issue 2526: the key of a holder that died had no lease, so it stayed, and every standby
/// waited for ever.
#[test]
fn a_holder_without_a_lease_is_an_error_and_the_others_wait() {
    on_every_real_etcd("a holder without a lease", async |version| {
        let cluster = version.cluster().start();
        let etcd = client(&cluster.endpoint(0)).await;
        put(&etcd, "/vault/core/lock/2040a228242e2d06", "5d3c9d7e-93a4-4a5c-8f0e-0b1c8d2f6f11", 0).await;
        join(&etcd, "/vault/core/lock", 0x2040_a228_242e_2d07, 60).await;
        let mut live = Live::watch(&cluster.endpoints(), "/vault/");
        live.until("the queue is read", |facts| facts.lock_named(b"/vault/core/lock").is_some()).await;
        let lock = live.facts().lock_named(b"/vault/core/lock").unwrap();
        assert_eq!((lock.state(), lock.waiter_count()), (LockState::Contended, 1), "{version}");
        assert_eq!(lock.holder().unwrap().lease(), LeaseId::NONE, "{version}");
        live.until_found("holder-without-lease", "/vault/core/lock").await;
        live.end().await;
    });
    let told = Told::of(&[("/a/2040a228242e2d06", "x", 0), ("/a/2040a228242e2d07", "", 0x2040_a228_242e_2d07)]);
    assert!(told.found("/a").contains(&("holder-without-lease", Severity::Error)));
}

/// python-etcd3 issue 599: `with lock` goes on after ten seconds whether it got the lock or not.
/// Such a client has no key: what it does under the lock is done without it, and the store knows
/// one holder only.
#[test]
fn a_client_that_did_not_get_the_key_is_not_shown_to_hold() {
    on_every_real_etcd("a client that did not get the key", async |version| {
        use lockscope::port::{Compare, Op, Operand, Ordering, Put, Txn};
        let cluster = version.cluster().start();
        let etcd = client(&cluster.endpoint(0)).await;
        let acquire = async |lease: i64, value: &'static str| {
            etcd.grant(LeaseId(lease), 60).await.unwrap();
            let key = || lockscope::domain::Key::from("/locks/nightly");
            let free = Compare { key: key(), is: Ordering::Equal, to: Operand::Create(lockscope::domain::Revision(0)) };
            let put = Put { key: key(), value: value.into(), lease: LeaseId(lease) };
            etcd.txn(Txn { when: vec![free], then: vec![Op::Put(put)], or_else: vec![] }).await.unwrap().succeeded
        };
        assert!(acquire(0xa1, "0b5c9d1e-3f64-11ee-be56-0242ac120002").await, "{version}");
        // It ends its ten seconds without, and its `with` block runs all the same.
        assert!(!acquire(0xb2, "1c6dad2f-3f64-11ee-be56-0242ac120002").await, "{version}");
        let mut live = Live::watch(&cluster.endpoints(), "/locks/");
        live.until("the key is read", |facts| facts.lock_named(b"/locks/nightly").is_some()).await;
        let lock = live.facts().lock_named(b"/locks/nightly").unwrap();
        let holders: Vec<_> = lock.holders().map(|key| key.lease()).collect();
        assert_eq!((holders, lock.waiter_count()), (vec![LeaseId(0xa1)], 0), "{version}");
        assert!(live.codes("/locks/nightly").contains(&"single-key-lock"), "{version}: waiters cannot be seen");
        live.end().await;
    });
}
