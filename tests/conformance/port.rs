//! The trait's calls mean what etcd means by them.

use std::time::Duration;

use lockscope::domain::{AlarmKind, Key, KeyEvent, KeyRange, LeaseId, Revision};
use lockscope::port::{
    Client, Compare, Etcd, Op, OpDone, Operand, Ordering, PortError, Put, Range, Sort, SortOrder, SortTarget, Txn,
    Want, WatchAnswer, WatchId, WatchRange, WatchStream,
};

use crate::common::{client, delete, on_every_etcd, on_every_real_etcd, put, put_leased};
use crate::target::on_every_target;

#[test]
fn ranges_are_read_in_pages_at_one_revision() {
    on_every_target("ranges_are_read_in_pages_at_one_revision", async |target| {
        let etcd = target.etcd.clone();
        for n in 0..5 {
            put(&etcd, &format!("/a/{n}"), "old").await;
        }
        put(&etcd, "/b/0", "elsewhere").await;
        let prefix = KeyRange::prefix(b"/a/");
        let first = etcd.range(Range { limit: 2, ..Range::of(prefix.clone()) }).await.unwrap();
        assert_eq!((first.keys.len(), first.more, first.count), (2, true, 5), "{target}");
        let later = put(&etcd, "/a/4", "new").await;
        let rest = KeyRange { start: "/a/1\0".into(), ..prefix.clone() };
        let second = etcd.range(Range { revision: Some(first.header.revision), ..Range::of(rest) }).await.unwrap();
        assert_eq!((second.keys.len(), second.more), (3, false));
        assert_eq!(second.keys[2].value, b"old", "the second page is of the first page's revision");
        let now = etcd.range(Range::of(KeyRange::single(b"/a/4"))).await.unwrap();
        assert_eq!((&*now.keys[0].value, now.keys[0].mod_revision.0, now.keys[0].version), (&b"new"[..], later, 2));
        let names =
            etcd.range(Range { want: Want::Keys, serializable: true, ..Range::of(prefix.clone()) }).await.unwrap();
        assert!(names.keys.len() == 5 && names.keys.iter().all(|kv| kv.value.is_empty()));
        let count = etcd.range(Range { want: Want::Count, ..Range::of(KeyRange::prefix(b"")) }).await.unwrap();
        assert_eq!((count.keys.len(), count.count), (0, 6));
    });
}

#[test]
fn keys_are_sorted_bounded_by_their_creation_and_then_cut_off() {
    on_every_target("keys_are_sorted_bounded_by_their_creation_and_then_cut_off", async |target| {
        let etcd = target.etcd.clone();
        let mut created = Vec::new();
        // Neither names, nor values, nor the last puts have the order of the creation.
        for (key, value) in [("/q/c", "2"), ("/q/a", "3"), ("/q/b", "1")] {
            created.push(Revision(put(&etcd, key, value).await));
        }
        put(&etcd, "/q/a", "3").await;
        put(&etcd, "/q/a", "3").await;
        put(&etcd, "/q/c", "2").await;
        put(&etcd, "/r", "0").await;
        let queue = || KeyRange::prefix(b"/q/");
        let names = async |ask| {
            let page = etcd.range(ask).await.unwrap();
            assert_eq!(page.count, 3, "{target}: the count is that of the range");
            let last = |key: &Key| char::from(*key.last().expect("keys have names"));
            (page.keys.iter().map(|kv| last(&kv.key)).collect::<String>(), page.more)
        };
        let sorted = |by, order| Range { sort: Some(Sort { by, order }), ..Range::of(queue()) };
        for (by, ascending) in [
            (SortTarget::Key, "abc"),
            (SortTarget::Version, "bca"),
            (SortTarget::Create, "cab"),
            (SortTarget::Mod, "bac"),
            (SortTarget::Value, "bca"),
        ] {
            assert_eq!(names(sorted(by, SortOrder::Ascend)).await, (ascending.into(), false), "{target}: {by:?}");
            let descending = ascending.chars().rev().collect();
            assert_eq!(names(sorted(by, SortOrder::Descend)).await, (descending, false), "{target}: {by:?}");
            let one = Range { limit: 1, ..sorted(by, SortOrder::Ascend) };
            assert_eq!(names(one).await, (ascending[..1].into(), true), "{target}: {by:?}");
        }
        let between = |from: Option<Revision>, to: Option<Revision>| Range {
            min_create_revision: from,
            max_create_revision: to,
            ..Range::of(queue())
        };
        for (from, to, found) in [
            (None, None, "abc"),
            (Some(Revision(0)), None, "abc"),
            (Some(created[1]), None, "ab"),
            (None, Some(created[1]), "ac"),
            (Some(created[1]), Some(created[1]), "a"),
            (None, Some(Revision(1)), ""),
            (None, Some(Revision(0)), ""),
        ] {
            assert_eq!(names(between(from, to)).await.0, found, "{target}: {from:?} to {to:?}");
        }
        assert_eq!(names(Range::first_created(queue())).await, ("c".into(), true), "{target}");
        for (n, predecessor) in ["", "c", "a"].into_iter().enumerate() {
            let ask = Range::last_created_before(queue(), created[n]);
            assert_eq!(names(ask).await.0, predecessor, "{target}");
        }
        let txn = Txn { then: vec![Op::Range(Range::last_created_before(queue(), created[2]))], ..Txn::default() };
        let done = etcd.txn(txn).await.unwrap();
        assert!(
            matches!(&done.answers[..], [OpDone::Range(page)] if page.keys[0].key == Key::from("/q/a")),
            "{target}: {done:?}"
        );
    });
}

