//! Everything that is drawn.
pub mod text;
