//! How facts change: keys come, are rewritten and go, and locks follow.
//!
//! ```text
//! put ──► entry ──► group (counters) ──► dirty ─┐
//!                   lease (keys)                ├─► settle: recipe? who holds? ─► happenings
//! delete ──► cause open ──► ask the lease ──────┘
//! ```
//!
//! A revision is taken in whole before locks are settled, so that a transaction is never
//! seen by halves. Reads that open a range are quiet: what was there before is no news.

use crate::domain::{Key, KeyEvent, KeyValue, LeaseId, Revision, Timestamp};
use crate::event::{Change, LeaseTtl, ListPage};
use crate::layout::value::decode;
use crate::layout::{Layout, MANY, Recognised, SingleFacts, recognise_single};

use super::cause::{self, Cause};
use super::facts::Facts;
use super::group::{Group, GroupIx};
use super::keyspace::{Entry, KeyIx};
use super::lock::{End, Hold, Lock, LockIx, Made, Since};
use super::pending::Open;
use super::timeline::{Party, What};

/// How many free locks are remembered.
const REMEMBERED_FREE: usize = 1_000;

/// How something was learnt, and when.
#[derive(Clone, Copy)]
struct Intake {
    at: Timestamp,
    revision: Revision,
    how: How,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// The watch showed it as it happened.
    Watched,
    /// A range was read for the first time.
    FirstRead,
    /// A range was read again: something happened meanwhile, and nobody saw it.
    Reread,
}

impl Intake {
    fn since(self) -> Since {
        Since { at: self.at, exact: self.how == How::Watched }
    }
}

impl Facts {
    /// Takes in a page of a full read.
    pub(crate) fn take_page(&mut self, at: Timestamp, page: ListPage) {
        if page.first {
            let again = self.listing.done.contains(&page.range);
            self.listing.generation += 1;
            self.listing.current = Some((page.range.clone(), !again));
        }
        let first_read = self.listing.current.as_ref().is_none_or(|(_, first_read)| *first_read);
        let how = if first_read { How::FirstRead } else { How::Reread };
        let intake = Intake { at, revision: page.revision, how };
        for kv in page.keys {
            self.put(intake, kv);
        }
        if page.last {
            // The first read of an empty keyspace can leave nothing over.
            if !first_read || !self.keys.is_empty() {
                for ix in self.keys.left_over(&page.range, self.listing.generation) {
                    self.remove(intake, ix);
                }
            }
            if first_read {
                self.listing.done.push(page.range);
            }
            self.listing.current = None;
            self.mark_gap(intake);
        }
        self.settle(intake);
        self.see_revision(page.revision);
    }