#[test]
fn a_compacted_or_future_revision_is_refused() {
    on_every_target("a_compacted_or_future_revision_is_refused", async |target| {
        let etcd = target.etcd.clone();
        for n in 0..5 {
            put(&etcd, "/a/k", &n.to_string()).await;
        }
        target.compact(4).await;
        let at = |revision| Range { revision: Some(Revision(revision)), ..Range::of(KeyRange::prefix(b"/a/")) };
        let error = etcd.range(at(2)).await.unwrap_err();
        assert!(matches!(error, PortError::Compacted { .. }), "{target}: {error}");
        let error = etcd.range(at(1000)).await.unwrap_err();
        assert!(error.to_string().contains("prefix /a/") && error.to_string().contains("future"), "{target}: {error}");
    });
}

#[test]
fn leases_are_granted_renewed_asked_listed_and_revoked() {
    on_every_target("leases_are_granted_renewed_asked_listed_and_revoked", async |target| {
        let etcd = target.etcd.clone();
        let granted = etcd.grant(LeaseId(0x1000), 30).await.unwrap();
        assert_eq!((granted.lease, granted.ttl), (LeaseId(0x1000), 30));
        let chosen = etcd.grant(LeaseId::NONE, 1).await.unwrap();
        assert!(!chosen.lease.is_none() && chosen.ttl >= 1, "the server raises short lives, never lowers them");
        put_leased(&etcd, "/a/1000", "", LeaseId(0x1000)).await;
        put_leased(&etcd, "/b/1000", "", LeaseId(0x1000)).await;
        let mut asked = etcd.time_to_live(LeaseId(0x1000), true).await.unwrap();
        asked.keys.as_mut().unwrap().sort();
        assert_eq!((asked.granted, asked.keys), (30, Some(vec![Key::from("/a/1000"), Key::from("/b/1000")])));
        assert!((25..=30).contains(&asked.remaining), "{}", asked.remaining);
        assert_eq!(etcd.time_to_live(LeaseId(0x1000), false).await.unwrap().keys, None);
        let mut listed = etcd.leases().await.unwrap();
        listed.sort();
        let mut expected = vec![LeaseId(0x1000), chosen.lease];
        expected.sort();
        assert_eq!(listed, expected, "{target}");
        assert!(etcd.keep_alive(LeaseId(0x1000)).await.unwrap());
        assert!(etcd.keep_alive(LeaseId(0x1000)).await.unwrap(), "{target}: once more");
        let before = etcd.range(Range::of(KeyRange::prefix(b"/"))).await.unwrap().header.revision;
        let revoked = etcd.revoke(LeaseId(0x1000)).await.unwrap();
        assert_eq!(revoked.revision, before.next(), "both keys go in one revision");
        let gone = etcd.time_to_live(LeaseId(0x1000), true).await.unwrap();
        assert_eq!((gone.granted, gone.remaining), (0, -1));
        assert!(!etcd.keep_alive(LeaseId(0x1000)).await.unwrap());
        let error = etcd.revoke(LeaseId(0x1000)).await.unwrap_err();
        assert!(error.to_string().contains("revoke lease 1000"), "{error}");
    });
}

