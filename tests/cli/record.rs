//! `record` and `replay --headless`: files that are made, kept, refused, and read when they are
//! damaged.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program::lockscope;
use crate::support::etcd::{Cluster, newest};

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/recordings/version-1.jsonl")
}

/// Waits until a file has a text.
#[expect(clippy::disallowed_methods, reason = "how long another process takes")]
fn has(file: &Path, text: &str) {
    let start = Instant::now();
    while !fs::read_to_string(file).is_ok_and(|all| all.contains(text)) {
        assert!(start.elapsed() < Duration::from_mins(1), "{} never has {text}", file.display());
        std::thread::yield_now();
    }
}

/// Queues for a lock with a lease of its own.
fn enqueue(cluster: &Cluster, lock: &str) {
    let granted = cluster.told("lease grant 600");
    let lease = granted.split(' ').nth(1).unwrap();
    cluster.told(&format!("put --lease={lease} {lock}/{lease} v"));
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
    has(&file, "retrying");
    run.signal("TERM");
    let ended = run.end().expect(2);
    assert!(
        ended.stderr.contains("cannot connect to any endpoint:\n  cannot reach http://127.0.0.1:9:"),
        "{}",
        ended.stderr
    );
    let text = fs::read_to_string(&file).unwrap();
    assert!(text.lines().last().unwrap().contains("\"end\":\"told to end\""), "{text}");
    let replay = lockscope(["replay", file.to_str().unwrap(), "--headless"]).run().expect(0);
    assert_eq!((replay.text(), replay.stderr.as_str()), ("", ""));
}

#[test]
fn a_recording_is_meant_to_be_ended_by_ctrl_c_unless_it_has_a_length() {
    let Some(version) = newest("record: ended by Ctrl-C") else { return };
    let cluster = version.cluster().start();
    let endpoints = cluster.endpoints().join(",");
    let folder = tempfile::tempdir().unwrap();
    for (name, length, code) in [("open", None, 0), ("long", Some("1h"), 5)] {
        let file = folder.path().join(name);
        let length = length.map(|length| ["--for", length]);
        let arguments = ["--endpoints", &endpoints, "record", file.to_str().unwrap()];
        let mut run = lockscope(arguments.into_iter().chain(length.into_iter().flatten())).start();
        has(&file, "\"live\"");
        run.signal("INT");
        run.end().expect(code);
        assert!(fs::read_to_string(&file).unwrap().contains("\"end\":\"told to end\""), "{name}");
    }
}

#[test]
fn a_device_is_no_file_to_record_into() {
    if !Path::new("/dev/full").exists() {
        println!("not run: record: a device: there is no /dev/full");
        return;
    }
    let ended = lockscope(["record", "/dev/full", "--for", "1s"]).run().expect(6);
    assert!(ended.stderr.contains("/dev/full is there already"), "{}", ended.stderr);
}

#[test]
fn a_file_that_takes_no_more_is_told_and_what_it_took_can_be_replayed() {
    let Some(version) = newest("record: a file that takes no more") else { return };
    let cluster = version.cluster().start();
    let endpoints = cluster.endpoints().join(",");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("limited.jsonl");
    // As on a disk that is full, the system takes a part of what is written, and then nothing.
    let limited = "trap '' XFSZ; ulimit -f 16; exec \"$0\" \"$@\"";
    let program = env!("CARGO_BIN_EXE_lockscope");
    let arguments = ["--endpoints", &endpoints, "--prefix", "/", "record", file.to_str().unwrap(), "--for", "1m"];
    let mut command = Command::new("sh");
    command.args(["-c", limited, program]).args(arguments).env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    let run = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    has(&file, "\"live\"");
    enqueue(&cluster, "/jobs/a");
    let large = "v".repeat(4_000);
    for at in 1..=8 {
        cluster.told(&format!("put /jobs/b/{at} {large}"));
    }
    let ended = run.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(6), "{stderr}");
    assert!(stderr.contains("stopped: File too large") && stderr.contains(file.to_str().unwrap()), "{stderr}");
    let replayed = lockscope(["replay", file.to_str().unwrap(), "--headless"]).run().expect(0);
    assert!(replayed.stderr.contains("is truncated") && !replayed.stderr.contains("broken"), "{}", replayed.stderr);
    assert!(replayed.text().contains("/jobs/a"), "{}", replayed.text());
}

/// What the program was told to record is in the file but for the line that it was writing.
#[test]
fn killed_while_it_writes_a_recording_lacks_its_last_line_at_most() {
    let Some(version) = newest("record: killed") else { return };
    let cluster = version.cluster().start();
    let endpoints = cluster.endpoints().join(",");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("killed.jsonl");
    let mut run = lockscope(["--endpoints", &endpoints, "--prefix", "/", "record", file.to_str().unwrap()]).start();
    has(&file, "\"live\"");
    enqueue(&cluster, "/jobs/a");
    for at in 1..=20 {
        cluster.told(&format!("put /jobs/b/{at} me"));
    }
    has(&file, "/jobs/b/20");
    run.signal("KILL");
    run.end();
    let replayed = lockscope(["replay", file.to_str().unwrap(), "--headless"]).run().expect(0);
    assert!(replayed.stderr.contains("is truncated"), "{}", replayed.stderr);
    assert!(!replayed.stderr.contains("broken"), "{}", replayed.stderr);
    let whole = replayed.text().to_owned();
    assert!(whole.contains("/jobs/a"), "{whole}");
    // Cut anywhere in the last line, it is that line that is lost and nothing else.
    let recorded = fs::read(&file).unwrap();
    let begin = recorded[..recorded.len() - 1].iter().rposition(|&byte| byte == b'\n').unwrap() + 1;
    fs::write(&file, &recorded[..usize::midpoint(begin, recorded.len())]).unwrap();
    let replayed = lockscope(["replay", file.to_str().unwrap(), "--headless"]).run().expect(0);
    let last = String::from_utf8_lossy(&recorded[..begin]).lines().count() + 1;
    assert!(replayed.stderr.contains(&format!("line {last} is cut")), "{}", replayed.stderr);
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

#[test]
fn a_place_that_is_not_in_a_recording_is_refused_or_it_is_said_where_it_was_looked() {
    let file = fixture();
    let at = |place: &str| lockscope(["replay", file.to_str().unwrap(), "--headless", "--at", place]).env("TZ", "UTC");
    for (place, told) in [
        ("2025-12-31T23:59:59Z", "2025-12-31 23:59:59 is before the recording"),
        ("-1h", "2025-12-31 23:00:00 is before the recording"),
        ("rev 3", "revision 3 is before the recording"),
    ] {
        let ended = at(place).run().expect(3);
        assert!(ended.stderr.contains(told), "{place}: {}", ended.stderr);
        assert!(ended.stderr.contains("from 2026-01-01 00:00:00 to 2026-01-01 00:00:07"), "{place}: {}", ended.stderr);
        assert_eq!(ended.text(), "", "{place}");
    }
    let first = at("rev 41").run().expect(0);
    assert!(first.text().contains("/jobs/a") && !first.stderr.contains("lockscope: at"), "{}", first.stderr);
    for (place, told) in [
        ("+1h", "the recording ends at 2026-01-01 00:00:07, before 2026-01-01 01:00:00"),
        ("00:01:00", "the recording ends at 2026-01-01 00:00:07, before 2026-01-01 00:01:00"),
        ("rev 99999", "the recording ends at revision 43, before revision 99999"),
        ("start", "not all locks were read once"),
    ] {
        let ended = at(place).run().expect(0);
        assert!(ended.stderr.contains(told), "{place}: {}", ended.stderr);
    }
}
