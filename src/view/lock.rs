//! The screen of one lock: its queue, what is known of it, how it passed on.

pub mod about;
mod findings;
pub mod history;
pub mod holders;
pub mod queue;

use ratatui::layout::Rect;
use ratatui::text::Line;

use super::canvas::Canvas;
use super::layout::{bottom, left, percent, top};
use super::list::List;
use super::theme::Role;
use super::verdict::Verdict;
use super::widget::notice::notice;
use crate::domain::Reach;
use crate::input::Pane;
use crate::model::{Diagnosis, Facts, LockView};
use crate::say;

/// The fewest rows of the queue, frame and heading included.
const QUEUE: u16 = 7;
/// The fewest rows that findings get at first, and with how few rows besides them the holders give way.
const FINDINGS: u16 = 5;
const SHORT: u16 = 22;
/// The rows of a finding and its remedy, frame included.
const LEAST: u16 = 4;
/// The rows of the strip of holders.
const HOLDERS: u16 = 4;

/// What the screen needs besides the facts.
pub struct Lock<'a> {
    /// The lock; `None` when there is none any more, or never was.
    pub open: Option<LockView<'a>>,
    /// Where its queue stands.
    pub queue: List<'a>,
    /// How far a pane without a selection is scrolled.
    pub scrolled: &'a dyn Fn(Pane) -> usize,
    /// The pane that has the focus.
    pub focused: Pane,
    /// What is wrong.
    pub diagnosis: &'a Diagnosis,
    /// What leads commands that are advised to the cluster.
    pub reach: &'a Reach,
}

impl Lock<'_> {
    /// Draws the screen.
    pub fn draw(&self, canvas: &mut Canvas<'_>, area: Rect, facts: &Facts) {
        let Some(lock) = &self.open else {
            let lines = [
                Line::from(canvas.theme.span(say!("No lock is open."), Role::Title)),
                Line::default(),
                Line::from(canvas.theme.span(say!("1 shows all locks, ⏎ opens the selected one"), Role::Muted)),
            ];
            return notice(canvas, area, &lines);
        };
        let verdict = Verdict::of(facts, lock);
        let (verdict_area, area) = top(area, verdict.whole_rows(area.width));
        verdict.draw(canvas, verdict_area);
        let told = findings::Told { diagnosis: self.diagnosis, lock, reach: self.reach };
        let wanted = told.wanted_rows(area.width, canvas.theme);
        let about_rows = about::wanted_rows(facts, lock, canvas.theme);
        let urgent = told.is_urgent();
        let most = if urgent {
            (area.height * 2 / 5).max(FINDINGS)
        } else {
            // What is only worth knowing gets what the queue and the facts leave, without its reason
            // if need be.
            let needed = queue::wanted_rows(lock).min(QUEUE) + about_rows.min(QUEUE);
            let left = area.height.saturating_sub(needed);
            if left < LEAST { 0 } else { left.min((area.height * 2 / 5).max(FINDINGS)) }
        };
        let (findings_area, area) = top(area, wanted.min(most));
        if findings_area.height > 0 {
            let (top, focused) = ((self.scrolled)(Pane::Findings), self.focused == Pane::Findings);
            told.draw(canvas, findings_area, top, focused);
        }
        // What is wrong matters more than who held it before.
        let lanes_rows = if findings_area.height > 0 && area.height < SHORT { 0 } else { HOLDERS };
        let (area, lanes) = bottom(area, lanes_rows);
        let most = area.height.saturating_sub(7.min(about_rows)).max(QUEUE);
        // What is only worth knowing has the rows that the queue leaves empty.
        let least = if urgent || findings_area.height == 0 { QUEUE } else { queue::wanted_rows(lock).min(QUEUE) };
        let queue_rows = queue::wanted_rows(lock).clamp(least, most.max(percent(area.height, 50, QUEUE)));
        // What the queue does not need, the facts below it get; what those do not need, the queue.
        let spare = area.height.saturating_sub(queue_rows + about_rows.max(7));
        let (queue_area, below) = top(area, queue_rows + spare.min(area.height / 4));
        queue::draw(canvas, queue_area, facts, lock, None, &self.queue);
        let (about_area, history_area) = left(below, percent(below.width, 57, 30));
        about::draw(canvas, about_area, facts, lock);
        let scrolled = (self.scrolled)(Pane::History);
        history::draw(canvas, history_area, facts, lock, scrolled, self.focused == Pane::History);
        if lanes.height > 0 {
            holders::draw(canvas, lanes, lock, facts.now());
        }
    }
}
