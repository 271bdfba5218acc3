//! A store and a server that are asked the same, from their beginning on.
//!
//! Every answer is compared whole. A watch of everything with previous values stays open all
//! the time, and what it tells is compared with the store's history.

use std::collections::VecDeque;

use etcd_client::proto::{PbEvent, PbWatchResponse};
use lockscope::domain::{KeyRange, Revision};
use lockscope::mvcc::watch::EMPTY_RANGE;
use lockscope::mvcc::{Compacted, DeleteRequest, Error, PutRequest, Request, Store, Watch};

use crate::chance::Chance;
use crate::sequence::{self, Step};
use crate::server::{Refusal, Server, WatchStream};
use crate::support::served::Kind;
use crate::wire;

/// Steps of a sequence.
const STEPS: usize = 30;

/// A difference, with the step that showed it.
pub type Difference = String;

/// See the module.
pub struct Pair {
    kind: Kind,
    store: Store,
    server: Server,
    live: WatchStream,
    /// What the live watch has to tell yet.
    due: VecDeque<PbEvent>,
    everything: Watch,
    /// What was done since the last reset.
    done: Vec<Step>,
}

impl Pair {
    /// A pair with a server that was just started and asked nothing.
    pub async fn new(kind: Kind, endpoint: &str) -> Self {
        let mut server = Server::connect(endpoint).await;
        let everything = Watch { prev_kv: true, ..Watch::of(KeyRange::prefix(b"")) };
        let mut live = server.watch(&everything, Revision(1)).await;
        assert!(live.next().await.created, "the watch is made");
        let (store, due, done) = (Store::new(), VecDeque::new(), Vec::new());
        Self { kind, store, server, live, due, everything, done }
    }

    /// Runs the sequence that `seed` fixes.
    pub async fn run(&mut self, seed: u64) -> Result<(), Difference> {
        let mut chance = Chance::new(seed);
        for step in sequence::reset(&self.store) {
            self.step(step).await?;
        }
        self.done.clear();
        // Revisions at the start of a sequence are never below this one.
        let base = self.store.revision();
        if self.store.compacted() < base {
            self.step(Step::Apply(Request::Compact { revision: base, physical: false })).await?;
        }
        for _ in 0..STEPS {
            let step = sequence::step(&mut chance, &self.store);
            self.step(step).await?;
        }
        self.told().await
    }

    async fn step(&mut self, step: Step) -> Result<(), Difference> {
        self.done.push(step.clone());
        match &step {
            Step::Apply(request) => self.apply(request).await,
            Step::Range(ask) => {
                let expected = ask.check().and_then(|()| self.store.range(ask));
                let expected = expected.as_ref().map(wire::range_answer).map_err(|error| refusal(*error));
                let actual = self.server.range(ask).await;
                self.same("range", &expected, &actual)
            }
            Step::ShortLease(lease, ttl) => {
                self.apply(&Request::Grant { lease: *lease, ttl: *ttl }).await?;
                self.apply(&Request::Revoke { lease: *lease }).await
            }
            Step::Lease(lease) => {
                let info = self.store.lease(*lease);
                let expected = info.map_or((0, Vec::new()), |info| (info.ttl, info.keys.iter().cloned().collect()));
                let actual = self.server.lease(*lease).await;
                self.same("lease", &Ok(expected), &actual)
            }
            Step::Leases => {
                let expected = self.store.leases().map(|(lease, _)| lease).collect();
                let actual = self.server.leases().await;
                self.same("leases", &Ok(expected), &actual)
            }
            Step::Watch(watch, from) => self.watch(watch, *from).await,
        }
    }

    async fn apply(&mut self, request: &Request) -> Result<(), Difference> {
        if matches!(request, Request::Compact { .. }) {
            // What was there before can no longer be told once it is compacted.
            self.told().await?;
        }
        let before = self.store.revision();
        let read = match request {
            Request::Txn(txn) if txn.is_read_only() => Some(self.store.read(txn)),
            _ => None,
        };
        let expected = request.check().and_then(|()| self.store.apply(request).result);
        if let (Some(read), Ok(())) = (read, request.check()) {
            let through_the_log = expected.as_ref().map(wire::answer);
            let beside_it = read.as_ref().map(|read| wire::Answer::Txn(wire::txn_answer(read)));
            self.same("read beside the log", &through_the_log, &beside_it)?;
        }
        let expected = expected.as_ref().map(wire::answer).map_err(|error| refusal(*error));
        let batch = self.everything.batch(&self.store, before.next());
        let batch = batch.map_err(|compacted| self.differs("history", &compacted, &before))?;
        self.due.extend(batch.changes.iter().map(wire::event));
        let actual = self.server.apply(request).await;
        self.same("answer", &expected, &actual)
    }

