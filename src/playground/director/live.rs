//! The director of a run in real time, as a task beside the company.

use std::future::Future;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::warn;

use super::{Act, Director};
use crate::domain::play::Happening;
use crate::domain::raft::{ClusterTime, Fault, RaftPicture, TermRecord};
use crate::pace::Clock;
use crate::playground::company::Control;
use crate::playground::publish::View;

/// The director looks up so often, by the wall's clock.
const TICK: Duration = Duration::from_millis(25);

/// And at the cluster, and tells how what is expected stands, once in so many times.
const LOOKS: u32 = 4;

/// A cluster to which things can be done.
pub trait Theatre: Send + Sync + 'static {
    /// Does something to it.
    ///
    /// # Errors
    /// In words, when it cannot be done.
    fn fault(&self, fault: Fault) -> impl Future<Output = Result<(), String>> + Send;

    /// How it is, as far as it tells.
    fn picture(&self) -> impl Future<Output = Option<RaftPicture>> + Send;

    /// Its terms alone, as far as it tells.
    fn terms(&self) -> impl Future<Output = Option<Vec<TermRecord>>> + Send;
}

/// A director at work. When it is dropped the work ends.
#[derive(Debug)]
pub struct Direction {
    task: JoinHandle<Director>,
    end: DropGuard,
}

impl Direction {
    /// Leads the company of `control`; `theatre` is where it plays, when things can be done to that.
    pub fn start(director: Director, control: Control, clock: Clock, theatre: Option<impl Theatre>) -> Self {
        let ended = CancellationToken::new();
        let end = ended.clone().drop_guard();
        let view = control.view().clone();
        let work = Work { director, control, view, clock, theatre, next: 0, looks: 0 };
        Self { task: tokio::spawn(work.run(ended)), end }
    }

    /// Ends the work. What happened up to now is known to the director; how it stands is asked of it.
    /// None when its task failed.
    pub async fn stop(self) -> Option<Director> {
        drop(self.end);
        match self.task.await {
            Err(ended) if ended.is_panic() => std::panic::resume_unwind(ended.into_panic()),
            ended => ended.ok(),
        }
    }
}

struct Work<T> {
    director: Director,
    control: Control,
    view: View,
    clock: Clock,
    theatre: Option<T>,
    /// The first moment that the director does not know yet.
    next: u64,
    looks: u32,
}

impl<T: Theatre> Work<T> {
    async fn run(mut self, ended: CancellationToken) -> Director {
        let work = async {
            loop {
                self.turn().await;
                let due = self.director.next().filter(|due| *due > self.clock.now());
                tokio::select! {
                    () = until(&self.clock, due) => {}
                    () = sleep(TICK) => {}
                }
            }
        };
        tokio::select! {
            // The end first: nothing is to be done any more.
            biased;
            () = ended.cancelled() => {}
            () = work => {}
        }
        self.take_in();
        self.look().await;
        self.director
    }

    async fn turn(&mut self) {
        self.take_in();
        let now = self.clock.now();
        let due = self.director.next().is_some_and(|due| due <= now);
        if due || self.looks == 0 {
            self.look().await;
        }
        if due {
            for act in self.director.act(now) {
                self.carry_out(act).await;
            }
        }
        if due || self.looks == 0 {
            let now = self.clock.now();
            let expected = self.view.look(|tally| self.director.expected(tally, now));
            self.view.set_told(self.director.narration().cloned(), expected);
        }
        self.looks = (self.looks + 1) % LOOKS;
    }

    fn take_in(&mut self) {
        let next = self.next;
        let moments: Vec<_> = self.view.look(|tally| {
            let (moments, first) = tally.moments_since(next);
            self.next = first + moments.len() as u64;
            moments.cloned().collect()
        });
        for moment in &moments {
            self.director.see(moment);
        }
    }

    async fn look(&mut self) {
        let Some(theatre) = &self.theatre else { return };
        if !self.director.needs_cluster() {
            // A whole picture says much more, and is made each time.
            let Some(terms) = theatre.terms().await else { return };
            return self.view.see_terms(&terms);
        }
        let Some(picture) = theatre.picture().await else { return };
        self.view.see_terms(&picture.terms);
        self.director.look(picture);
    }

    async fn carry_out(&self, act: Act) {
        let done = match act {
            Act::Order(order) => self.control.order(order).await.map(drop),
            Act::Tell(number) => {
                self.view.note(Happening::Told(number));
                Ok(())
            }
            Act::Fault(fault) => match &self.theatre {
                Some(theatre) => theatre.fault(fault).await.map(|()| self.view.note(Happening::Fault(fault))),
                None => Err("nothing can be done to this cluster".into()),
            },
        };
        // What cannot be done leaves no moment, and no expectation rests on it.
        if let Err(why) = done {
            warn!(%why, "the scenario wanted something that cannot be done");
        }
    }
}

async fn until(clock: &Clock, due: Option<ClusterTime>) {
    match due {
        Some(due) => clock.until(due).await,
        None => std::future::pending().await,
    }
}
