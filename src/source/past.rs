//! One lock's past, read from the store's revisions.
//!
//! ```text
//! how far is the store? ─► which leases live? ─► list at the first revision ─► watch from there
//!                                                  ▲                             │
//!                                                  └──────── compacted ──────────┘
//! ```
//! Only the lock's own keys are watched. Leases are listed after the last revision that is told,
//! so that one which lives did not take its keys with it. etcd does not say which revisions it
//! still has; a watch from the first one that is wanted is told which compaction is in its way.
//! Parts go through a bounded channel: a reader who is slow slows etcd down.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

use super::SourceError;
use super::fill::Step;
use super::live::Contact;
use super::out::{NoReader, Out};
use super::stripes::Stripes;
use crate::domain::{Key, KeyEvent, KeyRange, LeaseId, Revision};
use crate::event::{Change, ListPage, Observation, Past};
use crate::port::client::progress_is_reliable;
use crate::port::{Client, Etcd, PortError, Range, Want};

/// How often the server is asked how far it told: somebody waits.
const ASK_EVERY: Duration = Duration::from_millis(50);
/// Keys on a page.
const PAGE: u32 = 2_000;
/// Parts that wait to be taken in.
const PARTS: usize = 4;
/// Who goes from lock to lock wants to see the one at which he stays.
const STAY: Duration = Duration::from_millis(200);
/// What nobody asked for by name is not read further back than so many revisions: a server goes
/// through all of them, whatever keys they are about.
const MOST_UNASKED: i64 = 100_000;

/// What is to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// The lock's keys.
    pub range: KeyRange,
    /// The first revision to tell of; `None` is the first that the server still has.
    pub since: Option<Revision>,
    /// How many revisions back it goes at most.
    pub most: Option<i64>,
    /// Whether the member may answer from what it has, without a quorum.
    pub serializable: bool,
}

/// A lock whose past is to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedPast {
    /// The lock's name.
    pub lock: Key,
    /// Its keys.
    pub range: KeyRange,
}

/// Reads the past of a range and sends it in parts, all but `Ended`, until all is told or
/// nobody reads any more.
///
/// # Errors
/// When a call fails, or the server ends the watch. What was sent by then is true.
pub async fn read_past(etcd: &impl Etcd, ask: Ask, parts: &mpsc::Sender<Past>) -> Result<(), SourceError> {
    let newest = Range { limit: 1, want: Want::Keys, serializable: ask.serializable, ..Range::of(ask.range.clone()) };
    let to = etcd.range(newest).await?.header.revision;
    // Without the list fewer causes are known; it takes a right of its own.
    let alive: BTreeSet<LeaseId> = etcd.leases().await.unwrap_or_default().into_iter().collect();
    let server_tells = etcd.status().await.is_ok_and(|(_, status)| progress_is_reliable(&status.version));
    let first = ask.since.map_or(1, |since| since.0).max(ask.most.map_or(1, |most| to.0 - most)).max(1);
    let mut reading = Reading {
        etcd,
        range: ask.range,
        serializable: ask.serializable,
        parts,
        alive,
        to,
        through: Revision(first - 1),
        compacted: None,
        begun: false,
        server_tells,
    };
    match reading.read().await {
        Err(Halt::Failed(error)) => Err(error),
        Ok(()) | Err(Halt::Unread) => Ok(()),
    }
}

struct Reading<'a, E> {
    etcd: &'a E,
    range: KeyRange,
    serializable: bool,
    parts: &'a mpsc::Sender<Past>,
    alive: BTreeSet<LeaseId>,
    to: Revision,
    /// Everything up to here is told, or shown by a list.
    through: Revision,
    compacted: Option<Revision>,
    begun: bool,
    server_tells: bool,
}

enum Halt {
    Failed(SourceError),
    Unread,
}

impl From<PortError> for Halt {
    fn from(error: PortError) -> Self {
        Self::Failed(error.into())
    }
}

