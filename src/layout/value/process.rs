//! Which process a value names, where it names one and no other.
//!
//! Two keys on different leases are one client's when their values name the same process. A
//! wrong answer joins strangers and shows a deadlock that is none, so in doubt there is none:
//!
//! | value | names a process |
//! |---|---|
//! | a UUID, alone or behind a host (`<host>_<uuid>`) | yes, but for one of only zeros or ones |
//! | `<host>:<number>`, a port or a process id; `<number>@<host>` | yes, when the host is no loopback or wildcard, and looks like a host: it has a dot, a dash or a digit |
//! | JSON, or a family's own form, with a host and a process id | yes |
//! | JSON whose owner reads as one of the above | yes |
//! | a host, a member's name, any other word | no: processes share hosts, and programs share words |

use super::{Decoded, decode};
use crate::layout::{Family, KeyFacts, ValueKind, kind};

/// The process that a key's value names, as text that is the same for all its keys.
pub fn process(key: &KeyFacts<'_>, family: Family) -> Option<String> {
    match family {
        // Candidates speak for a node or a pod, and cached data for nobody.
        "kubernetes" | "kubernetes-node" | "keyv" | "tooz" => return None,
        _ => {}
    }
    match kind::kind(key.value, key.lease) {
        ValueKind::UuidBytes => uuid::Uuid::from_slice(key.value).ok().and_then(unique),
        ValueKind::UuidText | ValueKind::Address | ValueKind::Text => of_text(std::str::from_utf8(key.value).ok()?),
        ValueKind::Json | ValueKind::JsonWithLease => of_decoded(&decode(key, family)),
        ValueKind::Empty | ValueKind::Binary => None,
    }
}

fn of_decoded(decoded: &Decoded) -> Option<String> {
    let field = |label| decoded.fields.iter().find(|(name, _)| *name == label).map(|(_, text)| text.as_str());
    if let (Some(host), Some(process)) = (field("host"), field("process"))
        && is_own_host(host)
        && is_number(process)
    {
        return Some(format!("{host}:{process}"));
    }
    of_text(decoded.owner.as_deref()?)
}

fn of_text(text: &str) -> Option<String> {
    /// Longer text is data.
    const LONGEST: usize = 256;
    if text.len() > LONGEST {
        return None;
    }
    if let Some(id) = uuid_at_end(text) {
        return id;
    }
    // etcd3-py: `<host>:proc:<id>`.
    if let Some((host, id)) = text.split_once(":proc:") {
        return (is_own_host(host) && is_number(id)).then(|| text.to_owned());
    }
    let named = match text.split_once('@') {
        Some((number, host)) => is_number(number) && is_own_host(host),
        None => text.rsplit_once(':').is_some_and(|(host, number)| is_number(number) && is_own_host(host)),
    };
    named.then(|| text.to_owned())
}

/// `Some` when the text ends with a UUID that stands alone or behind a separator; in it whom that
/// names, if anybody.
fn uuid_at_end(text: &str) -> Option<Option<String>> {
    let at = text.len().checked_sub(36)?;
    let id = uuid::Uuid::try_parse(text.get(at..)?).ok()?;
    let before = text[..at].chars().next_back();
    before.is_none_or(|last| !last.is_alphanumeric()).then(|| unique(id).map(|_| text.to_owned()))
}

fn unique(id: uuid::Uuid) -> Option<String> {
    (!id.is_nil() && !id.is_max()).then(|| id.to_string())
}

/// Whether a host's name means one host wherever it is read, and is no mere word.
fn is_own_host(host: &str) -> bool {
    let host = host.split_once("://").map_or(host, |(_, rest)| rest);
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = bare.parse::<std::net::IpAddr>() {
        return !address.is_loopback() && !address.is_unspecified();
    }
    let local = host.eq_ignore_ascii_case("localhost") || host.to_ascii_lowercase().starts_with("localhost.");
    !local && kind::is_host(host.as_bytes()) && host.bytes().any(|byte| matches!(byte, b'.' | b'-' | b'0'..=b'9'))
}

fn is_number(text: &str) -> bool {
    text.len() <= 10 && kind::is_number(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::LeaseId;

    fn named(value: &[u8], family: Family) -> Option<String> {
        process(&KeyFacts { key: b"/a/7", value, lease: LeaseId(7), version: 1 }, family)
    }

    #[test]
    fn a_uuid_and_a_host_with_a_number_name_one_process() {
        for text in [
            "7c7ad9fd-f80f-4426-98c8-5a225d58f2c7",
            "node-1_7c7ad9fd-f80f-4426-98c8-5a225d58f2c7",
            "10.0.0.7:2379",
            "http://10.0.0.7:2379",
            "[fd00::7]:2379",
            "ctl-1:4194303",
            "4711@db7.example.org",
        ] {
            assert_eq!(named(text.as_bytes(), "").as_deref(), Some(text));
        }
        assert_eq!(named(b"vm1:proc:411", "etcd3-py").as_deref(), Some("vm1:proc:411"));
        let raw = b"\0\xbbWmR\xa6J\x1a\xabu\x88\xa7\x91\x84G\x90";
        assert_eq!(named(raw, "").as_deref(), Some("00bb576d-52a6-4a1a-ab75-88a791844790"));
        assert_eq!(named(br#"{"host":"db7","pid":411}"#, "").as_deref(), Some("db7:411"));
        assert_eq!(named(br#"{"addr":"10.0.0.7:80"}"#, "").as_deref(), Some("10.0.0.7:80"));
    }

    #[test]
    fn words_hosts_and_what_means_another_host_elsewhere_name_nobody() {
        for text in [
            "",
            "worker",
            "worker-7",
            "db7.example.org",
            "lock success",
            "shard:3",
            "localhost:2379",
            "127.0.0.1:2379",
            "[::1]:80",
            "0.0.0.0:80",
            "7@localhost",
            "12:00:00",
            "00000000-0000-0000-0000-000000000000",
        ] {
            assert_eq!(named(text.as_bytes(), ""), None, "{text}");
        }
        assert_eq!(named(br#"{"HostName":"db7","Action":"x"}"#, "vitess"), None, "processes share a host");
        assert_eq!(named(br#"{"name":"worker"}"#, ""), None);
    }
}
