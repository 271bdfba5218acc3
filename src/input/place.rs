//! Where a person can be, and in which order a person can ask for things: the screens, the
//! panes on them, and the sorts of the lock list.

use std::fmt;

/// A screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Screen {
    /// All locks.
    #[default]
    Locks,
    /// One lock: its queue and its history.
    Lock,
    /// All leases.
    Leases,
    /// The members of the cluster.
    Members,
    /// What goes on between the members: terms, votes, messages, logs.
    Raft,
    /// The ways of single requests through the cluster; it opens from the Raft screen.
    Way,
    /// The simulated clients: what they do over time, and what can be done to them.
    Playground,
    /// The program's own log.
    Log,
    /// Who waits for whom, across locks.
    Waits,
}

impl Screen {
    /// The screens that have a tab, in the order of their tabs.
    pub const ALL: [Self; 8] =
        [Self::Locks, Self::Lock, Self::Leases, Self::Members, Self::Raft, Self::Playground, Self::Log, Self::Waits];

    /// The screen whose tab is marked.
    #[must_use]
    pub const fn tab(self) -> Self {
        match self {
            Self::Way => Self::Raft,
            other => other,
        }
    }

    /// The name on its tab.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Locks => "Locks",
            Self::Lock => "Lock",
            Self::Leases => "Leases",
            Self::Members => "Members",
            Self::Raft => "Raft",
            Self::Way => "Way",
            Self::Playground => "Playground",
            Self::Log => "Log",
            Self::Waits => "Waits",
        }
    }

    /// The name on its tab where there is little room.
    pub const fn short_name(self) -> &'static str {
        match self {
            Self::Playground => "Play",
            other => other.name(),
        }
    }

    /// The name on its tab where there is hardly any room.
    pub const fn shortest_name(self) -> &'static str {
        match self {
            Self::Members => "Memb",
            other => other.short_name(),
        }
    }

    /// The pane that has the focus when the screen opens.
    pub const fn main_pane(self) -> Pane {
        match self {
            Self::Locks => Pane::Locks,
            Self::Lock => Pane::Queue,
            Self::Leases => Pane::Leases,
            Self::Members => Pane::Members,
            Self::Raft => Pane::Nodes,
            Self::Way => Pane::Requests,
            Self::Playground => Pane::Lanes,
            Self::Log => Pane::Log,
            Self::Waits => Pane::Waits,
        }
    }
}

/// A part of a screen that can have the focus and scroll.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pane {
    /// The list of locks.
    Locks,
    /// The queue of one lock.
    Queue,
    /// How the holds of one lock began and ended.
    History,
    /// What was found about a lock.
    Findings,
    /// The list of leases.
    Leases,
    /// The list of members.
    Members,
    /// The nodes of the embedded cluster: the ring, the table and the log of each.
    Nodes,
    /// The terms so far with their elections.
    Terms,
    /// The latest requests to the embedded cluster.
    Requests,
    /// The way of one request.
    Way,
    /// The lanes of the simulated clients.
    Lanes,
    /// The simulated clients as a table.
    Clients,
    /// What happened to them, in sentences.
    Happened,
    /// What is expected of their run.
    Expected,
    /// What wants attention.
    Attention,
    /// The latest changes the watch brought.
    Watch,
    /// The program's own log.
    Log,
    /// Who waits for whom.
    Waits,
    /// The help, above everything else.
    Help,
    /// The dialog before a write, above even that.
    Dialog,
}

impl Pane {
    /// All panes.
    pub const ALL: [Self; 20] = [
        Self::Locks,
        Self::Queue,
        Self::History,
        Self::Findings,
        Self::Leases,
        Self::Members,
        Self::Nodes,
        Self::Terms,
        Self::Requests,
        Self::Way,
        Self::Lanes,
        Self::Clients,
        Self::Happened,
        Self::Expected,
        Self::Attention,
        Self::Watch,
        Self::Log,
        Self::Waits,
        Self::Help,
        Self::Dialog,
    ];
}

// A pane that is left out has no place to remember how far it is scrolled.
const _: () = assert!(Pane::ALL.len() == Pane::Dialog as usize + 1, "a pane is missing in Pane::ALL");

/// What the list of locks is sorted by. Equal locks follow each other by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sort {
    /// How much it matters: how bad its findings are, then for how long how many wait; most first.
    #[default]
    Weight,
    /// The number of waiters; most first.
    Wait,
    /// The name; in the order of its bytes.
    Name,
    /// How long the holder has held it; longest first.
    Held,
    /// What is left of the holder's lease; least first, a lock whose holder has none last.
    Ttl,
    /// How often it changed hands lately; most often first.
    Handovers,
}

impl Sort {
    /// All sorts in the order `s` goes through them.
    pub const ALL: [Self; 6] = [Self::Weight, Self::Wait, Self::Name, Self::Held, Self::Ttl, Self::Handovers];

    /// The word in the list's title and on the command line, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Weight => "weight",
            Self::Wait => "wait",
            Self::Name => "name",
            Self::Held => "held",
            Self::Ttl => "ttl",
            Self::Handovers => "handovers",
        }
    }

    /// The sort `s` goes to from here.
    #[must_use]
    pub fn next(self) -> Self {
        let at = Self::ALL.iter().position(|&sort| sort == self).unwrap_or_default();
        Self::ALL[(at + 1) % Self::ALL.len()]
    }

    /// Whether the unreversed order starts with the largest.
    pub const fn starts_with_largest(self) -> bool {
        matches!(self, Self::Weight | Self::Wait | Self::Held | Self::Handovers)
    }
}

impl fmt::Display for Screen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Sort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
