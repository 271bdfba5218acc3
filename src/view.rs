//! Everything that is drawn.
pub mod canvas;
pub mod glyphs;
#[cfg(test)]
mod testing;
pub mod text;
pub mod theme;
pub mod widget;
