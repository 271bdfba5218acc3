//! `history` on a real etcd.

use serde_json::{Value, json};

use crate::store::{Store, json_on, on};
use crate::support::etcd::{Cluster, newest};

fn handoffs(document: &Value) -> Vec<Value> {
    document["handoffs"].as_array().unwrap().clone()
}

/// A holder without a lease, released by its key, with a client behind it.
fn released(cluster: &Cluster) -> Store {
    let mut store = Store::of(cluster);
    store.put("/s/job/7e055af811b4bb53", "who", 0);
    store.join("/s/job", 0xc3, 120);
    store.delete("/s/job/7e055af811b4bb53");
    store
}

#[test]
fn a_released_holder_is_one_handoff_to_the_next() {
    let Some(version) = newest("history: a released holder") else { return };
    let cluster = version.cluster().start();
    let mut store = released(&cluster);
    let document = json_on(&cluster, ["history", "/s/job"]);
    assert_eq!(document["schema"], "lockscope/1");
    assert_eq!((&document["lock"], &document["layout"]), (&json!("/s/job"), &json!("queue")));
    assert_eq!((&document["since_revision"], &document["compacted_revision"]), (&json!(1), &json!(null)));
    let expected = json!([{
        "revision": 4,
        "from": {"key": "/s/job/7e055af811b4bb53", "lease": null, "create_revision": 2, "held_since": 2, "owner": "who"},
        "to": {"key": "/s/job/c3", "lease": "c3", "create_revision": 3, "held_since": 4, "owner": null},
        "cause": "deleted", "at": null,
    }]);
    assert_eq!(document["handoffs"], expected);
    assert_eq!(document["holders"][0]["key"], "/s/job/c3");
    // A lock whose keys are all gone has a past as well.
    store.delete("/s/job/c3");
    let lines = on(&cluster, ["history", "/s/job"]).run().expect(0).text().to_owned();
    assert_eq!(
        lines,
        "4\t/s/job/7e055af811b4bb53\t-\t2\t2\tdeleted\t/s/job/c3\twho\t-\n5\t/s/job/c3\tc3\t3\t4\treleased\t-\t-\t-\n"
    );
    let newest = json_on(&cluster, ["history", "/s/job", "--limit", "1"]);
    assert_eq!((handoffs(&newest).len(), &newest["omitted"]), (1, &json!(1)));
    assert_eq!(newest["handoffs"][0]["revision"], 5);
    let later = json_on(&cluster, ["history", "/s/job", "--since", "5"]);
    assert_eq!((handoffs(&later).len(), &later["since_revision"]), (1, &json!(5)));
    let table = on(&cluster, ["history", "/s/job", "-w", "table"]).run().expect(0).text().to_owned();
    assert!(table.contains("| HELD SINCE |") && table.contains("released"), "{table}");
}

#[test]
fn a_name_that_is_one_locks_and_anothers_as_printed_has_to_be_told_apart() {
    let Some(version) = newest("history: a name of two locks") else { return };
    let cluster = version.cluster().start();
    let mut store = Store::of(&cluster);
    let (literal, raw) = (r"/s/a\x1bb", "/s/a\u{1b}b");
    store.join(raw, 0xc1, 120);
    let ended = on(&cluster, ["history", literal, "-w", "json"]).run().expect(0);
    assert!(ended.text().contains(r#""lock":"/s/a\u001bb""#), "it may be given as it is printed: {}", ended.text());
    store.join(literal, 0xc2, 120);
    let ended = on(&cluster, ["history", literal]).run().expect(3);
    assert_eq!(ended.text(), "");
    assert!(ended.stderr.contains("is the name of one lock and how that of another is printed"), "{}", ended.stderr);
    let hex = "2f732f615c78316262";
    let document = json_on(&cluster, ["history", "--hex", hex]);
    assert_eq!(document["holders"][0]["key"], format!("{hex}2f6332"));
}

#[test]
fn what_is_compacted_and_what_is_not_there_is_said() {
    let Some(version) = newest("history: what is compacted") else { return };
    let cluster = version.cluster().start();
    let _store = released(&cluster);
    assert!(cluster.ctl(&["compact", "3"]).status.success());
    let after = on(&cluster, ["history", "/s/job"]).run();
    assert!(after.stderr.contains("compacted at 3: nothing older can be told"), "{}", after.stderr);
    assert_eq!(after.text(), "4\t/s/job/7e055af811b4bb53\t-\t2\t-\tdeleted\t/s/job/c3\twho\t-\n");
    let missing = on(&cluster, ["history", "/s/jop"]).run();
    assert_eq!(missing.code, Some(1));
    assert!(
        missing.stderr.contains("there is no lock `/s/jop`") && missing.stderr.contains("/s/job"),
        "{}",
        missing.stderr
    );
    let future = on(&cluster, ["history", "/s/job", "--since", "99"]).run();
    assert_eq!(future.code, Some(3));
    assert!(future.stderr.contains("revision 99 is not there yet"), "{}", future.stderr);
}

#[test]
fn nothing_of_a_cluster_reaches_the_terminal_as_it_is() {
    let Some(version) = newest("history: control characters") else { return };
    let cluster = version.cluster().start();
    let mut store = Store::of(&cluster);
    store.grant(0xd4, 120);
    store.put(b"/s/evil\x1b[2J\x07/d4".to_vec(), "\x1b]0;owned\x07", 0xd4);
    store.join("/s/evil\x1b[2J\x07", 0xd5, 120);
    store.delete(b"/s/evil\x1b[2J\x07/d4".to_vec());
    for format in ["simple", "table", "json"] {
        // The name as it is printed.
        let out = on(&cluster, ["history", r"/s/evil\x1b[2J\x07", "-w", format]).run().expect(0).text().to_owned();
        assert!(out.contains("d5") && !out.contains('\x1b') && !out.contains('\x07'), "{out:?}");
    }
}