#[test]
fn a_lease_is_told_with_all_its_keys_however_long_the_list() {
    on_every_etcd("a_lease_is_told_with_all_its_keys_however_long_the_list", async |kind| {
        let cluster = kind.cluster().start();
        let etcd = client(&cluster.endpoint(0)).await;
        etcd.grant(LeaseId(7), 600).await.unwrap();
        let long = "x".repeat(500);
        for batch in 0..90 {
            let key = |n| Key::from(&*format!("/{long}/{batch}/{n}"));
            let puts = (0..100).map(|n| Op::Put(Put { key: key(n), value: Vec::new(), lease: LeaseId(7) }));
            etcd.txn(Txn { then: puts.collect(), ..Txn::default() }).await.unwrap();
        }
        let asked = etcd.time_to_live(LeaseId(7), true).await.unwrap();
        // More than the 4 MiB that clients take unless told otherwise.
        assert_eq!((asked.granted, asked.keys.map(|keys| keys.len())), (600, Some(9_000)), "{kind}");
    });
}

#[test]
fn transactions_compare_and_answer_in_order() {
    on_every_target("transactions_compare_and_answer_in_order", async |target| {
        let etcd = target.etcd.clone();
        let acquire = || Txn {
            when: vec![Compare { key: "/l".into(), is: Ordering::Equal, to: Operand::Create(Revision(0)) }],
            then: vec![Op::Put(Put { key: "/l".into(), value: b"me".into(), lease: LeaseId::NONE })],
            or_else: vec![Op::Range(Range::of(KeyRange::single(b"/l")))],
        };
        let first = etcd.txn(acquire()).await.unwrap();
        assert!(first.succeeded && matches!(first.answers[..], [OpDone::Put(_)]), "{target}: {first:?}");
        let second = etcd.txn(acquire()).await.unwrap();
        let [OpDone::Range(page)] = &second.answers[..] else { panic!("{target}: {second:?}") };
        assert!(!second.succeeded);
        assert_eq!((&*page.keys[0].value, page.keys[0].create_revision), (&b"me"[..], first.header.revision));
        let value = Operand::Value(b"me".into());
        let release = Txn {
            when: vec![Compare { key: "/l".into(), is: Ordering::Equal, to: value }],
            then: vec![Op::Delete(lockscope::port::Delete { range: KeyRange::single(b"/l") })],
            or_else: Vec::new(),
        };
        let released = etcd.txn(release).await.unwrap();
        assert!(matches!(&released.answers[..], [OpDone::Delete(gone)] if gone.deleted == 1), "{released:?}");
    });
}

async fn next(watch: &mut impl WatchStream) -> WatchAnswer {
    let answer = tokio::time::timeout(Duration::from_secs(10), watch.next()).await.expect("an answer in time");
    answer.expect("the stream lives").expect("it goes on")
}

#[test]
fn watches_tell_of_changes_with_what_was_deleted() {
    on_every_target("watches_tell_of_changes_with_what_was_deleted", async |target| {
        let etcd = target.etcd.clone();
        let watch = |id, range, from| WatchRange { id: WatchId(id), range, from };
        let mut stream = etcd.watch(watch(1, KeyRange::prefix(b"/a/"), None)).await.unwrap();
        let created = next(&mut stream).await;
        assert!(matches!(created, WatchAnswer::Created { watch: Some(WatchId(1)), .. }), "{target}: {created:?}");
        let put_at = put(&etcd, "/a/k", "v").await;
        put(&etcd, "/b/k", "v").await;
        let gone_at = delete(&etcd, "/a/k").await;
        let mut told = Vec::new();
        while told.len() < 2 {
            let WatchAnswer::Events { changes, .. } = next(&mut stream).await else { panic!("no events") };
            told.extend(changes);
        }
        let [(first, KeyEvent::Put(kv)), (second, KeyEvent::Delete { key, previous: Some(previous) })] = &told[..]
        else {
            panic!("{target}: {told:?}")
        };
        assert_eq!((first.0, &*kv.value), (put_at, &b"v"[..]));
        assert_eq!((second.0, key, previous.mod_revision.0), (gone_at, &Key::from("/a/k"), put_at));
        // a second watch on the stream, from the past
        stream.add(watch(2, KeyRange::single(b"/b/k"), Some(Revision(2)))).await.unwrap();
        assert!(matches!(next(&mut stream).await, WatchAnswer::Created { watch: Some(WatchId(2)), .. }));
        assert!(
            matches!(next(&mut stream).await, WatchAnswer::Events { watch: WatchId(2), changes, .. } if changes.len() == 1)
        );
        stream.ask_progress().await.unwrap();
        let progress = next(&mut stream).await;
        assert!(
            matches!(progress, WatchAnswer::Progress { watch: None, revision } if revision.0 == gone_at),
            "{progress:?}"
        );
        stream.cancel(WatchId(2)).await.unwrap();
        let cancelled = next(&mut stream).await;
        assert!(
            matches!(cancelled, WatchAnswer::Cancelled { watch: Some(WatchId(2)), refused: false, .. }),
            "{cancelled:?}"
        );
    });
}

