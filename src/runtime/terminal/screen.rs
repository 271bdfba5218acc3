//! The cells of a terminal: those it shows, those of the next frame, and the bytes from one to the other.
//!
//! Nearly all cells of a frame are those of the one before, so what a frame costs is mostly to find that
//! out: each is filled once and compared once, and only in rows with a difference is looked at how wide
//! characters are. Nothing that a cluster sent chooses its own width (`view::canvas`).

use std::io;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::queue;
use ratatui::backend::{Backend as _, CrosstermBackend};
use ratatui::buffer::{Buffer, Cell, CellWidth as _};
use ratatui::layout::{Position, Rect};

/// A terminal of a known size whose bytes are collected.
pub struct Screen {
    /// Columns and rows.
    pub size: (u16, u16),
    shown: Buffer,
    next: Buffer,
    /// Whether what it shows is not known.
    anew: bool,
    cursor: Cursor,
    inner: CrosstermBackend<Bytes>,
    bytes: Bytes,
}

/// What the terminal's cursor was told last.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cursor {
    Untold,
    Hidden,
    /// Shown, wherever drawing left it.
    Shown,
    At(Position),
}

#[derive(Clone, Default)]
struct Bytes(Arc<Mutex<Vec<u8>>>);

impl io::Write for Bytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Screen {
    /// A terminal that shows nothing that is known.
    pub fn new(size: (u16, u16)) -> Self {
        let bytes = Bytes::default();
        Self {
            size,
            shown: Buffer::default(),
            next: Buffer::default(),
            anew: true,
            cursor: Cursor::Untold,
            inner: CrosstermBackend::new(bytes.clone()),
            bytes,
        }
    }

    /// Has the next frame be a whole one.
    pub const fn redraw(&mut self) {
        self.anew = true;
    }

