//! Groups of members: the table's rows for groups, tried in order.

use super::family::{self, Group};
use super::{Layout, QueueFacts, Recognised};

/// Says which recipe a group of members follows. Not every group is a lock: barriers, work
/// queues and registrations are grouped by their names as well.
pub fn recognise_queue(group: &QueueFacts<'_>) -> Recognised {
    let group = Group::new(group);
    family::queues().find(|row| (row.matches)(&group)).map_or(Recognised { layout: Layout::Queue, family: "" }, |row| {
        Recognised { layout: row.layout, family: row.family }
    })
}
