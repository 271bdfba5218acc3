//! Go libraries that add a path of their own to etcd's recipes, and go-zero.

use super::{Group, Rows, queue, single};
use crate::layout::Layout;

pub(super) const ROWS: Rows = Rows {
    queues: &[
        queue("scalingo", Layout::Queue, "`/etcd-lock/<name>/<lease in hex>`, all values empty", |group| {
            group.name.starts_with(b"/etcd-lock/") && group.by_hex() && group.all_empty()
        }),
        queue(
            "scalingo",
            Layout::RwLock,
            "`/go-etcd-lock-rw/readers/<lock in base64>/<lease in hex>`: readers of one lock, who all hold at once; its writers queue under `/etcd-lock/`",
            |group| group.name.starts_with(b"/go-etcd-lock-rw/readers/"),
        ),
        queue(
            "scalingo",
            Layout::Leased,
            "`/go-etcd-lock-rw/writer-intents/…`: writers announcing themselves before they queue",
            |group| group.name.starts_with(b"/go-etcd-lock-rw/writer-intents/"),
        ),
        queue("valkeyrie", Layout::Queue, "`<key>___lock/<lease in hex>` beside the key it guards", |group| {
            group.name.ends_with(b"___lock") && group.by_hex()
        }),
        queue(
            "kube-vip",
            Layout::Election,
            "the lease id is the FNV-1a hash of the election's name and the candidate's value, negative for every other name",
            is_kube_vip,
        ),
        queue("go-zero", Layout::Registration, "`<service>/<lease in decimal>`, all values addresses", |group| {
            group.by_decimal() && group.all_addresses() && !group.names_lock()
        }),
    ],
    singles: &[
        single("cronsun", Layout::SingleKey, "`/cronsun/lock/<job>`, empty; who finds it taken gives up", |key| {
            key.leased_under(b"/cronsun/lock/")
        }),
        single("cronsun", Layout::Registration, "`/cronsun/node/<id>`, the value a process id", |key| {
            key.leased_under(b"/cronsun/node/")
        }),
        single("cronsun", Layout::Leased, "`/cronsun/proc/…`: jobs that run now", |key| {
            key.leased_under(b"/cronsun/proc/")
        }),
    ],
};

/// kube-vip hashes name and member id to the id of its lease, so that one sum proves it.
fn is_kube_vip(group: &Group<'_>) -> bool {
    const LONGEST: usize = 512;
    let first = group.first();
    if !group.by_hex() || first.lease.is_none() || first.value.is_empty() || first.value.len() > LONGEST {
        return false;
    }
    fnv1a(group.name.iter().chain(first.value)) == first.lease.0.cast_unsigned()
}

/// FNV-1a, 64 bits (RFC 9923).
fn fnv1a<'a>(bytes: impl Iterator<Item = &'a u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_fnv_1a() {
        assert_eq!(fnv1a(b"".iter()), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a".iter()), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar".iter()), 0x8594_4171_f739_67e8);
    }
}
