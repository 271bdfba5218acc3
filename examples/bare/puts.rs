//! Puts as fast as they are answered.

use std::time::Duration;

use clap::Args;
use color_eyre::Result;
use color_eyre::eyre::eyre;
use etcd_client::{Client, KvClient, WatchOptions};
use futures::future::try_join_all;
use tokio::time::Instant;

use crate::Target;

/// Puts as fast as they are answered and reports how many a second. Clients are spread over the
/// members, which `--endpoint` names with commas between them.
#[derive(Args)]
pub struct Puts {
    /// How many clients put, each one key after the other.
    #[arg(long, default_value_t = 64)]
    clients: usize,
    /// How many connections they share, at most one each.
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// For how many seconds.
    #[arg(long, default_value_t = 4.0)]
    secs: f64,
    /// The size of a value in bytes.
    #[arg(long, default_value_t = 64)]
    size: usize,
    /// How many keys each client puts in turn.
    #[arg(long, default_value_t = 1000)]
    keys: usize,
    /// How many watch streams follow all of it meanwhile.
    #[arg(long, default_value_t = 0)]
    watches: usize,
}

impl Puts {
    pub async fn run(self, target: &Target) -> Result<()> {
        let endpoints: Vec<_> = target.endpoint.split(',').collect();
        let mut connections = Vec::new();
        for (_, endpoint) in (0..self.connections.clamp(1, self.clients.max(1))).zip(endpoints.iter().cycle()) {
            connections.push(Client::connect([endpoint], None).await?.kv_client());
        }
        let mut watching = Vec::new();
        for (_, endpoint) in (0..self.watches).zip(endpoints.iter().cycle()) {
            let mut client = Client::connect([endpoint], None).await?;
            let options = WatchOptions::new().with_prefix();
            let mut watch = client.watch(target.prefix.as_str(), Some(options)).await?;
            watch.message().await?;
            watching.push(tokio::spawn(async move { while let Ok(Some(_)) = watch.message().await {} }));
        }
        let began = Instant::now();
        let end = began + Duration::from_secs_f64(self.secs);
        let clients = (0..self.clients).zip(connections.iter().cycle()).map(|(client, kv)| {
            let keys = (0..self.keys).map(|key| format!("{}{client:04}/{key:06}", target.prefix)).collect();
            tokio::spawn(one(kv.clone(), keys, vec![b'v'; self.size], end))
        });
        let ended = try_join_all(clients).await?.into_iter().collect::<Result<Vec<_>>>()?;
        let length = began.elapsed().as_secs_f64();
        watching.iter().for_each(tokio::task::JoinHandle::abort);
        let mut waits: Vec<_> = ended.into_iter().flatten().collect();
        waits.sort_unstable();
        let at = |thousandth: usize| waits.get((waits.len() * thousandth / 1000).min(waits.len() - 1));
        let milliseconds = |thousandth| at(thousandth).map(|wait| wait.as_secs_f64() * 1e3);
        let (Some(p50), Some(p99), Some(max)) = (milliseconds(500), milliseconds(990), milliseconds(1000)) else {
            return Err(eyre!("no put was answered"));
        };
        println!(
            "{{\"puts_per_s\":{:.1},\"p50_ms\":{p50:.4},\"p99_ms\":{p99:.4},\"max_ms\":{max:.4}}}",
            f64::from(u32::try_from(waits.len())?) / length
        );
        Ok(())
    }
}

/// Puts one key after the other until the time is over; how long each took.
async fn one(mut kv: KvClient, keys: Vec<String>, value: Vec<u8>, end: Instant) -> Result<Vec<Duration>> {
    let mut waits = Vec::new();
    for key in keys.iter().cycle() {
        let asked = Instant::now();
        if asked >= end {
            break;
        }
        kv.put(key.as_str(), value.clone(), None).await?;
        waits.push(asked.elapsed());
    }
    Ok(waits)
}
