//! What keys amount to: their group, the recipe it follows, and who holds.
//!
//! Keys that stand alone are judged as they come. Groups are marked and judged once a
//! revision, or once a page, is taken in whole.

use std::collections::BTreeSet;

use crate::domain::Key;
use crate::layout::{Layout, MANY, Recognised, SingleFacts, recognise_single};

use super::cause::Cause;
use super::facts::Facts;
use super::group::{Group, GroupIx, Judged};
use super::intake::{How, Intake};
use super::keyspace::{Entry, KeyIx};
use super::lock::{End, Lock, LockIx, Made};
use super::look::is_released;
use super::timeline::{Party, What};

/// Room for so many arrivals is kept with a group from one revision to the next, and for so many
/// changed groups with all of them.
const KEPT_ARRIVALS: usize = 8;
const KEPT_DIRTY: usize = 1_024;

/// How many bytes of a value are kept of a key that is plain data and stands in a queue.
const KEPT_OF_DATA: usize = 128;

impl Facts {
    /// Says what a key that stands alone is, and keeps its lock in step.
    pub(super) fn recognise_alone(&mut self, intake: Intake, ix: KeyIx) {
        let Some(entry) = self.keys.get(ix) else { return };
        let Some(group) = self.group(entry.group) else { return };
        let leased = !entry.lease().is_none();
        let others = |count: usize, counted: bool| {
            u32::try_from(count.saturating_sub(usize::from(counted))).unwrap_or(u32::MAX).min(MANY)
        };
        let recognised = recognise_single(&SingleFacts {
            key: entry.facts(),
            placed: entry.placed,
            leased_siblings: others(group.loners().leased.len(), leased),
            empty_leased_siblings: others(group.loners().empty_leased.len(), leased && entry.value_len == 0),
        });
        // Among the members of a queue plain data is in the way, and its value may say whose it is.
        let kept = if group.members.is_empty() && group.lock.is_none() { 0 } else { KEPT_OF_DATA };
        let known = self.alone(&entry.key);
        // What was a lock with its lease is one without: its client may still go by it.
        let was = known.filter(|_| !entry.lost_lease().is_none()).and_then(|lock| self.locks.get(lock.0));
        let was = was.map(|lock| lock.recognised).filter(|was| was.layout.is_lock());
        let recognised = was.filter(|_| recognised.layout == Layout::Data).unwrap_or(recognised);
        if recognised.layout == Layout::Data {
            if let Some(lock) = known {
                self.locks.remove(lock.0);
            }
            if let Some(entry) = self.keys.get_mut(ix) {
                entry.cut_value(kept);
            }
            return;
        }
        let lock_ix = if let Some(known) = known {
            known
        } else {
            let name = entry.key.clone();
            self.add_lock(name, Made::Alone(None), recognised)
        };
        self.hold_alone(intake, lock_ix, ix, recognised);
    }

    fn hold_alone(&mut self, intake: Intake, lock_ix: LockIx, ix: KeyIx, recognised: Recognised) {
        let Some(entry) = self.keys.get(ix) else { return };
        let Some(lock) = self.locks.get_mut(lock_ix.0) else { return };
        lock.made = Made::Alone(Some(ix));
        lock.recognised = recognised;
        let wants_lease = recognised.layout.is_lock() && recognised.layout != Layout::KubernetesLease;
        note_leaseless(&mut self.leaseless, lock_ix, wants_lease && entry.lease().is_none());
        if !recognised.layout.is_lock() || is_released(recognised, entry) || lock.held.contains(&entry.create_revision)
        {
            return;
        }
        lock.held = vec![entry.create_revision];
        lock.note_taken(intake);
        if intake.how != How::FirstRead {
            let (party, since) = (Party::new(&lock.name, entry), entry.since());
            self.begin_hold(intake, lock_ix, party, since, intake.turn());
        }
    }

    /// A key more can turn its siblings from locks into registrations, and one less back.
    pub(super) fn recognise_siblings(&mut self, intake: Intake, group: GroupIx, newcomer: Option<KeyIx>) {
        let siblings = self.group(group).map(Group::sensitive).unwrap_or_default();
        for ix in siblings.into_iter().filter(|&ix| Some(ix) != newcomer) {
            self.recognise_alone(intake, ix);
        }
    }

