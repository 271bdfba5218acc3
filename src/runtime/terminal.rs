//! The terminal: taken over, drawn on, given back.
//!
//! Frames are made into bytes here and written without waiting (`output`), one at a time:
//! while a slow terminal still takes the last frame no other is made, so frames are dropped
//! whole and never cut, and the loop never waits for the terminal. To a slow connection behind a
//! quick terminal `budget` keeps them. However the program ends,
//! `restore` has the last word.

mod budget;
mod events;
mod output;
mod restore;
mod screen;

use std::ffi::OsStr;
use std::io::{self, IsTerminal as _};
use std::time::Duration;

use crossterm::Command;
use crossterm::clipboard::CopyToClipboard;
use crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate, disable_raw_mode, enable_raw_mode};
use ratatui::buffer::Buffer;
use ratatui::layout::Position;
use tokio::time::Instant;

pub use events::{Inputs, LateReply};
pub use restore::{has_panicked, install_panic_hook, panicked};

use budget::Budget;
use output::Output;
use screen::Screen;

/// How long a terminal may take for the frame that is under way when the program ends, and
/// again for the bytes that give it back: together less than a person notices.
const FAREWELL: Duration = Duration::from_millis(30);

/// The terminal while it is ours.
pub struct Terminal {
    output: Output,
    screen: Screen,
    budget: Budget,
    mouse: bool,
}

/// What keeps a screen from being shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// Standard input or output leads elsewhere.
    Terminal,
    /// The terminal only prints line after line, or says so of itself.
    Cursor,
}

impl Lack {
    /// What is lacking where there is a terminal or none, which calls itself `term`.
    fn of(is_there: bool, term: Option<&OsStr>) -> Option<Self> {
        match (is_there, term.is_some_and(|term| term == "dumb")) {
            (false, _) => Some(Self::Terminal),
            (true, true) => Some(Self::Cursor),
            (true, false) => None,
        }
    }
}

impl std::fmt::Display for Lack {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Terminal => "needs a terminal",
            Self::Cursor => "needs a terminal that it can draw on, and TERM is `dumb`",
        })
    }
}

impl Terminal {
    /// Takes the terminal over: raw mode, alternate screen, bracketed paste, focus reports,
    /// and the mouse if wanted.
    ///
    /// # Errors
    /// When standard input or output is no terminal, or it refuses.
    pub fn enter(mouse: bool) -> io::Result<Self> {
        let size = crossterm::terminal::size()?;
        let output = Output::to_stdout()?;
        let mut terminal = Self { output, screen: Screen::new(size), budget: Budget::new(Instant::now()), mouse };
        terminal.resume()?;
        Ok(terminal)
    }

    /// Whether standard input and output are a terminal.
    fn is_there() -> bool {
        io::stdin().is_terminal() && io::stdout().is_terminal()
    }

    /// Why no screen can be shown, if none can.
    pub fn lacks() -> Option<Lack> {
        Lack::of(Self::is_there(), std::env::var_os("TERM").as_deref())
    }

    /// The columns and rows frames are made for.
    pub fn size(&self) -> (u16, u16) {
        self.screen.size
    }

    /// Makes the next frames for this size.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        self.screen.size = (columns, rows);
    }

    /// Whether the terminal took everything it was given, so that another frame makes sense.
    pub fn is_idle(&self) -> bool {
        self.output.is_idle()
    }

    /// From when on another frame may be drawn; `None` when that was always so.
    pub fn next_frame(&self) -> Option<Instant> {
        self.budget.next()
    }

    /// Has the terminal take what it was given.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub async fn drain(&mut self) -> io::Result<()> {
        self.output.drain().await
    }

    /// Draws a frame and hands what changed since the last one to the terminal, in one
    /// synchronized update. Nothing is sent when nothing changed. `render` draws each cell, and says where
    /// the cursor is shown, if anywhere.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn draw(&mut self, render: impl FnOnce(&mut Buffer) -> Option<Position>) -> io::Result<()> {
        let changes = self.screen.draw(render)?;
        if changes.is_empty() {
            return Ok(());
        }
        let mut bytes = ansi(&BeginSynchronizedUpdate);
        bytes.extend_from_slice(&changes);
        bytes.extend(ansi(&EndSynchronizedUpdate));
        self.budget.spend(Instant::now(), bytes.len());
        self.output.send(&bytes)
    }

    /// Has the next frame be a whole one.
    pub const fn redraw(&mut self) {
        self.screen.redraw();
    }

    /// Puts text on the terminal's clipboard (OSC 52). Terminals that do not allow that ignore it.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn copy(&mut self, text: &str) -> io::Result<()> {
        self.output.send(&ansi(&CopyToClipboard::to_clipboard_from(text)))
    }

    /// Captures the mouse, or leaves it to the terminal.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn capture_mouse(&mut self, capture: bool) -> io::Result<()> {
        self.mouse = capture;
        self.output.send(if capture { restore::MOUSE_ON } else { restore::MOUSE_OFF })
    }

    /// Gives the terminal back until [`Terminal::resume`].
    pub fn pause(&mut self) {
        if restore::leave() {
            self.output.finish(&restore::leaving(), FAREWELL);
            // On a terminal that is gone there is nothing to give back.
            let _ = disable_raw_mode();
        }
    }

    /// Takes the terminal over again, and draws the next frame whole.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn resume(&mut self) -> io::Result<()> {
        enable_raw_mode()?;
        restore::enter();
        self.output.send(&restore::entering(self.mouse))?;
        let (columns, rows) = crossterm::terminal::size()?;
        self.resize(columns, rows);
        self.redraw();
        Ok(())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.pause();
    }
}

/// A command as the bytes that a terminal understands.
fn ansi(command: &impl Command) -> Vec<u8> {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = command.write_ansi(&mut text);
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_drawn_on_a_terminal_that_calls_itself_dumb() {
        let lack = |is_there, term: &str| Lack::of(is_there, Some(OsStr::new(term)));
        assert_eq!(lack(true, "dumb"), Some(Lack::Cursor));
        assert_eq!(lack(false, "xterm"), Some(Lack::Terminal));
        assert_eq!((lack(true, "xterm-256color"), Lack::of(true, None)), (None, None));
    }
}
