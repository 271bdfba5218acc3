//! Which recipe a set of keys follows.
//!
//! Two steps, both pure and both a table of small rules. [`place()`] looks at one key alone and
//! says where it belongs: the group (a queue's keys share everything before the last slash)
//! and the shape of its name and value. [`recognise_queue`] and [`recognise_single`] then say
//! which recipe a group, or a key that stands alone, follows. Per key first, group after:
//! grouping first would lose a leased `leader` key among unleased siblings. The rules and the
//! programs they come from are in `docs/key-layouts.md`.

use serde::Serialize;

use crate::domain::LeaseId;

mod family;
mod kind;
mod place;
mod queue;
mod segment;
mod single;
pub mod value;
mod words;

pub use place::{has_member_form, is_surmised, place};
pub use queue::recognise_queue;
pub use segment::looks_like_digest;
pub use single::recognise_single;
pub use words::names_role;

/// What kind of thing a group of keys, or one key, is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// One leased key a client under a common name; the lowest `create_revision` holds.
    Queue,
    /// A queue whose keys carry a candidate's value.
    Election,
    /// Readers and writers in one queue; several readers can hold at once.
    #[serde(rename = "rwlock")]
    RwLock,
    /// One key that is the lock itself; who waits leaves no trace.
    SingleKey,
    /// A Kubernetes `Lease` object: holder and times are inside the value.
    KubernetesLease,
    /// A leased key that says "I am here".
    Registration,
    /// Leased, but neither lock nor registration: caches, barriers, leased data.
    Leased,
    /// Plain data without a lease.
    Data,
}

impl Layout {
    /// Whether someone can hold this: what `ls` lists without `--all`.
    pub const fn is_lock(self) -> bool {
        matches!(self, Self::Queue | Self::Election | Self::RwLock | Self::SingleKey | Self::KubernetesLease)
    }

    /// Whether waiters queue up with keys of their own.
    pub const fn has_queue(self) -> bool {
        matches!(self, Self::Queue | Self::Election | Self::RwLock)
    }

    /// The name used in output and documents, such as `single-key`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Election => "election",
            Self::RwLock => "rwlock",
            Self::SingleKey => "single-key",
            Self::KubernetesLease => "kubernetes-lease",
            Self::Registration => "registration",
            Self::Leased => "leased",
            Self::Data => "data",
        }
    }
}

/// Whether a name has `lock`, `mutex` or the like as a segment; names of roles do not count.
pub fn has_lock_word(name: &[u8]) -> bool {
    words::has(name, words::Word::Lock)
}

/// The family of programs that writes keys this way, such as `go-concurrency` or `vault`;
/// empty when none is known.
pub type Family = &'static str;

/// Every row of the tables behind [`recognise_queue`] and [`recognise_single`] in the order
/// they are tried: the family, or `""` for a general rule, what it is, and what it is told by.
/// `docs/key-layouts.md` is made from these.
pub fn families() -> impl Iterator<Item = (Family, Layout, &'static str)> {
    let queues = family::queues().map(|row| (row.family, row.layout, row.evidence));
    queues.chain(family::singles().map(|row| (row.family, row.layout, row.evidence)))
}

/// What was recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recognised {
    /// The layout.
    pub layout: Layout,
    /// The family, or `""`.
    pub family: Family,
}

/// What a key's name says by itself, given its lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// The last segment is the key's own lease as signed, unpadded hex (Go `%x`).
    LeaseHex,
    /// The last segment is the key's own lease as hex padded to 16 digits.
    LeaseHexPadded,
    /// The last segment is the key's own lease in decimal.
    LeaseDecimal,
    /// The last segment reads as a lease id, but no lease hangs on the key: a put without one
    /// detached it, or it was put by hand.
    LeaseDetached,
    /// `…/read/<nanoseconds>` of etcd's `recipes.RWMutex`, or another reader's key.
    Read,
    /// `…/write/<nanoseconds>`, the writer's.
    Write,
    /// `…/waiters/<nanoseconds>` of etcd's double barrier.
    BarrierWaiter,
    /// A number of nanoseconds without a lease: an item of a work queue.
    WorkItem,
    /// The last segment is a UUID and the key is a queue member by its value and lease.
    Uuid,
    /// `/registry/leases/…` with a Kubernetes object in it.
    Kubernetes,
    /// Nothing known: the key stands for itself.
    Plain,
}

