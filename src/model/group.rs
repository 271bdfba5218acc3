//! The keys that share a parent: the members of a queue and whatever else lies among them.
//!
//! Counters follow every change, so that saying which recipe a group follows costs the same
//! for two members as for a hundred thousand.

use crate::domain::{Key, Revision};
use crate::layout::{
    Layout, MANY, QueueFacts, Recognised, Shape, Signs, ValueKind, looks_like_digest, recognise_queue,
};

use super::few::Few;
use super::keyspace::{Entry, KeyIx, Keyspace};
use super::lock::LockIx;

/// Where a group lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupIx(pub(super) u32);

impl Default for GroupIx {
    fn default() -> Self {
        Self::NOWHERE
    }
}

impl GroupIx {
    /// No group yet.
    pub(super) const NOWHERE: Self = Self(u32::MAX);
}

/// A place in a queue: ordered by create_revision.
pub(super) type Place = (Revision, KeyIx);

/// The keys of one parent.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub name: Key,
    /// Keys shaped as members of a queue.
    pub members: Few<Place>,
    /// Keys that stand alone and have a lease.
    pub leased: Few<Place>,
    /// Keys that stand alone and have none.
    pub bare: Few<Place>,
    /// Those of `leased` that have an empty value.
    pub empty_leased: Few<Place>,
    /// The lock that the members form.
    pub lock: Option<LockIx>,
    /// What it was recognised by.
    basis: Option<Basis>,
    counts: Counts,
    /// Whether something changed since the lock was settled.
    pub dirty: bool,
    /// Keys that came since then.
    pub arrivals: Vec<KeyIx>,
}

/// What the rules see of a group that does not go with its name: the put of the first member,
/// and the signs of them all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Basis {
    first: KeyIx,
    put: Revision,
    signs: Signs,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    detached: u32,
    empty: u32,
    json: u32,
    json_with_lease: u32,
    addresses: u32,
    digests: u32,
}

impl Group {
    pub fn new(name: Key) -> Self {
        Self {
            name,
            members: Few::None,
            leased: Few::None,
            bare: Few::None,
            empty_leased: Few::None,
            lock: None,
            basis: None,
            counts: Counts::default(),
            dirty: false,
            arrivals: Vec::new(),
        }
    }

    /// Whether nothing refers to the group any more.
    pub fn is_vacant(&self) -> bool {
        self.lock.is_none() && self.members.is_empty() && self.leased.is_empty() && self.bare.is_empty()
    }

    pub fn add(&mut self, ix: KeyIx, entry: &Entry) {
        let place = (entry.create_revision, ix);
        self.counts.detached += u32::from(entry.is_detached());
        if entry.placed.shape.is_member() {
            self.members.insert(place);
            self.count(entry, |counter| *counter += 1);
        } else if entry.lease().is_none() {
            self.bare.insert(place);
            self.counts.digests += u32::from(looks_like_digest(&entry.key));
        } else {
            self.leased.insert(place);
            if entry.placed.value == ValueKind::Empty {
                self.empty_leased.insert(place);
            }
        }
    }

    pub fn remove(&mut self, ix: KeyIx, entry: &Entry) {
        let place = (entry.create_revision, ix);
        self.counts.detached -= u32::from(entry.is_detached());
        if entry.placed.shape.is_member() {
            self.members.remove(&place);
            self.count(entry, |counter| *counter -= 1);
        } else if entry.lease().is_none() {
            self.bare.remove(&place);
            self.counts.digests -= u32::from(looks_like_digest(&entry.key));
        } else {
            self.leased.remove(&place);
            self.empty_leased.remove(&place);
        }
    }

    /// The keys for which one leased sibling more or less can make a difference: counting
    /// stops at [`MANY`], so beyond that there are none.
    pub fn sensitive(&self) -> Vec<KeyIx> {
        let few = |set: &Few<Place>| set.len() <= MANY as usize + 1;
        let set = if few(&self.leased) {
            &self.leased
        } else if few(&self.empty_leased) {
            &self.empty_leased
        } else {
            &Few::None
        };
        set.iter().map(|(_, ix)| ix).collect()
    }