    /// Compares what the live watch tells with what it has to.
    async fn told(&mut self) -> Result<(), Difference> {
        while !self.due.is_empty() {
            let message = self.live.next().await;
            let mut due = std::mem::take(&mut self.due);
            let result = self.compare_events("live watch", &message, &mut due);
            self.due = due;
            result?;
        }
        Ok(())
    }

    /// Watches from an old revision until everything was told.
    async fn watch(&mut self, watch: &Watch, from: Revision) -> Result<(), Difference> {
        // Something at the end, so that what is told too much is seen.
        if !watch.range.start.is_empty() {
            let key = watch.range.start.clone();
            self.apply(&Request::Put(PutRequest { key: key.clone(), ..PutRequest::default() })).await?;
            self.apply(&Request::Delete(DeleteRequest { range: KeyRange::single(&key), prev_kv: false })).await?;
        }
        let watch = &Watch {
            range: Watch::from_wire(watch.range.start.to_vec(), watch.range.end.to_vec()).range,
            ..watch.clone()
        };
        let mut stream = self.server.watch(watch, from).await;
        let created = stream.next().await;
        if watch.is_empty() {
            let expected = (true, true, -1, EMPTY_RANGE);
            return self.same(
                "empty watch",
                &expected,
                &(created.created, created.canceled, created.watch_id, &*created.cancel_reason),
            );
        }
        self.same("watch made", &(true, false), &(created.created, created.canceled))?;
        let batch = match watch.batch(&self.store, from) {
            Ok(batch) => batch,
            Err(Compacted { at }) => {
                let end = stream.next().await;
                return self.same(
                    "compacted watch",
                    &(true, at.0, 0),
                    &(end.canceled, end.compact_revision, end.events.len()),
                );
            }
        };
        if from == self.store.compacted() && !self.kind.at_least(3, 5, 18) {
            // Older ones forget deletions at the very revision of the compaction.
            return Ok(());
        }
        let mut due: VecDeque<_> = batch.changes.iter().map(wire::event).collect();
        while !due.is_empty() {
            let message = stream.next().await;
            self.compare_events("old watch", &message, &mut due)?;
        }
        Ok(())
    }

    /// Compares a message with the next events that are due; a revision must not be split.
    fn compare_events(
        &self,
        what: &str,
        message: &PbWatchResponse,
        due: &mut VecDeque<PbEvent>,
    ) -> Result<(), Difference> {
        let expected: Vec<_> = due.drain(..message.events.len().min(due.len())).collect();
        self.same(what, &expected, &message.events)?;
        let revision = |event: Option<&PbEvent>| event.and_then(|event| event.kv.as_ref()).map(|kv| kv.mod_revision);
        let (last, next) = (revision(message.events.last()), revision(due.front()));
        if last.is_none() || last == next {
            return Err(self.differs(what, &"whole revisions", &message));
        }
        Ok(())
    }

    fn same<T: PartialEq<U> + std::fmt::Debug, U: std::fmt::Debug>(
        &self,
        what: &str,
        store: &T,
        server: &U,
    ) -> Result<(), Difference> {
        if store == server { Ok(()) } else { Err(self.differs(what, store, server)) }
    }

    fn differs(&self, what: &str, store: &impl std::fmt::Debug, server: &impl std::fmt::Debug) -> Difference {
        let steps: Vec<_> = self.done.iter().enumerate().map(|(n, step)| format!("  {n}: {step:?}")).collect();
        format!(
            "{what} differs on {} after\n{}\nstore (at {}, compacted {}):\n  {store:?}\nserver:\n  {server:?}",
            self.kind,
            steps.join("\n"),
            self.store.revision(),
            self.store.compacted(),
        )
    }
}

fn refusal(error: Error) -> Refusal {
    (error.code().number(), error.message())
}
