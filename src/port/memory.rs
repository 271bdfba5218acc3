//! An etcd of one member in memory: no process, no network, no time but the clock's.
//!
//! It is [`mvcc::Store`] behind the port, for tests that need an etcd and not
//! its faults. A call first lets the time that passed take effect; nothing happens between calls.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::error::{Asked, PortError, range_name};
use super::{
    Clock, Delete, Deleted, Etcd, Granted, Header, Page, Put, Range, TimeToLive, Txn, TxnDone, Want, WatchRange,
    Written,
};
use crate::domain::{
    Alarm, ClusterId, KeyRange, LeaseId, Member, MemberId, Millis, RaftIndex, Revision, Status, Term, Timestamp,
};
use crate::mvcc::{self, Lessor, Request, Response, Store};

mod convert;
mod services;
mod stream;

pub use stream::Watch;

/// What it calls itself where an endpoint has a URL.
const NAME: &str = "memory";

/// The etcd whose ways the store has.
const VERSION: &str = "3.5.30";

const CLUSTER: ClusterId = ClusterId(0x6d65_6d6f_7279);
const MEMBER: MemberId = MemberId(1);
const TERM: Term = Term(1);

/// See the module. Clones are the same etcd.
#[derive(Clone, Debug)]
pub struct Memory(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    clock: Clock,
    began: Timestamp,
    state: Mutex<State>,
    /// Tells watches that the store moved.
    revision: watch::Sender<Revision>,
}

#[derive(Debug)]
struct State {
    store: Store,
    lessor: Lessor,
    /// How many requests were applied.
    applied: u64,
    /// The id to try first for a lease whose id is left to the server.
    next_lease: i64,
}

impl Memory {
    /// An empty etcd whose time begins now.
    pub fn new(clock: Clock) -> Self {
        let store = Store::new();
        let mut lessor = Lessor::default();
        lessor.lead(Duration::ZERO, Duration::ZERO);
        let (revision, _) = watch::channel(store.revision());
        let began = clock.now();
        let state = Mutex::new(State { store, lessor, applied: 0, next_lease: 0x1000_0001 });
        Self(Arc::new(Shared { clock, began, state, revision }))
    }

    /// Lets the time that passed take effect: leases that ended are revoked. Every call does
    /// this first; a test that only watches has to call it.
    pub fn settle(&self) {
        drop(self.state());
    }

    /// Forgets the changes before a revision.
    ///
    /// # Errors
    /// When it was compacted already, or lies in the future.
    pub fn compact(&self, revision: Revision) -> Result<(), PortError> {
        let request = Request::Compact { revision, physical: true };
        self.apply(&request, || format!("compact to revision {revision}")).map(|_| ())
    }

    fn now(&self) -> Duration {
        let Millis(passed) = self.0.clock.now().since(self.0.began);
        Duration::from_millis(u64::try_from(passed).unwrap_or(0))
    }

    /// The state, after the time that passed took effect.
    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        for lease in state.lessor.expired(self.now()) {
            // An error would say that it is gone already.
            let _ = self.apply_in(&mut state, &Request::Revoke { lease });
        }
        state
    }

    fn apply(&self, request: &Request, doing: impl FnOnce() -> String) -> Result<Response, PortError> {
        let done = request.check().and_then(|()| self.apply_in(&mut self.state(), request));
        done.map_err(|error| refused(error, doing()))
    }

    fn apply_in(&self, state: &mut State, request: &Request) -> Result<Response, mvcc::Error> {
        let applied = state.store.apply(request);
        state.applied += 1;
        match (&applied.result, request) {
            (Ok(Response::Grant(granted)), _) => state.lessor.granted(granted.lease, granted.ttl, self.now()),
            (Ok(_), Request::Revoke { lease }) => state.lessor.revoked(*lease),
            _ => {}
        }
        if applied.changed {
            self.0.revision.send_replace(applied.revision);
        }
        applied.result
    }
}

fn header(revision: Revision) -> Header {
    Header { cluster: CLUSTER, member: MEMBER, revision, term: TERM }
}

/// The error a real etcd's answer would become.
fn refused(error: mvcc::Error, doing: String) -> PortError {
    let status = tonic::Status::new(tonic::Code::from_i32(error.code().number()), error.message());
    Asked { endpoint: NAME, user: None, words: None, doing }.failed(&etcd_client::Error::GRpcStatus(status))
}

/// What cannot be: the store answers every request with its own kind of answer.
fn unexpected(doing: &str) -> PortError {
    let message = "the store gave another answer".into();
    PortError::Other { doing: doing.into(), endpoint: NAME.into(), code: "Internal".into(), message }
}

