//! Values that are plain text, and keys that say more than their values.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::Decoded;
use crate::domain::key::split_last;
use crate::layout::KeyFacts;

/// Text longer than this is data, not somebody's name.
const LONGEST_NAME: usize = 256;

/// Text that names its writer.
pub(super) fn plain(value: &[u8]) -> Decoded {
    name(value).map(Decoded::owner).unwrap_or_default()
}

/// etcd3-py: `<host>:<8 hex digits>` by default, or `<host>:<scope>:<id>` for one of a
/// process, a thread or a host.
/// How often a reentrant lock was taken is beside it in a key of its own.
pub(super) fn etcd3_py(key: &KeyFacts<'_>) -> Decoded {
    let Some(text) = name(key.value) else { return Decoded::default() };
    if key.key.ends_with(b"/holders") {
        return Decoded::default().with("times taken", text);
    }
    let Some((host, rest)) = text.split_once(':') else { return plain(key.value) };
    let decoded = Decoded::owner(host).with("host", host);
    match rest.split_once(':') {
        Some(("proc", id)) => decoded.with("process", id),
        Some(("thrd", id)) => decoded.with("thread", id),
        Some(("host", address)) => decoded.with("address", address),
        _ => decoded.with("lock object", rest),
    }
}

/// networking-calico: `<host>:<process id>`.
pub(super) fn calico(value: &[u8]) -> Decoded {
    match name(value).and_then(|text| text.rsplit_once(':')) {
        Some((host, process)) => Decoded::owner(host).with("host", host).with("process", process),
        None => plain(value),
    }
}

/// TiDB: the owner's UUID, and `_` with one byte while it does something special.
pub(super) fn tidb(value: &[u8]) -> Decoded {
    let (id, operation) = match value {
        [id @ .., b'_', operation] => (id, Some(*operation)),
        _ => (value, None),
    };
    let Some(id) = name(id) else { return Decoded::default() };
    let decoded = Decoded::owner(id).with("server", id);
    match operation {
        None => decoded,
        Some(0) => decoded.with("operation", "none"),
        Some(1) => decoded.with("operation", "synchronizing an upgrade"),
        Some(other) => decoded.with("operation", other.to_string()),
    }
}

/// Scalingo: the directory of a lock's readers is the lock's name in base64.
pub(super) fn scalingo(key: &[u8]) -> Decoded {
    if !key.starts_with(b"/go-etcd-lock-rw/") {
        return Decoded::default();
    }
    let directory = split_last(split_last(key).0).1;
    let lock = URL_SAFE_NO_PAD.decode(directory).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    lock.map(|lock| Decoded::default().with("lock", lock)).unwrap_or_default()
}

/// A key whose last segment names who put it.
pub(super) fn named_by_key(key: &[u8]) -> Decoded {
    plain(split_last(key).1)
}

fn name(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    (!text.is_empty() && text.len() <= LONGEST_NAME).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::LeaseId;

    #[test]
    fn etcd3_py_names_its_host_and_scope() {
        let decoded = |key: &str, value: &str| {
            etcd3_py(&KeyFacts { key: key.as_bytes(), value: value.as_bytes(), lease: LeaseId(1), version: 1 })
        };
        let vm = || Decoded::owner("vm").with("host", "vm");
        assert_eq!(decoded("_locks/a", "vm:6c5cd64d"), vm().with("lock object", "6c5cd64d"));
        assert_eq!(decoded("_locks/a", "vm:proc:411"), vm().with("process", "411"));
        assert_eq!(decoded("_locks/a", "vm:thrd:7"), vm().with("thread", "7"));
        assert_eq!(decoded("_locks/a", "vm:host:fe80::1"), vm().with("address", "fe80::1"));
        assert_eq!(decoded("_locks/a/holders", "2"), Decoded::default().with("times taken", "2"));
    }

    #[test]
    fn calico_names_host_and_process() {
        assert_eq!(calico(b"ctl-1:4711"), Decoded::owner("ctl-1").with("host", "ctl-1").with("process", "4711"));
        assert_eq!(calico(b"ctl-1"), Decoded::owner("ctl-1"));
        assert_eq!(calico(b"\xff:1"), Decoded::default());
    }

    #[test]
    fn tidb_splits_the_operation_off() {
        let id = "8a1f1e4b-0a6b-4a49-8f7c-0d6c4f7b9f10";
        assert_eq!(tidb(id.as_bytes()), Decoded::owner(id).with("server", id));
        let upgrading = tidb(format!("{id}_\u{1}").as_bytes());
        assert_eq!(upgrading, Decoded::owner(id).with("server", id).with("operation", "synchronizing an upgrade"));
    }

    #[test]
    fn scalingos_readers_name_their_lock() {
        let decoded = scalingo(b"/go-etcd-lock-rw/readers/L2V0Y2QtbG9jay9teS1sb2Nr/2040a228242e2d06");
        assert_eq!(decoded.fields, [("lock", "/etcd-lock/my-lock".to_owned())]);
        assert_eq!(scalingo(b"/etcd-lock/my-lock/2040a228242e2d06"), Decoded::default());
        assert_eq!(scalingo(b"/go-etcd-lock-rw/readers/***/1"), Decoded::default());
    }

    #[test]
    fn long_text_is_nobodys_name() {
        assert_eq!(plain(&[b'x'; 300]), Decoded::default());
    }
}
