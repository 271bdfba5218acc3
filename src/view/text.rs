//! Text as it may reach a terminal: escaped, cut by display width, numbers in short units.
//!
//! Pure functions over bytes and strings. Whatever came from a cluster passes through
//! [`escape()`] once on its way to a cell; the canvas that writes the cells checks it again.

mod cut;
mod named;
mod number;
mod sentence;

pub use crate::domain::escape::{escape, escape_text, is_unsafe, sanitise, unescape};
pub use cut::{Cut, around, back, cut_end, cut_middle, fit_bytes, front, padded, split_at_width, width};
pub use named::{NO_NAME, named};
pub use number::{bytes, clock, cluster_clock, duration, exact_clock, grouped, lasting, quantity, short_duration};
pub use sentence::{command, in_english, sentence, verdict};
