//! Watches on the etcd in memory. A stream pulls what is new from the store's history when it
//! is asked for an answer, so there is nothing that could fill up.

use std::collections::{BTreeMap, VecDeque};

use tokio::sync::watch;

use super::{Memory, header};
use crate::domain::{KeyEvent, Revision};
use crate::mvcc::{self, Compacted};
use crate::port::{PortError, WatchAnswer, WatchId, WatchRange, WatchStream};

/// A stream of watch answers.
#[derive(Debug)]
pub struct Watch {
    etcd: Memory,
    moved: watch::Receiver<Revision>,
    watches: BTreeMap<WatchId, Place>,
    /// Answers to give before the history is looked at again.
    ready: VecDeque<WatchAnswer>,
}

/// A watch and where it goes on.
#[derive(Debug)]
struct Place {
    watch: mvcc::Watch,
    next: Revision,
}

impl Watch {
    pub(super) fn open(etcd: Memory, moved: watch::Receiver<Revision>, first: &WatchRange) -> Self {
        let mut stream = Self { etcd, moved, watches: BTreeMap::new(), ready: VecDeque::new() };
        stream.make(first);
        stream
    }

    fn make(&mut self, ask: &WatchRange) {
        let refused =
            |why: &str| WatchAnswer::Cancelled { watch: None, refused: true, compacted: None, why: why.into() };
        let watch =
            mvcc::Watch { prev_kv: true, ..mvcc::Watch::from_wire(ask.range.start.to_vec(), ask.range.end.to_vec()) };
        if watch.is_empty() {
            return self.ready.push_back(refused(mvcc::watch::EMPTY_RANGE));
        }
        if self.watches.contains_key(&ask.id) {
            return self.ready.push_back(refused("mvcc: duplicate watch ID provided on the WatchStream"));
        }
        let revision = self.etcd.state().store.revision();
        self.watches.insert(ask.id, Place { watch, next: ask.from.unwrap_or(revision.next()) });
        self.ready.push_back(WatchAnswer::Created { watch: Some(ask.id), header: header(revision) });
    }

    /// Takes in what is new. The store's revision once every watch was told of it, `None` when
    /// there is more to take in.
    fn pull(&mut self) -> Option<Revision> {
        // What moves the store while it is looked at, or later, is noticed.
        self.moved.borrow_and_update();
        let state = self.etcd.state();
        let header = header(state.store.revision());
        let mut lagging = false;
        let mut ended = Vec::new();
        for (&id, place) in &mut self.watches {
            match place.watch.batch(&state.store, place.next) {
                Ok(batch) => {
                    place.next = batch.next;
                    lagging |= batch.next <= header.revision;
                    let changes: Vec<(Revision, KeyEvent)> =
                        batch.changes.iter().map(|change| (change.revision, change.key_event())).collect();
                    if !changes.is_empty() {
                        self.ready.push_back(WatchAnswer::Events { watch: id, header, changes });
                    }
                }
                Err(Compacted { at }) => ended.push((id, at)),
            }
        }
        for (id, at) in ended {
            self.watches.remove(&id);
            let (watch, compacted) = (Some(id), Some(at));
            self.ready.push_back(WatchAnswer::Cancelled { watch, refused: false, compacted, why: String::new() });
        }
        (!lagging).then_some(header.revision)
    }
}

impl WatchStream for Watch {
    async fn next(&mut self) -> Result<Option<WatchAnswer>, PortError> {
        loop {
            if let Some(answer) = self.ready.pop_front() {
                return Ok(Some(answer));
            }
            let all = self.pull().is_some();
            if all && self.ready.is_empty() && self.moved.changed().await.is_err() {
                return Ok(None);
            }
        }
    }

    async fn add(&mut self, watch: WatchRange) -> Result<(), PortError> {
        self.make(&watch);
        Ok(())
    }

    async fn cancel(&mut self, watch: WatchId) -> Result<(), PortError> {
        if self.watches.remove(&watch).is_some() {
            let (watch, why) = (Some(watch), String::new());
            self.ready.push_back(WatchAnswer::Cancelled { watch, refused: false, compacted: None, why });
        }
        Ok(())
    }

    async fn ask_progress(&mut self) -> Result<(), PortError> {
        let revision = loop {
            if let Some(revision) = self.pull() {
                break revision;
            }
        };
        self.ready.push_back(WatchAnswer::Progress { watch: None, revision });
        Ok(())
    }
}
