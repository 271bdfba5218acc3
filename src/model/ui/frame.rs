//! When the screen is to be drawn anew although nothing happened: a countdown goes on, a mark ends, a
//! picture moved.

use super::Ui;
use crate::domain::{Millis, Timestamp};
use crate::input::Screen;
use crate::model::Facts;

/// How long the row of a lock is marked after something happened to it.
pub const MARKED: Millis = Millis(600);
/// The time from one picture of the embedded cluster on the screen to the next, at least: 20 a
/// second.
const MOVING: Millis = Millis(50);
/// The same when nothing moves that need not.
const CHANGING: Millis = Millis(500);

impl Ui {
    /// When a picture drawn at `drawn_at` is out of date although nothing happened: a second
    /// of a countdown is over, or a mark. `None` when time alone changes nothing on it.
    pub fn next_frame(&self, facts: &Facts, drawn_at: Timestamp) -> Option<Timestamp> {
        let counts = self.counts(facts).then(|| drawn_at + self.refresh.period());
        let mark = if self.reduce_motion { None } else { self.next_mark_end(facts, drawn_at) };
        counts.into_iter().chain(mark).chain(self.next_picture(facts, drawn_at)).min()
    }

    /// When the picture of the embedded cluster, or of the clients, is to be drawn anew, if it is
    /// shown and became another one since `drawn_at`.
    fn next_picture(&self, facts: &Facts, drawn_at: Timestamp) -> Option<Timestamp> {
        // Ways are not drawn to the clock that goes on.
        let (since, after) = match self.screen {
            Screen::Raft | Screen::Way if self.reduce_motion => (facts.raft_changed, CHANGING),
            Screen::Raft => (facts.raft_moved, MOVING),
            Screen::Way => (facts.raft_changed, MOVING),
            Screen::Playground if self.reduce_motion => (facts.play_changed, CHANGING),
            Screen::Playground => (facts.play_moved, MOVING),
            _ => (None, MOVING),
        };
        since.filter(|&at| at >= drawn_at).map(|_| drawn_at + after)
    }

    /// Whether the screen shows a time that grows or shrinks by itself.
    fn counts(&self, facts: &Facts) -> bool {
        if self.dialog.is_some() {
            return true;
        }
        match self.screen {
            // A free lock counts as well, since when it is, and so does what happened a while ago.
            Screen::Locks => {
                self.visible_locks(facts).next().is_some()
                    || facts.timeline.iter().any(|happening| happening.what.party().is_some())
            }
            Screen::Lock => self.shown_lock(facts).is_some(),
            Screen::Leases => !self.lease_order.is_empty(),
            Screen::Waits => !self.waits.rows().is_empty(),
            // How fast they answer is no news of its own; here it is looked at.
            Screen::Members => !facts.cluster.members().is_empty(),
            // An embedded cluster has a clock of its own.
            Screen::Raft => facts.raft.is_none() && !facts.cluster.members().is_empty(),
            // Nor do the clients go by the wall's clock.
            Screen::Way | Screen::Playground | Screen::Log => false,
        }
    }

    /// When the first mark of a row ends that was there at `drawn_at`.
    fn next_mark_end(&self, facts: &Facts, drawn_at: Timestamp) -> Option<Timestamp> {
        if self.screen != Screen::Locks {
            return None;
        }
        let marked = facts.timeline.iter().rev().take_while(|happening| happening.at + MARKED > drawn_at);
        marked.filter(|happening| happening.what.party().is_some()).last().map(|first| first.at + MARKED)
    }
}
