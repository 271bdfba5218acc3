//! etcd's own `client/v3/experimental/recipes` and `client/v3/leasing`.

use super::{Rows, queue, single};
use crate::layout::{Layout, Shape, ValueKind, words};

pub(super) const ROWS: Rows = Rows {
    queues: &[
        queue(
            "etcd-recipes-rwmutex",
            Layout::RwLock,
            "`<name>/read/<nanoseconds>` and `<name>/write/<nanoseconds>`, 19 digits",
            |group| matches!(group.shape, Shape::Read | Shape::Write),
        ),
        queue(
            "etcd-recipes-barrier",
            Layout::Leased,
            "`<name>/waiters/<nanoseconds>` of a double barrier, with `<name>/ready` once it opened: it looks like a queue, but nobody holds anything",
            |group| group.shape == Shape::BarrierWaiter,
        ),
        queue(
            "etcd-recipes-queue",
            Layout::Data,
            "`<name>/<nanoseconds>`, or `<name><priority, 5 digits>/<number, 16 digits>`, without a lease: items of work, not locks",
            |group| group.shape == Shape::WorkItem,
        ),
    ],
    singles: &[single(
        "etcd-leasing",
        Layout::Leased,
        "`<leasing prefix>/<the whole key>`, two slashes in the middle, empty or `REVOKE`: who may cache the key, not a lock",
        |key| key.leased() && (key.value == b"REVOKE" || key.kind() == ValueKind::Empty && is_leasing_key(key.key)),
    )],
};

/// A leasing key has a whole key behind its prefix, whose own slash follows the prefix's.
/// Sloppy names of locks have two slashes as well, but say that they are locks.
fn is_leasing_key(key: &[u8]) -> bool {
    let double = key.windows(2).position(|pair| pair == b"//");
    double.is_some_and(|at| at > 0 && at + 2 < key.len() && !words::names_lock(&key[..at]))
}