impl Etcd for Memory {
    type Watch = Watch;

    async fn range(&self, ask: Range) -> Result<Page, PortError> {
        let verb = if ask.want == Want::Count { "count" } else { "list" };
        let name = range_name(&ask.range);
        let ask = convert::range(ask);
        let found = ask.check().and_then(|()| self.state().store.range(&ask));
        let found = found.map_err(|error| refused(error, format!("{verb} {name}")))?;
        Ok(convert::page(&found, header(found.revision)))
    }

    async fn watch(&self, first: WatchRange) -> Result<Watch, PortError> {
        Ok(Watch::open(self.clone(), self.0.revision.subscribe(), &first))
    }

    async fn time_to_live(&self, lease: LeaseId, keys: bool) -> Result<TimeToLive, PortError> {
        let state = self.state();
        let remaining = state.lessor.remaining(lease, self.now());
        let (Some(info), Some(remaining)) = (state.store.lease(lease), remaining) else {
            return Ok(TimeToLive { term: TERM, granted: 0, remaining: -1, keys: keys.then(Vec::new) });
        };
        Ok(TimeToLive {
            term: TERM,
            granted: info.ttl,
            remaining: i64::try_from(remaining.as_secs()).unwrap_or(i64::MAX),
            keys: keys.then(|| info.keys.iter().cloned().collect()),
        })
    }

    async fn leases(&self) -> Result<Vec<LeaseId>, PortError> {
        Ok(self.state().store.leases().map(|(lease, _)| lease).collect())
    }

    async fn members(&self) -> Result<(Header, Vec<Member>), PortError> {
        let member = Member { id: MEMBER, name: NAME.into(), ..Member::default() };
        Ok((header(Revision(0)), vec![member]))
    }

    async fn status(&self) -> Result<(Header, Status), PortError> {
        let state = self.state();
        let bytes = |size: u64| i64::try_from(size).unwrap_or(i64::MAX);
        let status = Status {
            endpoint: NAME.into(),
            version: VERSION.into(),
            leader: Some(MEMBER),
            term: TERM,
            revision: state.store.revision(),
            raft_index: RaftIndex(state.applied),
            applied_index: RaftIndex(state.applied),
            db_size: bytes(state.store.size()),
            db_in_use: bytes(state.store.size_in_use()),
            ..Status::default()
        };
        Ok((header(state.store.revision()), status))
    }

    async fn alarms(&self) -> Result<Vec<Alarm>, PortError> {
        Ok(Vec::new())
    }

    async fn put(&self, put: Put) -> Result<Written, PortError> {
        let name = range_name(&KeyRange::single(&put.key));
        let doing = || format!("put {name}");
        match self.apply(&Request::Put(convert::put(put)), doing)? {
            Response::Put(done) => Ok(Written { header: header(done.revision) }),
            _ => Err(unexpected("put")),
        }
    }

    async fn delete(&self, delete: Delete) -> Result<Deleted, PortError> {
        let name = range_name(&delete.range);
        let doing = || format!("delete {name}");
        match self.apply(&Request::Delete(convert::delete(delete)), doing)? {
            Response::Delete(done) => Ok(Deleted { header: header(done.revision), deleted: done.deleted }),
            _ => Err(unexpected("delete")),
        }
    }

    async fn txn(&self, txn: Txn) -> Result<TxnDone, PortError> {
        let doing = || "run a transaction".to_owned();
        match self.apply(&Request::Txn(convert::txn(txn)), doing)? {
            Response::Txn(done) => Ok(convert::txn_done(&done, header(done.revision))),
            _ => Err(unexpected("run a transaction")),
        }
    }

    async fn grant(&self, lease: LeaseId, ttl: i64) -> Result<Granted, PortError> {
        let lease = if lease.is_none() { self.state().free_lease() } else { lease };
        let doing = || format!("grant a lease of {ttl} s");
        match self.apply(&Request::Grant { lease, ttl }, doing)? {
            Response::Grant(done) => Ok(Granted { lease: done.lease, ttl: done.ttl }),
            _ => Err(unexpected("grant a lease")),
        }
    }

    async fn revoke(&self, lease: LeaseId) -> Result<Header, PortError> {
        let doing = || format!("revoke lease {lease}");
        match self.apply(&Request::Revoke { lease }, doing)? {
            Response::Revoke(done) => Ok(header(done.revision)),
            _ => Err(unexpected("revoke a lease")),
        }
    }

