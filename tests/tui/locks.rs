//! Locks to look at, made on a real etcd as clients make them.

use etcd_client::{Client, PutOptions, Txn, TxnOp};
use tokio::runtime::Runtime;

use super::pty::{Setup, lockscope};
use super::support::etcd::{Cluster, newest};

/// An etcd with a client beside the program under test.
pub struct World {
    /// The servers.
    pub cluster: Cluster,
    runtime: Runtime,
    client: Client,
}

/// Operations in one transaction; etcd takes 128 unless it is told otherwise.
const OPERATIONS: usize = 128;

impl World {
    /// One member of the newest etcd there is; says so when there is none.
    pub fn new(test: &str) -> Option<Self> {
        let cluster = newest(test)?.cluster().start();
        let runtime = Runtime::new().unwrap();
        let client = runtime.block_on(Client::connect(cluster.endpoints(), None)).unwrap();
        Some(Self { cluster, runtime, client })
    }

    /// The dashboard on this etcd, with more arguments.
    pub fn lockscope(&self, arguments: &[&str]) -> Setup {
        let endpoints = self.cluster.endpoints().join(",");
        let mut all = vec!["--endpoints", &endpoints];
        all.extend_from_slice(arguments);
        lockscope(&all)
    }

    /// Adds a client to a lock's queue, with a lease of so many seconds; returns its key.
    pub fn enqueue(&self, lock: &str, ttl: i64) -> String {
        let mut client = self.client.clone();
        self.runtime.block_on(async {
            let lease = client.lease_grant(ttl, None).await.unwrap().id();
            let key = format!("{lock}/{lease:x}");
            client.put(key.as_str(), "", Some(PutOptions::new().with_lease(lease))).await.unwrap();
            key
        })
    }

    /// Grants a lease of so many seconds.
    pub fn lease(&self, ttl: i64) -> i64 {
        let mut client = self.client.clone();
        self.runtime.block_on(client.lease_grant(ttl, None)).unwrap().id()
    }

    /// Renews a lease once a second until the result is dropped.
    pub fn keep_alive(&self, lease: i64) -> Going {
        let mut client = self.client.clone();
        Going(self.runtime.spawn(async move {
            let (mut keeper, mut answers) = client.lease_keep_alive(lease).await.unwrap();
            let mut tick = tokio::time::interval(std::time::Duration::from_secs(1));
            loop {
                tick.tick().await;
                keeper.keep_alive().await.unwrap();
                answers.message().await.unwrap();
            }
        }))
    }

    /// Puts a key on a lease, or on none when that is 0.
    pub fn put(&self, key: &str, lease: i64) {
        let mut client = self.client.clone();
        self.runtime.block_on(client.put(key, "", Some(PutOptions::new().with_lease(lease)))).unwrap();
    }

    /// Makes so many locks, `/many/0000` and on, each held.
    pub fn many(&self, count: usize) {
        let mut client = self.client.clone();
        self.runtime.block_on(async {
            let lease = client.lease_grant(600, None).await.unwrap().id();
            let names: Vec<_> = (0..count).map(|n| format!("/many/{n:04}/{lease:x}")).collect();
            for chunk in names.chunks(OPERATIONS) {
                let put = |key: &String| TxnOp::put(key.as_str(), "", Some(PutOptions::new().with_lease(lease)));
                client.txn(Txn::new().and_then(chunk.iter().map(put).collect::<Vec<_>>())).await.unwrap();
            }
        });
    }

    /// Deletes a key.
    pub fn delete(&self, key: &str) {
        let mut client = self.client.clone();
        self.runtime.block_on(client.delete(key, None)).unwrap();
    }

    /// Puts keys at this rate until the result is dropped.
    pub fn put_steadily(&self, per_second: u32) -> Going {
        let mut client = self.client.clone();
        let task = self.runtime.spawn(async move {
            let mut tick = tokio::time::interval(std::time::Duration::from_secs(1) / per_second);
            for n in 0_u64.. {
                tick.tick().await;
                client.put(format!("/steady/{}", n % 100), n.to_string(), None).await.unwrap();
            }
        });
        Going(task)
    }
}

/// Something that goes on.
pub struct Going(tokio::task::JoinHandle<()>);

impl Drop for Going {
    fn drop(&mut self) {
        self.0.abort();
    }
}
