//! Where one key belongs, by its own name, value and lease. This runs for every put of every
//! key of the cluster: it allocates nothing and looks at the last segment's length first.

use super::{KeyFacts, Placement, Shape, ValueKind, kind, segment, words};
use crate::domain::key::split_last;

/// Text that a lock's key may carry is short: `lock success`, a host, a UUID.
const SHORT: usize = 64;

/// Whatever somebody puts by hand, or over a lock's key, is hardly longer than this.
const NOT_LONG: usize = 256;

/// Says where a key belongs. Slashes at the end of a group's name, as `EMQX` writes them,
/// belong to the name: `…/lock//<lease>` is in the group `…/lock/`.
pub fn place(key: &KeyFacts<'_>) -> Placement {
    let (parent, last) = split_last(key.key);
    let value = kind::kind(key.value, key.lease);
    let shape = shape(key, parent, last, value);
    let name = match shape {
        Shape::Read | Shape::Write if !is_scalingo_reader(parent) => split_last(parent).0,
        _ => parent,
    };
    Placement { name_len: u32::try_from(name.len()).unwrap_or(u32::MAX), shape, value }
}

/// Whether a directory is that of the readers of one of Scalingo's read-write locks.
pub(super) fn is_scalingo_reader(parent: &[u8]) -> bool {
    parent.starts_with(b"/go-etcd-lock-rw/readers/")
}

fn shape(key: &KeyFacts<'_>, parent: &[u8], last: &[u8], value: ValueKind) -> Shape {
    // Without a slash there is no group to be a member of.
    if parent.len() + last.len() == key.key.len() {
        return Shape::Plain;
    }
    if let Some(own) = segment::own_lease(last, key.lease) {
        return if is_scalingo_reader(parent) { Shape::Read } else { own };
    }
    match last.len() {
        36 if is_uuid_member(key, parent, last, value) => return Shape::Uuid,
        19 if segment::is_nanoseconds(last) => return nanoseconds(key, parent),
        16 if is_priority_item(key, parent, last) => return Shape::WorkItem,
        _ => {}
    }
    if key.lease.is_none() && (13..=19).contains(&last.len()) && is_detached(key, parent, last, value) {
        return Shape::LeaseDetached;
    }
    if is_kubernetes_lease(key) { Shape::Kubernetes } else { Shape::Plain }
}

/// The keys of etcd's `recipes`: a time in nanoseconds under a directory that says what for.
fn nanoseconds(key: &KeyFacts<'_>, parent: &[u8]) -> Shape {
    let leased = !key.lease.is_none();
    // A recipe's ephemeral key is empty and leased; one of both may be lost to an overwrite.
    let ephemeral = leased || key.value.is_empty();
    match split_last(parent).1 {
        b"read" if ephemeral => Shape::Read,
        b"write" if ephemeral => Shape::Write,
        b"waiters" if ephemeral => Shape::BarrierWaiter,
        _ if leased => Shape::Plain,
        _ => Shape::WorkItem,
    }
}

/// `<prefix>00003/0000000000000000`: an item of `recipes.PriorityQueue`.
fn is_priority_item(key: &KeyFacts<'_>, parent: &[u8], last: &[u8]) -> bool {
    let priority = parent.len().checked_sub(5).map(|at| &parent[at..]);
    key.lease.is_none() && kind::is_number(last) && priority.is_some_and(kind::is_number)
}

/// A key named by a UUID waits in a queue when it carries a lease and little else; JSON or an
/// address is a registration. Without a lease only the path can tell.
fn is_uuid_member(key: &KeyFacts<'_>, parent: &[u8], last: &[u8], value: ValueKind) -> bool {
    if !segment::is_uuid(last) {
        return false;
    }
    match value {
        ValueKind::Empty | ValueKind::UuidText => {}
        ValueKind::Text if key.value.len() <= SHORT => {}
        ValueKind::Address => return words::names_lock(parent),
        _ => return false,
    }
    !key.lease.is_none() || words::names_lock(parent)
}

