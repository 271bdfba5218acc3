//! Where things were drawn: what a click meets, and how many rows each pane shows.
//!
//! The view makes one for each frame, and it travels with the next input, so that a click
//! means what was on the screen when it was made, whatever arrived since. Rows carry
//! identities for the same reason.

use super::{Action, Pane};
use crate::domain::{Key, LeaseId, MemberId};

/// What was drawn where in one frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    /// In the order of drawing: what comes later lies on top.
    areas: Vec<Area>,
    /// The panes in the order the focus goes through them, with the rows each can show.
    panes: Vec<(Pane, u16)>,
}

/// A rectangle of cells and what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Area {
    /// Its leftmost column.
    pub x: u16,
    /// Its top row.
    pub y: u16,
    /// Its columns.
    pub width: u16,
    /// Its rows.
    pub height: u16,
    /// What it means.
    pub target: Target,
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
    /// A pane; whatever it shows is drawn after it.
    Pane(Pane),
}

impl Area {
    /// Whether a cell lies in it.
    pub const fn contains(&self, column: u16, row: u16) -> bool {
        column >= self.x && row >= self.y && column - self.x < self.width && row - self.y < self.height
    }
}

impl Hits {
    /// Notes that `target` was drawn in a rectangle.
    pub fn push(&mut self, x: u16, y: u16, width: u16, height: u16, target: Target) {
        self.areas.push(Area { x, y, width, height, target });
    }

    /// Notes a pane, drawn in a rectangle, that shows `rows` rows of its content.
    pub fn push_pane(&mut self, x: u16, y: u16, width: u16, height: u16, pane: Pane, rows: u16) {
        self.panes.push((pane, rows));
        self.push(x, y, width, height, Target::Pane(pane));
    }

    /// What lies on top at a cell.
    pub fn at(&self, column: u16, row: u16) -> Option<&Target> {
        self.areas.iter().rev().find(|area| area.contains(column, row)).map(|area| &area.target)
    }

    /// The topmost pane at a cell.
    pub fn pane_at(&self, column: u16, row: u16) -> Option<Pane> {
        self.areas.iter().rev().find_map(|area| match area.target {
            Target::Pane(pane) if area.contains(column, row) => Some(pane),
            _ => None,
        })
    }

    /// The panes that were drawn, in the order the focus goes through them.
    pub fn panes(&self) -> impl DoubleEndedIterator<Item = Pane> + ExactSizeIterator + Clone + '_ {
        self.panes.iter().map(|&(pane, _)| pane)
    }

    /// How many rows of its content a pane showed; `None` when it was not drawn.
    pub fn rows(&self, pane: Pane) -> Option<u16> {
        self.panes.iter().find(|&&(shown, _)| shown == pane).map(|&(_, rows)| rows)
    }

    /// All areas in the order of drawing.
    pub fn areas(&self) -> &[Area] {
        &self.areas
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_drawn_last_lies_on_top() {
        let mut hits = Hits::default();
        hits.push_pane(0, 2, 80, 10, Pane::Locks, 8);
        hits.push(1, 4, 78, 1, Target::Lock("/a".into()));
        hits.push_pane(20, 3, 40, 6, Pane::Help, 4);
        assert_eq!(hits.at(1, 4), Some(&Target::Lock("/a".into())));
        assert_eq!(hits.at(20, 4), Some(&Target::Pane(Pane::Help)), "the help covers the row");
        assert_eq!(hits.at(79, 11), Some(&Target::Pane(Pane::Locks)));
        assert_eq!(hits.at(80, 11), None, "one column too far");
        assert_eq!(hits.at(5, 12), None, "one row too far");
        assert_eq!(hits.pane_at(1, 4), Some(Pane::Locks), "a row is part of its pane");
        assert_eq!(hits.rows(Pane::Locks), Some(8));
        assert_eq!(hits.rows(Pane::Log), None);
    }

    #[test]
    fn areas_at_the_far_end_of_the_grid_do_not_overflow() {
        let mut hits = Hits::default();
        hits.push(u16::MAX, u16::MAX, 10, 10, Target::Do(Action::Quit));
        assert_eq!(hits.at(u16::MAX, u16::MAX), Some(&Target::Do(Action::Quit)));
        assert_eq!(hits.at(0, 0), None);
    }
}
