//! Everything that is drawn.
pub mod glyphs;
pub mod text;
pub mod theme;
