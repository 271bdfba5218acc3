//! The simulated clients beside a session: pictures of them come in, orders to them go out.

use std::pin::Pin;

use tokio::sync::oneshot;

use super::beside::{Beside, Gone, Other};
use super::clock::Clock;
use crate::domain::play::{Done, Order, PlayPicture};
use crate::event::Observation;
use crate::playground::Control;

/// What comes of an order, later.
pub type Carried<'a> = Pin<Box<dyn Future<Output = Result<Done, String>> + Send + 'a>>;

/// A run of simulated clients, as whoever shows it needs it.
pub trait Playing: Send + Sync {
    /// How the clients are, with all that happened since the moment of this number.
    fn picture(&self, since: u64) -> PlayPicture;

    /// Carries an order out; what it came to, and to whom. The error says in words why it could not be.
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

/// Connects a run with a session. Whoever started the clients stops them.
pub(super) fn connect(begins: Begins, clock: Clock) -> Beside<Order> {
    Beside::start(clock, "the clients have stopped", |mut other| async move {
        // Whoever was to begin it has said why it did not.
        let Ok(run) = begins.await else { return };
        let mut next = 0;
        while let Ok(()) = turn(&*run, &mut next, &mut other).await {}
    })
}

/// Tells what happened from the moment of number `next` on, and carries out what is asked.
async fn turn(run: &dyn Playing, next: &mut u64, other: &mut Other<Order>) -> Result<(), Gone> {
    let picture = run.picture(*next);
    *next = picture.before + u64::try_from(picture.moments.len()).unwrap_or(u64::MAX);
    other.tell(Observation::Play(Box::new(picture))).await?;
    let Some(order) = other.asked().await? else { return Ok(()) };
    let (order, done) = match run.order(order.clone()).await {
        // Who was meant is known by now.
        Ok(done) => (done.order(), Ok(())),
        Err(why) => (order, Err(why)),
    };
    other.tell(Observation::OrderDone(order, done)).await
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::domain::Key;
    use crate::domain::play::{ClientId, Happening, Moment};
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
            Box::pin(async move {
                match order {
                    Order::Add(7) => Err("seven are too many".into()),
                    Order::Add(count) => Ok(Done::Joined((1..=u32::from(count)).map(ClientId).collect())),
                    // The second one holds.
                    Order::Client(_, ill) => Ok(Done::Client(ClientId(2), ill)),
                }
            })
        }
    }

    fn began() -> Beside<Order> {
        let (begin, begins) = oneshot::channel();
        let run: Box<dyn Playing> = Box::new(Run::default());
        assert!(begin.send(run).is_ok());
        connect(begins, Clock::start())
    }

    async fn next(play: &mut Beside<Order>) -> Observation {
        Beside::observe(Some(play)).await.what
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
        play.ask(Order::Add(7)).unwrap();
        play.ask(Order::Add(1)).unwrap();
        play.ask("crash holder".parse().unwrap()).unwrap();
        let mut done = Vec::new();
        while done.len() < 3 {
            if let Observation::OrderDone(order, result) = next(&mut play).await {
                done.push((order, result));
            }
        }
        let crashed = "crash client-2".parse().unwrap();
        assert_eq!(
            done,
            [(Order::Add(7), Err("seven are too many".into())), (Order::Add(1), Ok(())), (crashed, Ok(()))],
            "whom it was done to is told, not who was named"
        );
    }

    #[tokio::test]
    async fn a_run_that_does_not_begin_tells_nothing_and_takes_no_order() {
        let (begin, begins) = oneshot::channel();
        let mut play = connect(begins, Clock::start());
        drop(begin);
        assert_eq!(play.observed.recv().await, None);
        assert_eq!(play.ask(Order::Add(1)), Err("the clients have stopped".into()));
        play.end().await;
    }

    #[tokio::test]
    async fn an_end_waits_for_the_task_though_the_run_never_began() {
        let (begin, begins) = oneshot::channel::<Box<dyn Playing>>();
        let play = connect(begins, Clock::start());
        play.end().await;
        assert!(begin.is_closed());
    }
}
