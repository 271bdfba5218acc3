//! The dialog before a write: what it would do, the word that has to be typed, and what came of it.
//!
//! ```text
//!            told                Enter with the word        the answer
//!  Asking ─────────► Shown ─────────────────────────► Running ────────► Over
//!                    ▲  │ other keys are there                │
//!                    └──┴───────────────◄─────────────────────┘ other keys were there
//! ```
//! What was shown is what is confirmed. The keys of a lease are always those that the cluster
//! told last, for it has keys that nobody watches; what the watch brings leads to asking again.
//! When an answer differs from what is on the screen, what was typed is taken back.

use std::collections::BTreeSet;

use super::Line;
use crate::domain::write::{Confirmed, Write, WriteId, WriteResult};
use crate::domain::{ClusterId, Key, LeaseId, Millis, Revision, Sentence, Timestamp, Value};
use crate::event::OnLease;
use crate::model::{BlastRadius, Facts};

mod word;

pub use word::Word;

/// How often the keys of the lease are asked for while the dialog is open.
const AGAIN: Millis = Millis(2_000);
/// How long an answer may take before it is asked for again.
const LOST: Millis = Millis(15_000);

/// The dialog.
#[derive(Clone, Debug)]
pub struct Dialog {
    /// The number of the write.
    pub id: WriteId,
    /// What it would do. In the end, what it did or was to do.
    pub radius: BlastRadius,
    /// How far it is.
    pub stage: Stage,
    /// What is being typed to confirm it.
    pub line: Line,
    /// What stands in the way of the last attempt to confirm.
    pub refusal: Option<Refusal>,
    /// Why what is shown has to be looked at again.
    pub news: Option<News>,
    /// What is worth knowing beside what came of it.
    pub notes: Vec<String>,
    /// Why the cluster did not tell the keys when it was asked last.
    pub trouble: Option<String>,
    /// What forbids that it is carried out: it only shows what would be.
    pub forbidden: Option<String>,
    word: Word,
    cluster: Option<ClusterId>,
    ask: Ask,
    /// The keys on the lease that the watch knew of when the question went out.
    watched: Vec<(Key, Revision)>,
    /// The version of the facts that the radius was made of.
    made_of: Option<u64>,
}

/// How far a dialog is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The cluster is asked what would go.
    Asking,
    /// It is shown, and the word is being typed.
    Shown,
    /// It was confirmed and is being carried out.
    Running {
        /// Since when.
        since: Timestamp,
    },
    /// Something came of it.
    Over(WriteResult),
}

/// What stands in the way of a confirmation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Another word was typed.
    WrongWord,
    /// The cluster is asked again, because something changed.
    AskingAgain,
}

/// What changed since it was shown before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// Whether it was noticed when it was about to be carried out; else while it was shown.
    pub at_confirmation: bool,
    /// Keys that were not there before.
    pub fresh: BTreeSet<(Key, Revision)>,
    /// How many keys that were there are gone.
    pub gone: usize,
}

/// What is known of the question for all keys of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ask {
    /// It is to be asked at this time.
    At(Timestamp),
    /// It went out at this time.
    Out(Timestamp),
}

impl Dialog {
    /// A dialog about a write. What it is about is there, by these facts.
    pub fn new(id: WriteId, write: &Write, facts: &Facts) -> Self {
        let stage = if lease_of(write).is_some() { Stage::Asking } else { Stage::Shown };
        Self {
            id,
            radius: BlastRadius::of(facts, write),
            stage,
            line: Line::default(),
            refusal: None,
            news: None,
            notes: Vec::new(),
            trouble: None,
            forbidden: None,
            word: Word::of(write, facts),
            cluster: facts.link.cluster_id,
            ask: Ask::At(facts.now()),
            watched: Vec::new(),
            made_of: Some(facts.version()),
        }
    }

    /// The write.
    pub const fn write(&self) -> &Write {
        &self.radius.write
    }

    /// What has to be typed, as it is shown.
    pub fn word(&self) -> &str {
        self.word.text()
    }

    /// Whether a word is being typed.
    pub const fn is_typed_in(&self) -> bool {
        matches!(self.stage, Stage::Shown) && self.forbidden.is_none()
    }

    /// Whether `y` would be the first letter of the word, so that it cannot mean anything else.
    pub fn wants_y(&self) -> bool {
        self.is_typed_in() && (!self.line.text().is_empty() || self.word().starts_with('y'))
    }

    /// Whether what was typed is what has to be.
    pub fn is_word_typed(&self) -> bool {
        self.word.is(self.line.text())
    }

    /// Whether these are facts about the cluster it was opened on.
    pub fn is_of(&self, facts: &Facts) -> bool {
        facts.link.cluster_id == self.cluster
    }

    /// Whether this key was not there when it was shown before.
    pub fn is_fresh(&self, key: &(Key, Revision)) -> bool {
        self.news.as_ref().is_some_and(|news| news.fresh.contains(key))
    }

    /// A command: the one that does the same as the write, or, where nobody knows what came of
    /// it, one that shows it.
    pub fn command(&self) -> Sentence {
        match &self.stage {
            Stage::Over(WriteResult::Unknown { .. }) => self.radius.look.clone(),
            _ => self.radius.etcdctl.clone(),
        }
    }

