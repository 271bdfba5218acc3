//! The guards, on an etcd in memory.

use crate::domain::write::{Confirmed, Write, WriteResult};
use crate::domain::{Key, KeyRange, LeaseId, Revision, Timestamp};
use crate::port::{Clock, Delete, Etcd as _, Memory, Put};

use super::send::{self, Sent};
use super::sight::{Before, Sight, leased, read};

const LEASE: LeaseId = LeaseId(0xa1);

fn etcd() -> Memory {
    Memory::new(Clock::new(|| Timestamp(0)))
}

async fn put(etcd: &Memory, key: &str, lease: LeaseId) -> Revision {
    etcd.put(Put { key: key.into(), value: b"v".into(), lease }).await.unwrap().header.revision
}

fn release(key: &str, created: Revision) -> Confirmed {
    let write = Write::Release { lock: "/q".into(), key: key.into(), create_revision: created };
    Confirmed { write, shown: vec![(key.into(), created)] }
}

/// Compares, sends and looks, as the operator does.
async fn carry_out(etcd: &Memory, confirmed: &Confirmed) -> (Option<WriteResult>, Option<Sent>, Option<Sight>) {
    let before = Before::of_keys(etcd, &confirmed.write).await.unwrap();
    if let Some(result) = before.settles(confirmed) {
        return (Some(result), None, None);
    }
    let sent = send::keys(etcd, &confirmed.write).await.unwrap();
    (None, Some(sent), Some(Sight::of_keys(etcd, confirmed).await.unwrap()))
}

async fn is_there(etcd: &Memory, key: &str) -> bool {
    !read(etcd, &[Key::from(key)]).await.unwrap().1.is_empty()
}

#[tokio::test]
async fn a_lease_goes_with_all_its_keys_wherever_they_are() {
    let etcd = etcd();
    etcd.grant(LEASE, 60).await.unwrap();
    let first = ("/a/1".into(), put(&etcd, "/a/1", LEASE).await);
    let second = ("/b/1".into(), put(&etcd, "/b/1", LEASE).await);
    put(&etcd, "/a/2", LeaseId::NONE).await;
    let confirmed = Confirmed { write: Write::Revoke { lease: LEASE }, shown: vec![first, second] };
    let (_, sent, sight) = carry_out(&etcd, &confirmed).await;
    assert!(matches!(sent, Some(Sent::Acknowledged(_))), "{sent:?}");
    assert!(sight.unwrap().so);
    assert!(!is_there(&etcd, "/a/1").await && is_there(&etcd, "/a/2").await);
    assert_eq!(carry_out(&etcd, &confirmed).await.0, Some(WriteResult::Gone), "the second time");
}

#[tokio::test]
async fn a_lease_with_other_keys_than_shown_is_left_alone() {
    let etcd = etcd();
    etcd.grant(LEASE, 60).await.unwrap();
    let first = put(&etcd, "/a/1", LEASE).await;
    let confirmed = Confirmed { write: Write::Revoke { lease: LEASE }, shown: vec![("/a/1".into(), first)] };
    let second = put(&etcd, "/b/1", LEASE).await;
    let now = vec![("/a/1".into(), first), ("/b/1".into(), second)];
    assert_eq!(carry_out(&etcd, &confirmed).await.0, Some(WriteResult::Changed { now }));
    // A key that moved to another lease is not this one's any more.
    put(&etcd, "/b/1", LeaseId::NONE).await;
    assert!(carry_out(&etcd, &confirmed).await.2.is_some_and(|sight| sight.so));
    assert!(is_there(&etcd, "/b/1").await);
}

#[tokio::test]
async fn more_keys_than_one_transaction_may_ask_for_are_read() {
    let etcd = etcd();
    etcd.grant(LEASE, 60).await.unwrap();
    for number in 0..250 {
        put(&etcd, &format!("/many/{number:03}"), LEASE).await;
    }
    let (_, keys) = leased(&etcd, LEASE).await.unwrap();
    assert_eq!(keys.len(), 250);
    assert!(keys.is_sorted_by(|a, b| a.key < b.key));
}

#[tokio::test]
async fn a_newer_lock_of_the_same_name_is_never_hit() {
    let etcd = etcd();
    let old = put(&etcd, "/q/1", LeaseId::NONE).await;
    etcd.delete(Delete { range: KeyRange::single(b"/q/1") }).await.unwrap();
    let new = put(&etcd, "/q/1", LeaseId::NONE).await;
    let confirmed = release("/q/1", old);
    let changed = WriteResult::Changed { now: vec![("/q/1".into(), new)] };
    assert_eq!(carry_out(&etcd, &confirmed).await.0, Some(changed.clone()));
    // Not even when it came after the look: the transaction compares for itself.
    assert_eq!(send::keys(&etcd, &confirmed.write).await.unwrap(), Sent::Ended(changed));
    assert!(is_there(&etcd, "/q/1").await);
}

#[tokio::test]
async fn a_release_takes_one_key_and_may_be_repeated() {
    let etcd = etcd();
    let first = put(&etcd, "/q/1", LeaseId::NONE).await;
    put(&etcd, "/q/2", LeaseId::NONE).await;
    let confirmed = release("/q/1", first);
    let (_, sent, sight) = carry_out(&etcd, &confirmed).await;
    assert!(matches!(sent, Some(Sent::Acknowledged(_))) && sight.unwrap().so);
    assert_eq!(send::keys(&etcd, &confirmed.write).await.unwrap(), Sent::Ended(WriteResult::Gone));
    assert!(is_there(&etcd, "/q/2").await);
}

#[tokio::test]
async fn what_was_rewritten_is_still_the_lock_that_was_shown() {
    let etcd = etcd();
    let created = put(&etcd, "/q/1", LeaseId::NONE).await;
    put(&etcd, "/q/1", LeaseId::NONE).await;
    let (_, sent, _) = carry_out(&etcd, &release("/q/1", created)).await;
    assert!(matches!(sent, Some(Sent::Acknowledged(_))), "{sent:?}");
}

#[tokio::test]
async fn the_first_of_the_queue_is_noted_as_the_holder() {
    let etcd = etcd();
    put(&etcd, "/q/b", LeaseId::NONE).await;
    let second = put(&etcd, "/q/a", LeaseId::NONE).await;
    let before = Before::of_keys(&etcd, &release("/q/a", second).write).await.unwrap();
    assert_eq!(before.holder, Some("/q/b".into()));
}
