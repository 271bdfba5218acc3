//! Keys and values that are no text, or text that would do something to a terminal.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::program::lockscope;
use crate::store::{Store, json_on, on};
use crate::support::etcd::newest;

const NASTY: &[&[u8]] = &[
    b"/jobs/\xff\xfe",
    b"/jobs/\x1b]0;owned\x07\x1b[2J",
    b"/jobs/a\tb\nc\rd",
    "/jobs/lock\u{202e}drow".as_bytes(),
    "/jobs/c1\u{9b}31m".as_bytes(),
    "/jobs/报告 e\u{301}".as_bytes(),
    b"/jobs/\"quoted\", 'and' | piped",
    b"/jobs/nul\0",
];

/// Puts a lock of each nasty name, held by a key whose value is the name too.
fn put_nasty_locks(store: &mut Store) {
    for (n, name) in NASTY.iter().enumerate() {
        let lease = 0x1000 + i64::try_from(n).unwrap();
        store.grant(lease, 60);
        store.put([name, format!("/{lease:x}").as_bytes()].concat(), *name, lease);
    }
}

#[test]
fn nothing_from_the_cluster_steers_the_terminal_or_breaks_a_line() {
    let Some(version) = newest("hostile: nothing steers the terminal") else { return };
    let cluster = version.cluster().start();
    let mut store = Store::of(&cluster);
    put_nasty_locks(&mut store);
    for command in [&["ls", ""][..], &["ls"], &["leases"], &["ls", "", "--all", "--hex"]] {
        for format in ["simple", "table", "json"] {
            let ended = on(&cluster, command.iter().chain(&["-w", format])).run().expect(0);
            let text = ended.text();
            let obeyed =
                |char: char| (char.is_control() && char != '\n' && char != '\t') || "\u{202e}\u{9b}".contains(char);
            assert!(!text.contains(obeyed), "{command:?} {format}: {text:?}");
            let lines = match format {
                "simple" => NASTY.len(),
                "table" => NASTY.len() + 4,
                _ => 1,
            };
            assert_eq!(text.lines().count(), lines, "{command:?} {format}: {text}");
        }
    }
    let lines = on(&cluster, ["ls", ""]).run().expect(0);
    assert!(lines.text().lines().all(|line| line.split('\t').count() == 8), "{}", lines.text());
}

#[test]
fn what_finds_troubles_and_what_mends_them_steers_the_terminal_no_more() {
    let Some(version) = newest("hostile: what finds troubles and mends them") else { return };
    let cluster = version.cluster().start();
    let mut store = Store::of(&cluster);
    put_nasty_locks(&mut store);
    // Each has one who waits, which is blocked for ever by a key that lost its lease.
    for (n, name) in NASTY.iter().enumerate() {
        let waiter = 0x2000 + i64::try_from(n).unwrap();
        store.grant(waiter, 60);
        store.put([name, format!("/{waiter:x}").as_bytes()].concat(), *name, waiter);
        store.put([name, format!("/{:x}", waiter - 0x1000).as_bytes()].concat(), *name, 0);
    }
    let listed = on(&cluster, ["ls", "/jobs/"]).run().expect(0);
    let names: Vec<&str> = listed.text().lines().filter_map(|line| line.split('\t').next()).collect();
    assert_eq!(names.len(), NASTY.len());
    let mut commands = vec![vec!["doctor"], vec!["show", "--tree"], vec!["revoke", "2001", "--dry-run"]];
    for name in names {
        commands.extend([vec!["history", name], vec!["release", name, "--dry-run"], vec!["show", "--tree", name]]);
    }
    for command in commands {
        for format in ["simple", "table", "json"] {
            let ended = on(&cluster, ["--prefix", "/jobs/", "-w", format].iter().chain(&command)).run();
            let ended = ended.expect(if command[0] == "doctor" { 8 } else { 0 });
            for text in [ended.text(), &ended.stderr] {
                let obeyed =
                    |char: char| (char.is_control() && char != '\n' && char != '\t') || "\u{202e}\u{9b}".contains(char);
                assert!(!text.contains(obeyed), "{command:?} {format}: {text:?}");
            }
        }
    }
}

