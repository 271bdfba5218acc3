//! Everything the core wants done, as plain data.
//!
//! The other half of the seam. The runtime carries effects out and reports what they led to
//! as observations; nothing in the core waits for one.

use crate::domain::play::Order;
use crate::domain::raft::Fault;
use crate::domain::write::{Confirmed, WriteId};
use crate::domain::{Key, KeyRange, LeaseId, Sentence};
use crate::input::SeekTo;

/// Something for the rim to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Ask the time to live of these leases now, in this order, in one burst.
    PollLeases(Vec<LeaseId>),
    /// Read the past of this lock from the revisions of its keys; nothing ends the reading.
    ReadPast(Option<(Key, KeyRange)>),
    /// Ask the cluster for all keys of a lease, watched or not: the answer is an
    /// [`crate::event::Observation::LeaseKeys`].
    LeaseKeys(LeaseId),
    /// Carry a confirmed write out; what comes of it is an
    /// [`crate::event::Observation::WriteDone`].
    Write {
        /// Tells its answer from those of others.
        id: WriteId,
        /// What is to be done, with what was shown when it was confirmed.
        confirmed: Confirmed,
    },
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
    /// The same with a command, quoted for a shell.
    CopyCommand(Sentence),
    /// The same with a command that is advised, directed to the cluster.
    CopyRemedy(Sentence),
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
