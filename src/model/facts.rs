//! Everything that is known of the cluster.
//!
//! The parts refer to each other by index: a key to its group, a group to the lock its
//! members form, a lease to its keys. How facts change is in `intake`; here is what they are
//! and how to read them.

use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};

use crate::domain::play::PlayPicture;
use crate::domain::raft::RaftPicture;
use crate::domain::{Key, KeyRange, LeaseId, Millis, Revision, Term, Timestamp};
use crate::event::LeasePollCost;
use crate::layout::{Family, Layout};

use super::cluster::Cluster;
use super::fill::Fill;
use super::group::{Group, GroupIx};
use super::keyspace::{Entry, Keyspace};
use super::lease::Leases;
use super::link::Link;
use super::lock::{Lock, LockIx, Made};
use super::look::{KeyView, LeaseView, LockView};
use super::named::{HasName, Named};
use super::pending::Pending;
use super::play::Play;
use super::poll_plan::PollPlan;
use super::raft::{Difference, difference};
use super::rebuilt::Rebuilt;
use super::timeline::Timeline;

/// A lock without keys is listed for so long after it was freed; what was seen of it is kept for
/// longer.
pub(super) const LISTED_FREE: Millis = Millis(60_000);

/// What is known.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The connection and how much can be seen through it.
    pub link: Link,
    /// The members and who leads.
    pub cluster: Cluster,
    /// What happened, as it was seen.
    pub timeline: Timeline,
    /// What goes on inside the embedded cluster; a real etcd does not tell.
    pub raft: Option<Box<RaftPicture>>,
    /// The run of simulated clients, where there is one.
    pub play: Option<Box<Play>>,
    /// The past of the lock that was opened last.
    pub(super) rebuilt: Option<Box<Rebuilt>>,
    /// What happened in gaps that were filled, while no fill has it.
    pub(super) past: Timeline,
    /// The fill that is under way.
    pub(super) fill: Option<Box<Fill>>,
    /// When that last differed from the picture before in anything that can be seen.
    pub(super) raft_moved: Option<Timestamp>,
    /// When it last differed in more than what moves by itself.
    pub(super) raft_changed: Option<Timestamp>,
    /// When the run of simulated clients last differed from the picture before.
    pub(super) play_moved: Option<Timestamp>,
    /// When something last happened in it.
    pub(super) play_changed: Option<Timestamp>,
    /// Which leases are asked when.
    pub(super) plan: PollPlan,
    pub(super) now: Timestamp,
    /// When the cluster told something last.
    pub(super) heard: Timestamp,
    pub(super) version: u64,
    pub(super) keys_version: u64,
    /// Grows when more becomes known of what happened to locks although no key changed.
    pub(super) histories: u64,
    pub(super) keys: Keyspace,
    pub(super) groups: Named<Group>,
    pub(super) locks: Named<Lock>,
    pub(super) leases: Leases,
    pub(super) pending: Pending,
    pub(super) listing: Listing,
    /// The group the last key belonged to.
    pub(super) recent_group: GroupIx,
    /// Groups whose members changed since the last settling.
    pub(super) dirty: Vec<GroupIx>,
    /// Locks whose first holder had no lease when they were settled last.
    pub(super) leaseless: BTreeSet<LockIx>,
    /// Free locks, the longest free first, so that the number remembered stays bounded.
    pub(super) freed: VecDeque<(Timestamp, LockIx)>,
}

/// Full reads that are under way or were done.
#[derive(Clone, Debug, Default)]
pub(super) struct Listing {
    pub generation: u32,
    /// The parts of the range that is being read which were read before.
    pub read_before: Vec<KeyRange>,
    /// The ranges that were read at least once.
    pub done: Vec<KeyRange>,
    /// The revision seen before the watch was lost, until the next full read marks the gap.
    pub gap_from: Option<Revision>,
}

impl Listing {
    /// A full read of `range` begins.
    pub fn begin(&mut self, range: &KeyRange) {
        self.generation += 1;
        self.read_before = self.done.iter().filter(|done| done.overlaps(range)).cloned().collect();
    }

    /// It is complete.
    pub fn end(&mut self, range: KeyRange) {
        self.read_before.clear();
        self.done.retain(|done| !range.covers(done));
        self.done.push(range);
    }
}

impl HasName for Group {
    fn name(&self) -> &[u8] {
        &self.name
    }
}

impl HasName for Lock {
    fn name(&self) -> &[u8] {
        &self.name
    }
}

/// Who leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lead<'a> {
    /// The leader's name, as the cluster has it; `None` when nobody leads.
    pub name: Option<Cow<'a, str>>,
    /// The newest term.
    pub term: Term,
}

impl Facts {
    /// Nothing known yet; leases are polled within `ttl_budget` a second.
    pub fn new(ttl_budget: u32) -> Self {
        Self { plan: PollPlan::new(ttl_budget), ..Self::default() }
    }

