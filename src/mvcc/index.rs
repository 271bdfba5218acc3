//! Which versions of which key there are: what every read goes through.
//!
//! Versions of a key stand in the order they were made. A deletion is a version too, without a
//! key-value, so that a read at an older revision still finds what was there.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use crate::domain::{Key, KeyRange, KeyValue, Revision};

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Index {
    keys: BTreeMap<Key, Vec<Version>>,
    /// How many keys exist now.
    live: usize,
    /// Bytes that the versions take up.
    bytes: u64,
}

/// A key as one change left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Version {
    /// The revision that made it.
    pub revision: Revision,
    /// Which change of that revision.
    pub sub: u32,
    /// The key with its value; `None` is its deletion.
    pub kv: Option<Arc<KeyValue>>,
}

impl Version {
    /// What it takes up: key, value, and a fixed share for the numbers.
    fn bytes(&self, key: &[u8]) -> u64 {
        const NUMBERS: usize = 64;
        let value = self.kv.as_ref().map_or(0, |kv| kv.value.len());
        (key.len() + value + NUMBERS) as u64
    }
}

impl Index {
    /// How many keys exist now.
    pub fn live(&self) -> usize {
        self.live
    }

    /// Bytes that all versions take up.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The key as it is after the last change.
    pub fn latest(&self, key: &[u8]) -> Option<&Arc<KeyValue>> {
        self.keys.get(key)?.last()?.kv.as_ref()
    }

    /// The key as it was after `revision`.
    pub fn at(&self, key: &[u8], revision: Revision) -> Option<&Arc<KeyValue>> {
        seen(self.keys.get(key)?, revision)
    }

    /// The keys of a range as they were after `revision`, in key order.
    pub fn range<'a>(&'a self, range: &'a KeyRange, revision: Revision) -> impl Iterator<Item = &'a Arc<KeyValue>> {
        self.keys.range::<[u8], _>(bounds(range)).filter_map(move |(_, versions)| seen(versions, revision))
    }

    /// The versions that are older than `revision`, by key. After a compaction to it there is
    /// one of a key at most, and no deletion.
    pub fn before(&self, revision: Revision) -> impl Iterator<Item = (&Key, &Version)> {
        self.keys.iter().flat_map(move |(key, versions)| {
            versions.iter().take_while(move |version| version.revision < revision).map(move |version| (key, version))
        })
    }

    /// Adds a version that is newer than all others of its key.
    pub fn push(&mut self, key: &Key, version: Version) {
        self.bytes += version.bytes(key);
        let exists = version.kv.is_some();
        let existed = self.latest(key).is_some();
        match self.keys.get_mut(key.as_bytes()) {
            Some(versions) => versions.push(version),
            None => _ = self.keys.insert(key.clone(), vec![version]),
        }
        self.live = self.live + usize::from(exists) - usize::from(existed);
    }

    /// Takes the newest version of a key back; the key as it is then.
    pub fn pop(&mut self, key: &[u8]) -> Option<&Arc<KeyValue>> {
        let versions = self.keys.get_mut(key)?;
        if let Some(version) = versions.pop() {
            self.bytes -= version.bytes(key);
            self.live -= usize::from(version.kv.is_some());
        }
        if versions.is_empty() {
            self.keys.remove(key);
            return None;
        }
        let now = self.latest(key).is_some();
        self.live += usize::from(now);
        self.latest(key)
    }

    /// Drops the versions of a key that no read at or after `revision` can see. A deletion at
    /// exactly `revision` stays for those who watch from there (etcd `key_index.go`, `compact`,
    /// from 3.5.18 on).
    pub fn forget(&mut self, key: &[u8], revision: Revision) {
        let Some(versions) = self.keys.get_mut(key) else { return };
        // The last of the older ones is what a read sees, unless there is one at `revision`.
        let older = versions.partition_point(|version| version.revision < revision);
        let hidden = versions.get(older).is_some_and(|version| version.revision == revision);
        let deleted = older > 0 && versions[older - 1].kv.is_none();
        let dropped = if hidden || deleted { older } else { older.saturating_sub(1) };
        self.bytes -= versions.drain(..dropped).map(|version| version.bytes(key)).sum::<u64>();
        if versions.is_empty() {
            self.keys.remove(key);
        }
    }
}

