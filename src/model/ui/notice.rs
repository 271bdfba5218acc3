//! Short messages to the person, which go by themselves.

use std::fmt;

use crate::domain::escape::escape;
use crate::domain::play::{Ill, Order};
use crate::domain::raft::{Fault, NodeId, Speed};
use crate::domain::write::{Write, WriteResult};
use crate::domain::{Length, Millis, Revision, Timestamp};
use crate::input::SeekTo;
use crate::input::action::Copied;
use crate::input::command::CommandError;

/// How long a message stays.
const SHOWN: Millis = Millis(4_000);

/// A message that is shown for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toast {
    /// The message.
    pub notice: Notice,
    /// When it goes.
    pub until: Timestamp,
}

/// Which end of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edge {
    /// Its begin.
    Start,
    /// Its end.
    End,
}

/// What a person is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Something went to the clipboard.
    Copied(Copied),
    /// There is nothing of this kind to copy.
    NothingToCopy(Copied),
    /// A command could not be carried out.
    Command(CommandError),
    /// No lock has this name.
    NoLock(String),
    /// No lock is selected that could be opened.
    NothingToOpen,
    /// This theme is used now.
    Theme(String),
    /// The mouse is captured (`true`) or left to the terminal.
    Mouse(bool),
    /// Leases are asked and the screen is refreshed this often now.
    Refresh(Millis),
    /// It cannot be refreshed more, or less, often.
    RefreshLimit(Millis),
    /// The list shows everything (`true`) or locks only.
    All(bool),
    /// A fault was done.
    Done(Fault),
    /// A fault could not be done, for this reason.
    NotDone(Fault, String),
    /// Only an embedded cluster can be told that.
    NeedsEmbedded,
    /// The cluster that is played on has told of no node yet.
    NoNode,
    /// The cluster's clock cannot be set slower, or faster, than this.
    SpeedLimit(Speed),
    /// The node is cut off from all others already.
    IsolatedAlready(NodeId),
    /// There is no leader, or no other node that could lead.
    NoHeir,
    /// An order was carried out.
    Ordered(Order),
    /// An order could not be carried out, for this reason.
    NotOrdered(Order, String),
    /// There are no simulated clients here.
    NeedsPlay,
    /// A replay shows what was; nothing can be done to that.
    OnlyReplay,
    /// Only a replay can be told that.
    NeedsReplay,
    /// The replay cannot be faster, or slower, than this.
    ReplayLimit(super::ReplaySpeed),
    /// Nothing more of the recording happens to what has this in its name.
    NotFound(String),
    /// Nothing was looked for yet.
    NothingSought,
    /// The recording ends, or begins, here.
    ReplayEdge(Edge),
    /// The recording cannot be read any more, for this reason.
    ReplayBroke(String),
    /// This session is recorded into this file from now on.
    Recording(String),
    /// It was, and so many observations are in this file.
    Recorded(String, u64),
    /// It cannot be, for this reason.
    NotRecorded(String),
    /// There is nothing that a filter could be used on.
    NothingToFilter,
    /// There is nothing before what the lanes show: they show it all.
    WholeRun,
    /// There is nothing before what the lanes show.
    RunBegins,
    /// The simulated clients have not been heard of yet.
    NoClient,
    /// The log entry at this index came of no request that is still known.
    NoWay(crate::domain::RaftIndex),
    /// The command of a dialog went to the clipboard.
    CommandCopied,
    /// Writes are taken away by the settings.
    ReadOnly,
    /// A write is being carried out; another one has to wait.
    WriteRuns,
    /// The dialog of a write was left while it is carried out.
    WriteGoesOn,
    /// What came of a write whose dialog was left.
    Written(Box<(Write, WriteResult)>),
    /// What is selected has no lease that could be revoked.
    NoLease,
    /// No key is selected that could be deleted.
    NothingToRelease,
    /// There is neither a key nor a held lock of this name.
    NoKey(String),
    /// No member is selected.
    NoMember,
    /// No member is called that.
    NoMemberNamed(String),
    /// The member leads already.
    LeadsAlready,
    /// No alarm is raised.
    NoAlarm,
    /// What is over needs no attention any more.
    Dismissed,
    /// Nothing that needs attention is over.
    NothingToDismiss,
    /// The replay went to a place that is not quite the one that was asked for, or is a revision.
    Landed(Landed),
}

