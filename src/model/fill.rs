//! History that is told late: what happened while nobody watched, put where it belongs.
//!
//! After a long gap the present is read at once and what led to it follows. It must not touch
//! what is there now, so it is played on a copy of the facts as they were before the gap:
//!
//! ```text
//! facts ──gap──► list ─────────► live changes …        what is shown
//!   └─ copy ───────────► filled changes ─► end       what happened
//!                                             └─► holds and causes, put into the history of locks
//! ```
//! The order and the causes come out as they would have, had somebody watched; times do not,
//! because no revision tells when it was made, so none are told. While it lasts, the copy takes
//! as much memory as a paused screen does.

use crate::domain::{Revision, Timestamp};
use crate::event::Change;

use super::cause::Cause;
use super::facts::Facts;
use super::intake::How;
use super::lock::{End, History, Lock, Made};
use super::poll_plan::PollPlan;
use super::timeline::Timeline;

/// A fill that is under way.
#[derive(Clone, Debug)]
pub(super) struct Fill {
    /// The facts as of the last filled revision.
    past: Facts,
    /// The last revision that was seen before the gap.
    from: Revision,
    /// The happening that marks the gap, and the revision the gap ends at.
    pub gap: Option<(u64, Revision)>,
}

impl Facts {
    /// What happened in gaps that were filled, in the order it is told; the revisions count,
    /// and the times are those at which it was learnt.
    pub fn past(&self) -> &Timeline {
        self.fill.as_ref().map_or(&self.past, |fill| &fill.past.timeline)
    }

    /// Whether what was skipped is being told.
    pub const fn is_filling(&self) -> bool {
        self.fill.is_some()
    }

    /// Notes that a stretch of history is skipped: the next full read marks the gap, and the
    /// changes of that stretch will be told later.
    pub(crate) fn skip_history(&mut self) {
        self.fill = None;
        for history in self.locks.iter_mut().filter_map(|lock| lock.history.as_mut()) {
            history.mark();
        }
        let mut past = Self { fill: None, ..self.clone() };
        past.timeline = std::mem::take(&mut self.past);
        self.fill = Some(Box::new(Fill { past, from: self.link.revision, gap: None }));
        self.lose_history();
    }

    /// Takes in changes of the stretch that was skipped.
    pub(crate) fn take_filled(&mut self, at: Timestamp, changes: Vec<Change>) {
        let Some(mut fill) = self.fill.take() else { return };
        let past = &mut fill.past;
        past.timeline.trim();
        past.take_in(at, How::Filled { behind: fill.from }, changes);
        // Nobody asks a lease about the past, and one that lives on tells by itself.
        past.plan = PollPlan::default();
        past.leases.sweep(at);
        for open in past.pending.take_all() {
            if self.leases.key_count(open.lease) > 0 {
                past.settle_cause(open, Cause::Released);
            } else {
                past.pending.push(open);
            }
        }
        self.fill = Some(fill);
    }

    /// Ends the fill: what it showed up to the revision `through` enters the history of the
    /// locks, and what it did not show stays marked as a gap. Returns whether there was one.
    pub(crate) fn end_fill(&mut self, through: Revision) -> bool {
        let Some(mut fill) = self.fill.take() else { return false };
        let past = &mut fill.past;
        for open in past.pending.take_all() {
            past.settle_cause(open, Cause::Unknown);
        }
        let nothing = History::default();
        let end = End { at: None, revision: through, cause: Cause::Unknown };
        for (_, known) in past.locks.iter() {
            let live = self.locks.find_where(&known.name, |lock| is_same(lock, known));
            let Some(lock) = live.and_then(|at| self.locks.get_mut(at)) else { continue };
            if lock.history.is_some() || known.history.is_some() {
                let filled = known.history.as_deref().unwrap_or(&nothing);
                lock.history.get_or_insert_default().fill_in(filled, &lock.held, end);
            }
        }
        self.past = std::mem::take(&mut past.timeline);
        self.histories += 1;
        if let Some((seq, to)) = fill.gap {
            self.timeline.fill_gap(seq, through);
            if through >= to {
                self.link.gaps -= 1;
                self.link.noted_gaps = self.link.noted_gaps.min(self.link.gaps);
            }
        }
        true
    }

    /// Takes out what happened in gaps, and with it the fill.
    pub(super) fn take_past(&mut self) -> Timeline {
        let fill = self.fill.take();
        fill.map_or_else(|| std::mem::take(&mut self.past), |fill| fill.past.timeline)
    }
}

/// A queue and a single key can have the same name.
fn is_same(one: &Lock, other: &Lock) -> bool {
    matches!((one.made, other.made), (Made::Of(_), Made::Of(_)) | (Made::Alone(_), Made::Alone(_)))
}
