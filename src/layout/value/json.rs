//! JSON values: which of their members are worth reading, a table by family.

use serde_json::{Map, Value};

use super::Decoded;
use crate::layout::{Family, KeyFacts};

/// Longer texts are cut here; a value may be a megabyte.
const LONGEST_FIELD: usize = 512;

/// What a family's JSON has to say.
struct Names {
    family: Family,
    /// Members that name the owner, best first.
    owner: &'static [&'static str],
    /// Members worth showing, with their labels.
    fields: &'static [(&'static str, &'static str)],
}

const NAMES: &[Names] = &[
    Names {
        family: "vitess",
        owner: &["HostName"],
        fields: &[
            ("Action", "action"),
            ("HostName", "host"),
            ("UserName", "user"),
            ("Time", "time"),
            ("Status", "status"),
        ],
    },
    Names {
        family: "milvus",
        owner: &["Address", "HostName"],
        fields: &[
            ("Address", "address"),
            ("HostName", "host"),
            ("ServerID", "server id"),
            ("ServerName", "role"),
            ("Version", "version"),
        ],
    },
    Names { family: "portworx", owner: &["LockerID"], fields: &[("LockerID", "locker")] },
    Names { family: "dm", owner: &["addr", "id"], fields: &[("id", "id"), ("addr", "address")] },
    Names { family: "rabbitmq", owner: &["node"], fields: &[("node", "node"), ("ttl", "ttl")] },
    Names {
        family: "dynamo",
        owner: &["instance_id"],
        fields: &[
            ("namespace", "namespace"),
            ("component", "component"),
            ("endpoint", "endpoint"),
            ("instance_id", "instance"),
            ("transport", "transport"),
        ],
    },
    Names { family: "airlock", owner: &["holders"], fields: &[("holders", "holders"), ("total_slots", "slots")] },
    Names {
        family: "rqlite",
        owner: &["id", "api_addr"],
        fields: &[("id", "id"), ("api_addr", "api address"), ("addr", "address")],
    },
    Names {
        family: "patroni",
        owner: &[],
        fields: &[
            ("conn_url", "connection"),
            ("api_url", "api"),
            ("role", "role"),
            ("state", "state"),
            ("version", "version"),
        ],
    },
];

/// For families without a row of their own: what such members are called as a rule.
const USUAL: Names = Names {
    family: "",
    owner: &[
        "holder", "owner", "leader", "hostname", "HostName", "host", "Host", "addr", "Addr", "address", "Address",
        "ip", "node", "name", "Name", "id", "ID",
    ],
    fields: &[
        ("holder", "holder"),
        ("owner", "owner"),
        ("leader", "leader"),
        ("id", "id"),
        ("ID", "id"),
        ("name", "name"),
        ("Name", "name"),
        ("node", "node"),
        ("hostname", "host"),
        ("HostName", "host"),
        ("host", "host"),
        ("Host", "host"),
        ("ip", "ip"),
        ("addr", "address"),
        ("Addr", "address"),
        ("address", "address"),
        ("Address", "address"),
        ("endpoints", "endpoints"),
        ("port", "port"),
        ("pid", "process"),
        ("version", "version"),
        ("Version", "version"),
    ],
};

/// Decodes a JSON object.
pub(super) fn decode(key: &KeyFacts<'_>, family: Family) -> Decoded {
    let Some(object) = object(key.value) else { return Decoded::default() };
    let names = NAMES.iter().find(|names| names.family == family).unwrap_or(&USUAL);
    let read = |name: &str| object.get(name).and_then(text);
    let fields: Vec<_> = names.fields.iter().filter_map(|(name, label)| Some((*label, read(name)?))).collect();
    let owner = names.owner.iter().find_map(|name| read(name));
    // Patroni's members are named by their keys.
    let owner = if family == "patroni" { super::text::named_by_key(key.key).owner } else { owner };
    Decoded { owner, fields }
}

fn object(value: &[u8]) -> Option<Map<String, Value>> {
    serde_json::from_slice(value).ok()
}

