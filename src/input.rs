//! What hands do, before it means anything: keys, mouse, paste, size.
//!
//! The [`keymap`] turns input into [`Action`]s, the [`command`] line words into them, and
//! [`Hits`] tell what a click met. Nothing here knows a terminal library or the model.

pub mod action;
pub mod command;
pub mod hits;
pub mod key;
pub mod keymap;
pub mod place;
pub mod seek;

pub use action::Action;
pub use hits::{Extent, Hits, Rect, Target, WaitId};
pub use key::{Chord, Code};
pub use place::{Pane, Screen, Sort};
pub use seek::SeekTo;

/// Something a person did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A key was pressed, or repeats while it is held down.
    Key(Chord),
    /// The mouse did something at a cell.
    Mouse(Mouse),
    /// Text was pasted; it is never taken for keys, so no pasted line can quit or confirm.
    Paste(String),
    /// The terminal has a new size: columns and rows.
    Resize(u16, u16),
    /// The terminal's window came to the front (`true`) or went behind another.
    Focus(bool),
}

/// What the mouse did, and in which cell; counted from 0 at the top left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mouse {
    /// What it did.
    pub kind: MouseKind,
    /// The column.
    pub column: u16,
    /// The row.
    pub row: u16,
}

/// What a mouse can do here; dragging and other buttons are the terminal's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MouseKind {
    /// The left button went down.
    Press,
    /// The wheel turned away from the hand.
    WheelUp,
    /// The wheel turned towards the hand.
    WheelDown,
}