#[test]
fn a_watch_from_a_compacted_revision_says_so() {
    on_every_target("a_watch_from_a_compacted_revision_says_so", async |target| {
        let etcd = target.etcd.clone();
        for n in 0..5 {
            put(&etcd, "/a/k", &n.to_string()).await;
        }
        target.compact(5).await;
        let from = WatchRange { id: WatchId(1), range: KeyRange::prefix(b"/a/"), from: Some(Revision(2)) };
        let mut stream = etcd.watch(from).await.unwrap();
        let mut answers = Vec::new();
        while !matches!(answers.last(), Some(WatchAnswer::Cancelled { .. })) {
            answers.push(next(&mut stream).await);
        }
        let Some(WatchAnswer::Cancelled { compacted, .. }) = answers.last() else { unreachable!() };
        assert_eq!(*compacted, Some(Revision(5)), "{target}: {answers:?}");
    });
}

#[test]
fn members_and_their_status_are_told() {
    on_every_etcd("members_and_their_status_are_told", async |kind| {
        let cluster = kind.cluster().members(3).start();
        let etcd = client(&cluster.endpoint(0)).await;
        put(&etcd, "/a", "v").await;
        let (_, members) = etcd.members().await.unwrap();
        assert_eq!(members.len(), 3, "{kind}");
        let (header, status) = etcd.status().await.unwrap();
        let own = members.iter().find(|member| member.id == header.member).expect("it is a member");
        assert_eq!((own.name.as_str(), &own.client_urls[..]), (cluster.name(0), &[cluster.endpoint(0)][..]));
        assert!(status.leader.is_some_and(|leader| members.iter().any(|member| member.id == leader)));
        assert_eq!(status.version, kind.version());
        assert!(
            status.term.0 >= 1 && status.raft_index.0 >= status.applied_index.0 && status.db_size > 0,
            "{status:?}"
        );
        assert_eq!(etcd.alarms().await.unwrap(), []);
    });
}

#[test]
fn a_full_database_is_an_alarm_and_an_error_of_its_own() {
    on_every_real_etcd("a_full_database_is_an_alarm_and_an_error_of_its_own", async |version| {
        let cluster = version.cluster().flag("--quota-backend-bytes=200000").start();
        let etcd = client(&cluster.endpoint(0)).await;
        let mut refused = None;
        for n in 0..400 {
            let put = Put { key: Key::from(&*format!("/fill/{n}")), value: vec![b'x'; 10_000], lease: LeaseId::NONE };
            if let Err(error) = etcd.put(put).await {
                refused = Some(error);
                break;
            }
        }
        assert!(matches!(refused, Some(PortError::NoSpace { .. })), "{version}: {refused:?}");
        let alarms = etcd.alarms().await.unwrap();
        let (header, status) = etcd.status().await.unwrap();
        assert!(
            matches!(&alarms[..], [alarm] if alarm.kind == AlarmKind::NoSpace && alarm.member == header.member),
            "{alarms:?}"
        );
        assert!(status.errors.iter().any(|error| error.contains("NOSPACE")), "{version}: {:?}", status.errors);
        assert!(etcd.delete(lockscope::port::Delete { range: KeyRange::single(b"/fill/0") }).await.is_ok());
    });
}

