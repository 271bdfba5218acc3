//! What a client sees is what it sees of a real etcd: the same script is run against both, and
//! what it wrote down is compared. Who answers, and in which term, differs and is left out.

use std::fmt::Debug;

use etcd_client::{
    Client, Compare, CompareOp, DeleteOptions, Error, GetOptions, LeaseGrantOptions, LeaseTimeToLiveOptions,
    PutOptions, SortOrder, SortTarget, Txn, TxnOp, WatchFilterType, WatchOptions,
};

use super::etcd;
use crate::server::grpc::testing::Served;

/// What a script wrote down.
#[derive(Default)]
struct Notes(Vec<String>);

impl Notes {
    fn note(&mut self, what: &str, answer: Result<impl Debug, Error>) {
        let answer = match answer {
            Ok(answer) => without_identity(&format!("{answer:?}")),
            Err(Error::GRpcStatus(status)) => format!("{:?}: {}", status.code(), status.message()),
            Err(other) => format!("{other}"),
        };
        self.0.push(format!("{what}: {answer}"));
    }
}

/// Leaves out the numbers by which members differ.
fn without_identity(text: &str) -> String {
    let mut text = text.to_owned();
    for field in ["cluster_id: ", "member_id: ", "raft_term: "] {
        let mut parts = text.split(field);
        let mut rest = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            rest.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches(", "));
        }
        text = rest;
    }
    text
}

/// Runs a script on this server and on the newest etcd there is.
#[expect(clippy::needless_pass_by_value, reason = "a closure is given where it is written")]
fn alike(test: &str, script: impl AsyncFn(Client, &mut Notes)) {
    let Some(version) = etcd::newest(test) else { return };
    let real = version.cluster().start();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let run = async |client| {
            let mut notes = Notes::default();
            let end = std::time::Duration::from_secs(30);
            let ended = tokio::time::timeout(end, script(client, &mut notes)).await;
            assert!(ended.is_ok(), "the script waits for ever behind {:#?}", notes.0);
            notes.0
        };
        let expected = run(Client::connect([real.endpoint(0)], None).await.expect("etcd serves")).await;
        let served = Served::start().await;
        let seen = run(served.client().await).await;
        served.stop().await;
        assert!(!expected.is_empty());
        for (at, (seen, expected)) in seen.iter().zip(&expected).enumerate() {
            assert_eq!(seen, expected, "line {at}");
        }
        assert_eq!(seen.len(), expected.len());
    });
}

#[test]
fn reads_and_writes_are_answered_as_by_etcd() {
    alike("reads_and_writes_are_answered_as_by_etcd", async |mut client, notes| {
        notes.note("nothing", client.get("a", None).await);
        notes.note("put", client.put("a", "1", None).await);
        notes.note("again", client.put("a", "2", Some(PutOptions::new().with_prev_key())).await);
        notes.note("no key", client.put("", "2", None).await);
        notes.note("no lease", client.put("b", "2", Some(PutOptions::new().with_lease(77))).await);
        notes.note("keep value", client.put("b", "", Some(PutOptions::new().with_ignore_value())).await);
        notes.note("keep lease", client.put("a", "3", Some(PutOptions::new().with_ignore_lease())).await);
        notes.note("both", client.put("a", "3", Some(PutOptions::new().with_ignore_value())).await);
        for key in ["b", "c", "d", "e"] {
            notes.note(key, client.put(key, key, None).await);
        }
        let all = || GetOptions::new().with_all_keys();
        let sorted = all().with_sort(SortTarget::Mod, SortOrder::Descend).with_limit(2);
        for (name, options) in [
            ("all", all()),
            ("sorted", sorted),
            ("prefix", GetOptions::new().with_prefix()),
            ("old", all().with_revision(3)),
            ("future", all().with_revision(300)),
            ("count", all().with_count_only()),
            ("keys", all().with_keys_only()),
            ("range", GetOptions::new().with_range("c")),
            ("empty range", GetOptions::new().with_range("a")),
            ("serializable", all().with_serializable()),
            ("from", GetOptions::new().with_from_key()),
        ] {
            notes.note(name, client.get("b", Some(options)).await);
        }
        notes.note("delete", client.delete("b", Some(DeleteOptions::new().with_prev_key())).await);
        notes.note("delete none", client.delete("b", None).await);
        notes.note("delete all", client.delete("c", Some(DeleteOptions::new().with_from_key())).await);
        notes.note("compact", client.compact(4, None).await);
        notes.note("compact again", client.compact(4, None).await);
        notes.note("compact beyond", client.compact(400, None).await);
        notes.note("compacted", client.get("a", Some(GetOptions::new().with_revision(2))).await);
        notes.note("too large", client.put("a", vec![b'v'; 1_600_000], None).await);
        notes.note("just small enough", client.put("a", vec![b'v'; 1_572_800], None).await.map(drop));
    });
}

