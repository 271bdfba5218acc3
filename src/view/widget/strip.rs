//! A row of cells that is drawn in layers: a ground, stretches over it, marks over both.
//!
//! Of two things in one cell the weightier is seen, so that what lasted less than a cell is not
//! hidden by what came next to it.

use std::ops::Range;

use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use crate::view::canvas::Canvas;

/// The weight of a cell that is only ground.
const GROUND: u8 = 0;
/// The weight of what is written; only what is heavier goes over it.
const WRITTEN: u8 = 100;

/// A row of cells.
#[derive(Clone, Debug)]
pub struct Strip(Vec<Cell>);

#[derive(Clone, Copy, Debug)]
struct Cell {
    glyph: char,
    style: Style,
    weight: u8,
}

impl Strip {
    /// So many cells of nothing.
    pub fn new(columns: u16) -> Self {
        Self(vec![Cell { glyph: ' ', style: Style::new(), weight: GROUND }; usize::from(columns)])
    }

    /// Lays a ground.
    pub fn ground(&mut self, columns: Range<u16>, glyph: &str, style: Style) {
        self.stretch(columns, glyph, style, GROUND);
    }

    /// Draws a stretch; a weight is more than 0 and less than a hundred.
    pub fn stretch(&mut self, columns: Range<u16>, glyph: &str, style: Style, weight: u8) {
        let glyph = glyph.chars().next().unwrap_or(' ');
        for cell in self.cells(columns).iter_mut().filter(|cell| cell.weight <= weight) {
            *cell = Cell { glyph, style, weight };
        }
    }

    /// Draws a mark; the heavier of two in one cell is seen.
    pub fn mark(&mut self, column: u16, glyph: &str, style: Style, weight: u8) {
        let end = column.saturating_add(1);
        self.stretch(column..end, glyph, style, WRITTEN + 1 + weight);
    }

    /// Writes ASCII text where none of its cells has a mark or text, and says whether it did.
    pub fn write(&mut self, column: u16, text: &str, style: Style) -> bool {
        let end = usize::from(column) + text.len();
        let Some(cells) = self.0.get_mut(usize::from(column)..end) else { return false };
        if cells.iter().any(|cell| cell.weight >= WRITTEN) {
            return false;
        }
        for (cell, glyph) in cells.iter_mut().zip(text.chars()) {
            *cell = Cell { glyph, style, weight: WRITTEN };
        }
        true
    }

    /// The same where there is also nothing written right beside it: numbers that touch each other
    /// would be read as one.
    pub fn write_apart(&mut self, column: u16, text: &str, style: Style) -> bool {
        let end = usize::from(column) + text.len();
        let beside = [usize::from(column).checked_sub(1), Some(end)].into_iter().flatten();
        let is_free = |at: usize| self.0.get(at).is_none_or(|cell| cell.weight < WRITTEN);
        beside.into_iter().all(is_free) && self.write(column, text, style)
    }

    /// Draws a line down through a column: over the ground it is seen as one, elsewhere the cell is
    /// turned.
    pub fn pierce(&mut self, column: u16, glyph: &str, style: Style) {
        for cell in self.cells(column..column.saturating_add(1)) {
            if cell.weight == GROUND {
                *cell = Cell { glyph: glyph.chars().next().unwrap_or(' '), style, weight: GROUND };
            } else {
                cell.style.add_modifier.toggle(Modifier::REVERSED);
            }
        }
    }

    /// Draws it at a place.
    pub fn draw(&self, canvas: &mut Canvas<'_>, x: u16, y: u16) {
        let runs = self.0.chunk_by(|one, other| one.style == other.style);
        let spans: Vec<Span<'_>> =
            runs.map(|run| Span::styled(run.iter().map(|cell| cell.glyph).collect::<String>(), run[0].style)).collect();
        canvas.line(x, y, u16::try_from(self.0.len()).unwrap_or(u16::MAX), &Line::from(spans));
    }

    fn cells(&mut self, columns: Range<u16>) -> &mut [Cell] {
        let len = self.0.len();
        let (start, end) = (usize::from(columns.start).min(len), usize::from(columns.end).min(len));
        &mut self.0[start..end.max(start)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::testing::{Screenshot, plain};

    fn drawn(strip: &Strip) -> String {
        Screenshot::of(12, 1, &plain(), |canvas| strip.draw(canvas, 0, 0)).text()
    }

    #[test]
    fn the_weightier_of_two_is_seen() {
        let mut strip = Strip::new(10);
        strip.ground(0..8, ".", Style::new());
        strip.stretch(2..3, "#", Style::new(), 3);
        strip.stretch(2..6, "~", Style::new(), 1);
        strip.mark(4, "x", Style::new(), 2);
        strip.mark(4, "!", Style::new(), 1);
        strip.stretch(4..5, "#", Style::new(), 99);
        assert_eq!(drawn(&strip), "..#~x~..    ");
    }

    #[test]
    fn text_goes_over_no_mark_and_not_beyond_the_end() {
        let mut strip = Strip::new(10);
        strip.stretch(0..10, "#", Style::new(), 1);
        strip.mark(5, "x", Style::new(), 1);
        assert!(!strip.write(3, "402", Style::new()) && !strip.write(8, "402", Style::new()));
        assert!(strip.write(6, "402", Style::new()) && !strip.write(7, "7", Style::new()));
        assert_eq!(drawn(&strip), "#####x402#  ");
    }

    #[test]
    fn numbers_do_not_run_into_each_other() {
        let mut strip = Strip::new(10);
        strip.ground(0..10, ".", Style::new());
        assert!(strip.write_apart(4, "13", Style::new()));
        assert!(!strip.write_apart(6, "6", Style::new()) && !strip.write_apart(2, "77", Style::new()));
        assert!(strip.write_apart(7, "6", Style::new()) && strip.write_apart(0, "7", Style::new()));
        assert_eq!(drawn(&strip), "7...13.6..  ");
    }

    #[test]
    fn a_line_through_it_turns_what_it_meets() {
        let mut strip = Strip::new(4);
        strip.stretch(2..4, "#", Style::new(), 1);
        for column in [1, 2, 9, u16::MAX] {
            strip.pierce(column, "|", Style::new());
        }
        let shot = Screenshot::of(12, 1, &plain(), |canvas| strip.draw(canvas, 0, 0));
        assert_eq!(shot.text(), " |##        ");
        assert!(shot.buffer[(2, 0)].modifier.contains(Modifier::REVERSED));
        assert!(!shot.buffer[(3, 0)].modifier.contains(Modifier::REVERSED));
    }

    #[test]
    fn a_stretch_that_ends_before_it_begins_is_none() {
        let mut strip = Strip::new(4);
        let (from, to) = (3, 1);
        strip.stretch(from..to, "#", Style::new(), 1);
        strip.stretch(7..9, "#", Style::new(), 1);
        assert_eq!(drawn(&strip).trim(), "");
    }
}
