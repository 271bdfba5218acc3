//! Keeps watching: connects, finds another endpoint when one is lost, and owns the tasks that
//! find locks and poll members and leases.
//!
//! ```text
//!            ┌ connected ────────────────► session: watch, list, tell ─┐
//! connecting ┤                                                         │ lost
//!            └ failed ► wait ► connecting ◄────────────────────────────┘
//! ```
//! The waits grow, but a member that is found to be back, by whichever task, ends the wait.
//!
//! Losing a connection is a state, not an error: [`run`] ends only when it is told to, or when
//! nobody reads what it says.

use std::any::Any;
use std::convert::Infallible;
use std::future::pending;
use std::panic::resume_unwind;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::beat::Beat;
use super::memory::Memory;
use super::out::{NoReader, Out};
use super::session::{End, Session};
use super::{WantedPast, Watching, agree, discover, members, past, poll};
use crate::domain::{KeyRange, LeaseId, Member, MemberId, Millis, Status, Term};
use crate::event::{EndpointError, LinkState, Observation, Stamped, WatchLoss};
use crate::port::{Client, Clock, Pool};

/// The first wait after a failed try; each further one doubles it.
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// The longest wait between two tries.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// A member that can be used again is tried at once, but not more often than this: one that comes
/// and goes is not asked without pause.
const AT_ONCE_EVERY: Duration = Duration::from_millis(500);
/// A connection that lived this long has worked: the next try counts as a first one.
const WORKED: Duration = Duration::from_secs(5);

/// The connection the other tasks use, and which life of the store it belongs to.
#[derive(Clone)]
pub(super) struct Contact {
    pub client: Client,
    /// Grows when another cluster answers, or the store began anew.
    pub life: u64,
}

/// Who leads, as the members say.
#[derive(Clone, Debug, Default)]
pub(super) struct Leadership {
    /// The life of the store this is known of.
    pub life: u64,
    pub term: Term,
    pub leader: Option<MemberId>,
    pub members: Vec<Member>,
}

impl Leadership {
    /// Takes in what a member says; whether that is news. A member that is behind, and so in an
    /// older term, has none.
    pub fn learn(&mut self, status: &Status) -> bool {
        if status.term < self.term || (status.term, status.leader) == (self.term, self.leader) {
            return false;
        }
        (self.term, self.leader) = (status.term, status.leader);
        true
    }

    /// Forgets who led in another life of the store, whose terms count from the start again;
    /// whether that is news.
    pub fn live_in(&mut self, life: u64) -> bool {
        if self.life == life {
            return false;
        }
        *self = Self { life, members: std::mem::take(&mut self.members), ..Self::default() };
        true
    }
}

/// The ranges to watch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Wish {
    /// The life of the store they were found in; `None` for ranges that were given.
    pub life: Option<u64>,
    pub ranges: Vec<KeyRange>,
}

/// What the source is asked for.
pub struct Asked {
    /// Leases to ask.
    pub leases: mpsc::Receiver<Vec<LeaseId>>,
    /// The lock whose past is to be read.
    pub past: watch::Receiver<Option<WantedPast>>,
}

impl From<mpsc::Receiver<Vec<LeaseId>>> for Asked {
    /// Leases only.
    fn from(leases: mpsc::Receiver<Vec<LeaseId>>) -> Self {
        Self { leases, past: watch::channel(None).1 }
    }
}

/// Watches until `shutdown`, or until nobody reads `observations` any more.
///
/// Leases are asked in the order they matter; what comes while a burst runs is asked together in
/// the next. All tasks have ended when this returns, and what these had started is aborted. A panic of
/// one of them is a panic of this.
pub async fn run(
    pool: Pool,
    watching: Watching,
    observations: mpsc::Sender<Stamped<Observation>>,
    asked: impl Into<Asked>,
    clock: Clock,
    shutdown: CancellationToken,
) {
    let asked = asked.into();
    let out = Out { channel: observations.clone(), clock, beat: Beat::start() };
    let (contact_in, contact) = watch::channel(None);
    let (leadership_in, leadership) = watch::channel(Leadership::default());
    let (wish_in, wish) = watch::channel(Wish { life: None, ranges: watching.ranges() });
    let (seen_in, seen) = mpsc::channel(64);
    let mut tasks = JoinSet::new();
    tasks.spawn(members::poll(pool.clone(), contact.clone(), leadership_in, out.clone()));
    tasks.spawn(agree::keep_comparing(pool.clone(), contact.clone(), leadership.clone(), out.clone()));
    tasks.spawn(poll::serve(pool.clone(), contact.clone(), leadership, asked.leases, out.clone()));
    tasks.spawn(past::serve(contact.clone(), asked.past, out.clone()));
    let seen_in = match watching {
        Watching::Discover => {
            tasks.spawn(discover::keep_finding(contact, wish_in, seen, out.clone()));
            Some(seen_in)
        }
        Watching::Prefixes(_) => None,
    };
    let link = Link { pool, contact: contact_in, wish, seen: seen_in, out };
    tasks.spawn(link.keep());
    let panicked = tokio::select! {
        () = shutdown.cancelled() => None,
        () = observations.closed() => None,
        panicked = first_panic(&mut tasks) => Some(panicked),
    };
    tasks.shutdown().await;
    if let Some(panicked) = panicked {
        resume_unwind(panicked);
    }
}

