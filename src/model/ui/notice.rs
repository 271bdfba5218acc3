//! Short messages to the person, which go by themselves.

use std::fmt;

use crate::domain::play::{Ill, Order, Whom};
use crate::domain::raft::{Fault, NodeId, Speed};
use crate::domain::write::{Write, WriteResult};
use crate::domain::{Length, Millis, Revision, Sentence, Timestamp, Value};
use crate::input::action::Copied;
use crate::input::command::CommandError;
use crate::input::keymap::Context;
use crate::input::{Chord, SeekTo};

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
    /// Something went to the terminal for its clipboard: what, and the text.
    Copied(Copied, String),
    /// So did this command.
    CopiedRemedy(Box<Sentence>),
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
    /// Nor does anything more happen to what has this in its name; it last did at this revision.
    FoundBehind(String, Revision),
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
    /// On the screen of waits a whole circle is selected, and one key was to be deleted.
    CircleSelected,
    /// On the screen of waits the rest of a branch is selected, which is no client.
    FoldSelected,
    /// The selected key has no lease that could be shown.
    LeaselessKey,
    /// No clients play here, and what a real etcd tells is on other screens.
    NobodyPlays,
    /// A key does nothing on this screen, and something on these.
    NotHere(Chord, Vec<Context>),
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
    /// Nobody holds what is selected, so there is no lease.
    NothingToRevoke,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

impl Landed {
    /// What it says, with its values apart from the words.
    fn sentence(self) -> Sentence {
        let revision = |revision: Revision| text(revision);
        match self {
            Self::AtRevision(at) => Sentence::new("at revision {at}").with("at", revision(at)),
            Self::Between { asked, before, at } => Sentence::new(
                "at revision {at}: nothing that is watched changed at {asked}; the one before is {before}",
            )
            .with("at", revision(at))
            .with("asked", revision(asked))
            .with("before", revision(before)),
            Self::First { asked, at } => {
                Sentence::new("at revision {at}, the first in the recording; {asked} is before it")
                    .with("at", revision(at))
                    .with("asked", revision(asked))
            }
            Self::Beyond { asked: SeekTo::Revision(asked), at } => {
                Sentence::new("at the end, revision {at}: the recording ends before revision {asked}")
                    .with("at", revision(at))
                    .with("asked", revision(asked))
            }
            Self::Beyond { at, .. } => {
                Sentence::new("at the end, revision {at}: the recording ends before that time").with("at", revision(at))
            }
            Self::BeforeStart => Sentence::new("at the start: the recording begins after that time"),
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
            | Self::CircleSelected
            | Self::FoldSelected
            | Self::LeaselessKey
            | Self::NotHere(..)
            | Self::WriteRuns
            | Self::NoLease
            | Self::NothingToRelease
            | Self::NothingToRevoke
            | Self::NoKey(_)
            | Self::NoMember
            | Self::NoMemberNamed(_)
            | Self::NoAlarm
            | Self::OnlyReplay
            | Self::NeedsReplay
            | Self::NotFound(_)
            | Self::FoundBehind(..)
            | Self::NothingSought
            | Self::ReplayBroke(_)
            | Self::NotRecorded(_)
            | Self::NoClient => true,
            Self::Written(done) => !matches!(done.1, WriteResult::Done { .. }),
            Self::Copied(..)
            | Self::CopiedRemedy(_)
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
            | Self::NobodyPlays
            | Self::NoWay(_) => false,
        }
    }
}

