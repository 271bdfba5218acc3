//! The table: every family of programs that is known, as rows of small recognisers. The first
//! row that matches wins; families come before the general rules, which close the table.
//!
//! A newcomer adds one file with its rows and one line to [`TABLE`]. A row may look at names,
//! values and counts, never at a TTL: programs are configured, and tests load their keys
//! with others.

use super::{Family, KeyFacts, Layout, Placement, QueueFacts, Shape, Signs, SingleFacts, ValueKind, words};
use crate::domain::key::split_last;

mod applications;
mod databases;
mod general;
mod golang;
mod kubernetes;
mod node;
mod python;
mod recipes;
mod services;
mod tikv;

/// All rows, in the order they are tried: `golang` knows a read-write lock that etcd's
/// recipes would claim, and `general` claims everything.
const TABLE: &[Rows] = &[
    golang::ROWS,
    recipes::ROWS,
    kubernetes::ROWS,
    tikv::ROWS,
    databases::ROWS,
    python::ROWS,
    node::ROWS,
    applications::ROWS,
    services::ROWS,
    general::ROWS,
];

/// The rows of one file.
pub(super) struct Rows {
    /// For groups of members.
    pub queues: &'static [QueueRow],
    /// For keys that stand alone.
    pub singles: &'static [SingleRow],
}

/// One recogniser of groups.
pub(super) struct QueueRow {
    /// The family it knows, or `""` for a general rule.
    pub family: Family,
    /// What a group of that family is.
    pub layout: Layout,
    /// What it goes by, for the catalogue.
    pub evidence: &'static str,
    /// Whether a group is of that family.
    pub matches: fn(&Group<'_>) -> bool,
}

/// One recogniser of keys that stand alone.
pub(super) struct SingleRow {
    /// The family it knows, or `""` for a general rule.
    pub family: Family,
    /// What a key of that family is.
    pub layout: Layout,
    /// What it goes by, for the catalogue.
    pub evidence: &'static str,
    /// Whether a key is of that family.
    pub matches: fn(&Single<'_>) -> bool,
}

const fn queue(family: Family, layout: Layout, evidence: &'static str, matches: fn(&Group<'_>) -> bool) -> QueueRow {
    QueueRow { family, layout, evidence, matches }
}

const fn single(family: Family, layout: Layout, evidence: &'static str, matches: fn(&Single<'_>) -> bool) -> SingleRow {
    SingleRow { family, layout, evidence, matches }
}

/// The rows for groups, in order.
pub(super) fn queues() -> impl Iterator<Item = &'static QueueRow> {
    TABLE.iter().flat_map(|rows| rows.queues)
}

/// The rows for keys that stand alone, in order.
pub(super) fn singles() -> impl Iterator<Item = &'static SingleRow> {
    TABLE.iter().flat_map(|rows| rows.singles)
}

/// A group as the rows see it: its name, its first member, and of the others the signs alone.
pub(super) struct Group<'a> {
    first: KeyFacts<'a>,
    first_value: ValueKind,
    signs: Signs,
    /// Its name.
    pub name: &'a [u8],
    /// The last segment of its name.
    pub last: &'a [u8],
    /// The shape of its first member.
    pub shape: Shape,
}

impl<'a> Group<'a> {
    pub(super) fn new(facts: &QueueFacts<'a>) -> Self {
        Self {
            first: facts.first,
            first_value: facts.first_placed.value,
            signs: facts.signs,
            name: facts.name,
            last: split_last(facts.name).1,
            shape: facts.first_placed.shape,
        }
    }

    /// Whether the first member is, or was, named by its own lease in hex.
    pub(super) fn by_hex(&self) -> bool {
        matches!(self.shape, Shape::LeaseHex | Shape::LeaseHexPadded | Shape::LeaseDetached)
    }

    /// Whether the first member is, or was, named by its own lease in decimal.
    pub(super) fn by_decimal(&self) -> bool {
        let detached = self.shape == Shape::LeaseDetached;
        self.shape == Shape::LeaseDecimal || detached && split_last(self.first.key).1.iter().all(u8::is_ascii_digit)
    }