#[test]
fn what_is_too_large_is_refused_in_the_same_words() {
    on_every_etcd("what_is_too_large_is_refused_in_the_same_words", async |kind| {
        let cluster = kind.cluster().start();
        let mut raw = etcd_client::Client::connect([cluster.endpoint(0)], None).await.unwrap();
        raw.put("/a", vec![b'v'; 1_400_000], None).await.unwrap();
        let expected = [
            (1_600_000, tonic::Code::InvalidArgument, "etcdserver: request is too large"),
            (3_000_000, tonic::Code::ResourceExhausted, "grpc: received message larger than max (3000009 vs. 2097152)"),
        ];
        for (size, code, text) in expected {
            let refused = raw.put("/a", vec![b'v'; size], None).await.unwrap_err();
            let etcd_client::Error::GRpcStatus(status) = refused else { panic!("{kind}: {refused}") };
            assert_eq!((status.code(), status.message()), (code, text), "{kind}");
        }
        // An answer may be larger than any request.
        for n in 0..4 {
            raw.put(format!("/a/{n}"), vec![b'v'; 1_400_000], None).await.unwrap();
        }
        let etcd = client(&cluster.endpoint(0)).await;
        assert_eq!(etcd.range(Range::of(KeyRange::prefix(b"/a"))).await.unwrap().keys.len(), 5, "{kind}");
    });
}

#[test]
fn a_dropped_call_is_cancelled_and_the_connection_lives_on() {
    on_every_etcd("a_dropped_call_is_cancelled_and_the_connection_lives_on", async |kind| {
        let cluster = kind.cluster().start();
        let etcd = client(&cluster.endpoint(0)).await;
        cluster.pause(0);
        let early = tokio::time::timeout(Duration::from_millis(50), etcd.status()).await;
        assert!(early.is_err(), "{kind}: a paused member answered");
        let error = etcd.with_deadline(Duration::from_millis(200)).status().await.unwrap_err();
        assert!(matches!(error, PortError::Deadline { .. }), "{error}");
        assert!(error.to_string().contains(&cluster.endpoint(0)) && error.to_string().contains("0.2 s"), "{error}");
        cluster.resume(0);
        etcd.status().await.unwrap();
    });
}

#[test]
fn many_calls_that_were_given_up_cost_the_connection_nothing() {
    on_every_etcd("many_calls_that_were_given_up_cost_the_connection_nothing", async |kind| {
        let cluster = kind.cluster().start();
        let etcd = client(&cluster.endpoint(0)).await;
        let watch = WatchRange { id: WatchId(1), range: KeyRange::single(b"/a"), from: None };
        let mut stream = etcd.watch(watch).await.unwrap();
        assert!(matches!(next(&mut stream).await, WatchAnswer::Created { .. }));
        cluster.pause(0);
        let given_up = (0..500).map(|_| tokio::time::timeout(Duration::from_millis(100), etcd.status()));
        assert!(futures::future::join_all(given_up).await.iter().all(Result::is_err), "{kind}");
        cluster.resume(0);
        let at = put(&etcd, "/a", "v").await;
        let told = next(&mut stream).await;
        assert!(matches!(&told, WatchAnswer::Events { changes, .. } if changes[0].0.0 == at), "{kind}: {told:?}");
    });
}

#[test]
fn a_client_survives_a_restart_of_its_member() {
    on_every_etcd("a_client_survives_a_restart_of_its_member", async |kind| {
        let mut cluster = kind.cluster().start();
        let etcd: Client = client(&cluster.endpoint(0)).await;
        put(&etcd, "/a", "v").await;
        cluster.kill(0);
        let error = etcd.status().await.unwrap_err();
        assert!(matches!(error, PortError::Unreachable { .. }), "{kind}: {error}");
        let error = etcd.status().await.unwrap_err();
        assert!(
            error.to_string().contains("connection refused") && error.to_string().contains(&cluster.endpoint(0)),
            "{error}"
        );
        cluster.start(0);
        cluster.healthy();
        assert_eq!(etcd.range(Range::of(KeyRange::single(b"/a"))).await.unwrap().keys.len(), 1);
    });
}
