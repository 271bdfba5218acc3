//! The Lock and Election services queue as etcd's own do.

use std::time::Duration;

use lockscope::domain::{Key, KeyRange, KeyValue, LeaseId};
use lockscope::port::{Etcd, PortError, Range, Services};
use tokio::task::JoinHandle;

use crate::common::put_leased;
use crate::target::{AnyEtcd, Target, on_every_target};

const A: LeaseId = LeaseId(0xa);
const B: LeaseId = LeaseId(0xb);
const C: LeaseId = LeaseId(0xc);

/// Something that has to come, and not late.
async fn in_time<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(10), what).await.expect("it comes in time")
}

/// What a call that was made in the background is answered.
async fn answer<T>(call: JoinHandle<Result<T, PortError>>) -> Result<T, PortError> {
    in_time(call).await.expect("it does not panic")
}

/// The queue below `/n/`, in its order, as soon as it is this long.
async fn queue(etcd: &AnyEtcd, length: usize) -> Vec<KeyValue> {
    in_time(async {
        loop {
            let page = etcd.range(Range::of(KeyRange::prefix(b"/n/"))).await.expect("the queue is read");
            if page.keys.len() == length {
                let mut keys = page.keys;
                keys.sort_by_key(|kv| kv.create_revision);
                return keys;
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

fn lock(etcd: &AnyEtcd, lease: LeaseId) -> JoinHandle<Result<Key, PortError>> {
    let etcd = etcd.clone();
    tokio::spawn(async move { etcd.lock("/n".into(), lease).await })
}

/// An etcd with leases for three.
async fn with_leases(target: &Target) -> AnyEtcd {
    for lease in [A, B, C] {
        target.etcd.grant(lease, 60).await.expect("the lease is granted");
    }
    target.etcd.clone()
}

#[test]
fn a_lock_goes_to_who_asked_first_and_is_handed_over_by_an_unlock() {
    on_every_target("a_lock_goes_to_who_asked_first_and_is_handed_over_by_an_unlock", async |target| {
        let etcd = with_leases(&target).await;
        let held = in_time(etcd.lock("/n".into(), A)).await.unwrap();
        assert_eq!(held, Key::from("/n/a"), "{target}");
        assert_eq!(in_time(etcd.lock("/n".into(), A)).await.unwrap(), held, "{target}: it has it already");
        let second = lock(&etcd, C);
        queue(&etcd, 2).await;
        let third = lock(&etcd, B);
        let waiting: Vec<_> = queue(&etcd, 3).await.into_iter().map(|kv| (kv.key, kv.lease)).collect();
        assert_eq!(waiting, [("/n/a".into(), A), ("/n/c".into(), C), ("/n/b".into(), B)], "{target}");
        assert!(!second.is_finished() && !third.is_finished(), "{target}");
        etcd.unlock(held.clone()).await.unwrap();
        let held_by_second = answer(second).await.unwrap();
        assert_eq!(held_by_second, Key::from("/n/c"), "{target}");
        etcd.unlock(held).await.expect("a key that is gone may be given back");
        assert!(!third.is_finished(), "{target}");
        etcd.unlock(held_by_second).await.unwrap();
        assert_eq!(answer(third).await.unwrap(), Key::from("/n/b"), "{target}");
    });
}

#[test]
fn a_waiting_call_that_is_dropped_leaves_the_queue_and_nobody_jumps_it() {
    on_every_target("a_waiting_call_that_is_dropped_leaves_the_queue_and_nobody_jumps_it", async |target| {
        let etcd = with_leases(&target).await;
        let held = etcd.lock("/n".into(), A).await.unwrap();
        let second = lock(&etcd, B);
        queue(&etcd, 2).await;
        let third = lock(&etcd, C);
        queue(&etcd, 3).await;
        second.abort();
        assert!(in_time(second).await.unwrap_err().is_cancelled());
        let left: Vec<_> = queue(&etcd, 2).await.into_iter().map(|kv| kv.key).collect();
        assert_eq!(left, [Key::from("/n/a"), Key::from("/n/c")], "{target}");
        assert!(etcd.time_to_live(B, false).await.unwrap().remaining > 0, "{target}: the lease is the caller's");
        let candidate = tokio::spawn({
            let etcd = etcd.clone();
            async move { etcd.campaign("/n".into(), B, b"me".to_vec()).await }
        });
        queue(&etcd, 3).await;
        candidate.abort();
        queue(&etcd, 2).await;
        assert!(!third.is_finished(), "{target}");
        etcd.unlock(held).await.unwrap();
        assert_eq!(answer(third).await.unwrap(), Key::from("/n/c"), "{target}");
    });
}

#[test]
fn a_caller_without_a_lease_is_given_one() {
    on_every_target("a_caller_without_a_lease_is_given_one", async |target| {
        let etcd = target.etcd.clone();
        let held = in_time(etcd.lock("/n".into(), LeaseId::NONE)).await.unwrap();
        let [kv] = &queue(&etcd, 1).await[..] else { unreachable!("one key was waited for") };
        assert_eq!(held, Key::from(&*format!("/n/{}", kv.lease)), "{target}");
        assert_eq!(etcd.time_to_live(kv.lease, false).await.unwrap().granted, 60, "{target}");
    });
}

#[test]
fn an_election_is_won_led_and_resigned() {
    on_every_target("an_election_is_won_led_and_resigned", async |target| {
        let etcd = with_leases(&target).await;
        let leads = async || etcd.leader("/n".into()).await.unwrap().map(|kv| (kv.key, kv.value));
        assert_eq!(leads().await, None, "{target}");
        let first = in_time(etcd.campaign("/n".into(), A, b"one".to_vec())).await.unwrap();
        let key = queue(&etcd, 1).await.remove(0);
        assert_eq!((&first.name, &first.key, first.created), (&"/n".into(), &key.key, key.create_revision), "{target}");
        assert_eq!((first.lease, key.lease), (A, A));
        assert_eq!(leads().await, Some(("/n/a".into(), b"one".to_vec())), "{target}");
        let second = tokio::spawn({
            let etcd = etcd.clone();
            async move { etcd.campaign("/n".into(), B, b"two".to_vec()).await }
        });
        queue(&etcd, 2).await;
        let proclaimed = etcd.proclaim(first.clone(), b"news".to_vec()).await.unwrap();
        let key = queue(&etcd, 2).await.remove(0);
        assert_eq!((&*key.value, key.mod_revision), (&b"news"[..], proclaimed.revision), "{target}");
        assert_eq!((key.lease, key.create_revision), (A, first.created), "{target}");
        assert!(!second.is_finished(), "{target}");
        let resigned = etcd.resign(first.clone()).await.unwrap();
        let second = answer(second).await.unwrap();
        assert!(second.created < resigned.revision, "{target}: the candidate stood before");
        assert_eq!(leads().await, Some(("/n/b".into(), b"two".to_vec())), "{target}");
        etcd.resign(first.clone()).await.expect("a lead that is gone may be given up");
        assert_eq!(queue(&etcd, 1).await[0].key, second.key, "{target}");
        let error = etcd.proclaim(first, b"old".to_vec()).await.unwrap_err();
        assert!(error.is_not_leader() && error.to_string().contains("proclaim in election /n"), "{target}: {error}");
        let again = in_time(etcd.campaign("/n".into(), B, b"more".to_vec())).await.unwrap();
        assert_eq!((again, &*queue(&etcd, 1).await[0].value), (second, &b"more"[..]), "{target}: it says it at once");
    });
}

#[test]
fn nothing_is_queued_up_for_a_lease_that_is_gone() {
    on_every_target("nothing_is_queued_up_for_a_lease_that_is_gone", async |target| {
        let etcd = target.etcd.clone();
        let error = in_time(etcd.lock("/n".into(), A)).await.unwrap_err();
        assert!(error.is_lease_gone() && error.to_string().contains("take lock /n"), "{target}: {error}");
        let error = in_time(etcd.campaign("/n".into(), A, Vec::new())).await.unwrap_err();
        assert!(error.is_lease_gone() && error.to_string().contains("campaign in election /n"), "{target}: {error}");
        queue(&etcd, 0).await;
    });
}

#[test]
fn a_waiter_whose_lease_ends_is_told_when_its_turn_comes() {
    on_every_target("a_waiter_whose_lease_ends_is_told_when_its_turn_comes", async |target| {
        let etcd = with_leases(&target).await;
        let held = etcd.lock("/n".into(), A).await.unwrap();
        let waiting = lock(&etcd, B);
        queue(&etcd, 2).await;
        let candidate = tokio::spawn({
            let etcd = etcd.clone();
            async move { etcd.campaign("/n".into(), C, Vec::new()).await }
        });
        queue(&etcd, 3).await;
        etcd.revoke(B).await.unwrap();
        etcd.revoke(C).await.unwrap();
        // Nobody looks at the own key before the turn has come.
        put_leased(&etcd, "/elsewhere", "", LeaseId::NONE).await;
        assert!(!waiting.is_finished() && !candidate.is_finished(), "{target}");
        etcd.unlock(held).await.unwrap();
        let told = answer(waiting).await;
        if target.to_string().starts_with("etcd 3.4") {
            // It does not look at the own key again.
            assert_eq!(told, Ok(Key::from("/n/b")), "{target}");
        } else {
            assert!(told.as_ref().is_err_and(PortError::is_lease_gone), "{target}: {told:?}");
        }
        // An election is won all the same, by a key that is gone.
        let won = answer(candidate).await.unwrap();
        assert_eq!(won.key, Key::from("/n/c"), "{target}");
        queue(&etcd, 0).await;
        let error = etcd.proclaim(won, Vec::new()).await.unwrap_err();
        assert!(error.is_not_leader(), "{target}: {error}");
    });
}
