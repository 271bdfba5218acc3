//! The table of commands: what each is called, what follows it, and what the help says of it.

use crate::input::action::{Action, Wish};
use crate::input::place::Screen;

/// A command of the table.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its names; the first is the one that completes.
    pub names: &'static [&'static str],
    /// What follows the name, for the help; empty when nothing does.
    pub arguments: &'static str,
    /// What it does, as a sentence without its full stop.
    pub help: &'static str,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Plain(Action),
    Sort,
    Theme,
    Filter,
    Lock,
    Revoke,
    Release,
    MoveLeader,
    Seek,
    Find,
    Record,
}

impl Kind {
    /// Whether it opens the dialog before a write.
    pub const fn is_write(self) -> bool {
        matches!(self, Self::Revoke | Self::Release | Self::MoveLeader | Self::Plain(Action::Write(_)))
    }
}

const fn entry(names: &'static [&'static str], arguments: &'static str, help: &'static str, kind: Kind) -> Entry {
    Entry { names, arguments, help, kind }
}

/// The table. Its order is the order of the help and of completion.
pub const COMMANDS: &[Entry] = &[
    entry(&["quit", "q"], "", "Quit", Kind::Plain(Action::Quit)),
    entry(&["locks"], "", "All locks", Kind::Plain(Action::Show(Screen::Locks))),
    entry(&["lock"], "[NAME]", "The lock of this name, or the selected one", Kind::Lock),
    entry(&["leases"], "", "All leases", Kind::Plain(Action::Show(Screen::Leases))),
    entry(&["members"], "", "The members of the cluster", Kind::Plain(Action::Show(Screen::Members))),
    entry(&["raft"], "", "What goes on between the members: Raft", Kind::Plain(Action::Show(Screen::Raft))),
    entry(&["playground"], "", "The simulated clients", Kind::Plain(Action::Show(Screen::Playground))),
    entry(&["log"], "", "The log of lockscope itself", Kind::Plain(Action::Show(Screen::Log))),
    entry(&["waits"], "", "Who waits for whom, across locks", Kind::Plain(Action::Show(Screen::Waits))),
    entry(&["sort"], "weight|wait|name|held|ttl|handovers [asc|desc]", "Sort the locks", Kind::Sort),
    entry(&["filter"], "[TEXT]", "Show only what has TEXT in its name; without TEXT show everything", Kind::Filter),
    entry(&["theme"], "NAME", "Use a theme", Kind::Theme),
    entry(&["all"], "", "Show also registrations and other leased keys, or locks only", Kind::Plain(Action::All)),
    entry(&["revoke"], "[LEASE]", "Revoke a lease, or that of what is selected, after a dialog", Kind::Revoke),
    entry(
        &["release"],
        "[KEY]",
        "Delete a key from its lock, the holder's key of a lock, or what is selected, after a dialog",
        Kind::Release,
    ),
    entry(&["move-leader"], "NAME", "Move the lead to the member of this name, after a dialog", Kind::MoveLeader),
    entry(
        &["disarm"],
        "",
        "Disarm the alarm of the selected member, or the first that is raised, on all members, after a dialog",
        Kind::Plain(Action::Write(Wish::Disarm)),
    ),
    entry(&["pause"], "", "Hold the screen still, or let it go on", Kind::Plain(Action::Pause)),
    entry(&["mouse"], "", "Leave the mouse to the terminal, or take it back", Kind::Plain(Action::Mouse)),
    entry(
        &["dismiss"],
        "",
        "Take gaps, and that another cluster answers, out of Attention",
        Kind::Plain(Action::Dismiss),
    ),
    entry(&["record"], "[FILE]", "Record what is seen into a file, or stop", Kind::Record),
    entry(&["seek"], "12:04:10|+30s|-1m|rev N|start|end", "Go to a place in a replay", Kind::Seek),
    entry(&["find"], "TEXT", "In a replay, go on to what happens to a lock or key with TEXT in its name", Kind::Find),
    entry(&["redraw"], "", "Draw the whole screen anew", Kind::Plain(Action::Redraw)),
    entry(&["help", "h"], "", "Show the help", Kind::Plain(Action::Help)),
];
