//! Open watches: what comes on them goes out in order, beside the reading of ranges.
//!
//! While ranges are read, what the watches tell is set aside; when the last page is out, what
//! the lists do not have follows. Ranges that are found later join the open watches where
//! that can be done, else the watches are opened anew from what was told.

use std::future::{pending, poll_fn};
use std::mem;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use futures::FutureExt;
use tokio::time::{Instant, sleep_until};

use super::fill::next_step;
use super::granted;
use super::heartbeat::Heartbeat;
use super::list::{Lister, Read};
use super::memory::State;
use super::quorum;
use super::session::{Cut, Reopen, Session};
use super::watches::{Open, as_changes};
use crate::domain::{KeyEvent, KeyRange, LeaseId, Revision};
use crate::event::{Change, Observation, WatchLoss};
use crate::port::client::Watch;
use crate::port::{PortError, WatchAnswer, WatchId, WatchStream};

/// So many changes may wait while ranges are read; then the stream is left to wait too.
const ASIDE: usize = 50_000;
/// So many changes go out together when more are there already.
const TOGETHER: usize = 128;
/// At every which beat the server is asked how far it told.
const PROGRESS_BEATS: u32 = 4;
/// How often while changes wait for the answer. An answer costs the server as much as a small
/// change, so not for each of those.
const PROGRESS_SOON: Duration = Duration::from_millis(5);
/// After so long without trouble nothing older is still under way on any watch.
const SETTLED: Duration = Duration::from_secs(10);
/// One watch around all ranges is given up when it brings more than this between two looks, which are
/// [`PROGRESS_BEATS`] apart, nearly all of it for nobody.
const TOO_MUCH_ELSE: usize = 10_000;

/// More watches than this do not join an open stream but get a new one: adding waits for no
/// answers, and etcd stops reading when too many of those are not taken.
const ADDED_AT_ONCE: usize = 8;

/// What is known of the flow itself.
struct Course {
    /// When it was last asked for what is denied, and how often until then.
    asked_for_denied: (Instant, usize),
    last_ask: Instant,
    next_look: Instant,
    /// Since when nothing was amiss, and what had been told then.
    settling: Option<(Instant, Revision)>,
    for_nobody: usize,
    for_us: usize,
    /// Watches that were asked for on the open stream.
    pending: usize,
}

