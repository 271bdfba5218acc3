//! Node.js: etcd3, Keyv, Moleculer.

use super::{Rows, queue, single};
use crate::layout::{Layout, words};

pub(super) const ROWS: Rows = Rows {
    queues: &[queue(
        "node-etcd3",
        Layout::Election,
        "`election/<name>/<lease in decimal>`, no slash in front unless the client adds a namespace",
        |group| group.by_decimal() && words::segments(group.name).any(|segment| segment == b"election"),
    )],
    singles: &[
        single("keyv", Layout::Leased, "`keyv:<key>`: a cache, many keys to a lease", |key| key.leased_under(b"keyv:")),
        single("moleculer", Layout::Registration, "`moleculer-<namespace>/discovery/{beats,info}/<node>…`", |key| {
            key.leased_under(b"moleculer-")
        }),
    ],
};
