//! The verdict on a lock, as lines of a given width.

use ratatui::layout::Rect;
use ratatui::text::Line;

use super::canvas::Canvas;
use super::text::{split_at_width, verdict};
use super::theme::Role;
use crate::model::{Facts, LockView};

/// The most lines it gets.
const MOST: usize = 3;

/// How many rows it takes.
pub fn wanted_rows(facts: &Facts, lock: &LockView<'_>, columns: u16) -> u16 {
    u16::try_from(lines(facts, lock, columns, MOST).len()).unwrap_or(u16::MAX)
}

/// Draws it without a frame; what does not fit is cut off.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, facts: &Facts, lock: &LockView<'_>) {
    let most = usize::from(area.height).min(MOST);
    for (y, line) in (area.top()..area.bottom()).zip(lines(facts, lock, area.width, most)) {
        let line = Line::from(canvas.theme.sentence(line, usize::from(area.width.saturating_sub(2)), Role::Text));
        canvas.line(area.x + 1, y, area.width.saturating_sub(2), &line);
    }
}

fn lines(facts: &Facts, lock: &LockView<'_>, columns: u16, most: usize) -> Vec<String> {
    let text = verdict(&crate::model::verdict(facts, lock));
    wrapped(&text, usize::from(columns.saturating_sub(2)).max(8), most)
}

/// A text in lines of so many columns; the last of them has all the rest.
pub fn wrapped(text: &str, columns: usize, most: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        if lines.len() + 1 == most {
            lines.push(rest.to_owned());
            break;
        }
        let (now, later) = split_at_width(rest, columns);
        lines.push(now.to_owned());
        rest = later;
    }
    lines
}
