//! The rows of the keymap.

use super::{Binding, Context, Hint};
use crate::input::action::{Action, Blow, Copied, Edit, Look, Motion, NodeDeed, Pace, Replay, Wish};
use crate::input::{Chord, Code, Screen};

const UP: Chord = Chord::plain(Code::Up);
const DOWN: Chord = Chord::plain(Code::Down);
const LEFT: Chord = Chord::plain(Code::Left);
const RIGHT: Chord = Chord::plain(Code::Right);
const HOME: Chord = Chord::plain(Code::Home);
const END: Chord = Chord::plain(Code::End);
const PAGE_UP: Chord = Chord::plain(Code::PageUp);
const PAGE_DOWN: Chord = Chord::plain(Code::PageDown);
const ENTER: Chord = Chord::plain(Code::Enter);
const ESC: Chord = Chord::plain(Code::Esc);
const TAB: Chord = Chord::plain(Code::Tab);
const BACK_TAB: Chord = Chord::plain(Code::BackTab);
const BACKSPACE: Chord = Chord::plain(Code::Backspace);
const DELETE: Chord = Chord::plain(Code::Delete);

const fn key(char: char) -> Chord {
    Chord::char(char)
}

const fn ctrl(char: char) -> Chord {
    Chord::ctrl(char)
}

const fn row(context: Context, keys: &'static [Chord], action: Action, help: &'static str) -> Binding {
    Binding { context, keys, action, help, hint: None }
}

impl Binding {
    /// The row with a hint that shows `keys`.
    const fn hint(mut self, priority: u8, keys: &'static [Chord], text: &'static str) -> Self {
        self.hint = Some(Hint { priority, keys, text });
        self
    }
}

