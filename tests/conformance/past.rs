//! The past of a lock, rebuilt from an etcd's revisions, is what was done to it.

use lockscope::domain::{Key, KeyRange, LeaseId, Revision, Timestamp};
use lockscope::event::Past;
use lockscope::model::{Cause, Handoff, Handoffs};
use lockscope::port::{Client, Delete, Etcd, Op, PortError, Put, Txn};
use lockscope::source::{Ask, SourceError, read_past};
use tokio::sync::mpsc;

use crate::auth;
use crate::common::{client, compact, delete, on_every_etcd, on_every_real_etcd, put, put_leased};
use crate::target::{Target, on_every_target};

/// All handoffs in the past of a range, and what was played.
async fn past(etcd: &impl Etcd, lock: &str, range: KeyRange, since: Option<i64>) -> (Vec<Handoff>, Handoffs) {
    let (parts, mut told) = mpsc::channel(2);
    let ask = Ask { range, since: since.map(Revision), most: None, serializable: false };
    let reading = async {
        let parts = parts;
        read_past(etcd, ask, &parts).await
    };
    let taking = async {
        let mut past = Handoffs::of(lock.into());
        let mut handoffs = Vec::new();
        while let Some(part) = told.recv().await {
            past.take(Timestamp(0), part);
            handoffs.extend(std::iter::from_fn(|| past.next_handoff()));
        }
        past.take(Timestamp(0), Past::Ended { why: None });
        handoffs.extend(std::iter::from_fn(|| past.next_handoff()));
        (handoffs, past)
    };
    let (read, taken) = tokio::join!(reading, taking);
    read.expect("the past is read");
    taken
}

async fn of_queue(target: &Target, lock: &str) -> (Vec<Handoff>, Handoffs) {
    past(&target.etcd, lock, KeyRange::prefix(format!("{lock}/").as_bytes()), None).await
}

/// Handoffs in words: at which revision, whose key, since when, why, whose is next.
fn words(handoffs: &[Handoff]) -> Vec<String> {
    let name = |key: &[u8]| String::from_utf8_lossy(key).rsplit('/').next().unwrap_or_default().to_owned();
    let line = |handoff: &Handoff| {
        let from = handoff.from.from.map_or_else(|| "?".into(), |from| from.to_string());
        let to: Vec<_> = handoff.to.iter().map(|turn| name(&turn.key)).collect();
        let (cause, revision) = (handoff.cause.name(), handoff.revision);
        format!("{revision} {} since {from}, {cause}, then {}", name(&handoff.from.key), to.join(" "))
    };
    handoffs.iter().map(line).collect()
}

async fn granted(target: &Target, leases: &[i64]) {
    for lease in leases {
        target.etcd.grant(LeaseId(*lease), 600).await.expect("the lease is granted");
    }
}

async fn join(target: &Target, lock: &str, lease: i64) -> i64 {
    put_leased(&target.etcd, &format!("{lock}/{lease:x}"), "", LeaseId(lease)).await
}

#[test]
fn a_queue_tells_who_held_and_why_it_ended() {
    on_every_target("a_queue_tells_who_held_and_why_it_ended", async |target| {
        granted(&target, &[0xa1, 0xb2, 0xc3, 0xd4]).await;
        let a = join(&target, "/q", 0xa1).await;
        for lease in [0xb2, 0xc3, 0xd4] {
            join(&target, "/q", lease).await;
        }
        put(&target.etcd, "/elsewhere", "").await;
        let unlocked = delete(&target.etcd, "/q/a1").await;
        // A waiter leaves, which hands nothing over.
        delete(&target.etcd, "/q/c3").await;
        let revoked = target.etcd.revoke(LeaseId(0xb2)).await.expect("it is revoked").revision.0;
        let last = delete(&target.etcd, "/q/d4").await;
        let (handoffs, played) = of_queue(&target, "/q").await;
        let expected = [
            format!("{unlocked} a1 since {a}, released, then b2"),
            format!("{revoked} b2 since {unlocked}, unknown, then d4"),
            format!("{last} d4 since {revoked}, released, then "),
        ];
        assert_eq!(words(&handoffs), expected, "{target}");
        assert!(played.turns().is_empty() && played.compacted().is_none(), "{target}");
        assert_eq!(played.to(), Revision(last), "{target}");
    });
}

