//! The simulated clients beside a session: pictures of them come in, orders to them go out.

use std::future::pending;
use std::pin::Pin;
use std::time::Duration;

use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::warn;

use super::clock::Clock;
use crate::domain::play::{Order, PlayPicture};
use crate::event::{Observation, Stamped};
use crate::playground::Control;

/// The time between pictures while they are looked at: as often as motion is drawn.
const LOOKED_AT: Duration = Duration::from_millis(50);
/// And while another screen is: what happened meanwhile is in them all the same.
const ASIDE: Duration = Duration::from_secs(1);
/// Orders that wait to be carried out; hands are slower than that.
const ORDERS: usize = 16;
/// Pictures and answers that wait to be taken in: a session that is slow is shown fewer.
const PICTURES: usize = 2;

/// What comes of an order, later.
pub type Carried<'a> = Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;

/// A run of simulated clients, as whoever shows it needs it.
pub trait Playing: Send + Sync {
    /// How the clients are, with all that happened since the moment of this number.
    fn picture(&self, since: u64) -> PlayPicture;

    /// Carries an order out. The error says in words why it could not be.
    fn order(&self, order: Order) -> Carried<'_>;
}

impl Playing for Control {
    fn picture(&self, since: u64) -> PlayPicture {
        self.view().picture(since)
    }

    fn order(&self, order: Order) -> Carried<'_> {
        Box::pin(Self::order(self, order))
    }
}

/// A run that begins, once the cluster answers; dropped at the other end, there is none.
pub type Begins = oneshot::Receiver<Box<dyn Playing>>;

/// The session's end.
pub(super) struct Play {
    observed: mpsc::Receiver<Stamped<Observation>>,
    orders: mpsc::Sender<Order>,
    looked_at: watch::Sender<bool>,
    task: JoinHandle<()>,
    /// Ends the task.
    end: DropGuard,
}

impl Play {
    /// Connects a run with a session.
    pub fn connect(begins: Begins, clock: Clock) -> Self {
        let (tell, observed) = mpsc::channel(PICTURES);
        let (orders, asked) = mpsc::channel(ORDERS);
        let (looked_at, attention) = watch::channel(false);
        let ended = CancellationToken::new();
        let between = Between { observed: tell, clock, orders: asked, looked_at: attention, next: 0 };
        let task = tokio::spawn(between.run(begins, ended.clone()));
        Self { observed, orders, looked_at, task, end: ended.drop_guard() }
    }

    /// Ends the connection and waits until it has ended; the clients play on.
    pub async fn end(self) {
        drop(self.end);
        if let Err(error) = self.task.await {
            warn!(%error, "what was between the clients and the session failed");
        }
    }

    /// The next thing it tells; never, when there is no run or it is over. Nothing is lost when
    /// this is dropped.
    pub async fn observe(play: Option<&mut Self>) -> Stamped<Observation> {
        if let Some(play) = play
            && let Some(observed) = play.observed.recv().await
        {
            return observed;
        }
        pending().await
    }

    /// Has an order carried out. What it led to comes as an observation.
    ///
    /// # Errors
    /// Why it will not be, in words: too many wait, or there is no run any more.
    pub fn order(&self, order: Order) -> Result<(), String> {
        self.orders.try_send(order).map_err(|failed| match failed {
            TrySendError::Full(_) => "it is left out: those before it are not carried out yet".to_owned(),
            TrySendError::Closed(_) => "the clients have stopped".to_owned(),
        })
    }

    /// Says whether the pictures are looked at, which decides how many there are.
    pub fn look_at(&self, looks: bool) {
        self.looked_at.send_if_modified(|looked_at| std::mem::replace(looked_at, looks) != looks);
    }
}

/// The task between the two.
struct Between {
    observed: mpsc::Sender<Stamped<Observation>>,
    clock: Clock,
    orders: mpsc::Receiver<Order>,
    looked_at: watch::Receiver<bool>,
    /// The number of the first moment that was not told yet.
    next: u64,
}

/// The session is gone.
struct Gone;

impl Between {
    async fn run(mut self, begins: Begins, ended: CancellationToken) {
        let gone = async {
            // Whoever was to begin it has said why it did not.
            let Ok(run) = begins.await else { return };
            while let Ok(()) = self.turn(&*run).await {}
        };
        tokio::select! {
            // The end first: a session that is over wants no more pictures.
            biased;
            () = ended.cancelled() => {}
            () = gone => {}
        }
    }

