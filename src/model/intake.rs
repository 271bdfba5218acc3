//! How facts change: keys come, are rewritten and go, and locks follow.
//!
//! ```text
//! put ──► entry ──► group (counters) ──► dirty ─┐
//!                   lease (keys)                ├─► settle: recipe? who holds? ─► happenings
//! delete ──► cause open ──► ask the lease ──────┘
//! ```
//!
//! A revision is taken in whole before locks are settled (`settle`), so that a transaction is
//! never seen by halves. Reads that open a range are quiet: what was there before is no news.
//! How holds begin and end is in `holds`.

use crate::domain::{KeyEvent, KeyValue, LeaseId, MemberId, Revision, Term, Timestamp};
use crate::event::{Change, LeaseTtl, ListPage};
use crate::layout::Layout;
use crate::layout::value::decode;

use super::cause::{self, Cause};
use super::facts::{Facts, Listing};
use super::keyspace::{Entry, KeyIx};
use super::lock::Since;
use super::theft::Theft;
use super::timeline::{Party, What};

/// How something was learnt, and when.
#[derive(Clone, Copy)]
pub(super) struct Intake {
    pub at: Timestamp,
    pub revision: Revision,
    pub how: How,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// The watch showed it as it happened.
    Watched,
    /// A range was read for the first time.
    FirstRead,
    /// A range was read again: something happened meanwhile, and nobody saw it.
    Reread,
    /// It was told long after it happened.
    Filled {
        /// All that is filled in happened after this revision.
        behind: Revision,
    },
}

impl How {
    /// Whether the event itself was told, not only what came of it.
    pub const fn is_event(self) -> bool {
        matches!(self, Self::Watched | Self::Filled { .. })
    }
}

impl Intake {
    /// Since when a key is known that came by this.
    pub fn since(self) -> Since {
        Since { at: self.at, exact: self.how == How::Watched }
    }

    /// When what is told by this happened; `None` when that is not known.
    pub const fn time(self) -> Option<Timestamp> {
        match self.how {
            How::Filled { .. } => None,
            How::Watched | How::FirstRead | How::Reread => Some(self.at),
        }
    }

    /// The revision at which a hold began that is first seen by this; `None` when it may have
    /// begun earlier.
    pub fn turn(self) -> Option<Revision> {
        self.how.is_event().then_some(self.revision)
    }

    /// When the hold of a key began that has held since it is known.
    pub fn began(self, entry: &Entry) -> Option<Since> {
        match self.how {
            How::Filled { behind } if entry.create_revision > behind => None,
            _ => Some(entry.since()),
        }
    }
}

impl Facts {
    /// Takes in a page of a full read.
    pub(crate) fn take_page(&mut self, at: Timestamp, page: ListPage) {
        if page.first {
            self.listing.begin(&page.range);
        }
        let read_before = |listing: &Listing, key: &[u8]| listing.read_before.iter().any(|range| range.contains(key));
        let how = if self.listing.read_before.is_empty() { How::FirstRead } else { How::Reread };
        let intake = Intake { at, revision: page.revision, how };
        for kv in page.keys {
            // Ranges that were joined are read anew in part, and for the first time in part.
            let how = if read_before(&self.listing, &kv.key) { How::Reread } else { How::FirstRead };
            self.put(Intake { how, ..intake }, kv);
        }
        if page.last {
            // The first read of an empty keyspace can leave nothing over.
            if how == How::Reread || !self.keys.is_empty() {
                for ix in self.keys.left_over(&page.range, self.listing.generation) {
                    self.remove(Intake { how: How::Reread, ..intake }, ix);
                }
            }
            self.listing.end(page.range);
            self.mark_gap(intake);
        }
        self.settle(intake);
        self.see_revision(page.revision);
    }

    /// Takes in watched changes, revision by revision.
    pub(crate) fn take_changes(&mut self, at: Timestamp, changes: Vec<Change>) {
        self.link.events += changes.len() as u64;
        self.take_in(at, How::Watched, changes);
    }

    pub(super) fn take_in(&mut self, at: Timestamp, how: How, changes: Vec<Change>) {
        let mut open: Option<Intake> = None;
        for Change { revision, event } in changes {
            if let Some(done) = open.filter(|intake| intake.revision != revision) {
                self.settle(done);
            }
            let intake = Intake { at, revision, how };
            open = Some(intake);
            match event {
                KeyEvent::Put(kv) => self.put(intake, kv),
                KeyEvent::Delete { key, .. } => {
                    let known = self.keys.find(&key).filter(|&ix| {
                        // The list may have shown a later life of the key already.
                        self.keys.get(ix).is_some_and(|entry| entry.mod_revision < revision)
                    });
                    if let Some(ix) = known {
                        self.remove(intake, ix);
                    }
                }
            }
        }
        if let Some(done) = open {
            self.settle(done);
            self.see_revision(done.revision);
        }
    }

