//! `leases` on a real etcd.

use serde_json::json;

use crate::store::{Store, json_on, on};
use crate::support::etcd::newest;

#[test]
fn every_lease_is_listed_with_its_keys_and_what_it_holds_and_waits_for() {
    let Some(version) = newest("leases: every lease is listed") else { return };
    let cluster = version.cluster().start();
    let mut store = Store::of(&cluster);
    store.join("/a", 0x1000, 60);
    store.join("/a", 0x2000, 30);
    store.put("/b/2000", "", 0x2000);
    store.grant(0x3000, 90);
    let document = json_on(&cluster, ["leases"]);
    let leases = document["leases"].as_array().unwrap();
    assert_eq!(leases.len(), 3, "{document}");
    let granted: Vec<_> = leases.iter().map(|lease| lease["ttl"]["granted"].as_i64().unwrap()).collect();
    assert_eq!(granted, [60, 30, 90]);
    assert_eq!(leases[0]["lease"], "1000");
    assert_eq!(leases[0]["holds"], json!(["/a"]));
    assert_eq!(leases[1]["keys"], json!(["/a/2000", "/b/2000"]));
    assert_eq!((&leases[1]["holds"], &leases[1]["waits_for"]), (&json!(["/b"]), &json!(["/a"])));
    assert_eq!(leases[2]["keys"], json!([]));
    let lines = on(&cluster, ["leases"]).run().expect(0);
    assert_eq!(lines.text().lines().count(), 3);
    assert!(lines.text().lines().all(|line| line.split('\t').count() == 6), "{}", lines.text());
}

#[test]
fn a_small_budget_is_kept_and_said() {
    let Some(version) = newest("leases: a small budget is kept") else { return };
    let cluster = version.cluster().start();
    let mut store = Store::of(&cluster);
    for lease in 0x1000..0x1005 {
        store.join("/a", lease, 60);
    }
    // With a prefix no lease is asked for its keys, so all five are asked for their time.
    let ended = on(&cluster, ["leases", "--prefix", "/", "--ttl-budget", "2", "-w", "json"]).run().expect(0);
    assert!(ended.stderr.contains("asking 5 leases for their TTL, 2 a second"), "{}", ended.stderr);
    let document: serde_json::Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert!(document["leases"].as_array().unwrap().iter().all(|lease| lease["ttl"].is_object()), "{document}");
}