    /// Makes a frame: `render` draws each cell and says where the cursor is shown, if anywhere. Returns
    /// the bytes of what changed, none where nothing did.
    ///
    /// # Errors
    /// None that is known: the bytes go into memory.
    pub fn draw(&mut self, render: impl FnOnce(&mut Buffer) -> Option<Position>) -> io::Result<Vec<u8>> {
        let area = Rect::new(0, 0, self.size.0, self.size.1);
        if self.anew || self.shown.area != area {
            self.anew = false;
            (self.shown, self.next) = (Buffer::empty(area), Buffer::empty(area));
            self.inner.clear()?;
        }
        let cursor = render(&mut self.next);
        {
            let mut changes = changes(&self.shown, &self.next).peekable();
            // Without a cell the styles would be reset for nothing.
            if changes.peek().is_some() {
                if let Cursor::At(_) = self.cursor {
                    self.cursor = Cursor::Shown;
                }
                self.inner.draw(changes)?;
            }
        }
        self.place(cursor)?;
        mem::swap(&mut self.shown, &mut self.next);
        Ok(mem::take(&mut *self.bytes.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    fn place(&mut self, cursor: Option<Position>) -> io::Result<()> {
        let wanted = cursor.map_or(Cursor::Hidden, Cursor::At);
        if self.cursor == wanted {
            return Ok(());
        }
        match cursor {
            None => queue!(self.bytes, Hide)?,
            Some(Position { x, y }) => {
                if matches!(self.cursor, Cursor::Untold | Cursor::Hidden) {
                    queue!(self.bytes, Show)?;
                }
                queue!(self.bytes, MoveTo(x, y))?;
            }
        }
        self.cursor = wanted;
        Ok(())
    }
}

/// The cells that make one frame of the other, in the order in which they lie.
fn changes<'a>(shown: &'a Buffer, next: &'a Buffer) -> impl Iterator<Item = (u16, u16, &'a Cell)> {
    let columns = usize::from(next.area.width.max(1));
    let rows = (0..).zip(shown.content.chunks(columns).zip(next.content.chunks(columns)));
    let differing = rows.filter(|(_, (shown, next))| !shown.iter().zip(*next).all(|(shown, next)| same(shown, next)));
    differing.flat_map(|(y, (shown, next))| {
        // Up to where cells lie below a wide character, and up to where one lay that is gone.
        let (mut covered, mut uncovered) = (0, 0);
        (0..).zip(shown.iter().zip(next)).filter_map(move |(x, (before, cell))| {
            let is_uncovered = x < uncovered;
            uncovered = uncovered.max(x + columns_of(before));
            if x < covered {
                return None;
            }
            covered = x + columns_of(cell);
            (is_uncovered || !same(before, cell)).then_some((x, y, cell))
        })
    })
}

/// How many columns a cell takes.
fn columns_of(cell: &Cell) -> u16 {
    if cell.symbol().len() == 1 { 1 } else { cell.cell_width().max(1) }
}

/// Whether two cells look the same. It is asked for each cell of each frame.
fn same(one: &Cell, other: &Cell) -> bool {
    let looks = |cell: &Cell| (cell.fg, cell.bg, cell.modifier);
    looks(one) == looks(other) && {
        let (one, other) = (one.symbol().as_bytes(), other.symbol().as_bytes());
        match (one.len(), other.len()) {
            (1, 1) => one.first() == other.first(),
            // Lines and marks.
            (3, 3) => one.first_chunk::<3>() == other.first_chunk(),
            _ => one == other,
        }
    }
}

#[cfg(test)]
mod tests {
    use ratatui::style::{Color, Style};

    use super::*;
    use crate::chance::Chance;

    fn draw(screen: &mut Screen, text: &str, cursor: Option<(u16, u16)>) -> String {
        let drawn = screen.draw(|cells| {
            cells.reset();
            cells.set_string(0, 0, text, Style::new());
            cursor.map(Position::from)
        });
        String::from_utf8(drawn.unwrap()).unwrap()
    }

    fn screen() -> Screen {
        let mut screen = Screen::new((20, 2));
        draw(&mut screen, "locks 7", None);
        screen
    }

    #[test]
    fn a_frame_like_the_last_one_has_no_bytes() {
        let mut screen = screen();
        assert_eq!(draw(&mut screen, "locks 7", None), "");
        let changed = draw(&mut screen, "locks 8", None);
        assert!(changed.contains('8') && !changed.contains('k'), "{changed:?}");
    }

    #[test]
    fn the_cursor_is_shown_where_one_types_and_goes_back_there_after_a_change() {
        let mut screen = screen();
        let shown = draw(&mut screen, "locks 7", Some((3, 1)));
        assert!(shown.contains("\x1b[?25h") && shown.contains("\x1b[2;4H"), "{shown:?}");
        assert_eq!(draw(&mut screen, "locks 7", Some((3, 1))), "");
        let changed = draw(&mut screen, "locks 9", Some((3, 1)));
        assert!(changed.ends_with("\x1b[2;4H"), "{changed:?}");
        assert_eq!(draw(&mut screen, "locks 9", None), "\x1b[?25l");
    }

    #[test]
    fn another_size_draws_everything() {
        let mut screen = screen();
        screen.size = (30, 3);
        let drawn = draw(&mut screen, "locks 7", None);
        assert!(drawn.contains("locks"), "{drawn:?}");
        screen.redraw();
        assert_eq!(draw(&mut screen, "locks 7", None).replace("\x1b[?25l", ""), drawn);
    }

    #[test]
    fn however_wide_characters_are_a_terminal_shows_the_frame_that_was_drawn() {
        let mut screen = Screen::new((12, 3));
        let mut terminal = vt100::Parser::new(3, 12, 0);
        let mut chance = Chance::new(7, 0);
        for frame in 0..2_000 {
            let mut drawn = Buffer::default();
            let bytes = screen.draw(|cells| {
                cells.reset();
                for y in 0..3 {
                    let columns = chance.up_to(12);
                    let text: String = (0..columns)
                        .map(|_| ["a", "锁", "é", " ", "─"][usize::try_from(chance.up_to(4)).unwrap()])
                        .collect();
                    let colour = [Color::Reset, Color::Red][usize::try_from(chance.up_to(1)).unwrap()];
                    cells.set_string(0, y, text, Style::new().bg(colour));
                }
                drawn = cells.clone();
                None
            });
            terminal.process(&bytes.unwrap());
            for (at, cell) in (0..).zip(&drawn.content) {
                let there = terminal.screen().cell(at / 12, at % 12).unwrap();
                let is_covered = there.is_wide_continuation();
                let symbol = if there.has_contents() { there.contents() } else { " " };
                assert!(is_covered || symbol == cell.symbol(), "frame {frame}, cell {at}: {symbol:?}, {cell:?}");
                let red = there.bgcolor() == vt100::Color::Idx(1) || there.bgcolor() == vt100::Color::Idx(9);
                assert!(is_covered || red == (cell.bg == Color::Red), "frame {frame}, cell {at}: {cell:?}");
            }
        }
    }
}
