//! `record` and `replay --headless`: files that are made, kept, refused, and read when they are
//! damaged.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::program::lockscope;
use crate::support::etcd::newest;

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/recordings/version-1.jsonl")
}

#[test]
fn what_was_recorded_is_replayed_to_the_same_locks_and_a_cut_recording_says_so() {
    let Some(version) = newest("record: what was recorded is replayed") else { return };
    let cluster = version.cluster().start();
    let endpoints = cluster.endpoints().join(",");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("incident.jsonl");
    let text = file.to_str().unwrap();
    cluster.told("put /jobs/a/1000000000000001 me");
    let ended =
        lockscope(["--endpoints", &endpoints, "--prefix", "/", "record", text, "--for", "2s", "-w", "json"]).run();
    let ended = ended.expect(0);
    let told: Value = serde_json::from_str(ended.text()).unwrap();
    assert_eq!(told["bytes"], fs::metadata(&file).unwrap().len());
    assert!(told["observations"].as_u64().unwrap() > 5 && told["dropped"] == 0, "{told}");
    let listed = lockscope(["--endpoints", &endpoints, "--prefix", "/", "ls", "--ttl", "none", "-w", "json"]).json();
    let replayed = lockscope(["replay", text, "--headless", "-w", "json"]).json();
    assert_eq!((&replayed["cluster_id"], &replayed["revision"]), (&listed["cluster_id"], &listed["revision"]));
    assert_eq!(replayed["locks"], listed["locks"]);
    let again = lockscope(["--endpoints", &endpoints, "record", text, "--for", "1s"]).run().expect(6);
    assert!(again.stderr.contains("overwrites nothing"), "{}", again.stderr);
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let cut = lockscope(["replay", text, "--headless"]).run().expect(0);
    assert!(cut.stderr.contains("is truncated"), "{}", cut.stderr);
}

#[test]
fn broken_off_a_recording_is_ended_in_order_and_it_begins_before_its_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.jsonl");
    let mut run = lockscope(["--endpoints", "127.0.0.1:9", "record", file.to_str().unwrap()]).start();
    while !fs::read_to_string(&file).is_ok_and(|text| text.contains("retrying")) {
        std::thread::yield_now();
    }
    run.signal("TERM");
    run.end().expect(0);
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.lines().last().unwrap().contains("\"end\":\"told to end\""), "{text}");
    let replay = lockscope(["replay", file.to_str().unwrap(), "--headless"]).run().expect(0);
    assert_eq!((replay.text(), replay.stderr.as_str()), ("", ""));
}

#[test]
fn what_is_no_recording_is_a_file_error_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text, words) in [
        ("empty", &b""[..], "is empty"),
        ("binary", b"\x7fELF\x00", "is no recording"),
        ("other", b"{\"a\":1}\n", "is no recording"),
        ("newer", b"{\"lockscope\":\"recording\",\"version\":9,\"at\":1}\n", "version 9"),
    ] {
        let file = folder.path().join(name);
        fs::write(&file, text).unwrap();
        let ended = lockscope(["replay", file.to_str().unwrap(), "--headless"]).run().expect(6);
        assert!(ended.stderr.contains(words) && ended.stdout.is_empty(), "{name}: {}", ended.stderr);
    }
    for path in [folder.path(), Path::new("/nowhere/at/all")] {
        let ended = lockscope(["replay", path.to_str().unwrap(), "--headless"]).run().expect(6);
        assert!(ended.stderr.contains("cannot read the recording"), "{}", ended.stderr);
    }
    lockscope(["--record", "x.jsonl", "ls"]).run().expect(128);
}

#[test]
fn a_replay_ends_earlier_where_it_is_told_to_and_says_what_it_passed_over() {
    let fixture = fixture();
    let name = fixture.to_str().unwrap();
    let locks = |at: &[&str]| lockscope([&["replay", name, "--headless", "-w", "json"], at].concat()).json();
    let holder = |document: &Value| document["locks"][0]["holder"]["key"].as_str().unwrap_or_default().to_owned();
    assert_eq!(holder(&locks(&["--at", "rev 41"])), "/jobs/a/694d82254d5fa305");
    assert_eq!(holder(&locks(&["--at", "+1s"])), "/jobs/a/694d82254d5fa305");
    assert_eq!(holder(&locks(&["--at", "2026-01-01T00:00:02Z"])), "/jobs/a/694d82254d5fa30b");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("broken.jsonl");
    let text = fs::read_to_string(&fixture).unwrap().replace("\"progress\":43", "\"progress\":x");
    fs::write(&file, text.replace("\"alarms\"", "\"weather\"")).unwrap();
    let ended = lockscope(["replay", file.to_str().unwrap(), "--headless"]).run().expect(0);
    for words in ["1 broken line of", "line 10 (column", "weather (1)", "12 observations are not in"] {
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
}
