//! A reader of observations that trusts nothing: it builds the keys from them and fails on
//! whatever the source promises not to do.

use std::collections::{BTreeMap, BTreeSet};

use lockscope::domain::{Key, KeyEvent, KeyRange, KeyValue, Revision};
use lockscope::event::{Change, ListPage, Observation};
use lockscope::port::{Client, Etcd, Range};

/// The keys as the observations tell them.
#[derive(Debug, Default)]
pub struct Replay {
    /// The keys.
    pub keys: BTreeMap<Key, KeyValue>,
    /// The revisions of all changes, in the order they came.
    pub changes: Vec<Change>,
    /// The watched ranges.
    pub scope: Vec<KeyRange>,
    listed: BTreeMap<KeyRange, Revision>,
    reading: Option<(KeyRange, Revision, BTreeSet<Key>)>,
    last: Revision,
}

impl Replay {
    /// Takes in one observation and checks what the source promises about it.
    pub fn take(&mut self, what: &Observation) {
        match what {
            Observation::Scope(ranges) => self.scope.clone_from(ranges),
            Observation::Listed(page) => self.listed(page),
            Observation::Watched(changes) => self.watched(changes),
            Observation::Progress(revision) => {
                assert!(*revision >= self.last, "progress goes back: {revision} after {}", self.last);
                self.last = *revision;
            }
            _ => {}
        }
    }

    /// Whether every range of the scope was read.
    pub fn is_complete(&self) -> bool {
        self.reading.is_none() && self.scope.iter().all(|range| self.listed.contains_key(range))
    }

    /// How far it is, for messages.
    pub fn told(&self) -> String {
        format!("{} changes up to {}, lists {:?}", self.changes.len(), self.last, self.listed)
    }

    /// Whether `revision`, which put a key and was the last to do so, was told by a change or a
    /// list.
    pub fn reached(&self, revision: i64) -> bool {
        self.last.0 >= revision
            || (self.reading.is_none() && self.keys.values().any(|kv| kv.mod_revision.0 >= revision))
    }

    fn listed(&mut self, page: &ListPage) {
        let (range, revision, mut seen) = match self.reading.take() {
            _ if page.first => (page.range.clone(), page.revision, BTreeSet::new()),
            Some(reading) => reading,
            None => unreachable!("a page of {:?} that is not the first, and none before it", page.range),
        };
        assert_eq!((&range, revision), (&page.range, page.revision), "pages of two reads are mixed");
        if page.revision < self.last {
            // only a store that began anew is older than what was told
            self.last = page.revision;
        }
        for kv in &page.keys {
            assert!(range.contains(&kv.key) && kv.mod_revision <= revision, "{kv:?} is not of {range:?} at {revision}");
            assert!(seen.last().is_none_or(|last| *last < kv.key), "keys of a list are in order");
            seen.insert(kv.key.clone());
            self.keys.insert(kv.key.clone(), kv.clone());
        }
        if page.last {
            self.keys.retain(|key, _| !range.contains(key) || seen.contains(key));
            self.listed.insert(range, revision);
        } else {
            self.reading = Some((range, revision, seen));
        }
    }

    fn watched(&mut self, changes: &[Change]) {
        assert!(self.reading.is_none(), "changes in the middle of a list");
        let first = changes.first().expect("no empty batch").revision;
        assert!(first > self.last, "revision {first} comes after {} was told", self.last);
        for change in changes {
            assert!(change.revision >= self.last, "revisions of a batch go back");
            self.last = change.revision;
            let key = change.event.key();
            let range = self.scope.iter().find(|range| range.contains(key));
            let range = range.unwrap_or_else(|| unreachable!("{key:?} is not of the scope {:?}", self.scope));
            let listed = self.listed.get(range).unwrap_or_else(|| unreachable!("{range:?} was not read yet"));
            assert!(change.revision > *listed, "{} of {key:?} is in the list of {listed} already", change.revision);
            match &change.event {
                KeyEvent::Put(kv) => {
                    let before = self.keys.insert(kv.key.clone(), kv.clone());
                    let version = before.map_or(0, |before| before.version);
                    assert_eq!(kv.version, version + 1, "a change of {key:?} was lost or came twice");
                }
                KeyEvent::Delete { key, previous } => {
                    let before = self.keys.remove(key);
                    assert!(before.is_some(), "{key:?} is deleted and was not there");
                    assert_eq!(
                        previous.as_ref().or(before.as_ref()),
                        before.as_ref(),
                        "what was deleted is what was there"
                    );
                }
            }
        }
        self.changes.extend(changes.iter().cloned());
    }

    /// What the cluster has now in the scope.
    pub async fn fresh(&self, etcd: &Client) -> BTreeMap<Key, KeyValue> {
        let mut fresh = BTreeMap::new();
        for range in &self.scope {
            let page = etcd.range(Range::of(range.clone())).await.expect("the cluster answers");
            fresh.extend(page.keys.into_iter().map(|kv| (kv.key.clone(), kv)));
        }
        fresh
    }

    /// Compares with what the cluster has now.
    pub async fn assert_equals(&self, etcd: &Client) {
        let fresh = self.fresh(etcd).await;
        let differ: Vec<_> =
            fresh.iter().filter(|(key, kv)| self.keys.get(*key) != Some(kv)).map(|(key, _)| key).take(3).collect();
        assert!(differ.is_empty(), "not as in the cluster: {differ:?}");
        assert_eq!(self.keys.len(), fresh.len(), "keys that are gone in the cluster");
    }
}
