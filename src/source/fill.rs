//! What was skipped, told afterwards: a second watch, beside the one that tells what happens
//! now, goes over the revisions between the last one seen and the list that was read instead.
//!
//! etcd paces it, at some 8,000 revisions a second for all watchers together, so it may take
//! minutes; nothing waits for it. It is given up when the server has not got those revisions
//! any more, and a lost connection takes it up where it stopped.
//!
//! One watch around all ranges: only so the changes come in the order of their revisions
//! without holding any back. Where that brings nearly nothing but other keys, it is not worth it.

use std::future::pending;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::time::{Instant, sleep_until};

use super::cover;
use super::memory::Skipped;
use super::session::{Cut, Session};
use super::watches::{Open, again_from, as_changes};
use crate::domain::{KeyRange, Revision};
use crate::event::{Change, Observation};
use crate::port::client::Watch;
use crate::port::error::printable;
use crate::port::{Etcd, PortError, WatchAnswer, WatchId, WatchRange, WatchStream};

/// How often the server is asked how far it told what was skipped.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);
/// When the server cannot be asked: after so long without a word nothing is left to tell. It
/// tells of a thousand revisions every 100 ms.
const QUIET: Duration = Duration::from_secs(2);
/// It is given up when more changes than this came, nearly all of them for nobody.
const TOO_MUCH_ELSE: usize = 50_000;

/// The second watch.
pub(super) struct Fill<W = Watch> {
    stage: Stage<W>,
    to: Revision,
    /// Whether the server tells the truth when it is asked how far it told.
    server_tells: bool,
    /// How often it is asked that.
    ask: Duration,
    look: Instant,
    for_nobody: usize,
    for_us: usize,
}

enum Stage<W> {
    Opening(BoxFuture<'static, Result<W, PortError>>),
    Open(Box<W>),
    /// Nothing comes any more.
    Over,
}

/// What comes of it.
#[derive(Debug)]
pub(super) enum Step {
    /// Changes that were skipped.
    Changes(Vec<Change>),
    /// All were told.
    Done,
    /// What comes next was compacted up to this revision.
    Compacted(Revision),
    /// The connection is lost.
    Lost(PortError),
    /// The rest cannot be told.
    GaveUp(String),
}

impl<W: WatchStream> Fill<W> {
    /// Asks for what happened in `around` behind `through` up to `to`. The server is asked that
    /// often how far it told, if it tells the truth.
    pub fn start(
        client: &impl Etcd<Watch = W>,
        around: KeyRange,
        through: Revision,
        to: Revision,
        server_tells: bool,
        ask: Duration,
    ) -> Self {
        let (client, watch) =
            (client.clone(), WatchRange { id: WatchId(1), range: around, from: Some(again_from(through)) });
        let opening = async move { client.watch(watch).await }.boxed();
        let look = Instant::now() + if server_tells { ask } else { QUIET };
        Self { stage: Stage::Opening(opening), to, server_tells, ask, look, for_nobody: 0, for_us: 0 }
    }

    /// What comes next. Cancelling it loses nothing.
    pub async fn next(&mut self) -> Step {
        loop {
            let stream = match &mut self.stage {
                Stage::Open(stream) => stream,
                Stage::Opening(opening) => match opening.await {
                    Ok(stream) => {
                        self.stage = Stage::Open(Box::new(stream));
                        continue;
                    }
                    Err(error) => return self.gave_up(error),
                },
                Stage::Over => return pending().await,
            };
            let answer = tokio::select! {
                // Silence counts only when nothing is there.
                biased;
                answer = stream.next() => answer,
                () = sleep_until(self.look) => {
                    if !self.server_tells {
                        return Step::Done;
                    }
                    let _ = stream.ask_progress().now_or_never();
                    self.look = Instant::now() + self.ask;
                    continue;
                }
            };
            if !self.server_tells {
                self.look = Instant::now() + QUIET;
            }
            match answer {
                Ok(Some(WatchAnswer::Events { changes, .. })) => return Step::Changes(as_changes(changes)),
                Ok(Some(WatchAnswer::Progress { revision, .. })) if revision >= self.to => return Step::Done,
                Ok(Some(WatchAnswer::Progress { .. } | WatchAnswer::Created { .. })) => {}
                Ok(Some(WatchAnswer::Cancelled { compacted: Some(at), .. })) => {
                    return Step::Compacted(at);
                }
                Ok(Some(WatchAnswer::Cancelled { why, .. })) => return Step::GaveUp(printable(&why)),
                Ok(None) => return Step::GaveUp("the server ended the watch".into()),
                Err(error) => return self.gave_up(error),
            }
        }
    }

