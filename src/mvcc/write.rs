//! One revision in the making: its changes are seen by the reads that belong to it, and can be
//! taken back as long as it is not done.

use std::sync::Arc;

use crate::domain::{KeyValue, LeaseId, Revision};

use super::history::Event;
use super::index::Version;
use super::{DeleteRequest, DeleteResponse, Error, PutRequest, PutResponse, RangeRequest, RangeResponse, Store};

/// See the module.
pub(super) struct Writing<'a> {
    store: &'a mut Store,
    /// The revision that is made if anything changes.
    revision: Revision,
    changes: u32,
}

impl<'a> Writing<'a> {
    pub fn begin(store: &'a mut Store) -> Self {
        let revision = store.revision.next();
        Self { store, revision, changes: 0 }
    }

    /// The revision of the store as this transaction sees it.
    pub fn current(&self) -> Revision {
        if self.changes > 0 { self.revision } else { self.store.revision }
    }

    /// Makes the changes count; the store's revision afterwards.
    pub fn commit(self) -> Revision {
        self.store.revision = self.current();
        self.store.largest = self.store.largest.max(self.store.index.bytes());
        self.store.revision
    }

    /// Takes every change back.
    pub fn undo(self) {
        while let Some(event) = self.store.history.pop(self.revision) {
            let key = event.key();
            let given = match &event {
                Event::Put(kv) => kv.lease,
                Event::Delete(_) => LeaseId::NONE,
            };
            let before = self.store.index.pop(key).map_or(LeaseId::NONE, |kv| kv.lease);
            self.store.leases.move_key(key, given, before);
        }
    }

    pub fn range(&self, ask: &RangeRequest) -> Result<RangeResponse, Error> {
        self.store.range_seen(ask, self.current())
    }

    /// Puts a key (etcd `kvstore_txn.go`, `put`; `apply.go`, `Put`).
    pub fn put(&mut self, put: &PutRequest) -> Result<PutResponse, Error> {
        let previous = self.store.index.latest(&put.key).cloned();
        let kept = match &previous {
            None if put.ignore_value || put.ignore_lease => return Err(Error::KeyNotFound),
            kept => kept.as_deref(),
        };
        let value = match kept {
            Some(kept) if put.ignore_value => &kept.value,
            _ => &put.value,
        };
        let lease = match kept {
            Some(kept) if put.ignore_lease => kept.lease,
            _ => put.lease,
        };
        let kv = Arc::new(KeyValue {
            key: put.key.clone(),
            value: value.clone(),
            create_revision: kept.map_or(self.revision, |kept| kept.create_revision),
            mod_revision: self.revision,
            version: kept.map_or(0, |kept| kept.version) + 1,
            lease,
        });
        self.store.leases.move_key(&put.key, kept.map_or(LeaseId::NONE, |kept| kept.lease), lease);
        self.change(Event::Put(kv));
        Ok(PutResponse { revision: self.revision, prev_kv: previous.filter(|_| put.prev_kv) })
    }

    /// Deletes the keys of a range, in key order.
    pub fn delete(&mut self, delete: &DeleteRequest) -> DeleteResponse {
        let found: Vec<_> = self.store.index.range(&delete.range, self.revision).cloned().collect();
        for kv in &found {
            self.store.leases.move_key(&kv.key, kv.lease, LeaseId::NONE);
            self.change(Event::Delete(kv.key.clone()));
        }
        DeleteResponse {
            revision: self.current(),
            deleted: i64::try_from(found.len()).unwrap_or(i64::MAX),
            prev_kvs: if delete.prev_kv { found } else { Vec::new() },
        }
    }

    fn change(&mut self, event: Event) {
        let kv = match &event {
            Event::Put(kv) => Some(Arc::clone(kv)),
            Event::Delete(_) => None,
        };
        let (revision, sub) = (self.revision, self.changes);
        self.store.index.push(event.key(), Version { revision, sub, kv });
        self.store.history.push(revision, sub, event);
        self.changes += 1;
    }
}
