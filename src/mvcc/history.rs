//! What changed, in order, back to the compaction: what watches are served from.

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::domain::{Key, KeyEvent, KeyValue, Revision};

/// A change of one key, as a watch tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The revision that made it. A revision's changes are told together.
    pub revision: Revision,
    /// Its place among the changes of that revision, from 0 on.
    pub sub: u32,
    /// What happened to which key.
    pub event: Event,
    /// The key as it was before the revision. Empty for a key the revision created, and when
    /// what was before is compacted.
    pub previous: Option<Arc<KeyValue>>,
}

/// What happened to a key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// It was put; the key as it is since.
    Put(Arc<KeyValue>),
    /// It was deleted.
    Delete(Key),
}

impl Event {
    /// The key it happened to.
    pub fn key(&self) -> &Key {
        match self {
            Self::Put(kv) => &kv.key,
            Self::Delete(key) => key,
        }
    }

    /// Whether it is a put of a key that its revision created.
    pub fn creates(&self) -> bool {
        matches!(self, Self::Put(kv) if kv.create_revision == kv.mod_revision)
    }
}

impl Change {
    /// The change in the words of the domain.
    pub fn key_event(&self) -> KeyEvent {
        match &self.event {
            Event::Put(kv) => KeyEvent::Put(KeyValue::clone(kv)),
            Event::Delete(key) => KeyEvent::Delete { key: key.clone(), previous: self.previous.as_deref().cloned() },
        }
    }
}

/// A watch asks for revisions that are compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("revisions before {at} are compacted")]
pub struct Compacted {
    /// The oldest revision a watch can start from.
    pub at: Revision,
}

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct History(VecDeque<Record>);

/// A change without what was before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub revision: Revision,
    pub sub: u32,
    pub event: Event,
}

impl History {
    /// Adds a change that is later than all others.
    pub fn push(&mut self, revision: Revision, sub: u32, event: Event) {
        self.0.push_back(Record { revision, sub, event });
    }

    /// How many changes there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes the last change back if it is of `revision`.
    pub fn pop(&mut self, revision: Revision) -> Option<Event> {
        self.0.pop_back_if(|last| last.revision == revision).map(|record| record.event)
    }

    /// The changes from a revision on.
    pub fn since(&self, from: Revision) -> impl Iterator<Item = &Record> {
        let start = self.0.partition_point(|record| record.revision < from);
        self.0.range(start..)
    }

    /// Drops and gives the first change if it is before `revision`.
    pub fn pop_before(&mut self, revision: Revision) -> Option<Event> {
        self.0.pop_front_if(|first| first.revision < revision).map(|record| record.event)
    }
}