    /// The time of the newest event or tick.
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// Up to when the cluster told what is known: now, and while nothing of it can be reached the time
    /// at which it was heard of last. What lasts, lasts as long as that for all anybody knows.
    pub fn told_until(&self) -> Timestamp {
        if self.link.lost_since.is_some() { self.heard.min(self.now) } else { self.now }
    }

    /// Notes that the cluster told something at this time.
    pub(crate) fn hear(&mut self, at: Timestamp) {
        self.heard = self.heard.max(at);
    }

    /// A number that grows with every change of what is known, apart from how fast members
    /// answer; equal means nothing else changed.
    pub const fn version(&self) -> u64 {
        self.version
    }

    /// A number that grows when keys came, changed or went. Polls of leases and members leave
    /// it alone, so what depends on keys only need not be made anew for them.
    pub const fn keys_version(&self) -> u64 {
        self.keys_version
    }

    /// The newest revision that anything told: what was read, or a member of itself; 0 when nothing
    /// did.
    pub fn newest_revision(&self) -> Revision {
        let told = self.cluster.members().iter().filter_map(|member| member.status.as_ref());
        told.map(|status| status.revision).chain([self.link.revision]).max().unwrap_or_default()
    }

    /// How many locks and groups of leased keys are known, whatever their layout.
    pub fn lock_count(&self) -> usize {
        self.locks.len()
    }