/// Whether a key without a lease is a queue's member that lost it, or was put by hand under
/// the name of a lease: whoever locks the name waits for it, whatever its value. Data is named
/// by digests as well; what lies beside them tells, so that is left to the rules for groups. A
/// value that is long is data at once, unless the path speaks of a lock.
fn is_detached(key: &KeyFacts<'_>, parent: &[u8], last: &[u8], value: ValueKind) -> bool {
    let Some(id) = segment::looks_like_lease(last) else { return false };
    let fitting = match value {
        ValueKind::Empty | ValueKind::UuidText => true,
        ValueKind::Text | ValueKind::Address => key.value.len() <= SHORT,
        _ => false,
    };
    let rewritten = key.version > 1 && value == ValueKind::Empty;
    let named = || words::names_lock(parent);
    match (id.decimal, id.negative) {
        (true, _) => id.server_made && named(),
        (false, true) => fitting || named(),
        (false, false) => {
            (id.server_made || rewritten) && (fitting || named()) || !id.text && is_member_form(key, parent)
        }
    }
}

/// Whether a key that is named by hex as long as a lease's can be a queue's member by its value
/// and its directory. One right under `locks` is rather a lock of its own.
fn is_member_form(key: &KeyFacts<'_>, parent: &[u8]) -> bool {
    let of_locks = matches!(split_last(parent).1, b"locks" | b".locks" | b"_locks" | b"mutexes");
    key.value.len() <= NOT_LONG && !key.value.starts_with(b"k8s") && !of_locks
}

/// Whether a lone key without a lease is a lock's by its form alone: nothing in the lock's name
/// says so, and it is not the empty key that a server's lease named.
pub fn is_surmised(name: &[u8], key: &KeyFacts<'_>) -> bool {
    let made = segment::looks_like_lease(split_last(key.key).1).is_some_and(|id| id.server_made);
    !(words::names_lock(name) || made && key.value.is_empty())
}

/// Whether a key without a lease has the form of a member that a lease names, so that a queue of
/// such members takes it for one of its own. Digits alone stand for a time where nothing else tells.
pub fn has_member_form(key: &[u8], value_len: u32) -> bool {
    segment::looks_like_digest(key) && usize::try_from(value_len).is_ok_and(|len| len <= NOT_LONG)
}

