//! How holds begin and end, and why.

use crate::domain::{Revision, Timestamp};

use super::cause::Cause;
use super::facts::Facts;
use super::intake::{How, Intake};
use super::keyspace::Entry;
use super::lease::Renewal;
use super::lock::{Dropout, End, Hold, LockIx, Made, Since};
use super::pending::Open;
use super::timeline::{Party, What};

/// How many free locks are remembered.
const REMEMBERED_FREE: usize = 1_000;

impl Facts {
    /// A key of a lock went: its hold ends, or its waiting does.
    pub(super) fn leave(&mut self, intake: Intake, ix: LockIx, entry: &Entry, cause: Cause) {
        let Some(lock) = self.locks.get_mut(ix.0) else { return };
        if let Made::Alone(key) = &mut lock.made {
            *key = None;
        }
        if !lock.recognised.layout.is_lock() {
            if matches!(lock.made, Made::Alone(_)) {
                self.locks.remove(ix.0);
            }
            return;
        }
        if let Some(at) = lock.held.iter().position(|&token| token == entry.create_revision) {
            lock.held.remove(at);
            self.end_hold(intake, ix, entry, cause);
        } else if lock.recognised.layout.has_queue() {
            let party = Party::new(&lock.name, entry);
            let seq = self.timeline.push(intake.at, intake.revision, What::WaiterGone(party, cause));
            self.ask_cause(intake, ix, entry, seq, cause);
        }
        if matches!(self.locks.get(ix.0), Some(lock) if matches!(lock.made, Made::Alone(_)) && lock.held.is_empty()) {
            self.set_free(intake, ix);
        }
    }

    pub(super) fn end_hold(&mut self, intake: Intake, ix: LockIx, entry: &Entry, cause: Cause) {
        let Some(lock) = self.locks.get_mut(ix.0) else { return };
        let token = entry.create_revision;
        let history = lock.history.get_or_insert_default();
        if history.open(token).is_none() {
            history.begin(Hold::new(&Party::new(&lock.name, entry), None, intake.began(entry), None));
        }
        history.end(token, End { at: intake.time(), revision: intake.revision, cause });
        let party = Party::new(&lock.name, entry);
        let seq = self.timeline.push(intake.at, intake.revision, What::Released(party, cause));
        self.ask_cause(intake, ix, entry, seq, cause);
    }

    /// A key came first, at revision `from` unless it was only found holding.
    pub(super) fn begin_hold(
        &mut self,
        intake: Intake,
        ix: LockIx,
        party: Party,
        enqueued: Since,
        from: Option<Revision>,
    ) {
        let Some(lock) = self.locks.get_mut(ix.0) else { return };
        let history = lock.history.get_or_insert_default();
        // Where there is no queue, the wait left no trace.
        let seen = enqueued.exact && intake.how == How::Watched && lock.recognised.layout.has_queue();
        let waited = seen.then(|| intake.at - enqueued.at);
        history.begin(Hold::new(&party, from, intake.time().map(|_| intake.since()), waited));
        history.handovers.count(intake.at);
        self.timeline.push(intake.at, intake.revision, What::Acquired(party));
    }

    /// Asks the lease of a key that went, when that can tell why.
    fn ask_cause(&mut self, intake: Intake, lock: LockIx, entry: &Entry, seq: u64, cause: Cause) {
        if cause != Cause::Pending {
            return;
        }
        let open = Open {
            lease: entry.lease(),
            seq,
            lock,
            token: entry.create_revision,
            gone_at: intake.at,
            expected_end: self.leases.expected_end(entry.lease()),
            unrenewed: matches!(self.leases.renewal(entry.lease(), intake.at), Renewal::NotRenewed { .. }),
        };
        self.plan.ask_urgently(entry.lease());
        if let Some(given_up) = self.pending.push(open) {
            self.settle_cause(given_up, Cause::Unknown);
        }
    }

    pub(super) fn settle_cause(&mut self, open: Open, cause: Cause) {
        self.timeline.settle(open.seq, cause);
        if let Some(lock) = self.locks.get_mut(open.lock.0) {
            if let Some(history) = lock.history.as_mut() {
                history.settle(open.token, cause);
            }
            // A session that is closed well before its time can look as if it had run out; one
            // that nobody renewed has.
            if cause == Cause::Expired
                && open.unrenewed
                && let Some(gone) = self.timeline.get(open.seq)
                && let What::WaiterGone(party, _) = &gone.what
                && party.lock() == lock.name.as_bytes()
            {
                let dropout = Dropout { key: party.key.clone(), lease: party.lease, at: open.gone_at };
                lock.history.get_or_insert_default().note_dropout(dropout);
            }
        }
        self.histories += 1;
        self.version += 1;
    }

    /// Gives up on causes whose answer did not come.
    pub(crate) fn give_up_on_causes(&mut self, now: Timestamp) {
        for open in self.pending.take_overdue(now) {
            self.settle_cause(open, Cause::Unknown);
            self.bump();
        }
    }

    pub(super) fn set_free(&mut self, intake: Intake, ix: LockIx) {
        self.leaseless.remove(&ix);
        if let Some(lock) = self.locks.get_mut(ix.0) {
            lock.note_free(intake);
            self.freed.push_back((intake.at, ix));
        }
        while self.freed.len() > REMEMBERED_FREE {
            let Some((at, oldest)) = self.freed.pop_front() else { return };
            let still_free = self.locks.get(oldest.0).filter(|lock| lock.free_since == Some(at));
            let Some(made) = still_free.map(|lock| lock.made) else { continue };
            self.locks.remove(oldest.0);
            if let Made::Of(group) = made
                && let Some(known) = self.groups.get_mut(group.0)
            {
                known.lock = None;
                self.drop_vacant(group);
            }
        }
    }
}
