//! The keys that are known, each once, found by name in constant time.
//!
//! A hundred thousand keys have to fit in a few tens of megabytes and one event has to cost
//! the same whether there are a thousand or a hundred thousand, so entries live in one slab
//! and everything else refers to them by index.

use std::ops::Deref;

use crate::domain::{Key, KeyRange, KeyValue, LeaseId, Revision, Timestamp};
use crate::layout::{KeyFacts, Placement, Shape, place};

use super::group::GroupIx;
use super::lock::Since;
use super::named::{HasName, Named, Slot, Vacancy};

/// How many bytes of a value are kept: enough for everything that is decoded.
const KEPT_VALUE: usize = 4_096;

/// Where an entry lives; meaningless once it was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyIx(u32);

/// A key as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: Key,
    /// The value's first bytes; little or nothing of it is kept for plain data.
    pub value: Kept,
    /// How long the whole value is, in bytes.
    pub value_len: u32,
    /// The revision that created the key.
    pub create_revision: Revision,
    /// The revision of the last put.
    pub mod_revision: Revision,
    /// How many puts since it was created.
    pub version: i64,
    /// What its name and value say.
    pub placed: Placement,
    /// Its lease, or the one it lost.
    hung_on: LeaseId,
    /// Whether a put without a lease was seen to take that one off it.
    detached: bool,
    seen_at: Timestamp,
    /// Whether it was seen to come then.
    came_then: bool,
    pub(super) group: GroupIx,
    pub(super) generation: u32,
}

impl Entry {
    pub(super) fn new(kv: KeyValue, since: Since, generation: u32) -> Self {
        let placed = place(&KeyFacts { key: &kv.key, value: &kv.value, lease: kv.lease, version: kv.version });
        let mut entry = Self {
            key: kv.key,
            value: Kept::default(),
            value_len: u32::try_from(kv.value.len()).unwrap_or(u32::MAX),
            create_revision: kv.create_revision,
            mod_revision: kv.mod_revision,
            version: kv.version,
            placed,
            hung_on: kv.lease,
            detached: false,
            seen_at: since.at,
            came_then: since.exact,
            group: GroupIx::NOWHERE,
            generation,
        };
        entry.keep_value(kv.value);
        entry
    }

    /// Takes in a later put of the same key.
    pub(super) fn rewrite(&mut self, kv: KeyValue, generation: u32) {
        let former = std::mem::replace(self, Self::new(kv, self.since(), generation));
        self.group = former.group;
        if self.hung_on.is_none() && !former.hung_on.is_none() {
            (self.hung_on, self.detached) = (former.hung_on, true);
        }
    }

    /// Its lease.
    pub const fn lease(&self) -> LeaseId {
        if self.detached { LeaseId::NONE } else { self.hung_on }
    }

    /// The lease that a put without one was seen to take off it, while it has no other.
    pub const fn lost_lease(&self) -> LeaseId {
        if self.detached { self.hung_on } else { LeaseId::NONE }
    }

    /// Since when it is there.
    pub const fn since(&self) -> Since {
        Since { at: self.seen_at, exact: self.came_then }
    }

    /// Whether a put without a lease took the one off it that it had: seen, or told by its name,
    /// which is that of a lease.
    pub fn is_detached(&self) -> bool {
        self.detached || self.placed.shape == Shape::LeaseDetached && self.version > 1
    }

    /// The key as the layout rules see it.
    pub fn facts(&self) -> KeyFacts<'_> {
        KeyFacts { key: &self.key, value: &self.value, lease: self.lease(), version: self.version }
    }

    /// The name of the group the key belongs to: its lock's when it is a member.
    pub fn group_name(&self) -> &[u8] {
        self.key.front(self.placed.name_len)
    }

    fn keep_value(&mut self, mut value: Vec<u8>) {
        value.truncate(KEPT_VALUE);
        self.value = value.into();
    }

    /// Forgets all but the first bytes of the value: hardly anybody decodes plain data.
    pub(super) fn cut_value(&mut self, kept: usize) {
        if self.value.len() > kept {
            self.value = self.value[..kept].to_vec().into();
        }
    }
}

/// What is kept of a value, in the room of a pointer: keys are by the hundred thousand, and most have
/// none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept(Option<Box<Box<[u8]>>>);

impl From<Vec<u8>> for Kept {
    fn from(value: Vec<u8>) -> Self {
        Self((!value.is_empty()).then(|| Box::new(value.into())))
    }
}

impl Deref for Kept {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.0.as_deref().map_or(&[], |kept| kept)
    }
}

impl HasName for Entry {
    fn name(&self) -> &[u8] {
        &self.key
    }
}

/// All entries.
#[derive(Clone, Debug, Default)]
pub struct Keyspace(Named<Entry>);

/// Room for the entry of a key that was not found.
pub(super) struct Room<'a>(Vacancy<'a, Entry>);

impl Room<'_> {
    /// Adds the entry.
    pub(super) fn take(self, entry: Entry) -> KeyIx {
        KeyIx(self.0.insert(entry))
    }
}

impl Keyspace {
    /// How many keys are known.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether no key is known.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Finds a key.
    pub fn find(&self, key: &[u8]) -> Option<KeyIx> {
        self.0.find(key).map(KeyIx)
    }

    /// Finds a key, or else room for it.
    pub(super) fn find_or_room(&mut self, key: &[u8]) -> Result<KeyIx, Room<'_>> {
        match self.0.slot(key) {
            Slot::Known(at) => Ok(KeyIx(at)),
            Slot::Vacant(vacancy) => Err(Room(vacancy)),
        }
    }

    /// The entry at an index.
    pub fn get(&self, ix: KeyIx) -> Option<&Entry> {
        self.0.get(ix.0)
    }

    /// All entries, in no order that means anything.
    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.0.iter().map(|(_, entry)| entry)
    }

    pub(super) fn get_mut(&mut self, ix: KeyIx) -> Option<&mut Entry> {
        self.0.get_mut(ix.0)
    }

    /// Adds a key that is not known yet.
    pub(super) fn insert(&mut self, entry: Entry) -> KeyIx {
        KeyIx(self.0.insert(entry))
    }

    /// Removes a key.
    pub(super) fn remove(&mut self, ix: KeyIx) -> Option<Entry> {
        self.0.remove(ix.0)
    }

    /// The keys of a range that the listing of this generation did not show.
    pub(super) fn left_over(&self, range: &KeyRange, generation: u32) -> Vec<KeyIx> {
        let left = |entry: &Entry| entry.generation != generation && range.contains(&entry.key);
        self.0.iter().filter(|(_, entry)| left(entry)).map(|(at, _)| KeyIx(at)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_thousand_entries_are_less_than_nine_megabytes() {
        assert!(size_of::<Option<Entry>>() <= 88, "{} bytes", size_of::<Option<Entry>>());
    }

    #[test]
    fn a_lease_that_was_lost_is_none_any_more_and_is_remembered_until_there_is_another() {
        let kv = |lease| KeyValue { key: "/a/7".into(), lease: LeaseId(lease), ..KeyValue::default() };
        let mut entry = Entry::new(kv(7), Since::default(), 0);
        let leases = |entry: &Entry| (entry.lease().0, entry.lost_lease().0);
        assert_eq!(leases(&entry), (7, 0));
        for (next, expected) in [(0, (0, 7)), (0, (0, 7)), (9, (9, 0)), (8, (8, 0)), (0, (0, 8))] {
            entry.rewrite(kv(next), 0);
            assert_eq!(leases(&entry), expected);
        }
    }
}
