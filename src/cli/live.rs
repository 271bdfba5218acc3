//! The loop of the dashboard without a screen: the source and the model, for commands that watch.
//!
//! Each command has its own end and prints what it likes; how time passes in the model, how leases
//! come to be asked and how facts get in is the same for all.

use color_eyre::eyre::eyre;
use tokio::sync::mpsc;
use tokio::time::{Duration, Instant, sleep_until};

use super::exit::Failure;
use super::reading;
use crate::config::Config;
use crate::domain::LeaseId;
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
}

impl Live {
    /// Starts to watch what the settings say.
    pub fn start(pool: Pool, config: &Config, clock: Clock) -> Self {
        let stamps = clock.clone();
        let stamps = port::Clock::new(move || stamps.now());
        let (source, Wires { observations, polls, .. }) =
            source::Handle::start(pool, reading::watching(config), stamps);
        Self { model: reading::empty(config.polling.budget), clock, source, observations, polls }
    }

    /// When the model wants to be told the time, if it does.
    pub fn next_tick(&self) -> Option<Instant> {
        self.model.live().next_deadline().map(|at| self.clock.instant(at))
    }

    /// Lets time pass, and asks the leases whose turn it is.
    pub fn tick(&mut self) {
        for effect in update(&mut self.model, Event::Tick(self.clock.now())) {
            if let Effect::PollLeases(leases) = effect {
                // When the source is behind with polls, the model asks again.
                let _ = self.polls.try_send(leases);
            }
        }
    }

    /// Waits for the next fact. Nothing is lost when the wait is given up.
    ///
    /// # Errors
    /// When the source ended by itself, which is a bug.
    pub async fn observed(&mut self) -> Result<Stamped<Observation>, Failure> {
        let observed = self.observations.recv().await;
        observed.ok_or_else(|| Failure::Unexpected(eyre!("the watch of the cluster ended by itself")))
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
        let tick = live.next_tick();
        tokio::select! {
            // A cluster that is busy must not keep the end away, nor its leases from being asked.
            biased;
            () = sleep_until(end) => break Ok(()),
            () = sleep_until(tick.unwrap_or(end)), if tick.is_some() => live.tick(),
            observed = live.observed() => match observed {
                Ok(observed) => {
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
