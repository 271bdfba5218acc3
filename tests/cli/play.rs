//! `play` and `demo` with scenarios: what they print, what they refuse, what they leave behind.

use std::collections::BTreeSet;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program::{Ended, lockscope, words};
use crate::support::etcd::{Cluster, newest, versions};

/// Those that only a cluster of one's own allows.
const WITH_FAULTS: [&str; 3] = ["leader-failover", "split-vote", "partition"];

fn names() -> Vec<String> {
    let listed = lockscope(["play", "--list", "-w", "json"]).json();
    let scenarios = listed["scenarios"].as_array().unwrap();
    scenarios.iter().map(|scenario| scenario["name"].as_str().unwrap().to_owned()).collect()
}

/// What a run printed, whether or not all was as expected.
fn document(ended: &Ended) -> Value {
    serde_json::from_slice(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.stderr))
}

/// What was expected and was not so.
fn broken(document: &Value) -> Vec<String> {
    let expectations = document["expectations"].as_array().unwrap();
    assert!(!expectations.is_empty());
    let broken = expectations.iter().filter(|expectation| expectation["held"] != true);
    broken.map(|expectation| format!("{}: {expectation}", document["scenario"])).collect()
}

/// Plays scenarios beside each other, each by a line of arguments.
fn all_hold(lines: impl IntoIterator<Item = String>, what: &str) {
    let runs: Vec<_> = lines.into_iter().map(|line| lockscope(words(&line)).start()).collect();
    let ended: Vec<Ended> = runs.into_iter().map(crate::program::Running::end).collect();
    let broken: Vec<String> = ended.iter().flat_map(|ended| broken(&document(ended))).collect();
    assert!(broken.is_empty(), "{what}:\n{}", broken.join("\n"));
    assert!(ended.iter().all(|ended| ended.code == Some(0)), "{what}");
}

#[expect(clippy::disallowed_methods, reason = "a deadline for programs that run, in a suite without a runtime")]
pub fn now() -> Instant {
    Instant::now()
}

/// Waits until a look at a cluster shows what is wanted; each look takes its time.
pub fn until<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let began = now();
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(now().duration_since(began) < Duration::from_secs(30), "not within 30 s: {what}");
        thread::yield_now();
    }
}

fn keys(cluster: &Cluster) -> BTreeSet<String> {
    let told = cluster.told("get --prefix --keys-only /lockscope/");
    told.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn every_scenario_keeps_its_promises_on_a_cluster_inside_the_program() {
    let line = |name: String| format!("demo {name} --headless --for 20s --seed 7 -w json");
    // Half of them at a time: each has a cluster of its own.
    let names = names();
    for half in names.chunks(names.len().div_ceil(2)) {
        all_hold(half.iter().cloned().map(line), "embedded");
    }
}

#[test]
fn every_scenario_keeps_its_promises_on_real_etcds_and_leaves_nothing_behind() {
    for version in versions("every_scenario_keeps_its_promises_on_real_etcds_and_leaves_nothing_behind") {
        let cluster = version.cluster().members(3).start();
        let endpoints = cluster.endpoints().join(",");
        let names = names().into_iter().filter(|name| !WITH_FAULTS.contains(&name.as_str()));
        let line = |name| format!("--endpoints {endpoints} play {name} --headless --for 20s -w json");
        all_hold(names.map(line), &version.to_string());
        assert!(keys(&cluster).is_empty(), "{version}: {:?}", keys(&cluster));
        assert!(cluster.told("lease list").contains("found 0 leases"), "{version}");
    }
}

#[test]
fn the_same_seed_plays_the_same_in_virtual_time() {
    let run = |seed: &str| {
        let arguments =
            ["demo", "zombie", "--headless", "--virtual-time", "--for", "60s", "-w", "json", "--seed", seed];
        lockscope(arguments).json()
    };
    let (one, other) = (run("42"), run("42"));
    assert_eq!(one, other);
    let timeline = |document: &Value| document["timeline"].as_array().unwrap().clone();
    assert_ne!(timeline(&one), timeline(&run("43")));
    let events: BTreeSet<String> =
        timeline(&one).iter().map(|event| event["event"].as_str().unwrap().to_owned()).collect();
    for event in ["began", "first", "acquired", "paused", "dropped", "wrote", "refused", "damaged", "told", "lost"] {
        assert!(events.contains(event), "{event} is not among {events:?}");
    }
    assert!(!events.contains("other"));
    for number in ["fairness", "calls_per_handoff", "events_per_handoff"] {
        assert!(one[number].as_f64().unwrap() > 0.0, "{number}");
    }
    assert_eq!(one["resources"][1]["name"], "blind");
}

#[test]
fn a_run_that_is_too_short_is_judged_by_what_was_seen() {
    let ended = lockscope(words("demo zombie --headless --virtual-time --for 2s --seed 7 -w json")).run().expect(1);
    assert!(broken(&document(&ended)).len() >= 4, "{}", ended.stderr);
    assert!(ended.stderr.contains("not so: stale write refused by ledger: "), "{}", ended.stderr);
}

#[test]
fn a_file_of_ones_own_is_checked_and_played() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mine.toml");
    let good = include_str!("../../demo/scenarios/lease-expiry.toml");
    std::fs::write(&path, good).unwrap();
    let shown = path.to_str().unwrap();
    assert_eq!(lockscope(["play", "--check", shown]).run().expect(0).text(), "ok\n");
    let played = ["demo", shown, "--headless", "--virtual-time", "--for", "20s", "--seed", "7", "-w", "json"];
    assert_eq!(lockscope(played).json()["scenario"], "lease-expiry");

    std::fs::write(&path, good.replacen("count = 3", "count = 3\nhodl = \"1s\"", 1)).unwrap();
    let ended = lockscope(["play", "--check", shown]).run().expect(3);
    let line = 1 + good.lines().position(|line| line == "count = 3").unwrap();
    let place = format!("{shown}:{}:1: unknown name `hodl`; did you mean `hold`?", line + 1);
    assert!(ended.stderr.contains(&place), "{}", ended.stderr);
    assert!(ended.stderr.contains("docs/scenarios.md"), "{}", ended.stderr);

    std::fs::write(&path, good.replacen("[[clients]]", "\u{1b}[2J", 1)).unwrap();
    let ended = lockscope(["play", "--check", shown]).run().expect(3);
    assert!(!ended.stderr.contains('\u{1b}') && ended.stderr.contains("\\x1b[2J"), "{}", ended.stderr);

    let ended = lockscope(["play", "--check", "/nowhere/mine.toml"]).run().expect(6);
    assert!(ended.stderr.contains("cannot read the scenario /nowhere/mine.toml: "), "{}", ended.stderr);
}

