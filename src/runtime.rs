//! The rim: clocks, the terminal, the log, and the loop that ties them to the pure core.

pub mod clock;
pub mod terminal;