    async fn keep_alive(&self, lease: LeaseId) -> Result<bool, PortError> {
        let now = self.now();
        Ok(self.state().lessor.renew(lease, now).is_ok())
    }
}

impl State {
    /// An id that no lease has.
    fn free_lease(&mut self) -> LeaseId {
        loop {
            let lease = LeaseId(self.next_lease);
            self.next_lease += 1;
            if self.store.lease(lease).is_none() {
                return lease;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;
    use crate::port::{WatchAnswer, WatchId, WatchStream};

    /// An etcd with a clock that stands still until it is set, in seconds.
    fn etcd() -> (Memory, impl Fn(i64)) {
        let time = Arc::new(AtomicI64::new(0));
        let clock = Clock::new({
            let time = Arc::clone(&time);
            move || Timestamp(time.load(Ordering::Relaxed))
        });
        (Memory::new(clock), move |seconds| time.store(seconds * 1000, Ordering::Relaxed))
    }

    async fn put(etcd: &Memory, key: &str, lease: LeaseId) -> Revision {
        let put = Put { key: key.into(), value: b"v".into(), lease };
        etcd.put(put).await.unwrap().header.revision
    }

    #[tokio::test]
    async fn a_lease_ends_by_the_clock_and_takes_its_keys_along() {
        let (etcd, set) = etcd();
        let lease = etcd.grant(LeaseId::NONE, 10).await.unwrap().lease;
        put(&etcd, "/a", lease).await;
        set(9);
        assert!(etcd.keep_alive(lease).await.unwrap());
        set(18);
        assert_eq!(etcd.time_to_live(lease, false).await.unwrap().remaining, 1);
        set(19);
        assert!(!etcd.keep_alive(lease).await.unwrap());
        assert_eq!(etcd.time_to_live(lease, true).await.unwrap().remaining, -1);
        let page = etcd.range(Range::of(KeyRange::prefix(b""))).await.unwrap();
        assert_eq!((page.count, page.header.revision), (0, Revision(3)));
        assert_eq!(etcd.leases().await.unwrap(), []);
    }

    #[tokio::test]
    async fn a_waiting_watch_is_woken_by_an_expiry_that_somebody_notices() {
        let (etcd, set) = etcd();
        let lease = etcd.grant(LeaseId(5), 10).await.unwrap().lease;
        put(&etcd, "/a", lease).await;
        let range = WatchRange { id: WatchId(1), range: KeyRange::prefix(b"/a"), from: None };
        let mut watch = etcd.watch(range).await.unwrap();
        assert!(matches!(watch.next().await, Ok(Some(WatchAnswer::Created { .. }))));
        let waiting = tokio::spawn(async move { watch.next().await });
        set(10);
        etcd.settle();
        let told = waiting.await.unwrap().unwrap().unwrap();
        assert!(matches!(&told, WatchAnswer::Events { changes, .. } if changes.len() == 1), "{told:?}");
    }

    #[tokio::test]
    async fn progress_is_told_behind_the_events_it_speaks_of() {
        let (etcd, _) = etcd();
        let range = |id, from| WatchRange { id: WatchId(id), range: KeyRange::prefix(b"/"), from };
        let mut watch = etcd.watch(range(1, None)).await.unwrap();
        let last = put(&etcd, "/a", LeaseId::NONE).await;
        watch.ask_progress().await.unwrap();
        watch.add(range(1, None)).await.unwrap();
        let mut told = Vec::new();
        for _ in 0..4 {
            told.push(watch.next().await.unwrap().unwrap());
        }
        let [
            WatchAnswer::Created { .. },
            WatchAnswer::Events { .. },
            WatchAnswer::Progress { watch: None, revision },
            WatchAnswer::Cancelled { watch: None, refused: true, .. },
        ] = &told[..]
        else {
            panic!("{told:?}")
        };
        assert_eq!(*revision, last, "and a number cannot be given twice");
    }

    #[tokio::test]
    async fn refusals_are_told_in_the_ports_words() {
        let (etcd, _) = etcd();
        let error = etcd.revoke(LeaseId(0x1000)).await.unwrap_err().to_string();
        assert!(error.contains("revoke lease 1000") && error.contains("requested lease not found"), "{error}");
        for _ in 0..3 {
            put(&etcd, "/a", LeaseId::NONE).await;
        }
        etcd.compact(Revision(3)).unwrap();
        let old = Range { revision: Some(Revision(2)), ..Range::of(KeyRange::single(b"/a")) };
        assert!(matches!(etcd.range(old).await, Err(PortError::Compacted { .. })));
        assert!(matches!(etcd.compact(Revision(3)), Err(PortError::Compacted { .. })));
    }
}