/// The newest of a key's versions up to `revision`, unless it is a deletion.
fn seen(versions: &[Version], revision: Revision) -> Option<&Arc<KeyValue>> {
    // Most reads are of now.
    let version = match versions.last() {
        Some(last) if last.revision <= revision => last,
        _ => {
            let older = versions.partition_point(|version| version.revision <= revision);
            &versions[older.checked_sub(1)?]
        }
    };
    version.kv.as_ref()
}

/// The bounds that mean what `range` means; a range that ends before it starts is empty.
fn bounds(range: &KeyRange) -> (Bound<&[u8]>, Bound<&[u8]>) {
    let start = range.start.as_bytes();
    let end = match range.end.as_bytes() {
        [] => Bound::Included(start),
        [0] => Bound::Unbounded,
        end => Bound::Excluded(end.max(start)),
    };
    (Bound::Included(start), end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(changes: &[(&str, i64, bool)]) -> Index {
        let mut index = Index::default();
        for &(key, revision, put) in changes {
            let revision = Revision(revision);
            let kv = put.then(|| {
                Arc::new(KeyValue { key: key.into(), mod_revision: revision, value: vec![7], ..KeyValue::default() })
            });
            index.push(&key.into(), Version { revision, sub: 0, kv });
        }
        index
    }

    fn keys(index: &Index, start: &str, end: &str, revision: i64) -> Vec<String> {
        let range = KeyRange { start: start.into(), end: end.into() };
        let found = index.range(&range, Revision(revision));
        found.map(|kv| format!("{}@{}", kv.key.escape_ascii(), kv.mod_revision)).collect()
    }

    fn count(index: &Index) -> usize {
        index.before(Revision(i64::MAX)).count()
    }

    #[test]
    fn a_read_sees_what_was_there_at_its_revision() {
        let index = index(&[("a", 2, true), ("b", 3, true), ("a", 4, true), ("b", 5, false), ("b", 6, true)]);
        assert_eq!(keys(&index, "a", "\0", 1), [""; 0]);
        assert_eq!(keys(&index, "a", "\0", 3), ["a@2", "b@3"]);
        assert_eq!(keys(&index, "a", "\0", 5), ["a@4"]);
        assert_eq!(keys(&index, "a", "\0", 9), ["a@4", "b@6"]);
        assert_eq!(index.live(), 2);
    }

    #[test]
    fn a_range_means_what_etcd_means_by_it() {
        let index = index(&[("a", 2, true), ("b", 3, true), ("c", 4, true)]);
        assert_eq!(keys(&index, "b", "", 4), ["b@3"]);
        assert_eq!(keys(&index, "b", "\0", 4), ["b@3", "c@4"]);
        assert_eq!(keys(&index, "a", "c", 4), ["a@2", "b@3"]);
        assert_eq!(keys(&index, "c", "a", 4), [""; 0]);
        assert_eq!(keys(&index, "b", "b", 4), [""; 0]);
    }

    #[test]
    fn forgetting_keeps_what_can_be_seen_from_there_on() {
        let mut index = index(&[("a", 2, true), ("a", 3, true), ("a", 6, true)]);
        index.forget(b"a", Revision(4));
        assert_eq!((keys(&index, "a", "", 4), count(&index)), (vec!["a@3".into()], 2));
        index.forget(b"a", Revision(6));
        assert_eq!((keys(&index, "a", "", 6), count(&index)), (vec!["a@6".into()], 1));
    }

    #[test]
    fn a_deletion_is_forgotten_once_nobody_can_watch_it() {
        let mut index = index(&[("a", 2, true), ("a", 3, false)]);
        index.forget(b"a", Revision(3));
        assert_eq!(count(&index), 1);
        index.forget(b"a", Revision(4));
        assert_eq!((count(&index), index.bytes()), (0, 0));
    }

    #[test]
    fn taking_a_version_back_leaves_no_trace() {
        let before = index(&[("a", 2, true)]);
        let mut index = before.clone();
        for (key, put) in [("a", false), ("b", true)] {
            let kv = put.then(|| Arc::new(KeyValue { key: key.into(), ..KeyValue::default() }));
            index.push(&key.into(), Version { revision: Revision(3), sub: 0, kv });
        }
        assert!(index.pop(b"b").is_none() && index.pop(b"a").is_some());
        assert_eq!(index, before);
    }
}
