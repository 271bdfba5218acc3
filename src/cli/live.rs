//! The loop of the dashboard without a screen: the source and the model, for commands that watch.
//!
//! Each command has its own end and prints what it likes; how time passes in the model, how leases
//! come to be asked and how facts get in is the same for all.

use std::pin::Pin;

use color_eyre::eyre::eyre;
use tokio::sync::mpsc;
use tokio::time::{Duration, Instant, Sleep, sleep_until};

use super::exit::Failure;
use super::reading;
use crate::config::Config;
use crate::domain::{LeaseId, Timestamp};
use crate::effect::Effect;
use crate::event::{Event, Observation, Stamped};
use crate::model::Model;
use crate::port::{self, Pool};
use crate::runtime::clock::Clock;
use crate::source::{self, Wires};
use crate::update::update;

/// A cluster that is watched, and what is known of it.
pub struct Live {
    /// What is known. It makes no diagnosis by itself: who prints one makes it in the end.
    pub model: Model,
    clock: Clock,
    source: source::Handle,
    observations: mpsc::Receiver<Stamped<Observation>>,
    polls: mpsc::Sender<Vec<LeaseId>>,
    /// Rings when the model wants to be told the time. It is kept from one fact to the next: to make one
    /// costs as much as to take in a fact.
    timer: Pin<Box<Sleep>>,
    /// The time in the model it was set to.
    timer_at: Option<Timestamp>,
}

impl Live {
    /// Starts to watch what the settings say.
    pub fn start(pool: Pool, config: &Config, clock: Clock) -> Self {
        let stamps = clock.clone();
        let stamps = port::Clock::new(move || stamps.now());
        let (source, Wires { observations, polls, .. }) =
            source::Handle::start(pool, reading::watching(config), stamps);
        let model = reading::empty(config.polling.budget);
        let timer = Box::pin(sleep_until(Instant::now()));
        Self { model, clock, source, observations, polls, timer, timer_at: None }
    }

    /// Lets time pass, and asks the leases whose turn it is.
    fn tick(&mut self) {
        for effect in update(&mut self.model, Event::Tick(self.clock.now())) {
            if let Effect::PollLeases(leases) = effect {
                // When the source is behind with polls, the model asks again.
                let _ = self.polls.try_send(leases);
            }
        }
    }

    /// Waits for the next fact, or until the model was told the time: then there is none. Nothing is lost
    /// when the wait is given up.
    ///
    /// # Errors
    /// When the source ended by itself, which is a bug.
    pub async fn observed(&mut self) -> Result<Option<Stamped<Observation>>, Failure> {
        let facts = self.model.live();
        let due = facts.next_deadline();
        // The clock of the model jumps where the machine slept, and that of the timer does not.
        let jumped = due.is_some_and(|due| due <= facts.now());
        if jumped || due != self.timer_at {
            self.timer_at = due;
            if let Some(due) = due {
                self.timer.as_mut().reset(self.clock.instant(due));
            }
        }
        tokio::select! {
            // A cluster that is busy must not keep its leases from being asked.
            biased;
            () = &mut self.timer, if due.is_some() => {
                self.timer_at = None;
                self.tick();
                Ok(None)
            }
            observed = self.observations.recv() => match observed {
                Some(observed) => Ok(Some(observed)),
                None => Err(Failure::Unexpected(eyre!("the watch of the cluster ended by itself"))),
            },
        }
    }

    /// The next fact, if it is here already.
    pub fn observed_already(&mut self) -> Option<Stamped<Observation>> {
        self.observations.try_recv().ok()
    }

    /// Takes in a fact.
    pub fn take(&mut self, observed: Stamped<Observation>) {
        update(&mut self.model, Event::Observed(observed));
    }

    /// Hangs up.
    pub async fn stop(self) -> Model {
        self.source.stop().await;
        self.model
    }
}

/// What came of watching for a while.
pub struct Watched {
    /// What is known then.
    pub model: Model,
    /// Whether the leases that were asked last gave no answer, not one.
    pub silent_leases: bool,
}

/// Watches for so long; returns what is known then.
///
/// # Errors
/// When a file for TLS cannot be read. A connection that is lost is a state of the model.
pub async fn watch_for(config: &Config, length: Duration) -> Result<Watched, Failure> {
    let clock = Clock::start();
    let mut live = Live::start(reading::pool(config)?, config, clock.clone());
    let end = Instant::now() + length;
    let mut silent_leases = false;
    let ended = loop {
        tokio::select! {
            // A cluster that is busy must not keep the end away.
            biased;
            () = sleep_until(end) => break Ok(()),
            observed = live.observed() => match observed {
                Ok(None) => {}
                Ok(Some(observed)) => {
                    if let Observation::LeasesPolled(cost) = &observed.what {
                        silent_leases = cost.asked > 0 && cost.failed == cost.asked;
                    }
                    live.take(observed);
                }
                Err(failure) => break Err(failure),
            },
        }
    };
    let mut model = live.stop().await;
    update(&mut model, Event::Tick(clock.now()));
    ended.map(|()| Watched { model, silent_leases })
}