    /// Notes that the store reached a revision.
    pub(crate) fn see_revision(&mut self, revision: Revision) {
        self.link.revision = self.link.revision.max(revision);
    }

    /// Takes in the list of all leases; returns whether it is another than before.
    pub(crate) fn take_lease_list(&mut self, ids: &[LeaseId]) -> bool {
        let before = self.leases.len();
        let fresh = self.leases.set_listed(ids);
        let news = !fresh.is_empty() || self.leases.len() != before;
        for id in fresh {
            self.plan.ask_first(id);
        }
        news
    }

    /// Takes in which leases a member lacks; returns whether they are others than before.
    pub(crate) fn take_missing_leases(&mut self, at: Timestamp, member: MemberId, leases: Vec<LeaseId>) -> bool {
        self.leases.set_missing(at, member, leases)
    }

    /// Takes in a lease's time to live, and settles the causes that waited for it.
    pub(crate) fn take_ttl(&mut self, at: Timestamp, answer: &LeaseTtl) {
        let term = if answer.term == Term::default() { self.cluster.term() } else { answer.term };
        let exists = self.leases.set_ttl(at, term, answer);
        for open in self.pending.take(answer.lease) {
            let cause = if exists { Cause::Released } else { cause::of_gone_lease(open.expected_end, open.gone_at) };
            self.settle_cause(open, cause);
        }
        if !exists {
            self.end_thefts(at, answer.lease);
        }
        self.version += 1;
    }

    /// Notes that a lease is gone which locks were stolen from: its client's claim to them ended.
    fn end_thefts(&mut self, at: Timestamp, lease: LeaseId) {
        for ix in self.leases.take_stolen_from(lease) {
            let history = self.locks.get_mut(ix.0).and_then(|lock| lock.history.as_mut());
            // The place may be another lock's by now, or the lock was taken once more.
            if let Some(theft) = history.and_then(|history| history.theft.as_mut())
                && theft.former_lease == lease
            {
                theft.former_gone = Some(at);
            }
        }
    }

    /// Notes that events were missed; the next full read marks the gap.
    pub(crate) fn lose_history(&mut self) {
        self.listing.gap_from.get_or_insert(self.link.revision);
    }

    /// Forgets everything about keys, locks and leases: another cluster answers.
    pub(crate) fn forget_cluster(&mut self, at: Timestamp) {
        for open in self.pending.take_all() {
            self.settle_cause(open, Cause::Unknown);
        }
        let from = self.link.revision;
        let mut fresh = Self {
            plan: self.plan.clone(),
            now: self.now,
            version: self.version + 1,
            keys_version: self.keys_version,
            ..Self::default()
        };
        std::mem::swap(&mut fresh.link, &mut self.link);
        std::mem::swap(&mut fresh.timeline, &mut self.timeline);
        fresh.past = self.take_past();
        fresh.link.revision = Revision(0);
        fresh.link.listed = false;
        fresh.link.gaps += 1;
        fresh.timeline.push(at, from, What::Gap { from, to: Revision(0) });
        *self = fresh;
    }

    fn mark_gap(&mut self, intake: Intake) {
        if intake.how == How::Reread
            && let Some(from) = self.listing.gap_from.take()
        {
            let to = intake.revision;
            self.link.gaps += 1;
            let seq = self.timeline.push(intake.at, to, What::Gap { from, to });
            if let Some(fill) = &mut self.fill {
                fill.gap.get_or_insert((seq, to));
            }
        }
    }

    fn put(&mut self, intake: Intake, kv: KeyValue) {
        let generation = self.listing.generation;
        let ix = match self.keys.find_or_room(&kv.key) {
            Ok(known) => known,
            Err(room) => {
                let ix = room.take(Entry::new(kv, intake.since(), generation));
                return self.came(intake, ix);
            }
        };
        let Some(known) = self.keys.get_mut(ix) else { return };
        known.generation = generation;
        if known.create_revision != kv.create_revision {
            if intake.how.is_event() && kv.mod_revision <= known.mod_revision {
                return;
            }
            // Its end in between was never seen.
            self.remove(Intake { how: How::Reread, ..intake }, ix);
            let ix = self.keys.insert(Entry::new(kv, intake.since(), generation));
            self.came(intake, ix);
        } else if known.mod_revision < kv.mod_revision {
            self.rewrite(intake, ix, kv);
        }
    }

