//! What the person in front of the screen chose to look at.
//!
//! Pure state without styles: which screen, what is selected (by identity), filter and sort,
//! what is being typed, what lies on top. It refers to the facts by names and indices only,
//! and what it lists is made from them by [`Ui::settle`].

mod contexts;
mod cursor;
pub mod dialog;
mod filter;
mod frame;
mod line;
mod notice;
mod order;
pub mod play;
mod prompt;
mod raft;
mod refresh;
mod replay;
pub mod waits;

use crate::domain::write::WriteId;
use crate::domain::{Key, Lang, LeaseId, MemberId, Reach, Timestamp};
use crate::input::{Extent, Pane, Screen, Sort};

use super::{Checkup, Facts, KeyView, LockIx, LockView};

pub use cursor::{Cursor, Position};
pub use dialog::Dialog;
pub use filter::Filter;
pub use frame::MARKED;
pub use line::Line;
pub use notice::{Edge, Landed, Notice, Toast};
pub use order::{Listing, Order};
pub use play::PlayUi;
pub use prompt::{Completion, Prompt, Purpose, Typed};
pub use raft::{Demo, RaftUi};
pub use refresh::Refresh;
pub use replay::{RecordingUi, ReplaySpeed, ReplayUi};
pub use waits::WaitsUi;

/// The state of the screen.
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
#[derive(Clone, Debug, Default)]
pub struct Ui {
    /// The columns and rows of the terminal.
    pub size: (u16, u16),
    /// The screen.
    pub screen: Screen,
    /// Where leaving the screen of one lock leads.
    pub came_from: Screen,
    /// What lies on top of the screen.
    pub layer: Layer,
    /// The dialog before a write, which lies on top of everything.
    pub dialog: Option<Box<Dialog>>,
    /// The write that is being carried out, whether or not its dialog was left.
    pub writing: Option<WriteId>,
    /// The variables by which a shell finds the cluster, for commands that are copied.
    pub reach: Vec<(&'static str, String)>,
    /// What leads a command that is advised to the cluster, where the shell does not.
    pub given: Reach,
    /// How many dialogs were opened.
    pub writes: u64,
    /// The line that is being typed.
    pub prompt: Option<Prompt>,
    /// The commands that were typed.
    pub typed: Typed,
    /// Which locks and leases are listed.
    pub filter: Filter,
    /// What the locks are sorted by.
    pub sort: Sort,
    /// Whether that is turned round.
    pub reversed: bool,
    /// Whether registrations and other leased keys are listed with the locks.
    pub all: bool,
    /// What is wrong by the facts that are shown.
    pub checkup: Checkup,
    /// The listed locks.
    pub lock_order: Order<LockIx>,
    /// The selected lock.
    pub locks: Cursor<Key>,
    /// The lock on its own screen.
    pub opened: Option<Opened>,
    /// The selected key of the lock's queue.
    pub queue: Cursor<Key>,
    /// The listed leases.
    pub lease_order: Order<LeaseId>,
    /// The selected lease.
    pub leases: Cursor<LeaseId>,
    /// Who waits for whom, as it is listed.
    pub waits: WaitsUi,
    /// The selected member.
    pub members: Cursor<MemberId>,
    /// What is looked at of an embedded cluster.
    pub raft: RaftUi,
    /// What is looked at of the simulated clients.
    pub play: PlayUi,
    /// That this is the demo.
    pub demo: Option<Demo>,
    /// That this is a recording.
    pub replay: Option<ReplayUi>,
    /// That this session is recorded.
    pub recording: Option<RecordingUi>,
    /// The pane that was given the focus; it counts while it is drawn.
    pub focus: Option<Pane>,
    /// The panes of the last frame an input came from, with their extents.
    pub panes: Vec<(Pane, Extent)>,
    /// How far the panes without a selection are scrolled, in rows.
    pub scrolled: [usize; Pane::ALL.len()],
    /// The message that is shown for a while.
    pub toast: Option<Toast>,
    /// The names of the themes there are.
    pub themes: Vec<String>,
    /// The name of the theme in use.
    pub theme: String,
    /// Whether the mouse is captured.
    pub mouse: bool,
    /// The context that the settings are of, which the header says.
    pub context: Option<String>,
    /// What names other endpoints than that context's, if something does.
    pub endpoints_from: Option<String>,
    /// What takes writes away, which the header says; `None` while they are not.
    pub read_only: Option<String>,
    /// Whether nothing moves that need not.
    pub reduce_motion: bool,
    /// The language that narrations are read in.
    pub lang: Lang,
    /// How often leases are asked and the screen is refreshed.
    pub refresh: Refresh,
    pub(crate) version: u64,
}

/// A lock that was opened: it stays on its screen however the list is sorted and filtered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Its name.
    pub name: Key,
    /// Where it was when it was opened; of two locks of one name this tells which.
    pub ix: LockIx,
}