    /// Brings the locks of all changed groups up to date.
    pub(super) fn settle(&mut self, intake: Intake) {
        let mut dirty = std::mem::take(&mut self.dirty);
        for ix in dirty.drain(..) {
            let Some(group) = self.groups.get_mut(ix.0) else { continue };
            group.dirty = false;
            let mut arrivals = std::mem::take(&mut group.arrivals);
            self.settle_group(intake, ix, &arrivals);
            // The next ones find its room, unless many came at once.
            if arrivals.capacity() <= KEPT_ARRIVALS
                && let Some(group) = self.groups.get_mut(ix.0)
            {
                arrivals.clear();
                group.arrivals = arrivals;
            }
            self.drop_vacant(ix);
        }
        if dirty.capacity() <= KEPT_DIRTY {
            self.dirty = dirty;
        }
        self.version += 1;
    }

    fn settle_group(&mut self, intake: Intake, ix: GroupIx, arrivals: &[KeyIx]) {
        let Some(group) = self.groups.get_mut(ix.0) else { return };
        let known = group.lock;
        let members = !group.members.is_empty();
        let judged = group.recognise(&self.keys);
        if let (Some(_), Some(Judged { recognised, stands: true })) = (known, judged)
            && group.holds_by_first(recognised.layout)
        {
            // Whoever came stands behind the one who held before.
            debug_assert!(self.is_held_as_known(ix), "the holder is another one");
            return self.announce_arrivals(intake, ix, arrivals);
        }
        let former = known.and_then(|lock| self.locks.get(lock.0)).map(|lock| lock.recognised);
        // What only looked like members is plain data.
        let recognised = judged.map(|judged| judged.recognised).filter(|known| known.layout != Layout::Data);
        // A foreign key blocks a lock for ever, also when nobody queues behind it right now.
        let blocked =
            former.filter(|former| !members && former.layout.has_queue() && group.queue_len(former.layout) > 0);
        let recognised = recognised.or(blocked);
        let Some(recognised) = recognised else {
            match known {
                Some(lock) if members => self.forget_lock(ix, lock),
                Some(lock) => self.empty_group(intake, ix, lock),
                None => {}
            }
            return;
        };
        // A lock that is seen for the first time, with keys that nobody saw come, is no news.
        let how = if known.is_none() && arrivals.is_empty() { How::FirstRead } else { intake.how };
        let intake = Intake { how, ..intake };
        let lock_ix = if let Some(lock) = known {
            lock
        } else {
            let name = group.name.clone();
            let lock = self.add_lock(name, Made::Of(ix), recognised);
            if let Some(group) = self.groups.get_mut(ix.0) {
                group.lock = Some(lock);
            }
            lock
        };
        if let Some(lock) = self.locks.get_mut(lock_ix.0) {
            lock.recognised = recognised;
        }
        let leads = self.groups.get(ix.0).and_then(|group| group.front(recognised.layout));
        let leads = leads.filter(|_| recognised.layout.has_queue()).and_then(|(_, key)| self.keys.get(key));
        note_leaseless(&mut self.leaseless, lock_ix, leads.is_some_and(|entry| entry.lease().is_none()));
        if recognised.layout.has_queue() {
            self.announce_arrivals(intake, ix, arrivals);
            self.announce_holders(intake, ix, lock_ix, known.is_none());
        }
    }

    fn announce_arrivals(&mut self, intake: Intake, group: GroupIx, arrivals: &[KeyIx]) {
        let Some(group) = self.groups.get(group.0) else { return };
        for entry in arrivals.iter().filter_map(|&ix| self.keys.get(ix)) {
            self.timeline.push(intake.at, intake.revision, What::Enqueued(Party::new(&group.name, entry)));
        }
    }

    /// Compares who holds with who was known to. Of a lock that is `new`, whoever is first has
    /// been so since its key came: until now the keys did not tell that they are a lock.
    fn announce_holders(&mut self, intake: Intake, group: GroupIx, lock_ix: LockIx, new: bool) {
        if self.is_held_as_known(group) {
            return;
        }
        let Some(group) = self.groups.get(group.0) else { return };
        let Some(lock) = self.locks.get_mut(lock_ix.0) else { return };
        let holders: Vec<_> = group.holders(lock.recognised.layout, &self.keys).collect();
        let former = std::mem::replace(&mut lock.held, holders.iter().map(|&(token, _)| token).collect());
        lock.note_taken(intake);
        if intake.how == How::FirstRead {
            return;
        }
        // A holder that was overtaken held by mistake: an older key was not known yet.
        if let Some(history) = lock.history.as_mut() {
            let end = End { at: intake.time(), revision: intake.revision, cause: Cause::Unknown };
            for &token in former.iter().filter(|&token| holders.iter().all(|(holder, _)| holder != token)) {
                history.end(token, end);
            }
        }
        for (token, ix) in holders {
            if !former.contains(&token)
                && let (Some(entry), Some(lock)) = (self.keys.get(ix), self.locks.get(lock_ix.0))
            {
                let (party, since) = (Party::new(&lock.name, entry), entry.since());
                let from = intake.turn().map(|turn| if new { entry.create_revision } else { turn });
                self.begin_hold(intake, lock_ix, party, since, from);
            }
        }
    }

