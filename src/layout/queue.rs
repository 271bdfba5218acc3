//! Groups of members.
use super::{Layout, QueueFacts, Recognised};
/// Says which recipe a group of members follows.
pub fn recognise_queue(_group: &QueueFacts<'_>) -> Recognised {
    Recognised { layout: Layout::Queue, family: "" }
}