impl Notice {
    /// What it says, with its values apart from the words.
    pub fn sentence(&self) -> Sentence {
        match self {
            // Whether the terminal takes it cannot be known, so the text is told too.
            Self::Copied(what, copied) => Sentence::new("{what} sent to the terminal's clipboard: {text}")
                .with("what", what.words())
                .with("text", copied.clone()),
            Self::CopiedRemedy(_) => Sentence::new("remedy sent to the terminal's clipboard"),
            Self::NothingToCopy(what) => Sentence::new("no {what} to copy here").with("what", what.words()),
            Self::Command(error) => error.sentence(),
            Self::NoLock(name) => Sentence::new("no lock `{name}`").with("name", name.clone()),
            Self::NothingToOpen => Sentence::new("no lock to open here"),
            Self::Theme(name) => Sentence::new("theme {name}").with("name", name.clone()),
            Self::Dismissed => Sentence::new("dismissed; it stays in the history and comes back if it happens again"),
            Self::NothingToDismiss => Sentence::new("nothing to dismiss: what Attention shows goes when it is fixed"),
            Self::Landed(landed) => landed.sentence(),
            Self::Mouse(true) => Sentence::new("mouse on: click and scroll"),
            Self::Mouse(false) => Sentence::new("mouse left to the terminal: select text; m takes it back"),
            Self::Refresh(period) => Sentence::new("refresh every {seconds} s").with("seconds", period.secs()),
            Self::RefreshLimit(period) => {
                Sentence::new("refresh stays at every {seconds} s").with("seconds", period.secs())
            }
            Self::All(true) => Sentence::new("all leased keys"),
            Self::All(false) => Sentence::new("locks only"),
            Self::Done(fault) => done(*fault),
            Self::NotDone(fault, why) => {
                Sentence::new("{what}: {why}").with("what", text(fault)).with("why", text(why))
            }
            Self::NeedsEmbedded => Sentence::new("this key needs an embedded cluster: `lockscope demo` starts one"),
            Self::NoNode => Sentence::new("the cluster has told of no node yet"),
            Self::NoHeir => Sentence::new("there is no other node that could lead"),
            Self::Ordered(order) => ordered(order),
            Self::NotOrdered(order, why) => {
                Sentence::new("{what}: {why}").with("what", text(order)).with("why", text(why))
            }
            Self::NeedsPlay => Sentence::new("no clients play here: `lockscope demo` has some"),
            Self::NoClient => Sentence::new("no client plays; a adds one"),
            Self::OnlyReplay => {
                Sentence::new("this is a recording: it can be looked at, and nothing can be done to it")
            }
            Self::NeedsReplay => Sentence::new("this needs a recording: `lockscope replay FILE` shows one"),
            Self::ReplayLimit(speed) => Sentence::new("the replay goes at {speed} already").with("speed", text(speed)),
            Self::NotFound(sought) => {
                Sentence::new("nothing more happens to what has `{text}` in its name").with("text", text(sought))
            }
            Self::FoundBehind(sought, at) => Sentence::new(
                "`{text}` lies behind: nothing more happens to it, and it last did at revision {at}; `:seek rev {at}` goes back",
            )
            .with("text", text(sought))
            .with("at", text(at)),
            Self::NothingSought => Sentence::new("say what to look for with :find TEXT"),
            Self::ReplayEdge(Edge::Start) => Sentence::new("the recording begins here"),
            Self::ReplayEdge(Edge::End) => Sentence::new("the recording ends here"),
            Self::ReplayBroke(why) => {
                Sentence::new("the recording cannot be read any more: {why}").with("why", text(why))
            }
            Self::Recording(file) => Sentence::new("recording into {file}; T ends it").with("file", text(file)),
            Self::Recorded(file, count) => {
                Sentence::new("{count} observations are in {file}").with("count", text(count)).with("file", text(file))
            }
            Self::NotRecorded(why) => Sentence::new("{why}").with("why", text(why)),
            Self::NothingToFilter => Sentence::new("there is nothing to filter here: Locks and Leases have a filter"),
            Self::WholeRun => Sentence::new("the whole run is on the screen; z shows it in more detail"),
            Self::RunBegins => Sentence::new("here the run begins; F follows it again"),
            Self::SpeedLimit(speed) => {
                Sentence::new("the cluster's clock runs at {speed} times already").with("speed", text(speed))
            }
            Self::IsolatedAlready(node) => {
                Sentence::new("{node} is cut off from all others already; h heals all cuts").with("node", text(node))
            }
            Self::NoWay(index) => {
                Sentence::new("no way of entry {index} is known; this is the newest request").with("index", text(index))
            }
            Self::CommandCopied => Sentence::new("command sent to the terminal's clipboard"),
            Self::CircleSelected => {
                Sentence::new("R revokes the lease whose end frees them; D deletes one client's key")
            }
            Self::FoldSelected => Sentence::new("these are several: ⏎ unfolds them, then select one"),
            Self::LeaselessKey => Sentence::new("this key has no lease"),
            Self::NobodyPlays => {
                Sentence::new("no clients play here; r shows what etcd tells of Raft, 4 the members")
            }
            Self::NotHere(key, contexts) => not_here(*key, contexts),
            Self::WriteRuns => Sentence::new("a write is being carried out; its outcome comes first"),
            Self::WriteGoesOn => Sentence::new("the write goes on; what comes of it is told here and in the log"),
            Self::Written(done) => written(&done.0, &done.1),
            Self::NoLease => Sentence::new("there is no lease to revoke here; D deletes a key without one"),
            Self::NothingToRevoke => {
                Sentence::new("nobody holds what is selected: there is no lease to revoke")
            }
            Self::NothingToRelease => Sentence::new("nobody holds what is selected: there is no key to delete"),
            Self::NoKey(name) => {
                Sentence::new("neither a key nor a held lock is called `{name}`").with("name", text(name))
            }
            Self::NoMember => Sentence::new("no member is known yet"),
            Self::NoMemberNamed(name) => Sentence::new("no member is called `{name}`").with("name", text(name)),
            Self::LeadsAlready => Sentence::new("this member leads already"),
            Self::NoAlarm => Sentence::new("no alarm is raised"),
        }
    }
}

/// The screens on which a key does something.
fn not_here(key: Chord, contexts: &[Context]) -> Sentence {
    let context = |at: usize| Value::Word(contexts.get(at).map_or("", |context| context.title()));
    Sentence::new(match contexts.len() {
        0 | 1 => "{key} does nothing here, only on {a}",
        2 => "{key} does nothing here, only on {a} and {b}",
        3 => "{key} does nothing here, only on {a}, {b} and {c}",
        _ => "{key} does nothing here, only on {a}, {b}, {c} and {d}",
    })
    .with("key", text(key))
    .with("a", context(0))
    .with("b", context(1))
    .with("c", context(2))
    .with("d", context(3))
}

