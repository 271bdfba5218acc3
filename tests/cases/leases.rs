//! Leases: their time, who renews them, and what hangs on them.

use lockscope::domain::write::Write;
use lockscope::domain::{LeaseId, Member, MemberId, Millis, Status};
use lockscope::event::Observation;
use lockscope::model::{BlastRadius, LockState, Renewal, Severity, TtlState};
use lockscope::port::Etcd;

use crate::common::{Live, Told, client, grant, join, on_every_real_etcd, put};
use crate::support::etcd::newest;

/// etcd issues 9935 and 10686: a revoke failed once, the lease was forgotten by whoever revokes,
/// and its key stayed for hours with a time of minus 68272 s. It is neither gone nor expired: the
/// lock is still held. A test cannot make a real etcd fail to revoke, so the model is told.
#[test]
fn a_lease_whose_time_is_up_and_that_is_not_revoked_is_overdue_and_its_lock_is_held() {
    let mut told = Told::of(&[("/key/93a64a83ac42057", "88cc5908-fe95-4c1a-a647-829350153c25", 0x93a_64a8_3ac4_2057)]);
    told.ttl(0x93a_64a8_3ac4_2057, 60, -68_272, 7);
    let lock = told.facts().lock_named(b"/key").unwrap();
    assert_eq!(lock.state(), LockState::Held);
    let TtlState::Overdue { granted, by, .. } = lock.holder().unwrap().ttl() else { unreachable!("it is overdue") };
    assert_eq!((granted, by), (60, Millis(68_272_000)));
    assert!(told.found("/key").contains(&("lease-overdue", Severity::Error)), "{:?}", told.found("/key"));
}

/// etcd issue 12381: a member that became leader a moment ago, or does not lead, answers
/// 9223372036 for the time left. That is no time: nothing is counted down from it. When a real
/// etcd says so depends on the moment, so the model is told.
#[test]
fn a_time_of_nine_billion_seconds_is_not_known() {
    let mut told = Told::of(&[("/a/10", "", 0x10)]);
    told.ttl(0x10, 60, 9_223_372_036, 7);
    let holder = |told: &Told| told.facts().lock_named(b"/a").unwrap().holder().unwrap().ttl();
    assert_eq!(holder(&told), TtlState::Unknown);
    assert_eq!(holder(&told).remaining(), None);
    told.pass(30);
    assert!(told.found("/a").is_empty(), "{:?}", told.found("/a"));
    told.ttl(0x10, 60, 25, 7);
    assert!(matches!(holder(&told), TtlState::Live { polled: 25, .. }));
}

/// etcd issues 13294 and 9395: a new leader gives every lease its whole time again, so that a
/// client that died long ago seems to have renewed. The term tells: a time that rises with it
/// is no renewal.
#[test]
fn a_time_that_rises_with_the_leader_is_no_renewal() {
    let Some(version) = newest("a time that rises with the leader") else { return };
    crate::support::running::block_on(async {
        let mut cluster = version.cluster().members(3).start();
        let endpoints = cluster.endpoints();
        let etcd = client(&cluster.endpoint(0)).await;
        join(&etcd, "/a", 0x10, 60).await;
        let mut live = Live::watch(&endpoints, "/a/");
        let polled = |facts: &lockscope::model::Facts| match facts.leases().ttl(LeaseId(0x10), facts.now()) {
            TtlState::Live { polled, .. } => Some(polled),
            _ => None,
        };
        live.until("the lease has lost some seconds", |facts| polled(facts).is_some_and(|left| left <= 57)).await;
        live.until("the leader is known", |facts| facts.cluster.leader_facts().is_some()).await;
        let term = live.facts().cluster.term();
        let leader = live.facts().cluster.leader_facts().unwrap().member.name.clone();
        let at = (0..3).find(|&n| cluster.name(n) == leader).unwrap();
        cluster.kill(at);
        live.until("another leads and gave the lease its time again", |facts| {
            facts.cluster.term() > term && polled(facts).is_some_and(|left| left > 57)
        })
        .await;
        let renewal = live.facts().leases().renewal(LeaseId(0x10), live.facts().now());
        assert!(!matches!(renewal, Renewal::Renewed { .. }), "{renewal:?}");
        live.end().await;
    });
}

