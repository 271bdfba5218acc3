//! Key chords as plain data, and how they are written in help and documents.

use std::fmt;

/// A key with the modifiers that were held. Shift is part of the character (`G`, `?`); it has
/// no field because terminals report it differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Chord {
    /// The key.
    pub code: Code,
    /// Whether Ctrl was held.
    pub ctrl: bool,
    /// Whether Alt was held.
    pub alt: bool,
}

/// A key of the keyboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// A character, with Shift already applied.
    Char(char),
    /// Enter or Return.
    Enter,
    /// Escape.
    Esc,
    /// Tab.
    Tab,
    /// Shift-Tab.
    BackTab,
    /// Backspace.
    Backspace,
    /// Delete.
    Delete,
    /// Arrow up.
    Up,
    /// Arrow down.
    Down,
    /// Arrow left.
    Left,
    /// Arrow right.
    Right,
    /// Home.
    Home,
    /// End.
    End,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// A function key by its number.
    F(u8),
}

impl Chord {
    /// The key alone.
    pub const fn plain(code: Code) -> Self {
        Self { code, ctrl: false, alt: false }
    }

    /// A character.
    pub const fn char(char: char) -> Self {
        Self::plain(Code::Char(char))
    }

    /// A character with Ctrl.
    pub const fn ctrl(char: char) -> Self {
        Self { code: Code::Char(char), ctrl: true, alt: false }
    }

    /// The character this types into a line of text; `None` for everything that is a command.
    pub const fn typed(self) -> Option<char> {
        match self {
            Self { code: Code::Char(char), ctrl: false, alt: false } => Some(char),
            _ => None,
        }
    }

    /// How a footer shows it: an arrow for an arrow key, and short words otherwise. `ascii`
    /// keeps to ASCII.
    pub fn symbol(self, ascii: bool) -> String {
        if ascii || self.ctrl || self.alt {
            return self.to_string();
        }
        match self.code {
            Code::Up => "↑".into(),
            Code::Down => "↓".into(),
            Code::Left => "←".into(),
            Code::Right => "→".into(),
            Code::Enter => "⏎".into(),
            Code::Esc => "esc".into(),
            Code::Tab => "tab".into(),
            Code::Char(' ') => "space".into(),
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for Chord {
    /// `Ctrl-C`, `PgUp`, `Space`, `q`: the form used in help and in `docs/keys.md`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ctrl {
            f.write_str("Ctrl-")?;
        }
        if self.alt {
            f.write_str("Alt-")?;
        }
        match self.code {
            Code::Char(' ') => f.write_str("Space"),
            // `Ctrl-C` is how keyboards and manuals write it, though the chord is `c`.
            Code::Char(char) if self.ctrl => write!(f, "{}", char.to_ascii_uppercase()),
            Code::Char(char) => write!(f, "{char}"),
            Code::Enter => f.write_str("Enter"),
            Code::Esc => f.write_str("Esc"),
            Code::Tab => f.write_str("Tab"),
            Code::BackTab => f.write_str("Shift-Tab"),
            Code::Backspace => f.write_str("Backspace"),
            Code::Delete => f.write_str("Delete"),
            Code::Up => f.write_str("Up"),
            Code::Down => f.write_str("Down"),
            Code::Left => f.write_str("Left"),
            Code::Right => f.write_str("Right"),
            Code::Home => f.write_str("Home"),
            Code::End => f.write_str("End"),
            Code::PageUp => f.write_str("PgUp"),
            Code::PageDown => f.write_str("PgDn"),
            Code::F(number) => write!(f, "F{number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chords_are_written_as_manuals_write_them() {
        let written = [
            (Chord::ctrl('c'), "Ctrl-C", "Ctrl-C"),
            (Chord::char(' '), "Space", "space"),
            (Chord::char('G'), "G", "G"),
            (Chord::plain(Code::Up), "Up", "↑"),
            (Chord::plain(Code::PageDown), "PgDn", "PgDn"),
            (Chord { code: Code::Char('x'), ctrl: false, alt: true }, "Alt-x", "Alt-x"),
        ];
        for (chord, word, symbol) in written {
            assert_eq!(chord.to_string(), word);
            assert_eq!(chord.symbol(false), symbol);
            assert_eq!(chord.symbol(true), word);
        }
    }

    #[test]
    fn only_plain_characters_type() {
        assert_eq!(Chord::char('é').typed(), Some('é'));
        assert_eq!(Chord::ctrl('c').typed(), None);
        assert_eq!(Chord::plain(Code::Enter).typed(), None);
    }
}