    /// Whether those hold the lock of a group who were known to.
    fn is_held_as_known(&self, group: GroupIx) -> bool {
        let Some(group) = self.groups.get(group.0) else { return false };
        let lock = group.lock.and_then(|lock| self.locks.get(lock.0));
        lock.is_some_and(|lock| {
            let holders = group.holders(lock.recognised.layout, &self.keys).map(|(token, _)| token);
            holders.eq(lock.held.iter().copied())
        })
    }

    /// The last member went: a lock is free and stays known, anything else is forgotten.
    fn empty_group(&mut self, intake: Intake, group: GroupIx, lock_ix: LockIx) {
        let Some(lock) = self.locks.get_mut(lock_ix.0) else { return };
        // A foreign key that was first holds nothing once nobody queues behind it.
        let end = End { at: intake.time(), revision: intake.revision, cause: Cause::Unknown };
        for token in lock.held.drain(..) {
            if let Some(history) = lock.history.as_mut() {
                history.end(token, end);
            }
        }
        if lock.recognised.layout.is_lock() {
            if lock.free_since.is_none() {
                self.set_free(intake, lock_ix);
            }
            return;
        }
        self.forget_lock(group, lock_ix);
    }

    fn forget_lock(&mut self, group: GroupIx, lock: LockIx) {
        self.locks.remove(lock.0);
        if let Some(group) = self.groups.get_mut(group.0) {
            group.lock = None;
        }
    }

    fn add_lock(&mut self, name: Key, made: Made, recognised: Recognised) -> LockIx {
        let lock = Lock { name, made, recognised, held: Vec::new(), free_since: None, history: None };
        LockIx(self.locks.insert(lock))
    }

    pub(super) fn drop_vacant(&mut self, ix: GroupIx) {
        if self.groups.get(ix.0).is_some_and(|group| group.is_vacant() && !group.dirty) {
            self.groups.remove(ix.0);
        }
    }

    /// Puts an entry into its group and onto its lease.
    pub(super) fn attach(&mut self, intake: Intake, ix: KeyIx) {
        let Some(entry) = self.keys.get(ix) else { return };
        // Keys are read in order, so the next one is likely to be of the same group.
        let name = entry.group_name();
        let recent = self.groups.get(self.recent_group.0).filter(|group| group.name.as_bytes() == name);
        let at = match recent.map(|_| self.recent_group.0).or_else(|| self.groups.find(name)) {
            Some(at) => at,
            None => self.groups.insert(Group::new(name.into())),
        };
        self.recent_group = GroupIx(at);
        if let Some(entry) = self.keys.get_mut(ix) {
            entry.group = GroupIx(at);
        }
        let (Some(entry), Some(group)) = (self.keys.get(ix), self.groups.get_mut(at)) else { return };
        group.add(ix, entry);
        if self.leases.hang(entry.lease(), ix) {
            self.plan.ask_first(entry.lease());
        }
        let (member, leased) = (entry.placed.shape.is_member(), !entry.lease().is_none());
        self.mark_dirty(GroupIx(at));
        if !member {
            self.recognise_alone(intake, ix);
            if leased {
                self.recognise_siblings(intake, GroupIx(at), Some(ix));
            }
        }
    }

    pub(super) fn detach(&mut self, intake: Intake, ix: KeyIx, entry: &Entry) {
        self.leases.unhang(intake.at, entry.lease(), ix);
        if let Some(group) = self.groups.get_mut(entry.group.0) {
            group.remove(ix, entry);
            group.arrivals.retain(|&arrival| arrival != ix);
        }
        self.mark_dirty(entry.group);
    }

    fn mark_dirty(&mut self, ix: GroupIx) {
        if let Some(group) = self.groups.get_mut(ix.0).filter(|group| !group.dirty) {
            // A folder of plain keys has nothing to settle.
            if group.lock.is_some() || !group.members.is_empty() {
                group.dirty = true;
                self.dirty.push(ix);
            }
        }
    }
}

fn note_leaseless(leaseless: &mut BTreeSet<LockIx>, lock: LockIx, is: bool) {
    if is {
        leaseless.insert(lock);
    } else if !leaseless.is_empty() {
        leaseless.remove(&lock);
    }
}
