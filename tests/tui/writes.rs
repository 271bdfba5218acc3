//! Writes from the dashboard: what has to be typed, what goes then, and what is said when nobody
//! knows.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use etcd_client::{Client, PutOptions};

use super::locks::World;
use super::pty::{Setup, Tui, lockscope, now, run};
use super::support::embedded::Embedded;
use super::support::etcd::{Cluster, newest};
use super::support::proxy::Proxy;

/// The lease of a key that ends in it.
fn lease_in(key: &str) -> &str {
    key.rsplit('/').next().unwrap()
}

/// All keys of an etcd.
fn keys(cluster: &Cluster) -> Vec<String> {
    let listed = cluster.told("get --prefix --keys-only /");
    listed.lines().filter(|line| !line.is_empty()).map(Into::into).collect()
}

#[test]
fn a_lease_is_revoked_once_its_id_is_typed_with_what_nobody_watches() {
    let Some(world) = World::new("a_lease_is_revoked_once_its_id_is_typed") else { return };
    let (holder, waiter) = (world.enqueue("/jobs/reindex", 600), world.enqueue("/jobs/reindex", 600));
    let lease = lease_in(&holder);
    world.cluster.told(&format!("put --lease={lease} /elsewhere/config v"));
    let tui = world.lockscope(&["--prefix", "/jobs/"]).start();
    tui.shows("/jobs/reindex");
    tui.keys("R");
    tui.shows(&format!("type {lease} to revoke it"));
    for text in ["/elsewhere/config", "not watched", &format!("passes to {}", lease_in(&waiter))] {
        tui.shows(text);
    }
    tui.keys("694d\r");
    tui.shows("That is not the word");
    assert_eq!(keys(&world.cluster).len(), 3, "a wrong word does nothing");
    tui.keys(&format!("\x15{lease}\r"));
    tui.shows("DONE");
    tui.shows(&format!("held by {}", lease_in(&waiter)));
    assert_eq!(keys(&world.cluster), [waiter]);
    tui.keys("\x1b");
    tui.hides("DONE");
    tui.keys("q");
    assert_eq!(tui.ends(), 0);
    assert_eq!(tui.left_over(), Vec::<&str>::new());
}

#[test]
fn a_lease_that_changes_while_it_is_shown_is_shown_again() {
    let Some(world) = World::new("a_lease_that_changes_while_it_is_shown") else { return };
    let holder = world.enqueue("/jobs/reindex", 600);
    let lease = lease_in(&holder);
    let tui = world.lockscope(&["--prefix", "/jobs/"]).start();
    tui.shows("/jobs/reindex");
    tui.keys("R");
    tui.shows(&format!("type {lease} to revoke it"));
    tui.keys(lease);
    for (key, told) in [("/jobs/other/watched", "1 key is new"), ("/elsewhere/unwatched", "/elsewhere/unwatched")] {
        world.cluster.told(&format!("put --lease={lease} {key} v"));
        tui.shows(told);
        tui.shows("The lease changed: look again.");
        tui.keys("\r");
        tui.shows("That is not the word");
        tui.keys(lease);
        tui.hides("That is not the word");
    }
    tui.keys("\x1b");
    tui.hides("Revoke lease");
    assert_eq!(keys(&world.cluster).len(), 3, "nothing was done");
}

#[test]
fn a_release_deletes_the_key_and_leaves_the_lease() {
    let Some(world) = World::new("a_release_deletes_the_key") else { return };
    let (holder, waiter) = (world.enqueue("/jobs/reindex", 600), world.enqueue("/jobs/reindex", 600));
    let tui = world.lockscope(&[]).start();
    tui.shows("/jobs/reindex");
    tui.keys("\rD");
    tui.shows("type reindex to delete the key");
    tui.keys("reindex\r");
    tui.shows("DONE");
    tui.shows(&format!("held by {}", lease_in(&waiter)));
    assert_eq!(keys(&world.cluster), [waiter]);
    assert!(world.cluster.told("lease list").contains(lease_in(&holder)), "only the key went");
}

#[test]
fn read_only_shows_what_would_go_and_sends_nothing() {
    let Some(world) = World::new("read_only_shows_what_would_go") else { return };
    let holder = world.enqueue("/jobs/reindex", 600);
    let tui = world.lockscope(&["--read-only"]).start();
    tui.shows("/jobs/reindex");
    tui.shows("READ-ONLY");
    for command in ["R", "D", ":release /jobs/reindex\r"] {
        tui.keys(command);
        tui.shows("A preview: --read-only refuses");
        tui.shows("etcdctl");
        tui.keys("reindex\r");
        tui.shows("? help");
    }
    assert_eq!(keys(&world.cluster), [holder]);
}

#[test]
fn the_lead_is_moved_to_the_member_that_is_named() {
    let Some(version) = newest("the_lead_is_moved") else { return };
    let cluster = version.cluster().members(3).start();
    let tui = lockscope(&["--endpoints", &cluster.endpoints().join(",")]).start();
    tui.shows("LIVE");
    moves_the_lead(&tui, &[cluster.name(0), cluster.name(1)]);
}

