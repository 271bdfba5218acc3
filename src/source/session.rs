//! One connection from greeting to loss: is it the store we knew, has it a leader, and keep
//! its watches open. Which watches those are is in [`super::watches`], what happens on them in
//! [`super::flow`], and how what was skipped is told afterwards in [`super::fill`].

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};

use super::heartbeat::Heartbeat;
use super::list::{Lister, Read};
use super::live::{Contact, Wish};
use super::memory::{Memory, Skipped};
use super::out::{NoReader, Out};
use super::quorum;
use crate::config::Connection;
use crate::domain::{KeyRange, LeaseId, Revision};
use crate::event::{LinkState, Observation, WatchLoss};
use crate::port::client::{Watch, progress_is_reliable};
use crate::port::error::printable;
use crate::port::pool::Connected;
use crate::port::{Client, Etcd, PortError, Range, Want, WatchRange, WatchStream};

/// Further behind than this, what is there now is read before all that happened is told: etcd
/// replays some 8,000 revisions a second for all watchers together, and reads 10,000 keys in
/// 0.03 s.
const LONG_GAP: i64 = 10_000;

/// Watches that are in trouble this often within [`IN_A_ROW`] do not stay open.
const TROUBLES: usize = 8;
const IN_A_ROW: Duration = Duration::from_secs(10);

/// How a session ended.
pub(super) struct End {
    pub error: PortError,
    /// Whether its watches had been open.
    pub was_live: bool,
}

/// Why a session cannot go on.
pub(super) enum Cut {
    NoReader(NoReader),
    Lost(PortError),
}

impl From<NoReader> for Cut {
    fn from(gone: NoReader) -> Self {
        Self::NoReader(gone)
    }
}

impl From<PortError> for Cut {
    fn from(error: PortError) -> Self {
        Self::Lost(error)
    }
}

/// Why the watches of a session have to be opened anew, on the same connection.
pub(super) enum Reopen {
    /// Other ranges are wished for.
    Wish,
    /// Something that was denied may be read by now.
    Granted,
    /// They ended, or are not the right ones.
    Trouble,
}

/// One connection.
pub(super) struct Session<'a> {
    pub connected: Connected,
    pub memory: &'a mut Memory,
    pub wish: &'a mut watch::Receiver<Wish>,
    /// Where the leases of seen keys go, when somebody wants to know.
    pub seen: Option<&'a mpsc::Sender<Vec<LeaseId>>>,
    pub out: &'a Out,
    pub settings: &'a Connection,
    /// The newest revision known when the connection was made.
    pub target: Revision,
    /// Whether the server tells the truth when it is asked for progress.
    pub progress_is_reliable: bool,
    pub live: bool,
    pub next_watch: i64,
}

impl<'a> Session<'a> {
    pub fn new(
        connected: Connected,
        memory: &'a mut Memory,
        wish: &'a mut watch::Receiver<Wish>,
        seen: Option<&'a mpsc::Sender<Vec<LeaseId>>>,
        out: &'a Out,
        settings: &'a Connection,
    ) -> Self {
        let reliable = connected.status.as_ref().is_some_and(|status| progress_is_reliable(&status.version));
        let target = connected.header.revision;
        Self {
            connected,
            memory,
            wish,
            seen,
            out,
            settings,
            target,
            progress_is_reliable: reliable,
            live: false,
            next_watch: 1,
        }
    }

    /// Runs until the connection is lost.
    pub async fn run(mut self, contact: &watch::Sender<Option<Contact>>) -> Result<End, NoReader> {
        match self.keep(contact).await {
            Ok(never) => match never {},
            Err(Cut::NoReader(gone)) => Err(gone),
            Err(Cut::Lost(error)) => Ok(End { error, was_live: self.live }),
        }
    }

    async fn keep(&mut self, contact: &watch::Sender<Option<Contact>>) -> Result<Infallible, Cut> {
        self.greet().await?;
        contact.send_replace(Some(Contact { client: self.client().clone(), life: self.memory.life }));
        self.memory.try_denied_again();
        if self.connected.is_leaderless() {
            self.follow_wish().await?;
            self.read_what_the_member_has().await?;
            let endpoint = self.client().endpoint().to_owned();
            return Err(PortError::NoLeader { doing: "watch".into(), endpoint }.into());
        }
        if self.memory.told.is_none() {
            // A member knows a leader for a while after that is gone.
            Box::pin(quorum::prove(self.client())).await?;
        }
        let mut heartbeat = Heartbeat::start(self.client(), self.settings, self.out.beat);
        let lost = self.watch(&mut heartbeat).await;
        let (term, index) = self.client().furthest();
        self.memory.saw(term, Some(index));
        lost
    }

