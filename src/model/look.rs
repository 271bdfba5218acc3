//! How readers look at the facts: a lock, a key in it, a lease, each as a small handle.
//!
//! The dashboard and every command read through these, so that "holder" and "waits for"
//! mean the same everywhere. Handles borrow; nothing is computed before it is asked for.

use crate::domain::{KeyRange, LeaseId, Millis, Revision, Timestamp};
use crate::layout::value::{Decoded, decode};
use crate::layout::{Family, Layout, Recognised, Shape, has_member_form, is_surmised};

use super::facts::{Facts, LISTED_FREE};
use super::group::{Group, Place};
use super::keyspace::Entry;
use super::lease::{Renewal, Stale, TtlState};
use super::lock::{Handovers, History, Hold, Lock, LockIx, LockState, Made, Since};

/// From more keys than this on, what each key of a lease does is not looked up for a frame.
pub(super) const LARGE_LEASE: usize = 1_000;

/// A lock, an election, or another group of leased keys.
#[derive(Clone, Copy)]
pub struct LockView<'a> {
    pub(super) facts: &'a Facts,
    pub(super) ix: LockIx,
    pub(super) lock: &'a Lock,
}

/// A key with its lease, as a member of a lock or by itself.
#[derive(Clone, Copy)]
pub struct KeyView<'a> {
    pub(super) facts: &'a Facts,
    pub(super) entry: &'a Entry,
    pub(super) family: Family,
}

/// A key that stands behind a holder.
#[derive(Clone, Copy)]
pub struct Waiter<'a> {
    /// Its place: 1 is next.
    pub position: usize,
    /// The create_revision of the key it waits for.
    pub waits_for: Revision,
    /// The key.
    pub key: KeyView<'a>,
}

/// A lease with its keys.
#[derive(Clone, Copy)]
pub struct LeaseView<'a> {
    pub(super) facts: &'a Facts,
    /// The lease's id.
    pub id: LeaseId,
}

impl<'a> LockView<'a> {
    /// The index that finds this lock again in the same facts.
    pub const fn ix(&self) -> LockIx {
        self.ix
    }

