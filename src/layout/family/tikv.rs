//! TiDB and what belongs to it: PD, `TiCDC`, DM.

use super::{Rows, queue, single};
use crate::layout::{Layout, words};

pub(super) const ROWS: Rows = Rows {
    queues: &[
        queue("ticdc", Layout::Election, "`/tidb/cdc/…/owner/<lease in hex>`", |group| {
            group.name.starts_with(b"/tidb/cdc/") && group.last == b"owner"
        }),
        queue(
            "tidb",
            Layout::Election,
            "`/tidb/…/owner/<lease in hex>`, the value a UUID, `<uuid>_<operation>` while one runs",
            |group| is_tidb(group.name) && group.last == b"owner",
        ),
        queue(
            "tidb",
            Layout::Registration,
            "`/tidb/server/minstartts/<uuid>`: each server's oldest transaction",
            |group| is_tidb(group.name) && group.last == b"minstartts",
        ),
        queue("dm", Layout::Election, "`/dm-master/leader/<lease in hex>`, JSON with `id` and `addr`", |group| {
            group.name.starts_with(b"/dm-master/leader")
        }),
    ],
    singles: &[
        single("pd", Layout::SingleKey, "`/pd/<cluster>/leader`, or `/ms/<cluster>/<service>/primary`", |key| {
            key.leased_under(b"/pd/") && key.last == b"leader" || key.leased_under(b"/ms/") && key.last == b"primary"
        }),
        single(
            "pd",
            Layout::Leased,
            "a key below one of those, such as `…/primary/expected_primary`: a wish, not the leader",
            |key| {
                key.leased_under(b"/pd/") && key.directory == b"leader"
                    || key.leased_under(b"/ms/") && key.directory == b"primary"
            },
        ),
        single("pd", Layout::Registration, "`/ms/<cluster>/<service>/registry/<address>`", |key| {
            key.leased_under(b"/ms/") && key.directory == b"registry"
        }),
        single("ticdc", Layout::Registration, "`/tidb/cdc/…/capture/<id>`", |key| {
            key.leased_under(b"/tidb/cdc/") && key.directory == b"capture"
        }),
        single("tidb", Layout::Registration, "`/tidb/server/…` and `/topology/tidb/<address>/ttl`", |key| {
            key.leased_under(b"/topology/ti")
                || key.leased() && is_tidb(key.key) && words::contains(key.key, b"/tidb/server/")
        }),
        single("dm", Layout::Registration, "`/dm-worker/a/<worker's name in hex>`: hex, but no lease id", |key| {
            key.leased_under(b"/dm-worker/a/")
        }),
    ],
};

/// TiDB's keys, with or without a keyspace in front.
fn is_tidb(key: &[u8]) -> bool {
    key.starts_with(b"/tidb/") || key.starts_with(b"/keyspaces/tidb/")
}
