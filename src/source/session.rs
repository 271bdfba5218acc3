//! One connection from greeting to loss: is it the store we knew, which watches does it need,
//! and open them.
//!
//! The watch is opened first and the ranges are read second, so that nothing falls between;
//! what the list has already is then dropped. Where the watch goes on from what was told
//! before, nothing is read. What happens once the watches are open is in [`super::flow`].

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use futures::future::join_all;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout};

use super::cover;
use super::heartbeat::Heartbeat;
use super::list::{Lister, Read};
use super::live::{Contact, Wish};
use super::memory::{Memory, State};
use super::out::{Out, Stopped};
use super::sequence::Sequencer;
use crate::config::Connection;
use crate::domain::{KeyEvent, KeyRange, LeaseId, Revision};
use crate::event::{Change, Denied, LinkState, Observation, WatchLoss};
use crate::port::client::{Watch, progress_is_reliable};
use crate::port::pool::Connected;
use crate::port::{Client, Etcd, PortError, Range, Want, WatchAnswer, WatchId, WatchRange, WatchStream};

/// Further behind than this, what is there now is read instead of all that happened: etcd
/// replays some 8,000 revisions a second for all watchers together, and reads 10,000 keys in
/// 0.03 s.
const LONG_GAP: i64 = 10_000;

/// One watch is put around several ranges when that adds no more keys than this.
const STRANGERS: i64 = 5_000;
/// For more ranges than this it is not worth counting.
const COUNTED_RANGES: usize = 16;

/// How many watches are asked for before their answers are awaited: etcd stops reading
/// requests when a few answers are not taken.
const WATCHES_AT_ONCE: usize = 8;

/// A stream that is opened anew this often in a row does not stay open.
const REOPENS: usize = 8;

/// How a session ended.
pub(super) struct End {
    pub error: PortError,
    /// Whether its watches had been open.
    pub was_live: bool,
}

/// Why a session cannot go on.
pub(super) enum Cut {
    Stopped(Stopped),
    Lost(PortError),
}

impl From<Stopped> for Cut {
    fn from(stopped: Stopped) -> Self {
        Self::Stopped(stopped)
    }
}

impl From<PortError> for Cut {
    fn from(error: PortError) -> Self {
        Self::Lost(error)
    }
}

/// The watches of a session have to be opened anew, on the same connection.
pub(super) struct Reopen;

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

/// The open watches and what is under way on them.
pub(super) struct Open {
    /// `None` when there is nothing to watch.
    pub stream: Option<Watch>,
    pub watches: Vec<(WatchId, KeyRange)>,
    pub sequencer: Sequencer,
    pub lister: Option<Lister>,
    /// What came while ranges were read, to be sorted out afterwards.
    pub raw: Vec<(WatchId, Vec<Change>)>,
    /// How many changes those are.
    pub aside: usize,
}

impl Open {
    /// Keeps changes for when the ranges are read.
    pub fn set_aside(&mut self, watch: WatchId, changes: Vec<Change>) {
        self.aside += changes.len();
        self.raw.push((watch, changes));
    }
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
    pub async fn run(mut self, contact: &watch::Sender<Option<Contact>>) -> Result<End, Stopped> {
        let out = self.out;
        match out.unless_stopped(self.go(contact)).await? {
            Cut::Stopped(stopped) => Err(stopped),
            Cut::Lost(error) => Ok(End { error, was_live: self.live }),
        }
    }

    async fn go(&mut self, contact: &watch::Sender<Option<Contact>>) -> Cut {
        match self.try_go(contact).await {
            Ok(never) => match never {},
            Err(cut) => cut,
        }
    }

    async fn try_go(&mut self, contact: &watch::Sender<Option<Contact>>) -> Result<Infallible, Cut> {
        self.greet().await?;
        contact.send_replace(Some(Contact { client: self.client().clone(), life: self.memory.life }));
        for known in &mut self.memory.ranges {
            if known.state == State::Denied {
                known.state = State::Unread; // roles may have changed
            }
        }
        if self.connected.is_leaderless() {
            self.follow_wish().await?;
            self.read_what_the_member_has().await?;
            let endpoint = self.client().endpoint().to_owned();
            return Err(PortError::NoLeader { doing: "watch".into(), endpoint }.into());
        }
        let mut heartbeat = Heartbeat::start(self.client(), self.settings);
        let lost = self.watch(&mut heartbeat).await;
        let (term, index) = heartbeat.latest();
        self.memory.saw(term, Some(index));
        lost
    }

