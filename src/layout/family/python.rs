//! Python's etcd libraries and tooz of `OpenStack`.

use super::{Rows, queue, single};
use crate::layout::{Layout, ValueKind, kind};

pub(super) const ROWS: Rows = Rows {
    queues: &[
        queue(
            "etcd3aio",
            Layout::Queue,
            "`__etcd3aio:lock/<name>/<lease in hex>`; its leases are never renewed",
            |group| group.name.starts_with(b"__etcd3aio:lock/"),
        ),
        queue("etcd3aio", Layout::Election, "`__etcd3aio:election/<name>/<lease in hex>`", |group| {
            group.name.starts_with(b"__etcd3aio:election/")
        }),
    ],
    singles: &[
        single(
            "tooz",
            Layout::SingleKey,
            "`/tooz/locks<name>`, no slash between, 16 bytes that are a random UUID",
            |key| key.key.starts_with(b"/tooz/locks") && key.kind() == ValueKind::UuidBytes,
        ),
        single("tooz", Layout::Registration, "`tooz/groups/<group>/<member>`, no slash in front", |key| {
            key.leased_under(b"tooz/groups/")
        }),
        single(
            "etcd3gw",
            Layout::SingleKey,
            "a time-based UUID as text, under `/locks/` or anywhere with a lease",
            |key| {
                key.kind() == ValueKind::UuidText
                    && key.value.get(14) == Some(&b'1')
                    && (key.leased() || key.key.starts_with(b"/locks/"))
            },
        ),
        single(
            "python-etcd3",
            Layout::SingleKey,
            "`/locks/<name>`, 16 bytes that are a time-based UUID: its host's MAC and when the lock object was made",
            |key| key.key.starts_with(b"/locks/") && is_time_uuid(key.value),
        ),
        single("aetcd", Layout::SingleKey, "the name as given, 16 bytes that are a time-based UUID", |key| {
            key.leased() && is_time_uuid(key.value)
        }),
        single(
            "etcd3-py",
            Layout::Leased,
            "`…/holders`, a count on the lock's own lease: how often a reentrant lock was taken",
            |key| key.leased() && key.last == b"holders" && kind::is_number(key.value),
        ),
        single(
            "etcd3-py",
            Layout::SingleKey,
            "`_locks/<name>`, or a value `<host>:<8 hex digits>`, `<host>:proc:<id>`, `<host>:thrd:<id>`, `<host>:host:<address>`",
            |key| key.leased() && (key.key.starts_with(b"_locks/") || is_etcd3_py(key.value)),
        ),
    ],
};

fn is_time_uuid(value: &[u8]) -> bool {
    kind::is_uuid_bytes(value) && value[6] >> 4 == 1
}

fn is_etcd3_py(value: &[u8]) -> bool {
    let Some(colon) = value.iter().position(|byte| *byte == b':') else { return false };
    let (host, who) = (&value[..colon], &value[colon + 1..]);
    let lower_hex = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
    kind::is_host(host)
        && (who.len() == 8 && who.iter().all(lower_hex)
            || [&b"proc:"[..], b"thrd:", b"host:"].iter().any(|scope| who.starts_with(scope)))
}