/// The table. Its order is the order of the help and of the document.
pub const BINDINGS: &[Binding] = &[
    row(Context::Browse, &[key('1')], Action::Show(Screen::Locks), "All locks"),
    row(Context::Browse, &[key('2')], Action::Show(Screen::Lock), "The selected lock: its queue and history"),
    row(Context::Browse, &[key('3')], Action::Show(Screen::Leases), "All leases"),
    row(Context::Browse, &[key('4')], Action::Show(Screen::Members), "The members of the cluster"),
    row(Context::Browse, &[key('r')], Action::Show(Screen::Raft), "What goes on between the members: Raft"),
    row(
        Context::Browse,
        &[key('5')],
        Action::Show(Screen::Playground),
        "The simulated clients: what they do, and what can be done to them",
    ),
    row(Context::Browse, &[key('6')], Action::Show(Screen::Log), "The log of lockscope itself"),
    row(Context::Browse, &[key('7')], Action::Show(Screen::Waits), "Who waits for whom, across locks"),
    row(Context::Browse, &[ESC, BACKSPACE], Action::Back, "Back; on the lists, take the filter away"),
    row(Context::Browse, &[TAB], Action::NextPane, "Focus on the next pane").hint(60, &[TAB], "pane"),
    row(Context::Browse, &[BACK_TAB], Action::PreviousPane, "Focus on the pane before"),
    row(Context::Browse, &[RIGHT, key('l')], Action::PaneRight, "Focus on the next pane, if there is one"),
    row(Context::Browse, &[LEFT, key('h')], Action::PaneLeft, "Focus on the pane before, if there is one"),
    row(Context::Browse, &[key(':')], Action::Command, "Type a command").hint(75, &[key(':')], "command"),
    row(Context::Browse, &[key(' ')], Action::Pause, "Hold the screen still while the intake goes on; again to go on")
        .hint(40, &[key(' ')], "pause"),
    row(
        Context::Browse,
        &[key('y')],
        Action::Copy,
        "Copy the lock's name, the key, the lease, the token or the remedy",
    )
    .hint(45, &[key('y')], "copy"),
    row(Context::Browse, &[key('+'), key('=')], Action::Faster, "Refresh more often").hint(
        80,
        &[key('+'), key('-')],
        "refresh",
    ),
    row(Context::Browse, &[key('-')], Action::Slower, "Refresh less often"),
    row(Context::Browse, &[key('t')], Action::NextTheme, "Use the next theme").hint(70, &[key('t')], "theme"),
    row(Context::Browse, &[key('m')], Action::Mouse, "Leave the mouse to the terminal, or take it back").hint(
        85,
        &[key('m')],
        "mouse",
    ),
    row(Context::Browse, &[key('T')], Action::Record, "Record what is seen into a file, or stop").hint(
        90,
        &[key('T')],
        "record",
    ),
    row(Context::Browse, &[key('?')], Action::Help, "Show this help").hint(20, &[key('?')], "help"),
    row(Context::Browse, &[key('q')], Action::Quit, "Quit").hint(10, &[key('q')], "quit"),
    // Moving
    row(Context::Moving, &[UP, key('k')], Action::Go(Motion::Up), "To the row above").hint(25, &[UP, DOWN], "move"),
    row(Context::Moving, &[DOWN, key('j')], Action::Go(Motion::Down), "To the row below"),
    row(Context::Moving, &[PAGE_UP, ctrl('b')], Action::Go(Motion::PageUp), "A page up"),
    row(Context::Moving, &[PAGE_DOWN, ctrl('f')], Action::Go(Motion::PageDown), "A page down"),
    row(Context::Moving, &[HOME, key('g')], Action::Go(Motion::First), "To the first row"),
    row(Context::Moving, &[END, key('G')], Action::Go(Motion::Last), "To the last row"),
    // The screens
    row(Context::Locks, &[ENTER], Action::Open, "Open the selected lock").hint(30, &[ENTER], "open"),
    row(Context::Locks, &[key('/')], Action::Filter, "Show only the locks that match; a leading ! shows the others")
        .hint(35, &[key('/')], "filter"),
    row(Context::Locks, &[key('s')], Action::NextSort, "Sort by the next column").hint(50, &[key('s')], "sort"),
    row(Context::Locks, &[key('S')], Action::ReverseSort, "Sort the other way round"),
    row(Context::Locks, &[key('a')], Action::All, "Show also registrations and other leased keys, or locks only").hint(
        65,
        &[key('a')],
        "all",
    ),
    row(
        Context::Locks,
        &[key('x')],
        Action::Dismiss,
        "Dismiss what is over from Attention: gaps, and that another cluster answers; what happens anew comes back",
    )
    .hint(95, &[key('x')], "dismiss"),
    row(Context::Lock, &[ENTER], Action::Open, "Show the lease of the selected key").hint(32, &[ENTER], "lease"),
    row(Context::Leases, &[ENTER], Action::Open, "Open the lock the selected lease has a key in").hint(
        30,
        &[ENTER],
        "open",
    ),
    row(Context::Leases, &[key('/')], Action::Filter, "Show only the leases that match; a leading ! shows the others")
        .hint(35, &[key('/')], "filter"),
    row(
        Context::Waits,
        &[ENTER],
        Action::Open,
        "Open the lock that the selected client waits for, or holds; unfold what is folded",
    )
    .hint(30, &[ENTER], "open"),
    row(Context::Waits, &[key('/')], Action::Filter, "Show only the clients that match; a leading ! shows the others")
        .hint(35, &[key('/')], "filter"),
    row(Context::Members, &[ENTER], Action::Open, "Show what goes on between the members").hint(30, &[ENTER], "raft"),
    row(Context::Raft, &[TAB, DOWN], Action::NextNode, "Select the next node").hint(21, &[TAB], "node"),
    row(Context::Raft, &[BACK_TAB, UP], Action::PreviousNode, "Select the node before"),
    row(Context::Raft, &[LEFT], Action::EntryBefore, "Select the log entry before").hint(36, &[LEFT, RIGHT], "entry"),
    row(Context::Raft, &[RIGHT], Action::EntryAfter, "Select the log entry after; behind the last, follow the newest"),
    row(
        Context::Raft,
        &[key('w'), ENTER],
        Action::Open,
        "Show the way of the selected log entry, or of the newest request, through the cluster",
    )
    .hint(26, &[key('w')], "way"),
    row(Context::Raft, &[key('e')], Action::Elections, "Show the elections so far, or the logs").hint(
        29,
        &[key('e')],
        "elections",
    ),
    row(Context::Raft, &[key('k')], Action::Node(NodeDeed::KillOrStart), "Kill the selected node, or start it again")
        .hint(22, &[key('k')], "kill"),
    row(Context::Raft, &[key('p')], Action::Node(NodeDeed::PauseOrResume), "Stop the selected node, or let it go on")
        .hint(32, &[key('p')], "pause node"),
    row(Context::Raft, &[key('c')], Action::Node(NodeDeed::Campaign), "Have the selected node stand for election")
        .hint(30, &[key('c')], "campaign"),
    row(Context::Raft, &[key('m')], Action::Node(NodeDeed::Transfer), "Move the lead to the selected node").hint(
        31,
        &[key('m')],
        "move leader",
    ),
    row(Context::Raft, &[key('P')], Action::Node(NodeDeed::Isolate), "Cut the selected node off from all others").hint(
        23,
        &[key('P')],
        "isolate",
    ),
    row(Context::Raft, &[key('h')], Action::Heal, "Mend all cuts, and let messages travel as at the start").hint(
        25,
        &[key('h')],
        "heal",
    ),
    row(Context::Raft, &[key('-')], Action::Pace(Pace::Slower), "Let the cluster's clock run slower").hint(
        24,
        &[key('-'), key('+')],
        "speed",
    ),
    row(Context::Raft, &[key('+'), key('=')], Action::Pace(Pace::Faster), "Let the cluster's clock run faster"),
    row(Context::Raft, &[key('f')], Action::Pace(Pace::FreezeOrThaw), "Stop the cluster's clock, or let it run on")
        .hint(27, &[key('f')], "freeze"),
    row(
        Context::Raft,
        &[key('.')],
        Action::Pace(Pace::Step),
        "Let the next thing happen in the cluster and stop its clock behind it",
    )
    .hint(28, &[key('.')], "step"),
    row(
        Context::Playground,
        &[key('p')],
        Action::Client(Blow::PauseOrResume),
        "Let the selected client stand still, or go on; while none is picked that is the holder",
    )
    .hint(21, &[key('p')], "pause client"),
    row(
        Context::Playground,
        &[key('k')],
        Action::Client(Blow::Crash),
        "End the client without a word: its lease has to run out",
    )
    .hint(22, &[key('k')], "kill"),
    row(Context::Playground, &[key('x')], Action::Client(Blow::Revoke), "Revoke the client's lease").hint(
        23,
        &[key('x')],
        "revoke",
    ),
    row(Context::Playground, &[key('d')], Action::Client(Blow::CutOrMend), "Cut the client's connection, or mend it")
        .hint(28, &[key('d')], "cut"),
    row(
        Context::Playground,
        &[key('s')],
        Action::Client(Blow::SlowHeartbeat),
        "Make the client's heartbeat three times slower, or as it was",
    )
    .hint(43, &[key('s')], "heartbeat"),
    row(
        Context::Playground,
        &[key('t')],
        Action::Client(Blow::SkewClock),
        "Set the client's clock behind by half its TTL, or right",
    )
    .hint(46, &[key('t')], "clock"),
    row(
        Context::Playground,
        &[key('u')],
        Action::Client(Blow::Release),
        "Let the client release what it holds, or give up waiting",
    )
    .hint(33, &[key('u')], "release"),
    row(
        Context::Playground,
        &[key('+'), key('=')],
        Action::Client(Blow::HoldLonger),
        "Let the client hold twice as long",
    )
    .hint(47, &[key('-'), key('+')], "hold"),
    row(Context::Playground, &[key('-')], Action::Client(Blow::HoldShorter), "Let the client hold half as long"),
    row(Context::Playground, &[key('D')], Action::Client(Blow::Remove), "Let the client end in order, for good").hint(
        48,
        &[key('D')],
        "remove",
    ),
    row(Context::Playground, &[key('a')], Action::Join(1), "Let one client more join").hint(30, &[key('a')], "add"),
    row(Context::Playground, &[key('A')], Action::Join(10), "Let ten clients more join"),
    row(
        Context::Playground,
        &[key('m')],
        Action::MoveLead,
        "Hand the lead of an embedded cluster over to another node",
    ),
    row(Context::Playground, &[LEFT], Action::Lanes(Look::Back), "Look back along the lanes").hint(
        26,
        &[LEFT, RIGHT],
        "time",
    ),
    row(Context::Playground, &[RIGHT], Action::Lanes(Look::Forward), "Look forward; at the present, follow it"),
    row(Context::Playground, &[key('z')], Action::Lanes(Look::Nearer), "Show less time, in more detail").hint(
        27,
        &[key('z'), key('Z')],
        "zoom",
    ),
    row(Context::Playground, &[key('Z')], Action::Lanes(Look::Farther), "Show more time, in less detail"),
    row(
        Context::Playground,
        &[key('F')],
        Action::Lanes(Look::Follow),
        "Follow the run, with no moment marked and no client picked",
    )
    .hint(29, &[key('F')], "follow"),
    row(
        Context::Playground,
        &[key('e')],
        Action::Expectations,
        "Show what is expected of the run, and how it stands, or the keys",
    )
    .hint(31, &[key('e')], "expectations"),
    row(
        Context::Embedded,
        &[key('K')],
        Action::Node(NodeDeed::KillOrStart),
        "Kill the leader, or start the node that was killed so; on Members, the selected node",
    )
    .hint(42, &[key('K')], "kill node"),
    row(
        Context::Embedded,
        &[key('P')],
        Action::Node(NodeDeed::Isolate),
        "Cut the leader off from all others; on Members, the selected node",
    )
    .hint(66, &[key('P')], "isolate"),
    row(Context::Embedded, &[key('H')], Action::Heal, "Mend all cuts, and let messages travel as at the start"),
    row(Context::Embedded, &[key('[')], Action::Pace(Pace::Slower), "Let the cluster's clock run slower").hint(
        67,
        &[key('['), key(']')],
        "speed",
    ),
    row(Context::Embedded, &[key(']')], Action::Pace(Pace::Faster), "Let the cluster's clock run faster"),
    row(Context::Embedded, &[key('f')], Action::Pace(Pace::FreezeOrThaw), "Stop the cluster's clock, or let it run on"),
    row(
        Context::Embedded,
        &[key('.')],
        Action::Pace(Pace::Step),
        "Let the next thing happen in the cluster and stop its clock behind it",
    ),
    // Writes
    row(Context::Locks, &[key('R')], Action::Write(Wish::Revoke), "Revoke the holder's lease, after a dialog").hint(
        48,
        &[key('R')],
        "revoke…",
    ),
    row(
        Context::Locks,
        &[key('D')],
        Action::Write(Wish::Release),
        "Release the lock: delete its holder's key, after a dialog",
    )
    .hint(62, &[key('D')], "release…"),
    row(
        Context::Lock,
        &[key('R')],
        Action::Write(Wish::Revoke),
        "Revoke the lease of the selected key, after a dialog",
    )
    .hint(46, &[key('R')], "revoke…"),
    row(
        Context::Lock,
        &[key('D')],
        Action::Write(Wish::Release),
        "Delete the selected key from the lock, after a dialog",
    )
    .hint(47, &[key('D')], "release…"),
    row(Context::Leases, &[key('R')], Action::Write(Wish::Revoke), "Revoke the selected lease, after a dialog").hint(
        46,
        &[key('R')],
        "revoke…",
    ),
    row(
        Context::Waits,
        &[key('R')],
        Action::Write(Wish::Revoke),
        "Revoke the lease of the selected client, of a deadlock the one whose end the finding advises, after a dialog",
    )
    .hint(46, &[key('R')], "revoke…"),
    row(
        Context::Waits,
        &[key('D')],
        Action::Write(Wish::Release),
        "Delete the key by which the selected client waits, or holds, after a dialog",
    )
    .hint(62, &[key('D')], "release…"),
    row(
        Context::Members,
        &[key('L')],
        Action::Write(Wish::MoveLeader),
        "Move the lead to the selected member, after a dialog",
    )
    .hint(31, &[key('L')], "move leader…"),
    row(
        Context::Members,
        &[key('D')],
        Action::Write(Wish::Disarm),
        "Disarm the alarm of the selected member, or the first that is raised, on all members, after a dialog",
    )
    .hint(32, &[key('D')], "disarm…"),
    row(
        Context::Dialog,
        &[ENTER],
        Action::Edit(Edit::Accept),
        "Do it, once the word was typed; close it once it is over",
    )
    .hint(10, &[ENTER], "confirm"),
    row(Context::Dialog, &[ESC], Action::Edit(Edit::Cancel), "Leave the dialog; a write that runs goes on").hint(
        5,
        &[ESC],
        "leave",
    ),
    row(Context::Dialog, &[UP], Action::Go(Motion::Up), "Scroll a row up").hint(20, &[UP, DOWN], "scroll"),
    row(Context::Dialog, &[DOWN], Action::Go(Motion::Down), "Scroll a row down"),
    row(Context::Dialog, &[PAGE_UP], Action::Go(Motion::PageUp), "Scroll a page up"),
    row(Context::Dialog, &[PAGE_DOWN], Action::Go(Motion::PageDown), "Scroll a page down"),
    row(Context::Dialog, &[ctrl('y')], Action::CopyCommand, "Copy the command that does the same"),
    row(Context::DialogEmpty, &[key('y')], Action::CopyCommand, "Copy the command, unless the word begins with y")
        .hint(14, &[key('y')], "copy command"),
    row(Context::DialogRead, &[ENTER, key('q')], Action::Edit(Edit::Cancel), "Leave the dialog"),
    row(Context::DialogRead, &[key('k')], Action::Go(Motion::Up), "Scroll a row up"),
    row(Context::DialogRead, &[key('j')], Action::Go(Motion::Down), "Scroll a row down"),
    row(Context::DialogRead, &[HOME, key('g')], Action::Go(Motion::First), "Scroll to the first row"),
    row(Context::DialogRead, &[END, key('G')], Action::Go(Motion::Last), "Scroll to the last row"),
    row(Context::Replay, &[key(' ')], Action::Replay(Replay::PlayOrPause), "Stop the replay, or let it go on").hint(
        12,
        &[key(' ')],
        "play/pause",
    ),
    row(Context::Replay, &[key('[')], Action::Replay(Replay::Slower), "Replay slower").hint(
        14,
        &[key('['), key(']')],
        "speed",
    ),
    row(Context::Replay, &[key(']')], Action::Replay(Replay::Faster), "Replay faster"),
    row(Context::Replay, &[key('.')], Action::Replay(Replay::Next), "On by one observation, and stop there").hint(
        13,
        &[key(','), key('.')],
        "step",
    ),
    row(Context::Replay, &[key(',')], Action::Replay(Replay::Previous), "Back by one observation, and stop there"),
    row(Context::Replay, &[key('>')], Action::Replay(Replay::NextRevision), "On to the next revision, and stop there")
        .hint(15, &[key('<'), key('>')], "revision"),
    row(
        Context::Replay,
        &[key('<')],
        Action::Replay(Replay::PreviousRevision),
        "Back to the revision before, and stop there",
    ),
    row(
        Context::Replay,
        &[key('n')],
        Action::Replay(Replay::FindNext),
        "On to the next thing that happens to what `:find` was told",
    ),
    // Copying
    row(Context::Copy, &[key('n')], Action::CopyOne(Copied::Name), "Copy the lock's name").hint(
        1,
        &[key('n')],
        "lock name",
    ),
    row(Context::Copy, &[key('k')], Action::CopyOne(Copied::Key), "Copy the selected key").hint(2, &[key('k')], "key"),
    row(Context::Copy, &[key('l')], Action::CopyOne(Copied::Lease), "Copy the lease id of the selected key").hint(
        3,
        &[key('l')],
        "lease id",
    ),
    row(Context::Copy, &[key('t')], Action::CopyOne(Copied::Token), "Copy the fencing token of the holder").hint(
        4,
        &[key('t')],
        "fencing token",
    ),
    row(Context::Copy, &[key('r')], Action::CopyOne(Copied::Remedy), "Copy the command against the worst finding")
        .hint(5, &[key('r')], "remedy"),
    row(Context::Copy, &[ESC, key('q'), key('y')], Action::Back, "Copy nothing").hint(6, &[ESC], "cancel"),
    // Typing
    row(Context::Typing, &[ENTER], Action::Edit(Edit::Accept), "Use the line").hint(10, &[ENTER], "use"),
    row(Context::Typing, &[ESC], Action::Edit(Edit::Cancel), "Give the line up; a filter is taken away").hint(
        11,
        &[ESC],
        "cancel",
    ),
    row(
        Context::Typing,
        &[BACKSPACE, ctrl('h')],
        Action::Edit(Edit::Backspace),
        "Delete the character before the cursor",
    ),
    row(Context::Typing, &[DELETE], Action::Edit(Edit::Delete), "Delete the character at the cursor"),
    row(Context::Typing, &[ctrl('w')], Action::Edit(Edit::DeleteWord), "Delete the word before the cursor"),
    row(Context::Typing, &[ctrl('u')], Action::Edit(Edit::DeleteLine), "Delete everything before the cursor").hint(
        20,
        &[ctrl('u')],
        "clear",
    ),
    row(Context::Typing, &[LEFT, ctrl('b')], Action::Edit(Edit::Left), "One character left"),
    row(Context::Typing, &[RIGHT, ctrl('f')], Action::Edit(Edit::Right), "One character right"),
    row(Context::Typing, &[HOME, ctrl('a')], Action::Edit(Edit::Start), "To the start of the line"),
    row(Context::Typing, &[END, ctrl('e')], Action::Edit(Edit::End), "To the end of the line"),
    row(Context::Command, &[TAB], Action::Edit(Edit::Complete), "Complete the word; again for the next one that fits")
        .hint(5, &[TAB], "complete"),
    row(Context::Command, &[UP, ctrl('p')], Action::Edit(Edit::Earlier), "Bring back the command before"),
    row(Context::Command, &[DOWN, ctrl('n')], Action::Edit(Edit::Later), "Go to the later command again"),
    // The help
    row(Context::Help, &[key('/')], Action::Filter, "Show only the lines that match").hint(30, &[key('/')], "filter"),
    row(Context::Help, &[ESC, key('?'), key('q')], Action::Help, "Close the help").hint(10, &[ESC], "close"),
    // Always
    row(Context::Anywhere, &[ctrl('c')], Action::Quit, "Quit"),
    row(Context::Anywhere, &[ctrl('z')], Action::Suspend, "Stop the job; `fg` in the shell brings it back"),
    row(Context::Anywhere, &[ctrl('l')], Action::Redraw, "Draw the whole screen anew"),
];