    /// Opens the watches, and opens them anew when other ones are needed.
    async fn watch(&mut self, heartbeat: &mut Heartbeat) -> Result<Infallible, Cut> {
        let mut reopened = VecDeque::new();
        loop {
            self.follow_wish().await?;
            if let Some(open) = self.open().await? {
                if !self.live {
                    self.live = true;
                    let endpoint = self.client().endpoint().to_owned();
                    self.out.tell(Observation::Link(LinkState::Live { endpoint })).await?;
                }
                let Reopen = self.flow(open, heartbeat).await?;
            }
            reopened.push_back(Instant::now());
            if reopened.len() > REOPENS
                && let Some(oldest) = reopened.pop_front()
                && oldest.elapsed() < Duration::from_secs(10)
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
            let why = format!("the store began anew: {why}");
            self.out.tell(Observation::WatchLost(WatchLoss::Cancelled { why })).await?;
        } else if behind > LONG_GAP {
            self.memory.read_again();
            let why = format!("{behind} revisions were missed; what is there now is read instead of all that happened");
            self.out.tell(Observation::WatchLost(WatchLoss::Cancelled { why })).await?;
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

    /// Opens a watch for every range. `None` when that turned out to need other watches.
    async fn open(&mut self) -> Result<Option<Open>, Cut> {
        self.memory.before_open();
        let plan = self.plan().await?;
        let alone = plan.len() <= 1;
        let mut asking: VecDeque<_> = plan.into_iter().map(|range| self.watch_range(range, alone)).collect();
        let watches: Vec<_> = asking.iter().map(|watch| (watch.id, watch.range.clone())).collect();
        let mut open = Open {
            stream: None,
            watches,
            sequencer: Sequencer::new(self.memory.told.unwrap_or_default(), alone, self.progress_is_reliable),
            lister: None,
            raw: Vec::new(),
            aside: 0,
        };
        let Some(first) = asking.pop_front() else { return Ok(Some(open)) };
        let mut pending = VecDeque::from([first.id]);
        let mut refused = Vec::new();
        let mut stream = self.client().watch(first).await?;
        while !pending.is_empty() {
            while pending.len() < WATCHES_AT_ONCE
                && let Some(next) = asking.pop_front()
            {
                pending.push_back(next.id);
                stream.add(next).await?;
            }
            match self.answer(&mut stream).await? {
                WatchAnswer::Created { watch, .. } => {
                    take_from(&mut pending, watch);
                }
                WatchAnswer::Cancelled { watch, refused: true, why, .. } => {
                    refused.extend(take_from(&mut pending, watch).map(|watch| (watch, why)));
                }
                WatchAnswer::Cancelled { watch, compacted, why, .. } => {
                    return self.cancelled(&open.watches, watch, compacted, why).await.map(|Reopen| None);
                }
                WatchAnswer::Events { watch, changes, .. } => open.set_aside(watch, as_changes(changes)),
                WatchAnswer::Progress { .. } => {}
            }
        }
        for (watch, why) in refused {
            if !self.refused(&mut open, watch, why).await? {
                return Ok(None);
            }
        }
        if !open.watches.is_empty() {
            open.stream = Some(stream);
        }
        self.memory.alone = alone;
        if !alone && self.memory.told.is_some() {
            open.sequencer.catch_up(self.target, Instant::now());
        }
        self.read_unread(&mut open);
        Ok(Some(open))
    }

    /// Starts to read what has to be read.
    pub fn read_unread(&self, open: &mut Open) {
        let unread = self.memory.unread();
        if open.lister.is_none() && open.stream.is_some() && !unread.is_empty() {
            open.lister = Some(self.lister(unread, false));
        }
    }

    /// The next answer, when one must come.
    async fn answer(&self, stream: &mut Watch) -> Result<WatchAnswer, Cut> {
        let after = self.settings.command_timeout;
        match timeout(after, stream.next()).await {
            Ok(Ok(Some(answer))) => Ok(answer),
            Ok(Ok(None)) => Err(self.broken("the server ended the watches").into()),
            Ok(Err(error)) => Err(error.into()),
            Err(_) => {
                let endpoint = self.client().endpoint().to_owned();
                Err(PortError::Deadline { doing: "watch".into(), endpoint, after }.into())
            }
        }
    }

    /// What to watch: one range around all when that adds little, else each by itself. One
    /// watch is told every revision whole and at once; of several nobody says when a revision
    /// is complete.
    async fn plan(&self) -> Result<Vec<KeyRange>, Cut> {
        let ranges = self.memory.permitted();
        let Some(hull) = cover::hull(&ranges).filter(|_| ranges.len() > 1 && !self.memory.no_hull) else {
            return Ok(ranges);
        };
        let count = async |range: KeyRange| {
            self.client().range(Range { want: Want::Count, serializable: true, ..Range::of(range) }).await
        };
        let all = match count(hull.clone()).await {
            Ok(page) => page.count,
            Err(PortError::Denied { .. }) => return Ok(ranges),
            Err(error) => return Err(error.into()),
        };
        let mut strangers = all;
        if strangers > STRANGERS && ranges.len() <= COUNTED_RANGES {
            for counted in join_all(ranges.iter().cloned().map(count)).await {
                strangers -= counted.map_or(0, |page| page.count);
            }
        }
        Ok(if strangers <= STRANGERS { vec![hull] } else { ranges })
    }

    /// A watch on this range: from what was told, or from now on when it will be read.
    pub fn watch_range(&mut self, range: KeyRange, alone: bool) -> WatchRange {
        let id = WatchId(self.next_watch);
        self.next_watch += 1;
        let told = self.memory.told.and_then(|told| {
            if alone {
                return Some(told);
            }
            self.memory.ranges.iter().find_map(|known| match known.state {
                State::Told(told) if known.range == range => Some(told),
                _ => None,
            })
        });
        WatchRange { id, range, from: told.map(Revision::next) }
    }

    /// A watch was refused: because of the range, or because the login ran out. Whether the
    /// others can go on without it.
    async fn refused(&mut self, open: &mut Open, watch: WatchId, why: String) -> Result<bool, Cut> {
        let Some(at) = open.watches.iter().position(|(id, _)| *id == watch) else { return Ok(true) };
        let (_, range) = open.watches.remove(at);
        if self.memory.ranges.iter().all(|known| known.range != range) {
            self.memory.no_hull = true;
            return Ok(false);
        }
        // etcd 3.4 says the same for a range that is denied and for a login that ran out.
        match self.client().range(Range { want: Want::Keys, limit: 1, ..Range::of(range.clone()) }).await {
            Err(PortError::Denied { user, why, .. }) => {
                self.memory.set(&range, State::Denied);
                self.out.tell(Observation::Denied(Denied { range, user, why })).await?;
                Ok(true)
            }
            Ok(_) => Err(PortError::Unauthenticated { doing: "watch".into(), why }.into()),
            Err(error) => Err(error.into()),
        }
    }

    /// A watch ended: read its ranges anew, at once when revisions were compacted.
    pub async fn cancelled(
        &mut self,
        watches: &[(WatchId, KeyRange)],
        watch: Option<WatchId>,
        compacted: Option<Revision>,
        why: String,
    ) -> Result<Reopen, Cut> {
        let ended = watches.iter().find(|(id, _)| Some(*id) == watch).map(|(_, range)| range);
        if self.memory.alone || watches.len() <= 1 || ended.is_none() {
            self.memory.read_again();
        } else if let Some(range) = ended {
            self.memory.set(range, State::Unread);
        }
        if let Some(at) = compacted {
            self.out.tell(Observation::WatchLost(WatchLoss::Compacted { at })).await?;
            return Ok(Reopen);
        }
        self.out.tell(Observation::WatchLost(WatchLoss::Cancelled { why: why.clone() })).await?;
        Err(self.broken(&why).into())
    }

    pub fn broken(&self, why: &str) -> PortError {
        PortError::Unreachable { endpoint: self.client().endpoint().into(), why: crate::port::error::printable(why) }
    }
}

/// Takes `watch` out of those whose answer is awaited; the oldest when the server does not say
/// which it means: it answers in order.
fn take_from(pending: &mut VecDeque<WatchId>, watch: Option<WatchId>) -> Option<WatchId> {
    match watch {
        Some(watch) => {
            let at = pending.iter().position(|pending| *pending == watch)?;
            pending.remove(at)
        }
        None => pending.pop_front(),
    }
}

pub(super) fn as_changes(changes: Vec<(Revision, KeyEvent)>) -> Vec<Change> {
    changes.into_iter().map(|(revision, event)| Change { revision, event }).collect()
}
