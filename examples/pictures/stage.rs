//! An embedded cluster with clients on it, such as are found on a real one. Lease ids are given and
//! not left to chance, so that keys are the same each time.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use color_eyre::Result;
use color_eyre::eyre::eyre;
use etcd_client::{Client, LeaseGrantOptions, PutOptions};
use tokio::runtime::Runtime;

/// The cluster; dropping it ends it, and all its clients.
pub struct Stage {
    cluster: Child,
    endpoints: String,
    runtime: Runtime,
    client: Client,
}

impl Stage {
    /// Starts three members.
    pub fn new(program: &Path) -> Result<Self> {
        let mut cluster = Command::new(program)
            .args(["cluster", "--members", "3", "--seed", "7"])
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut line = String::new();
        let out = cluster.stdout.take().ok_or_else(|| eyre!("it has no output"))?;
        BufReader::new(out).read_line(&mut line)?;
        let endpoints = line.strip_prefix("ready\t").map(|endpoints| endpoints.trim().to_owned());
        let endpoints = endpoints.ok_or_else(|| eyre!("the cluster is not ready, it says {line:?}"))?;
        let runtime = Runtime::new()?;
        let all: Vec<&str> = endpoints.split(',').collect();
        let client = runtime.block_on(Client::connect(all, None))?;
        Ok(Self { cluster, endpoints, runtime, client })
    }

    /// Where it listens, as `ETCDCTL_ENDPOINTS` takes it.
    pub fn endpoints(&self) -> &str {
        &self.endpoints
    }

    /// Grants a lease of so many seconds to a client that renews it while there is a stage.
    pub fn alive(&self, lease: i64, ttl: i64) -> Result<()> {
        self.dead(lease, ttl)?;
        let mut client = self.client.clone();
        self.runtime.spawn(async move {
            let Ok((mut keeper, mut answers)) = client.lease_keep_alive(lease).await else { return };
            let mut beat = tokio::time::interval(Duration::from_secs(u64::try_from(ttl).unwrap_or(1)) / 3);
            loop {
                beat.tick().await;
                if keeper.keep_alive().await.is_err() || !matches!(answers.message().await, Ok(Some(_))) {
                    return;
                }
            }
        });
        Ok(())
    }

    /// Grants a lease to a client that never renews it.
    pub fn dead(&self, lease: i64, ttl: i64) -> Result<()> {
        let options = LeaseGrantOptions::new().with_id(lease);
        self.runtime.block_on(self.client.clone().lease_grant(ttl, Some(options)))?;
        Ok(())
    }

    /// Puts a client's key into a lock's queue, named as etcd's Go client does.
    pub fn enqueue(&self, lock: &str, lease: i64, value: &str) -> Result<()> {
        self.put(&format!("{lock}/{lease:x}"), value, lease)
    }

    /// Puts a key; lease 0 is none.
    pub fn put(&self, key: &str, value: &str, lease: i64) -> Result<()> {
        let options = PutOptions::new().with_lease(lease);
        self.runtime.block_on(self.client.clone().put(key, value, Some(options)))?;
        Ok(())
    }

    /// Has a client let go of a lock and stand in its queue again.
    pub fn pass_on(&self, lock: &str, lease: i64) -> Result<()> {
        self.runtime.block_on(self.client.clone().delete(format!("{lock}/{lease:x}"), None))?;
        self.enqueue(lock, lease, "")
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // Everything it has is in memory.
        let _ = self.cluster.kill();
        let _ = self.cluster.wait();
    }
}