/// Whether the value is a Kubernetes `Lease`: `k8s\0`, then a `runtime.Unknown` whose first
/// field names version and kind (`k8s.io/apimachinery`, `runtime/generated.proto`). Encrypted
/// ones cannot be read and go by their place.
fn is_kubernetes_lease(key: &KeyFacts<'_>) -> bool {
    match key.value {
        [b'k', b'8', b's', 0, 0x0a, length, rest @ ..] if *length < 0x80 => {
            let type_meta = &rest[..rest.len().min(usize::from(*length))];
            type_meta.ends_with(b"\x12\x05Lease")
                && type_meta.get(2..).is_some_and(|version| version.starts_with(b"coordination.k8s.io/"))
        }
        [b'k', b'8', b's', b':', b'e', b'n', b'c', b':', ..] => key.key.starts_with(b"/registry/leases/"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::LeaseId;

    const LEASE: i64 = 0x2040_a228_242e_2d06;
    const UUID: &str = "7c7ad9fd-f80f-4426-98c8-5a225d58f2c7";

    fn placed(key: &str, value: &[u8], lease: i64, version: i64) -> (String, Shape) {
        let placement = place(&KeyFacts { key: key.as_bytes(), value, lease: LeaseId(lease), version });
        (key[..placement.name_len as usize].to_owned(), placement.shape)
    }

    fn shape_of(key: &str, value: &[u8], lease: i64, version: i64) -> Shape {
        placed(key, value, lease, version).1
    }

    #[test]
    fn a_key_named_by_its_lease_is_in_the_group_of_its_parent() {
        let hex = |group: &str| placed(&format!("{group}/2040a228242e2d06"), b"", LEASE, 1);
        assert_eq!(hex("/jobs/a"), ("/jobs/a".into(), Shape::LeaseHex));
        assert_eq!(hex("__etcd3aio:lock/job"), ("__etcd3aio:lock/job".into(), Shape::LeaseHex));
        assert_eq!(hex(""), (String::new(), Shape::LeaseHex));
        let decimal = placed("election/x/2324035701012573446", b"host", LEASE, 1);
        assert_eq!(decimal, ("election/x".into(), Shape::LeaseDecimal));
        assert_eq!(placed("/l/0000000000001000", b"", 4096, 1), ("/l".into(), Shape::LeaseHexPadded));
    }

    #[test]
    fn slashes_at_the_end_belong_to_the_name() {
        let emqx = placed("/emqxcl/ekkacl/lock//2040a228242e2d06", b"", LEASE, 1);
        assert_eq!(emqx, ("/emqxcl/ekkacl/lock/".into(), Shape::LeaseHex));
        assert_eq!(placed("tooz/groups/g/", b"tooz/groups/g/", 0, 1), ("tooz/groups/g".into(), Shape::Plain));
    }

    #[test]
    fn a_key_without_a_slash_is_in_no_group() {
        assert_eq!(placed("2040a228242e2d06", b"", LEASE, 1), (String::new(), Shape::Plain));
    }

    #[test]
    fn hex_that_is_not_the_keys_lease_is_no_member() {
        // DM names a worker's key by its name in hex: `worker-1`.
        assert_eq!(shape_of("/dm-worker/a/776f726b65722d31", b"{}", LEASE, 1), Shape::Plain);
        assert_eq!(shape_of("/dm-worker/r/776f726b65722d31", b"x", 0, 3), Shape::Plain);
        assert_eq!(shape_of("/jobs/a/2040a228242e2d07", b"", LEASE, 1), Shape::Plain);
    }

    #[test]
    fn an_overwritten_member_stays_one_without_its_lease() {
        assert_eq!(shape_of("/edge/nolease/x/2040a2285077ba19", b"", 0, 2), Shape::LeaseDetached);
        assert_eq!(shape_of("/edge/nolease/x/2040a2285077ba19", b"oops", 0, 2), Shape::LeaseDetached);
        assert_eq!(shape_of("/s/job/7e055af811b4bb53", b"who", 0, 1), Shape::LeaseDetached);
        assert_eq!(shape_of("/kube-vip/-7fab12cd34ef5601", b"node-1", 0, 2), Shape::LeaseDetached);
        assert_eq!(
            shape_of("/vitess/zone1/keyspaces/k/locks/2324035701012573934", b"{\"Action\":1}", 0, 2),
            Shape::LeaseDetached
        );
        // The id was the client's own choice, and the empty rewritten value gives it away.
        assert_eq!(shape_of("/jobs/a/00ab12cd34ef56", b"", 0, 2), Shape::Plain);
        assert_eq!(shape_of("/jobs/a/10ab000000000056", b"", 0, 2), Shape::LeaseDetached);
        assert_eq!(shape_of("/jobs/a/10ab000000000056", b"", 0, 1), Shape::LeaseDetached);
        assert_eq!(shape_of("/orph/job/694d000000000001", b"hostA", 0, 1), Shape::LeaseDetached, "put by hand");
        assert_eq!(shape_of("/orph/job/4d00000000001", b"{\"host\":1}", 0, 1), Shape::LeaseDetached, "as %x prints it");
        assert_eq!(shape_of("/orph/job/694d000000000001", &[b'x'; 256], 0, 1), Shape::LeaseDetached);
        assert_eq!(shape_of("/app/locks/694d000000000001", b"hostA", 0, 1), Shape::Plain, "a directory of locks");
    }

    #[test]
    fn data_named_by_digests_and_counters_is_not_a_detached_member() {
        assert_eq!(shape_of("/blobs/2040a2285077ba19", &[b'x'; 257], 0, 2), Shape::Plain, "long");
        assert_eq!(shape_of("/blobs/f040a228", b"x", 0, 2), Shape::Plain, "short hex");
        assert_eq!(shape_of("/registry/pods/default/2f40a2285077ba19", b"k8s\0\n\t", 0, 2), Shape::Plain);
        assert_eq!(shape_of("/config/abc", b"", 0, 5), Shape::Plain);
        assert_eq!(shape_of("/users/2324035701012573934", b"x", 0, 2), Shape::Plain, "a decimal id of another kind");
        assert_eq!(shape_of("/events/1795972100434902", b"", 0, 2), Shape::Plain, "microseconds");
    }

    #[test]
    fn readers_and_writers_are_in_the_group_of_their_grandparent() {
        let at = "1795972069464040059";
        assert_eq!(placed(&format!("/rw/cfg/read/{at}"), b"", LEASE, 1), ("/rw/cfg".into(), Shape::Read));
        assert_eq!(placed(&format!("/rw/cfg/write/{at}"), b"", LEASE, 1), ("/rw/cfg".into(), Shape::Write));
        assert_eq!(placed(&format!("/rw/cfg/write/{at}"), b"", 0, 2), ("/rw/cfg".into(), Shape::Write));
        assert_eq!(placed(&format!("read/{at}"), b"", LEASE, 1), (String::new(), Shape::Read));
    }

    #[test]
    fn scalingos_readers_share_the_directory_of_their_lock() {
        let key = "/go-etcd-lock-rw/readers/L2V0Y2QtbG9jay9h/2040a228242e2d06";
        assert_eq!(placed(key, b"", LEASE, 1), ("/go-etcd-lock-rw/readers/L2V0Y2QtbG9jay9h".into(), Shape::Read));
    }

    #[test]
    fn barriers_and_work_queues_are_told_from_locks() {
        let at = "1795972069464040059";
        assert_eq!(placed(&format!("/b/waiters/{at}"), b"", LEASE, 1), ("/b/waiters".into(), Shape::BarrierWaiter));
        assert_eq!(placed(&format!("/q/{at}"), b"job", 0, 1), ("/q".into(), Shape::WorkItem));
        assert_eq!(placed(&format!("/metrics/read/{at}"), b"7", 0, 1), ("/metrics/read".into(), Shape::WorkItem));
        assert_eq!(shape_of(&format!("/q/{at}"), b"job", LEASE, 1), Shape::Plain);
        assert_eq!(placed("/pq/q/00003/0000000000000000", b"job", 0, 1), ("/pq/q/00003".into(), Shape::WorkItem));
        assert_eq!(shape_of("/pq/q/x0003/0000000000000000", b"job", 0, 1), Shape::Plain);
    }

    #[test]
    fn a_uuid_waits_in_a_queue_when_it_has_a_lease_and_little_else() {
        let key = format!("/lock/mylock/{UUID}");
        assert_eq!(placed(&key, b"", LEASE, 1), ("/lock/mylock".into(), Shape::Uuid));
        assert_eq!(shape_of(&key, b"lock success", LEASE, 1), Shape::Uuid);
        assert_eq!(shape_of(&key, b"10.0.0.1:80", LEASE, 1), Shape::Uuid);
        assert_eq!(shape_of(&key, b"{\"addr\":1}", LEASE, 1), Shape::Plain);
        assert_eq!(shape_of(&format!("/peers/{UUID}"), b"10.0.0.1:80", LEASE, 1), Shape::Plain);
        assert_eq!(shape_of(&key, b"", 0, 1), Shape::Uuid);
        assert_eq!(shape_of(&format!("/users/{UUID}"), b"", 0, 1), Shape::Plain);
        assert_eq!(shape_of(&format!("/jobs/{UUID}"), b"", LEASE, 1), Shape::Uuid);
    }

    #[test]
    fn kubernetes_leases_are_known_by_their_value() {
        let value = b"k8s\0\n\x1f\n\x16coordination.k8s.io/v1\x12\x05Lease\x12\x02\n\0";
        assert_eq!(shape_of("/registry/leases/kube-system/x", value, 0, 1), Shape::Kubernetes);
        assert_eq!(shape_of("/kubernetes.io/leases/kube-system/x", value, 0, 1), Shape::Kubernetes);
        let pod = b"k8s\0\n\t\n\x02v1\x12\x03Pod\x12\x02\n\0";
        assert_eq!(shape_of("/registry/pods/default/x", pod, 0, 1), Shape::Plain);
        assert_eq!(shape_of("/registry/leases/a/b", b"k8s:enc:aescbc:v1:key1:xx", 0, 1), Shape::Kubernetes);
        assert_eq!(shape_of("/registry/secrets/a/b", b"k8s:enc:aescbc:v1:key1:xx", 0, 1), Shape::Plain);
    }

    proptest! {
        #[test]
        fn the_name_is_part_of_the_key_whatever_the_bytes(
            key in proptest::collection::vec(any::<u8>(), 0..80),
            value in proptest::collection::vec(any::<u8>(), 0..80),
            lease: i64,
            version: i64,
        ) {
            let placement = place(&KeyFacts { key: &key, value: &value, lease: LeaseId(lease), version });
            prop_assert!(placement.name_len as usize <= key.len());
        }

        #[test]
        fn every_spelling_of_a_lease_makes_a_member(lease in any::<i64>().prop_filter("0 is no lease", |id| *id != 0), prefix in "[a-z/]{0,20}") {
            let id = LeaseId(lease);
            for (name, shapes) in [
                (id.to_string(), &[Shape::LeaseHex][..]),
                (format!("{lease:016x}"), &[Shape::LeaseHex, Shape::LeaseHexPadded]),
                (lease.to_string(), &[Shape::LeaseDecimal, Shape::LeaseHex]),
            ] {
                let key = format!("{prefix}/{name}");
                let placement = place(&KeyFacts { key: key.as_bytes(), value: b"", lease: id, version: 1 });
                prop_assert!(shapes.contains(&placement.shape), "{} is {:?}", key, placement.shape);
                prop_assert_eq!(placement.name_len as usize, prefix.len());
            }
        }
    }
}
