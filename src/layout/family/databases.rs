//! Databases, and what keeps them available.

use super::{Group, Rows, Single, queue, single};
use crate::layout::{Layout, ValueKind};

pub(super) const ROWS: Rows = Rows {
    queues: &[
        queue(
            "vitess",
            Layout::Queue,
            "`<root>/<path>/locks/<lease in decimal>`, JSON with `Action`, `HostName`, `UserName`, `Time`, `Status`",
            |group| is_vitess(group) && group.first_value() != ValueKind::Text,
        ),
        queue(
            "vitess",
            Layout::Election,
            "`<root>/elections/<name>/locks/<lease in decimal>`, the value the candidate's id",
            is_vitess,
        ),
        queue("stolon", Layout::Election, "`stolon/cluster/<name>/sentinel-leader/<lease in hex>`", |group| {
            group.by_hex() && group.last == b"sentinel-leader"
        }),
        queue("m3", Layout::Election, "`_ld/<environment>/<service>/<election>/<lease in hex>`", |group| {
            group.by_hex() && group.name.starts_with(b"_ld/")
        }),
        queue(
            "greptimedb",
            Layout::Election,
            "`…__metasrv_election/<lease in hex>`, the value the server's address",
            |group| group.by_hex() && group.name.ends_with(b"__metasrv_election"),
        ),
    ],
    singles: &[
        single(
            "patroni",
            Layout::SingleKey,
            "`/service/<scope>/leader`, the value the member's name; the leader's member key is on the same lease",
            |key| key.leased_under(b"/service/") && key.last == b"leader" && key.kind() == ValueKind::Text,
        ),
        single("patroni", Layout::Registration, "`…/members/<name>`, JSON with `conn_url` or `api_url`", |key| {
            key.leased()
                && key.directory == b"members"
                && is_json(key.kind())
                && (key.value_has(b"\"conn_url\"") || key.value_has(b"\"api_url\""))
        }),
        single(
            "milvus",
            Layout::SingleKey,
            "`…/session/<role>`, JSON with `ServerID` and `\"Exclusive\":true`: the one active coordinator",
            |key| is_milvus(key) && key.value_has(b"\"Exclusive\":true"),
        ),
        single(
            "milvus",
            Layout::Registration,
            "`…/session/<role>-<id>`, JSON with `ServerID`: nodes and standbys",
            is_milvus,
        ),
        single("stolon", Layout::Registration, "`stolon/cluster/<name>/{proxies,sentinels}/info/…`", |key| {
            key.leased_under(b"stolon/cluster/")
        }),
        single("m3", Layout::Registration, "`_hb/<environment>/<service>/<instance>`", |key| key.leased_under(b"_hb/")),
        single("greptimedb", Layout::Registration, "`…__metasrv_election_candidates/<address>`", |key| {
            key.leased() && key.directory.ends_with(b"__metasrv_election_candidates")
        }),
        single(
            "rqlite",
            Layout::SingleKey,
            "`/<name>/leader` without a lease, JSON with `id`, `api_addr`, `addr`: overwritten, never released",
            |key| {
                !key.leased()
                    && key.last == b"leader"
                    && is_json(key.kind())
                    && key.value_has(b"\"addr\":")
                    && key.value_has(b"\"api_addr\":")
            },
        ),
        single(
            "cortex",
            Layout::SingleKey,
            "`ha-tracker/<tenant>/<cluster>` without a lease: elected by the time inside the value",
            |key| key.key.starts_with(b"ha-tracker/") && key.kind() == ValueKind::Binary,
        ),
    ],
};

const fn is_json(kind: ValueKind) -> bool {
    matches!(kind, ValueKind::Json | ValueKind::JsonWithLease)
}

fn is_milvus(key: &Single<'_>) -> bool {
    key.leased() && key.directory == b"session" && is_json(key.kind()) && key.value_has(b"\"ServerID\":")
}

/// Vitess always says something: who locks and why, or which candidate it is.
fn is_vitess(group: &Group<'_>) -> bool {
    group.by_decimal() && group.last == b"locks" && !group.all_empty()
}
