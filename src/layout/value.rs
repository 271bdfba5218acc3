//! What values say about who wrote them: decoded for people, never for decisions.
//!
//! The text is as the cluster has it. It may hold control characters, and whoever shows it
//! escapes them.

use super::{Family, KeyFacts, ValueKind, kind};

mod json;
pub mod kubernetes;
mod process;
mod text;
mod uuid;

pub use process::process;

/// What a value says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoded {
    /// Who wrote the key, as short as it can be said: a host, a member name, a candidate.
    pub owner: Option<String>,
    /// All that could be read, in the order it is worth reading: label and text.
    pub fields: Vec<(&'static str, String)>,
}

impl Decoded {
    fn owner(owner: impl Into<String>) -> Self {
        Self { owner: Some(owner.into()), fields: Vec::new() }
    }

    #[must_use]
    fn with(mut self, label: &'static str, text: impl Into<String>) -> Self {
        self.fields.push((label, text.into()));
        self
    }
}

/// Decodes a key's value as its family writes it. Whatever cannot be read is left out; bytes
/// that mean nothing give an empty answer.
pub fn decode(key: &KeyFacts<'_>, family: Family) -> Decoded {
    match family {
        "kubernetes" | "kubernetes-node" => kubernetes::decode(key.value),
        "etcd3-py" => text::etcd3_py(key),
        "calico" => text::calico(key.value),
        "tidb" => text::tidb(key.value),
        "scalingo" => text::scalingo(key.key),
        // Cached data has names and addresses in it, none of them the writer's.
        "keyv" => Decoded::default(),
        "tooz" => uuid::decode(key.value).unwrap_or_else(|| text::named_by_key(key.key)),
        _ => match kind::kind(key.value, key.lease) {
            ValueKind::UuidBytes | ValueKind::UuidText => uuid::decode(key.value).unwrap_or_default(),
            ValueKind::Json | ValueKind::JsonWithLease => json::decode(key, family),
            ValueKind::Address | ValueKind::Text => text::plain(key.value),
            ValueKind::Empty | ValueKind::Binary => Decoded::default(),
        },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::LeaseId;
    use crate::layout::families;

    fn decoded(key: &str, value: &[u8], family: Family) -> Decoded {
        decode(&KeyFacts { key: key.as_bytes(), value, lease: LeaseId(7), version: 1 }, family)
    }

    #[test]
    fn text_and_addresses_are_their_own_owner() {
        assert_eq!(decoded("/ctl/7", b"node-h", "go-concurrency"), Decoded::owner("node-h"));
        assert_eq!(decoded("/s/7", b"10.0.0.7:80", "go-zero"), Decoded::owner("10.0.0.7:80"));
        assert_eq!(decoded("/service/pg/leader", b"pg1", "patroni"), Decoded::owner("pg1"));
        assert_eq!(decoded("/jobs/7", b"", "go-concurrency"), Decoded::default());
    }

    #[test]
    fn a_members_of_tooz_is_named_by_its_key() {
        let decoded = decoded("tooz/groups/g/host-h.example", b"\x81\xa4zone\xa3z-h", "tooz");
        assert_eq!(decoded.owner.as_deref(), Some("host-h.example"));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(
            key in proptest::collection::vec(any::<u8>(), 0..40),
            value in proptest::collection::vec(any::<u8>(), 0..200),
            head in proptest::sample::select(vec![&b""[..], b"k8s\0", b"{\"", b"[{", b"vm:", b"\0\0\0\0\0\0\x11\xf1\x8d"]),
        ) {
            let value = [head, &value].concat();
            for (family, ..) in families() {
                decode(&KeyFacts { key: &key, value: &value, lease: LeaseId(7), version: 1 }, family);
            }
        }

        #[test]
        fn a_cut_value_does_not_make_it_panic(cut in 0_usize..400) {
            for value in [
                &b"k8s\0\n\x1f\n\x16coordination.k8s.io/v1\x12\x05Lease\x12x\nS\n\x10my-operator-lock\x12\0\x1a\x07default\"\0\x12!\n\0\x10\x0f\x1a\x0b\x08\xf3\xf2\xb0\xd8\x06\x10\x80\x94\xef:\"\x0c\x08\xa7\xb5\xb1\xd8\x06\x10\xe8\xca\x80\xb8\x02(\x07"[..],
                br#"{"Action":"x","HostName":"h","UserName":"u","Time":"t","Status":"s"}"#,
            ] {
                let value = &value[..cut.min(value.len())];
                for (family, ..) in families() {
                    decode(&KeyFacts { key: b"/a/b", value, lease: LeaseId(7), version: 1 }, family);
                }
            }
        }
    }
}