#[test]
fn on_the_demos_cluster_the_lead_is_moved_through_the_same_client() {
    let tui = lockscope(&["demo", "--theme", "dark"]).size(120, 36).start();
    tui.shows("HOLDS");
    tui.keys("4");
    moves_the_lead(&tui, &["n1", "n2"]);
    tui.keys("\x1b");
    tui.hides("DONE");
    tui.keys("K");
    tui.shows("killed n");
}

/// Moves the lead to the first of these that does not lead.
fn moves_the_lead(tui: &Tui, names: &[&str]) {
    tui.wait("a leader", |screen| screen.contents().lines().next().is_some_and(|line| line.contains('★')));
    for name in names {
        tui.keys(&format!(":move-leader {name}\r"));
        tui.wait("the dialog, or why there is none", |screen| {
            let text = screen.contents();
            text.contains("this member leads already")
                || text.contains(&format!("type move-leader {name} to move the lead"))
        });
        if tui.look(|screen| screen.contents().contains("leads already")) {
            // That message is not to be taken for one about the next.
            tui.keys(":theme dark\r");
            tui.shows("theme dark");
            continue;
        }
        tui.keys(&format!("move-leader {name}\r"));
        tui.shows(&format!("Done: {name} leads"));
        return;
    }
    panic!("all of {names:?} lead");
}

#[test]
fn an_alarm_is_disarmed_once_its_name_is_typed() {
    let Some(version) = newest("an_alarm_is_disarmed") else { return };
    let cluster = version.cluster().flag("--quota-backend-bytes=1048576").start();
    let large = "x".repeat(120_000);
    while cluster.ctl(&["put", "/fill", &large]).status.success() {}
    assert!(cluster.told("alarm list").contains("NOSPACE"));
    let tui = lockscope(&["--endpoints", &cluster.endpoints().join(",")]).start();
    tui.shows("LIVE");
    tui.keys("4");
    tui.shows("NOSPACE");
    tui.keys(":disarm\r");
    tui.shows("type NOSPACE to disarm it");
    tui.shows("It comes back with the next write");
    tui.keys("space\r");
    tui.shows("That is not the word");
    assert!(cluster.told("alarm list").contains("NOSPACE"), "a wrong word does nothing");
    tui.keys("\x15nospace\r");
    tui.shows("Done: the alarm is not raised any more");
    assert!(!cluster.told("alarm list").contains("NOSPACE"));
}

#[test]
fn who_may_only_read_is_told_in_the_dialog_which_right_it_takes() {
    let Some(version) = newest("who_may_only_read") else { return };
    let cluster = version.cluster().start();
    cluster.told("put /open/lock/7e055af811b4bb53 me");
    cluster.guard();
    let arguments = ["--endpoints", &cluster.endpoints().join(","), "--user", "ann:annpw", "--prefix", "/open/"];
    let tui = lockscope(&arguments).start();
    tui.shows("/open/lock");
    tui.keys("D");
    tui.shows("type lock to delete the key");
    tui.keys("lock\r");
    tui.shows("REFUSED");
    for words in ["permission denied", "it takes a role that may read and write the key"] {
        tui.shows(words);
    }
    tui.keys("\x1b");
    tui.hides("REFUSED");
    assert!(cluster.told("--user root:rootpw get --prefix --keys-only /open/").contains("7e055af811b4bb53"));
    // Earlier ones tell everybody who leads, and one that leads alone cannot be asked to.
    if version.at_least(3, 5, 17) {
        tui.keys(&format!(":move-leader {}\r", cluster.name(0)));
        tui.shows("Who leads may not be asked");
        tui.keys(&format!("move-leader {}\r", cluster.name(0)));
        tui.shows("NOT SENT");
        tui.shows("it takes the role root");
    }
}

#[test]
fn a_recording_that_stops_says_so_on_the_screen_and_at_the_shell() {
    let Some(world) = World::new("a_recording_that_stops") else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("limited.jsonl");
    // As on a disk that is full, the system takes a part of what is written, and then nothing.
    let limited = "trap '' XFSZ; ulimit -f 16; exec \"$0\" \"$@\"";
    let endpoints = world.cluster.endpoints().join(",");
    let program = env!("CARGO_BIN_EXE_lockscope");
    let arguments = ["--endpoints", &endpoints, "--prefix", "/", "--record", file.to_str().unwrap()];
    let tui = run("sh", &[&["-c", limited, program], &arguments[..]].concat()).size(160, 24).start();
    tui.shows("LIVE");
    let large = "v".repeat(4_000);
    for at in 1..=8 {
        world.cluster.told(&format!("put /jobs/a/{at} {large}"));
    }
    tui.shows("stopped: File too large");
    tui.keys("q");
    assert_eq!(tui.ends(), 6, "a file could not be written");
    let text = tui.look(vt100::Screen::contents).replace('\n', "");
    assert!(text.contains("limited.jsonl stopped: File too large"), "{text}");
}