impl<E: Etcd> Reading<'_, E> {
    async fn read(&mut self) -> Result<(), Halt> {
        loop {
            if self.through > self.to {
                return self.begin().await;
            }
            // Revision 0 would be now, and there is nothing at 1.
            let listed = self.through.0 <= 1 || self.list().await?;
            if listed && self.through >= self.to {
                return self.begin().await;
            }
            let Some(compacted) = self.follow().await? else { return self.begin().await };
            if self.begun {
                self.send(Past::Compacted { from: self.through, to: compacted }).await?;
            }
            self.through = compacted;
            self.to = self.to.max(compacted);
            self.compacted = Some(compacted);
        }
    }

    /// Lists the keys as they were after the last revision that was told; `false` when those
    /// are compacted.
    async fn list(&mut self) -> Result<bool, Halt> {
        let mut start = self.range.start.clone();
        let mut first = true;
        loop {
            let rest = KeyRange { start, end: self.range.end.clone() };
            let (revision, limit, serializable) = (Some(self.through), PAGE, self.serializable);
            let page = match self.etcd.range(Range { revision, limit, serializable, ..Range::of(rest) }).await {
                Ok(page) => page,
                Err(PortError::Compacted { .. }) => return Ok(false),
                Err(error) => return Err(error.into()),
            };
            self.begin().await?;
            let next = page.keys.last().filter(|_| page.more).map(|kv| kv.key.successor());
            let (range, revision) = (self.range.clone(), self.through);
            self.send(Past::Listed(ListPage { range, revision, keys: page.keys, first, last: next.is_none() })).await?;
            first = false;
            match next {
                Some(next) => start = next,
                None => return Ok(true),
            }
        }
    }

    /// Tells what happened since; the compaction that is in the way, if there is one.
    async fn follow(&mut self) -> Result<Option<Revision>, Halt> {
        let (range, to) = (self.range.clone(), self.to);
        let mut stripes = Stripes::start(self.etcd, range, self.through, to, self.server_tells, ASK_EVERY);
        loop {
            match stripes.next().await {
                Step::Done => return Ok(None),
                Step::Compacted(at) => return Ok(Some(at)),
                Step::Lost(error) => return Err(error.into()),
                Step::GaveUp(why) => return Err(Halt::Failed(SourceError::WatchEnded(why))),
                Step::Changes(mut changes) => {
                    let last = changes.last().map_or(self.through, |change| change.revision);
                    changes.retain(|change| self.through < change.revision && change.revision <= self.to);
                    self.begin().await?;
                    if !changes.is_empty() {
                        let alive = self.alive_of(&changes);
                        self.send(Past::Changes { changes, alive }).await?;
                    }
                    self.through = self.through.max(last);
                    if last >= self.to {
                        return Ok(None);
                    }
                }
            }
        }
    }

    fn alive_of(&self, changes: &[Change]) -> Vec<LeaseId> {
        let gone = changes.iter().filter_map(|change| match &change.event {
            KeyEvent::Delete { previous, .. } => previous.as_ref().map(|kv| kv.lease),
            KeyEvent::Put(_) => None,
        });
        let alive: BTreeSet<LeaseId> = gone.filter(|lease| self.alive.contains(lease)).collect();
        alive.into_iter().collect()
    }

    /// Says what is going to be told, once that is known.
    async fn begin(&mut self) -> Result<(), Halt> {
        if self.begun {
            return Ok(());
        }
        self.begun = true;
        self.send(Past::Begun { since: self.through.next(), to: self.to, compacted: self.compacted }).await
    }

    async fn send(&self, part: Past) -> Result<(), Halt> {
        self.parts.send(part).await.map_err(|_| Halt::Unread)
    }
}

/// Tells the past of whatever lock is wanted, and stops when it is not wanted any more; ends when nobody
/// can want one or nobody reads.
pub(super) async fn serve(
    contact: watch::Receiver<Option<Contact>>,
    mut wanted: watch::Receiver<Option<WantedPast>>,
    out: Out,
) -> Result<Infallible, NoReader> {
    loop {
        let wish = wanted.borrow_and_update().clone();
        let told = async {
            match wish {
                Some(WantedPast { lock, range }) => {
                    sleep(STAY).await;
                    let client = contact.borrow().as_ref().map(|contact| contact.client.clone());
                    tell(client, lock, range, &out).await
                }
                None => Ok(()),
            }
        };
        tokio::select! {
            // What is not wanted any more must not go on for long.
            biased;
            changed = wanted.changed() => {
                changed.map_err(|_| NoReader)?;
                continue;
            }
            told = told => told?,
        }
        wanted.changed().await.map_err(|_| NoReader)?;
    }
}

async fn tell(client: Option<Client>, lock: Key, range: KeyRange, out: &Out) -> Result<(), NoReader> {
    let tell = |part| out.tell(Observation::Past { lock: lock.clone(), part });
    let Some(client) = client else { return tell(Past::Ended { why: Some("not connected".into()) }).await };
    let (parts, mut told) = mpsc::channel(PARTS);
    let ask = Ask { range, since: None, most: Some(MOST_UNASKED), serializable: false };
    let read = async {
        let parts = parts;
        read_past(&client, ask, &parts).await
    };
    let pass_on = async {
        while let Some(part) = told.recv().await {
            tell(part).await?;
        }
        Ok(())
    };
    let (read, passed) = tokio::join!(read, pass_on);
    passed?;
    tell(Past::Ended { why: read.err().map(|error| error.to_string()) }).await
}