/// Where a replay came to stand, and why there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Landed {
    /// At the revision that was asked for.
    AtRevision(Revision),
    /// Nothing was observed at the revision asked for: at the next one of which something was.
    Between {
        /// What was asked for.
        asked: Revision,
        /// The revision of the observation before.
        before: Revision,
        /// Where it is.
        at: Revision,
    },
    /// Nothing was observed yet at the revision asked for: at the first of all.
    First {
        /// What was asked for.
        asked: Revision,
        /// Where it is.
        at: Revision,
    },
    /// The recording ends before the place asked for.
    Beyond {
        /// What was asked for.
        asked: SeekTo,
        /// The revision it ends at.
        at: Revision,
    },
    /// The recording begins after the place asked for.
    BeforeStart,
}

impl fmt::Display for Landed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtRevision(at) => write!(f, "at revision {at}"),
            Self::Between { asked, before, at } => write!(
                f,
                "at revision {at}: of {asked} nothing is recorded, as it changed nothing that was watched; before is {before}"
            ),
            Self::First { asked, at } => {
                write!(f, "at revision {at}, the first in the recording; {asked} is before it")
            }
            Self::Beyond { asked: SeekTo::Revision(asked), at } => {
                write!(f, "at the end, revision {at}: the recording ends before revision {asked}")
            }
            Self::Beyond { at, .. } => write!(f, "at the end, revision {at}: the recording ends before that time"),
            Self::BeforeStart => f.write_str("at the start: the recording begins after that time"),
        }
    }
}

impl Toast {
    /// A message that is shown from `now` on.
    pub fn new(notice: Notice, now: Timestamp) -> Self {
        Self { notice, until: now + SHOWN }
    }
}

