//! The calls lockscope makes on an etcd, as a trait, and the types they take and give.
//!
//! `i64` and `u64` of the wire end here: behind this door are the newtypes of `domain`. The
//! trait is what recipes, pollers and sources are written against; [`client`] speaks to a real
//! etcd through it, and [`memory`] is one without a process. Every call over a network has a
//! deadline, except those of [`Services`] that wait for a turn to come; dropping its future
//! cancels it.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use crate::domain::{
    Alarm, ClusterId, Key, KeyEvent, KeyRange, LeaseId, Member, MemberId, Revision, Status, Term, Timestamp,
};

mod answers;
pub mod client;
mod convert;
mod direct;
pub mod error;
mod login;
pub mod memory;
pub mod pool;
mod pulse;
mod range;
mod services;
mod stream;
mod tls;
mod wire;

pub use answers::RawPage;
pub use client::Client;
pub use error::PortError;
pub use memory::Memory;
pub use pool::Pool;
pub use range::{Page, Range, Sort, SortOrder, SortTarget, Want};
pub use services::Services;

/// What an etcd answers to. Handles are cheap to clone and share their connection.
pub trait Etcd: Clone + Send + Sync + 'static {
    /// A stream of watch answers.
    type Watch: WatchStream;

    /// Reads a range of keys, or counts them.
    fn range(&self, ask: Range) -> impl Future<Output = Result<Page, PortError>> + Send;
    /// Opens a stream with one watch on it; more can be added. The first answer on the stream
    /// is for that watch.
    fn watch(&self, first: WatchRange) -> impl Future<Output = Result<Self::Watch, PortError>> + Send;
    /// Asks how long a lease lives, and with `keys` which keys hang on it.
    fn time_to_live(&self, lease: LeaseId, keys: bool) -> impl Future<Output = Result<TimeToLive, PortError>> + Send;
    /// Lists the leases the asked member knows, in no order.
    fn leases(&self) -> impl Future<Output = Result<Vec<LeaseId>, PortError>> + Send;
    /// Lists the members as the asked one knows them; needs no quorum. The header tells no
    /// revision.
    fn members(&self) -> impl Future<Output = Result<(Header, Vec<Member>), PortError>> + Send;
    /// Asks the member at the other end about itself; needs no quorum. The latency is left to
    /// the caller. Newer etcds tell only root when they have users (3.5.30, not 3.5.16).
    fn status(&self) -> impl Future<Output = Result<(Header, Status), PortError>> + Send;
    /// Lists the raised alarms. etcd sends even this question through Raft: it writes to the
    /// log of every member. What `status` reports as errors is free.
    fn alarms(&self) -> impl Future<Output = Result<Vec<Alarm>, PortError>> + Send;

    /// Puts a key.
    fn put(&self, put: Put) -> impl Future<Output = Result<Written, PortError>> + Send;
    /// Deletes a range of keys.
    fn delete(&self, delete: Delete) -> impl Future<Output = Result<Deleted, PortError>> + Send;
    /// Runs a transaction.
    fn txn(&self, txn: Txn) -> impl Future<Output = Result<TxnDone, PortError>> + Send;
    /// Grants a lease of `ttl` seconds; [`LeaseId::NONE`] lets the server choose the id. The
    /// server may grant more than was asked for.
    fn grant(&self, lease: LeaseId, ttl: i64) -> impl Future<Output = Result<Granted, PortError>> + Send;
    /// Revokes a lease and deletes its keys in one revision.
    fn revoke(&self, lease: LeaseId) -> impl Future<Output = Result<Header, PortError>> + Send;
    /// Renews a lease once; whether it still lived.
    fn keep_alive(&self, lease: LeaseId) -> impl Future<Output = Result<bool, PortError>> + Send;
}

/// A stream of answers to the watches that were put on it.
pub trait WatchStream: Send + 'static {
    /// The next answer; `None` when the server ended the stream. Cancelling it loses nothing.
    fn next(&mut self) -> impl Future<Output = Result<Option<WatchAnswer>, PortError>> + Send;
    /// Asks for one more watch on this stream. Answers that tell that a watch was made, or was
    /// not, come in the order the watches were asked for.
    fn add(&mut self, watch: WatchRange) -> impl Future<Output = Result<(), PortError>> + Send;
    /// Asks to end a watch.
    fn cancel(&mut self, watch: WatchId) -> impl Future<Output = Result<(), PortError>> + Send;
    /// Asks up to which revision this stream has told everything. What the answer is worth
    /// depends on the server's version: before 3.4.25 and 3.5.8 it may come too early.
    fn ask_progress(&mut self) -> impl Future<Output = Result<(), PortError>> + Send;
}

