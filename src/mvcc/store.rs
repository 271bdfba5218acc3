//! The store: what it holds, and what applying a request does to it.

use std::sync::Arc;

use crate::domain::{Key, KeyRange, KeyValue, LeaseId, Revision};

use super::history::{Change, Compacted, Event, History};
use super::index::Index;
use super::lease::{LeaseInfo, Leases, SHORTEST_TTL};
use super::write::Writing;
use super::{
    Applied, CompactResponse, DeleteRequest, Error, GrantResponse, PutRequest, PutResponse, Request, Response,
    RevokeResponse,
};

/// etcd's key-value store. Equal requests in equal order make equal stores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    pub(super) revision: Revision,
    pub(super) compacted: Revision,
    pub(super) index: Index,
    pub(super) history: History,
    pub(super) leases: Leases,
    pub(super) shortest_ttl: i64,
    /// The most bytes that were ever in use.
    pub(super) largest: u64,
}

impl Default for Store {
    fn default() -> Self {
        Self::new()
    }
}

impl Store {
    /// An empty store at revision 1, which grants what etcd grants by default.
    pub fn new() -> Self {
        Self {
            revision: Revision(1),
            compacted: Revision(-1),
            index: Index::default(),
            history: History::default(),
            leases: Leases::default(),
            shortest_ttl: SHORTEST_TTL,
            largest: 0,
        }
    }

    /// The revision of the last change; 1 before the first.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// The oldest revision that can be read; etcd says -1 before the first compaction.
    pub fn compacted(&self) -> Revision {
        self.compacted
    }

    /// How many keys exist.
    pub fn key_count(&self) -> usize {
        self.index.live()
    }

    /// How many keys and changes there are: what a snapshot is made of.
    pub fn records(&self) -> usize {
        self.index.live() + self.history.len()
    }

    /// Bytes that keys and history take up.
    pub fn size_in_use(&self) -> u64 {
        self.index.bytes()
    }

    /// The most bytes that were ever taken up: like etcd's file, which does not shrink.
    pub fn size(&self) -> u64 {
        self.largest
    }

    /// The leases, by id.
    pub fn leases(&self) -> impl Iterator<Item = (LeaseId, &LeaseInfo)> {
        self.leases.iter()
    }

    /// A lease, if there is one of this id.
    pub fn lease(&self, lease: LeaseId) -> Option<&LeaseInfo> {
        self.leases.get(lease)
    }

    /// Does what a request asks for, all of it or nothing. It never panics, whatever is asked.
    pub fn apply(&mut self, request: &Request) -> Applied {
        let before = self.revision;
        let result = match request {
            Request::Put(put) => self.put(put).map(Response::Put),
            Request::Delete(delete) => {
                let mut writing = Writing::begin(self);
                let deleted = writing.delete(delete);
                writing.commit();
                Ok(Response::Delete(deleted))
            }
            Request::Txn(txn) => self.run(txn).map(Response::Txn),
            Request::Compact { revision, .. } => self.compact(*revision).map(Response::Compact),
            Request::Grant { lease, ttl } => self.grant(*lease, *ttl).map(Response::Grant),
            Request::Revoke { lease } => self.revoke(*lease).map(Response::Revoke),
        };
        Applied { result, revision: self.revision, changed: self.revision != before }
    }

    /// What changed in a range from a revision on, in order, up to and with another if one is
    /// given; revisions are whole. A start in the future brings nothing yet.
    ///
    /// # Errors
    /// When changes from `from` on are compacted.
    pub fn changes<'a>(
        &'a self,
        from: Revision,
        range: &'a KeyRange,
        upto: Option<Revision>,
    ) -> Result<impl Iterator<Item = Change> + 'a, Compacted> {
        if from < self.compacted {
            return Err(Compacted { at: self.compacted });
        }
        let records =
            self.history.since(from).take_while(move |record| upto.is_none_or(|upto| record.revision <= upto));
        let wanted = records.filter(|record| range.contains(record.event.key()));
        Ok(wanted.map(|record| Change {
            revision: record.revision,
            sub: record.sub,
            event: record.event.clone(),
            previous: self.before(record.revision, &record.event),
        }))
    }

    /// Which keys changed from a revision on, in order: [`Self::changes`] for who only wants to
    /// know whom to tell.
    ///
    /// # Errors
    /// When changes from `from` on are compacted.
    pub fn touched(&self, from: Revision) -> Result<impl Iterator<Item = (Revision, &Key)>, Compacted> {
        if from < self.compacted {
            return Err(Compacted { at: self.compacted });
        }
        Ok(self.history.since(from).map(|record| (record.revision, record.event.key())))
    }

    /// A key as it was before a revision that changed it (etcd `api/v3rpc/watch.go`, `sendLoop`).
    fn before(&self, revision: Revision, event: &Event) -> Option<Arc<KeyValue>> {
        let before = Revision(revision.0 - 1);
        if event.creates() || before < self.compacted {
            return None;
        }
        self.index.at(event.key(), before).cloned()
    }

    fn put(&mut self, put: &PutRequest) -> Result<PutResponse, Error> {
        self.check_lease(put.lease)?;
        let mut writing = Writing::begin(self);
        let done = writing.put(put)?;
        writing.commit();
        Ok(done)
    }

    /// Forgets what no read at or after `revision` can see (etcd `kvstore.go`,
    /// `updateCompactRev`). It costs as much as there is to forget.
    fn compact(&mut self, revision: Revision) -> Result<CompactResponse, Error> {
        if revision <= self.compacted {
            return Err(Error::Compacted);
        }
        if revision > self.revision {
            return Err(Error::FutureRevision);
        }
        self.compacted = revision;
        while let Some(event) = self.history.pop_before(revision) {
            self.index.forget(event.key(), revision);
        }
        for record in self.history.since(revision).take_while(|record| record.revision == revision) {
            self.index.forget(record.event.key(), revision);
        }
        Ok(CompactResponse { revision: self.revision })
    }

    fn grant(&mut self, lease: LeaseId, ttl: i64) -> Result<GrantResponse, Error> {
        let ttl = ttl.max(self.shortest_ttl);
        self.leases.grant(lease, ttl)?;
        Ok(GrantResponse { revision: self.revision, lease, ttl })
    }

    /// Removes a lease and its keys, in one revision and in key order (etcd `lease/lessor.go`,
    /// `Revoke`).
    fn revoke(&mut self, lease: LeaseId) -> Result<RevokeResponse, Error> {
        let keys = self.leases.revoke(lease)?;
        let mut writing = Writing::begin(self);
        for key in keys {
            writing.delete(&DeleteRequest { range: KeyRange::single(&key), prev_kv: false });
        }
        Ok(RevokeResponse { revision: writing.commit() })
    }
}