    /// Whether no member has a value.
    pub(super) fn all_empty(&self) -> bool {
        self.signs.all_empty
    }

    /// Whether the first member has a value and no other has: the holder wrote it after it won.
    pub(super) fn only_first_has_value(&self) -> bool {
        self.first_value() != ValueKind::Empty && self.signs.all_but_one_empty
    }

    /// Whether there is one member only.
    pub(super) fn alone(&self) -> bool {
        self.signs.alone
    }

    /// Whether all values are JSON or addresses.
    pub(super) fn all_json_or_address(&self) -> bool {
        self.signs.all_json_or_address
    }

    /// Whether all values are addresses.
    pub(super) fn all_addresses(&self) -> bool {
        self.signs.all_addresses
    }

    /// Whether values repeat their leases.
    pub(super) fn repeats_lease(&self) -> bool {
        self.signs.repeats_lease
    }

    /// Whether first and last member are names of leases that do not hang on them.
    pub(super) fn detached(&self) -> bool {
        self.shape == Shape::LeaseDetached && self.signs.last_detached
    }

    /// Whether the first member was put again after its creation.
    pub(super) fn rewritten(&self) -> bool {
        self.first.version > 1
    }

    /// Whether keys named by digests or counters lie beside it.
    pub(super) fn beside_digests(&self) -> bool {
        self.signs.beside_digests
    }

    /// Whether the name speaks of a lock.
    pub(super) fn names_lock(&self) -> bool {
        words::names_lock(self.name)
    }

    /// Whether the name speaks of a place to be listed in, and of no lock.
    pub(super) fn names_presence(&self) -> bool {
        words::has(self.name, words::Word::Presence) && !self.names_lock()
    }

    /// The first member.
    pub(super) fn first(&self) -> &KeyFacts<'a> {
        &self.first
    }

    /// The kind of the first member's value.
    pub(super) fn first_value(&self) -> ValueKind {
        self.first_value
    }
}

/// A key that stands alone as the rows see it.
pub(super) struct Single<'a> {
    facts: &'a SingleFacts<'a>,
    /// The whole key.
    pub key: &'a [u8],
    /// Its value.
    pub value: &'a [u8],
    /// All before the last slash.
    pub parent: &'a [u8],
    /// The last segment of the parent.
    pub directory: &'a [u8],
    /// The key's last segment.
    pub last: &'a [u8],
}

impl<'a> Single<'a> {
    pub(super) fn new(facts: &'a SingleFacts<'a>) -> Self {
        let (parent, last) = split_last(facts.key.key);
        let directory = split_last(parent).1;
        Self { facts, key: facts.key.key, value: facts.key.value, parent, directory, last }
    }

    /// Whether a lease hangs on it.
    pub(super) fn leased(&self) -> bool {
        !self.facts.key.lease.is_none()
    }

    /// The kind of its value.
    pub(super) fn kind(&self) -> ValueKind {
        self.placed().value
    }

    /// Its placement.
    pub(super) fn placed(&self) -> Placement {
        self.facts.placed
    }

    /// Whether its value has this near its beginning; a value may be a megabyte.
    pub(super) fn value_has(&self, part: &[u8]) -> bool {
        const SEEN: usize = 2048;
        words::contains(&self.value[..self.value.len().min(SEEN)], part)
    }

    /// How many neighbours are leased and empty too, counted no further than `MANY`.
    pub(super) fn empty_leased_siblings(&self) -> u32 {
        self.facts.empty_leased_siblings
    }

    /// Whether a lease hangs on it and its key starts like this.
    pub(super) fn leased_under(&self, prefix: &[u8]) -> bool {
        self.leased() && self.key.starts_with(prefix)
    }

    /// The word its last segment is.
    pub(super) fn last_word(&self) -> Option<words::Word> {
        words::word(self.last)
    }

    /// The word its directory is.
    pub(super) fn directory_word(&self) -> Option<words::Word> {
        words::word(self.directory)
    }
}

#[cfg(test)]
mod tests;