#[test]
fn transactions_are_answered_as_by_etcd() {
    alike("transactions_are_answered_as_by_etcd", async |mut client, notes| {
        let put = |key: &str| TxnOp::put(key, "v", Some(PutOptions::new().with_prev_key()));
        let get = |key: &str| TxnOp::get(key, None);
        let txn = Txn::new()
            .when([Compare::create_revision("a", CompareOp::Equal, 0)])
            .and_then([put("a"), put("b"), get("a"), TxnOp::delete("c", None)])
            .or_else([get("a")]);
        notes.note("first", client.txn(txn.clone()).await);
        notes.note("second", client.txn(txn).await);
        notes.note("nothing", client.txn(Txn::new()).await);
        notes.note("read", client.txn(Txn::new().and_then([get("a"), get("x")])).await);
        notes.note("twice", client.txn(Txn::new().and_then([put("a"), put("a")])).await);
        notes.note("many", client.txn(Txn::new().and_then((0..129).map(|_| get("a")).collect::<Vec<_>>())).await);
        let inner = Txn::new().when([Compare::value("a", CompareOp::NotEqual, "v")]).or_else([put("d"), get("d")]);
        notes.note("nested", client.txn(Txn::new().and_then([put("e"), TxnOp::txn(inner)])).await);
        let leased = TxnOp::put("f", "v", Some(PutOptions::new().with_lease(5)));
        notes.note("no lease", client.txn(Txn::new().and_then([put("a"), leased])).await);
        let future = TxnOp::get("a", Some(GetOptions::new().with_revision(99)));
        notes.note("future", client.txn(Txn::new().and_then([put("a"), future])).await);
        notes.note("after", client.get("", Some(GetOptions::new().with_all_keys())).await);
    });
}

#[test]
fn leases_are_answered_as_by_etcd() {
    alike("leases_are_answered_as_by_etcd", async |mut client, notes| {
        let id = |id| Some(LeaseGrantOptions::new().with_id(id));
        notes.note("grant", client.lease_grant(100, id(7)).await);
        notes.note("again", client.lease_grant(100, id(7)).await);
        notes.note("short", client.lease_grant(0, id(8)).await);
        notes.note("negative", client.lease_grant(-5, id(9)).await);
        notes.note("long", client.lease_grant(9_000_000_001, id(10)).await);
        let chosen = client.lease_grant(60, None).await.expect("a lease is granted");
        notes.note("chosen", Ok(chosen.id() > 0));
        client.lease_revoke(chosen.id()).await.expect("there is one");
        for key in ["b", "a"] {
            notes.note("put", client.put(key, "", Some(PutOptions::new().with_lease(7))).await);
        }
        let keys = LeaseTimeToLiveOptions::new().with_keys();
        for (lease, options) in [(7, Some(keys)), (7, None), (70, Some(LeaseTimeToLiveOptions::new().with_keys()))] {
            let answer = client.lease_time_to_live(lease, options).await.map(|mut answer| {
                let ttl = answer.0.ttl;
                answer.0.ttl = i64::from(ttl >= 98);
                // etcd tells them in no order.
                answer.0.keys.sort();
                (answer, ttl < 0)
            });
            notes.note("time to live", answer);
        }
        let (mut keeper, mut answers) = client.lease_keep_alive(7).await.expect("it lives");
        keeper.keep_alive().await.expect("the stream is open");
        notes.note("alive", answers.message().await);
        let gone = client.lease_keep_alive(70).await.map(drop);
        notes.note("keep alive none", gone);
        notes.note("revoke", client.lease_revoke(7).await);
        notes.note("revoke again", client.lease_revoke(7).await);
        notes.note("keys are gone", client.get("a", None).await);
    });
}

