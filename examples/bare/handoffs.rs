//! Clients that hand one lock on as fast as they can, by the queue recipe or by the Lock API: what
//! the playground's own clients are held against.
//!
//! Both sides make the same calls: the key is created unless it is there, the key before it is
//! read, its end is watched for, the queue is read again, the own key is deleted. Neither holds the
//! lock or thinks for any time, and on both sides the time begins before the leases are granted.
//! Both have as many connections as there are endpoints, which all clients share, and a watch
//! has a stream of its own. What is left out here is what makes a client one of the playground's:
//! heartbeats, deadlines, faults, and telling where it stands.

use std::time::Duration;

use clap::{Args, ValueEnum};
use color_eyre::Result;
use color_eyre::eyre::eyre;
use etcd_client::{
    Client, Compare, CompareOp, EventType, GetOptions, LockOptions, PutOptions, SortOrder, SortTarget, Txn, TxnOp,
    TxnOpResponse, WatchOptions,
};
use futures::future::try_join_all;
use tokio::time::Instant;

use crate::Target;
use crate::write::grant;

/// Lets clients contend for a lock and reports handoffs a second and how long they waited. Clients
/// are spread over the members, which `--endpoint` names with commas between them.
#[derive(Args)]
pub struct Handoffs {
    /// How many clients.
    #[arg(long, default_value_t = 100)]
    clients: usize,
    /// For how many seconds.
    #[arg(long, default_value_t = 5.0)]
    secs: f64,
    /// How they queue.
    #[arg(long, value_enum, default_value_t = Recipe::Queue)]
    recipe: Recipe,
}

/// How clients queue.
#[derive(Clone, Copy, ValueEnum)]
enum Recipe {
    /// They watch for the end of the key before their own.
    Queue,
    /// The server does it for them.
    LockApi,
}

impl Handoffs {
    pub async fn run(self, target: &Target) -> Result<()> {
        let mut connections = Vec::new();
        for endpoint in target.endpoint.split(',') {
            connections.push(Client::connect([endpoint], None).await?);
        }
        let name = format!("{}handed-on", target.prefix);
        let length = Duration::from_secs_f64(self.secs);
        let end = Instant::now() + length;
        let clients = (0..self.clients).zip(connections.iter().cycle()).map(|(_, client)| {
            let (client, name) = (client.clone(), name.clone());
            tokio::spawn(async move {
                let lease = grant(&client, 1).await?[0];
                One { client, name, lease }.run(self.recipe, end).await
            })
        });
        // Nobody breaks off: Lock calls that do can wedge the server's queue (etcd issue 13336).
        let ended = try_join_all(clients).await?.into_iter().collect::<Result<Vec<_>>>()?;
        let mut waits: Vec<_> = ended.into_iter().flatten().collect();
        waits.sort_unstable();
        // Who takes the lock first is handed it by nobody.
        let handoffs = u32::try_from(waits.len().saturating_sub(1))?;
        let rate = f64::from(handoffs) / length.as_secs_f64();
        let at = |share: usize| waits.get(waits.len() * share / 100).map_or(f64::NAN, |wait| wait.as_secs_f64() * 1e3);
        println!(
            "{{\"handoffs\":{handoffs},\"handoffs_per_s\":{rate:.2},\"wait_p50_ms\":{:.3},\"wait_p99_ms\":{:.3}}}",
            at(50),
            at(99)
        );
        Ok(())
    }
}

/// A client.
struct One {
    client: Client,
    name: String,
    lease: i64,
}

impl One {
    /// Takes and gives back the lock until the time is over; how long each wait was whose hold
    /// began before.
    async fn run(self, recipe: Recipe, end: Instant) -> Result<Vec<Duration>> {
        let mut waits = Vec::new();
        while Instant::now() < end {
            let began = Instant::now();
            match recipe {
                Recipe::Queue => {
                    let created = self.take().await?;
                    note(&mut waits, began, end);
                    self.give_back(created).await?;
                }
                Recipe::LockApi => {
                    let mut locks = self.client.lock_client();
                    let options = LockOptions::new().with_lease(self.lease);
                    let held = locks.lock(self.name.as_str(), Some(options)).await?;
                    note(&mut waits, began, end);
                    locks.unlock(held.key()).await?;
                }
            }
        }
        Ok(waits)
    }

    fn key(&self) -> String {
        format!("{}/{:x}", self.name, self.lease)
    }

    fn is_from(&self, created: i64) -> Compare {
        Compare::create_revision(self.key(), CompareOp::Equal, created)
    }

    /// Queues up and waits for the turn; the revision that created the own key.
    async fn take(&self) -> Result<i64> {
        let put = TxnOp::put(self.key(), "", Some(PutOptions::new().with_lease(self.lease)));
        let get = TxnOp::get(self.key(), Some(GetOptions::new().with_keys_only()));
        let create = Txn::new().when([self.is_from(0)]).and_then([put]).or_else([get]);
        let mut kv = self.client.kv_client();
        let created = kv.txn(create).await?;
        let created = created.header().map(etcd_client::ResponseHeader::revision).ok_or_else(|| eyre!("no header"))?;
        let before = GetOptions::new()
            .with_prefix()
            .with_keys_only()
            .with_limit(1)
            .with_sort(SortTarget::Create, SortOrder::Descend)
            .with_max_create_revision(created - 1);
        loop {
            let own = TxnOp::get(self.key(), Some(GetOptions::new().with_keys_only()));
            let ahead = TxnOp::get(format!("{}/", self.name), Some(before.clone()));
            let looked = kv.txn(Txn::new().and_then([own, ahead])).await?;
            let revision =
                looked.header().map(etcd_client::ResponseHeader::revision).ok_or_else(|| eyre!("no header"))?;
            let answers = looked.op_responses();
            let [TxnOpResponse::Get(own), TxnOpResponse::Get(ahead)] = &answers[..] else {
                return Err(eyre!("two reads are not answered by two"));
            };
            if own.kvs().is_empty() {
                return Err(eyre!("the own key is gone"));
            }
            let Some(ahead) = ahead.kvs().first() else { return Ok(created) };
            self.wait_for_end(ahead.key(), revision).await?;
        }
    }

    /// Waits until a key is gone that was there at this revision.
    async fn wait_for_end(&self, key: &[u8], revision: i64) -> Result<()> {
        let options = WatchOptions::new().with_start_revision(revision + 1);
        let mut watch = self.client.watch_client().watch(key, Some(options)).await?;
        while let Some(told) = watch.message().await? {
            if told.canceled() {
                break;
            }
            if told.events().iter().any(|event| event.event_type() == EventType::Delete) {
                return Ok(());
            }
        }
        Err(eyre!("a watch ended"))
    }

    async fn give_back(&self, created: i64) -> Result<()> {
        let delete = TxnOp::delete(self.key(), None);
        self.client.kv_client().txn(Txn::new().when([self.is_from(created)]).and_then([delete])).await?;
        Ok(())
    }
}

fn note(waits: &mut Vec<Duration>, began: Instant, end: Instant) {
    let now = Instant::now();
    if now < end {
        waits.push(now - began);
    }
}