impl Session<'_> {
    /// Tells what comes until the connection is lost or other watches are needed.
    pub(super) async fn flow(&mut self, mut open: Open, heartbeat: &mut Heartbeat) -> Result<Reopen, Cut> {
        let now = Instant::now();
        let next_look = self.out.beat.after_nth(now, PROGRESS_BEATS);
        let mut course = Course {
            asked_for_denied: (now, 0),
            last_ask: now,
            next_look,
            settling: None,
            for_nobody: 0,
            for_us: 0,
            pending: 0,
        };
        if open.lister.is_none() {
            self.put_back(&mut open, &mut course).await?;
        }
        // A watch ends when its member loses the leader; where there is none, nobody else would notice.
        let unwatched = open.stream.is_none();
        let mut lost = quorum::lost(self.client().clone()).boxed();
        // Kept from one change to the next: to make one costs more than to take in a change.
        let mut timer = pin!(sleep_until(next_look));
        loop {
            if open.lister.is_none() {
                self.tell_ready(&mut open).await?;
            }
            let ask = self.next_ask(&open, &course);
            let wake = open.sequencer.wake().filter(|_| open.lister.is_none());
            let due = [ask, wake].into_iter().flatten().fold(course.next_look, Instant::min);
            if timer.deadline() != due {
                timer.as_mut().reset(due);
            }
            tokio::select! {
                // Rare things first, so that a stream that never pauses does not keep them out;
                // pages before changes, because changes wait for them.
                biased;
                error = heartbeat.stopped() => return Err(error.into()),
                error = &mut lost, if unwatched => return Err(error.into()),
                // What is wished for changes only where locks are looked for.
                Ok(()) = self.wish.changed(), if self.seen.is_some() && open.lister.is_none() && course.pending == 0 => {
                    if self.rescope(&mut open, &mut course).await? {
                        return Ok(Reopen::Wish);
                    }
                }
                () = &mut timer => {
                    let now = Instant::now();
                    if ask.is_some_and(|ask| ask <= now) {
                        if let Some(stream) = &mut open.stream {
                            // A server that takes no questions is not waited for; the heartbeat
                            // finds out what is wrong with it.
                            let _ = stream.ask_progress().now_or_never();
                        }
                        course.last_ask = now;
                    }
                    if course.next_look <= now && self.look(&mut open, &mut course, now) {
                        return Ok(Reopen::Trouble);
                    }
                }
                read = next_page(&mut open.lister) => self.page(&mut open, &mut course, read?).await?,
                answer = next_answer(&mut open.stream), if open.aside < ASIDE => {
                    let mut answer = Some(answer);
                    // What is there already goes out together.
                    while let Some(taken) = answer.take() {
                        let Some(taken) = taken? else { return Err(self.broken("the server ended the watches").into()) };
                        if let Some(reopen) = self.take(&mut open, &mut course, taken).await? {
                            return Ok(reopen);
                        }
                        if open.lister.is_none() && open.sequencer.waiting() < TOGETHER {
                            answer = next_answer(&mut open.stream).now_or_never();
                        }
                    }
                }
                revision = granted::answer(&mut open.asking), if open.lister.is_none() && open.fill.is_none() => {
                    if let Some(revision) = revision {
                        self.target = self.target.max(revision);
                        self.memory.try_denied_again();
                        return Ok(Reopen::Granted);
                    }
                }
                // What is long past waits for everything else.
                step = next_step(&mut open.fill), if open.lister.is_none() => self.filled(&mut open, step).await?,
            }
        }
    }

    /// When the server is to be asked how far it told, if it is.
    fn next_ask(&self, open: &Open, course: &Course) -> Option<Instant> {
        if !self.progress_is_reliable || open.lister.is_some() {
            return None;
        }
        Some(if open.sequencer.wants_progress() {
            course.last_ask + PROGRESS_SOON
        } else {
            self.out.beat.after_nth(course.last_ask, PROGRESS_BEATS)
        })
    }

    /// Tells the changes that are complete.
    async fn tell_ready(&mut self, open: &mut Open) -> Result<(), Cut> {
        let changes = open.sequencer.ready(Instant::now());
        if changes.is_empty() {
            return Ok(());
        }
        self.memory.told(&changes);
        self.tell_leases(changes.iter().filter_map(|change| match &change.event {
            KeyEvent::Put(kv) => Some(kv.lease),
            KeyEvent::Delete { .. } => None,
        }));
        self.out.tell(Observation::Watched(changes)).await?;
        give_way().await;
        Ok(())
    }

    /// Tells whoever looks for locks which leases were seen. Losing some costs a question each.
    fn tell_leases(&self, leases: impl Iterator<Item = LeaseId>) {
        if let Some(seen) = self.seen {
            let leases: Vec<_> = leases.filter(|lease| !lease.is_none()).collect();
            if !leases.is_empty() {
                let _ = seen.try_send(leases);
            }
        }
    }

    /// Takes in a page, or that the last one is out.
    async fn page(&mut self, open: &mut Open, course: &mut Course, read: Option<Read>) -> Result<(), Cut> {
        match read {
            Some(Read::Page(page)) => {
                if page.last {
                    self.memory.set(&page.range, State::Told(page.revision));
                }
                self.tell_leases(page.keys.iter().map(|kv| kv.lease));
                self.out.tell(Observation::Listed(page)).await?;
            }
            Some(Read::Denied(denied)) => {
                self.memory.set(&denied.range, State::Denied);
                self.out.tell(Observation::Denied(denied)).await?;
            }
            None => {
                open.lister = None;
                self.put_back(open, course).await?;
            }
        }
        Ok(())
    }

    /// Everything was read: what was set aside follows.
    async fn put_back(&mut self, open: &mut Open, course: &mut Course) -> Result<(), Cut> {
        if self.memory.told.is_none()
            && let Some(oldest) = self.memory.oldest_told()
        {
            self.memory.told = Some(oldest);
            open.sequencer.start_at(oldest);
        }
        self.fill_skipped(open);
        open.aside = 0;
        for (watch, changes) in mem::take(&mut open.raw) {
            self.sort_out(open, course, watch, changes).await?;
        }
        Ok(())
    }

    /// Takes in an answer of the stream.
    async fn take(&mut self, open: &mut Open, course: &mut Course, answer: WatchAnswer) -> Result<Option<Reopen>, Cut> {
        match answer {
            WatchAnswer::Events { watch, changes, .. } => {
                let changes = as_changes(changes);
                if open.lister.is_some() {
                    open.set_aside(watch, changes);
                } else {
                    self.sort_out(open, course, watch, changes).await?;
                }
            }
            WatchAnswer::Progress { watch, revision } if open.lister.is_none() => {
                self.progress(open, watch, revision).await?;
            }
            WatchAnswer::Progress { .. } => {}
            WatchAnswer::Created { .. } => {
                course.pending = course.pending.saturating_sub(1);
                if course.pending == 0 {
                    self.read_unread(open);
                }
            }
            // Opening anew finds out what is the matter with it.
            WatchAnswer::Cancelled { refused: true, .. } => return Ok(Some(Reopen::Trouble)),
            WatchAnswer::Cancelled { watch, compacted, why, .. } => {
                return self.cancelled(&open.watches, watch, compacted, why).await.map(Some);
            }
        }
        Ok(None)
    }

    /// Hands the changes of one watch to the sequencer, without those that are not wanted.
    async fn sort_out(
        &mut self,
        open: &mut Open,
        course: &mut Course,
        watch: WatchId,
        mut changes: Vec<Change>,
    ) -> Result<(), Cut> {
        let exact = open.watches.len() == 1
            && self.memory.ranges.len() == 1
            && open.watches[0].1 == self.memory.ranges[0].range;
        if open.watches.iter().all(|(id, _)| *id != watch) {
            return Ok(());
        }
        course.for_nobody += self.memory.keep_new(&mut changes, exact);
        course.for_us += changes.len();
        if let Err(late) = open.sequencer.take(changes, Instant::now()) {
            course.settling = None;
            self.late(open, course, &late).await?;
        }
        Ok(())
    }

    /// Parts came after their revision was told: their ranges are read anew.
    async fn late(&mut self, open: &mut Open, course: &Course, late: &[Change]) -> Result<(), Cut> {
        let why = "changes of one revision came too far apart; what is there now is read instead".into();
        self.out.tell(Observation::WatchLost(WatchLoss::Cancelled { why })).await?;
        for change in late {
            if let Some(at) = self.memory.holder_of(change.event.key()) {
                self.memory.ranges[at].state = State::Unread;
            }
        }
        let is_read = |change: &Change| match self.memory.holder_of(change.event.key()) {
            Some(at) => self.memory.ranges[at].state != State::Unread,
            None => false,
        };
        open.sequencer.retain(is_read);
        // A range must not be read before its watch is there.
        if course.pending == 0 {
            self.read_unread(open);
        }
        Ok(())
    }

    /// The server says how far it told.
    async fn progress(&mut self, open: &mut Open, watch: Option<WatchId>, revision: Revision) -> Result<(), Cut> {
        if watch.is_some() && !self.memory.alone {
            // One of several: good to know for it, if nothing of it is still held.
            let range = open.watches.iter().find(|(id, _)| Some(*id) == watch).map(|(_, range)| range);
            if let Some(range) = range.filter(|_| open.sequencer.is_calm()) {
                self.memory.progressed(range, revision);
            }
            return Ok(());
        }
        open.sequencer.progress(revision);
        self.tell_ready(open).await?;
        self.memory.all_told(revision);
        Ok(self.out.tell(Observation::Progress(open.sequencer.told())).await?)
    }

    /// Looks at the flow from time to time; whether other watches are better.
    fn look(&mut self, open: &mut Open, course: &mut Course, now: Instant) -> bool {
        course.next_look = self.out.beat.after_nth(now, PROGRESS_BEATS);
        let (for_nobody, for_us) = (mem::take(&mut course.for_nobody), mem::take(&mut course.for_us));
        if for_nobody > TOO_MUCH_ELSE && for_nobody / 10 > for_us && self.memory.ranges.len() > 1 {
            self.memory.no_hull = true;
            return true;
        }
        let (asked, round) = course.asked_for_denied;
        if asked + granted::ASKED_AGAIN <= now {
            course.asked_for_denied = (now, round + 1);
            self.ask_for_denied(open, round);
        }
        if !self.memory.alone && open.sequencer.is_calm() && open.lister.is_none() {
            match course.settling {
                Some((since, told)) if since + SETTLED <= now => {
                    self.memory.all_told(told);
                    course.settling = Some((now, open.sequencer.told()));
                }
                Some(_) => {}
                None => course.settling = Some((now, open.sequencer.told())),
            }
        }
        false
    }

    /// Other ranges are wished for; whether the watches have to be opened anew for them.
    async fn rescope(&mut self, open: &mut Open, course: &mut Course) -> Result<bool, Cut> {
        self.follow_wish().await?;
        let unread = self.memory.unread();
        if self.memory.ranges.is_empty() || open.stream.is_none() {
            return Ok(!self.memory.ranges.is_empty());
        }
        if self.memory.alone {
            let [(_, around)] = &open.watches[..] else { return Ok(true) };
            if unread.iter().all(|range| super::cover::hull(&[around.clone(), range.clone()]).as_ref() == Some(around))
            {
                self.read_unread(open);
                return Ok(false);
            }
            return Ok(true);
        }
        let watched = |range: &KeyRange| self.memory.ranges.iter().any(|known| known.range == *range);
        if unread.len() > ADDED_AT_ONCE || !open.watches.iter().all(|(_, range)| watched(range)) {
            return Ok(true);
        }
        let new = |range: &KeyRange| open.watches.iter().all(|(_, watched)| watched != range);
        let unread: Vec<_> = unread.into_iter().filter(new).collect();
        for range in unread {
            let watch = self.watch_range(range, false);
            open.watches.push((watch.id, watch.range.clone()));
            if let Some(stream) = &mut open.stream {
                self.add(stream, watch).await?;
                course.pending += 1;
            }
        }
        Ok(false)
    }
}

/// Lets other tasks go first: whoever reads is to have a change at once, and takes in many of them best
/// while they are in the processor's caches. Tokio's `yield_now` would have the network looked at as
/// well, which is a call to the system.
async fn give_way() {
    let mut gave = false;
    poll_fn(|cx| {
        if gave {
            return Poll::Ready(());
        }
        gave = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// The next page, if ranges are being read.
async fn next_page(lister: &mut Option<Lister>) -> Result<Option<Read>, PortError> {
    match lister {
        Some(lister) => lister.next().await,
        None => pending().await,
    }
}

/// The next answer, if there is a stream.
async fn next_answer(stream: &mut Option<Watch>) -> Result<Option<WatchAnswer>, PortError> {
    match stream {
        Some(stream) => stream.next().await,
        None => pending().await,
    }
}