/// Where time comes from: only the runtime may read a clock, so it hands one in.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// A clock that reads the time by calling `read`.
    pub fn new(read: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    /// The time now.
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// What every answer says about where it comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// The cluster that answered.
    pub cluster: ClusterId,
    /// The member that answered.
    pub member: MemberId,
    /// The revision of its store when it answered; 0 where the call does not tell.
    pub revision: Revision,
    /// Its Raft term.
    pub term: Term,
}

/// A number the client chooses for a watch on its stream; from 1 on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WatchId(pub i64);

/// A range to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchRange {
    /// The number to give the watch.
    pub id: WatchId,
    /// The range.
    pub range: KeyRange,
    /// The first revision to tell of; `None` tells of what comes.
    pub from: Option<Revision>,
}

/// What a watch stream says. Previous values of deleted keys are always asked for, fragments
/// never: splitting them up is quadratic in the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchAnswer {
    /// A watch was made. Everything after the header's revision will be told.
    Created {
        /// Which one; servers before 3.4 and some refusals do not say.
        watch: Option<WatchId>,
        /// Who made it, and at which revision.
        header: Header,
    },
    /// A watch ended or was never made.
    Cancelled {
        /// Which one; a refused one may not be named.
        watch: Option<WatchId>,
        /// Whether this answers the wish to make it.
        refused: bool,
        /// The compaction that took revisions which had not been told yet.
        compacted: Option<Revision>,
        /// The server's reason; may be empty.
        why: String,
    },
    /// Changes, whole revisions in order. The header's revision is no promise that everything
    /// up to it was told: a watch that catches up names the newest revision at once.
    Events {
        /// The watch they are for.
        watch: WatchId,
        /// Who tells, and the revision of its store.
        header: Header,
        /// Each change with its revision.
        changes: Vec<(Revision, KeyEvent)>,
    },
    /// Everything up to `revision` has been told.
    Progress {
        /// By this watch; `None` for all watches of the stream.
        watch: Option<WatchId>,
        /// Up to which revision.
        revision: Revision,
    },
}

/// An answer to the question how long a lease lives, in etcd's own numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeToLive {
    /// The term of the member that answered.
    pub term: Term,
    /// Seconds granted; 0 when the lease is gone.
    pub granted: i64,
    /// Seconds left; -1 when the lease is gone. More in [`crate::event::LeaseTtl`].
    pub remaining: i64,
    /// The keys that hang on it, when they were asked for.
    pub keys: Option<Vec<Key>>,
}

/// A key to put.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Put {
    /// The key.
    pub key: Key,
    /// Its value.
    pub value: Vec<u8>,
    /// The lease to hang it on.
    pub lease: LeaseId,
}

/// What a put did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Who answered; the revision is the one the put made.
    pub header: Header,
}

/// Keys to delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delete {
    /// The range.
    pub range: KeyRange,
}

/// What a delete did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deleted {
    /// Who answered.
    pub header: Header,
    /// How many keys went.
    pub deleted: i64,
}

/// A transaction: when all comparisons hold the first operations run, else the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Txn {
    /// The comparisons.
    pub when: Vec<Compare>,
    /// What to do when all of them hold.
    pub then: Vec<Op>,
    /// What to do otherwise.
    pub or_else: Vec<Op>,
}

/// A comparison of one key with a number or a value. A key that is not there has revision and
/// version 0, and every comparison of its value fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compare {
    /// The key.
    pub key: Key,
    /// How it has to compare.
    pub is: Ordering,
    /// To what.
    pub to: Operand,
}

/// How two sides of a comparison have to relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ordering {
    /// The same.
    Equal,
    /// Not the same.
    NotEqual,
    /// The key's side is smaller.
    Less,
    /// The key's side is greater.
    Greater,
}

/// The other side of a comparison, which also says what of the key is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// The revision that created it.
    Create(Revision),
    /// The revision of its last put.
    Mod(Revision),
    /// Its version.
    Version(i64),
    /// Its value.
    Value(Vec<u8>),
    /// Its lease.
    Lease(LeaseId),
}

/// An operation of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Read.
    Range(Range),
    /// Put.
    Put(Put),
    /// Delete.
    Delete(Delete),
}

/// What a transaction did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TxnDone {
    /// Who answered.
    pub header: Header,
    /// Whether the comparisons held.
    pub succeeded: bool,
    /// An answer for each operation that ran, in order.
    pub answers: Vec<OpDone>,
}

/// What an operation of a transaction did. Their headers carry the revision only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpDone {
    /// A read.
    Range(Page),
    /// A put.
    Put(Written),
    /// A delete.
    Delete(Deleted),
}

/// A granted lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Granted {
    /// Its id.
    pub lease: LeaseId,
    /// Seconds granted.
    pub ttl: i64,
}