    fn gave_up(&mut self, error: PortError) -> Step {
        self.stage = Stage::Over;
        if error.is_connection() { Step::Lost(error) } else { Step::GaveUp(error.to_string()) }
    }

    fn is_for_nobody(&self) -> bool {
        self.for_nobody > TOO_MUCH_ELSE && self.for_nobody / 10 > self.for_us
    }
}

/// The next step, if something is filled.
pub(super) async fn next_step(fill: &mut Option<Fill>) -> Step {
    match fill {
        Some(fill) => fill.next().await,
        None => pending().await,
    }
}

impl Session<'_> {
    /// Starts to tell what was skipped, once the list that was read instead is complete.
    pub(super) fn fill_skipped(&mut self, open: &mut Open) {
        let Some(skipped) = self.memory.skipped.filter(|_| open.fill.is_none()) else { return };
        let Some(to) = skipped.to.or(self.memory.told) else { return };
        self.memory.skipped = Some(Skipped { to: Some(to), ..skipped });
        if let Some(around) = cover::hull(&self.memory.permitted()) {
            let tells = self.progress_is_reliable;
            open.fill = Some(Fill::start(self.client(), around, skipped.through, to, tells, PROGRESS_EVERY));
        }
    }

    /// Tells what came of what was skipped.
    pub(super) async fn filled(&mut self, open: &mut Open, step: Step) -> Result<(), Cut> {
        let (Some(Skipped { through, to: Some(to) }), Some(fill)) = (self.memory.skipped, &mut open.fill) else {
            return Ok(());
        };
        let ended = match step {
            Step::GaveUp(why) => Some(Some(why)),
            Step::Compacted(at) => Some(Some(format!("compacted up to revision {at}"))),
            // That ends the session as well, and the next one goes on.
            Step::Lost(_) => None,
            Step::Done => {
                self.memory.skipped = Some(Skipped { through: to, to: Some(to) });
                Some(None)
            }
            Step::Changes(mut changes) => {
                let last = changes.last().map_or(through, |change| change.revision);
                let came = changes.len();
                changes.retain(|change| {
                    through < change.revision
                        && change.revision <= to
                        && self.memory.holder_of(change.event.key()).is_some()
                });
                fill.for_us += changes.len();
                fill.for_nobody += came - changes.len();
                let is_for_nobody = fill.is_for_nobody();
                self.memory.skipped = Some(Skipped { through: last.min(to), to: Some(to) });
                if !changes.is_empty() {
                    self.out.tell(Observation::Filled(changes)).await?;
                }
                if last >= to {
                    Some(None)
                } else {
                    is_for_nobody.then(|| Some("nearly all of it is about keys nobody watches".into()))
                }
            }
        };
        if let Some(why) = ended {
            open.fill = None;
            self.end_skipped(why).await?;
        }
        Ok(())
    }

    /// Ends the telling of what was skipped, and says so if there was any.
    pub(super) async fn end_skipped(&mut self, why: Option<String>) -> Result<(), Cut> {
        match self.memory.skipped.take() {
            Some(Skipped { through, .. }) => Ok(self.out.tell(Observation::FillEnded { through, why }).await?),
            None => Ok(()),
        }
    }
}