/// What lies on top of a screen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Layer {
    /// Nothing.
    #[default]
    None,
    /// The help.
    Help {
        /// Only lines with this in them are shown.
        filter: String,
    },
    /// The keys that say what to copy.
    Copy,
}

impl Ui {
    /// The pane that has the focus.
    pub fn focused(&self) -> Pane {
        if self.dialog.is_some() {
            return Pane::Dialog;
        }
        if matches!(self.layer, Layer::Help { .. }) {
            return Pane::Help;
        }
        let drawn = |pane: &Pane| self.panes.iter().any(|(shown, _)| shown == pane);
        match self.focus.filter(drawn) {
            Some(focus) => focus,
            // Where nothing is told of nodes, the members stand in their place.
            None if self.screen == Screen::Raft && drawn(&Pane::Members) => Pane::Members,
            None => self.screen.main_pane(),
        }
    }

    /// How much of its content a pane shows. One that was not drawn yet counts as a screenful.
    pub fn rows(&self, pane: Pane) -> usize {
        let drawn = self.panes.iter().find(|(shown, _)| *shown == pane);
        drawn.map_or(usize::from(self.size.1), |(_, extent)| extent.rows)
    }

    /// How far a pane without a selection is scrolled.
    pub const fn scrolled(&self, pane: Pane) -> usize {
        self.scrolled[pane as usize]
    }

