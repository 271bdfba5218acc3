//! One node's share of the etcd cluster: its store, and while it leads the clock of the leases
//! and of the automatic compaction.
//!
//! The store is what the nodes agree on. How long a lease still lives is not: as in etcd, only
//! the leader counts, and a new leader gives every lease its full time again
//! (`lease/lessor.go`, `Promote`).

use std::num::NonZeroU64;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Duration;

use crate::domain::raft::ClusterTime;
use crate::domain::{LeaseId, Revision};
use crate::mvcc::{Error, Lessor, Request, Response, Snapshot, Store};
use crate::raft::Machine;

use super::ask::{LeaseAnswer, LeaseQuestion};
use super::compactor::Compactor;
use super::words;

/// A store that is read while the cluster writes to it.
pub type SharedStore = Arc<RwLock<Store>>;

/// One node's share.
#[derive(Debug)]
pub struct Replica {
    store: SharedStore,
    lessor: Lessor,
    /// What a new leader adds to the time of each lease: an election's worth, which the clients
    /// could not renew in.
    grace: Duration,
    /// What forgets old revisions, if somebody does.
    compactor: Option<Compactor>,
}

impl Replica {
    /// An empty store behind `store`, whatever was in it before. As a leader it sees to it that
    /// about `kept` of the latest revisions stay readable; all of them without such a number.
    pub fn new(store: SharedStore, grace: Duration, kept: Option<NonZeroU64>) -> Self {
        let replica = Self { store, lessor: Lessor::default(), grace, compactor: kept.map(Compactor::new) };
        *replica.write() = Store::new();
        replica
    }

    fn read(&self) -> RwLockReadGuard<'_, Store> {
        self.store.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Store> {
        self.store.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the clock of the leases what a request changed.
    fn follow_leases(&mut self, now: ClusterTime, request: &Request, done: &Result<Response, Error>) {
        match (request, done) {
            (_, Ok(Response::Grant(grant))) => self.lessor.granted(grant.lease, grant.ttl, since_start(now)),
            (Request::Revoke { lease }, Ok(_)) => self.lessor.revoked(*lease),
            _ => {}
        }
    }

    /// What is to be forgotten now.
    fn compaction(&mut self, now: ClusterTime) -> Option<Request> {
        let (revision, compacted) = {
            let store = self.read();
            (store.revision(), store.compacted())
        };
        let revision = self.compactor.as_mut()?.due(since_start(now), revision, compacted)?;
        Some(Request::Compact { revision, physical: false })
    }

    fn granted(&self, lease: LeaseId) -> Option<i64> {
        self.read().lease(lease).map(|info| info.ttl)
    }
}

impl Machine for Replica {
    type Command = Arc<Request>;
    type Answer = Result<Response, Error>;
    type Snapshot = Snapshot;
    type Question = LeaseQuestion;
    type Reply = LeaseAnswer;

    fn apply(&mut self, now: ClusterTime, request: &Arc<Request>) -> Self::Answer {
        let applied = self.write().apply(request);
        self.follow_leases(now, request, &applied.result);
        applied.result
    }

    fn revision(&self) -> Revision {
        self.read().revision()
    }

    fn snapshot(&self) -> Snapshot {
        self.read().snapshot()
    }

    fn weight(&self) -> u64 {
        self.read().records() as u64
    }

    fn restore(&mut self, snapshot: &Snapshot) {
        let store = Store::restore(snapshot);
        // Their time starts when this node leads.
        self.lessor.restored(store.leases().map(|(lease, info)| (lease, info.ttl)), Duration::ZERO);
        *self.write() = store;
    }

    fn describe(request: &Arc<Request>) -> String {
        words::of(request)
    }

    fn lead(&mut self, now: ClusterTime) {
        self.lessor.lead(since_start(now), self.grace);
        if let Some(compactor) = &mut self.compactor {
            compactor.lead(since_start(now));
        }
    }

    fn follow(&mut self) {
        self.lessor.follow();
        if let Some(compactor) = &mut self.compactor {
            compactor.follow();
        }
    }

    fn next_due(&self) -> Option<ClusterTime> {
        let compaction = self.compactor.as_ref().and_then(Compactor::next_due);
        let next = self.lessor.next_expiry().into_iter().chain(compaction).min();
        next.map(|due| ClusterTime::default() + due)
    }

    fn due(&mut self, now: ClusterTime) -> Vec<Arc<Request>> {
        let expired = self.lessor.expired(since_start(now));
        for &lease in &expired {
            // A proposal can be lost with its term; until the lease is gone it is said again.
            self.lessor.retry(lease);
        }
        let revokes = expired.into_iter().map(|lease| Request::Revoke { lease });
        revokes.chain(self.compaction(now)).map(Arc::new).collect()
    }

    fn answer(&mut self, now: ClusterTime, question: &LeaseQuestion) -> LeaseAnswer {
        let now = since_start(now);
        let (lease, left) = match *question {
            LeaseQuestion::Renew(lease) => (lease, self.lessor.renew(lease, now).ok()),
            LeaseQuestion::TimeToLive(lease) => (lease, self.lessor.remaining(lease, now)),
        };
        match (self.granted(lease), left) {
            (Some(granted), Some(left)) => {
                LeaseAnswer { granted, remaining: i64::try_from(left.as_secs()).unwrap_or(i64::MAX) }
            }
            _ => LeaseAnswer { granted: 0, remaining: -1 },
        }
    }
}

fn since_start(now: ClusterTime) -> Duration {
    now.since(ClusterTime::default())
}
