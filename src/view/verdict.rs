//! The verdict on a lock, as lines of a given width.

use ratatui::layout::Rect;
use ratatui::text::Line;

use super::canvas::Canvas;
use super::text::{split_at_width, verdict, width};
use super::theme::Role;
use crate::domain::Sentence;
use crate::model::{Facts, LockView};
use crate::say;

/// The most lines it gets beside a list, and on the lock's own screen, where it is whole.
const MOST: usize = 3;
const WHOLE: usize = 8;

/// What is said of a lock, worked out once and then measured and drawn.
pub struct Verdict {
    clauses: Vec<Sentence>,
}

impl Verdict {
    /// The verdict on a lock.
    pub fn of(facts: &Facts, lock: &LockView<'_>) -> Self {
        Self { clauses: crate::model::verdict(facts, lock) }
    }

    /// How many rows it takes beside a list.
    pub fn wanted_rows(&self, columns: u16) -> u16 {
        self.rows(columns, MOST)
    }

    /// How many rows all of it takes.
    pub fn whole_rows(&self, columns: u16) -> u16 {
        self.rows(columns, WHOLE)
    }

    fn rows(&self, columns: u16, most: usize) -> u16 {
        u16::try_from(wrapped(&verdict(&self.clauses), room(columns), most).len()).unwrap_or(u16::MAX)
    }

    /// Draws it without a frame. Where there are too few rows, it is told up to a clause's end: what
    /// matters most comes first.
    pub fn draw(&self, canvas: &mut Canvas<'_>, area: Rect) {
        let lines = fitting(&self.clauses, room(area.width), usize::from(area.height), canvas.theme.glyphs.ellipsis);
        for (y, line) in (area.top()..area.bottom()).zip(lines) {
            let line = Line::from(canvas.theme.sentence(line, usize::from(area.width.saturating_sub(2)), Role::Text));
            canvas.line(area.x + 1, y, area.width.saturating_sub(2), &line);
        }
    }
}

fn room(columns: u16) -> usize {
    usize::from(columns.saturating_sub(2)).max(8)
}

/// As many of the clauses as so many lines have room for; the first one always.
fn fitting(clauses: &[Sentence], columns: usize, most: usize, ellipsis: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for count in (1..=clauses.len()).rev() {
        let more = if count < clauses.len() { format!("{}{ellipsis}", say!("; ")) } else { String::new() };
        lines = wrapped(&format!("{}{more}", verdict(&clauses[..count])), columns, most);
        if lines.last().is_none_or(|last| width(last) <= columns) {
            break;
        }
    }
    lines
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_left_out_by_whole_clauses_and_the_first_stays() {
        let clauses = ["held for 5s", "2 wait", "next is b"].map(Sentence::new);
        let told = |columns, most| fitting(&clauses, columns, most, "…");
        assert_eq!(told(40, 1), ["held for 5s; 2 wait; next is b"]);
        assert_eq!(told(24, 1), ["held for 5s; 2 wait; …"]);
        assert_eq!(told(24, 2), ["held for 5s; 2 wait; ", "next is b"]);
        assert_eq!(told(16, 1), ["held for 5s; …"]);
        assert_eq!(told(8, 1), ["held for 5s; …"], "cut when it is drawn");
    }
}
