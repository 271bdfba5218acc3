//! Watching for a while without a screen: the source and the model of the dashboard.

use color_eyre::eyre::eyre;
use tokio::time::{Duration, Instant, sleep_until};

use super::exit::Failure;
use super::reading;
use crate::config::Config;
use crate::effect::Effect;
use crate::event::Event;
use crate::model::{Facts, Model, Ui};
use crate::port;
use crate::runtime::clock::Clock;
use crate::source::{self, Wires};
use crate::update::update;

/// Watches for so long; returns what is known then.
///
/// # Errors
/// When a file for TLS cannot be read. A connection that is lost is a state of the model.
pub async fn watch_for(config: &Config, length: Duration) -> Result<Model, Failure> {
    let pool = reading::pool(config)?;
    let clock = Clock::start();
    let stamps = clock.clone();
    let stamps = port::Clock::new(move || stamps.now());
    let (source, Wires { mut observations, polls, .. }) =
        source::Handle::start(pool, reading::watching(config), stamps);
    let mut model = Model::new(Facts::new(config.polling.budget), Ui::default());
    model.diagnose_by(None);
    let end = Instant::now() + length;
    let ended = loop {
        let tick = model.live().next_deadline().map(|at| clock.instant(at));
        tokio::select! {
            // A cluster that is busy must not keep the end away, nor its leases from being asked.
            biased;
            () = sleep_until(end) => break Ok(()),
            () = sleep_until(tick.unwrap_or(end)), if tick.is_some() => {
                for effect in update(&mut model, Event::Tick(clock.now())) {
                    if let Effect::PollLeases(leases) = effect {
                        // When the source is behind with polls, the model asks again.
                        let _ = polls.try_send(leases);
                    }
                }
            }
            observed = observations.recv() => match observed {
                Some(observed) => {
                    update(&mut model, Event::Observed(observed));
                }
                None => break Err(Failure::Unexpected(eyre!("the watch of the cluster ended by itself"))),
            },
        }
    };
    source.stop().await;
    update(&mut model, Event::Tick(clock.now()));
    ended.map(|()| model)
}