    /// A key is known from now on.
    fn came(&mut self, intake: Intake, ix: KeyIx) {
        let lease = self.keys.get(ix).map(Entry::lease).unwrap_or_default();
        self.attach(intake, ix);
        // A client that puts another key on the same lease has not lost it.
        if intake.how.is_event() && !lease.is_none() {
            for open in self.pending.take(lease) {
                self.settle_cause(open, Cause::Released);
            }
        }
        if intake.how != How::FirstRead
            && let Some(group) = self.keys.get(ix).map(|entry| entry.group)
            && let Some(group) = self.groups.get_mut(group.0).filter(|group| group.dirty)
        {
            group.arrivals.push(ix);
        }
    }

    fn rewrite(&mut self, intake: Intake, ix: KeyIx, kv: KeyValue) {
        let Some(entry) = self.keys.get(ix).cloned() else { return };
        let changed = entry.lease() != kv.lease
            || entry.value_len as usize != kv.value.len()
            || !kv.value.starts_with(&entry.value);
        self.detach(intake, ix, &entry);
        let generation = self.listing.generation;
        if let Some(known) = self.keys.get_mut(ix) {
            known.rewrite(kv, generation);
        }
        self.attach(intake, ix);
        if changed && intake.how != How::FirstRead {
            self.note_rewrite(intake, ix, &entry);
        }
    }

    /// A rewritten Kubernetes lease can name another holder; everything else keeps its own.
    fn note_rewrite(&mut self, intake: Intake, ix: KeyIx, former: &Entry) {
        let Some(now) = self.keys.get(ix) else { return };
        let Some(lock_ix) = self.lock_ix_of(now) else { return };
        let Some(lock) = self.locks.get(lock_ix.0).filter(|lock| lock.recognised.layout.is_lock()) else { return };
        let party = Party::new(&lock.name, now);
        if lock.recognised.layout != Layout::KubernetesLease {
            let theft = Theft::of(intake, former, now, lock.recognised.family);
            if let Some(theft) = theft
                && let Some(lock) = self.locks.get_mut(lock_ix.0)
            {
                self.leases.note_theft(theft.former_lease, lock_ix);
                lock.history.get_or_insert_default().theft = Some(Box::new(theft));
            }
            let what = What::Rewritten { party, former_lease: former.lease() };
            self.timeline.push(intake.at, intake.revision, what);
            return;
        }
        let owner = |entry: &Entry| decode(&entry.facts(), lock.recognised.family).owner;
        let (before, after) = (owner(former), owner(now));
        if before == after {
            return;
        }
        let since = now.since();
        // That a free one was taken was told when the key was judged anew.
        if before.is_none() {
            return;
        }
        self.end_hold(intake, lock_ix, former, Cause::Released);
        if after.is_some() {
            self.begin_hold(intake, lock_ix, party, since, intake.turn());
            return;
        }
        if let Some(lock) = self.locks.get_mut(lock_ix.0) {
            lock.held.clear();
        }
        self.set_free(intake, lock_ix);
    }

    fn remove(&mut self, intake: Intake, ix: KeyIx) {
        let Some(lock) = self.keys.get(ix).map(|entry| self.lock_ix_of(entry)) else { return };
        let Some(entry) = self.keys.remove(ix) else { return };
        let in_group = self.group(entry.group).and_then(|group| group.lock).filter(|_| !entry.placed.shape.is_member());
        let cause = match intake.how {
            How::FirstRead | How::Reread => Cause::Unknown,
            _ if entry.lease().is_none() => Cause::Deleted,
            _ => Cause::Pending,
        };
        self.detach(intake, ix, &entry);
        if let Some(lock) = lock {
            self.leave(intake, lock, &entry, cause);
        }
        // A lock of its own can stand in another lock's queue as well.
        if let Some(group) = in_group.filter(|&group| Some(group) != lock) {
            self.leave(intake, group, &entry, cause);
        }
        if !entry.placed.shape.is_member() && !entry.lease().is_none() {
            self.recognise_siblings(intake, entry.group, None);
        }
        self.drop_vacant(entry.group);
    }
}
