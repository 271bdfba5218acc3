//! The audit log: a line on the disk before anything is sent, and one after it.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::hand::{carry_out_noted, revoke};
use crate::store::{Store, on};
use crate::support::etcd::newest;

fn lines(path: &Path) -> Vec<Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_write_is_noted_before_and_after_with_who_and_what_and_without_values() {
    let Some(version) = newest("writes: a write is noted") else { return };
    let cluster = version.cluster().start();
    let mut store = Store::of(&cluster);
    let created = store.join("/q", 0xa1, 600);
    store.put("/q/a1", "hunter2", 0xa1);
    store.put("/s/lock/7e055af811b4bb53", "hunter2", 0);
    let log = cluster.folder().join("audit");
    let log_path = log.to_str().unwrap();
    on(&cluster, ["--audit-log", log_path, "revoke", "a1", "--yes"]).run().expect(0);
    on(&cluster, ["release", "/s/lock", "--yes"]).env("LOCKSCOPE_AUDIT_LOG", &log).run().expect(0);
    let lines = lines(&log);
    let events: Vec<_> = lines.iter().map(|line| line["event"].as_str().unwrap()).collect();
    assert_eq!(events, ["intent", "result", "intent", "result"]);
    assert_eq!(lines[0]["id"], lines[1]["id"]);
    assert_ne!(lines[0]["id"], lines[2]["id"]);
    let key = json!({"key": "/q/a1", "create_revision": created, "mod_revision": created + 1, "lease": "a1"});
    assert_eq!(lines[0]["before"]["keys"], json!([key]));
    assert_eq!(lines[0]["before"]["ttl"]["granted"], 600);
    assert_eq!(lines[0]["what"]["write"], "revoke");
    assert_eq!(lines[1]["after"]["outcome"], "done");
    assert_eq!(lines[2]["before"]["holder"], "/s/lock/7e055af811b4bb53");
    for field in ["os_user", "host", "pid"] {
        assert!(!lines[0]["who"][field].is_null(), "{field}: {}", lines[0]);
    }
    assert!(!fs::read_to_string(&log).unwrap().contains("hunter2"));
}

#[test]
fn what_cannot_be_noted_is_not_done() {
    let Some(version) = newest("writes: what cannot be noted") else { return };
    let cluster = version.cluster().start();
    Store::of(&cluster).join("/q", 0xa1, 600);
    for log in ["/nonexistent/folder/audit", "/dev/full"] {
        if log == "/dev/full" && !Path::new(log).exists() {
            continue;
        }
        let refused = on(&cluster, ["--audit-log", log, "revoke", "a1", "--yes"]).run().expect(6);
        assert!(refused.stderr.contains(log) && refused.stderr.contains("nothing was done"), "{}", refused.stderr);
    }
    assert!(cluster.told("get --prefix --keys-only /q").contains("/q/a1"));
}

#[test]
fn the_intent_is_on_the_disk_when_the_member_dies_before_the_answer() {
    let Some(version) = newest("writes: the intent is on the disk") else { return };
    let cluster = version.cluster().start();
    let created = Store::of(&cluster).join("/q", 0xa1, 600);
    let log = cluster.folder().join("audit");
    let proxy = std::sync::Arc::new(crate::support::proxy::Proxy::start(cluster.address(0)));
    let hold = std::sync::Arc::clone(&proxy);
    carry_out_noted(&log, vec![proxy.endpoint()], &revoke(0xa1, &[("/q/a1", created)]), move || hold.freeze());
    let lines = lines(&log);
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[1]["after"]["outcome"], "unknown");
}

#[test]
fn control_c_while_a_write_is_under_way_says_that_its_outcome_is_unknown() {
    let Some(version) = newest("writes: control-c while a write is under way") else { return };
    let cluster = version.cluster().start();
    Store::of(&cluster).join("/q", 0xa1, 600);
    // A pipe that is full holds the write up where it notes its intent.
    let log = cluster.folder().join("pipe");
    assert!(Command::new("mkfifo").arg(&log).status().unwrap().success());
    let mut pipe = OpenOptions::new().read(true).write(true).open(&log).unwrap();
    pipe.write_all(&vec![b' '; 65_536]).unwrap();
    let mut running = on(&cluster, ["--audit-log", log.to_str().unwrap(), "revoke", "a1", "--yes"]).start();
    let opened = format!("/proc/{}/fd", running.child().id());
    let has_opened = || {
        let files = fs::read_dir(&opened).into_iter().flatten().flatten();
        files.filter_map(|file| fs::read_link(file.path()).ok()).any(|file| file == log)
    };
    if File::open("/proc/self/stat").is_err() {
        return;
    }
    for _ in 0..1_000 {
        if has_opened() {
            break;
        }
        moment();
    }
    running.signal("INT");
    let ended = running.end().expect(5);
    assert!(ended.stderr.contains("unknown whether it was done"), "{}", ended.stderr);
    assert!(ended.stderr.contains("lockscope revoke a1 --dry-run"), "{}", ended.stderr);
}

#[expect(clippy::disallowed_methods, reason = "between two looks at a process that is about to open a file")]
fn moment() {
    thread::sleep(Duration::from_millis(5));
}
