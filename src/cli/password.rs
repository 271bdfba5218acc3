//! Asks for a password without showing it.
//!
//! The keys are read one by one, because a plain read of a line cannot be broken off without
//! leaving the terminal mute: here Ctrl-C restores it and ends the program with its own code.

use std::io::{self, IsTerminal as _, Write as _};

use crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::terminal;

use crate::config::ConfigError;
use crate::view::text::escape_text;

/// Asks the terminal for the password of `user`.
///
/// # Errors
/// When standard input is no terminal, or the person breaks off.
pub fn ask(user: &str) -> Result<String, ConfigError> {
    let no_password = |why: String| ConfigError::NoPassword { user: user.to_owned(), why };
    if !io::stdin().is_terminal() {
        return Err(no_password("standard input is no terminal, so it cannot be asked for".into()));
    }
    let failed = |error: io::Error| no_password(format!("the terminal cannot be read: {error}"));
    let mut prompt = io::stderr();
    let typed = {
        // Mute before the question is asked: some type fast.
        let _raw = Raw::enter().map_err(failed)?;
        write!(prompt, "Password of {}: ", escape_text(user)).and_then(|()| prompt.flush()).map_err(failed)?;
        read_line().map_err(failed)?
    };
    writeln!(prompt).map_err(failed)?;
    typed.ok_or(ConfigError::Interrupted)
}

/// Asks nobody: for what logs in nowhere.
///
/// # Errors
/// Never.
#[expect(clippy::unnecessary_wraps, reason = "it stands in the place of one that can fail")]
pub fn never(_user: &str) -> Result<String, ConfigError> {
    Ok(String::new())
}

/// The terminal in raw mode until this is dropped.
struct Raw;

impl Raw {
    fn enter() -> io::Result<Self> {
        terminal::enable_raw_mode().map(|()| Self)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let _ = terminal::disable_raw_mode();
    }
}

fn read_line() -> io::Result<Option<String>> {
    let mut line = Line::default();
    loop {
        match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => match line.press(key) {
                Pressed::More => {}
                Pressed::Done => return Ok(Some(line.text)),
                Pressed::BrokenOff => return Ok(None),
            },
            Event::Paste(text) => line.text.push_str(text.trim_end_matches(['\r', '\n'])),
            _ => {}
        }
    }
}

/// A line that is being typed.
#[derive(Default)]
struct Line {
    text: String,
}

#[derive(Debug, PartialEq, Eq)]
enum Pressed {
    More,
    Done,
    BrokenOff,
}

impl Line {
    fn press(&mut self, key: KeyEvent) -> Pressed {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Enter => return Pressed::Done,
            KeyCode::Char('c') if control => return Pressed::BrokenOff,
            // As in a line of the terminal: end of file at its start means "never mind".
            KeyCode::Char('d') if control => {
                return if self.text.is_empty() { Pressed::BrokenOff } else { Pressed::Done };
            }
            KeyCode::Char('j' | 'm') if control => return Pressed::Done,
            KeyCode::Char('u') if control => self.text.clear(),
            KeyCode::Backspace | KeyCode::Char('h') if control || key.code == KeyCode::Backspace => {
                self.text.pop();
            }
            KeyCode::Char(typed) if !control => self.text.push(typed),
            _ => {}
        }
        Pressed::More
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(keys: &[KeyEvent]) -> (String, Pressed) {
        let mut line = Line::default();
        let mut last = Pressed::More;
        for key in keys {
            last = line.press(*key);
        }
        (line.text, last)
    }

    fn key(char: char) -> KeyEvent {
        KeyEvent::new(KeyCode::Char(char), KeyModifiers::NONE)
    }

    fn control(char: char) -> KeyEvent {
        KeyEvent::new(KeyCode::Char(char), KeyModifiers::CONTROL)
    }

    #[test]
    fn a_password_can_be_mended_while_it_is_typed() {
        let enter = KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE);
        let back = KeyEvent::new(KeyCode::Backspace, KeyModifiers::NONE);
        let keys = [key('x'), control('u'), key('s'), key('é'), key('y'), back, enter];
        assert_eq!(typed(&keys), ("sé".into(), Pressed::Done));
    }

    #[test]
    fn control_c_breaks_off_and_leaves_nothing_typed() {
        assert_eq!(typed(&[key('s'), control('c')]).1, Pressed::BrokenOff);
        assert_eq!(typed(&[control('d')]).1, Pressed::BrokenOff);
        assert_eq!(typed(&[control('x')]), (String::new(), Pressed::More));
    }
}
