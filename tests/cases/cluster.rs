//! The cluster itself: what still works when it is full.

use lockscope::domain::{AlarmKind, KeyRange, LeaseId};
use lockscope::model::findings::Thresholds;
use lockscope::model::{Diagnosis, Severity};
use lockscope::port::{Delete, Etcd, PortError, Put};

use crate::common::{Live, client, grant, join, on_every_real_etcd};

/// etcd issues 14497 and 17318: with its database full (NOSPACE) an etcd refuses puts and grants,
/// and clients take their locks for broken. Nobody can join a queue; who holds can still renew
/// and unlock, and what is held is freed as ever.
#[test]
fn a_full_database_blocks_joining_and_neither_renewing_nor_unlocking() {
    on_every_real_etcd("a full database", async |version| {
        let cluster = version.cluster().flag("--quota-backend-bytes=20971520").start();
        let etcd = client(&cluster.endpoint(0)).await;
        join(&etcd, "/q", 0xa1, 600).await;
        join(&etcd, "/q", 0xb2, 600).await;
        grant(&etcd, 0xc3, 600).await;
        let full = async {
            for n in 0..200 {
                let put =
                    Put { key: format!("/fill/{n}").as_str().into(), value: vec![b'x'; 1 << 20], lease: LeaseId::NONE };
                if let Err(error) = etcd.put(put).await {
                    return error;
                }
            }
            unreachable!("{version}: 200 MiB fit into 20")
        };
        let error = full.await;
        assert!(matches!(error, PortError::NoSpace { .. }), "{version}: {error}");
        let put = Put { key: "/q/c3".into(), value: Vec::new(), lease: LeaseId(0xc3) };
        let refused = etcd.put(put).await.expect_err("nobody can join");
        assert!(matches!(refused, PortError::NoSpace { .. }), "{version}: {refused}");
        let refused = etcd.grant(LeaseId(0xd4), 60).await.expect_err("no lease is granted");
        assert!(matches!(refused, PortError::NoSpace { .. }), "{version}: {refused}");
        assert!(etcd.keep_alive(LeaseId(0xb2)).await.unwrap(), "{version}: a lease is renewed");
        let mut live = Live::watch(&cluster.endpoints(), "/q/");
        live.until("the alarm is told", |facts| {
            facts.cluster.alarms().iter().any(|alarm| alarm.kind == AlarmKind::NoSpace)
        })
        .await;
        let unlocked = etcd.delete(Delete { range: KeyRange::single(b"/q/a1") }).await.unwrap();
        assert_eq!(unlocked.deleted, 1, "{version}");
        live.until("the lock is passed on", |facts| {
            facts.lock_named(b"/q").and_then(|lock| lock.holder()).is_some_and(|key| key.lease() == LeaseId(0xb2))
        })
        .await;
        let diagnosis = Diagnosis::of(live.facts(), &Thresholds::default());
        let found = diagnosis.findings().iter().find(|finding| finding.code == "nospace");
        assert_eq!(found.map(|finding| finding.severity), Some(Severity::Error), "{version}");
        etcd.revoke(LeaseId(0xb2)).await.unwrap();
        live.until("the lock is free", |facts| facts.lock_named(b"/q").is_some_and(|lock| lock.holder().is_none()))
            .await;
        live.end().await;
    });
}
