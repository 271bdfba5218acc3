//! What ratatui draws on: the bytes of one frame, and nothing when nothing changed.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};

/// A terminal of a known size whose bytes are collected.
pub struct Screen {
    /// Columns and rows.
    pub size: (u16, u16),
    inner: CrosstermBackend<Bytes>,
    bytes: Bytes,
    cursor: Cursor,
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
    /// An empty terminal.
    pub fn new(size: (u16, u16)) -> Self {
        let bytes = Bytes::default();
        Self { size, inner: CrosstermBackend::new(bytes.clone()), bytes, cursor: Cursor::Untold }
    }

    /// The bytes of what was drawn since the last time.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut *self.bytes.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Backend for Screen {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        // Without a cell the styles would be reset for nothing.
        let mut content = content.peekable();
        if content.peek().is_none() {
            return Ok(());
        }
        if let Cursor::At(_) = self.cursor {
            self.cursor = Cursor::Shown;
        }
        self.inner.draw(content)
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        if self.cursor != Cursor::Hidden {
            self.cursor = Cursor::Hidden;
            self.inner.hide_cursor()?;
        }
        Ok(())
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        if matches!(self.cursor, Cursor::Untold | Cursor::Hidden) {
            self.cursor = Cursor::Shown;
            self.inner.show_cursor()?;
        }
        Ok(())
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        let position = position.into();
        if self.cursor != Cursor::At(position) {
            self.cursor = Cursor::At(position);
            self.inner.set_cursor_position(position)?;
        }
        Ok(())
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        // Nobody asks but inline viewports, which there are none of.
        Ok(if let Cursor::At(position) = self.cursor { position } else { Position::default() })
    }

    fn clear(&mut self) -> io::Result<()> {
        self.inner.clear()
    }

    fn clear_region(&mut self, part: ClearType) -> io::Result<()> {
        self.inner.clear_region(part)
    }

    fn size(&self) -> io::Result<Size> {
        Ok(Size::new(self.size.0, self.size.1))
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize { columns_rows: self.size()?, pixels: Size::default() })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::widgets::Paragraph;

    use super::*;

    fn draw(terminal: &mut Terminal<Screen>, text: &str, cursor: Option<(u16, u16)>) -> String {
        let drawn = terminal.draw(|frame| {
            frame.render_widget(Paragraph::new(text), frame.area());
            if let Some(at) = cursor {
                frame.set_cursor_position(at);
            }
        });
        drawn.unwrap();
        String::from_utf8(terminal.backend_mut().take()).unwrap()
    }

    fn terminal() -> Terminal<Screen> {
        let mut terminal = Terminal::new(Screen::new((20, 2))).unwrap();
        draw(&mut terminal, "locks 7", None);
        terminal
    }

    #[test]
    fn a_frame_like_the_last_one_has_no_bytes() {
        let mut terminal = terminal();
        assert_eq!(draw(&mut terminal, "locks 7", None), "");
        let changed = draw(&mut terminal, "locks 8", None);
        assert!(changed.contains('8') && !changed.contains('k'), "{changed:?}");
    }

    #[test]
    fn the_cursor_is_shown_where_one_types_and_goes_back_there_after_a_change() {
        let mut terminal = terminal();
        let shown = draw(&mut terminal, "locks 7", Some((3, 1)));
        assert!(shown.contains("\x1b[?25h") && shown.contains("\x1b[2;4H"), "{shown:?}");
        assert_eq!(draw(&mut terminal, "locks 7", Some((3, 1))), "");
        let changed = draw(&mut terminal, "locks 9", Some((3, 1)));
        assert!(changed.ends_with("\x1b[2;4H"), "{changed:?}");
        assert_eq!(draw(&mut terminal, "locks 9", None), "\x1b[?25l");
    }

    #[test]
    fn another_size_draws_everything() {
        let mut terminal = terminal();
        terminal.backend_mut().size = (30, 3);
        let drawn = draw(&mut terminal, "locks 7", None);
        assert!(drawn.contains("locks"), "{drawn:?}");
    }
}
