//! `ls` on real etcds.

use serde_json::{Value, json};

use crate::store::{Store, json_on, on};
use crate::support::etcd::{newest, versions};

fn names(document: &Value) -> Vec<&str> {
    document["locks"].as_array().unwrap().iter().map(|lock| lock["name"].as_str().unwrap()).collect()
}

#[test]
fn a_queue_is_listed_in_its_order_with_and_without_a_prefix() {
    for version in versions("ls: a queue is listed in its order") {
        let cluster = version.cluster().start();
        let mut store = Store::of(&cluster);
        let revisions = [0x1000, 0x2000, 0x3000].map(|lease| store.join("/jobs/reindex", lease, 60));
        for scope in [&["--prefix", "/jobs/", "ls"][..], &["ls", "/jobs/"], &["ls", ""], &["ls"]] {
            let document = json_on(&cluster, scope);
            assert_eq!(names(&document), ["/jobs/reindex"], "{version} {scope:?}");
            let lock = &document["locks"][0];
            assert_eq!(lock["layout"], "queue");
            assert_eq!(lock["state"], "contended");
            assert_eq!(lock["holder"]["key"], "/jobs/reindex/1000");
            assert_eq!(lock["holder"]["lease"], "1000");
            assert_eq!(lock["holder"]["token"], revisions[0]);
            assert_eq!(lock["holder"]["ttl"]["granted"], 60);
            assert!((50..=60).contains(&lock["holder"]["ttl"]["remaining"].as_i64().unwrap()), "{lock}");
            let waiters = lock["waiters"].as_array().unwrap();
            assert_eq!(waiters.iter().map(|w| w["position"].as_i64().unwrap()).collect::<Vec<_>>(), [1, 2]);
            assert_eq!(waiters[0]["create_revision"], revisions[1]);
            assert_eq!(waiters[0]["waits_for"], revisions[0]);
            assert_eq!(waiters[1]["waits_for"], revisions[1]);
            assert_eq!(document["revision"], revisions[2]);
            assert_eq!(document["cluster_id"].as_str().unwrap().len(), cluster_id(&cluster).len());
            assert_eq!(document["cluster_id"], cluster_id(&cluster));
        }
    }
}

/// The cluster's id as etcdctl tells it.
fn cluster_id(cluster: &crate::support::etcd::Cluster) -> String {
    let told: Value = serde_json::from_slice(&cluster.ctl(&["endpoint", "status", "-w", "json"]).stdout).unwrap();
    format!("{:x}", told[0]["Status"]["header"]["cluster_id"].as_u64().unwrap())
}

#[test]
fn the_policy_says_whose_ttl_is_asked() {
    let Some(version) = newest("ls: the policy says whose TTL is asked") else { return };
    let cluster = version.cluster().start();
    let mut store = Store::of(&cluster);
    for lease in [0x1000, 0x2000] {
        store.join("/a", lease, 60);
    }
    let asked = |policy: &[&str]| {
        let document = json_on(&cluster, ["ls", ""].iter().chain(policy));
        let lock = &document["locks"][0];
        (lock["holder"]["ttl"].is_object(), lock["waiters"][0]["ttl"].is_object())
    };
    assert_eq!(asked(&[]), (true, false));
    assert_eq!(asked(&["--ttl", "holders"]), (true, false));
    assert_eq!(asked(&["--ttl", "all"]), (true, true));
    assert_eq!(asked(&["--ttl", "none"]), (false, false));
}