/// etcd issues 14019 and 12651: members came to disagree on which leases there are, so that a
/// lease that one of them lists is gone by the leader's word. Only a fault of a member's store
/// does that, so the model is told: the leader's word counts, and the key is not taken for safe.
#[test]
fn a_lease_that_one_member_lists_and_the_leader_does_not_know_is_gone() {
    let mut told = Told::of(&[("/a/10", "", 0x10)]);
    told.observe(Observation::LeaseList(vec![LeaseId(0x10)]));
    told.ttl(0x10, 0, -1, 7);
    let holder = told.facts().lock_named(b"/a").unwrap().holder().unwrap();
    assert_eq!((holder.ttl(), holder.key()), (TtlState::Gone, &b"/a/10"[..]));
    assert_eq!(told.facts().lock_named(b"/a").unwrap().state(), LockState::Held, "the key is there");

    // The other way round: the leader knows it, and a member does not.
    let mut told = Told::of(&[("/a/10", "", 0x10)]);
    told.ttl(0x10, 60, 58, 7);
    let member = Member { id: MemberId(3), name: "c".into(), ..Member::default() };
    told.observe(Observation::Members(vec![member]));
    told.observe(Observation::Status { member: MemberId(3), answer: Ok(Status::default()) });
    assert!(told.found("/a").is_empty(), "{:?}", told.found("/a"));
    told.observe(Observation::LeasesMissing { member: MemberId(3), leases: vec![LeaseId(0x10)] });
    assert_eq!(told.found("/a"), [("lease-missing-on-member", Severity::Warn)]);
}

/// Sensu Go issue 2760: each keep-alive of an agent granted a lease of its own and moved the key
/// to it; what it had before stayed, without a key, until its time was up.
#[test]
fn leases_that_nothing_hangs_on_are_told_from_the_one_in_use() {
    on_every_real_etcd("leases that nothing hangs on", async |version| {
        let cluster = version.cluster().start();
        let etcd = client(&cluster.endpoint(0)).await;
        for lease in 0x11..=0x16 {
            grant(&etcd, lease, 120).await;
            put(&etcd, "/sensu.io/switchsets/keepalived/default/agent", "alive", lease).await;
        }
        let (mut keyless, mut used) = (0, 0);
        for lease in etcd.leases().await.unwrap() {
            let ttl = etcd.time_to_live(lease, true).await.unwrap();
            assert_eq!(ttl.granted, 120, "{version}");
            *if ttl.keys.unwrap().is_empty() { &mut keyless } else { &mut used } += 1;
        }
        assert_eq!((keyless, used), (5, 1), "{version}");
        let mut live = Live::watch(&cluster.endpoints(), "/sensu.io/");
        live.until("the key is read", |facts| facts.lease(LeaseId(0x16)).is_some_and(|lease| lease.key_count() == 1))
            .await;
        assert!(live.facts().lease(LeaseId(0x11)).is_none_or(|lease| lease.key_count() == 0), "{version}");
        live.end().await;
    });
    // After an hour of it: 180 of them, one granted each 20 s, of which none is renewed.
    let mut told = Told::of(&[("/sensu.io/switchsets/keepalived/default/agent", "alive", 180)]);
    told.observe(Observation::LeaseList((1..=180).map(LeaseId).collect()));
    for lease in 1..=180 {
        told.ttl(lease, 3600, 20 * lease - 10, 7);
    }
    assert!(told.found_anywhere().contains(&("keyless-leases", Severity::Warn)), "{:?}", told.found_anywhere());
    told.observe(Observation::LeaseList(vec![LeaseId(180)]));
    assert!(!told.found_anywhere().iter().any(|(code, _)| *code == "keyless-leases"), "those that ended are no matter");
}

/// Cilium issue 9855: one lease carries all locks of an agent and is renewed as long as it runs,
/// so that a lock whose user is stuck never ends by itself, and revoking the lease frees others.
#[test]
fn a_shared_lease_takes_every_lock_on_it_along() {
    on_every_real_etcd("a shared lease", async |version| {
        let cluster = version.cluster().start();
        let etcd = client(&cluster.endpoint(0)).await;
        grant(&etcd, 0xa1, 600).await;
        for lock in ["/c/one", "/c/two", "/c/three"] {
            put(&etcd, &format!("{lock}/a1"), "", 0xa1).await;
        }
        join(&etcd, "/c/one", 0xb2, 600).await;
        let mut live = Live::watch(&cluster.endpoints(), "/c/");
        live.until("the locks are read", |facts| facts.lock_count() == 3).await;
        let radius = BlastRadius::of(live.facts(), &Write::Revoke { lease: LeaseId(0xa1) });
        let struck: Vec<_> = radius.locks.iter().map(|lock| (&*lock.name, lock.freed, lock.next.as_deref())).collect();
        let next = Some(&b"/c/one/b2"[..]);
        let expected = [(&b"/c/one"[..], true, next), (b"/c/three", true, None), (b"/c/two", true, None)];
        assert_eq!(struck, expected, "{version}");
        assert_eq!(radius.keys.len(), 3, "{version}: the waiter's key stays");
        live.until_found("shared-lease", "/c/one").await;
        live.end().await;
    });
}
