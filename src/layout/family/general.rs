//! What is left when no family is known: rules that go by shapes, values and words, from the
//! strongest evidence to the weakest. They close the table.

use super::{Group, Rows, Single, queue, single};
use crate::layout::words::{self, Word};
use crate::layout::{Layout, MANY, Shape, ValueKind, kind};

#[expect(clippy::redundant_closure_for_method_calls, reason = "a method's lifetime is not as general as a row's")]
pub(super) const ROWS: Rows = Rows {
    queues: &[
        queue(
            "",
            Layout::Registration,
            "`<name>/<uuid>` where the path says instances, members, services, nodes, endpoints or the like",
            |group| group.shape == Shape::Uuid && group.names_presence(),
        ),
        queue(
            "uuid-queue",
            Layout::Queue,
            "`<name>/<uuid>`, empty or short text, each on a lease of its own: the queue that many articles write by hand",
            |group| group.shape == Shape::Uuid,
        ),
        queue(
            "",
            Layout::Data,
            "keys named like leases that have none, unless the path speaks of a lock, a value was emptied, or it is a single key with no other such beside it",
            |group| group.detached() && !group.names_lock() && !is_lone_member(group),
        ),
        queue("", Layout::Registration, "`<name>/<lease>`, JSON that repeats the lease", |group| {
            group.repeats_lease() && group.all_json_or_address() && !group.names_lock()
        }),
        queue(
            "",
            Layout::Registration,
            "`<name>/<lease>`, JSON or an address, where the path says instances, members, services, nodes, endpoints or the like",
            |group| group.all_json_or_address() && group.names_presence(),
        ),
        queue(
            "",
            Layout::Registration,
            "`<name>/<lease in decimal>`, JSON: the lock libraries that write decimal ids have no JSON",
            |group| group.by_decimal() && group.all_json_or_address() && !group.names_lock(),
        ),
        queue(
            "go-concurrency",
            Layout::Queue,
            "`<name>/<lease in hex>`, all values empty: Go's `concurrency.Mutex` or the server's Lock API, which cannot be told apart",
            |group| group.by_hex() && group.shape != Shape::LeaseHexPadded && group.all_empty(),
        ),
        queue("", Layout::Queue, "`<name>/<lease>` in another spelling, all values empty", |group| group.all_empty()),
        queue("", Layout::Queue, "only the first has a value: the holder wrote it after it had won", |group| {
            group.only_first_has_value()
                && (!group.alone() || group.rewritten() && words::word(group.last) == Some(Word::Lock))
        }),
        queue(
            "go-concurrency",
            Layout::Election,
            "`<name>/<lease in hex>`, candidates' values: Go's `concurrency.Election` or the server's Election API, which cannot be told apart",
            |group| group.by_hex() && group.shape != Shape::LeaseHexPadded,
        ),
        queue("", Layout::Election, "`<name>/<lease>` in another spelling, with values", |_| true),
    ],
    singles: &[
        single(
            "",
            Layout::Registration,
            "the value repeats the key's last segment: the key names itself. Elections by etcd-java look the same",
            |key| {
                key.leased()
                    && key.kind() != ValueKind::Empty
                    && key.value == key.last
                    && key.directory_word() != Some(Word::Lock)
            },
        ),
        single("", Layout::SingleKey, "16 bytes that are a UUID, leased or where the path says lock", |key| {
            key.kind() == ValueKind::UuidBytes && (key.leased() || names_lock_closely(key))
        }),
        single(
            "",
            Layout::SingleKey,
            "leased, and the last segment or the one before is a word such as lock, mutex, leader, master, owner, election, primary",
            |key| key.leased() && [key.last_word(), key.directory_word()].into_iter().any(is_lock_or_role),
        ),
        single(
            "",
            Layout::SingleKey,
            "no lease, the last segment or the one before is lock or mutex, and the value is empty, a UUID or `<host>:<number>`",
            |key| {
                let identity = matches!(key.kind(), ValueKind::Empty | ValueKind::UuidText | ValueKind::Address);
                !key.leased() && identity && names_lock_closely(key)
            },
        ),
        single("", Layout::Registration, "leased, JSON or an address", |key| {
            key.leased() && matches!(key.kind(), ValueKind::JsonWithLease | ValueKind::Json | ValueKind::Address)
        }),
        single(
            "",
            Layout::Registration,
            "leased, where the path says instances, members, services, nodes, endpoints or the like",
            |key| key.leased() && words::has(key.parent, Word::Presence),
        ),
        single(
            "",
            Layout::Registration,
            "leased and empty, one of several such in a directory or named by an address",
            |key| {
                key.leased()
                    && key.kind() == ValueKind::Empty
                    && (key.empty_leased_siblings() >= MANY || kind::is_address(key.last))
            },
        ),
        single(
            "",
            Layout::SingleKey,
            "leased, empty and the only such in its directory: `lock()` of etcd3 for Node.js, and locks written by hand",
            |key| key.leased() && key.kind() == ValueKind::Empty,
        ),
        single("", Layout::Leased, "leased, and nothing says what for", |key| key.leased()),
        single("", Layout::Data, "no lease, and nothing that speaks of a lock", |_| true),
    ],
};

/// Whether a group without leases is a lock's all the same: whoever locks its name waits for a key
/// named like a lease's, and data named by digests is seldom alone in its directory. Where the
/// directory says that something is listed in it, only an empty key counts.
fn is_lone_member(group: &Group<'_>) -> bool {
    let listed = || words::word(group.last) == Some(Word::Presence);
    let alone = group.alone() && !group.beside_digests();
    group.all_empty() && (group.rewritten() || alone) || alone && !listed()
}

fn is_lock_or_role(word: Option<Word>) -> bool {
    matches!(word, Some(Word::Lock | Word::Role))
}

/// Whether the key's last segment or its directory is a word for a lock.
fn names_lock_closely(key: &Single<'_>) -> bool {
    key.last_word() == Some(Word::Lock) || key.directory_word() == Some(Word::Lock)
}
