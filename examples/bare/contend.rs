//! Clients that contend for one lock through the server's Lock API, as fast as they can.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use clap::Args;
use color_eyre::Result;
use etcd_client::{Client, LockOptions};
use futures::future::try_join_all;
use tokio::time::Instant;

use crate::Target;
use crate::write::grant;

/// Lets clients contend for a lock through the Lock API and reports handovers a second.
#[derive(Args)]
pub struct Contend {
    /// How many clients.
    #[arg(long, default_value_t = 100)]
    clients: usize,
    /// For how many seconds.
    #[arg(long, default_value_t = 5)]
    secs: u64,
}

impl Contend {
    pub async fn run(self, target: &Target) -> Result<()> {
        let client = target.connect().await?;
        let name = format!("{}contended", target.prefix);
        let leases = grant(&client, self.clients).await?;
        let length = Duration::from_secs(self.secs);
        let (end, handovers) = (Instant::now() + length, Arc::new(AtomicU32::new(0)));
        let clients = leases
            .into_iter()
            .map(|lease| tokio::spawn(one(client.clone(), name.clone(), lease, end, handovers.clone())));
        // No call is aborted: Lock calls that are can wedge the server's queue (etcd issue 13336).
        for ended in try_join_all(clients).await? {
            ended?;
        }
        let rate = f64::from(handovers.load(Ordering::Relaxed)) / length.as_secs_f64();
        println!("{{\"handovers_per_s\":{rate:.2}}}");
        Ok(())
    }
}

/// Takes and gives back the lock until the time is over; a hold counts if it began before.
async fn one(client: Client, name: String, lease: i64, end: Instant, handovers: Arc<AtomicU32>) -> Result<()> {
    let mut locks = client.lock_client();
    while Instant::now() < end {
        let held = locks.lock(name.as_str(), Some(LockOptions::new().with_lease(lease))).await?;
        if Instant::now() < end {
            handovers.fetch_add(1, Ordering::Relaxed);
        }
        locks.unlock(held.key()).await?;
    }
    Ok(())
}