#[test]
fn registrations_are_listed_with_all_only() {
    let Some(version) = newest("ls: registrations are listed with --all only") else { return };
    let cluster = version.cluster().start();
    let mut store = Store::of(&cluster);
    store.join("/jobs/a", 0x1000, 60);
    store.grant(0x2000, 60);
    store.put("/services/web/2000", r#"{"addr":"10.0.0.1:80"}"#, 0x2000);
    store.put("/plain/key", "1", 0);
    assert_eq!(names(&json_on(&cluster, ["ls", ""])), ["/jobs/a"]);
    assert_eq!(names(&json_on(&cluster, ["ls", "", "--all"])), ["/jobs/a", "/services/web"]);
    assert_eq!(names(&json_on(&cluster, ["ls", "--all"])), ["/jobs/a", "/services/web"]);
}

#[test]
fn lines_and_boxes_have_an_item_each() {
    let Some(version) = newest("ls: lines and boxes") else { return };
    let cluster = version.cluster().start();
    let mut store = Store::of(&cluster);
    let token = store.join("/a b", 0x1000, 60);
    store.join("/a b", 0x2000, 60);
    let lines = on(&cluster, ["ls", "--ttl", "none", ""]).run().expect(0);
    assert_eq!(lines.text(), format!("/a b\tqueue\tcontended\t/a b/1000\t{token}\t-\t1\t-\n"));
    assert_eq!(lines.stderr, "");
    let table = on(&cluster, ["ls", "-w", "table", ""]).run().expect(0);
    assert_eq!(table.text().lines().count(), 5, "{}", table.text());
}

#[test]
fn findings_are_those_one_look_shows() {
    let Some(version) = newest("ls: findings are those one look shows") else { return };
    let cluster = version.cluster().start();
    let mut store = Store::of(&cluster);
    store.grant(0x2040_a228_242e_2d06, 60);
    store.put("/detached/2040a228242e2d06", "", 0x2040_a228_242e_2d06);
    store.put("/detached/2040a228242e2d06", "", 0);
    store.put("/blocked/README", "", 0);
    store.join("/blocked", 0x1000, 60);
    store.join("/fine", 0x2000, 60);
    let document = json_on(&cluster, ["ls", ""]);
    let findings = |name: &str| {
        let lock = document["locks"].as_array().unwrap().iter().find(|lock| lock["name"] == name).unwrap();
        lock["findings"].clone()
    };
    assert_eq!(findings("/detached"), json!(["holder-without-lease", "detached-lease"]));
    assert_eq!(findings("/blocked"), json!(["foreign-key"]), "which says that it has no lease, too");
    assert_eq!(findings("/fine"), json!([]));
}

#[test]
fn an_empty_cluster_has_no_locks() {
    let Some(version) = newest("ls: an empty cluster has no locks") else { return };
    let cluster = version.cluster().start();
    for arguments in [&["ls"][..], &["ls", ""]] {
        let document = json_on(&cluster, arguments);
        assert_eq!(document["locks"], json!([]));
        assert_eq!(on(&cluster, arguments).run().expect(0).text(), "");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let Some(version) = newest("ls: a reader that goes away is no error") else { return };
    let cluster = version.cluster().start();
    let mut store = Store::of(&cluster);
    // Enough that the output does not fit into the pipe.
    for n in 0..40 {
        let lock = format!("/{n:03}{}", "x".repeat(8_000));
        store.join(&lock, 0x1000 + n, 60);
    }
    for format in ["simple", "table", "json"] {
        let mut run = on(&cluster, ["ls", "", "-w", format]).start();
        drop(run.child().stdout.take());
        let ended = run.end().expect(0);
        assert_eq!(ended.stderr, "", "{format}");
    }
}

#[test]
fn one_dead_endpoint_of_two_does_no_harm() {
    let Some(version) = newest("ls: one dead endpoint of two does no harm") else { return };
    let cluster = version.cluster().start();
    Store::of(&cluster).join("/a", 0x1000, 60);
    let endpoints = format!("127.0.0.1:{},{}", crate::support::etcd::free_port(), cluster.endpoint(0));
    let ended = crate::program::lockscope(["--endpoints", &endpoints, "ls", ""]).run().expect(0);
    assert!(ended.text().starts_with("/a\tqueue\theld\t"), "{}", ended.text());
}
