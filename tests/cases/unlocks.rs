//! Unlocking what is not one's own any more, and working on without the lock.

use lockscope::domain::write::{Confirmed, Write, WriteResult};
use lockscope::domain::{Key, KeyRange, LeaseId, Revision};
use lockscope::operate::Operator;
use lockscope::port::{Client, Compare, Etcd, Op, Operand, Ordering, Pool, Put, Range, Txn};

use crate::common::{Live, client, clock, delete, grant, join, on_every_real_etcd, put, settings};

async fn created(etcd: &Client, key: &str) -> Option<Revision> {
    let page = etcd.range(Range::of(KeyRange::single(key.as_bytes()))).await.unwrap();
    page.keys.first().map(|kv| kv.create_revision)
}

/// etcd issue 22082: the answer to an unlock is lost, the same session locks again, and the unlock
/// is tried again. By its name alone the newer key goes. A release compares the create_revision.
#[test]
fn a_release_that_is_tried_again_never_hits_a_newer_lock_of_the_same_name() {
    on_every_real_etcd("a release that is tried again", async |version| {
        let cluster = version.cluster().start();
        let etcd = client(&cluster.endpoint(0)).await;
        let first = join(&etcd, "/q", 0xa1, 600).await;
        delete(&etcd, "/q/a1").await;
        let second = put(&etcd, "/q/a1", "", 0xa1).await;
        assert!(second > first);
        let operator = Operator::new(Pool::new(settings(&cluster.endpoints())), clock());
        let write = Write::Release { lock: "/q".into(), key: "/q/a1".into(), create_revision: first };
        let outcome = operator.carry_out(&Confirmed { write, shown: vec![("/q/a1".into(), first)] }).await;
        assert!(
            matches!(outcome.result, WriteResult::Changed { .. } | WriteResult::Gone),
            "{version}: {:?}",
            outcome.result
        );
        assert_eq!(created(&etcd, "/q/a1").await, Some(second), "{version}: the newer lock stays");
        let write = Write::Release { lock: "/q".into(), key: "/q/a1".into(), create_revision: second };
        let outcome = operator.carry_out(&Confirmed { write, shown: vec![("/q/a1".into(), second)] }).await;
        assert!(matches!(outcome.result, WriteResult::Done { .. }), "{version}: {:?}", outcome.result);
        assert_eq!(created(&etcd, "/q/a1").await, None, "{version}");
    });
}

/// etcd issue 10811: a client that is cut off works on while its lease ends and another gets the
/// lock. Two believe; the token of the lock, checked where the work is done, lets one of them in.
#[test]
fn of_two_who_believe_to_hold_the_token_lets_in_the_newer_one() {
    on_every_real_etcd("two who believe to hold", async |version| {
        let cluster = version.cluster().start();
        let etcd = client(&cluster.endpoint(0)).await;
        let old = join(&etcd, "/q", 0xa1, 2).await;
        let new = join(&etcd, "/q", 0xb2, 600).await;
        let mut live = Live::watch(&cluster.endpoints(), "/q/");
        // The first one never renews and never hears that its time is up.
        live.until("the second one holds", |facts| {
            let holder = facts.lock_named(b"/q").and_then(|lock| lock.holder());
            holder.is_some_and(|key| key.token() == new)
        })
        .await;
        live.end().await;
        let work = async |key: &str, token: Revision, value: &'static str| {
            let guard = Compare { key: Key::from(key), is: Ordering::Equal, to: Operand::Create(token) };
            let put = Put { key: "/resource".into(), value: value.into(), lease: LeaseId::NONE };
            etcd.txn(Txn { when: vec![guard], then: vec![Op::Put(put)], or_else: vec![] }).await.unwrap().succeeded
        };
        assert!(!work("/q/a1", old, "by the one who lost it").await, "{version}");
        assert!(work("/q/b2", new, "by the holder").await, "{version}");
        let page = etcd.range(Range::of(KeyRange::single(b"/resource"))).await.unwrap();
        assert_eq!((page.keys[0].version, &*page.keys[0].value), (1, &b"by the holder"[..]), "{version}");
        assert!(new > old, "{version}: tokens grow from holder to holder");
        // Whoever comes back with the same session gets a new token as well.
        grant(&etcd, 0xa1, 600).await;
        assert!(put(&etcd, "/q/a1", "", 0xa1).await > new, "{version}");
    });
}