#[test]
fn watches_are_answered_as_by_etcd() {
    alike("watches_are_answered_as_by_etcd", async |mut client, notes| {
        for (key, value) in [("a", "1"), ("a", "2"), ("b", "1"), ("a", "3")] {
            client.put(key, value, None).await.expect("it is put");
        }
        client.delete("b", None).await.expect("it is deleted");
        let mut stream = client.watch("a", Some(WatchOptions::new().with_start_revision(2))).await.expect("it opens");
        notes.note("created", stream.message().await);
        notes.note("history", stream.message().await);
        let watch = async |stream: &mut etcd_client::WatchStream, key: &str, options: WatchOptions| {
            stream.watch(key, Some(options)).await.expect("the stream is open");
            stream.message().await
        };
        let new = WatchOptions::new;
        notes.note("taken id", watch(&mut stream, "a", new().with_watch_id(0).with_start_revision(99)).await);
        notes.note("chosen id", watch(&mut stream, "x", new().with_watch_id(9)).await);
        notes.note("same id", watch(&mut stream, "x", new().with_watch_id(9)).await);
        notes.note("empty range", watch(&mut stream, "b", new().with_range("a")).await);
        notes.note("equal range", watch(&mut stream, "b", new().with_range("b")).await);
        notes.note("negative", watch(&mut stream, "b", new().with_start_revision(-3)).await);
        notes.note("no key", watch(&mut stream, "", new().with_prefix().with_start_revision(50)).await);
        stream.request_progress().await.expect("the stream is open");
        stream.cancel(77).await.expect("the stream is open");
        stream.cancel(9).await.expect("the stream is open");
        notes.note("cancelled", stream.message().await);
        notes.note(
            "deletes",
            watch(&mut stream, "b", new().with_prefix().with_prev_key().with_filters([WatchFilterType::NoPut])).await,
        );
        client.put("b", "5", None).await.expect("it is put");
        client.delete("b", None).await.expect("it is deleted");
        notes.note("one delete", stream.message().await);
        client.compact(5, None).await.expect("it is compacted");
        notes.note("compacted", watch(&mut stream, "a", new().with_start_revision(3)).await);
        notes.note("compacted", stream.message().await);
        notes.note("at the compaction", watch(&mut stream, "a", new().with_start_revision(5)).await);
        notes.note("at the compaction", stream.message().await);
    });
}

#[test]
fn progress_is_told_as_by_etcd() {
    alike("progress_is_told_as_by_etcd", async |mut client, notes| {
        let mut stream = client.watch("a", None).await.expect("it opens");
        notes.note("created", stream.message().await);
        client.put("other", "", None).await.expect("it is put");
        stream.request_progress().await.expect("the stream is open");
        notes.note("progress", stream.message().await);
        stream.watch("b", Some(WatchOptions::new().with_start_revision(100))).await.expect("the stream is open");
        notes.note("future", stream.message().await);
        stream.request_progress().await.expect("the stream is open");
        client.put("a", "", None).await.expect("it is put");
        notes.note("no progress before this", stream.message().await);
    });
}

#[test]
fn locks_are_answered_as_by_etcd() {
    alike("locks_are_answered_as_by_etcd", async |mut client, notes| {
        let lease = |id| Some(etcd_client::LockOptions::new().with_lease(id));
        for id in [21, 22] {
            client.lease_grant(100, Some(LeaseGrantOptions::new().with_id(id))).await.expect("a lease is granted");
        }
        notes.note("lock", client.lock("name", lease(21)).await);
        notes.note("lock again", client.lock("name", lease(21)).await);
        notes.note("no lease", client.lock("name", lease(23)).await);
        let mut other = client.clone();
        let waiting = tokio::spawn(async move {
            let lease = Some(etcd_client::LockOptions::new().with_lease(22));
            other.lock("name", lease).await
        });
        until(&mut client, "name/", 2).await;
        notes.note("unlock", client.unlock("name/15").await);
        notes.note("next", waiting.await.expect("no panic"));
        notes.note("unlock none", client.unlock("name/15").await);
        let own = client.lock("unleased", None).await.expect("a lease is granted for it");
        let ttl = async |client: &mut Client, key: &[u8]| {
            let kv = client.get(key, None).await?.take_kvs().remove(0);
            client.lease_time_to_live(kv.lease(), None).await
        };
        notes.note("a lease of the server's", ttl(&mut client, own.key()).await.map(|ttl| ttl.granted_ttl()));
        let mut other = client.clone();
        let leaving = tokio::spawn(async move {
            let lease = Some(etcd_client::LockOptions::new().with_lease(21));
            other.lock("name", lease).await
        });
        until(&mut client, "name/", 2).await;
        leaving.abort();
        until(&mut client, "name/", 1).await;
        notes.note("who left is gone", client.get("name/15", None).await);
    });
}

