//! Where things were drawn: what a click meets, and how many rows each pane shows.
//!
//! The view makes one for each frame, and it travels with the next input, so that a click
//! means what was on the screen when it was made, whatever arrived since. Rows carry
//! identities for the same reason.

use super::{Action, Pane};
use crate::domain::play::ClientId;
use crate::domain::raft::NodeId;
use crate::domain::{Key, LeaseId, MemberId, RaftIndex};

/// What was drawn where in one frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    /// In the order of drawing: what comes later lies on top.
    areas: Vec<(Rect, Target)>,
    /// The panes in the order the focus goes through them.
    panes: Vec<(Pane, Extent)>,
}

/// A rectangle of cells; counted from 0 at the top left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rect {
    /// Its leftmost column.
    pub x: u16,
    /// Its top row.
    pub y: u16,
    /// Its columns.
    pub width: u16,
    /// Its rows.
    pub height: u16,
}

/// How much of its content a pane shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// The rows it has room for.
    pub rows: usize,
    /// The rows its whole content has.
    pub len: usize,
}

/// What a click or the wheel meets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A tab, a column's header, a hint of the footer: does what its key does.
    Do(Action),
    /// The row of a lock, by its name.
    Lock(Key),
    /// The row of a key in a queue.
    Queued(Key),
    /// The row of a lease.
    Lease(LeaseId),
    /// The row of a member.
    Member(MemberId),
    /// A node of the embedded cluster, in the ring or in a table.
    Node(NodeId),
    /// An entry of a node's log.
    Entry(NodeId, RaftIndex),
    /// The row of a request, by the number of its way.
    Request(u64),
    /// A simulated client: its lane or its row.
    Client(ClientId),
    /// A row of who waits for whom.
    Wait(WaitId),
    /// The sentence of a moment, by its number.
    Moment(u64),
    /// A pane; whatever it shows is drawn after it.
    Pane(Pane),
}

/// A row of who waits for whom, by what it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitId {
    /// A circle, by the key that its first client is known by.
    Circle(Key),
    /// A client, by the key it is known by.
    Client(Key),
    /// The folded rest of those that wait for a lock, by the key of the client they hang on and the
    /// lock's name.
    Fold(Key, Key),
}

impl Rect {
    /// Whether a cell lies in it.
    pub const fn contains(&self, column: u16, row: u16) -> bool {
        column >= self.x && row >= self.y && column - self.x < self.width && row - self.y < self.height
    }
}

impl Hits {
    /// Notes that `target` was drawn in a rectangle.
    pub fn push(&mut self, rect: Rect, target: Target) {
        self.areas.push((rect, target));
    }

    /// Notes a pane, drawn in a rectangle, and how much of its content it shows.
    pub fn push_pane(&mut self, rect: Rect, pane: Pane, extent: Extent) {
        self.panes.push((pane, extent));
        self.push(rect, Target::Pane(pane));
    }

    /// What lies on top at a cell.
    pub fn at(&self, column: u16, row: u16) -> Option<&Target> {
        self.areas.iter().rev().find(|(rect, _)| rect.contains(column, row)).map(|(_, target)| target)
    }

    /// The topmost pane at a cell.
    pub fn pane_at(&self, column: u16, row: u16) -> Option<Pane> {
        self.areas.iter().rev().find_map(|(rect, target)| match target {
            Target::Pane(pane) if rect.contains(column, row) => Some(*pane),
            _ => None,
        })
    }

    /// The panes that were drawn, in the order the focus goes through them, with their extents.
    pub fn panes(&self) -> &[(Pane, Extent)] {
        &self.panes
    }

    /// All areas in the order of drawing.
    pub fn areas(&self) -> &[(Rect, Target)] {
        &self.areas
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rect(x: u16, y: u16, width: u16, height: u16) -> Rect {
        Rect { x, y, width, height }
    }

    #[test]
    fn what_was_drawn_last_lies_on_top() {
        let mut hits = Hits::default();
        hits.push_pane(rect(0, 2, 80, 10), Pane::Locks, Extent { rows: 8, len: 23 });
        hits.push(rect(1, 4, 78, 1), Target::Lock("/a".into()));
        hits.push_pane(rect(20, 3, 40, 6), Pane::Help, Extent { rows: 4, len: 60 });
        assert_eq!(hits.at(1, 4), Some(&Target::Lock("/a".into())));
        assert_eq!(hits.at(20, 4), Some(&Target::Pane(Pane::Help)), "the help covers the row");
        assert_eq!(hits.at(79, 11), Some(&Target::Pane(Pane::Locks)));
        assert_eq!(hits.at(80, 11), None, "one column too far");
        assert_eq!(hits.at(5, 12), None, "one row too far");
        assert_eq!(hits.pane_at(1, 4), Some(Pane::Locks), "a row is part of its pane");
        assert_eq!(hits.panes()[0], (Pane::Locks, Extent { rows: 8, len: 23 }));
    }

    #[test]
    fn areas_at_the_far_end_of_the_grid_do_not_overflow() {
        let mut hits = Hits::default();
        hits.push(rect(u16::MAX, u16::MAX, 10, 10), Target::Do(Action::Quit));
        assert_eq!(hits.at(u16::MAX, u16::MAX), Some(&Target::Do(Action::Quit)));
        assert_eq!(hits.at(0, 0), None);
    }
}
