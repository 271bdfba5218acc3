//! Names and values: whose queue a key stands in, and who wrote it.

use lockscope::model::LockState;

use crate::common::{Live, client, grant, join, on_every_real_etcd, put};

/// etcd pull request 6284: the prefix of a lock without its closing slash is that of others too,
/// so that `/lock/job` waited for the holder of `/lock/job2`.
#[test]
fn locks_whose_names_begin_alike_do_not_wait_for_each_other_unless_one_lies_in_the_other() {
    on_every_real_etcd("locks whose names begin alike", async |version| {
        let cluster = version.cluster().start();
        let etcd = client(&cluster.endpoint(0)).await;
        join(&etcd, "/lock/job2", 0xb2, 600).await;
        join(&etcd, "/lock/job", 0xa1, 600).await;
        let mut live = Live::watch(&cluster.endpoints(), "/lock/");
        live.until("the locks are read", |facts| facts.lock_count() == 2).await;
        for (name, key) in [("/lock/job", "/lock/job/a1"), ("/lock/job2", "/lock/job2/b2")] {
            let lock = live.facts().lock_named(name.as_bytes()).unwrap();
            assert_eq!(lock.state(), LockState::Held, "{version}: {name}");
            assert_eq!(lock.holder().unwrap().key(), key.as_bytes(), "{version}");
        }
        assert!(!live.codes("/lock/job").contains(&"prefix-trap"), "{version}");
        // One whose name goes on behind a slash stands in the queue of the other.
        join(&etcd, "/lock/job/part", 0xc3, 600).await;
        live.until_found("prefix-trap", "/lock/job").await;
        live.end().await;
    });
}

/// Vitess issue 11662: a keyspace was locked and nobody could tell by whom and what for, although
/// the value says both.
#[test]
fn the_value_of_a_vitess_lock_tells_who_and_why() {
    on_every_real_etcd("the value of a Vitess lock", async |version| {
        let cluster = version.cluster().start();
        let etcd = client(&cluster.endpoint(0)).await;
        let lease: i64 = 7_587_862_094_291_012_345;
        grant(&etcd, lease, 60).await;
        let value = r#"{"Action":"PlannedReparentShard","HostName":"vtctld-7","UserName":"deploy","Time":"2022-11-07T11:22:33Z","Status":"Running"}"#;
        put(&etcd, &format!("/vitess/global/keyspaces/commerce/locks/{lease}"), value, lease).await;
        let mut live = Live::watch(&cluster.endpoints(), "/vitess/");
        let name = b"/vitess/global/keyspaces/commerce/locks";
        live.until("the lock is read", |facts| facts.lock_named(name).is_some()).await;
        let lock = live.facts().lock_named(name).unwrap();
        assert_eq!(lock.family(), "vitess", "{version}");
        let decoded = lock.holder().unwrap().decoded();
        let said = format!("{:?} {:?}", decoded.owner, decoded.fields);
        for word in ["vtctld-7", "PlannedReparentShard", "deploy"] {
            assert!(said.contains(word), "{version}: {said}");
        }
        live.end().await;
    });
}