#[test]
fn elections_are_answered_as_by_etcd() {
    alike("elections_are_answered_as_by_etcd", async |mut client, notes| {
        for id in [31, 32] {
            client.lease_grant(100, Some(LeaseGrantOptions::new().with_id(id))).await.expect("a lease is granted");
        }
        notes.note("nobody", client.leader("name").await);
        let mut other = client.clone();
        let (see, mut seen) = tokio::sync::mpsc::channel(8);
        let observing = tokio::spawn(async move {
            // etcd opens the stream with its first message only.
            let mut observed = other.observe("name").await.expect("it opens");
            while let Ok(Some(mut leader)) = observed.message().await {
                see.send(leader.take_kv()).await.expect("the test goes on");
            }
        });
        let campaign = client.campaign("name", "one", 31).await;
        let first = campaign.as_ref().ok().and_then(|campaign| campaign.leader().cloned());
        notes.note("campaign", campaign);
        notes.note("observed", Ok(seen.recv().await));
        notes.note("again", client.campaign("name", "one more", 31).await);
        notes.note("observed", Ok(seen.recv().await));
        notes.note("leader", client.leader("name").await);
        let with = |key: &etcd_client::LeaderKey| Some(etcd_client::ProclaimOptions::new().with_leader(key.clone()));
        let first = first.expect("the campaign was won");
        notes.note("proclaim", client.proclaim("other", with(&first)).await);
        notes.note("observed", Ok(seen.recv().await));
        let stranger = etcd_client::LeaderKey::new().with_name("name").with_key("name/1f").with_rev(1).with_lease(31);
        notes.note("proclaim of a stranger", client.proclaim("other", with(&stranger)).await);
        notes.note("proclaim of nobody", client.proclaim("other", None).await);
        let mut other = client.clone();
        let waiting = tokio::spawn(async move { other.campaign("name", "two", 32).await });
        until(&mut client, "name/", 2).await;
        let resign = |key: etcd_client::LeaderKey| Some(etcd_client::ResignOptions::new().with_leader(key));
        notes.note("resign of a stranger", client.resign(resign(stranger)).await);
        notes.note("resign", client.resign(resign(first)).await);
        notes.note("next", waiting.await.expect("no panic"));
        notes.note("observed", Ok(seen.recv().await));
        observing.abort();
        notes.note("no lease", client.campaign("name", "three", 33).await);
        let mut other = client.clone();
        let leaving = tokio::spawn(async move { other.campaign("name", "four", 31).await });
        until(&mut client, "name/", 2).await;
        leaving.abort();
        until(&mut client, "name/", 1).await;
        notes.note("who left is gone", client.get("name/1f", None).await);
    });
}

#[test]
fn the_cluster_and_its_members_are_told_as_by_etcd() {
    alike("the_cluster_and_its_members_are_told_as_by_etcd", async |mut client, notes| {
        notes.note("bad url", client.member_add(["nonsense"], None).await);
        notes.note("remove none", client.member_remove(4711).await);
        notes.note("promote none", client.member_promote(4711).await);
        notes.note("alarms", client.alarm(etcd_client::AlarmAction::Get, etcd_client::AlarmType::None, None).await);
        notes.note("move to none", client.move_leader(4711).await);
        notes.note("defragment", client.defragment().await);
        let status = client.status().await.map(|status| {
            (status.version().to_owned(), status.leader() != 0, status.is_learner(), status.errors().to_vec())
        });
        notes.note("status", status);
    });
}

/// Waits until a prefix has so many keys.
async fn until(client: &mut Client, prefix: &str, count: i64) {
    let prefixed = || Some(GetOptions::new().with_prefix().with_count_only());
    let mut stream = client.watch(prefix, Some(WatchOptions::new().with_prefix())).await.expect("it opens");
    while client.get(prefix, prefixed()).await.expect("it is read").count() != count {
        stream.message().await.expect("the stream is open");
    }
}
