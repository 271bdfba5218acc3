//! Everything a person can ask for, as data: what keys, clicks and commands come down to.

use super::{Screen, Sort};

/// Something a person asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Go somewhere in the pane that has the focus.
    Go(Motion),
    /// Give the focus to the next pane, from the last to the first again.
    NextPane,
    /// Give the focus to the pane before, from the first to the last again.
    PreviousPane,
    /// Give the focus to the next pane, if there is one.
    PaneRight,
    /// Give the focus to the pane before, if there is one.
    PaneLeft,
    /// Change to a screen.
    Show(Screen),
    /// Open what is selected.
    Open,
    /// Leave what was opened; take the filter away.
    Back,
    /// Type a filter.
    Filter,
    /// Type a command.
    Command,
    /// Sort by the next column.
    NextSort,
    /// Sort by this column; the other way round if it is the one already.
    SortBy(Sort),
    /// Sort the other way round.
    ReverseSort,
    /// Hold the screen still while the intake goes on, or let it go on.
    Pause,
    /// Refresh more often.
    Faster,
    /// Refresh less often.
    Slower,
    /// Choose what to copy.
    Copy,
    /// Copy one thing of what is selected.
    CopyOne(Copied),
    /// Use the next theme.
    NextTheme,
    /// Leave the mouse to the terminal, or take it back.
    Mouse,
    /// Show also what is no lock: registrations and other leased keys.
    All,
    /// Show or close the help.
    Help,
    /// Take notes of what is over out of Attention: gaps, and that another cluster answers.
    Dismiss,
    /// Draw the whole screen anew.
    Redraw,
    /// Stop the job, as Ctrl-Z does in a shell.
    Suspend,
    /// End the program.
    Quit,
    /// Change the line that is being typed.
    Edit(Edit),
    /// Select the next node of the embedded cluster, after the last the first again.
    NextNode,
    /// Select the node before, before the first the last again.
    PreviousNode,
    /// Select the log entry before.
    EntryBefore,
    /// Select the log entry after.
    EntryAfter,
    /// Show the elections so far in the log's place, or the log again.
    Elections,
    /// Do something to the selected node of the embedded cluster.
    Node(NodeDeed),
    /// Mend the embedded cluster's network.
    Heal,
    /// Change how the embedded cluster's clock runs.
    Pace(Pace),
    /// Hand the embedded cluster's lead over to another node.
    MoveLead,
    /// Do something to the selected client of the playground.
    Client(Blow),
    /// Let so many clients more join the playground.
    Join(u16),
    /// Look at another stretch of time on the playground's lanes.
    Lanes(Look),
    /// Show what is expected of the playground's run in the keys' place, or the keys again.
    Expectations,
    /// Open the dialog before a write about what is selected.
    Write(Wish),
    /// Copy the command that the open dialog shows.
    CopyCommand,
    /// Move a replay.
    Replay(Replay),
    /// Record this session into a file, or stop.
    Record,
}

/// A write that can be asked for by a key, about what is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wish {
    /// Revoke the lease.
    Revoke,
    /// Delete the key from its lock.
    Release,
    /// Move the lead to the member.
    MoveLeader,
    /// Disarm the member's alarm, or the first that is raised.
    Disarm,
}

/// What can be done to a replay by a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Replay {
    /// Stop its clock, or let it run.
    PlayOrPause,
    /// Faster by a step.
    Faster,
    /// Slower by a step.
    Slower,
    /// On by one observation.
    Next,
    /// Back by one observation.
    Previous,
    /// On to the next revision.
    NextRevision,
    /// Back to the revision before.
    PreviousRevision,
    /// On to what is found next.
    FindNext,
}

/// What can be done to a client of the playground by a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Blow {
    /// Let it stand still, or go on.
    PauseOrResume,
    /// End it without a word.
    Crash,
    /// Revoke its lease.
    Revoke,
    /// Cut its connection, or mend it.
    CutOrMend,
    /// Make its heartbeat slower, or as it was.
    SlowHeartbeat,
    /// Set its clock behind, or right.
    SkewClock,
    /// Let it release what it holds, or give up waiting.
    Release,
    /// Let it hold twice as long.
    HoldLonger,
    /// Let it hold half as long.
    HoldShorter,
    /// Let it end in order, for good.
    Remove,
}

/// A way to look along the playground's lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Look {
    /// Less time in more detail.
    Nearer,
    /// More time in less detail.
    Farther,
    /// To what was before.
    Back,
    /// To what was after.
    Forward,
    /// Along with the run.
    Follow,
}

/// What can be done to a node of the embedded cluster by a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NodeDeed {
    /// End it, or start it again.
    KillOrStart,
    /// Stop it, or let it go on.
    PauseOrResume,
    /// Cut it off from all others.
    Isolate,
    /// Have it stand for election.
    Campaign,
    /// Hand the lead over to it.
    Transfer,
}

/// A change of how the embedded cluster's clock runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pace {
    /// Slower by a step.
    Slower,
    /// Faster by a step.
    Faster,
    /// Stop it, or let it run on.
    FreezeOrThaw,
    /// Let the next thing happen and stop it behind that.
    Step,
}

/// A way to move in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Motion {
    /// To the row above.
    Up,
    /// To the row below.
    Down,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// To the first row.
    First,
    /// To the last row.
    Last,
}

/// What can be copied of the selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Copied {
    /// The lock's name.
    Name,
    /// The selected key.
    Key,
    /// The lease of the selected key.
    Lease,
    /// The fencing token of the holder.
    Token,
    /// The command that helps against the worst that was found.
    Remedy,
}

impl Copied {
    /// The words for it in a message.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Name => "lock name",
            Self::Key => "key",
            Self::Lease => "lease id",
            Self::Token => "fencing token",
            Self::Remedy => "remedy",
        }
    }
}

/// A change of the line that is being typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Edit {
    /// Done: use the line.
    Accept,
    /// Give it up.
    Cancel,
    /// Complete the word at the cursor.
    Complete,
    /// Bring back an earlier line.
    Earlier,
    /// Go to the later line again.
    Later,
    /// Delete the character before the cursor.
    Backspace,
    /// Delete the character at the cursor.
    Delete,
    /// Delete the word before the cursor.
    DeleteWord,
    /// Delete everything before the cursor.
    DeleteLine,
    /// One character left.
    Left,
    /// One character right.
    Right,
    /// To the start of the line.
    Start,
    /// To the end of the line.
    End,
}