impl Notice {
    /// Whether it tells of something that did not work.
    pub fn is_error(&self) -> bool {
        match self {
            Self::NothingToCopy(_)
            | Self::Command(_)
            | Self::NoLock(_)
            | Self::NothingToOpen
            | Self::NotDone(..)
            | Self::NeedsEmbedded
            | Self::NoNode
            | Self::NoHeir
            | Self::NotOrdered(..)
            | Self::NeedsPlay
            | Self::ReadOnly
            | Self::WriteRuns
            | Self::NoLease
            | Self::NothingToRelease
            | Self::NoKey(_)
            | Self::NoMember
            | Self::NoMemberNamed(_)
            | Self::NoAlarm
            | Self::OnlyReplay
            | Self::NeedsReplay
            | Self::NotFound(_)
            | Self::NothingSought
            | Self::ReplayBroke(_)
            | Self::NotRecorded(_)
            | Self::NoClient => true,
            Self::Written(done) => !matches!(done.1, WriteResult::Done { .. }),
            Self::Copied(_)
            | Self::Theme(_)
            | Self::Mouse(_)
            | Self::Refresh(_)
            | Self::RefreshLimit(_)
            | Self::All(_)
            | Self::Done(_)
            | Self::Ordered(_)
            | Self::SpeedLimit(_)
            | Self::IsolatedAlready(_)
            | Self::ReplayLimit(_)
            | Self::ReplayEdge(_)
            | Self::Recording(_)
            | Self::Recorded(..)
            | Self::NothingToFilter
            | Self::WholeRun
            | Self::RunBegins
            | Self::CommandCopied
            | Self::WriteGoesOn
            | Self::LeadsAlready
            | Self::Dismissed
            | Self::NothingToDismiss
            | Self::Landed(_)
            | Self::NoWay(_) => false,
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Copied(what) => write!(f, "{} copied", what.words()),
            Self::NothingToCopy(what) => write!(f, "no {} to copy here", what.words()),
            Self::Command(error) => error.fmt(f),
            Self::NoLock(name) => write!(f, "no lock `{name}`"),
            Self::NothingToOpen => f.write_str("no lock to open here"),
            Self::Theme(name) => write!(f, "theme {name}"),
            Self::Dismissed => f.write_str("dismissed: the history keeps it, and what happens anew is told again"),
            Self::NothingToDismiss => f.write_str("nothing in Attention is over: what is there goes when it is mended"),
            Self::Landed(landed) => landed.fmt(f),
            Self::Mouse(true) => f.write_str("mouse on: click and scroll"),
            Self::Mouse(false) => f.write_str("mouse left to the terminal: select text; m takes it back"),
            Self::Refresh(period) => write!(f, "refresh every {} s", period.secs()),
            Self::RefreshLimit(period) => write!(f, "refresh stays at every {} s", period.secs()),
            Self::All(true) => f.write_str("all leased keys"),
            Self::All(false) => f.write_str("locks only"),
            Self::Done(fault) => done(*fault, f),
            Self::NotDone(fault, why) => write!(f, "{fault}: {why}"),
            Self::NeedsEmbedded => f.write_str("this key needs an embedded cluster: `lockscope demo` starts one"),
            Self::NoNode => f.write_str("the cluster has told of no node yet"),
            Self::NoHeir => f.write_str("there is no other node that could lead"),
            Self::Ordered(order) => ordered(order, f),
            Self::NotOrdered(order, why) => write!(f, "{order}: {why}"),
            Self::NeedsPlay => f.write_str("no clients play here: `lockscope demo` has some"),
            Self::NoClient => f.write_str("no client plays; a adds one"),
            Self::OnlyReplay => f.write_str("this is a recording: it can be looked at, and nothing can be done to it"),
            Self::NeedsReplay => f.write_str("this needs a recording: `lockscope replay FILE` shows one"),
            Self::ReplayLimit(speed) => write!(f, "the replay goes at {speed} already"),
            Self::NotFound(text) => write!(f, "nothing more happens to what has `{text}` in its name"),
            Self::NothingSought => f.write_str("say what to look for with :find TEXT"),
            Self::ReplayEdge(Edge::Start) => f.write_str("the recording begins here"),
            Self::ReplayEdge(Edge::End) => f.write_str("the recording ends here"),
            Self::ReplayBroke(why) => write!(f, "the recording cannot be read any more: {why}"),
            Self::Recording(file) => write!(f, "recording into {file}; T ends it"),
            Self::Recorded(file, count) => {
                write!(f, "{count} {} in {file}", if *count == 1 { "observation is" } else { "observations are" })
            }
            Self::NotRecorded(why) => f.write_str(why),
            Self::NothingToFilter => f.write_str("there is nothing to filter here: Locks and Leases have a filter"),
            Self::WholeRun => f.write_str("the whole run is on the screen; z shows it in more detail"),
            Self::RunBegins => f.write_str("here the run begins; F follows it again"),
            Self::SpeedLimit(speed) => write!(f, "the cluster's clock runs at {speed} times already"),
            Self::IsolatedAlready(node) => write!(f, "{node} is cut off from all others already; h heals all cuts"),
            Self::NoWay(index) => write!(f, "no way of entry {index} is known; this is the newest request"),
            Self::CommandCopied => f.write_str("command copied"),
            Self::ReadOnly => f.write_str("read-only: writes are off"),
            Self::WriteRuns => f.write_str("a write is being carried out; its outcome comes first"),
            Self::WriteGoesOn => f.write_str("the write goes on; what comes of it is told here and in the log"),
            Self::Written(done) => written(&done.0, &done.1, f),
            Self::NoLease => f.write_str("there is no lease to revoke here; D deletes a key without one"),
            Self::NothingToRelease => f.write_str("nobody holds what is selected: there is no key to delete"),
            Self::NoKey(name) => write!(f, "neither a key nor a held lock is called `{name}`"),
            Self::NoMember => f.write_str("no member is known yet"),
            Self::NoMemberNamed(name) => write!(f, "no member is called `{name}`"),
            Self::LeadsAlready => f.write_str("this member leads already"),
            Self::NoAlarm => f.write_str("no alarm is raised"),
        }
    }
}

