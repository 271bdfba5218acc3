//! What goes on beside a session, such as a cluster or clients that are played with: pictures of it
//! come in, what is asked of it goes out.
//!
//! ```text
//!   session ── Beside ◄── observations ── Other ── whoever knows how it is
//!                     ─── asked ────────►
//! ```

use std::future::pending;
use std::time::Duration;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::warn;

use super::clock::Clock;
use crate::event::{Observation, Stamped};

/// The time between pictures while they are looked at: as often as motion is drawn.
const LOOKED_AT: Duration = Duration::from_millis(50);
/// And while another screen is.
const ASIDE: Duration = Duration::from_secs(1);
/// What was asked and waits to be done; hands are slower than that.
const ASKED: usize = 16;
/// Pictures and answers that wait to be taken in: a session that is slow is shown fewer.
const PICTURES: usize = 2;

/// The session's end. What is asked is an `A`.
pub(super) struct Beside<A> {
    pub(super) observed: mpsc::Receiver<Stamped<Observation>>,
    asked: mpsc::Sender<A>,
    looked_at: watch::Sender<bool>,
    /// What is said of what is asked when there is nobody any more.
    gone: String,
    task: JoinHandle<()>,
    /// Ends the task.
    end: DropGuard,
}

/// The other end.
pub(super) struct Other<A> {
    observed: mpsc::Sender<Stamped<Observation>>,
    clock: Clock,
    asked: mpsc::Receiver<A>,
    looked_at: watch::Receiver<bool>,
}

/// One of the two is gone.
pub(super) struct Gone;

impl<A: Send + 'static> Beside<A> {
    /// Starts the task that works at the other end. `gone` is said of what is asked behind its end.
    pub fn start<W>(clock: Clock, gone: impl Into<String>, work: impl FnOnce(Other<A>) -> W) -> Self
    where
        W: Future<Output = ()> + Send + 'static,
    {
        let (tell, observed) = mpsc::channel(PICTURES);
        let (ask, asked) = mpsc::channel(ASKED);
        let (looked_at, attention) = watch::channel(false);
        let ended = CancellationToken::new();
        let end = ended.clone().drop_guard();
        let work = work(Other { observed: tell, clock, asked, looked_at: attention });
        let task = tokio::spawn(async move {
            tokio::select! {
                // The end first: a session that is over wants no more pictures.
                biased;
                () = ended.cancelled() => {}
                () = work => {}
            }
        });
        Self { observed, asked: ask, looked_at, gone: gone.into(), task, end }
    }

    /// Ends the task and waits until it has ended; whom it asked goes on.
    pub async fn end(self) {
        drop(self.end);
        if let Err(error) = self.task.await {
            warn!(%error, "what went on beside the session failed");
        }
    }

    /// The next thing it tells; never, when there is nothing or it is over. Nothing is lost when
    /// this is dropped.
    pub async fn observe(beside: Option<&mut Self>) -> Stamped<Observation> {
        if let Some(beside) = beside
            && let Some(observed) = beside.observed.recv().await
        {
            return observed;
        }
        pending().await
    }

    /// Asks for something. What it led to comes as an observation.
    ///
    /// # Errors
    /// Why it will not be done, in words: too much waits, or there is nobody any more.
    pub fn ask(&self, what: A) -> Result<(), String> {
        self.asked.try_send(what).map_err(|failed| match failed {
            TrySendError::Full(_) => "it is left out: those before it are not done yet".to_owned(),
            TrySendError::Closed(_) => self.gone.clone(),
        })
    }

    /// Says whether the pictures are looked at, which decides how many there are.
    pub fn look_at(&self, looks: bool) {
        self.looked_at.send_if_modified(|looked_at| std::mem::replace(looked_at, looks) != looks);
    }
}

impl<A> Other<A> {
    /// Tells the session something.
    ///
    /// # Errors
    /// When the session is gone.
    pub async fn tell(&self, what: Observation) -> Result<(), Gone> {
        self.observed.send(Stamped { at: self.clock.now(), what }).await.map_err(|_| Gone)
    }

    /// Waits until something is asked; nothing when it is time for another picture.
    ///
    /// # Errors
    /// When the session is gone.
    pub async fn asked(&mut self) -> Result<Option<A>, Gone> {
        let pause = if *self.looked_at.borrow_and_update() { LOOKED_AT } else { ASIDE };
        tokio::select! {
            // What somebody does is shown at once.
            biased;
            asked = self.asked.recv() => asked.map(Some).ok_or(Gone),
            changed = self.looked_at.changed() => changed.map(|()| None).map_err(|_| Gone),
            () = sleep(pause) => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_end_waits_for_the_task() {
        let (held, mut holds) = mpsc::channel::<()>(1);
        let beside: Beside<()> = Beside::start(Clock::start(), "gone", |other| async move {
            let _held = (held, other);
            pending().await
        });
        beside.end().await;
        assert_eq!(holds.try_recv(), Err(mpsc::error::TryRecvError::Disconnected), "the task is gone");
    }

    #[tokio::test]
    async fn what_is_asked_of_nobody_or_of_somebody_busy_is_refused_with_the_reason() {
        let beside: Beside<usize> = Beside::start(Clock::start(), "it is over", |other| async move {
            let _other = other;
            pending().await
        });
        for number in 0..ASKED {
            assert_eq!(beside.ask(number), Ok(()));
        }
        assert!(beside.ask(ASKED).is_err_and(|why| why.contains("left out")));
        let mut over: Beside<usize> = Beside::start(Clock::start(), "it is over", |_| async {});
        assert_eq!(over.observed.recv().await, None);
        assert_eq!(over.ask(1), Err("it is over".into()));
        over.end().await;
    }
}