    /// The name: what the keys share, or the one key.
    pub fn name(&self) -> &'a [u8] {
        &self.lock.name
    }

    /// The recipe's layout.
    pub const fn layout(&self) -> Layout {
        self.lock.recognised.layout
    }

    /// The family of programs that writes it so, or `""`.
    pub const fn family(&self) -> Family {
        self.lock.recognised.family
    }

    /// Free, held, or contended.
    pub fn state(&self) -> LockState {
        match (self.holder(), self.waiter_count()) {
            (None, _) => LockState::Free,
            (Some(_), 0) => LockState::Held,
            (Some(_), _) => LockState::Contended,
        }
    }

    /// The holder, or the first of several.
    pub fn holder(&self) -> Option<KeyView<'a>> {
        match (self.layout(), self.lock.made) {
            // Asked of every lock again and again: nothing is put into a box for it.
            (layout @ (Layout::Queue | Layout::Election), Made::Of(group)) => {
                let front = self.facts.group(group)?.front(layout)?;
                key_at(self.facts, self.family(), front)
            }
            _ => self.holders().next(),
        }
    }

    /// Everything that stands in its queue in its order, those that hold first; nothing where
    /// there is no queue.
    pub fn queue(&self) -> impl Iterator<Item = KeyView<'a>> + use<'a> {
        let (facts, family, layout) = (self.facts, self.family(), self.layout());
        let group = match self.lock.made {
            Made::Of(group) if layout.has_queue() => facts.group(group),
            _ => None,
        };
        let places = group.into_iter().flat_map(move |group| group.queue(layout));
        places.filter_map(move |place| key_at(facts, family, place))
    }

    /// All holders, oldest first. Readers of a read-write lock hold together; a registration
    /// is "held" by everyone registered.
    pub fn holders(&self) -> Box<dyn Iterator<Item = KeyView<'a>> + 'a> {
        let (facts, family) = (self.facts, self.family());
        let layout = self.layout();
        match self.lock.made {
            Made::Of(group) => {
                let Some(group) = facts.group(group) else { return Box::new(std::iter::empty()) };
                Box::new(group.holders(layout, facts.keyspace()).filter_map(move |place| key_at(facts, family, place)))
            }
            Made::Alone(key) => {
                let entry = key.and_then(|ix| facts.keyspace().get(ix));
                let held = entry.filter(|entry| !is_released(self.lock.recognised, entry));
                Box::new(held.map(|entry| KeyView { facts, entry, family }).into_iter())
            }
        }
    }

    /// How many hold it.
    pub fn holder_count(&self) -> usize {
        match (self.layout(), self.lock.made) {
            (Layout::Queue | Layout::Election, Made::Of(group)) => {
                self.facts.group(group).map_or(0, |group| group.queue_len(self.layout()).min(1))
            }
            (Layout::RwLock, _) | (_, Made::Alone(_)) => self.holders().count(),
            (_, Made::Of(group)) => self.facts.group(group).map_or(0, |group| group.members.len()),
        }
    }

    /// How many wait with a key of their own; those that only watch leave no trace in etcd.
    pub fn waiter_count(&self) -> usize {
        match self.lock.made {
            Made::Of(group) if self.layout().has_queue() => {
                let queued = self.facts.group(group).map_or(0, |group| group.queue_len(self.layout()));
                queued.saturating_sub(self.holder_count())
            }
            _ => 0,
        }
    }

    /// Whether keys of another kind stand in its queue.
    pub fn has_foreign(&self) -> bool {
        let Made::Of(group) = self.lock.made else { return false };
        self.facts.group(group).is_some_and(|group| group.queue_len(self.layout()) > group.members.len())
    }

    /// The keys of another kind that stand in its queue, oldest first.
    pub fn foreign(&self) -> impl Iterator<Item = KeyView<'a>> + use<'a> {
        let (facts, family) = (self.facts, self.family());
        let group = match self.lock.made {
            Made::Of(group) if self.has_foreign() => facts.group(group),
            _ => None,
        };
        let keys = group.into_iter().flat_map(Group::foreign);
        keys.filter_map(move |place| key_at(facts, family, place))
    }

    /// Its keys whose lease was taken off them by a put without one, oldest first.
    pub fn detached(&self) -> impl Iterator<Item = KeyView<'a>> + use<'a> {
        let alone = match self.lock.made {
            Made::Alone(_) => self.holder(),
            Made::Of(_) => None,
        };
        let any = match self.lock.made {
            Made::Of(group) => self.facts.group(group).is_some_and(|group| group.detached() > 0),
            Made::Alone(_) => false,
        };
        let queued = any.then(|| self.queue()).into_iter().flatten();
        alone.into_iter().chain(queued).filter(KeyView::is_detached)
    }

    /// Whether its holders are to have leases of etcd. A Kubernetes lease carries its time in its
    /// value, and what is no lock is held by nobody.
    pub fn has_etcd_leases(&self) -> bool {
        self.layout().is_lock() && self.layout() != Layout::KubernetesLease
    }

    /// Those that wait, in their order.
    pub fn waiters(&self) -> Box<dyn Iterator<Item = Waiter<'a>> + 'a> {
        let (facts, family, layout) = (self.facts, self.family(), self.layout());
        let group = match self.lock.made {
            Made::Of(group) if layout.has_queue() => facts.group(group),
            _ => None,
        };
        let Some(group) = group else { return Box::new(std::iter::empty()) };
        let skip = self.holder_count();
        let mut previous = Revision(0);
        let mut last_writer = Revision(0);
        let places = group.queue(layout).filter_map(move |place| {
            let key = key_at(facts, family, place)?;
            let created = key.entry.create_revision;
            let reads = layout == Layout::RwLock && key.entry.placed.shape == Shape::Read;
            // A reader waits for the last older writer, everyone else for the one before.
            let waits_for = if reads { last_writer } else { previous };
            previous = created;
            if !reads {
                last_writer = created;
            }
            Some((waits_for, key))
        });
        Box::new(places.skip(skip).enumerate().map(|(at, (waits_for, key))| Waiter {
            position: at + 1,
            waits_for,
            key,
        }))
    }

    /// Since when the first holder holds; `None` when the lock is free.
    pub fn held_since(&self) -> Option<Since> {
        self.holder().map(|holder| self.holds_since(&holder))
    }

    /// Since when one of its holders holds it; in a queue that is later than its key.
    pub fn holds_since(&self, holder: &KeyView<'_>) -> Since {
        let open = self.history().and_then(|history| history.open(holder.entry.create_revision));
        open.and_then(|hold| hold.began).unwrap_or(holder.entry.since())
    }

    /// Whether its holder has no lease, where the recipe wants one: it never frees by itself.
    /// A Kubernetes lease carries its time in its value.
    pub fn is_leaseless(&self) -> bool {
        self.has_etcd_leases() && self.holder().is_some_and(|holder| holder.lease().is_none())
    }

    /// Whether it is known by the form of a single key only, which has no lease and lost none that
    /// was seen: nobody waits, nobody else held, and its name does not speak of a lock. Data that is
    /// named by a digest can look the same.
    pub fn is_surmised(&self) -> bool {
        let Some(holder) = self.holder() else { return false };
        holder.entry.placed.shape == Shape::LeaseDetached
            && holder.entry.lost_lease().is_none()
            && self.waiter_count() == 0
            && self.holds().all(|hold| hold.create_revision == holder.entry.create_revision)
            && is_surmised(self.name(), &holder.entry.facts())
    }

    /// How many of a lease id's last digits tell all known leases apart.
    pub const fn digits(&self) -> usize {
        self.facts.leases.digits()
    }

    /// Whether a lease leads to it: one of its keys has one. Locks that none leads to are found
    /// by those only who read their prefix.
    pub fn has_any_lease(&self) -> bool {
        let leased = |key: KeyView<'_>| !key.lease().is_none();
        self.queue().any(leased) || self.holders().any(leased)
    }

    /// Whether all keys there are were read, so that nothing has to lead to a lock.
    pub fn is_everything_read(&self) -> bool {
        self.facts.link.scope.iter().any(|range| range.covers(&KeyRange::prefix(b"")))
    }

    /// Since when nobody holds it.
    pub const fn free_since(&self) -> Option<Timestamp> {
        self.lock.free_since
    }

    /// Whether it belongs on a list of locks: it has keys, or had some a short while ago.
    pub fn is_listed(&self) -> bool {
        let is_long_free = self.free_since().is_some_and(|since| self.now().since(since) >= LISTED_FREE);
        !is_long_free || self.holder_count() > 0 || self.waiter_count() > 0 || self.key().is_some()
    }

    /// The time at which it is looked at: that of the newest event or tick.
    pub const fn now(&self) -> Timestamp {
        self.facts.now()
    }

    /// Up to when the cluster told what is known of it.
    pub fn told_until(&self) -> Timestamp {
        self.facts.told_until()
    }

    /// The key that it is, where it is one key: that of a Kubernetes lease is there also while
    /// nobody holds it.
    pub fn key(&self) -> Option<KeyView<'a>> {
        let (facts, family) = (self.facts, self.family());
        match self.lock.made {
            Made::Alone(key) => {
                key.and_then(|ix| facts.keyspace().get(ix)).map(|entry| KeyView { facts, entry, family })
            }
            Made::Of(_) => None,
        }
    }

    /// What was seen of it; `None` before the first change.
    pub fn history(&self) -> Option<&'a History> {
        self.lock.history.as_deref()
    }

    /// The remembered holds, oldest first.
    pub fn holds(&self) -> impl DoubleEndedIterator<Item = &'a Hold> {
        self.history().into_iter().flat_map(History::holds)
    }

    /// Handovers in the buckets of the last ten minutes, oldest first.
    pub fn handovers(&self) -> [u32; Handovers::BUCKETS] {
        self.history().map_or([0; Handovers::BUCKETS], |history| history.handovers.buckets(self.facts.now()))
    }

    /// How long finished holds lasted, in rising order.
    pub fn hold_times(&self) -> Vec<Millis> {
        let length = |hold: &Hold| Some(hold.ended?.at? - hold.began.filter(|began| began.exact)?.at);
        sorted(self.holds().filter_map(length))
    }

    /// How long holders waited, in rising order.
    pub fn wait_times(&self) -> Vec<Millis> {
        sorted(self.holds().filter_map(|hold| hold.waited))
    }
}