/// What came of a write, in a few words.
fn written(write: &Write, result: &WriteResult, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match result {
        WriteResult::Done { .. } => f.write_str("done: ")?,
        WriteResult::Changed { .. } | WriteResult::Gone | WriteResult::Refused { .. } => f.write_str("not done: ")?,
        WriteResult::NotSent { .. } => f.write_str("not sent: ")?,
        WriteResult::Unknown { .. } => f.write_str("UNKNOWN whether done: ")?,
    }
    match write {
        Write::Revoke { lease } => write!(f, "revoke lease {lease}")?,
        Write::Release { lock, .. } => write!(f, "release {}", escape(lock))?,
        Write::MoveLeader { to } => write!(f, "move the lead to {to}")?,
        Write::Disarm(alarm) => write!(f, "disarm {}", alarm.kind.name())?,
    }
    match result {
        // Not every call tells one.
        WriteResult::Done { revision, .. } if revision.0 == 0 => Ok(()),
        WriteResult::Done { revision, .. } => write!(f, ", at revision {revision}"),
        WriteResult::Changed { .. } => f.write_str(": it changed before"),
        WriteResult::Gone => f.write_str(": it was gone already"),
        WriteResult::NotSent { why } | WriteResult::Refused { why } | WriteResult::Unknown { why } => {
            write!(f, ": {why}")
        }
    }
}

/// What an order led to, in a few words.
fn ordered(order: &Order, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let (whom, ill) = match order {
        Order::Add(1) => return f.write_str("one client more joins"),
        Order::Add(count) => return write!(f, "{count} clients more join"),
        Order::Client(whom, ill) => (whom, ill),
    };
    match ill {
        Ill::Pause => write!(f, "{whom} stands still: no heartbeat, no work; p lets it go on"),
        Ill::Resume => write!(f, "{whom} goes on"),
        Ill::Crash => write!(f, "{whom} crashed: its key stays until its lease runs out"),
        Ill::Cut => write!(f, "{whom} is cut off; d mends its connection"),
        Ill::Mend => write!(f, "{whom} reaches the cluster again"),
        Ill::Release => write!(f, "{whom} lets go"),
        Ill::Revoke => write!(f, "the lease of {whom} is revoked"),
        Ill::Remove => write!(f, "{whom} ends in order"),
        Ill::Heartbeat(every) => write!(f, "{whom} sends a heartbeat every {} from now on", Length(*every)),
        Ill::Skew(0) => write!(f, "the clock of {whom} is right again"),
        Ill::Skew(millis) => {
            let size = Length(std::time::Duration::from_millis(millis.unsigned_abs()));
            write!(f, "the clock of {whom} is {size} {}; t sets it right", if *millis < 0 { "behind" } else { "ahead" })
        }
        Ill::Hold(hold) => write!(f, "{whom} holds for {} from now on", Length(*hold)),
    }
}

/// What a fault led to, in a few words.
fn done(fault: Fault, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match fault {
        Fault::Kill(node) => write!(f, "killed {node}"),
        Fault::Start(node) => write!(f, "started {node}"),
        Fault::Pause(node) => write!(f, "paused {node}: it answers nothing"),
        Fault::Resume(node) => write!(f, "{node} goes on"),
        Fault::Isolate(node) => write!(f, "{node} is cut off from all others"),
        Fault::Cut(one, other) => write!(f, "{one} and {other} cannot reach each other"),
        Fault::Heal => f.write_str("the network is as at the start"),
        Fault::Campaign(node) => write!(f, "{node} stands for election"),
        Fault::Transfer(node) => write!(f, "the lead is handed over to {node}"),
        Fault::Speed(speed) => write!(f, "the cluster's clock runs at {speed} times"),
        Fault::Freeze => f.write_str("the cluster's clock stands still; f lets it run on, . makes one step"),
        Fault::Thaw => f.write_str("the cluster's clock runs on"),
        Fault::Step => f.write_str("one step"),
        Fault::Delay(_) | Fault::Loss(_) | Fault::PreVote(_) | Fault::CheckQuorum(_) => {
            write!(f, "{fault} from now on")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{MemberId, Revision};

    #[test]
    fn a_write_whose_answer_tells_no_revision_is_told_without_one() {
        let told = |revision| {
            let done = WriteResult::Done { revision: Revision(revision), gone: Vec::new() };
            Notice::Written(Box::new((Write::MoveLeader { to: MemberId(0xa) }, done))).to_string()
        };
        assert_eq!((&*told(0), &*told(7)), ("done: move the lead to a", "done: move the lead to a, at revision 7"));
    }
}
