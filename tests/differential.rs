//! The store of the embedded cluster against real etcds: random requests have to give the same
//! answers, errors, revisions and watch events.
//!
//! `LOCKSCOPE_SEQUENCES` says how many sequences in total, `LOCKSCOPE_SEED` which is the first;
//! the rest have the numbers after it. A difference is told with the seed that shows it. Where
//! the versions of etcd differ, the store does what 3.5 does:
//!
//! - Up to 3.5.17 a compaction forgets deletions at its very revision, and a watch from there
//!   is not told of them.

#![expect(clippy::panic, reason = "helpers of tests fail by panicking")]

mod support;

#[path = "differential/chance.rs"]
mod chance;
#[path = "differential/pair.rs"]
mod pair;
#[path = "differential/sequence.rs"]
mod sequence;
#[path = "differential/server.rs"]
mod server;
#[path = "differential/wire.rs"]
mod wire;

use std::env;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pair::Pair;
use support::etcd::{self, Cluster, Version};
use tokio::task::JoinSet;

/// Sequences when none are asked for.
const SEQUENCES: usize = 1000;

/// Servers of each version that run beside each other: a watch of the past waits for a loop
/// that comes by every 100 ms.
const SERVERS: usize = 4;

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is no number: {text:?}")))
}

/// Runs sequences until none is left.
async fn work(version: Version, first: u64, next: Arc<AtomicUsize>, count: usize) {
    let cluster: Cluster = tokio::task::spawn_blocking({
        let version = version.clone();
        move || version.cluster().start()
    })
    .await
    .expect("the cluster starts");
    let mut pair = Pair::new(version, &cluster.endpoint(0)).await;
    loop {
        let n = next.fetch_add(1, Ordering::Relaxed);
        if n >= count {
            return;
        }
        let seed = first.wrapping_add(n as u64);
        if let Err(difference) = pair.run(seed).await {
            panic!("LOCKSCOPE_SEED={seed} LOCKSCOPE_SEQUENCES=1\n{difference}");
        }
    }
}

#[test]
fn the_store_answers_as_etcd_does() {
    let versions = etcd::versions("the_store_answers_as_etcd_does");
    let sequences = number("LOCKSCOPE_SEQUENCES").map_or(SEQUENCES, |count| usize::try_from(count).expect("a count"));
    let first = number("LOCKSCOPE_SEED").unwrap_or_else(|| RandomState::new().hash_one("the first seed"));
    println!("LOCKSCOPE_SEED={first} LOCKSCOPE_SEQUENCES={sequences}");
    let each = sequences.div_ceil(versions.len().max(1));
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let mut workers = JoinSet::new();
        for version in versions {
            let next = Arc::new(AtomicUsize::new(0));
            for _ in 0..SERVERS.min(each) {
                workers.spawn(work(version.clone(), first, Arc::clone(&next), each));
            }
        }
        while let Some(ended) = workers.join_next().await {
            if let Err(error) = ended {
                std::panic::resume_unwind(error.into_panic());
            }
        }
    });
}