/// A Kubernetes lease object stays when it is released; its holder is empty then.
pub(super) fn is_released(recognised: Recognised, entry: &Entry) -> bool {
    recognised.layout == Layout::KubernetesLease && decode(&entry.facts(), recognised.family).owner.is_none()
}

fn sorted(times: impl Iterator<Item = Millis>) -> Vec<Millis> {
    let mut times: Vec<Millis> = times.collect();
    times.sort_unstable();
    times
}

fn key_at(facts: &Facts, family: Family, (_, ix): Place) -> Option<KeyView<'_>> {
    facts.keyspace().get(ix).map(|entry| KeyView { facts, entry, family })
}

impl<'a> KeyView<'a> {
    /// The entry itself: key, revisions, lease, value.
    pub const fn entry(&self) -> &'a Entry {
        self.entry
    }

    /// The key.
    pub fn key(&self) -> &'a [u8] {
        &self.entry.key
    }

    /// Its lease.
    pub const fn lease(&self) -> LeaseId {
        self.entry.lease()
    }

    /// The fencing token it gives its client when it holds: its create_revision.
    pub const fn token(&self) -> Revision {
        self.entry.create_revision
    }

    /// How much time its lease has.
    pub fn ttl(&self) -> TtlState {
        self.facts.leases().ttl(self.entry.lease(), self.facts.now())
    }

    /// Whether its lease is kept alive.
    pub fn renewal(&self) -> Renewal {
        self.facts.leases().renewal(self.entry.lease(), self.facts.now())
    }

    /// Whether its lease was kept alive when it was asked last, however long ago that is. Keys of
    /// leases that end go, so whoever was alive then and has its key is, while the cluster is heard.
    pub fn was_alive(&self) -> bool {
        let asked = self.facts.leases().polled_at(self.entry.lease());
        asked.is_some_and(|at| matches!(self.facts.leases().renewal(self.entry.lease(), at), Renewal::Renewed { .. }))
    }

    /// What the last poll of its lease showed, where that says nothing of now.
    pub fn stale(&self) -> Option<Stale> {
        self.facts.leases().stale(self.entry.lease(), self.facts.now())
    }

    /// Whether its lease was ever seen to be renewed.
    pub fn was_renewed(&self) -> bool {
        self.facts.leases().was_renewed(self.entry.lease())
    }

    /// Since when its lease is not renewed, by the polls: up to a second early. `None` when it is
    /// not known to be so.
    pub fn unrenewed_since(&self) -> Option<Since> {
        match self.renewal() {
            Renewal::NotRenewed { since } => Some(Since { at: self.facts.now() - since, exact: false }),
            Renewal::Unknown | Renewal::Renewed { .. } => None,
        }
    }

    /// Since when it is there.
    pub const fn since(&self) -> Since {
        self.entry.since()
    }

    /// What its value says of its client.
    pub fn decoded(&self) -> Decoded {
        decode(&self.entry.facts(), self.family)
    }

    /// The name that its value gives its client. A key of another kind in a queue has no client
    /// there, whatever its value says.
    pub fn owner(&self) -> Option<String> {
        if self.is_foreign_key() { None } else { self.decoded().owner.filter(|owner| !owner.is_empty()) }
    }

    /// Whether it is a foreign key: in the queue of a lock whose recipe it does not follow.
    fn is_foreign_key(&self) -> bool {
        let lock = self.facts.group(self.entry.group).and_then(|group| self.facts.lock(group.lock?));
        lock.is_some_and(|lock| self.is_foreign(lock.layout()) && lock.has_foreign())
    }

    /// Whether a put without a lease took the lease off it that it had.
    pub fn is_detached(&self) -> bool {
        self.entry.is_detached()
    }

    /// The lease that a put without one was seen to take off it.
    pub fn lost_lease(&self) -> Option<LeaseId> {
        Some(self.entry.lost_lease()).filter(|lease| !lease.is_none())
    }

    /// How much time its lease was granted, once it was asked.
    pub fn granted(&self) -> Option<Millis> {
        self.facts.leases().granted(self.entry.lease())
    }

    /// Whether it stands in a queue that it is not shaped for: any key under a lock's name
    /// queues with its members.
    pub fn is_foreign(&self, in_layout: Layout) -> bool {
        // A member that is named by no lease cannot be told from others once its own is off.
        let bare_member = self.entry.lease().is_none() && has_member_form(&self.entry.key, self.entry.value_len);
        let own = self.entry.placed.shape.is_member() || !self.entry.lost_lease().is_none() || bare_member;
        in_layout.has_queue() && !own
    }
}

