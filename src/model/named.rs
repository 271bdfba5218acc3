//! Things that have a name, each once in memory, found by name in constant time.
//!
//! A slab with a table of indices beside it: names are not stored twice, indices stay valid
//! until their thing is removed, and a removed place is used again.

use std::hash::BuildHasher;

use hashbrown::hash_table::{self, VacantEntry};
use hashbrown::{DefaultHashBuilder, HashTable};

/// Something with a name.
pub(super) trait HasName {
    /// The name it is found by.
    fn name(&self) -> &[u8];
}

/// The things.
#[derive(Clone, Debug)]
pub(super) struct Named<T> {
    slab: Slab<T>,
    vacant: Vec<u32>,
    by_name: HashTable<Spot>,
    hasher: DefaultHashBuilder,
}

/// A place in the slab with the hash of its name, so that a growing table does not have to
/// look at every name again.
#[derive(Clone, Copy, Debug)]
struct Spot {
    hash: u32,
    at: u32,
}

/// Where a name is, or would be: looked for once, it is found or added.
pub(super) enum Slot<'a, T> {
    Known(u32),
    Vacant(Vacancy<'a, T>),
}

/// Where one is added whose name is not there yet.
pub(super) struct Vacancy<'a, T> {
    hash: u32,
    spot: VacantEntry<'a, Spot>,
    slab: &'a mut Slab<T>,
    vacant: &'a mut Vec<u32>,
}

impl<T> Vacancy<'_, T> {
    /// Adds it; it has the name that was looked for.
    pub fn insert(self, thing: T) -> u32 {
        let at = self.slab.put(self.vacant.pop(), thing);
        self.spot.insert(Spot { hash: self.hash, at });
        at
    }
}

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self {
            slab: Slab::default(),
            vacant: Vec::new(),
            by_name: HashTable::new(),
            hasher: DefaultHashBuilder::default(),
        }
    }
}

impl<T: HasName> Named<T> {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Finds the one with this name for which `which` holds.
    pub fn find_where(&self, name: &[u8], which: impl Fn(&T) -> bool) -> Option<u32> {
        let hash = self.hash(name);
        let matches = |spot: &Spot| {
            spot.hash == hash && self.get(spot.at).is_some_and(|thing| thing.name() == name && which(thing))
        };
        self.by_name.find(widen(hash), matches).map(|spot| spot.at)
    }

    pub fn find(&self, name: &[u8]) -> Option<u32> {
        self.find_where(name, |_| true)
    }

    pub fn get(&self, at: u32) -> Option<&T> {
        self.slab.get(at)
    }

    pub fn get_mut(&mut self, at: u32) -> Option<&mut T> {
        self.slab.slot_mut(at)?.as_mut()
    }

    /// All of them with their indices, in no order that means anything.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (0..).zip(self.slab.chunks.iter().flatten()).filter_map(|(at, slot)| Some((at, slot.as_ref()?)))
    }

    /// All of them, to change what is not their name.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slab.chunks.iter_mut().flatten().flatten()
    }

    /// Finds the one with this name, or where it is to be added.
    pub fn slot(&mut self, name: &[u8]) -> Slot<'_, T> {
        let hash = self.hash(name);
        let Self { slab, vacant, by_name, .. } = self;
        let matches = |spot: &Spot| spot.hash == hash && slab.get(spot.at).is_some_and(|thing| thing.name() == name);
        match by_name.entry(widen(hash), matches, |spot| widen(spot.hash)) {
            hash_table::Entry::Occupied(found) => Slot::Known(found.get().at),
            hash_table::Entry::Vacant(spot) => Slot::Vacant(Vacancy { hash, spot, slab, vacant }),
        }
    }

    /// Adds one; the caller knows that it is not there yet.
    pub fn insert(&mut self, thing: T) -> u32 {
        let hash = self.hash(thing.name());
        let at = self.slab.put(self.vacant.pop(), thing);
        self.by_name.insert_unique(widen(hash), Spot { hash, at }, |spot| widen(spot.hash));
        at
    }

    /// Removes one.
    pub fn remove(&mut self, at: u32) -> Option<T> {
        let hash = self.hash(self.get(at)?.name());
        if let Ok(found) = self.by_name.find_entry(widen(hash), |spot| spot.at == at) {
            found.remove();
        }
        self.vacant.push(at);
        self.slab.slot_mut(at)?.take()
    }

    fn hash(&self, name: &[u8]) -> u32 {
        let hash = self.hasher.hash_one(name);
        u32::try_from(hash >> 32).expect("the upper half of 64 bits is 32 bits")
    }
}

