//! Everything the core wants done, as plain data.
//!
//! The other half of the seam. The runtime carries effects out and reports what they led to
//! as observations; nothing in the core waits for one.

use crate::domain::LeaseId;
use crate::domain::play::Order;
use crate::domain::raft::Fault;
use crate::input::SeekTo;

/// Something for the rim to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Ask the time to live of these leases now, in this order, in one burst.
    PollLeases(Vec<LeaseId>),
    /// Do something to the embedded cluster.
    Fault(Fault),
    /// Do something to the simulated clients.
    Order(Order),
    /// Move a replay.
    Replay(Replay),
    /// Record into this file, or into one with a name of its own; without a name a recording that
    /// is written is ended.
    Record(Option<String>),
    /// Put text on the clipboard of the terminal (OSC 52).
    Copy(String),
    /// Capture the mouse, or leave it to the terminal.
    CaptureMouse(bool),
    /// Stop the program's job, as Ctrl-Z does in a shell.
    Suspend,
    /// Draw the whole screen anew.
    Redraw,
    /// End the program.
    Quit,
}

/// What is done to a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replay {
    /// What a key says.
    Do(crate::input::action::Replay),
    /// Go to a place.
    Seek(SeekTo),
    /// Go on to what happens to a lock or key with this in its name.
    Find(String),
}

/// The effects of one update, in order.
pub type Effects = Vec<Effect>;