    /// The same for a shell that knows nothing of the cluster: with the variables that say where
    /// it is.
    pub fn command_with(&self, reach: &[(&'static str, String)]) -> Sentence {
        let mut command = self.command();
        command.values.retain(|(name, _)| *name != "reach");
        command.with("reach", Value::Variables(reach.to_vec()))
    }

    /// When the dialog wants to be told the time.
    pub fn due(&self) -> Option<Timestamp> {
        let asks = lease_of(self.write()).is_some() && matches!(self.stage, Stage::Asking | Stage::Shown);
        asks.then_some(match self.ask {
            Ask::At(at) => at,
            Ask::Out(at) => at + LOST,
        })
    }

    /// Follows what is known of the cluster, paused or not; returns the lease that is to be asked
    /// for its keys now.
    pub fn settle(&mut self, facts: &Facts) -> Option<LeaseId> {
        if !matches!(self.stage, Stage::Asking | Stage::Shown) {
            return None;
        }
        if !self.is_of(facts) {
            // What was shown is about keys of another cluster.
            self.stage = Stage::Over(WriteResult::Gone);
            return None;
        }
        if self.made_of != Some(facts.version()) {
            self.made_of = Some(facts.version());
            if is_gone(self.write(), facts) {
                self.stage = Stage::Over(WriteResult::Gone);
                return None;
            }
            let keys = std::mem::take(&mut self.radius.keys);
            self.radius = BlastRadius::of_keys(facts, self.write(), keys);
        }
        let lease = lease_of(self.write())?;
        let changed = watched(lease, facts) != self.watched;
        let now = facts.now();
        if self.due().is_some_and(|due| due <= now) || changed && matches!(self.ask, Ask::At(_)) {
            self.watched = watched(lease, facts);
            self.ask = Ask::Out(now);
            return Some(lease);
        }
        None
    }

    /// Takes in what the cluster answered about a lease.
    pub fn told(&mut self, lease: LeaseId, answer: OnLease, facts: &Facts) {
        if lease_of(self.write()) != Some(lease) || !matches!(self.stage, Stage::Asking | Stage::Shown) {
            return;
        }
        self.ask = Ask::At(facts.now() + AGAIN);
        match answer {
            OnLease::NotTold(why) => self.trouble = Some(why),
            OnLease::Gone => self.stage = Stage::Over(WriteResult::Gone),
            OnLease::Keys(keys) => {
                self.trouble = None;
                self.show(keys, false, facts);
            }
        }
    }

    /// Confirms it, if the word was typed and what is shown is what is there as far as is known.
    /// Says what is to be carried out then.
    pub fn confirm(&mut self, facts: &Facts) -> Option<Confirmed> {
        self.refusal = None;
        if !self.is_typed_in() {
            return None;
        }
        if !self.is_word_typed() {
            self.refusal = Some(Refusal::WrongWord);
            return None;
        }
        if lease_of(self.write()).is_some_and(|lease| watched(lease, facts) != self.watched) || self.trouble.is_some() {
            self.refusal = Some(Refusal::AskingAgain);
            return None;
        }
        self.stage = Stage::Running { since: facts.now() };
        self.news = None;
        Some(Confirmed { write: self.write().clone(), shown: self.radius.keys.clone() })
    }

    /// Takes in what came of it. When other keys were there than were shown, nothing was done,
    /// and it is shown again.
    pub fn done(&mut self, result: WriteResult, notes: Vec<String>, facts: &Facts) {
        self.notes = notes;
        match result {
            WriteResult::Changed { now } if lease_of(self.write()).is_some() => self.show(now, true, facts),
            result => self.stage = Stage::Over(result),
        }
    }

    /// Shows these keys. Unless they were shown already, what was typed is taken back.
    fn show(&mut self, mut keys: Vec<(Key, Revision)>, at_confirmation: bool, facts: &Facts) {
        keys.sort_unstable();
        let is_first = self.stage == Stage::Asking;
        self.stage = Stage::Shown;
        if is_first || keys != self.radius.keys {
            if !is_first {
                let before: BTreeSet<_> = self.radius.keys.iter().cloned().collect();
                let now: BTreeSet<_> = keys.iter().cloned().collect();
                let gone = before.difference(&now).count();
                self.news = Some(News { at_confirmation, fresh: now.difference(&before).cloned().collect(), gone });
                self.line = Line::default();
                self.refusal = None;
            }
            self.radius = BlastRadius::of_keys(facts, self.write(), keys);
        } else if at_confirmation {
            // The same keys, and yet they were others in between.
            self.news = Some(News { at_confirmation, fresh: BTreeSet::new(), gone: 0 });
            self.line = Line::default();
        }
    }
}

/// The lease whose keys a write takes.
const fn lease_of(write: &Write) -> Option<LeaseId> {
    match write {
        Write::Revoke { lease } => Some(*lease),
        Write::Release { .. } | Write::MoveLeader { .. } | Write::Disarm(_) => None,
    }
}

/// The keys on a lease that the watch knows of.
fn watched(lease: LeaseId, facts: &Facts) -> Vec<(Key, Revision)> {
    let keys = facts.lease(lease).map(|lease| lease.keys()).unwrap_or_default();
    keys.into_iter().map(|key| (key.key().into(), key.token())).collect()
}

/// Whether what a write is about is known to be there no more.
fn is_gone(write: &Write, facts: &Facts) -> bool {
    match write {
        // Whether a lease is there is asked.
        Write::Revoke { .. } => false,
        Write::Release { key, create_revision, .. } => {
            facts.key(key).is_none_or(|known| known.token() != *create_revision)
        }
        Write::MoveLeader { to } => facts.cluster.member(*to).is_none() || facts.cluster.leader() == Some(*to),
        Write::Disarm(kind) => facts.cluster.alarms().iter().all(|alarm| alarm.kind != *kind),
    }
}