    async fn turn(&mut self, run: &dyn Playing) -> Result<(), Gone> {
        let picture = run.picture(self.next);
        self.next = picture.before + u64::try_from(picture.moments.len()).unwrap_or(u64::MAX);
        self.tell(Observation::Play(Box::new(picture))).await?;
        let pause = if *self.looked_at.borrow_and_update() { LOOKED_AT } else { ASIDE };
        tokio::select! {
            // What somebody does is shown at once.
            biased;
            order = self.orders.recv() => {
                let order = order.ok_or(Gone)?;
                let done = run.order(order.clone()).await;
                self.tell(Observation::OrderDone(order, done)).await
            }
            changed = self.looked_at.changed() => changed.map_err(|_| Gone),
            () = sleep(pause) => Ok(()),
        }
    }

    async fn tell(&self, what: Observation) -> Result<(), Gone> {
        self.observed.send(Stamped { at: self.clock.now(), what }).await.map_err(|_| Gone)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::domain::Key;
    use crate::domain::play::{Happening, Moment};
    use crate::domain::raft::ClusterTime;

    /// A run in which something happens whenever somebody looks.
    #[derive(Default)]
    struct Run {
        happened: AtomicU64,
    }

    impl Playing for Run {
        fn picture(&self, since: u64) -> PlayPicture {
            let count = self.happened.fetch_add(3, Ordering::Relaxed) + 3;
            let moment =
                |at| Moment { at: ClusterTime(at), lock: Key::default(), client: None, what: Happening::Began };
            PlayPicture { before: since, moments: (since..count).map(moment).collect(), ..PlayPicture::default() }
        }

        fn order(&self, order: Order) -> Carried<'_> {
            Box::pin(async move { if order == Order::Add(7) { Err("seven are too many".into()) } else { Ok(()) } })
        }
    }

    fn began() -> Play {
        let (begin, begins) = oneshot::channel();
        let run: Box<dyn Playing> = Box::new(Run::default());
        assert!(begin.send(run).is_ok());
        Play::connect(begins, Clock::start())
    }

    async fn next(play: &mut Play) -> Observation {
        Play::observe(Some(play)).await.what
    }

    #[tokio::test(start_paused = true)]
    async fn every_moment_is_told_once_however_rarely_somebody_looks() {
        let mut play = began();
        let mut expected = 0;
        for round in 0..10 {
            play.look_at(round % 2 == 0);
            let Observation::Play(picture) = next(&mut play).await else { panic!("a picture") };
            assert_eq!(picture.before, expected);
            let times: Vec<u64> = picture.moments.iter().map(|moment| moment.at.0).collect();
            expected += u64::try_from(times.len()).unwrap();
            assert!(!times.is_empty() && times.last() == Some(&(expected - 1)), "{times:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_order_is_answered_at_once_and_says_why_it_was_not_carried_out() {
        let mut play = began();
        assert!(matches!(next(&mut play).await, Observation::Play(_)));
        play.order(Order::Add(7)).unwrap();
        play.order(Order::Add(1)).unwrap();
        let mut done = Vec::new();
        while done.len() < 2 {
            if let Observation::OrderDone(order, result) = next(&mut play).await {
                done.push((order, result));
            }
        }
        assert_eq!(done, [(Order::Add(7), Err("seven are too many".into())), (Order::Add(1), Ok(()))]);
    }

    #[tokio::test]
    async fn a_run_that_does_not_begin_tells_nothing_and_takes_no_order() {
        let (begin, begins) = oneshot::channel();
        let mut play = Play::connect(begins, Clock::start());
        drop(begin);
        assert_eq!(play.observed.recv().await, None);
        assert_eq!(play.order(Order::Add(1)), Err("the clients have stopped".into()));
        play.end().await;
    }

    #[tokio::test]
    async fn an_end_waits_for_the_task_though_the_run_never_began() {
        let (begin, begins) = oneshot::channel::<Box<dyn Playing>>();
        let play = Play::connect(begins, Clock::start());
        play.end().await;
        assert!(begin.is_closed());
    }
}
