//! Helpers of this suite.

use std::time::{SystemTime, UNIX_EPOCH};

use lockscope::config::Connection;
use lockscope::domain::{Key, KeyRange, LeaseId, Timestamp};
use lockscope::port::{Client, Clock, Delete, Etcd, Op, Put, Txn};

use crate::support::etcd;
use crate::support::proxy::Proxy;
// The second is for what the embedded cluster does not have, such as users and certificates.
pub use crate::support::running::{block_on, on_every_real_etcd};
use crate::support::served::{Cluster, Kind};

/// Runs `test` on the embedded cluster and on every etcd found, in turn, each under a runtime of
/// its own.
pub fn on_every_etcd(name: &str, test: impl AsyncFn(Kind)) {
    block_on(test(Kind::Embedded));
    for version in etcd::versions(name) {
        block_on(test(Kind::Real(version)));
    }
}

/// Settings for these endpoints.
pub fn settings(endpoints: &[String]) -> Connection {
    Connection { endpoints: endpoints.to_vec(), ..Connection::default() }
}

/// A cluster of one that can be reached through the proxy only, as far as it says itself.
pub fn behind_proxy(kind: &Kind) -> (Cluster, Proxy) {
    let cluster = kind.cluster().members(1).advertise("http://127.0.0.1:9").start();
    let proxy = Proxy::start(cluster.address(0));
    (cluster, proxy)
}

/// A client of the member that is served there.
pub async fn client(endpoint: &str) -> Client {
    Client::connect(endpoint, &settings(&[endpoint.to_owned()])).await.expect("the member runs")
}

/// Forgets the changes before a revision, which the port has no call for.
pub async fn compact(endpoint: &str, revision: i64) {
    let mut client = etcd_client::Client::connect([endpoint], None).await.expect("the member runs");
    client.compact(revision, None).await.expect("it is compacted");
}

/// Runs a future to its end where nothing can be awaited.
pub fn wait_here<T: Send>(future: impl Future<Output = T> + Send) -> T {
    std::thread::scope(|scope| scope.spawn(|| block_on(future)).join().expect("it does not panic"))
}

/// Puts a key.
pub async fn put(etcd: &impl Etcd, key: &str, value: &str) -> i64 {
    put_leased(etcd, key, value, LeaseId::NONE).await
}

/// Puts a key with a lease; the revision it made.
pub async fn put_leased(etcd: &impl Etcd, key: &str, value: &str, lease: LeaseId) -> i64 {
    let put = Put { key: key.into(), value: value.into(), lease };
    etcd.put(put).await.expect("the put is taken").header.revision.0
}

/// Puts `count` keys below `/many/`.
pub async fn fill(etcd: &impl Etcd, count: usize, value: &str) {
    let key = |n| Key::from(&*format!("/many/{n:06}"));
    for start in (0..count).step_by(100) {
        let put = |n| Op::Put(Put { key: key(n), value: value.into(), lease: LeaseId::NONE });
        let puts = (start..count.min(start + 100)).map(put).collect();
        etcd.txn(Txn { then: puts, ..Txn::default() }).await.expect("the puts are taken");
    }
}

/// Deletes a key.
pub async fn delete(etcd: &impl Etcd, key: &str) -> i64 {
    let delete = Delete { range: KeyRange::single(key.as_bytes()) };
    etcd.delete(delete).await.expect("the delete is taken").header.revision.0
}

/// The wall clock.
pub fn clock() -> Clock {
    #[expect(clippy::disallowed_methods, reason = "tests stamp with the real time, as the runtime does")]
    Clock::new(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
        Timestamp(i64::try_from(since.as_millis()).expect("before the year 292278994"))
    })
}

/// Runs etcdctl and expects it to succeed.
pub fn ctl(cluster: &etcd::Cluster, arguments: &[&str]) {
    ctl_with(cluster, &[], arguments);
}

/// The same with flags for the connection.
pub fn ctl_with(cluster: &etcd::Cluster, flags: &[&str], arguments: &[&str]) {
    let arguments = [flags, arguments].concat();
    let output = cluster.ctl(&arguments);
    assert!(output.status.success(), "etcdctl {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}