    /// All of them, in no order that means anything. A key that stands in a lock's queue is
    /// part of that lock and not listed again by itself.
    pub fn locks(&self) -> impl Iterator<Item = LockView<'_>> {
        let views = self.locks.iter().map(|(at, lock)| LockView { facts: self, ix: LockIx(at), lock });
        views.filter(|view| !self.queues_elsewhere(view.lock))
    }

    fn queues_elsewhere(&self, lock: &Lock) -> bool {
        let Made::Alone(Some(key)) = lock.made else { return false };
        let group = self.keys.get(key).and_then(|entry| self.group(entry.group)).filter(|group| !group.name.is_empty());
        let queue = group.and_then(|group| group.lock).and_then(|queue| self.locks.get(queue.0));
        queue.is_some_and(|queue| matches!(queue.recognised.layout, Layout::Queue | Layout::Election))
    }

    /// The lock at an index of these facts.
    pub fn lock(&self, ix: LockIx) -> Option<LockView<'_>> {
        self.locks.get(ix.0).map(|lock| LockView { facts: self, ix, lock })
    }

    /// The lock with this name. A queue goes before a single key of the same name.
    pub fn lock_named(&self, name: &[u8]) -> Option<LockView<'_>> {
        let queue = self.locks.find_where(name, |lock| matches!(lock.made, Made::Of(_)));
        self.lock(LockIx(queue.or_else(|| self.locks.find(name))?))
    }

    /// Queues and single-key locks that are held by a key without a lease: they never free
    /// by themselves. In no order that means anything.
    pub fn leaseless(&self) -> impl Iterator<Item = LockView<'_>> {
        self.leaseless.iter().filter_map(|&ix| self.lock(ix)).filter(super::look::LockView::is_leaseless)
    }

    /// The lock a key is part of, as a member, by itself, or as a foreign key in a queue.
    pub fn lock_of(&self, entry: &Entry) -> Option<LockView<'_>> {
        self.lock(self.lock_ix_of(entry)?)
    }

    /// A key by its name.
    pub fn key(&self, key: &[u8]) -> Option<KeyView<'_>> {
        let entry = self.keys.get(self.keys.find(key)?)?;
        Some(KeyView { facts: self, entry, family: self.family_of(entry) })
    }

    /// All known keys.
    pub const fn keyspace(&self) -> &Keyspace {
        &self.keys
    }

    /// All known leases.
    pub const fn leases(&self) -> &Leases {
        &self.leases
    }

    /// One lease with its keys; `None` when it is not known.
    pub fn lease(&self, id: LeaseId) -> Option<LeaseView<'_>> {
        self.leases.contains(id).then_some(LeaseView { facts: self, id })
    }

    /// How many leases a second are polled at present.
    pub const fn poll_rate(&self) -> u32 {
        self.plan.allowed()
    }

    /// When the facts want a tick: a poll is due, or an open cause waited long enough.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        // Nothing can be polled without a connection.
        let poll = if self.link.is_live() { self.plan.next_at(&self.leases) } else { None };
        poll.into_iter().chain(self.pending.deadline()).min()
    }

    /// Notes the time of an event; time never runs backwards in the model.
    pub(crate) fn see_time(&mut self, at: Timestamp) {
        let before = self.now;
        self.now = before.max(at);
        let unlisted = |now: Timestamp| self.freed.partition_point(|&(freed, _)| now.since(freed) >= LISTED_FREE);
        if self.now > before && unlisted(self.now) > unlisted(before) {
            self.bump_keys();
            self.bump();
        }
    }

    /// Notes that keys changed.
    pub(crate) const fn bump_keys(&mut self) {
        self.keys_version += 1;
    }

    /// Notes that something changed.
    pub(crate) const fn bump(&mut self) {
        self.version += 1;
    }

    /// Lets time pass; returns the leases to ask now.
    pub(crate) fn pass_time(&mut self, now: Timestamp, visible: &[LeaseId]) -> Vec<LeaseId> {
        self.see_time(now);
        self.give_up_on_causes(now);
        self.leases.sweep(now);
        if self.link.is_live() { self.plan.due(now, &self.leases, visible) } else { Vec::new() }
    }

    /// Asks leases in bursts that are this far apart.
    pub(crate) const fn poll_every(&mut self, period: Millis) {
        self.plan.set_period(period);
    }

    /// Who leads, and in which term; `None` while nobody has told.
    ///
    /// The picture of an embedded cluster goes first: what members were asked is older.
    pub fn lead(&self) -> Option<Lead<'_>> {
        if let Some(picture) = &self.raft {
            let name = super::raft::leader(picture).map(|node| node.id.to_string().into());
            let term = super::raft::term(picture);
            // Before the first election nobody could lead.
            return (term > Term::default()).then_some(Lead { name, term });
        }
        let known = self.cluster.members().iter().any(|member| member.status.is_some());
        let name = self.cluster.leader_facts().map(|leader| leader.member.name.as_str().into());
        known.then(|| Lead { name, term: self.cluster.term() })
    }

    /// Takes in what a burst of polls cost.
    pub(crate) fn take_poll_cost(&mut self, cost: LeasePollCost) {
        self.plan.adapt(cost);
    }

    /// Takes in a picture of the embedded cluster. Returns whether it says something that every
    /// screen shows; what only the Raft screen does is noted with its time, so that no other
    /// screen is drawn anew for it.
    pub(crate) fn take_picture(&mut self, picture: Box<RaftPicture>) -> bool {
        let difference = self.raft.as_deref().map_or(Difference::Clock, |before| difference(before, &picture));
        self.raft = Some(picture);
        if difference > Difference::Nothing {
            self.raft_moved = Some(self.now);
        }
        if difference > Difference::Motion {
            self.raft_changed = Some(self.now);
        }
        difference == Difference::Clock
    }

    /// Takes in a picture of the simulated clients. Returns whether it says something that every
    /// screen shows: that there are any.
    pub(crate) fn take_play(&mut self, picture: PlayPicture) -> bool {
        let is_first = self.play.is_none();
        let play = self.play.get_or_insert_default();
        if is_first || play.now() != picture.now {
            self.play_moved = Some(self.now);
        }
        if is_first || !picture.moments.is_empty() {
            self.play_changed = Some(self.now);
        }
        play.take(picture);
        is_first
    }

    /// Takes note of what is over: it needs no attention any more. The history keeps it. Whether there
    /// was anything.
    pub(crate) fn dismiss(&mut self) -> bool {
        let was_told = self.link.new_gaps() > 0 || self.link.replaced_cluster.is_some();
        self.link.noted_gaps = self.link.gaps;
        self.link.replaced_cluster = None;
        self.bump();
        was_told
    }

    /// Notes what is watched from now on.
    pub(crate) fn set_scope(&mut self, ranges: Vec<KeyRange>) {
        self.listing.done.retain(|done| ranges.iter().any(|range| range.overlaps(done)));
        self.link.scope = ranges;
    }

    /// Notes whether every range that may be read was read.
    pub(crate) fn note_listed(&mut self) {
        let seen =
            |range| self.listing.done.contains(range) || self.link.denied.iter().any(|denied| &denied.range == range);
        self.link.listed = self.link.listed || self.link.scope.iter().all(seen);
    }

    pub(super) fn group(&self, ix: GroupIx) -> Option<&Group> {
        self.groups.get(ix.0)
    }

    /// The family a key belongs to, for decoding its value.
    pub(super) fn family_of(&self, entry: &Entry) -> Family {
        self.lock_ix_of(entry).and_then(|ix| self.locks.get(ix.0)).map_or("", |lock| lock.recognised.family)
    }

    pub(super) fn lock_ix_of(&self, entry: &Entry) -> Option<LockIx> {
        let of_group = || self.group(entry.group)?.lock;
        if entry.placed.shape.is_member() {
            return of_group();
        }
        self.alone(&entry.key).or_else(of_group)
    }

    /// The lock that is one key of this name.
    pub(super) fn alone(&self, name: &Key) -> Option<LockIx> {
        self.locks.find_where(name, |lock| matches!(lock.made, Made::Alone(_))).map(LockIx)
    }
}
