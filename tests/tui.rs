//! The real binary in a pseudo-terminal: what a person sees, types, and is left with.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

#[path = "tui/appearance.rs"]
mod appearance;
#[path = "tui/demo.rs"]
mod demo;
#[path = "tui/ending.rs"]
mod ending;
#[path = "tui/locks.rs"]
mod locks;
#[path = "tui/outage.rs"]
mod outage;
#[path = "tui/pty.rs"]
mod pty;
#[path = "tui/replay.rs"]
mod replay;
#[path = "tui/rights.rs"]
mod rights;
#[path = "tui/screens.rs"]
mod screens;
#[path = "tui/speed.rs"]
mod speed;
mod support;
#[path = "tui/troubles.rs"]
mod troubles;
#[path = "tui/writes.rs"]
mod writes;