/// Places in chunks: one vector that grows holds everything twice while it is moved, and a third
/// more than everything afterwards.
#[derive(Clone, Debug)]
struct Slab<T> {
    chunks: Vec<Vec<Option<T>>>,
}

/// Places in a chunk.
const CHUNK: usize = 512;

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { chunks: Vec::new() }
    }
}

impl<T> Slab<T> {
    fn slot(&self, at: u32) -> Option<&Option<T>> {
        self.chunks.get(at as usize / CHUNK)?.get(at as usize % CHUNK)
    }

    fn slot_mut(&mut self, at: u32) -> Option<&mut Option<T>> {
        self.chunks.get_mut(at as usize / CHUNK)?.get_mut(at as usize % CHUNK)
    }

    fn get(&self, at: u32) -> Option<&T> {
        self.slot(at)?.as_ref()
    }

    /// Puts a thing into a vacant place, or into one more.
    fn put(&mut self, vacant: Option<u32>, thing: T) -> u32 {
        match vacant.and_then(|at| Some((at, self.slot_mut(at)?))) {
            Some((at, slot)) => {
                *slot = Some(thing);
                at
            }
            None => self.add(thing),
        }
    }

    fn add(&mut self, thing: T) -> u32 {
        if self.chunks.last().is_none_or(|chunk| chunk.len() == CHUNK) {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        let last = self.chunks.len() - 1;
        self.chunks[last].push(Some(thing));
        let at = last * CHUNK + self.chunks[last].len() - 1;
        u32::try_from(at).expect("fewer than four billion names fit in memory")
    }
}

/// The table takes its bucket from the low bits and its tag from the high ones.
fn widen(hash: u32) -> u64 {
    u64::from(hash) << 32 | u64::from(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Thing(&'static str, u8);

    impl HasName for Thing {
        fn name(&self) -> &[u8] {
            self.0.as_bytes()
        }
    }

    #[test]
    fn names_are_found_and_removed_places_are_used_again() {
        let mut things = Named::default();
        let a = things.insert(Thing("a", 1));
        let b = things.insert(Thing("b", 2));
        assert_eq!((things.find(b"a"), things.find(b"b"), things.find(b"c")), (Some(a), Some(b), None));
        assert_eq!(things.remove(a), Some(Thing("a", 1)));
        assert_eq!((things.find(b"a"), things.len()), (None, 1));
        let Slot::Vacant(vacancy) = things.slot(b"c") else { panic!("it is not there yet") };
        assert_eq!(vacancy.insert(Thing("c", 3)), a);
        assert_eq!(things.find(b"c"), Some(a));
        assert!(matches!(things.slot(b"c"), Slot::Known(at) if at == a));
    }

    #[test]
    fn more_than_a_chunk_has_room() {
        const NAMES: &str = "abcdefghijklmnopqrstuvwxyz";
        let mut things = Named::default();
        for at in 0..u32::try_from(CHUNK).unwrap() + 5 {
            let name = &NAMES[..=at as usize % 26];
            assert_eq!(things.insert(Thing(name, 0)), at);
        }
        assert_eq!((things.iter().count(), things.iter_mut().count()), (CHUNK + 5, CHUNK + 5));
        assert_eq!(things.iter().map(|(at, _)| at).last(), Some(u32::try_from(CHUNK).unwrap() + 4));
        let beyond = u32::try_from(CHUNK).unwrap() + 2;
        assert!(things.remove(beyond).is_some() && things.get(beyond).is_none());
        assert_eq!(things.insert(Thing("again", 1)), beyond);
    }

    #[test]
    fn two_things_of_one_name_are_told_apart() {
        let mut things = Named::default();
        let one = things.insert(Thing("x", 1));
        let two = things.insert(Thing("x", 2));
        assert_eq!(things.find_where(b"x", |thing| thing.1 == 2), Some(two));
        things.remove(two);
        assert_eq!(things.find_where(b"x", |thing| thing.1 == 2), None);
        assert_eq!(things.find(b"x"), Some(one));
    }
}
