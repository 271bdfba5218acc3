//! Words in place of content: nothing to see yet, nothing left by the filter, too small.

use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::view::canvas::{Canvas, columns_of};

/// Draws lines in the middle of an area, each centred as a block by the longest of them.
pub fn notice(canvas: &mut Canvas<'_>, area: Rect, lines: &[Line<'_>]) {
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).min(area.height);
    let width = lines.iter().map(columns_of).max().unwrap_or(0).min(area.width);
    let x = area.x + (area.width - width) / 2;
    // A little above the middle looks like the middle.
    let y = area.y + (area.height - height) * 2 / 5;
    for (y, line) in (y..y.saturating_add(height)).zip(lines) {
        canvas.line(x, y, area.right() - x, line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::testing::{Screenshot, plain};

    #[test]
    fn the_block_stands_in_the_middle_and_stays_inside() {
        let lines = [Line::from("ab"), Line::from("abcd")];
        let shot = Screenshot::of(10, 4, &plain(), |canvas| notice(canvas, Rect::new(0, 0, 10, 4), &lines));
        assert_eq!(shot.lines(), ["   ab     ", "   abcd   ", "          ", "          "]);
        let shot = Screenshot::of(3, 1, &plain(), |canvas| notice(canvas, Rect::new(0, 0, 3, 1), &lines));
        assert_eq!(shot.lines(), ["ab "]);
    }
}