    /// The lock that is selected in the list.
    pub fn selected_lock<'a>(&self, facts: &'a Facts) -> Option<LockView<'a>> {
        facts.lock(self.lock_order.get(self.locks.index())?)
    }

    /// The lock that details are shown of: the opened one on its own screen, else the selected.
    pub fn shown_lock<'a>(&self, facts: &'a Facts) -> Option<LockView<'a>> {
        match &self.opened {
            Some(Opened { name, ix }) if self.screen == Screen::Lock => {
                let same = facts.lock(*ix).filter(|lock| lock.name() == name.as_bytes());
                same.or_else(|| facts.lock_named(name))
            }
            _ => self.selected_lock(facts),
        }
    }

    /// The key that is selected in the queue of the lock that details are shown of.
    pub fn selected_key<'a>(&self, facts: &'a Facts) -> Option<KeyView<'a>> {
        queue(&self.shown_lock(facts)?).nth(self.queue.index())
    }

    /// The lock and the key that are acted on: on the list of locks the holder's, unless one was gone
    /// to in the queue beside it; on the screen of waits the key that stands in a queue.
    pub fn acted_on<'a>(&self, facts: &'a Facts) -> Option<(LockView<'a>, KeyView<'a>)> {
        if self.screen == Screen::Waits {
            let key = facts.key(self.waits.selected()?.stands.as_ref()?)?;
            return Some((facts.lock_of(key.entry())?, key));
        }
        let lock = self.shown_lock(facts)?;
        let in_queue = self.screen == Screen::Lock || self.focused() == Pane::Queue;
        let key = if in_queue { self.selected_key(facts) } else { lock.holder() }?;
        Some((lock, key))
    }

    /// The lease that is selected in the list.
    pub fn selected_lease(&self) -> Option<LeaseId> {
        self.lease_order.get(self.leases.index())
    }

    /// The leases that are on the screen, the most important first; some that are just out
    /// of sight may be among them.
    pub fn visible_leases(&self, facts: &Facts) -> Vec<LeaseId> {
        let mut visible = Vec::new();
        let mut see = |lease: LeaseId| {
            if !lease.is_none() && !visible.contains(&lease) {
                visible.push(lease);
            }
        };
        let room = usize::from(self.size.1);
        if matches!(self.screen, Screen::Locks | Screen::Lock)
            && let Some(lock) = self.shown_lock(facts)
        {
            lock.holders().take(room).for_each(|key| see(key.lease()));
            lock.waiters().take(room).for_each(|waiter| see(waiter.key.lease()));
        }
        match self.screen {
            Screen::Locks => {
                for holder in self.visible_locks(facts).filter_map(|lock| lock.holder()) {
                    see(holder.lease());
                }
            }
            Screen::Leases => {
                let window = self.leases.window(room, self.lease_order.len());
                self.lease_order.rows()[window].iter().for_each(|&lease| see(lease));
            }
            Screen::Waits => {
                let rows = self.waits.rows();
                for row in &rows[self.waits.cursor.window(room, rows.len())] {
                    if let waits::WaitWhat::Client { called, .. } = &row.what {
                        see(called.lease);
                    }
                }
            }
            Screen::Lock | Screen::Members | Screen::Raft | Screen::Way | Screen::Playground | Screen::Log => {}
        }
        visible
    }

    /// Brings the diagnosis and the lists up to date, and takes away a message whose time is up.
    pub fn settle(&mut self, facts: &Facts, now: Timestamp) {
        self.diagnose(facts, now);
        if self.list_due(facts).is_some_and(|due| due <= now) {
            let Self { lock_order, filter, all, sort, reversed, checkup, .. } = self;
            let listing = Listing { filter, all: *all, sort: *sort, reversed: *reversed, checkup };
            lock_order.list_locks(facts, now, listing);
            let rows = self.lock_order.rows();
            let name = |row: usize| Some(facts.lock(*rows.get(row)?)?.name());
            self.locks.follow(rows.len(), |row, picked| name(row) == Some(picked.as_bytes()));
            self.touch();
        }
        if self.leases_due(facts).is_some_and(|due| due <= now) {
            self.lease_order.list_leases(facts, now, &self.filter);
            let rows = self.lease_order.rows();
            self.leases.follow(rows.len(), |row, picked| rows[row] == *picked);
            self.touch();
        }
        if self.waits_due(facts).is_some_and(|due| due <= now) {
            self.waits.list(facts, now, &self.filter);
            self.touch();
        }
        self.follow_members(facts);
        self.follow_queue(facts);
        if let Some(picture) = &facts.raft {
            self.raft.settle(picture);
        }
        if let Some(play) = &facts.play {
            self.play.settle(play);
            let rows = self.rows(Pane::Lanes);
            self.play.show_holder(play, rows);
        }
        if self.toast.as_ref().is_some_and(|toast| toast.until <= now) {
            self.toast = None;
            self.touch();
        }
    }

    /// When [`Ui::settle`] has something to do.
    pub fn next_settling(&self, facts: &Facts) -> Option<Timestamp> {
        let toast = self.toast.as_ref().map(|toast| toast.until);
        let lists = [self.list_due(facts), self.leases_due(facts), self.waits_due(facts)];
        lists.into_iter().chain([self.checkup.due(facts), toast]).flatten().min()
    }

    /// Looks for what is wrong, if that is due.
    pub fn diagnose(&mut self, facts: &Facts, now: Timestamp) {
        if self.checkup.look(facts, now) {
            self.touch();
        }
    }

    /// Has the lists made anew at the next settling, because what they depend on was changed.
    pub const fn spoil(&mut self) {
        self.lock_order.spoil();
        self.lease_order.spoil();
        self.waits.spoil();
    }

    /// A number that grows with every change of this state.
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// Notes that something changed.
    pub const fn touch(&mut self) {
        self.version += 1;
    }

    /// The locks in the list's window.
    fn visible_locks<'a>(&'a self, facts: &'a Facts) -> impl Iterator<Item = LockView<'a>> {
        let window = self.locks.window(self.rows(Pane::Locks), self.lock_order.len());
        self.lock_order.rows()[window].iter().filter_map(|&ix| facts.lock(ix))
    }

    fn follow_members(&mut self, facts: &Facts) {
        let members = facts.cluster.members();
        self.members.follow(members.len(), |row, picked| members[row].member.id == *picked);
    }

    fn follow_queue(&mut self, facts: &Facts) {
        if self.queue.picked().is_some() {
            let keys: Vec<&[u8]> = self.shown_lock(facts).iter().flat_map(queue).map(|key| key.key()).collect();
            self.queue.follow(keys.len(), |row, picked| keys[row] == picked.as_bytes());
        }
    }

    fn list_due(&self, facts: &Facts) -> Option<Timestamp> {
        let Self { filter, all, sort, reversed, checkup, .. } = self;
        let listing = Listing { filter, all: *all, sort: *sort, reversed: *reversed, checkup };
        self.lock_order.due(listing.version(facts), facts.lock_count())
    }

    fn waits_due(&self, facts: &Facts) -> Option<Timestamp> {
        (self.screen == Screen::Waits).then(|| self.waits.due(facts)).flatten()
    }

    fn leases_due(&self, facts: &Facts) -> Option<Timestamp> {
        (self.screen == Screen::Leases).then(|| self.lease_order.due(facts.version(), facts.leases().len())).flatten()
    }
}

/// The rows of a lock's queue: its holders, then those that wait.
pub fn queue<'a>(lock: &LockView<'a>) -> impl Iterator<Item = KeyView<'a>> + use<'a> {
    lock.holders().chain(lock.waiters().map(|waiter| waiter.key))
}