impl<'a> LeaseView<'a> {
    /// How much time it has.
    pub fn ttl(&self) -> TtlState {
        self.facts.leases().ttl(self.id, self.facts.now())
    }

    /// Whether it is kept alive.
    pub fn renewal(&self) -> Renewal {
        self.facts.leases().renewal(self.id, self.facts.now())
    }

    /// What the last poll of it showed, where that says nothing of now.
    pub fn stale(&self) -> Option<Stale> {
        self.facts.leases().stale(self.id, self.facts.now())
    }

    /// How many known keys hang on it. Unlike the keys themselves, which have to be sorted,
    /// their number costs nothing.
    pub fn key_count(&self) -> usize {
        self.facts.leases().key_count(self.id)
    }

    /// Whether so many keys hang on it that what each of them does is not looked up for a frame.
    pub fn is_large(&self) -> bool {
        self.key_count() > LARGE_LEASE
    }

    /// One of the known keys that hang on it; unlike the first by name it costs nothing.
    pub fn any_key(&self) -> Option<KeyView<'a>> {
        self.entries().next().map(|entry| self.key_of(entry))
    }

    /// The known keys that hang on it, in the order of their names.
    pub fn keys(&self) -> Vec<KeyView<'a>> {
        let mut keys: Vec<KeyView<'a>> = self.entries().map(|entry| self.key_of(entry)).collect();
        keys.sort_unstable_by(|a, b| a.entry.key.cmp(&b.entry.key));
        keys
    }

    /// The locks its keys hold.
    pub fn holds(&self) -> Vec<LockView<'a>> {
        self.locks_where(|lock, key| lock.layout().is_lock() && lock.is_held_by(key))
    }

    /// The locks its keys wait for.
    pub fn waits_for(&self) -> Vec<LockView<'a>> {
        self.locks_where(|lock, key| lock.layout().has_queue() && !lock.is_held_by(key))
    }

    /// Whether one of its keys waits for a lock.
    pub fn is_waiting(&self) -> bool {
        let mut places = self.entries().filter_map(|entry| Some((self.facts.lock_of(entry)?, entry)));
        places.any(|(lock, entry)| lock.layout().has_queue() && lock.waiter_count() > 0 && !lock.is_held_by(entry))
    }

    fn entries(&self) -> impl Iterator<Item = &'a Entry> + use<'a> {
        let facts = self.facts;
        facts.leases().keys(self.id).filter_map(|ix| facts.keyspace().get(ix))
    }

    fn key_of(&self, entry: &'a Entry) -> KeyView<'a> {
        KeyView { facts: self.facts, entry, family: self.facts.family_of(entry) }
    }

    fn locks_where(&self, which: impl Fn(&LockView<'a>, &Entry) -> bool) -> Vec<LockView<'a>> {
        let mut locks: Vec<LockView<'a>> = self
            .keys()
            .into_iter()
            .filter_map(|key| self.facts.lock_of(key.entry).filter(|lock| which(lock, key.entry)))
            .collect();
        locks.dedup_by_key(|lock| lock.ix);
        locks
    }
}

impl LockView<'_> {
    fn is_held_by(&self, entry: &Entry) -> bool {
        match self.lock.made {
            Made::Alone(_) => self.holder().is_some(),
            Made::Of(_) => self.holders().any(|holder| holder.entry.key == entry.key),
        }
    }
}
