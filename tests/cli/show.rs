//! `show` on a real etcd.

use serde_json::json;

use crate::store::{Store, json_on, on};
use crate::support::etcd::newest;

#[test]
fn a_lock_is_shown_with_its_queue_and_the_other_keys_of_its_leases() {
    let Some(version) = newest("show: a lock with its queue") else { return };
    let cluster = version.cluster().start();
    let mut store = Store::of(&cluster);
    let revisions = [0x1000, 0x2000].map(|lease| store.join("/jobs/reindex", lease, 60));
    // Far from the lock, so that only its lease leads there.
    store.put("/elsewhere/1000", "", 0x1000);
    let document = json_on(&cluster, ["show", "/jobs/reindex"]);
    assert_eq!(document["schema"], "lockscope/1");
    let lock = &document["lock"];
    assert_eq!(lock["name"], "/jobs/reindex");
    assert_eq!(lock["holder"]["create_revision"], revisions[0]);
    assert_eq!(lock["waiters"][0]["create_revision"], revisions[1]);
    for ttl in [&lock["holder"]["ttl"], &lock["waiters"][0]["ttl"]] {
        assert_eq!(ttl["granted"], 60);
    }
    assert_eq!(document["lease_keys"], json!([{"lease": "1000", "keys": ["/elsewhere/1000"]}]));
    let quick = json_on(&cluster, ["show", "/jobs/reindex", "--ttl", "none"]);
    assert_eq!(quick["lock"]["holder"]["ttl"], json!(null));
}

#[test]
fn a_lock_without_any_lease_and_one_at_the_root_are_found() {
    let Some(version) = newest("show: a lock without a lease") else { return };
    let cluster = version.cluster().start();
    let mut store = Store::of(&cluster);
    store.grant(0x2040_a228_242e_2d06, 60);
    store.put("/jobs/stuck/2040a228242e2d06", "", 0x2040_a228_242e_2d06);
    store.put("/jobs/stuck/2040a228242e2d06", "", 0);
    let stuck = json_on(&cluster, ["show", "/jobs/stuck"]);
    assert_eq!(stuck["lock"]["holder"]["lease"], json!(null));
    assert_eq!(stuck["lock"]["findings"], json!(["holder-without-lease", "detached-lease"]));
    store.join("root", 0x3000, 60);
    assert_eq!(json_on(&cluster, ["show", "root"])["lock"]["name"], "root");
}

#[test]
fn a_lease_shared_across_prefixes_is_told_whole() {
    let Some(version) = newest("show: a lease across prefixes") else { return };
    let cluster = version.cluster().start();
    let mut store = Store::of(&cluster);
    store.join("/cc/one", 0x1000, 60);
    for lock in ["/dd/two", "/ee/three"] {
        store.put(format!("{lock}/1000"), "", 0x1000);
    }
    let shown = json_on(&cluster, ["show", "/cc/one"]);
    let verdict = shown["verdict"].as_str().unwrap();
    assert!(verdict.ends_with("; the lease also holds 2 other locks"), "{verdict}");
    assert_eq!(shown["lock"]["findings"], json!(["shared-lease"]));
    // Who names a prefix wants no other read: what the lease tells is counted.
    let within = json_on(&cluster, ["show", "/cc/one", "--prefix", "/cc/"]);
    let verdict = within["verdict"].as_str().unwrap();
    assert!(verdict.ends_with("; the lease has 2 keys more that were not read"), "{verdict}");
    for number in 0..1_200 {
        store.put(format!("/many/{number}/1000"), "", 0x1000);
    }
    let shown = json_on(&cluster, ["show", "/cc/one"]);
    let verdict = shown["verdict"].as_str().unwrap();
    assert!(verdict.ends_with("; the lease has 1,203 keys"), "{verdict}");
}

#[test]
fn what_show_says_is_what_ls_says() {
    let Some(version) = newest("show: what show says is what ls says") else { return };
    let cluster = version.cluster().start();
    let mut store = Store::of(&cluster);
    store.grant(0x1000, 60);
    // Alone it could be a lock; its neighbours make it a registration.
    for name in ["a", "b", "c"] {
        store.put(format!("/services/{name}"), "10.0.0.1:80", 0x1000);
    }
    store.put("/leader", "node-1", 0x1000);
    for name in ["/services/a", "/leader"] {
        let listed = json_on(&cluster, ["ls", "", "--all"]);
        let listed = listed["locks"].as_array().unwrap().iter().find(|lock| lock["name"] == name);
        let shown = json_on(&cluster, ["show", name]);
        assert_eq!(Some(&shown["lock"]["layout"]), listed.map(|lock| &lock["layout"]), "{name}");
    }
}

#[test]
fn a_lock_that_is_not_there_offers_the_nearest_names() {
    let Some(version) = newest("show: a lock that is not there") else { return };
    let cluster = version.cluster().start();
    Store::of(&cluster).join("/jobs/reindex", 0x1000, 60);
    let ended = on(&cluster, ["show", "/jobs/reinedx"]).run().expect(1);
    assert!(ended.stdout.is_empty());
    assert!(ended.stderr.contains("there is no lock `/jobs/reinedx`"), "{}", ended.stderr);
    assert!(ended.stderr.contains("\n  /jobs/reindex\n"), "{}", ended.stderr);
    // A part of a name is no name.
    assert!(on(&cluster, ["show", "/jobs/re"]).run().expect(1).stderr.contains("/jobs/reindex"));
}

#[test]
fn a_tree_shows_who_waits_for_whom_across_locks() {
    let Some(version) = newest("show: a tree of waits") else { return };
    let cluster = version.cluster().start();
    let mut store = Store::of(&cluster);
    for (lock, lease) in [("/d/one", 0xa1), ("/d/two", 0xb2)] {
        store.join(lock, lease, 60);
    }
    store.put("/d/two/a1", "", 0xa1);
    store.put("/d/one/b2", "", 0xb2);
    for (lock, lease) in [("/d/one", 0xc3), ("/q", 0xd4), ("/q", 0xe5)] {
        store.join(lock, lease, 60);
    }
    let printed =
        |arguments: &[&str]| String::from_utf8(on(&cluster, arguments.iter().copied()).run().expect(0).stdout).unwrap();
    let whole = printed(&["show", "--tree"]);
    let expected = "\
x deadlock: a1 -> b2 -> a1
  a1  waits for /d/two  holds /d/one  1 behind
    c3  waits for /d/one
  b2  waits for /d/one  holds /d/two
d4  holds /q  1 behind
  e5  waits for /q
";
    assert_eq!(whole, expected);
    assert_eq!(printed(&["show", "/q", "--tree"]), "d4  holds /q  1 behind\n  e5  waits for /q\n");
    let document = json_on(&cluster, ["show", "--tree"]);
    assert_eq!(document["schema"], "lockscope/1");
    assert!(document["cluster_id"].is_string() && document["revision"].is_i64());
    assert_eq!(document["cycles"][0]["clients"][1], json!({"client": "b2", "lease": "b2", "waits_for": "/d/one"}));
    assert_eq!(document["roots"][2]["children"][0]["lease"], "e5");
    let one = json_on(&cluster, ["show", "/d/two", "--tree"]);
    assert_eq!(one["lock"]["name"], "/d/two");
    assert_eq!(one["tree"]["roots"].as_array().map(Vec::len), Some(2), "both of the circle");
    let findings = one["lock"]["findings"].as_array().unwrap();
    assert!(findings.contains(&json!("deadlock")), "{findings:?}");
    on(&cluster, ["show"]).run().expect(128);
}