/// An embedded cluster that takes a while for each write, and the only way to it.
struct Slow {
    cluster: Embedded,
    proxy: Proxy,
    folder: tempfile::TempDir,
}

/// The lease that holds the lock there.
const LEASE: i64 = 0x00a1;

impl Slow {
    fn new() -> Self {
        let cluster = Embedded::start(3);
        let endpoints = cluster.endpoints();
        cluster.wait(async move {
            let mut client = Client::connect(endpoints, None).await.unwrap();
            client.lease_grant(600, Some(etcd_client::LeaseGrantOptions::new().with_id(LEASE))).await.unwrap();
            client.put("/jobs/reindex/a1", "", Some(PutOptions::new().with_lease(LEASE))).await.unwrap();
        });
        let proxy = Proxy::start(cluster.members[0].endpoint.parse().unwrap());
        Self { cluster, proxy, folder: tempfile::tempdir().unwrap() }
    }

    fn lockscope(&self) -> Setup {
        self.lockscope_with(&[])
    }

    fn lockscope_with(&self, more: &[&str]) -> Setup {
        let audit = self.audit();
        let arguments = ["--endpoints", &self.proxy.endpoint(), "--audit-log", audit.to_str().unwrap()];
        lockscope(&[&arguments[..], &["--command-timeout", "4s"], more].concat())
    }

    fn audit(&self) -> std::path::PathBuf {
        self.folder.path().join("audit")
    }

    /// Confirms the revoke and waits until it is about to be sent.
    fn revoke(&self, tui: &Tui) {
        tui.shows("/jobs/reindex");
        self.cluster.fault("delay 100ms");
        tui.keys("R");
        tui.shows("type revoke a1 to revoke it");
        tui.keys("revoke a1\r");
        has_line(&self.audit());
    }
}

/// Waits until a file has a whole line.
fn has_line(file: &Path) {
    let start = now();
    while !fs::read_to_string(file).is_ok_and(|text| text.contains('\n')) {
        assert!(start.elapsed() < Duration::from_secs(30), "{} gets no line", file.display());
        thread::yield_now();
    }
}

#[test]
fn a_connection_that_is_lost_while_it_runs_leaves_it_unknown() {
    let slow = Slow::new();
    let tui = slow.lockscope().start();
    slow.revoke(&tui);
    slow.proxy.cut();
    tui.shows("RUNNING");
    tui.shows("UNKNOWN");
    tui.shows("Unknown, here is how to look.");
    tui.shows("lockscope revoke a1 --dry-run");
    assert!(!tui.look(|screen| screen.contents().contains("DONE")));
    tui.keys("q");
    tui.hides("UNKNOWN");
    tui.keys("q");
    assert_eq!(tui.ends(), 0);
    let audit = fs::read_to_string(slow.audit()).unwrap();
    assert!(audit.lines().count() == 2 && audit.contains("unknown"), "{audit}");
    drop(slow.cluster);
}

#[test]
fn whoever_quits_while_it_runs_is_told_what_came_of_it() {
    let slow = Slow::new();
    let record = slow.folder.path().join("record.jsonl");
    let tui = slow.lockscope_with(&["--record", record.to_str().unwrap()]).start();
    slow.revoke(&tui);
    tui.keys("\x03");
    assert_eq!(tui.ends(), 0);
    let recorded = fs::read_to_string(record).unwrap();
    assert!(recorded.contains("write_done"), "what came of it is in the recording: {recorded}");
    assert_eq!(tui.left_over(), Vec::<&str>::new());
    let text = tui.look(vt100::Screen::contents);
    assert!(text.contains("waiting for the outcome") && text.contains("done: revoke lease a1, at revision"), "{text}");
}

#[test]
fn whoever_does_not_wait_for_the_outcome_either_is_told_so_and_the_audit_log_too() {
    let slow = Slow::new();
    let tui = slow.lockscope().start();
    slow.revoke(&tui);
    slow.proxy.cut();
    tui.keys("\x03");
    tui.shows("waiting for the outcome");
    tui.keys("\x03");
    assert_eq!(tui.ends(), 5);
    let text = tui.look(vt100::Screen::contents);
    assert!(text.contains("UNKNOWN whether") && text.contains("not waited for"), "{text}");
    let audit = fs::read_to_string(slow.audit()).unwrap();
    assert!(audit.lines().count() == 2 && audit.contains("broken off"), "{audit}");
}

#[test]
fn whoever_quits_while_the_connection_is_lost_is_told_that_nobody_knows() {
    let slow = Slow::new();
    let tui = slow.lockscope().start();
    slow.revoke(&tui);
    slow.proxy.cut();
    tui.keys("\x03");
    assert_eq!(tui.ends(), 1);
    let text = tui.look(vt100::Screen::contents).replace('\n', "");
    assert!(text.contains("UNKNOWN whether"), "{text}");
    assert!(text.contains("to see what came of it: ETCDCTL_ENDPOINTS="), "{text}");
    assert!(text.contains("lockscope revoke a1 --dry-run"), "{text}");
}