/// Waits until one of the tasks panics: without it what is told is not whole.
async fn first_panic(tasks: &mut JoinSet<Result<Infallible, NoReader>>) -> Box<dyn Any + Send> {
    while let Some(ended) = tasks.join_next().await {
        if let Err(ended) = ended
            && let Ok(panicked) = ended.try_into_panic()
        {
            return panicked;
        }
    }
    pending().await
}

/// The connection that the watch runs on.
struct Link {
    pool: Pool,
    contact: watch::Sender<Option<Contact>>,
    wish: watch::Receiver<Wish>,
    seen: Option<mpsc::Sender<Vec<LeaseId>>>,
    out: Out,
}

impl Link {
    async fn keep(mut self) -> Result<Infallible, NoReader> {
        self.out.tell(Observation::Link(LinkState::Connecting)).await?;
        let mut memory = Memory::default();
        let mut last: Option<String> = None;
        let mut attempt = 0;
        let mut waiting = Waiting { returned: self.pool.returned(), cut: None };
        loop {
            // Whatever comes back from here on may have come too late for this try.
            waiting.returned.mark_unchanged();
            let connecting = self.pool.connect_any_but(last.as_deref());
            let why = match connecting.await {
                Err(failed) => failed.into_iter().map(EndpointError::from).collect(),
                Ok(connected) => {
                    let start = Instant::now();
                    let endpoint = connected.client.endpoint().to_owned();
                    let mut why: Vec<_> = connected.failed.iter().cloned().map(EndpointError::from).collect();
                    let session = Session::new(
                        connected,
                        &mut memory,
                        &mut self.wish,
                        self.seen.as_ref(),
                        &self.out,
                        self.pool.settings(),
                    );
                    let End { error, was_live } = session.run(&self.contact).await?;
                    if was_live {
                        let why = error.to_string();
                        self.out.tell(Observation::WatchLost(WatchLoss::Transport { why })).await?;
                    }
                    if start.elapsed() >= WORKED {
                        attempt = 0;
                    }
                    why.retain(|failed| failed.endpoint != endpoint);
                    why.push(EndpointError { endpoint: endpoint.clone(), error: error.to_string() });
                    last = Some(endpoint);
                    why
                }
            };
            attempt += 1;
            let wait = wait_before(attempt, last.is_some());
            let next_at = self.out.clock.now() + Millis::from(wait);
            self.out.tell(Observation::Link(LinkState::Retrying { attempt, next_at, why })).await?;
            waiting.wait(wait).await;
        }
    }
}

/// Waits between two tries.
struct Waiting {
    /// Changes when a member can be used again.
    returned: watch::Receiver<()>,
    /// When that last ended a wait.
    cut: Option<Instant>,
}

impl Waiting {
    /// Waits so long, or until a member has returned.
    async fn wait(&mut self, length: Duration) {
        let soonest = self.cut.map_or_else(Instant::now, |cut| cut + AT_ONCE_EVERY);
        let returned = async {
            sleep_until(soonest).await;
            if self.returned.changed().await.is_err() {
                pending::<()>().await;
            }
        };
        tokio::select! {
            () = sleep(length) => {}
            () = returned => self.cut = Some(Instant::now()),
        }
    }
}

/// How long to wait before the next try. None at once after a connection that worked: another
/// endpoint may be there.
fn wait_before(failed: u32, had_connection: bool) -> Duration {
    let doublings = failed.saturating_sub(if had_connection { 2 } else { 1 }).min(16);
    if failed <= 1 && had_connection { Duration::ZERO } else { (FIRST_WAIT * (1 << doublings)).min(LONGEST_WAIT) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_leader_of_a_store_that_began_anew_is_learnt_from_lower_terms() {
        let says = |term, leader| Status { term: Term(term), leader: Some(MemberId(leader)), ..Status::default() };
        let mut known = Leadership::default();
        assert!(known.learn(&says(9, 1)));
        assert!(!known.learn(&says(2, 2)), "a member that is behind");
        assert!(!known.live_in(0));
        assert!(known.live_in(1));
        assert_eq!((known.term, known.leader), (Term(0), None));
        assert!(known.learn(&says(2, 2)));
        assert_eq!(known.leader, Some(MemberId(2)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_member_that_returned_is_not_waited_for_but_one_that_comes_and_goes_is() {
        let (member, returned) = watch::channel(());
        let mut waiting = Waiting { returned, cut: None };
        let mut waits = Vec::new();
        for returns in [false, true, true, false] {
            if returns {
                member.send_replace(());
            }
            let start = Instant::now();
            waiting.wait(LONGEST_WAIT).await;
            waits.push(start.elapsed());
        }
        assert_eq!(waits, [LONGEST_WAIT, Duration::ZERO, AT_ONCE_EVERY, LONGEST_WAIT]);
    }

    #[test]
    fn waits_double_up_to_five_seconds() {
        let waits: Vec<_> = (1..=9).map(|failed| wait_before(failed, false).as_millis()).collect();
        assert_eq!(waits, [100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
        let waits: Vec<_> = (1..=4).map(|failed| wait_before(failed, true).as_millis()).collect();
        assert_eq!(waits, [0, 100, 200, 400], "a connection that is lost is replaced at once");
        assert_eq!(wait_before(u32::MAX, true), LONGEST_WAIT);
    }
}
