//! A framed part of the screen whose title carries data.

use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::view::canvas::{Canvas, columns_of};
use crate::view::theme::Role;

/// What a frame says.
#[derive(Clone, Debug, Default)]
pub struct Panel<'a> {
    /// On the left of its top: what it is and how much of it.
    pub title: Line<'a>,
    /// On the right of its top: sort, position, rate. The first to go when room is short.
    pub data: Line<'a>,
    /// Whether it has the focus.
    pub focused: bool,
}

impl<'a> Panel<'a> {
    /// A frame with a title.
    pub fn new(title: impl Into<Line<'a>>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// The same with something on the right.
    #[must_use]
    pub fn data(self, data: impl Into<Line<'a>>) -> Self {
        Self { data: data.into(), ..self }
    }

    /// The same with or without the focus.
    #[must_use]
    pub fn focused(self, focused: bool) -> Self {
        Self { focused, ..self }
    }

    /// Draws the frame; returns what is left inside it.
    pub fn draw(&self, canvas: &mut Canvas<'_>, area: Rect) -> Rect {
        let inner = Rect {
            x: area.x + 1,
            y: area.y + 1,
            width: area.width.saturating_sub(2),
            height: area.height.saturating_sub(2),
        };
        if area.width < 2 || area.height < 2 {
            return Rect { width: 0, height: 0, ..area };
        }
        let frame = &canvas.theme.glyphs.frame;
        let role = if self.focused { Role::Text } else { Role::Border };
        let across = frame.across.repeat(usize::from(inner.width));
        canvas.text(area.x, area.y, area.width, &format!("{}{across}{}", frame.top_left, frame.top_right), role);
        canvas.text(
            area.x,
            area.bottom() - 1,
            area.width,
            &format!("{}{across}{}", frame.bottom_left, frame.bottom_right),
            role,
        );
        for y in inner.top()..inner.bottom() {
            canvas.text(area.x, y, 1, frame.down, role);
            canvas.text(area.right() - 1, y, 1, frame.down, role);
        }
        self.draw_title(canvas, area);
        inner
    }

    fn draw_title(&self, canvas: &mut Canvas<'_>, area: Rect) {
        // Corner and one space on each side.
        let room = area.width.saturating_sub(4);
        let title = columns_of(&self.title).min(room);
        if title > 0 {
            surrounded(canvas, area.x + 1, area.y, title, &self.title);
        }
        let data = columns_of(&self.data);
        // A stretch of frame stays between the two.
        if data > 0 && title + data + 3 <= room {
            surrounded(canvas, area.right() - 3 - data, area.y, data, &self.data);
        }
    }
}

/// A line with a space on each side, over the frame.
fn surrounded(canvas: &mut Canvas<'_>, x: u16, y: u16, columns: u16, line: &Line<'_>) {
    canvas.clear(Rect::new(x, y, columns + 2, 1));
    canvas.line(x + 1, y, columns, line);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::testing::{Screenshot, ascii, plain};

    #[test]
    fn the_title_stays_and_the_data_goes_when_room_is_short() {
        let panel = Panel::new("Locks 7").data("sort: WAIT");
        let shot = Screenshot::of(28, 3, &plain(), |canvas| {
            let inner = panel.draw(canvas, Rect::new(0, 0, 28, 3));
            assert_eq!(inner, Rect::new(1, 1, 26, 1));
        });
        assert_eq!(shot.lines()[0], "╭ Locks 7 ───── sort: WAIT ╮");
        let shot = Screenshot::of(20, 3, &plain(), |canvas| {
            panel.draw(canvas, Rect::new(0, 0, 20, 3));
        });
        assert_eq!(shot.lines()[0], "╭ Locks 7 ─────────╮");
    }

    #[test]
    fn ascii_frames_are_plain() {
        let shot = Screenshot::of(8, 3, &ascii(), |canvas| {
            Panel::new("a").draw(canvas, Rect::new(0, 0, 8, 3));
        });
        assert_eq!(shot.lines(), ["+ a ---+", "|      |", "+------+"]);
    }

    #[test]
    fn a_frame_without_room_draws_nothing_and_offers_nothing() {
        let shot = Screenshot::of(4, 1, &plain(), |canvas| {
            let inner = Panel::new("a").draw(canvas, Rect::new(0, 0, 4, 1));
            assert_eq!((inner.width, inner.height), (0, 0));
        });
        assert_eq!(shot.lines(), ["    "]);
    }
}