impl Shape {
    /// Whether keys of this shape are members of a group named by their parent.
    pub const fn is_member(self) -> bool {
        !matches!(self, Self::Kubernetes | Self::Plain)
    }
}

/// What a value looks like, as far as recipes differ in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ValueKind {
    /// No bytes at all.
    Empty,
    /// Sixteen bytes that are a UUID of version 1 or 4.
    UuidBytes,
    /// A UUID as text.
    UuidText,
    /// A JSON object or array.
    Json,
    /// A JSON object that repeats the key's own lease id, or is otherwise a registration's.
    JsonWithLease,
    /// `host:port`.
    Address,
    /// Other printable text.
    Text,
    /// Other bytes.
    Binary,
}

/// Where one key belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// How many leading bytes of the key name its group: for a member the lock's name, for a
    /// key that stands alone its parent.
    pub name_len: u32,
    /// The shape of its name.
    pub shape: Shape,
    /// The look of its value.
    pub value: ValueKind,
}

/// A key as the rules see it.
#[derive(Clone, Copy, Debug)]
pub struct KeyFacts<'a> {
    /// The whole key.
    pub key: &'a [u8],
    /// The value; long ones may be cut.
    pub value: &'a [u8],
    /// The lease that hangs on it, or none.
    pub lease: LeaseId,
    /// How often it was put since it was created.
    pub version: i64,
}

/// A group of members as the rules see it.
#[derive(Clone, Copy, Debug)]
pub struct QueueFacts<'a> {
    /// The group's name.
    pub name: &'a [u8],
    /// The member with the lowest `create_revision`.
    pub first: KeyFacts<'a>,
    /// Its placement.
    pub first_placed: Placement,
    /// What the others tell.
    pub signs: Signs,
}

/// How many keys of a group are what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupCounts {
    /// Members with an empty value.
    pub empty: u32,
    /// Members with a JSON value of either kind.
    pub json: u32,
    /// Members with a JSON value that repeats the lease.
    pub json_with_lease: u32,
    /// Members with an address for a value.
    pub addresses: u32,
    /// Others, that have no lease and are no members though they are named by hex of a lease's
    /// length, see [`looks_like_digest`].
    pub digests: u32,
}

/// All that the rules go by in a group beside its name and its first member: while these stay,
/// so does what the group is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent properties of a group")]
pub struct Signs {
    /// Whether there is one member only.
    pub alone: bool,
    /// Whether no member has a value.
    pub all_empty: bool,
    /// Whether all members but one have no value.
    pub all_but_one_empty: bool,
    /// Whether all values are JSON or addresses.
    pub all_json_or_address: bool,
    /// Whether all values are addresses.
    pub all_addresses: bool,
    /// Whether some value repeats its key's lease.
    pub repeats_lease: bool,
    /// Whether the last member is named by a lease that does not hang on it.
    pub last_detached: bool,
    /// Whether keys named by digests or counters lie beside it.
    pub beside_digests: bool,
}

impl GroupCounts {
    /// What the rules go by in so many members; `last` is the shape of the one with the highest
    /// `create_revision`.
    pub const fn signs(&self, members: u32, last: Shape) -> Signs {
        Signs {
            alone: members == 1,
            all_empty: self.empty == members,
            all_but_one_empty: self.empty + 1 == members,
            all_json_or_address: self.json + self.addresses == members,
            all_addresses: self.addresses == members,
            repeats_lease: self.json_with_lease > 0,
            last_detached: matches!(last, Shape::LeaseDetached),
            beside_digests: self.digests > 0,
        }
    }
}

/// A key that stands alone, with what its neighbours tell.
#[derive(Clone, Copy, Debug)]
pub struct SingleFacts<'a> {
    /// The key.
    pub key: KeyFacts<'a>,
    /// Its placement.
    pub placed: Placement,
    /// How many other keys of the same parent stand alone and have a lease, at least: the
    /// count stops at [`MANY`].
    pub leased_siblings: u32,
    /// How many of those have an empty value, stopping at [`MANY`].
    pub empty_leased_siblings: u32,
}

/// Where counting of siblings stops: enough to tell a directory of registrations from a lock.
pub const MANY: u32 = 2;