    /// Says which recipe the members follow; `None` without members. What it was `known` as
    /// stands while all that the rules see is as it was: they are many, and a queue grows and
    /// shrinks all the time.
    pub fn recognise(&mut self, keys: &Keyspace, known: Option<Recognised>) -> Option<Recognised> {
        let (_, first_ix) = self.members.first()?;
        let first = keys.get(first_ix)?;
        let last = keys.get(self.members.last()?.1)?;
        let facts = QueueFacts {
            name: &self.name,
            first: first.facts(),
            first_placed: first.placed,
            first_created: first.create_revision,
            last: last.facts(),
            last_placed: last.placed,
            members: u32::try_from(self.members.len()).unwrap_or(u32::MAX),
            empty: self.counts.empty,
            json: self.counts.json,
            json_with_lease: self.counts.json_with_lease,
            addresses: self.counts.addresses,
            digests: self.counts.digests,
        };
        let basis = Some(Basis { first: first_ix, put: first.mod_revision, signs: facts.signs() });
        let recognised = known.filter(|_| self.basis == basis).unwrap_or_else(|| recognise_queue(&facts));
        self.basis = basis;
        Some(recognised)
    }

    /// The oldest place in the queue of this layout.
    pub fn front(&self, layout: Layout) -> Option<Place> {
        let (leased, bare) =
            if self.foreign_queue(layout) { (self.leased.first(), self.bare.first()) } else { (None, None) };
        self.members.first().into_iter().chain(leased).chain(bare).min()
    }

    /// Everything that stands in the queue of this layout, oldest first.
    ///
    /// A recipe that ranges over `<name>/` sees every key there, so a key of another kind
    /// among the members queues with them and can block them. The read-write recipe ranges
    /// over its own two folders only.
    pub fn queue(&self, layout: Layout) -> impl Iterator<Item = Place> {
        let (leased, bare) =
            if self.foreign_queue(layout) { (&self.leased, &self.bare) } else { (&Few::None, &Few::None) };
        merge(self.members.iter(), merge(leased.iter(), bare.iter()))
    }

    /// How many keys stand in the queue of this layout.
    pub fn queue_len(&self, layout: Layout) -> usize {
        self.members.len() + if self.foreign_queue(layout) { self.leased.len() + self.bare.len() } else { 0 }
    }

    /// The keys that are no members, oldest first.
    pub fn foreign(&self) -> impl Iterator<Item = Place> {
        merge(self.leased.iter(), self.bare.iter())
    }

    /// Whether keys of another kind queue with the members. Where no member was ever seen there
    /// is no queue, only a folder; where one was, whatever is left blocks the next.
    fn foreign_queue(&self, layout: Layout) -> bool {
        matches!(layout, Layout::Queue | Layout::Election) && !self.name.is_empty() && self.lock.is_some()
    }

    /// How many keys had a lease that a later put took off them.
    pub const fn detached(&self) -> u32 {
        self.counts.detached
    }

    /// The places that hold a lock of this layout.
    pub fn holders<'a>(&'a self, layout: Layout, keys: &'a Keyspace) -> impl Iterator<Item = Place> + 'a {
        let one = matches!(layout, Layout::Queue | Layout::Election);
        let front = one.then(|| self.front(layout)).flatten();
        let all = (!one).then(|| holding(self.members.iter(), layout, keys));
        front.into_iter().chain(all.into_iter().flatten())
    }

    fn count(&mut self, entry: &Entry, change: impl Fn(&mut u32)) {
        match entry.placed.value {
            ValueKind::Empty => change(&mut self.counts.empty),
            ValueKind::Json => change(&mut self.counts.json),
            ValueKind::JsonWithLease => {
                change(&mut self.counts.json);
                change(&mut self.counts.json_with_lease);
            }
            ValueKind::Address => change(&mut self.counts.addresses),
            ValueKind::UuidBytes | ValueKind::UuidText | ValueKind::Text | ValueKind::Binary => {}
        }
    }
}

/// A reader waits for the last older writer, a writer for everything older (etcd
/// `recipes/rwmutex.go`): the oldest key holds, and if it is a reader, so do the readers
/// right behind it. Where nobody queues all members hold.
fn holding<'a>(
    places: impl Iterator<Item = Place> + 'a,
    layout: Layout,
    keys: &'a Keyspace,
) -> impl Iterator<Item = Place> + 'a {
    let mut reader_leads = None;
    places.take_while(move |&(_, ix)| {
        let reads = || keys.get(ix).is_some_and(|entry| entry.placed.shape == Shape::Read);
        match reader_leads {
            _ if layout != Layout::RwLock => true,
            None => {
                reader_leads = Some(reads());
                true
            }
            Some(leads) => leads && reads(),
        }
    })
}

/// Merges two ordered runs of places.
fn merge(a: impl Iterator<Item = Place>, b: impl Iterator<Item = Place>) -> impl Iterator<Item = Place> {
    let (mut a, mut b) = (a.peekable(), b.peekable());
    std::iter::from_fn(move || match (a.peek(), b.peek()) {
        (Some(left), Some(right)) if right < left => b.next(),
        (Some(_), _) => a.next(),
        (None, _) => b.next(),
    })
}
