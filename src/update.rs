//! The only way the model changes.
//!
//! `update` takes one event, brings the model up to date and says what is to be done. It
//! reads no clock and waits for nothing, so the same events always lead to the same model.

mod action;
mod copying;
mod dialog;
mod faults;
mod moving;
mod navigating;
mod observation;
mod play;
mod pointer;
mod raft;
#[cfg(test)]
mod testing;
mod tick;
mod typing;

use crate::effect::Effects;
use crate::event::{Event, Observation, Stamped};
use crate::model::Model;

/// Takes in one event.
pub fn update(model: &mut Model, event: Event) -> Effects {
    match event {
        Event::Observed(Stamped { at, what: Observation::FaultDone(fault, result) }) => {
            model.live_mut().see_time(at);
            faults::done(model, fault, result);
            Effects::new()
        }
        Event::Observed(Stamped { at, what: Observation::OrderDone(order, result) }) => {
            model.live_mut().see_time(at);
            play::done(model, order, result);
            Effects::new()
        }
        Event::Observed(Stamped { at, what: Observation::LeaseKeys(lease, answer) }) => {
            model.live_mut().see_time(at);
            dialog::told(model, lease, answer);
            Effects::new()
        }
        Event::Observed(Stamped { at, what: Observation::WriteDone(done) }) => {
            model.live_mut().see_time(at);
            dialog::done(model, *done);
            Effects::new()
        }
        Event::Observed(observed) => {
            let at = observed.at;
            observation::observe(model.live_mut(), observed);
            model.look_again(at);
            Effects::new()
        }
        Event::Tick(now) => tick::tick(model, now),
        Event::Input(input, hits) => action::input(model, input, &hits),
    }
}