#[test]
fn after_a_compaction_it_begins_there_and_says_so() {
    on_every_target("after_a_compaction_it_begins_there_and_says_so", async |target| {
        granted(&target, &[0xa1, 0xb2, 0xc3]).await;
        for lease in [0xa1, 0xb2, 0xc3] {
            join(&target, "/q", lease).await;
        }
        let first = delete(&target.etcd, "/q/a1").await;
        let second = delete(&target.etcd, "/q/b2").await;
        target.compact(first).await;
        let (handoffs, played) = of_queue(&target, "/q").await;
        assert_eq!(words(&handoffs), [format!("{second} b2 since ?, released, then c3")], "{target}");
        assert_eq!((played.compacted(), played.since()), (Some(Revision(first)), Revision(first + 1)), "{target}");
        target.compact(second).await;
        let (handoffs, played) = of_queue(&target, "/q").await;
        assert_eq!(words(&handoffs), [""; 0], "{target}");
        let holders: Vec<_> = played.turns().iter().map(|turn| (turn.lease.0, turn.from)).collect();
        assert_eq!(holders, [(0xc3, None)], "{target}");
    });
}

#[test]
fn it_begins_at_the_revision_that_is_asked_for() {
    on_every_target("it_begins_at_the_revision_that_is_asked_for", async |target| {
        granted(&target, &[0xa1, 0xb2]).await;
        join(&target, "/q", 0xa1).await;
        join(&target, "/q", 0xb2).await;
        let first = delete(&target.etcd, "/q/a1").await;
        let second = delete(&target.etcd, "/q/b2").await;
        let range = KeyRange::prefix(b"/q/");
        let (handoffs, _) = past(&target.etcd, "/q", range.clone(), Some(second)).await;
        assert_eq!(words(&handoffs), [format!("{second} b2 since ?, released, then ")], "{target}");
        let (_, played) = past(&target.etcd, "/q", range, Some(second + 9)).await;
        assert!(played.since() > played.to(), "{target}: it is not there yet");
        assert!(first < second);
    });
}

#[test]
fn a_session_that_locks_again_had_released() {
    on_every_target("a_session_that_locks_again_had_released", async |target| {
        granted(&target, &[0xa1, 0xb2]).await;
        let a = join(&target, "/q", 0xa1).await;
        join(&target, "/q", 0xb2).await;
        let unlocked = delete(&target.etcd, "/q/a1").await;
        join(&target, "/q", 0xa1).await;
        let left = delete(&target.etcd, "/q/b2").await;
        for lease in [0xa1, 0xb2] {
            target.etcd.revoke(LeaseId(lease)).await.expect("it is revoked");
        }
        let (handoffs, _) = of_queue(&target, "/q").await;
        assert_eq!(
            words(&handoffs[..2]),
            [
                format!("{unlocked} a1 since {a}, released, then b2"),
                format!("{left} b2 since {unlocked}, unknown, then a1"),
            ],
            "{target}: nothing but its lease, which is gone, could tell why b2 left"
        );
    });
}

#[test]
fn an_election_tells_its_leaders_by_what_they_proclaimed() {
    on_every_target("an_election_tells_its_leaders_by_what_they_proclaimed", async |target| {
        granted(&target, &[0xa1, 0xb2]).await;
        put_leased(&target.etcd, "/e/a1", "node-a", LeaseId(0xa1)).await;
        put_leased(&target.etcd, "/e/b2", "node-b", LeaseId(0xb2)).await;
        put_leased(&target.etcd, "/e/a1", "node-a-again", LeaseId(0xa1)).await;
        let resigned = delete(&target.etcd, "/e/a1").await;
        let (handoffs, _) = of_queue(&target, "/e").await;
        assert_eq!(handoffs.len(), 1, "{target}: a proclamation is no handoff");
        assert_eq!(handoffs[0].revision, Revision(resigned));
        let owners = (handoffs[0].from.owner.as_deref(), handoffs[0].to[0].owner.as_deref());
        assert_eq!(owners, (Some("node-a-again"), Some("node-b")), "{target}");
    });
}

#[test]
fn readers_hold_together() {
    on_every_target("readers_hold_together", async |target| {
        let key = |of: &str, n: i64| format!("/rw/{of}/179597206946404{n:04}");
        granted(&target, &[1, 2, 3, 4]).await;
        for (of, lease) in [("write", 1), ("read", 2), ("read", 3), ("write", 4)] {
            put_leased(&target.etcd, &key(of, lease), "", LeaseId(lease)).await;
        }
        let mut ends = Vec::new();
        for (of, lease) in [("write", 1), ("read", 3), ("read", 2)] {
            ends.push(Revision(delete(&target.etcd, &key(of, lease)).await));
        }
        let (handoffs, played) = of_queue(&target, "/rw").await;
        let told: Vec<_> = handoffs
            .iter()
            .map(|told| (told.revision, told.from.lease.0, told.to.iter().map(|turn| turn.lease.0).collect::<Vec<_>>()))
            .collect();
        assert_eq!(told, [(ends[0], 1, vec![2, 3]), (ends[1], 3, vec![]), (ends[2], 2, vec![4])], "{target}");
        assert_eq!(played.turns()[0].from, Some(ends[2]), "{target}");
    });
}

