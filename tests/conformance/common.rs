//! Helpers of this suite.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lockscope::config::Connection;
use lockscope::domain::{Key, KeyRange, LeaseId, Timestamp};
use lockscope::port::{Client, Clock, Delete, Etcd, Op, Put, Txn};

use crate::support::etcd::{self, Cluster, Version};
use crate::support::proxy::Proxy;

/// Runs `test` on every etcd found, in turn, each under a runtime of its own.
pub fn on_every_etcd(name: &str, test: impl AsyncFn(Version)) {
    for version in etcd::versions(name) {
        block_on(test(version));
    }
}

/// Runs a future to its end on a fresh runtime, within two minutes.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    let limited = runtime.block_on(async { tokio::time::timeout(Duration::from_mins(2), future).await });
    runtime.shutdown_timeout(Duration::from_secs(5));
    limited.expect("the test ends in time")
}

/// Settings for these endpoints.
pub fn settings(endpoints: &[String]) -> Connection {
    Connection { endpoints: endpoints.to_vec(), ..Connection::default() }
}

/// A cluster of one that can be reached through the proxy only, as far as it says itself.
pub fn behind_proxy(version: &Version) -> (Cluster, Proxy) {
    let cluster = version.cluster().flag("--advertise-client-urls=http://127.0.0.1:9").start();
    let proxy = Proxy::start(cluster.address(0));
    (cluster, proxy)
}

/// A client of the cluster's first member.
pub async fn client(cluster: &Cluster) -> Client {
    let endpoint = cluster.endpoint(0);
    Client::connect(&endpoint, &settings(std::slice::from_ref(&endpoint))).await.expect("the member runs")
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
pub fn ctl(cluster: &Cluster, arguments: &[&str]) {
    ctl_with(cluster, &[], arguments);
}

/// The same with flags for the connection.
pub fn ctl_with(cluster: &Cluster, flags: &[&str], arguments: &[&str]) {
    let arguments = [flags, arguments].concat();
    let output = cluster.ctl(&arguments);
    assert!(output.status.success(), "etcdctl {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}
