//! Which watches a connection needs, and opening them.
//!
//! The watch is opened first and the ranges are read second, so that nothing falls between;
//! what the list has already is then dropped. Where the watch goes on from what was told
//! before, nothing is read.

use std::collections::VecDeque;

use futures::future::join_all;
use tokio::time::{Instant, timeout};

use super::cover;
use super::fill::Fill;
use super::granted::Asking;
use super::list::Lister;
use super::memory::State;
use super::sequence::Sequencer;
use super::session::{Cut, Reopen, Session};
use crate::domain::{KeyEvent, KeyRange, Revision};
use crate::event::{Change, Denied, Observation, WatchLoss};
use crate::port::client::Watch;
use crate::port::{Etcd, PortError, Range, Want, WatchAnswer, WatchId, WatchRange, WatchStream};

/// One watch is put around several ranges when that adds no more keys than this.
const STRANGERS: i64 = 5_000;
/// For more ranges than this it is not worth counting.
const COUNTED_RANGES: usize = 16;

/// How many watches are asked for before their answers are awaited: etcd stops reading
/// requests when a few answers are not taken.
const WATCHES_AT_ONCE: usize = 8;

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
    /// What tells what was skipped, while it does.
    pub fill: Option<Fill>,
    /// Questions for what is denied.
    pub asking: Option<Asking>,
}

impl Open {
    /// Keeps changes for when the ranges are read.
    pub fn set_aside(&mut self, watch: WatchId, changes: Vec<Change>) {
        self.aside += changes.len();
        self.raw.push((watch, changes));
    }
}

impl Session<'_> {
    /// Opens a watch for every range. `None` when that turned out to need other watches.
    pub(super) async fn open(&mut self) -> Result<Option<Open>, Cut> {
        self.memory.before_open();
        let plan = self.plan().await?;
        let alone = plan.len() <= 1;
        let mut asking: VecDeque<_> = plan.into_iter().map(|range| self.watch_range(range, alone)).collect();
        let watches: Vec<_> = asking.iter().map(|watch| (watch.id, watch.range.clone())).collect();
        let told = self.memory.told.unwrap_or_default();
        let mut open = Open {
            stream: None,
            watches,
            sequencer: Sequencer::new(told, true, false),
            lister: None,
            raw: Vec::new(),
            aside: 0,
            fill: None,
            asking: None,
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
                self.add(&mut stream, next).await?;
            }
            match self.answer(&mut stream).await? {
                WatchAnswer::Created { watch, .. } => {
                    take_from(&mut pending, watch);
                }
                WatchAnswer::Cancelled { watch, refused: true, why, .. } => {
                    refused.extend(take_from(&mut pending, watch).map(|watch| (watch, why)));
                }
                WatchAnswer::Cancelled { watch, compacted, why, .. } => {
                    return self.cancelled(&open.watches, watch, compacted, why).await.map(|_| None);
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
        let alone = open.watches.len() <= 1;
        open.sequencer = Sequencer::new(told, alone, self.progress_is_reliable);
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
        WatchRange { id, range, from: told.map(again_from) }
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
        match ended {
            Some(range) if !self.memory.alone && watches.len() > 1 => self.memory.set(range, State::Unread),
            _ => self.memory.read_again(),
        }
        if let Some(at) = compacted {
            self.memory.compacted(at);
            self.out.tell(Observation::WatchLost(WatchLoss::Compacted { at })).await?;
            return Ok(Reopen::Trouble);
        }
        self.out.tell(Observation::WatchLost(WatchLoss::Cancelled { why: why.clone() })).await?;
        Err(self.broken(&why).into())
    }
}

/// Where a watch begins that goes on behind `told`: with that once more, which is then left out. A
/// delete that is compacted at once is missed by a watch that begins at it, without a word (etcd
/// issue 18089); one that begins before it is told of the compaction.
pub(super) fn again_from(told: Revision) -> Revision {
    told.max(Revision(1))
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
