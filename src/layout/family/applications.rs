//! Applications that lock or elect under paths of their own.

use super::{Rows, queue, single};
use crate::layout::{Layout, ValueKind, words};

pub(super) const ROWS: Rows = Rows {
    queues: &[
        queue(
            "vault",
            Layout::Queue,
            "`…/core/lock/<lease in hex>`; the holder writes a UUID once it has won, waiters stay empty",
            |group| group.by_hex() && group.name.ends_with(b"/core/lock"),
        ),
        queue(
            "rabbitmq",
            Layout::Queue,
            "`/rabbitmq/locks/<prefix>/clusters/<name>/registration/<lease in hex>`, for seconds while a node starts",
            |group| group.by_hex() && group.name.starts_with(b"/rabbitmq/locks/"),
        ),
        queue(
            "emqx",
            Layout::Queue,
            "`<prefix>/ekkacl/lock//<lease in hex>`: the lock's name ends in a slash",
            |group| group.by_hex() && group.name.ends_with(b"ekkacl/lock/"),
        ),
        queue(
            "vineyard",
            Layout::Queue,
            "`vineyard/<session>/meta_sync_lock/<lease in hex>`, for milliseconds",
            |group| group.by_hex() && group.last == b"meta_sync_lock",
        ),
        queue(
            "mayastor",
            Layout::Queue,
            "`…/StoreLeaseLock/…/<lease in hex>`, all values empty; the owner's key is on the same lease",
            |group| group.by_hex() && group.all_empty() && words::contains(group.name, b"/StoreLeaseLock"),
        ),
        queue(
            "dolphinscheduler",
            Layout::Queue,
            "`<namespace>/lock/master-…/<lease in hex>`, all values empty",
            |group| group.by_hex() && group.all_empty() && words::contains(group.name, b"/lock/master-"),
        ),
        queue("vitastor", Layout::Registration, "`<prefix>/mon/member/<lease in decimal>`", |group| {
            group.by_decimal() && group.name.ends_with(b"/mon/member")
        }),
    ],
    singles: &[
        single("teleport", Layout::SingleKey, "`<prefix>/.locks/<name>`, 16 bytes that are a random UUID", |key| {
            key.kind() == ValueKind::UuidBytes && words::contains(key.key, b"/.locks/")
        }),
        single(
            "rabbitmq",
            Layout::Registration,
            "`/rabbitmq/discovery/<prefix>/clusters/<name>/nodes/<node>`",
            |key| key.leased_under(b"/rabbitmq/discovery/"),
        ),
        single("emqx", Layout::Registration, "`<prefix>/ekkacl/nodes/<node>`, the value the node's name", |key| {
            key.leased() && key.parent.ends_with(b"ekkacl/nodes")
        }),
        single(
            "vitastor",
            Layout::SingleKey,
            "`<prefix>/mon/master`, JSON with the lease in decimal; the master's member key is on the same lease",
            |key| key.leased() && key.key.ends_with(b"/mon/master"),
        ),
        single("vitastor", Layout::Registration, "`<prefix>/osd/state/<number>`", |key| {
            key.leased() && key.parent.ends_with(b"/osd/state")
        }),
        single("pulsar", Layout::SingleKey, "`/loadbalance/leader`, JSON", |key| {
            key.leased() && key.key.ends_with(b"/loadbalance/leader")
        }),
        single(
            "pulsar",
            Layout::Registration,
            "`/loadbalance/brokers/<address>` and `/ledgers/available/<address>`",
            |key| {
                key.leased()
                    && (key.parent.ends_with(b"/loadbalance/brokers")
                        || words::contains(key.key, b"/ledgers/available/"))
            },
        ),
        single(
            "dolphinscheduler",
            Layout::Registration,
            "`<namespace>/nodes/{master,worker,alert-server}/<address>`",
            |key| {
                key.leased()
                    && [&b"/nodes/master"[..], b"/nodes/worker", b"/nodes/alert-server"]
                        .iter()
                        .any(|role| key.parent.ends_with(role))
            },
        ),
    ],
};
