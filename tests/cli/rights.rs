//! What a user may not read is said and hides nothing else.

use serde_json::json;

use crate::store::{Store, on};
use crate::support::etcd::{Cluster, newest};

/// A cluster with locks under `/open/` and `/secret/`, and a user `ann` who may read the
/// former.
pub fn guarded(test: &str) -> Option<Cluster> {
    let cluster = newest(test)?.cluster().start();
    let mut store = Store::of(&cluster);
    store.join("/open/a", 0x1000, 600);
    store.join("/secret/b", 0x2000, 600);
    cluster.guard();
    Some(cluster)
}

#[test]
fn a_denied_prefix_is_said_with_the_right_it_takes_and_hides_nothing() {
    let Some(cluster) = guarded("rights: a denied prefix hides nothing") else { return };
    let both = ["--user", "ann:annpw", "--prefix", "/open/", "--prefix", "/secret/", "ls"];
    let ended = on(&cluster, both).run().expect(0);
    assert!(ended.text().starts_with("/open/a\t"), "{}", ended.text());
    assert!(ended.stderr.contains("prefix /secret/ may not be read by user ann"), "{}", ended.stderr);
    let grant = "etcdctl role grant-permission ROLE --prefix=true read '/secret/'";
    assert!(ended.stderr.contains(grant), "{}", ended.stderr);
    let document = on(&cluster, both.iter().chain(&["-w", "json"])).json();
    assert_eq!(document["denied"][0]["prefix"], "/secret/");
    assert_eq!(document["denied"][0]["user"], "ann");
    assert_eq!(document["locks"].as_array().unwrap().len(), 1);
}

#[test]
fn nothing_that_may_be_read_is_an_error() {
    let Some(cluster) = guarded("rights: nothing that may be read is an error") else { return };
    let ended = on(&cluster, ["--user", "ann:annpw", "ls", "/secret/"]).run().expect(1);
    assert_eq!(ended.text(), "");
    assert!(ended.stderr.contains("/secret/"), "{}", ended.stderr);
    // Who may read all sees all.
    let all = on(&cluster, ["ls", ""]).env("ETCDCTL_USER", "root").env("ETCDCTL_PASSWORD", "rootpw").run().expect(0);
    assert_eq!(all.text().lines().count(), 2);
}

#[test]
fn a_recording_of_what_may_not_be_read_is_an_error() {
    let Some(cluster) = guarded("rights: a recording of nothing") else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("nothing.jsonl");
    let file = file.to_str().unwrap();
    let arguments = ["--user", "ann:annpw", "--prefix", "/secret/", "record", file, "--for", "1s"];
    let ended = on(&cluster, arguments).run().expect(1);
    assert!(ended.stderr.contains("prefix /secret/ may not be read by user ann"), "{}", ended.stderr);
}

#[test]
fn show_finds_a_lock_whose_directory_may_not_be_read() {
    let Some(cluster) = guarded("rights: show finds a lock") else { return };
    let document = on(&cluster, ["--user", "ann:annpw", "show", "/open/a", "-w", "json"]).json();
    assert_eq!(document["lock"]["holder"]["lease"], json!("1000"));
    // Whether there is one that may not be read is nobody's to say.
    for name in ["/secret/b", "/secret/nothing"] {
        let ended = on(&cluster, ["--user", "ann:annpw", "show", name]).run().expect(1);
        assert_eq!(ended.stderr.matches("may not be read").count(), 1, "{}", ended.stderr);
        assert!(ended.stderr.contains(&format!("read '{name}/'")), "{}", ended.stderr);
        assert!(!ended.stderr.contains("there is no lock"), "{}", ended.stderr);
    }
    let narrow = [
        "role grant-permission reader --prefix=true read /secret/b/",
        "role revoke-permission reader --prefix=true /open/",
    ];
    for line in narrow {
        cluster.told(&format!("--user root:rootpw {line}"));
    }
    let document = on(&cluster, ["--user", "ann:annpw", "show", "/secret/b", "-w", "json"]).json();
    assert_eq!(document["lock"]["holder"]["lease"], json!("2000"));
}

#[test]
fn a_wrong_password_is_said_and_not_repeated() {
    let Some(cluster) = guarded("rights: a wrong password") else { return };
    let ended = on(&cluster, ["--user", "ann:hunter2", "ls"]).run().expect(2);
    assert!(ended.stderr.contains("ann") && !ended.stderr.contains("hunter2"), "{}", ended.stderr);
    let nobody = on(&cluster, ["ls"]).run();
    assert_ne!(nobody.code, Some(0));
    assert!(nobody.stderr.contains("--user"), "{}", nobody.stderr);
}
