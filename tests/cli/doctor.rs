//! `doctor`: what its exit code says.

use std::time::Duration;

use serde_json::Value;

use crate::play::{now, until};
use crate::program::lockscope;
use crate::rights::guarded;
use crate::store::{Store, on};
use crate::support::etcd::{Cluster, newest};
use crate::support::proxy::Proxy;

/// Longer than any look may take, and far from what 400 leases take that are asked one after the
/// other and do not answer: 400 times --command-timeout, half an hour.
const PATIENCE: Duration = Duration::from_secs(45);

#[test]
fn what_is_found_decides_how_it_ends_whether_somebody_reads_it_or_not() {
    let Some(version) = newest("doctor: how it ends") else { return };
    let cluster = version.cluster().start();
    let mut store = Store::of(&cluster);
    store.join("/jobs/calm", 0x1000, 60);
    let doctor = || on(&cluster, ["--prefix", "/jobs/", "doctor"]);
    doctor().run().expect(0);
    // Put again without its lease it stays for ever, and blocks whoever waits. One look takes it for
    // a key of the lock by the length of the id that it is named by.
    store.join("/jobs/stuck", 0x694d_8225_4d5f_a305, 60);
    store.join("/jobs/stuck", 0x694d_8225_4d5f_a307, 60);
    store.put("/jobs/stuck/694d82254d5fa305", "", 0);
    let ended = doctor().run().expect(8);
    assert!(ended.text().contains("holder-without-lease"), "{}", ended.text());
    // What helps goes to this cluster, whatever the shell it is pasted into knows.
    let endpoints = cluster.endpoints().join(",");
    let typed = format!("\tlockscope --endpoints {endpoints} release /jobs/stuck\n");
    assert!(ended.text().contains(&typed), "{}", ended.text());
    let by_variable = lockscope(["--prefix", "/jobs/", "doctor"]).env("ETCDCTL_ENDPOINTS", &endpoints).run().expect(8);
    assert!(by_variable.text().contains("\tlockscope release /jobs/stuck\n"), "{}", by_variable.text());
    let mut unread = doctor().start();
    drop(unread.child().stdout.take());
    unread.end().expect(8);
}

/// Three members and more leases than can be waited for one after the other.
fn crowded(test: &str) -> Option<Cluster> {
    let cluster = newest(test)?.cluster().members(3).start();
    let mut store = Store::of(&cluster);
    for lease in 0..400 {
        store.join(&format!("/jobs/{}", lease / 2), 0x1000 + lease, 600);
    }
    Some(cluster)
}

fn codes(document: &Value) -> Vec<&str> {
    document["findings"].as_array().unwrap().iter().map(|finding| finding["code"].as_str().unwrap()).collect()
}

#[test]
fn without_a_quorum_that_is_found_before_anybody_waits_for_each_lease() {
    let Some(cluster) = crowded("doctor: without a quorum") else { return };
    cluster.pause(0);
    cluster.pause(1);
    for prefix in [&[][..], &["--prefix", "/jobs/"]] {
        let began = now();
        let ended = on(&cluster, [prefix, &["doctor", "-w", "json"]].concat()).run().expect(8);
        let document: Value = serde_json::from_slice(&ended.stdout).unwrap();
        assert_eq!(codes(&document)[0], "no-quorum", "{document}");
        assert_eq!(document["complete"], false, "{document}");
        assert!(!ended.stderr.contains("nothing is wrong"), "{}", ended.stderr);
        assert!(ended.stderr.contains("no answer: "), "{}", ended.stderr);
        // With a prefix one member is enough for the locks; nobody is asked for each lease all the same.
        assert!(!prefix.is_empty() || ended.stderr.contains("needs a quorum"), "{}", ended.stderr);
        assert!(began.elapsed() < PATIENCE, "{prefix:?}: {:?}", began.elapsed());
    }
    // The other commands that look once do not wait for each lease either.
    for command in [&["ls"][..], &["leases"], &["show", "--tree"]] {
        let began = now();
        on(&cluster, command).run().expect(1);
        assert!(began.elapsed() < PATIENCE, "{command:?}: {:?}", began.elapsed());
    }
    let ended = on(&cluster, ["leases", "--prefix", "/jobs/"]).run().expect(0);
    assert_eq!(ended.text().lines().count(), 400);
    assert!(ended.stderr.contains("400 leases did not tell how long they live"), "{}", ended.stderr);
}

#[test]
fn members_that_come_back_meanwhile_make_no_all_clear_of_what_was_not_read() {
    let Some(cluster) = crowded("doctor: members that come back") else { return };
    cluster.pause(0);
    cluster.pause(1);
    // The member that runs answers through a proxy, which tells that the look has begun.
    let proxy = Proxy::start(cluster.address(2));
    let run = lockscope(["--endpoints", &proxy.endpoint(), "doctor", "-w", "json"]).start();
    until("the first answer", || (proxy.bytes_from_server() > 0).then_some(()));
    cluster.resume(0);
    cluster.resume(1);
    let ended = run.end();
    let document: Value = serde_json::from_slice(&ended.stdout).unwrap();
    let wrong = document["findings"].as_array().unwrap().iter().any(|finding| finding["severity"] == "error");
    assert_eq!(ended.code == Some(0), document["complete"] == true && !wrong, "{document}");
}

#[test]
fn a_role_for_one_prefix_is_told_what_it_cannot_see_and_is_no_failure() {
    let Some(cluster) = guarded("doctor: a role for one prefix") else { return };
    let ann = |arguments: &[&str]| on(&cluster, [&["--user", "ann:annpw"], arguments, &["doctor"]].concat());
    let ended = ann(&["--prefix", "/open/"]).run().expect(0);
    assert!(!ended.stderr.contains("no answer"), "{}", ended.stderr);
    assert!(ended.stderr.contains("not seen: "), "{}", ended.stderr);
    let ended = ann(&["--prefix", "/open/", "--prefix", "/secret/"]).run().expect(0);
    assert!(ended.text().starts_with("warn\tdenied\t"), "{}", ended.text());
    assert!(ended.stderr.contains("prefix /secret/ may not be read by user ann"), "{}", ended.stderr);
    let ended = ann(&["--prefix", "/secret/"]).run().expect(8);
    assert!(ended.text().starts_with("error\tdenied\t"), "{}", ended.text());
}

#[test]
fn one_look_says_in_a_line_that_it_cannot_see_renewals() {
    let Some(version) = newest("doctor: one look and renewals") else { return };
    let cluster = version.cluster().start();
    let mut store = Store::of(&cluster);
    store.join("/jobs/a", 0x1000, 60);
    store.join("/jobs/a", 0x2000, 60);
    let ended = on(&cluster, ["doctor"]).run().expect(0);
    let lines: Vec<_> = ended.stderr.lines().filter(|line| line.contains("renewed")).collect();
    assert_eq!(lines, ["not seen: whether 2 leases are renewed: one look cannot tell; --for 30s watches them"]);
    let ended = on(&cluster, ["doctor", "--for", "1s"]).run().expect(0);
    assert!(ended.stderr.contains("watched for 1s; long-hold tells of it from --for 12s on"), "{}", ended.stderr);
}