    /// Takes in watched changes, revision by revision.
    pub(crate) fn take_changes(&mut self, at: Timestamp, changes: Vec<Change>) {
        self.link.events += changes.len() as u64;
        let mut open: Option<Intake> = None;
        for Change { revision, event } in changes {
            if let Some(done) = open.filter(|intake| intake.revision != revision) {
                self.settle(done);
            }
            let intake = Intake { at, revision, how: How::Watched };
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
        self.version += 1;
    }

    /// Takes in the list of all leases.
    pub(crate) fn take_lease_list(&mut self, ids: &[LeaseId]) {
        for id in self.leases.set_listed(ids) {
            self.plan.ask_first(id);
        }
        self.version += 1;
    }

    /// Takes in a lease's time to live, and settles the causes that waited for it.
    pub(crate) fn take_ttl(&mut self, at: Timestamp, answer: &LeaseTtl) {
        let exists = self.leases.set_ttl(at, self.cluster.term(), answer);
        for open in self.pending.take(answer.lease) {
            let cause = if exists { Cause::Released } else { cause::of_gone_lease(open.expected_end, open.gone_at) };
            self.settle_cause(open, cause);
        }
        self.version += 1;
    }

    /// Gives up on causes whose answer did not come.
    pub(crate) fn give_up_on_causes(&mut self, now: Timestamp) {
        for open in self.pending.take_overdue(now) {
            self.settle_cause(open, Cause::Unknown);
        }
    }

    /// Notes that events were missed; the next full read marks the gap.
    pub(crate) fn lose_history(&mut self) {
        self.listing.gap_from.get_or_insert(self.link.revision);
    }

    /// Forgets everything about keys, locks and leases: another cluster answers.
    pub(crate) fn forget_cluster(&mut self, at: Timestamp) {
        let from = self.link.revision;
        let mut fresh = Self { plan: self.plan.clone(), now: self.now, version: self.version + 1, ..Self::default() };
        std::mem::swap(&mut fresh.link, &mut self.link);
        std::mem::swap(&mut fresh.timeline, &mut self.timeline);
        fresh.link.revision = Revision(0);
        fresh.link.listed = false;
        fresh.link.gaps += 1;
        fresh.timeline.push(at, from, What::Gap { from, to: Revision(0) });
        *self = fresh;
    }

    fn mark_gap(&mut self, intake: Intake) {
        let Some(from) = self.listing.gap_from.take() else { return };
        if intake.how == How::Reread {
            self.link.gaps += 1;
            self.timeline.push(intake.at, intake.revision, What::Gap { from, to: intake.revision });
        }
    }

    fn put(&mut self, intake: Intake, kv: KeyValue) {
        let Some(ix) = self.keys.find(&kv.key) else { return self.insert(intake, kv) };
        let generation = self.listing.generation;
        let Some(known) = self.keys.get_mut(ix) else { return };
        known.generation = generation;
        if known.create_revision != kv.create_revision {
            if intake.how == How::Watched && kv.mod_revision <= known.mod_revision {
                return;
            }
            // Its end in between was never seen.
            self.remove(Intake { how: How::Reread, ..intake }, ix);
            self.insert(intake, kv);
        } else if known.mod_revision < kv.mod_revision {
            self.rewrite(intake, ix, kv);
        }
    }

    fn insert(&mut self, intake: Intake, kv: KeyValue) {
        let entry = Entry::new(kv, intake.since(), self.listing.generation);
        let lease = entry.lease;
        let ix = self.keys.insert(entry);
        self.attach(intake, ix);
        // A client that puts another key on the same lease has not lost it.
        if intake.how == How::Watched && !lease.is_none() {
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
        let changed = entry.lease != kv.lease
            || entry.value_len as usize != kv.value.len()
            || !kv.value.starts_with(&entry.value);
        self.detach(ix, &entry);
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
        let party = party(&lock.name, now);
        if lock.recognised.layout != Layout::KubernetesLease {
            let what = What::Rewritten { party, former_lease: former.lease };
            self.timeline.push(intake.at, intake.revision, what);
            return;
        }
        let owner = |entry: &Entry| decode(&entry.facts(), lock.recognised.family).owner;
        let (before, after) = (owner(former), owner(now));
        if before == after {
            return;
        }
        let since = now.since;
        if before.is_some() {
            self.end_hold(intake, lock_ix, former, Cause::Released);
        }
        if after.is_some() {
            self.begin_hold(intake, lock_ix, party, since);
        }
    }

    fn remove(&mut self, intake: Intake, ix: KeyIx) {
        let Some(lock) = self.keys.get(ix).map(|entry| self.lock_ix_of(entry)) else { return };
        let Some(entry) = self.keys.remove(ix) else { return };
        let in_group = self.group(entry.group).and_then(|group| group.lock).filter(|_| !entry.placed.shape.is_member());
        let cause = match intake.how {
            How::Watched if entry.lease.is_none() => Cause::Deleted,
            How::Watched => Cause::Pending,
            How::FirstRead | How::Reread => Cause::Unknown,
        };
        self.detach(ix, &entry);
        if let Some(lock) = lock {
            self.leave(intake, lock, &entry, cause);
        }
        // A lock of its own can stand in another lock's queue as well.
        if let Some(group) = in_group.filter(|&group| Some(group) != lock) {
            self.leave(intake, group, &entry, cause);
        }
        if !entry.placed.shape.is_member() && !entry.lease.is_none() {
            self.recognise_siblings(intake, entry.group, None);
        }
        self.drop_vacant(entry.group);
    }

    /// A key of a lock went: its hold ends, or its waiting does.
    fn leave(&mut self, intake: Intake, ix: LockIx, entry: &Entry, cause: Cause) {
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
            let party = party(&lock.name, entry);
            lock.touched = intake.at;
            let seq = self.timeline.push(intake.at, intake.revision, What::WaiterGone(party, cause));
            self.ask_cause(intake, ix, entry, seq, cause);
        }
        if matches!(self.locks.get(ix.0), Some(lock) if matches!(lock.made, Made::Alone(_)) && lock.held.is_empty()) {
            self.set_free(intake, ix);
        }
    }

    fn end_hold(&mut self, intake: Intake, ix: LockIx, entry: &Entry, cause: Cause) {
        let Some(lock) = self.locks.get_mut(ix.0) else { return };
        lock.touched = intake.at;
        let token = entry.create_revision;
        let history = lock.history.get_or_insert_default();
        if history.open(token).is_none() {
            history.begin(hold(entry, entry.since, None));
        }
        history.end(token, End { at: intake.at, revision: intake.revision, cause });
        let party = party(&lock.name, entry);
        let seq = self.timeline.push(intake.at, intake.revision, What::Released(party, cause));
        self.ask_cause(intake, ix, entry, seq, cause);
    }

    fn begin_hold(&mut self, intake: Intake, ix: LockIx, party: Party, enqueued: Since) {
        let Some(lock) = self.locks.get_mut(ix.0) else { return };
        lock.touched = intake.at;
        let history = lock.history.get_or_insert_default();
        let waited = (enqueued.exact && intake.how == How::Watched).then(|| intake.at - enqueued.at);
        history.begin(Hold {
            key: party.key.clone(),
            lease: party.lease,
            create_revision: party.create_revision,
            began: intake.since(),
            waited,
            ended: None,
        });
        history.handovers.count(intake.at);
        self.timeline.push(intake.at, intake.revision, What::Acquired(party));
    }

    /// Asks the lease of a key that went, when that can tell why.
    fn ask_cause(&mut self, intake: Intake, lock: LockIx, entry: &Entry, seq: u64, cause: Cause) {
        if cause != Cause::Pending {
            return;
        }
        let open = Open {
            lease: entry.lease,
            seq,
            lock,
            token: entry.create_revision,
            gone_at: intake.at,
            expected_end: self.leases.expected_end(entry.lease),
        };
        self.plan.ask_urgently(entry.lease);
        if let Some(given_up) = self.pending.push(open) {
            self.settle_cause(given_up, Cause::Unknown);
        }
    }

    fn settle_cause(&mut self, open: Open, cause: Cause) {
        self.timeline.settle(open.seq, cause);
        if let Some(history) = self.locks.get_mut(open.lock.0).and_then(|lock| lock.history.as_mut()) {
            history.settle(open.token, cause);
        }
        self.version += 1;
    }

    /// Puts an entry into its group and onto its lease.
    fn attach(&mut self, intake: Intake, ix: KeyIx) {
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
        if self.leases.hang(entry.lease, ix) {
            self.plan.ask_first(entry.lease);
        }
        let (member, leased) = (entry.placed.shape.is_member(), !entry.lease.is_none());
        self.mark_dirty(GroupIx(at));
        if !member {
            self.recognise_alone(intake, ix);
            if leased {
                self.recognise_siblings(intake, GroupIx(at), Some(ix));
            }
        }
    }

    fn detach(&mut self, ix: KeyIx, entry: &Entry) {
        self.leases.unhang(entry.lease, ix);
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

    /// Says what a key that stands alone is, and keeps its lock in step.
    fn recognise_alone(&mut self, intake: Intake, ix: KeyIx) {
        let Some(entry) = self.keys.get(ix) else { return };
        let Some(group) = self.group(entry.group) else { return };
        let leased = !entry.lease.is_none();
        let others = |count: usize, counted: bool| {
            u32::try_from(count.saturating_sub(usize::from(counted))).unwrap_or(u32::MAX).min(MANY)
        };
        let recognised = recognise_single(&SingleFacts {
            key: entry.facts(),
            placed: entry.placed,
            leased_siblings: others(group.leased.len(), leased),
            empty_leased_siblings: others(group.empty_leased.len(), leased && entry.value_len == 0),
        });
        let known = self.alone(&entry.key);
        if recognised.layout == Layout::Data {
            if let Some(lock) = known {
                self.locks.remove(lock.0);
            }
            if let Some(entry) = self.keys.get_mut(ix) {
                entry.drop_value();
            }
            return;
        }
        let lock_ix = if let Some(known) = known {
            known
        } else {
            let name = entry.key.clone();
            self.add_lock(intake, name, Made::Alone(None), recognised)
        };
        self.hold_alone(intake, lock_ix, ix, recognised);
    }

    fn hold_alone(&mut self, intake: Intake, lock_ix: LockIx, ix: KeyIx, recognised: Recognised) {
        let Some(entry) = self.keys.get(ix) else { return };
        let Some(lock) = self.locks.get_mut(lock_ix.0) else { return };
        lock.made = Made::Alone(Some(ix));
        lock.recognised = recognised;
        let released =
            recognised.layout == Layout::KubernetesLease && decode(&entry.facts(), recognised.family).owner.is_none();
        if !recognised.layout.is_lock() || released || lock.held.contains(&entry.create_revision) {
            return;
        }
        lock.held = vec![entry.create_revision];
        lock.free_since = None;
        if intake.how != How::FirstRead {
            let (party, since) = (party(&lock.name, entry), entry.since);
            self.begin_hold(intake, lock_ix, party, since);
        }
    }

    /// A key more can turn its siblings from locks into registrations, and one less back.
    fn recognise_siblings(&mut self, intake: Intake, group: GroupIx, newcomer: Option<KeyIx>) {
        let siblings = self.group(group).map(Group::sensitive).unwrap_or_default();
        for ix in siblings.into_iter().filter(|&ix| Some(ix) != newcomer) {
            self.recognise_alone(intake, ix);
        }
    }

    /// Brings the locks of all changed groups up to date.
    fn settle(&mut self, intake: Intake) {
        for ix in std::mem::take(&mut self.dirty) {
            let Some(group) = self.groups.get_mut(ix.0) else { continue };
            group.dirty = false;
            let arrivals = std::mem::take(&mut group.arrivals);
            self.settle_group(intake, ix, &arrivals);
            self.drop_vacant(ix);
        }
        self.version += 1;
    }

    fn settle_group(&mut self, intake: Intake, ix: GroupIx, arrivals: &[KeyIx]) {
        let Some(group) = self.groups.get(ix.0) else { return };
        let known = group.lock;
        let Some(recognised) = group.recognise(&self.keys) else {
            if let Some(lock) = known {
                self.empty_group(intake, ix, lock);
            }
            return;
        };
        let lock_ix = if let Some(lock) = known {
            lock
        } else {
            let name = group.name.clone();
            let lock = self.add_lock(intake, name, Made::Of(ix), recognised);
            if let Some(group) = self.groups.get_mut(ix.0) {
                group.lock = Some(lock);
            }
            lock
        };
        if let Some(lock) = self.locks.get_mut(lock_ix.0) {
            lock.recognised = recognised;
        }
        if recognised.layout.has_queue() {
            self.announce_arrivals(intake, lock_ix, arrivals);
            self.announce_holders(intake, ix, lock_ix, recognised.layout);
        }
    }

    fn announce_arrivals(&mut self, intake: Intake, lock: LockIx, arrivals: &[KeyIx]) {
        for &ix in arrivals {
            let (Some(entry), Some(lock)) = (self.keys.get(ix), self.locks.get_mut(lock.0)) else { continue };
            lock.touched = intake.at;
            self.timeline.push(intake.at, intake.revision, What::Enqueued(party(&lock.name, entry)));
        }
    }

    /// Compares who holds with who was known to.
    fn announce_holders(&mut self, intake: Intake, group: GroupIx, lock_ix: LockIx, layout: Layout) {
        let Some(group) = self.groups.get(group.0) else { return };
        let Some(lock) = self.locks.get_mut(lock_ix.0) else { return };
        let mut holders = group.holders(layout, &self.keys);
        let same = lock.held.iter().all(|&token| holders.next().is_some_and(|(holder, _)| holder == token))
            && holders.next().is_none();
        drop(holders);
        if same {
            return;
        }
        let holders: Vec<_> = group.holders(layout, &self.keys).collect();
        let former = std::mem::replace(&mut lock.held, holders.iter().map(|&(token, _)| token).collect());
        lock.free_since = None;
        if intake.how == How::FirstRead {
            return;
        }
        // A holder that was overtaken held by mistake: an older key was not known yet.
        if let Some(history) = lock.history.as_mut() {
            let end = End { at: intake.at, revision: intake.revision, cause: Cause::Unknown };
            for &token in former.iter().filter(|&token| holders.iter().all(|(holder, _)| holder != token)) {
                history.end(token, end);
            }
        }
        for (token, ix) in holders {
            if !former.contains(&token)
                && let (Some(entry), Some(lock)) = (self.keys.get(ix), self.locks.get(lock_ix.0))
            {
                let (party, since) = (party(&lock.name, entry), entry.since);
                self.begin_hold(intake, lock_ix, party, since);
            }
        }
    }

    /// The last member went: a lock is free and stays known, anything else is forgotten.
    fn empty_group(&mut self, intake: Intake, group: GroupIx, lock_ix: LockIx) {
        let Some(lock) = self.locks.get_mut(lock_ix.0) else { return };
        // A foreign key that was first holds nothing once nobody queues behind it.
        let end = End { at: intake.at, revision: intake.revision, cause: Cause::Unknown };
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
        self.locks.remove(lock_ix.0);
        if let Some(group) = self.groups.get_mut(group.0) {
            group.lock = None;
        }
    }

    fn add_lock(&mut self, intake: Intake, name: Key, made: Made, recognised: Recognised) -> LockIx {
        let lock =
            Lock { name, made, recognised, held: Vec::new(), free_since: None, touched: intake.at, history: None };
        LockIx(self.locks.insert(lock))
    }

    fn set_free(&mut self, intake: Intake, ix: LockIx) {
        if let Some(lock) = self.locks.get_mut(ix.0) {
            lock.free_since = Some(intake.at);
            lock.touched = intake.at;
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

    fn drop_vacant(&mut self, ix: GroupIx) {
        if self.groups.get(ix.0).is_some_and(|group| group.is_vacant() && !group.dirty) {
            self.groups.remove(ix.0);
        }
    }
}

fn party(lock: &Key, entry: &Entry) -> Party {
    Party { lock: lock.clone(), key: entry.key.clone(), lease: entry.lease, create_revision: entry.create_revision }
}

fn hold(entry: &Entry, began: Since, waited: Option<crate::domain::Millis>) -> Hold {
    Hold {
        key: entry.key.clone(),
        lease: entry.lease,
        create_revision: entry.create_revision,
        began,
        waited,
        ended: None,
    }
}
