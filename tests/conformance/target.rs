//! What a test of the port's meaning runs on: an etcd in memory, and whatever is served. A test
//! asks for a fresh one and does not know which it has.

use std::fmt;

use lockscope::domain::{Alarm, Key, KeyValue, LeaderKey, LeaseId, Member, Revision, Status};
use lockscope::port::memory::{self, Memory};
use lockscope::port::{
    Client, Delete, Deleted, Etcd, Granted, Header, Page, PortError, Put, Range, Services, TimeToLive, Txn, TxnDone,
    WatchAnswer, WatchId, WatchRange, WatchStream, Written, client,
};

use crate::common::{self, block_on, clock, compact, on_every_etcd};
use crate::support::served::{Cluster, Kind};

/// Runs `test` on the etcd in memory, on the embedded cluster and on every etcd found, in turn,
/// each under a runtime of its own.
pub fn on_every_target(name: &str, test: impl AsyncFn(Target)) {
    block_on(test(Target::memory()));
    on_every_etcd(name, async |kind| test(Target::started(&kind).await).await);
}

/// An empty etcd.
pub struct Target {
    name: String,
    /// The port to it.
    pub etcd: AnyEtcd,
    /// What has to live as long as the server.
    _server: Option<Cluster>,
}

impl Target {
    fn memory() -> Self {
        let etcd = AnyEtcd::Memory(Memory::new(clock()));
        Self { name: "memory".into(), etcd, _server: None }
    }

    async fn started(kind: &Kind) -> Self {
        let cluster = kind.cluster().start();
        let etcd = AnyEtcd::Client(common::client(&cluster.endpoint(0)).await);
        Self { name: kind.to_string(), etcd, _server: Some(cluster) }
    }

    /// Forgets the changes before a revision, which the port has no call for.
    pub async fn compact(&self, revision: i64) {
        match &self.etcd {
            AnyEtcd::Memory(etcd) => etcd.compact(Revision(revision)).expect("it is compacted"),
            AnyEtcd::Client(etcd) => compact(etcd.endpoint(), revision).await,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Either of the two ways to reach a target.
#[derive(Clone)]
pub enum AnyEtcd {
    /// In memory.
    Memory(Memory),
    /// Behind an endpoint.
    Client(Client),
}

/// A watch stream of either.
pub enum AnyWatch {
    /// In memory.
    Memory(memory::Watch),
    /// Behind an endpoint.
    Client(client::Watch),
}

macro_rules! either {
    ($kind:ident, $either:expr, $one:ident => $call:expr) => {
        match $either {
            $kind::Memory($one) => $call.await,
            $kind::Client($one) => $call.await,
        }
    };
}

impl Etcd for AnyEtcd {
    type Watch = AnyWatch;

    async fn range(&self, ask: Range) -> Result<Page, PortError> {
        either!(Self, self, etcd => etcd.range(ask))
    }

    async fn watch(&self, first: WatchRange) -> Result<AnyWatch, PortError> {
        match self {
            Self::Memory(etcd) => etcd.watch(first).await.map(AnyWatch::Memory),
            Self::Client(etcd) => etcd.watch(first).await.map(AnyWatch::Client),
        }
    }

    async fn time_to_live(&self, lease: LeaseId, keys: bool) -> Result<TimeToLive, PortError> {
        either!(Self, self, etcd => etcd.time_to_live(lease, keys))
    }

    async fn leases(&self) -> Result<Vec<LeaseId>, PortError> {
        either!(Self, self, etcd => etcd.leases())
    }

    async fn members(&self) -> Result<(Header, Vec<Member>), PortError> {
        either!(Self, self, etcd => etcd.members())
    }

    async fn status(&self) -> Result<(Header, Status), PortError> {
        either!(Self, self, etcd => etcd.status())
    }

    async fn alarms(&self) -> Result<Vec<Alarm>, PortError> {
        either!(Self, self, etcd => etcd.alarms())
    }

    async fn put(&self, put: Put) -> Result<Written, PortError> {
        either!(Self, self, etcd => etcd.put(put))
    }

    async fn delete(&self, delete: Delete) -> Result<Deleted, PortError> {
        either!(Self, self, etcd => etcd.delete(delete))
    }

    async fn txn(&self, txn: Txn) -> Result<TxnDone, PortError> {
        either!(Self, self, etcd => etcd.txn(txn))
    }

    async fn grant(&self, lease: LeaseId, ttl: i64) -> Result<Granted, PortError> {
        either!(Self, self, etcd => etcd.grant(lease, ttl))
    }

    async fn revoke(&self, lease: LeaseId) -> Result<Header, PortError> {
        either!(Self, self, etcd => etcd.revoke(lease))
    }

    async fn keep_alive(&self, lease: LeaseId) -> Result<bool, PortError> {
        either!(Self, self, etcd => etcd.keep_alive(lease))
    }
}

impl Services for AnyEtcd {
    async fn lock(&self, name: Key, lease: LeaseId) -> Result<Key, PortError> {
        either!(Self, self, etcd => etcd.lock(name, lease))
    }

    async fn unlock(&self, key: Key) -> Result<Header, PortError> {
        either!(Self, self, etcd => etcd.unlock(key))
    }

    async fn campaign(&self, name: Key, lease: LeaseId, value: Vec<u8>) -> Result<LeaderKey, PortError> {
        either!(Self, self, etcd => etcd.campaign(name, lease, value))
    }

    async fn proclaim(&self, leader: LeaderKey, value: Vec<u8>) -> Result<Header, PortError> {
        either!(Self, self, etcd => etcd.proclaim(leader, value))
    }

    async fn resign(&self, leader: LeaderKey) -> Result<Header, PortError> {
        either!(Self, self, etcd => etcd.resign(leader))
    }

    async fn leader(&self, name: Key) -> Result<Option<KeyValue>, PortError> {
        either!(Self, self, etcd => etcd.leader(name))
    }
}

impl WatchStream for AnyWatch {
    async fn next(&mut self) -> Result<Option<WatchAnswer>, PortError> {
        either!(Self, self, stream => stream.next())
    }

    async fn add(&mut self, watch: WatchRange) -> Result<(), PortError> {
        either!(Self, self, stream => stream.add(watch))
    }

    async fn cancel(&mut self, watch: WatchId) -> Result<(), PortError> {
        either!(Self, self, stream => stream.cancel(watch))
    }

    async fn ask_progress(&mut self) -> Result<(), PortError> {
        either!(Self, self, stream => stream.ask_progress())
    }
}