#[test]
fn every_name_and_value_comes_out_of_json_as_it_is() {
    let Some(version) = newest("hostile: every name comes out of JSON as it is") else { return };
    let cluster = version.cluster().start();
    let mut store = Store::of(&cluster);
    put_nasty_locks(&mut store);
    let read = |text: &Value| match text {
        Value::String(text) => text.clone().into_bytes(),
        other => STANDARD.decode(other["base64"].as_str().unwrap()).unwrap(),
    };
    let document = json_on(&cluster, ["ls", "", "--all"]);
    let mut names: Vec<_> = document["locks"].as_array().unwrap().iter().map(|lock| read(&lock["name"])).collect();
    let mut values: Vec<_> =
        document["locks"].as_array().unwrap().iter().map(|lock| read(&lock["holder"]["value"])).collect();
    let mut expected: Vec<_> = NASTY.iter().map(|name| name.to_vec()).collect();
    for list in [&mut names, &mut values, &mut expected] {
        list.sort();
    }
    assert_eq!(names, expected);
    assert_eq!(values, expected);
}

#[test]
fn a_lock_whose_name_is_no_text_can_be_shown() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let Some(version) = newest("hostile: a name that is no text can be shown") else { return };
    let cluster = version.cluster().start();
    let mut store = Store::of(&cluster);
    store.grant(0x1000, 60);
    store.put(b"/jobs/\xff\x1b[2J/1000", "", 0x1000);
    let show =
        |name: &[u8]| on(&cluster, [OsStr::new("show"), OsStr::from_bytes(name), OsStr::new("-w"), OsStr::new("json")]);
    let document = show(b"/jobs/\xff\x1b[2J").json();
    assert_eq!(document["lock"]["name"], json!({"base64": STANDARD.encode(b"/jobs/\xff\x1b[2J")}));
    let ended = show(b"/jobs/\xff\x1b[2K").run().expect(1);
    assert!(!ended.stderr.contains('\x1b') && ended.stderr.contains("/jobs/\\xff\\x1b[2J"), "{}", ended.stderr);
}

#[test]
fn a_megabyte_is_listed_and_shown() {
    let Some(version) = newest("hostile: a megabyte is listed and shown") else { return };
    let cluster = version.cluster().start();
    let mut store = Store::of(&cluster);
    let name = format!("/jobs/{}", "报".repeat((1 << 20) / 3 - 100));
    store.join(&name, 0x1000, 60);
    store.grant(0x2000, 60);
    store.put("/jobs/value/2000", "é".repeat(1 << 19), 0x2000);
    let document = json_on(&cluster, ["ls", ""]);
    let locks = document["locks"].as_array().unwrap();
    assert!(locks.iter().any(|lock| lock["name"] == json!(name)));
    let valued = locks.iter().find(|lock| lock["name"] == "/jobs/value").unwrap();
    assert_eq!(valued["holder"]["value_size"], 1 << 20);
    // Cut, but still text.
    assert!(valued["holder"]["value"].is_string(), "{}", valued["holder"]["value"]);
    let table = on(&cluster, ["ls", "", "-w", "table"]).run().expect(0);
    assert!(table.text().lines().all(|line| line.len() < 2_000), "a table stays readable");
    let lines = on(&cluster, ["ls", ""]).run().expect(0);
    assert!(lines.text().contains(&name), "a line has the whole name");
}

#[test]
fn a_prefix_may_be_any_bytes() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let Some(version) = newest("hostile: a prefix may be any bytes") else { return };
    let cluster = version.cluster().start();
    let mut store = Store::of(&cluster);
    store.grant(0x1000, 60);
    store.put(b"\xff\xff/1000", "", 0x1000);
    store.join("/other", 0x2000, 60);
    let endpoints = cluster.endpoints().join(",");
    let arguments = [OsStr::new("--endpoints"), OsStr::new(&endpoints), OsStr::new("ls"), OsStr::from_bytes(b"\xff")];
    let ended = lockscope(arguments).run().expect(0);
    assert!(ended.text().starts_with("\\xff\\xff\tqueue\t"), "{}", ended.text());
    assert_eq!(ended.text().lines().count(), 1);
}

#[test]
fn a_name_that_ls_prints_can_be_given_to_show() {
    let Some(version) = newest("hostile: a printed name can be shown") else { return };
    let cluster = version.cluster().start();
    let mut store = Store::of(&cluster);
    store.grant(0x1000, 60);
    store.put(b"/h/\xff\xfe\x80bad/1000", "", 0x1000);
    for (name, hex) in [(r"/h/\xff\xfe\x80bad", false), ("2f682ffffe80626164", true)] {
        let arguments = ["show", name].into_iter().chain(hex.then_some("--hex"));
        let ended = on(&cluster, arguments).run().expect(0);
        assert!(ended.text().starts_with(&format!("lock\t{name}\t")), "{}", ended.text());
    }
}
