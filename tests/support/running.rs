//! Tests that await something: a runtime of their own, and an end in any case.

use std::time::Duration;

use super::etcd::{self, Version};

/// Runs `test` on every real etcd found, in turn, each under a runtime of its own.
pub fn on_every_real_etcd(name: &str, test: impl AsyncFn(Version)) {
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
