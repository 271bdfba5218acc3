//! Time passes.

use crate::domain::Timestamp;
use crate::effect::{Effect, Effects};
use crate::model::Model;

/// Moves the model to `now`, and asks for the lease polls that are due.
pub fn tick(model: &mut Model, now: Timestamp) -> Effects {
    // What is visible matters only when there is something to ask.
    let asks = model.live().next_deadline().is_some_and(|due| due <= now);
    let visible = if asks { model.ui.visible_leases(model.shown()) } else { Vec::new() };
    let due = model.live_mut().pass_time(now, &visible);
    model.settle(now);
    if due.is_empty() { Effects::new() } else { vec![Effect::PollLeases(due)] }
}
