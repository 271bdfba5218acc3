//! Puts keys and leases into a cluster, as lock clients would, and runs lockscope on it.

use std::ffi::{OsStr, OsString};

use etcd_client::{Client, DeleteOptions, LeaseGrantOptions, PutOptions};
use tokio::runtime::Runtime;

use crate::program::{Lockscope, lockscope};
use crate::support::etcd::Cluster;

/// A client of a cluster that blocks.
pub struct Store {
    runtime: Runtime,
    client: Client,
}

impl Store {
    /// A client of this cluster.
    pub fn of(cluster: &Cluster) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let client = runtime.block_on(Client::connect(cluster.endpoints(), None)).expect("the cluster answers");
        Self { runtime, client }
    }

    /// Grants a lease of this id.
    pub fn grant(&mut self, lease: i64, ttl: i64) {
        let options = LeaseGrantOptions::new().with_id(lease);
        self.runtime.block_on(self.client.lease_grant(ttl, Some(options))).expect("the lease is granted");
    }

    /// Revokes a lease.
    pub fn revoke(&mut self, lease: i64) {
        self.runtime.block_on(self.client.lease_revoke(lease)).expect("the lease is revoked");
    }

    /// Puts a key on a lease, or on none when that is 0; returns the revision.
    pub fn put(&mut self, key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>, lease: i64) -> i64 {
        let options = PutOptions::new().with_lease(lease);
        let put = self.client.put(key, value, Some(options));
        let answer = self.runtime.block_on(put).expect("the key is put");
        answer.header().expect("every answer has a header").revision()
    }

    /// Deletes a key.
    pub fn delete(&mut self, key: impl Into<Vec<u8>>) {
        self.runtime.block_on(self.client.delete(key, None::<DeleteOptions>)).expect("the key is deleted");
    }

    /// Joins the queue of a lock with a lease of its own; returns the revision.
    pub fn join(&mut self, lock: &str, lease: i64, ttl: i64) -> i64 {
        self.grant(lease, ttl);
        self.put(format!("{lock}/{lease:x}"), "", lease)
    }
}

/// Starts to describe a run on this cluster.
pub fn on<A: AsRef<OsStr>>(cluster: &Cluster, arguments: impl IntoIterator<Item = A>) -> Lockscope {
    let endpoints = [OsString::from("--endpoints"), cluster.endpoints().join(",").into()];
    lockscope(endpoints.into_iter().chain(arguments.into_iter().map(|argument| argument.as_ref().to_owned())))
}

/// The same for a document.
pub fn json_on<A: AsRef<OsStr>>(cluster: &Cluster, arguments: impl IntoIterator<Item = A>) -> serde_json::Value {
    let arguments = arguments.into_iter().map(|argument| argument.as_ref().to_owned());
    on(cluster, arguments.chain([OsString::from("-w"), OsString::from("json")])).json()
}
