//! The keys that share a parent: the members of a queue and whatever else lies among them.
//!
//! Counters follow every change, so that saying which recipe a group follows costs the same
//! for two members as for a hundred thousand.

use crate::domain::{Key, Revision};
use crate::layout::{
    GroupCounts, Layout, MANY, QueueFacts, Recognised, Shape, Signs, ValueKind, looks_like_digest, recognise_queue,
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
    /// The keys that are no members, if there are any. Most groups have members alone, and of thousands
    /// of them each is looked at now and then: what is small is still in the processor's caches.
    loners: Option<Box<Loners>>,
    /// The lock that the members form.
    pub lock: Option<LockIx>,
    /// What it was recognised by.
    basis: Option<Basis>,
    counts: GroupCounts,
    /// How many keys had a lease that a later put took off them.
    detached: u32,
    /// Whether something changed since the lock was settled.
    pub dirty: bool,
    /// Keys that came since then.
    pub arrivals: Vec<KeyIx>,
}

/// Keys that stand alone.
#[derive(Clone, Debug)]
pub(super) struct Loners {
    /// Those that have a lease.
    pub leased: Few<Place>,
    /// Those that have none.
    pub bare: Few<Place>,
    /// Those of `leased` that have an empty value.
    pub empty_leased: Few<Place>,
}

impl Loners {
    const NONE: Self = Self { leased: Few::None, bare: Few::None, empty_leased: Few::None };
}

/// What a group was recognised as, and what the rules saw of it that does not go with its name: the
/// first member, and the signs of them all. It is forgotten when that member is put anew or one comes
/// before it, and when a key of another kind comes or goes: others may hold then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Basis {
    first: Place,
    signs: Signs,
    recognised: Recognised,
}

/// What the members of a group amount to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Judged {
    /// The recipe they follow.
    pub recognised: Recognised,
    /// Whether that is what they were recognised as before, with the same put of the same first member.
    pub stands: bool,
}

impl Group {
    pub fn new(name: Key) -> Self {
        Self {
            name,
            members: Few::None,
            loners: None,
            lock: None,
            basis: None,
            counts: GroupCounts::default(),
            detached: 0,
            dirty: false,
            arrivals: Vec::new(),
        }
    }

    /// Whether nothing refers to the group any more.
    pub fn is_vacant(&self) -> bool {
        self.lock.is_none() && self.members.is_empty() && self.loners.is_none()
    }

    /// The keys that are no members.
    pub fn loners(&self) -> &Loners {
        self.loners.as_deref().unwrap_or(&Loners::NONE)
    }

    pub fn add(&mut self, ix: KeyIx, entry: &Entry) {
        let place = (entry.create_revision, ix);
        if self.basis.is_some_and(|basis| !entry.placed.shape.is_member() || place < basis.first) {
            self.basis = None;
        }
        self.detached += u32::from(entry.is_detached());
        if entry.placed.shape.is_member() {
            self.members.insert(place);
            self.count(entry, |counter| *counter += 1);
            return;
        }
        let loners = self.loners.get_or_insert_with(|| Box::new(Loners::NONE));
        if entry.lease().is_none() {
            loners.bare.insert(place);
            self.counts.digests += u32::from(looks_like_digest(&entry.key));
        } else {
            loners.leased.insert(place);
            if entry.placed.value == ValueKind::Empty {
                loners.empty_leased.insert(place);
            }
        }
    }

