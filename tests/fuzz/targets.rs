//! What is given hostile bytes, what has to hold whatever they are, and what to start from.

use std::fs;
use std::io::Cursor;
use std::path::Path;

use lockscope::domain::LeaseId;
use lockscope::layout::value::{self, kubernetes};
use lockscope::layout::{KeyFacts, MANY, SingleFacts, families, place, recognise_single};
use lockscope::model::Facts;
use lockscope::playground::scenario::{Scenario, Wishes};
use lockscope::record::{Item, Reader};
use lockscope::update::recorded;
use lockscope::view::text::{escape, escape_text};

/// The most lines of a recording that are played: each may have a whole keyspace in it.
const LINES: usize = 400;

fn folder(path: &str) -> Vec<Vec<u8>> {
    let entries = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

/// Whether a terminal only prints it.
fn is_harmless(text: &str) -> bool {
    !text.chars().any(|letter| letter.is_control() || ('\u{202a}'..='\u{202e}').contains(&letter))
}

/// Recordings of each version.
pub fn recordings() -> Vec<Vec<u8>> {
    folder("tests/data/recordings")
}

/// A recording is read to its end, and what is in it can be taken in, whatever it says.
pub fn recording(input: &[u8]) {
    let mut reader = match Reader::new(Cursor::new(input.to_vec()), Path::new("x.jsonl")) {
        Ok(reader) => reader,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let mut facts = Facts::new(200);
    for _ in 0..LINES {
        match reader.next_item().unwrap() {
            Some(Item::Observed(observed)) => recorded::observe(&mut facts, observed),
            Some(Item::End(end)) => recorded::pass_time(&mut facts, end.at),
            Some(Item::Dropped(..)) => {}
            None => break,
        }
    }
    assert!(facts.locks().all(|lock| is_harmless(&escape(lock.name()))));
}

/// The scenarios that come with the program.
pub fn scenarios() -> Vec<Vec<u8>> {
    folder("demo/scenarios")
}

/// A scenario is refused with a place and a reason, or can be cast.
pub fn scenario(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    match Scenario::from_toml(&text, Path::new("x.toml")) {
        Ok(scenario) => drop(scenario.cast("/lockscope/x/", Wishes::default())),
        Err(error) => assert!(is_harmless(&escape_text(&error.to_string())), "{error}"),
    }
}

/// A key, its lease and its value, a byte 10 apart.
fn parts(input: &[u8]) -> (&[u8], LeaseId, &[u8]) {
    let mut parts = input.splitn(3, |&byte| byte == b'\n');
    let mut part = || parts.next().unwrap_or_default();
    let (key, lease, value) = (part(), part(), part());
    let lease = std::str::from_utf8(lease).ok().and_then(|text| LeaseId::parse_hex(text).ok());
    (key, lease.unwrap_or(LeaseId::NONE), value)
}

/// Keys of known recipes.
pub fn keys() -> Vec<Vec<u8>> {
    [
        "/jobs/a/694d82254d5fa305\n694d82254d5fa305\n",
        "/jobs/a/00000000000000ab\nab\nnode-1",
        "/jobs/a/7587845617231201029\n694d82254d5fa305\n",
        "/locks/rw/read/1767225600123456789\n7\n",
        "/locks/rw/write/1767225600123456789\n7\n",
        "/barrier/waiters/1767225600123456789\n7\n",
        "queue/1767225600123456789\n0\nitem",
        "/uuid/lock/c6d2f0c8-5b1e-11ee-8c99-0242ac120002\n7\nc6d2f0c8-5b1e-11ee-8c99-0242ac120002",
        "/registry/leases/kube-system/kube-scheduler\n0\nk8s\0",
        "/service/pg/leader\n7\npg1",
        "vitess/global/keyspaces/commerce/locks/7587845617231201029\n694d82254d5fa305\n{\"Action\":\"x\"}",
        "/services/api/10.0.0.7:80\n7\n10.0.0.7:80",
        "\n\n",
    ]
    .map(|text| text.as_bytes().to_vec())
    .into()
}

/// A key has its place within itself, and is something.
pub fn layout(input: &[u8]) {
    let (key, lease, value) = parts(input);
    let key = KeyFacts { key, value, lease, version: 1 };
    let placed = place(&key);
    assert!(placed.name_len as usize <= key.key.len(), "{placed:?}");
    for siblings in 0..=MANY {
        let alone = SingleFacts { key, placed, leased_siblings: siblings, empty_leased_siblings: siblings };
        let recognised = recognise_single(&alone);
        assert!(recognised.family.is_empty() || families().any(|(family, ..)| family == recognised.family));
    }
}

/// Values of known programs.
pub fn values() -> Vec<Vec<u8>> {
    let kubernetes: &[u8] = b"k8s\0\n\x1f\n\x16coordination.k8s.io/v1\x12\x05Lease\x12x\nS\n\x10my-operator-lock\x12\0\x1a\x07default\"\0\x12!\n\0\x10\x0f\x1a\x0b\x08\xf3\xf2\xb0\xd8\x06\x10\x80\x94\xef:\"\x0c\x08\xa7\xb5\xb1\xd8\x06\x10\xe8\xca\x80\xb8\x02(\x07";
    let others = [
        r#"/a/b{"Action":"x","HostName":"h","UserName":"u","Time":"t","Status":"s"}"#,
        r#"{"ServerID":7,"address":"10.0.0.7:19530","exclusive":true,"nested":[{"a":[1,2,{"b":null}]}]}"#,
        "10.0.0.7:80",
        "[::1]:2379",
        "c6d2f0c8-5b1e-11ee-8c99-0242ac120002",
        "host.example:1234:99",
        "4711@host",
    ];
    others.iter().map(|text| text.as_bytes().to_vec()).chain([kubernetes.to_vec()]).collect()
}

/// A value is decoded as that of any family, and what it says can be shown.
pub fn value(input: &[u8]) {
    for (family, ..) in families() {
        let decoded = value::decode(&KeyFacts { key: b"/a/b", value: input, lease: LeaseId(7), version: 1 }, family);
        let texts = decoded.owner.iter().chain(decoded.fields.iter().map(|(_, text)| text));
        for text in texts {
            assert!(is_harmless(&escape_text(text)), "{text:?}");
        }
    }
    if let Some(lease) = kubernetes::Lease::parse(input) {
        assert!(lease.expires().is_none() || lease.renewed.is_some(), "{lease:?}");
    }
    assert!(is_harmless(&escape(input)));
}

/// Ids as they are printed and typed.
pub fn lease_ids() -> Vec<Vec<u8>> {
    [
        "694d82254d5fa305",
        "0x694d82254d5fa305",
        "00000000000000ab",
        "-7fffffffffffffff",
        "-8000000000000000",
        "ffffffffffffffff",
        "7587845617231201029",
        "0",
        "-1",
        "",
    ]
    .map(|text| text.as_bytes().to_vec())
    .into()
}

/// What is read as an id is read again as the same when it is printed.
pub fn lease_id(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    for id in [LeaseId::parse_hex(&text), LeaseId::parse_decimal(&text)].into_iter().flatten() {
        assert_eq!(LeaseId::parse_hex(&id.to_string()), Ok(id));
        assert_eq!(LeaseId::parse_hex(&id.unsigned_hex()), Ok(id));
        assert_eq!(LeaseId::parse_decimal(&id.0.to_string()), Ok(id));
    }
}