/// A member as text: lists are joined, objects stay JSON, what is empty is left out.
fn text(value: &Value) -> Option<String> {
    let text = match value {
        Value::Null => return None,
        Value::String(text) => cut(text),
        Value::Array(items) => cut(&items.iter().filter_map(text).collect::<Vec<_>>().join(", ")),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => cut(&value.to_string()),
    };
    (!text.is_empty()).then_some(text)
}

fn cut(text: &str) -> String {
    let end = text.char_indices().map(|(at, _)| at).find(|at| *at >= LONGEST_FIELD).unwrap_or(text.len());
    text[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::LeaseId;

    fn decoded(family: Family, value: &str) -> Decoded {
        decode(
            &KeyFacts { key: b"/service/pg/members/pg1", value: value.as_bytes(), lease: LeaseId(1), version: 1 },
            family,
        )
    }

    #[test]
    fn vitess_says_who_locks_why_and_since_when() {
        let value = r#"{"Action":"PlannedReparentShard","HostName":"vtctld-1","UserName":"vt","Time":"2024-01-02T03:04:05Z","Status":"Running"}"#;
        let expected = Decoded::owner("vtctld-1")
            .with("action", "PlannedReparentShard")
            .with("host", "vtctld-1")
            .with("user", "vt")
            .with("time", "2024-01-02T03:04:05Z")
            .with("status", "Running");
        assert_eq!(decoded("vitess", value), expected);
    }

    #[test]
    fn milvus_says_address_host_and_server() {
        let value = r#"{"ServerID":7,"ServerName":"rootcoord","Address":"192.0.2.2:53100","Exclusive":true,"LeaseID":1,"HostName":"vm"}"#;
        let expected = Decoded::owner("192.0.2.2:53100")
            .with("address", "192.0.2.2:53100")
            .with("host", "vm")
            .with("server id", "7")
            .with("role", "rootcoord");
        assert_eq!(decoded("milvus", value), expected);
    }

    #[test]
    fn other_families_say_their_own() {
        assert_eq!(decoded("portworx", r#"{"LockerID":"px-1"}"#).owner.as_deref(), Some("px-1"));
        assert_eq!(decoded("dm", r#"{"id":"m1","addr":"10.0.0.1:8261"}"#).owner.as_deref(), Some("10.0.0.1:8261"));
        assert_eq!(decoded("rabbitmq", r#"{"node":"rabbit@a","ttl":61}"#).owner.as_deref(), Some("rabbit@a"));
        let airlock = decoded("airlock", r#"{"total_slots":2,"holders":["a","b"]}"#);
        assert_eq!(airlock, Decoded::owner("a, b").with("holders", "a, b").with("slots", "2"));
        let free = decoded("airlock", r#"{"total_slots":2,"holders":[]}"#);
        assert_eq!(free, Decoded { owner: None, fields: vec![("slots", "2".into())] });
        let dynamo = decoded(
            "dynamo",
            r#"{"component":"c","endpoint":"e","namespace":"n","instance_id":77,"transport":{"nats_tcp":"x"}}"#,
        );
        assert_eq!(dynamo.fields.last(), Some(&("transport", r#"{"nats_tcp":"x"}"#.to_owned())));
        assert_eq!(
            decoded("", r#"{"Op":0,"Addr":"h:1","Metadata":null}"#),
            Decoded::owner("h:1").with("address", "h:1")
        );
    }

    #[test]
    fn a_patroni_member_has_its_name_in_the_key_and_its_address_in_the_value() {
        let value = r#"{"conn_url":"postgres://127.0.0.1:23901/postgres","api_url":"http://127.0.0.1:23805/patroni","state":"running","role":"primary","version":"4.1.5"}"#;
        let decoded = decoded("patroni", value);
        assert_eq!(decoded.owner.as_deref(), Some("pg1"));
        assert_eq!(decoded.fields[0], ("connection", "postgres://127.0.0.1:23901/postgres".to_owned()));
    }

    #[test]
    fn long_members_are_cut_between_characters() {
        let decoded = decoded("portworx", &format!(r#"{{"LockerID":"{}"}}"#, "é".repeat(5000)));
        assert_eq!(decoded.owner.map(|owner| owner.len()), Some(LONGEST_FIELD));
    }
}