    pub fn remove(&mut self, ix: KeyIx, entry: &Entry) {
        let place = (entry.create_revision, ix);
        // Holds are told apart by the revision alone, and one transaction can make several keys.
        let is_first = |basis: Basis| entry.create_revision == basis.first.0;
        if self.basis.is_some_and(|basis| !entry.placed.shape.is_member() || is_first(basis)) {
            self.basis = None;
        }
        self.detached -= u32::from(entry.is_detached());
        if entry.placed.shape.is_member() {
            self.members.remove(&place);
            self.count(entry, |counter| *counter -= 1);
            return;
        }
        let Some(loners) = &mut self.loners else { return };
        if entry.lease().is_none() {
            loners.bare.remove(&place);
            self.counts.digests -= u32::from(looks_like_digest(&entry.key));
        } else {
            loners.leased.remove(&place);
            loners.empty_leased.remove(&place);
        }
        if loners.leased.is_empty() && loners.bare.is_empty() {
            self.loners = None;
        }
    }

    /// The keys for which one leased sibling more or less can make a difference: counting
    /// stops at [`MANY`], so beyond that there are none.
    pub fn sensitive(&self) -> Vec<KeyIx> {
        let few = |set: &Few<Place>| set.len() <= MANY as usize + 1;
        let Loners { leased, empty_leased, .. } = self.loners();
        let set = if few(leased) {
            leased
        } else if few(empty_leased) {
            empty_leased
        } else {
            &Few::None
        };
        set.iter().map(|(_, ix)| ix).collect()
    }

    /// Says which recipe the members follow; `None` without members. What they were recognised as
    /// stands while all that the rules see is as it was: they are many, and a queue grows and
    /// shrinks all the time.
    pub fn recognise(&mut self, keys: &Keyspace) -> Option<Judged> {
        let last = keys.get(self.members.last()?.1)?.placed.shape;
        let signs = self.counts.signs(u32::try_from(self.members.len()).unwrap_or(u32::MAX), last);
        if let Some(basis) = self.basis.filter(|basis| basis.signs == signs) {
            return Some(Judged { recognised: basis.recognised, stands: true });
        }
        let place = self.members.first()?;
        let first = keys.get(place.1)?;
        let facts = QueueFacts { name: &self.name, first: first.facts(), first_placed: first.placed, signs };
        let recognised = recognise_queue(&facts);
        self.basis = Some(Basis { first: place, signs, recognised });
        Some(Judged { recognised, stands: false })
    }

    /// Whether the first member alone holds a lock of this layout, whoever else is there.
    pub const fn holds_by_first(&self, layout: Layout) -> bool {
        matches!(layout, Layout::Queue | Layout::Election) && self.loners.is_none()
    }

    /// The oldest place in the queue of this layout.
    pub fn front(&self, layout: Layout) -> Option<Place> {
        let Loners { leased, bare, .. } = self.between(layout);
        self.members.first().into_iter().chain(leased.first()).chain(bare.first()).min()
    }

    /// Everything that stands in the queue of this layout, oldest first.
    ///
    /// A recipe that ranges over `<name>/` sees every key there, so a key of another kind
    /// among the members queues with them and can block them. The read-write recipe ranges
    /// over its own two folders only.
    pub fn queue(&self, layout: Layout) -> impl Iterator<Item = Place> {
        let Loners { leased, bare, .. } = self.between(layout);
        merge(self.members.iter(), merge(leased.iter(), bare.iter()))
    }

    /// How many keys stand in the queue of this layout.
    pub fn queue_len(&self, layout: Layout) -> usize {
        let Loners { leased, bare, .. } = self.between(layout);
        self.members.len() + leased.len() + bare.len()
    }

    /// The keys that are no members, oldest first.
    pub fn foreign(&self) -> impl Iterator<Item = Place> {
        merge(self.loners().leased.iter(), self.loners().bare.iter())
    }

    /// The keys of another kind that queue with the members. Where no member was ever seen there is
    /// no queue, only a folder; where one was, whatever is left blocks the next.
    fn between(&self, layout: Layout) -> &Loners {
        let queue = matches!(layout, Layout::Queue | Layout::Election) && !self.name.is_empty();
        if queue && self.lock.is_some() { self.loners() } else { &Loners::NONE }
    }

    /// How many keys had a lease that a later put took off them.
    pub const fn detached(&self) -> u32 {
        self.detached
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