#[test]
fn what_cannot_be_played_is_refused_with_what_can() {
    let said = |line: &str, code: i32| lockscope(words(line)).run().expect(code).stderr;
    let error = said("play zombi --headless --for 1s", 3);
    assert!(error.contains("no scenario `zombi`; did you mean `zombie`?") && error.contains("--list"), "{error}");
    for name in WITH_FAULTS {
        let error = said(&format!("play {name} --headless --for 1s"), 3);
        assert!(error.contains(&format!("`lockscope demo {name}`")), "{error}");
    }
    let error = said("play zombie --headless --for 1s --read-only", 3);
    assert!(error.contains("--read-only"), "{error}");
    let error = said("play zombie", 3);
    assert!(error.contains("needs a terminal"), "{error}");
    for line in ["play zombi", "demo zombi"] {
        let error = said(line, 3);
        assert!(error.contains("no scenario `zombi`"), "{error}");
    }
    let error = said("play zombie --headless --for 1s --endpoints 127.0.0.1:1", 2);
    assert!(error.contains("127.0.0.1:1"), "{error}");
    said("play", 128);
    said("play --list zombie", 128);
    said("play zombie --headless", 128);
    let error = said("demo zombie --for 1s", 128);
    assert!(error.contains("--headless"), "{error}");
    said("play zombie --for 1s", 128);
    said("play zombie --hold 3s..1s --headless --for 1s", 128);
}

#[test]
fn a_signal_ends_it_and_what_is_others_stays() {
    let Some(version) = newest("a_signal_ends_it_and_what_is_others_stays") else { return };
    let cluster = version.cluster().start();
    cluster.told("put /lockscope/other mine");
    for signal in ["INT", "TERM", "HUP"] {
        let line = format!("--endpoints {} play fifo --headless --for 60s", cluster.endpoint(0));
        let mut running = lockscope(words(&line)).start();
        until("clients enqueue", || (keys(&cluster).len() > 3).then_some(()));
        running.signal(signal);
        let ended = running.end();
        assert_eq!(ended.code, Some(5), "{signal}: {}", ended.stderr);
        assert!(ended.stderr.contains("broken off after "), "{signal}: {}", ended.stderr);
        assert!(ended.text().contains("handoffs\t"), "what was seen is told: {}", ended.text());
        assert_eq!(keys(&cluster), BTreeSet::from(["/lockscope/other".to_owned()]), "{signal}");
    }
    assert!(cluster.told("lease list").contains("found 0 leases"));
}

#[test]
fn what_cannot_be_taken_away_is_told_with_when_it_goes() {
    let Some(version) = newest("what_cannot_be_taken_away_is_told_with_when_it_goes") else { return };
    let mut cluster = version.cluster().start();
    let line = format!("--endpoints {} play fifo --headless --for 60s", cluster.endpoint(0));
    let mut running = lockscope(words(&line)).start();
    until("clients enqueue", || (keys(&cluster).len() > 3).then_some(()));
    cluster.kill(0);
    running.signal("TERM");
    let ended = running.end();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("leases with keys below /lockscope/fifo/ could not be taken away"),
        "{}",
        ended.stderr
    );
}

#[test]
fn somebody_elses_run_is_left_alone_unless_one_joins_it() {
    let Some(version) = newest("somebody_elses_run_is_left_alone_unless_one_joins_it") else { return };
    let cluster = version.cluster().start();
    cluster.told("put /lockscope/zombie/job/theirs mine");
    let line = format!("--endpoints {} play zombie --headless --for 1s", cluster.endpoint(0));
    let ended = lockscope(words(&line)).run().expect(3);
    assert!(ended.stderr.contains("/lockscope/zombie/job/theirs"), "{}", ended.stderr);
    assert!(ended.stderr.contains("--join"), "{}", ended.stderr);
    let ended = lockscope(words(&format!("{line} --join -w json"))).run();
    assert_eq!(document(&ended)["scenario"], "zombie");
    assert_eq!(keys(&cluster).len(), 1, "theirs is still there, and nothing else");
}
