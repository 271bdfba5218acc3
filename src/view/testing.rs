//! What the view's tests share: a canvas of any size, read back as lines and as styles.

mod cluster;
mod english;

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;

use super::canvas::Canvas;
use super::glyphs;
use super::theme::{Depth, Palette, Role, Theme};
use crate::input::Hits;

pub use cluster::{Cluster, START, kubernetes_lease, lease, leased, queued, sample, status, tangled};
pub use english::{english_left, english_left_of_expected};

/// The dark theme with all colours.
pub fn plain() -> Theme {
    Theme::new(&Palette::builtin("dark").unwrap(), Depth::True)
}

/// No colours.
pub fn mono() -> Theme {
    Theme::new(&Palette::mono(), Depth::None)
}

/// No colours and ASCII glyphs.
pub fn ascii() -> Theme {
    mono().with_glyphs(&glyphs::ASCII)
}

/// What was drawn.
pub struct Screenshot {
    pub buffer: Buffer,
    pub hits: Hits,
    /// Where the terminal's cursor was left.
    pub cursor: (u16, u16),
}

impl Screenshot {
    /// Draws on a frame of this size.
    pub fn of(width: u16, height: u16, theme: &Theme, draw: impl FnOnce(&mut Canvas<'_>)) -> Self {
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
        let mut canvas = Canvas::new(&mut buffer, theme);
        draw(&mut canvas);
        let hits = canvas.hits;
        Self { buffer, hits, cursor: (0, 0) }
    }

    /// Its rows as text, the second column of wide characters left out.
    pub fn lines(&self) -> Vec<String> {
        let area = self.buffer.area;
        (area.top()..area.bottom()).map(|y| self.crop(Rect::new(0, y, area.width, 1))).collect()
    }

    /// A part of it as text.
    pub fn crop(&self, area: Rect) -> String {
        let row = |y| {
            let mut line = String::new();
            let mut x = area.left();
            while x < area.right() {
                let symbol = self.buffer[(x, y)].symbol();
                line.push_str(symbol);
                x += u16::try_from(super::text::width(symbol).max(1)).unwrap();
            }
            line
        };
        (area.top()..area.bottom()).map(row).collect::<Vec<_>>().join("\n")
    }

    /// All of it as text.
    pub fn text(&self) -> String {
        self.crop(self.buffer.area)
    }

    /// The cell where `needle` starts; in the first row that has it.
    pub fn find(&self, needle: &str) -> Option<&Cell> {
        let (x, y) = self.position(needle)?;
        Some(&self.buffer[(x, y)])
    }

    /// The column and row where `needle` starts.
    pub fn position(&self, needle: &str) -> Option<(u16, u16)> {
        self.lines().iter().enumerate().find_map(|(y, line)| {
            let at = line.find(needle)?;
            Some((u16::try_from(super::text::width(&line[..at])).unwrap(), u16::try_from(y).unwrap()))
        })
    }

    /// Whether the first cell of `needle` looks like a role.
    pub fn has_role(&self, needle: &str, theme: &Theme, role: Role) -> bool {
        let cell = self.find(needle).unwrap_or_else(|| panic!("{needle:?} was not drawn:\n{}", self.text()));
        let style = theme.style(role);
        style.fg.is_none_or(|fg| cell.fg == fg) && cell.modifier.contains(style.add_modifier)
    }
}