impl fmt::Display for Notice {
    /// In English, as the log has it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sentence().fmt(f)
    }
}

fn text(value: impl fmt::Display) -> Value {
    Value::Text(value.to_string())
}

/// What came of a write, in a few words.
fn written(write: &Write, result: &WriteResult) -> Sentence {
    let what = match write {
        Write::Revoke { lease } => Sentence::new("revoke lease {lease}").with("lease", *lease),
        Write::Release { lock, .. } => Sentence::new("release {lock}").with("lock", lock.clone()),
        Write::MoveLeader { to } => Sentence::new("move the lead to {member}").with("member", text(to)),
        Write::Disarm(kind) => Sentence::new("disarm {alarm}").with("alarm", text(kind.name())),
    };
    let of = |words| Sentence::new(words).with("write", what);
    match result {
        // Not every call tells a revision.
        WriteResult::Done { revision, .. } if revision.0 == 0 => of("done: {write}"),
        WriteResult::Done { revision, .. } => {
            of("done: {write}, at revision {revision}").with("revision", text(revision))
        }
        WriteResult::Changed { .. } => of("not done: {write}: it changed before"),
        WriteResult::Gone => of("not done: {write}: it was gone already"),
        WriteResult::Refused { why } => of("not done: {write}: {why}").with("why", text(why)),
        WriteResult::NotSent { why } => of("not sent: {write}: {why}").with("why", text(why)),
        WriteResult::Unknown { why } => of("UNKNOWN whether done: {write}: {why}").with("why", text(why)),
    }
}

/// What an order led to, in a few words.
fn ordered(order: &Order) -> Sentence {
    let (whom, ill) = match order {
        Order::Add(1) => return Sentence::new("one client more joins"),
        Order::Add(count) => return Sentence::new("{count} clients more join").with("count", text(count)),
        Order::Client(whom, ill) => (whom, ill),
    };
    let said = match ill {
        Ill::Pause => Sentence::new("{whom} stands still: no heartbeat, no work; p lets it go on"),
        Ill::Resume => Sentence::new("{whom} goes on"),
        Ill::Crash => Sentence::new("{whom} crashed: its key stays until its lease runs out"),
        Ill::Cut => Sentence::new("{whom} is cut off; d mends its connection"),
        Ill::Mend => Sentence::new("{whom} reaches the cluster again"),
        Ill::Release => Sentence::new("{whom} lets go"),
        Ill::Revoke => Sentence::new("the lease of {whom} is revoked"),
        Ill::Remove => Sentence::new("{whom} ends in order"),
        Ill::Heartbeat(every) => {
            Sentence::new("{whom} sends a heartbeat every {length} from now on").with("length", text(Length(*every)))
        }
        Ill::Skew(0) => Sentence::new("the clock of {whom} is right again"),
        Ill::Skew(millis) => {
            let size = text(Length(std::time::Duration::from_millis(millis.unsigned_abs())));
            if *millis < 0 {
                Sentence::new("the clock of {whom} is {size} behind; t sets it right").with("size", size)
            } else {
                Sentence::new("the clock of {whom} is {size} ahead; t sets it right").with("size", size)
            }
        }
        Ill::Hold(hold) => Sentence::new("{whom} holds for {length} from now on").with("length", text(Length(*hold))),
    };
    match whom {
        Whom::Holder => said.with("whom", "holder"),
        Whom::Waiter => said.with("whom", "waiter"),
        Whom::Client(id) => said.with("whom", text(id)),
    }
}

/// What a fault led to, in a few words.
fn done(fault: Fault) -> Sentence {
    let of = |words, node| Sentence::new(words).with("node", text(node));
    match fault {
        Fault::Kill(node) => of("killed {node}", node),
        Fault::Start(node) => of("started {node}", node),
        Fault::Pause(node) => of("paused {node}: it answers nothing", node),
        Fault::Resume(node) => of("{node} goes on", node),
        Fault::Isolate(node) => of("{node} is cut off from all others", node),
        Fault::Cut(one, other) => of("{node} and {other} cannot reach each other", one).with("other", text(other)),
        Fault::Heal => Sentence::new("the network is as at the start"),
        Fault::Campaign(node) => of("{node} stands for election", node),
        Fault::Transfer(node) => of("the lead is handed over to {node}", node),
        Fault::Speed(speed) => Sentence::new("the cluster's clock runs at {speed} times").with("speed", text(speed)),
        Fault::Freeze => Sentence::new("the cluster's clock stands still; f lets it run on, . makes one step"),
        Fault::Thaw => Sentence::new("the cluster's clock runs on"),
        Fault::Step => Sentence::new("one step"),
        Fault::Delay(_) | Fault::Loss(_) | Fault::PreVote(_) | Fault::CheckQuorum(_) => {
            Sentence::new("{what} from now on").with("what", text(fault))
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
