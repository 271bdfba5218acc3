//! All that is known and all that is on the screen, as one plain value.
//!
//! [`Facts`] is what was learnt of the cluster, [`Ui`] what the person in front of the
//! screen chose. Only `update` changes either; `view` and the commands read. Nothing in
//! here reads a clock, holds a style or formats a text.

pub mod blast;
pub mod cause;
pub mod checkup;
pub mod cluster;
pub mod facts;
mod few;
mod fill;
pub mod findings;
mod group;
pub mod handoffs;
mod holds;
mod intake;
pub mod keyspace;
pub mod lease;
pub mod link;
pub mod lock;
pub mod look;
mod named;
mod pending;
pub mod play;
pub mod poll_plan;
pub mod raft;
pub mod rebuilt;
mod retold;
mod settle;
mod tails;
mod theft;
pub mod timeline;
pub mod ui;
pub mod verdict;
pub mod wait_for;

pub use blast::BlastRadius;
pub use cause::Cause;
pub use checkup::Checkup;
pub use cluster::{Behind, Cluster, LeaderChange, MemberFacts, Role};
pub use facts::{Facts, Lead};
pub use findings::{Diagnosis, Finding, Severity};
pub use handoffs::{Handoff, Handoffs, Turn};
pub use lease::{Renewal, Stale, TtlState};
pub use link::Link;
pub use lock::{Hold, LockIx, LockState, Since};
pub use look::{KeyView, LeaseView, LockView, Waiter};
pub use play::Play;
pub use rebuilt::{Rebuilding, Rebuilt};
pub use theft::Theft;
pub use timeline::{Happening, Timeline, What};
pub use ui::Ui;
pub use verdict::verdict;
pub use wait_for::WaitFor;

use crate::domain::{Millis, Timestamp};
use crate::event::LinkState;
use crate::input::keymap::Context;

use findings::Thresholds;
use ui::{Notice, Toast};

/// The whole state of the program.
#[derive(Clone, Debug, Default)]
pub struct Model {
    facts: Facts,
    frozen: Option<Box<Facts>>,
    /// What the person chose to look at.
    pub ui: Ui,
}

impl Model {
    /// A model that knows nothing yet.
    pub fn new(facts: Facts, ui: Ui) -> Self {
        Self { facts, frozen: None, ui }
    }

    /// The facts to show: those of the moment of the pause while paused, else the live ones.
    pub fn shown(&self) -> &Facts {
        self.frozen.as_deref().unwrap_or(&self.facts)
    }

    /// The facts as they are now, paused or not.
    pub const fn live(&self) -> &Facts {
        &self.facts
    }

    /// The live facts, for `update` and its machines.
    pub const fn live_mut(&mut self) -> &mut Facts {
        &mut self.facts
    }

    /// Takes note of what is over, also on a screen that is held still: it needs no attention any
    /// more until it happens anew. Whether there was anything.
    pub(crate) fn dismiss(&mut self) -> bool {
        let shown = self.frozen.as_deref_mut().is_some_and(Facts::dismiss);
        self.facts.dismiss() || shown
    }

    /// Shows a message for a while.
    pub fn tell(&mut self, notice: Notice) {
        self.ui.toast = Some(Toast::new(notice, self.facts.now()));
        self.ui.touch();
    }

    /// Whether the screen is held still while the intake goes on.
    pub const fn is_paused(&self) -> bool {
        self.frozen.is_some()
    }

    /// How many happenings and moments of a run came in since the pause; 0 when not paused.
    pub fn missed_while_paused(&self) -> u64 {
        let seen = |facts: &Facts| facts.timeline.next_seq() + facts.play.as_ref().map_or(0, |play| play.count());
        self.frozen.as_ref().map_or(0, |frozen| seen(&self.facts).saturating_sub(seen(frozen)))
    }

    /// Holds the screen still at this moment.
    pub fn pause(&mut self) {
        if self.frozen.is_none() {
            self.frozen = Some(Box::new(self.facts.clone()));
        }
    }

    /// Lets the screen follow again.
    pub fn resume(&mut self) {
        self.frozen = None;
    }

    /// The facts that are shown, and the state of the screen to change.
    pub fn shown_and_ui(&mut self) -> (&Facts, &mut Ui) {
        (self.frozen.as_deref().unwrap_or(&self.facts), &mut self.ui)
    }

    /// The facts as they are now, and the state of the screen to change.
    pub const fn live_and_ui(&mut self) -> (&Facts, &mut Ui) {
        (&self.facts, &mut self.ui)
    }

    /// Whether this is an embedded cluster, to which things can be done and which tells all of
    /// its Raft state.
    pub const fn is_embedded(&self) -> bool {
        self.facts.raft.is_some() || self.ui.demo.is_some()
    }

    /// Whether a recording is replayed: nothing can be done to what it shows.
    pub const fn is_replay(&self) -> bool {
        self.ui.replay.is_some()
    }

    /// Whether clients play here.
    pub const fn plays(&self) -> bool {
        self.facts.play.is_some()
    }

    /// The contexts of the keymap that are open, the innermost first.
    pub fn contexts(&self) -> &'static [Context] {
        self.ui.contexts(self.is_embedded(), self.plays())
    }

    /// What is wrong by the facts that are shown: half a second old at most, and more where there
    /// are very many locks.
    pub fn diagnosis(&self) -> &Diagnosis {
        self.ui.checkup.diagnosis()
    }

    /// Sets from when on something counts. With `None` there is no diagnosis: a command that looks
    /// once makes its own in the end.
    pub fn diagnose_by(&mut self, thresholds: Option<Thresholds>) {
        self.ui.checkup.set_thresholds(thresholds);
    }

    /// Brings the diagnosis and what the screen lists up to date with the facts that are shown.
    pub fn settle(&mut self, now: Timestamp) {
        let (facts, ui) = self.shown_and_ui();
        ui.settle(facts, now);
    }

    /// Looks at the facts anew if the last look is so long ago that time alone may have changed
    /// what is wrong.
    pub fn look_again(&mut self, now: Timestamp) {
        let (facts, ui) = self.shown_and_ui();
        if ui.checkup.is_old(facts) {
            ui.diagnose(facts, now);
        }
    }

    /// When the model wants to be told the time: a lease is to be asked, a list or the diagnosis to
    /// be made anew, a message goes.
    pub fn next_tick(&self) -> Option<Timestamp> {
        let dialog = self.ui.dialog.as_ref().and_then(|dialog| dialog.due());
        self.facts.next_deadline().into_iter().chain(self.ui.next_settling(self.shown())).chain(dialog).min()
    }

    /// When a picture drawn at `drawn_at` is out of date although nothing happened since;
    /// `None` when time alone changes nothing on it.
    pub fn next_frame(&self, drawn_at: Timestamp) -> Option<Timestamp> {
        // What is held still does not count, but the header tells when the next try comes.
        let shown = if self.is_paused() { None } else { self.ui.next_frame(&self.facts, drawn_at) };
        let retry = match self.facts.link.state {
            LinkState::Retrying { next_at, .. } if next_at > drawn_at => Some(drawn_at + Millis::from_secs(1)),
            _ => None,
        };
        shown.into_iter().chain(retry).min()
    }

    /// A number that grows with everything that can change the picture, except time alone.
    pub const fn version(&self) -> u64 {
        self.facts.version() + self.ui.version()
    }
}
