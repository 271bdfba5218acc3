//! Keys in bulk, and writes at a rate.
//!
//! Keys look as etcd's concurrency recipe makes them, `<prefix><lock>/<lease in hex>`, so that
//! they are locks to whoever reads them.

use std::time::Duration;

use clap::Args;
use color_eyre::Result;
use etcd_client::{Client, PutOptions, Txn, TxnOp};
use futures::{StreamExt, TryStreamExt, stream};
use tokio::time::{self, MissedTickBehavior};

use crate::Target;

/// Longer than any run, so that nothing expires in between.
const TTL_SECS: i64 = 3600;

/// Puts a number of locks with a number of keys each, then a last lock named `done`.
#[derive(Args)]
pub struct Fill {
    /// How many locks.
    #[arg(long, default_value_t = 1000)]
    locks: usize,
    /// How many keys each has.
    #[arg(long, default_value_t = 1)]
    queue: usize,
    /// How many leases the keys of one place in the queue are spread over.
    #[arg(long, default_value_t = 1)]
    leases: usize,
    /// How many keys a transaction puts; 1 is plain puts.
    #[arg(long, default_value_t = 128)]
    batch: usize,
    /// How many requests are under way at once.
    #[arg(long, default_value_t = 16)]
    in_flight: usize,
}

impl Fill {
    pub async fn run(self, target: &Target) -> Result<()> {
        let client = target.connect().await?;
        let leases = grant(&client, self.queue * self.leases).await?;
        let places = (0..self.queue).flat_map(|place| (0..self.locks).map(move |lock| (place, lock)));
        let puts: Vec<TxnOp> = places
            .map(|(place, lock)| {
                let lease = leases[place * self.leases + lock % self.leases];
                put(key(target, &format!("lock-{lock:06}"), lease), lease)
            })
            .collect();
        let batches = puts.chunks(self.batch.max(1)).map(<[TxnOp]>::to_vec);
        stream::iter(batches)
            .map(|batch| {
                let mut kv = client.kv_client();
                async move { kv.txn(Txn::new().and_then(batch)).await }
            })
            .buffer_unordered(self.in_flight.max(1))
            .try_for_each(|_| async { Ok(()) })
            .await?;
        if let Some(&lease) = leases.last() {
            client.kv_client().txn(Txn::new().and_then([put(key(target, "done", lease), lease)])).await?;
        }
        println!("{} keys", puts.len() + 1);
        Ok(())
    }
}

/// Puts one key again and again at a rate, until it is stopped.
#[derive(Args)]
pub struct Churn {
    /// Puts a second.
    #[arg(long, default_value_t = 1000)]
    rate: u32,
}

impl Churn {
    pub async fn run(self, target: &Target) -> Result<()> {
        let client = target.connect().await?;
        let lease = grant(&client, 1).await?[0];
        let key = key(target, "busy", lease);
        let mut ticks = pace(self.rate);
        loop {
            ticks.tick().await;
            let options = PutOptions::new().with_lease(lease);
            client.kv_client().put(key.clone(), "", Some(options)).await?;
        }
    }
}

/// A beat that catches up when it was late, so that the rate holds.
pub fn pace(rate: u32) -> time::Interval {
    let mut ticks = time::interval(Duration::from_secs(1) / rate.max(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    ticks
}

/// Grants leases that outlive the run.
pub async fn grant(client: &Client, count: usize) -> Result<Vec<i64>> {
    let granted = stream::iter(0..count).map(|_| {
        let mut leases = client.lease_client();
        async move { leases.grant(TTL_SECS, None).await.map(|lease| lease.id()) }
    });
    Ok(granted.buffered(16).try_collect().await?)
}

/// A key of the queue of `lock`.
pub fn key(target: &Target, lock: &str, lease: i64) -> String {
    format!("{}{lock}/{lease:x}", target.prefix)
}

fn put(key: String, lease: i64) -> TxnOp {
    TxnOp::put(key, "", Some(PutOptions::new().with_lease(lease)))
}