#[test]
fn a_lock_of_one_key_is_taken_and_let_go() {
    on_every_target("a_lock_of_one_key_is_taken_and_let_go", async |target| {
        granted(&target, &[0xa1, 0xb2]).await;
        let taken = put_leased(&target.etcd, "/cron/lock", "host-a", LeaseId(0xa1)).await;
        let freed = delete(&target.etcd, "/cron/lock").await;
        let again = put_leased(&target.etcd, "/cron/lock", "host-b", LeaseId(0xb2)).await;
        let gone = target.etcd.revoke(LeaseId(0xb2)).await.expect("it is revoked").revision.0;
        let (handoffs, _) = past(&target.etcd, "/cron/lock", KeyRange::single(b"/cron/lock"), None).await;
        assert_eq!(
            words(&handoffs),
            [
                format!("{freed} lock since {taken}, released, then "),
                format!("{gone} lock since {again}, unknown, then "),
            ],
            "{target}"
        );
    });
}

#[test]
fn one_request_that_deletes_keys_of_two_sessions_is_nobodys_crash() {
    on_every_target("one_request_that_deletes_keys_of_two_sessions_is_nobodys_crash", async |target| {
        granted(&target, &[0xa1, 0xb2, 0xc3]).await;
        for lease in [0xa1, 0xb2, 0xc3] {
            join(&target, "/q", lease).await;
        }
        let both = ["/q/a1", "/q/b2"].map(|key| Op::Delete(Delete { range: KeyRange::single(key.as_bytes()) }));
        target.etcd.txn(Txn { then: both.into(), ..Txn::default() }).await.expect("both are deleted");
        for lease in [0xa1, 0xb2] {
            target.etcd.revoke(LeaseId(lease)).await.expect("it is revoked");
        }
        let (handoffs, _) = of_queue(&target, "/q").await;
        let told: Vec<_> = handoffs.iter().map(|told| (told.from.lease.0, told.cause, told.to[0].lease.0)).collect();
        assert_eq!(told, [(0xa1, Cause::Deleted, 0xc3)], "{target}");
    });
}

#[test]
fn thousands_of_handoffs_are_all_told() {
    on_every_etcd("thousands_of_handoffs_are_all_told", async |kind| {
        let cluster = kind.cluster().members(1).start();
        let etcd = client(&cluster.endpoint(0)).await;
        let turns = 1_500;
        etcd.grant(LeaseId(0xa1), 600).await.expect("the lease is granted");
        let key = |turn: i64| Key::from(&*format!("/q/1c6dad2f-3f64-41ee-be56-{turn:012x}"));
        let first = Put { key: key(0), lease: LeaseId(0xa1), ..Put::default() };
        etcd.put(first).await.expect("the first one joins");
        for turn in 1..=turns {
            let next = Put { key: key(turn), lease: LeaseId(0xa1), ..Put::default() };
            etcd.put(next).await.expect("the next one joins");
            etcd.delete(Delete { range: KeyRange::single(&key(turn - 1)) }).await.expect("it hands over");
        }
        let (handoffs, played) = past(&etcd, "/q", KeyRange::prefix(b"/q/"), None).await;
        assert_eq!(handoffs.len(), usize::try_from(turns).unwrap(), "{kind}");
        let linked = handoffs.windows(2).all(|pair| pair[0].to[0].key == pair[1].from.key);
        assert!(linked && handoffs.iter().all(|told| told.cause == Cause::Released), "{kind}");
        assert_eq!(played.turns().len(), 1, "{kind}");
        // What is compacted between two readings is no error, it only begins later.
        let middle = handoffs[handoffs.len() / 2].revision.0;
        compact(&cluster.endpoint(0), middle).await;
        let (rest, played) = past(&etcd, "/q", KeyRange::prefix(b"/q/"), None).await;
        assert_eq!(played.compacted(), Some(Revision(middle)), "{kind}");
        let tail = &handoffs[handoffs.len() / 2 + 1..];
        assert_eq!(
            rest.iter().map(|told| told.revision).collect::<Vec<_>>(),
            tail.iter().map(|told| told.revision).collect::<Vec<_>>(),
            "{kind}"
        );
    });
}

#[test]
fn a_role_without_the_right_is_told_so() {
    on_every_real_etcd("a_role_without_the_right_is_told_so", async |version| {
        let cluster = version.cluster().start();
        auth::enable(&cluster);
        let settings = auth::as_user(&cluster, "ann", "secret");
        let etcd = Client::connect(&cluster.endpoint(0), &settings).await.expect("it logs in");
        let (parts, _told) = mpsc::channel(2);
        let ask = Ask { range: KeyRange::prefix(b"/b/"), since: None, most: None, serializable: false };
        let refused = read_past(&etcd, ask, &parts).await.expect_err("it may not be read");
        assert!(matches!(refused, SourceError::Port(PortError::Denied { .. })), "{version}: {refused}");
    });
}
