//! The whole store as data: what a member that lags is sent, and a fingerprint to compare by.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::domain::{KeyValue, LeaseId, Revision};

use super::history::{Event, History, Record};
use super::index::{Index, Version};
use super::lease::Leases;
use super::{Error, Store};

/// A store at one moment, with all history it still has. Equal stores give equal snapshots;
/// values are shared with the store, so that taking one copies no value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    revision: Revision,
    compacted: Revision,
    shortest_ttl: i64,
    largest: u64,
    /// What the compaction left of the time before it, by key.
    base: Vec<Record>,
    /// The changes since, in order.
    history: Vec<Record>,
    /// With the TTL granted, by id. What hangs on them is told by the keys.
    leases: Vec<(LeaseId, i64)>,
}

impl Snapshot {
    /// The store's revision when it was taken.
    pub fn revision(&self) -> Revision {
        self.revision
    }
}

impl Store {
    /// The whole store as data. It costs as much as there are keys and changes.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            revision: self.revision,
            compacted: self.compacted,
            shortest_ttl: self.shortest_ttl,
            largest: self.largest,
            base: self.base().collect(),
            history: self.history.since(self.compacted).cloned().collect(),
            leases: self.leases().map(|(id, info)| (id, info.ttl)).collect(),
        }
    }

    /// The store that a snapshot was taken of. One that was tampered with gives some store.
    pub fn restore(snapshot: &Snapshot) -> Self {
        let mut leases = Leases::default();
        for &(id, ttl) in &snapshot.leases {
            leases.restore(id, ttl);
        }
        let (mut index, mut history) = (Index::default(), History::default());
        let lease = |kv: Option<&Arc<KeyValue>>| kv.map_or(LeaseId::NONE, |kv| kv.lease);
        for Record { revision, sub, event } in snapshot.base.iter().chain(&snapshot.history) {
            let (revision, sub, key) = (*revision, *sub, event.key());
            let kv = match event {
                Event::Put(kv) => Some(Arc::clone(kv)),
                Event::Delete(_) => None,
            };
            leases.move_key(key, lease(index.latest(key)), lease(kv.as_ref()));
            index.push(key, Version { revision, sub, kv });
        }
        for record in &snapshot.history {
            history.push(record.revision, record.sub, record.event.clone());
        }
        Self {
            revision: snapshot.revision,
            compacted: snapshot.compacted,
            index,
            history,
            leases,
            shortest_ttl: snapshot.shortest_ttl,
            largest: snapshot.largest,
        }
    }

    /// A fingerprint of everything the store holds, leases included: equal on members that
    /// applied the same requests.
    pub fn hash(&self) -> u32 {
        let mut sum = Checksum::new();
        self.sum_up(&mut sum, self.revision);
        for (id, info) in self.leases() {
            sum.add_number(id.0);
            sum.add_number(info.ttl);
        }
        sum.finish()
    }

    /// A fingerprint of the keys and their history up to a revision; 0 and less is now. It is
    /// not the number etcd comes to, which depends on its file's format.
    ///
    /// # Errors
    /// [`Error::FutureRevision`] and [`Error::Compacted`].
    pub fn hash_at(&self, revision: Revision) -> Result<u32, Error> {
        let upto = if revision.0 > 0 { revision } else { self.revision };
        if upto > self.revision {
            return Err(Error::FutureRevision);
        }
        if upto < self.compacted {
            return Err(Error::Compacted);
        }
        let mut sum = Checksum::new();
        self.sum_up(&mut sum, upto);
        Ok(sum.finish())
    }

    fn sum_up(&self, sum: &mut Checksum, upto: Revision) {
        self.base().for_each(|record| sum.add_record(&record));
        let history = self.history.since(self.compacted).take_while(|record| record.revision <= upto);
        history.for_each(|record| sum.add_record(record));
    }

    /// What the compaction left of the time before it, by key.
    fn base(&self) -> impl Iterator<Item = Record> {
        self.index.before(self.compacted).map(|(key, version)| Record {
            revision: version.revision,
            sub: version.sub,
            event: version.kv.as_ref().map_or_else(|| Event::Delete(key.clone()), |kv| Event::Put(Arc::clone(kv))),
        })
    }
}

/// CRC-32C, which etcd hashes with as well.
struct Checksum(u32);

impl Checksum {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut byte: u32 = 0;
        while byte < 256 {
            let mut value = byte;
            let mut bit = 0;
            while bit < 8 {
                value = if value & 1 == 1 { (value >> 1) ^ 0x82f6_3b78 } else { value >> 1 };
                bit += 1;
            }
            table[byte as usize] = value;
            byte += 1;
        }
        table
    };

    fn new() -> Self {
        Self(u32::MAX)
    }

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            let [low, ..] = self.0.to_le_bytes();
            self.0 = (self.0 >> 8) ^ Self::TABLE[usize::from(low ^ byte)];
        }
    }

    fn add_number(&mut self, number: i64) {
        self.add(&number.to_le_bytes());
    }

    /// Bytes with their length, so that where one ends and the next begins counts too.
    fn add_field(&mut self, bytes: &[u8]) {
        self.add(&bytes.len().to_le_bytes());
        self.add(bytes);
    }

    fn add_record(&mut self, record: &Record) {
        self.add_number(record.revision.0);
        self.add_number(i64::from(record.sub));
        self.add_field(record.event.key());
        if let Event::Put(kv) = &record.event {
            self.add_field(&kv.value);
            for number in [kv.create_revision.0, kv.version, kv.lease.0] {
                self.add_number(number);
            }
        }
    }

    fn finish(self) -> u32 {
        !self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_crc_32c() {
        let mut sum = Checksum::new();
        sum.add(b"123456789");
        assert_eq!(sum.finish(), 0xe306_9283);
    }
}
