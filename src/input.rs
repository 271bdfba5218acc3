//! What hands do, before it means anything: keys, mouse, paste, size.
//!
//! The keymap turns input into actions; nothing here knows a terminal library.

/// Something a person did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// The terminal has a new size: columns and rows.
    Resize(u16, u16),
}

/// Where things were drawn, so that a click can be told what it hit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hits {}