    /// Opens the watches, and opens them anew when other ones are needed.
    async fn watch(&mut self, heartbeat: &mut Heartbeat) -> Result<Infallible, Cut> {
        let mut troubles = VecDeque::new();
        loop {
            self.follow_wish().await?;
            let reopen = match self.open().await? {
                Some(open) => {
                    if !self.live {
                        self.live = true;
                        let endpoint = self.client().endpoint().to_owned();
                        self.out.tell(Observation::Link(LinkState::Live { endpoint })).await?;
                    }
                    self.flow(open, heartbeat).await?
                }
                None => Reopen::Trouble,
            };
            if matches!(reopen, Reopen::Trouble) {
                troubles.push_back(Instant::now());
            }
            if troubles.len() > TROUBLES
                && let Some(oldest) = troubles.pop_front()
                && oldest.elapsed() < IN_A_ROW
            {
                return Err(self.broken("the watches do not stay open").into());
            }
        }
    }

    pub fn client(&self) -> &Client {
        &self.connected.client
    }

    /// Says which cluster this is and finds out whether it is the store we knew.
    async fn greet(&mut self) -> Result<(), Cut> {
        let header = self.connected.header;
        self.out.tell(Observation::Cluster(header.cluster)).await?;
        if self.memory.cluster.replace(header.cluster).is_some_and(|known| known != header.cluster) {
            self.memory.begin_anew();
        }
        if self.connected.is_leaderless() {
            return Ok(());
        }
        let Some(told) = self.memory.told else {
            let index = self.connected.status.as_ref().map(|status| status.raft_index);
            self.memory.saw(header.term, index);
            return Ok(());
        };
        // A member that lags may be behind what another told; only a read that asks the quorum
        // says how far the store is.
        let first = self
            .memory
            .permitted()
            .first()
            .map_or_else(|| KeyRange::single(b"\0"), |range| KeyRange::single(&range.start));
        let now = match self.client().range(Range { want: Want::Keys, limit: 1, ..Range::of(first) }).await {
            Ok(page) => page.header,
            Err(PortError::Denied { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let index = match self.client().status().await {
            Ok((_, status)) => Some(status.raft_index),
            Err(PortError::Denied { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        let behind = now.revision.0 - told.0;
        if let Some(why) = self.memory.began_anew(now.revision, now.term, index) {
            self.memory.begin_anew();
            self.out.tell(Observation::WatchLost(WatchLoss::BeganAnew { why })).await?;
        } else if behind > LONG_GAP {
            self.end_skipped(Some("more was missed meanwhile".into())).await?;
            self.memory.read_again();
            self.memory.skipped = Some(Skipped { through: told, to: None });
            self.out.tell(Observation::WatchLost(WatchLoss::Skipped { from: told, to: now.revision })).await?;
        }
        self.memory.saw(now.term, index);
        self.target = now.revision;
        Ok(())
    }

    /// Without a leader nothing can be watched, but a member still tells what it has: once is
    /// enough, as nothing can change.
    async fn read_what_the_member_has(&mut self) -> Result<(), Cut> {
        if self.memory.told.is_some() || self.memory.read_without_leader {
            return Ok(());
        }
        let mut lister = self.lister(self.memory.unread(), true);
        while let Some(read) = lister.next().await? {
            self.out
                .tell(match read {
                    Read::Page(page) => Observation::Listed(page),
                    Read::Denied(denied) => Observation::Denied(denied),
                })
                .await?;
        }
        self.memory.read_without_leader = true;
        Ok(())
    }

    pub fn lister(&self, ranges: Vec<KeyRange>, serializable: bool) -> Lister {
        let database = self.connected.status.as_ref().map_or(0, |status| status.db_in_use);
        Lister::new(self.client(), ranges, database, serializable)
    }

    /// Takes in what is to be watched and says so when that is new.
    pub async fn follow_wish(&mut self) -> Result<(), Cut> {
        let wish = self.wish.borrow_and_update().clone();
        if self.memory.follow(&wish) {
            let scope = self.memory.scope.clone().unwrap_or_default();
            self.out.tell(Observation::Scope(scope)).await?;
        }
        Ok(())
    }

    /// Asks for one more watch; a server that takes no requests is given up.
    pub async fn add(&self, stream: &mut Watch, watch: WatchRange) -> Result<(), PortError> {
        let after = self.settings.command_timeout;
        timeout(after, stream.add(watch)).await.unwrap_or_else(|_| {
            let endpoint = self.client().endpoint().to_owned();
            Err(PortError::Deadline { doing: "watch".into(), endpoint, after })
        })
    }

    pub fn broken(&self, why: &str) -> PortError {
        PortError::Unreachable { endpoint: self.client().endpoint().into(), why: printable(why) }
    }
}
