//! The store of the embedded cluster, and the cluster as it is served, against real etcds: random
//! requests have to give the same answers, errors, revisions and watch events.
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
use support::etcd;
use support::served::{Cluster, Kind};
use tokio::task::JoinSet;

/// Sequences when none are asked for.
const SEQUENCES: usize = 1000;

/// The same for those that the embedded cluster is asked, too.
const SERVED_SEQUENCES: usize = 100;

/// Servers of each version that run beside each other: a watch of the past waits for a loop
/// that comes by every 100 ms.
const SERVERS: usize = 4;

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is no number: {text:?}")))
}

/// Servers with a store each, all of which are asked the same.
struct Compared {
    pairs: Vec<Pair>,
    _clusters: Vec<Cluster>,
}

impl Compared {
    async fn start(kinds: Vec<Kind>) -> Self {
        let (mut pairs, mut clusters) = (Vec::new(), Vec::new());
        for kind in kinds {
            let start = kind.cluster();
            let cluster = tokio::task::spawn_blocking(move || start.start()).await.expect("the cluster starts");
            pairs.push(Pair::new(kind, &cluster.endpoint(0)).await);
            clusters.push(cluster);
        }
        Self { pairs, _clusters: clusters }
    }
}

/// Runs sequences until none is left.
async fn work(kinds: Vec<Kind>, first: u64, next: Arc<AtomicUsize>, count: usize) {
    let mut compared = Compared::start(kinds).await;
    loop {
        let n = next.fetch_add(1, Ordering::Relaxed);
        if n >= count {
            return;
        }
        let seed = first.wrapping_add(n as u64);
        for pair in &mut compared.pairs {
            if let Err(difference) = pair.run(seed).await {
                panic!("LOCKSCOPE_SEED={seed} LOCKSCOPE_SEQUENCES=1\n{difference}");
            }
        }
    }
}

/// Runs so many sequences in total, or as many as are asked for, on each of these.
fn compare(compared: Vec<Vec<Kind>>, sequences: usize, servers: usize) {
    let sequences = number("LOCKSCOPE_SEQUENCES").map_or(sequences, |count| usize::try_from(count).expect("a count"));
    let first = number("LOCKSCOPE_SEED").unwrap_or_else(|| RandomState::new().hash_one("the first seed"));
    println!("LOCKSCOPE_SEED={first} LOCKSCOPE_SEQUENCES={sequences}");
    let each = sequences.div_ceil(compared.len().max(1));
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let mut workers = JoinSet::new();
        for kinds in compared {
            let next = Arc::new(AtomicUsize::new(0));
            for _ in 0..servers.min(each) {
                workers.spawn(work(kinds.clone(), first, Arc::clone(&next), each));
            }
        }
        while let Some(ended) = workers.join_next().await {
            if let Err(error) = ended {
                std::panic::resume_unwind(error.into_panic());
            }
        }
    });
}

#[test]
fn the_store_answers_as_etcd_does() {
    let versions = etcd::versions("the_store_answers_as_etcd_does");
    compare(versions.into_iter().map(|version| vec![Kind::Real(version)]).collect(), SEQUENCES, SERVERS);
}

#[test]
fn the_embedded_cluster_answers_as_the_etcd_it_follows() {
    let real = etcd::newest("the_embedded_cluster_answers_as_the_etcd_it_follows").map(Kind::Real);
    let kinds = [Kind::Embedded].into_iter().chain(real).collect();
    compare(vec![kinds], SERVED_SEQUENCES, 2);
}
