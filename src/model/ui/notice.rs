//! Short messages to the person, which go by themselves.

use std::fmt;

use crate::domain::{Millis, Timestamp};
use crate::input::action::Copied;
use crate::input::command::CommandError;

/// How long a message stays.
const SHOWN: Millis = Millis(4_000);

/// A message that is shown for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toast {
    /// The message.
    pub notice: Notice,
    /// When it goes.
    pub until: Timestamp,
}

/// What a person is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Something went to the clipboard.
    Copied(Copied),
    /// There is nothing of this kind to copy.
    NothingToCopy(Copied),
    /// A command could not be carried out.
    Command(CommandError),
    /// No lock has this name.
    NoLock(String),
    /// No lock is selected that could be opened.
    NothingToOpen,
    /// This theme is used now.
    Theme(String),
    /// The mouse is captured (`true`) or left to the terminal.
    Mouse(bool),
    /// Leases are asked and the screen is refreshed this often now.
    Refresh(Millis),
    /// It cannot be refreshed more, or less, often.
    RefreshLimit(Millis),
    /// The list shows everything (`true`) or locks only.
    All(bool),
}

impl Toast {
    /// A message that is shown from `now` on.
    pub fn new(notice: Notice, now: Timestamp) -> Self {
        Self { notice, until: now + SHOWN }
    }
}

impl Notice {
    /// Whether it tells of something that did not work.
    pub const fn is_error(&self) -> bool {
        matches!(self, Self::NothingToCopy(_) | Self::Command(_) | Self::NoLock(_) | Self::NothingToOpen)
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Copied(what) => write!(f, "{} copied", what.words()),
            Self::NothingToCopy(what) => write!(f, "no {} to copy here", what.words()),
            Self::Command(error) => error.fmt(f),
            Self::NoLock(name) => write!(f, "no lock `{name}`"),
            Self::NothingToOpen => f.write_str("no lock to open here"),
            Self::Theme(name) => write!(f, "theme {name}"),
            Self::Mouse(true) => f.write_str("mouse on: click and scroll"),
            Self::Mouse(false) => f.write_str("mouse left to the terminal: select text; m takes it back"),
            Self::Refresh(period) => write!(f, "refresh every {} s", period.secs()),
            Self::RefreshLimit(period) => write!(f, "refresh stays at every {} s", period.secs()),
            Self::All(true) => f.write_str("all leased keys"),
            Self::All(false) => f.write_str("locks only"),
        }
    }
}
