//! Time passes.

use crate::domain::Timestamp;
use crate::effect::{Effect, Effects};
use crate::model::Model;

/// Moves the model to `now`, and asks for the lease polls that are due.
pub fn tick(model: &mut Model, now: Timestamp) -> Effects {
    let visible = Vec::new();
    let due = model.live_mut().pass_time(now, &visible);
    if due.is_empty() { Effects::new() } else { vec![Effect::PollLeases(due)] }
}
