//! The commands on a real etcd: what they show, when they refuse, and what they do.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::store::{Store, json_on, on};
use crate::support::etcd::{Cluster, newest, versions};

fn keys(cluster: &Cluster) -> Vec<String> {
    let listed = cluster.told("get --prefix --keys-only /");
    listed.lines().filter(|line| !line.is_empty()).map(Into::into).collect()
}

/// Two sessions in two queues, in opposite order.
fn crossed(cluster: &Cluster) -> Store {
    let mut store = Store::of(cluster);
    store.grant(0xa1, 120);
    store.grant(0xb2, 120);
    for (key, lease) in [("/d/one/a1", 0xa1), ("/d/two/b2", 0xb2), ("/d/two/a1", 0xa1), ("/d/one/b2", 0xb2)] {
        store.put(key, "secret", lease);
    }
    store
}

#[test]
fn a_plan_names_what_goes_what_is_freed_and_who_is_next_and_does_nothing() {
    for version in versions("writes: a plan") {
        let cluster = version.cluster().start();
        let mut store = crossed(&cluster);
        store.put("/far/away", "", 0xa1);
        // What is watched is no matter of what goes.
        let plan = json_on(&cluster, ["--prefix", "/d/one/", "revoke", "0x00a1", "--dry-run"]);
        assert_eq!((&plan["write"], &plan["lease"]), (&json!("revoke"), &json!("a1")));
        assert_eq!(plan["keys"], json!(["/d/one/a1", "/d/two/a1", "/far/away"]));
        let locks = plan["locks"].as_array().unwrap();
        assert_eq!(locks[0], json!({"name": "/d/one", "freed": true, "next": "/d/one/b2"}));
        assert_eq!(locks[1], json!({"name": "/d/two", "freed": false, "next": "/d/two/b2"}));
        assert_eq!(plan["dry_run"], true);
        let decimal = json_on(&cluster, ["revoke", "161", "--dec", "--dry-run"]);
        assert_eq!(decimal["keys"], plan["keys"]);
        let text = on(&cluster, ["revoke", "a1", "--dry-run"]).run().expect(0);
        assert!(text.text().contains("lock\t/d/one\tfreed\t/d/one/b2\n"), "{}", text.text());
        let table = on(&cluster, ["release", "/d/two", "-w", "table", "--dry-run"]).run().expect(0);
        assert!(table.text().contains("| /d/two | freed       | /d/two/a1   |"), "{}", table.text());
        assert_eq!(keys(&cluster).len(), 5);
    }
}

#[test]
fn what_is_not_confirmed_or_not_wanted_is_refused_and_changes_nothing() {
    let Some(version) = newest("writes: what is not confirmed") else { return };
    let cluster = version.cluster().start();
    drop(crossed(&cluster));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.toml");
    std::fs::write(&file, "read-only = true").unwrap();
    let file = file.to_str().unwrap();
    for write in [&["revoke", "a1"][..], &["release", "/d/one"]] {
        let refused = on(&cluster, write).run().expect(3);
        assert!(refused.stderr.contains("--yes"), "{}", refused.stderr);
        let sure = write.iter().chain(&["--yes"]);
        let refused = on(&cluster, sure.clone()).env("LOCKSCOPE_READ_ONLY", "1").run().expect(3);
        assert!(refused.stderr.contains("LOCKSCOPE_READ_ONLY refuses"), "{}", refused.stderr);
        let refused = on(&cluster, ["--read-only"].iter().chain(sure.clone())).run().expect(3);
        assert!(refused.stderr.contains("--read-only refuses"), "{}", refused.stderr);
        let refused = on(&cluster, ["--config", file].iter().chain(sure)).run().expect(3);
        assert!(refused.stderr.contains(&format!("read-only in {file} refuses")), "{}", refused.stderr);
        // What is only shown writes nothing.
        let shown = on(&cluster, ["--read-only"].iter().chain(write).chain(&["--dry-run"])).run().expect(0);
        assert!(shown.text().contains("etcdctl"), "{}", shown.text());
    }
    for nonsense in ["xyz", "0", ""] {
        on(&cluster, ["revoke", nonsense, "--yes"]).run().expect(3);
    }
    assert_eq!(keys(&cluster).len(), 4);
}

#[test]
fn a_revoke_is_verified_and_a_second_one_says_that_the_lease_is_gone() {
    for version in versions("writes: a revoke is verified") {
        let cluster = version.cluster().start();
        drop(crossed(&cluster));
        let done = json_on(&cluster, ["revoke", "0x00000000000000a1", "--yes"]);
        assert_eq!(done["results"][0]["outcome"], "done");
        assert_eq!(done["results"][0]["gone"], json!(["/d/one/a1", "/d/two/a1"]));
        assert_eq!(keys(&cluster), ["/d/one/b2", "/d/two/b2"]);
        let gone = on(&cluster, ["revoke", "a1", "--yes"]).run().expect(1);
        assert!(gone.stderr.contains("gone"), "{}", gone.stderr);
        // A lease without any key, and one whose id is below zero.
        let mut store = Store::of(&cluster);
        store.grant(0xc3, 60);
        store.grant(-0x7fab_12cd, 60);
        on(&cluster, ["revoke", "c3", "--yes"]).run().expect(0);
        on(&cluster, ["revoke", "-7fab12cd", "--yes"]).run().expect(0);
        assert!(!cluster.told("lease list").contains("7fab12cd"));
    }
}

#[test]
fn a_release_takes_the_holders_key_or_the_named_one_and_nothing_else() {
    let Some(version) = newest("writes: a release") else { return };
    let cluster = version.cluster().start();
    let mut store = Store::of(&cluster);
    store.put("/s/job/7e055af811b4bb53", "who", 0);
    store.join("/s/job", 0xc3, 120);
    store.join("/s/job", 0xd4, 120);
    on(&cluster, ["release", "/s/job", "--key", "/s/job/d4", "--yes"]).run().expect(0);
    assert_eq!(keys(&cluster), ["/s/job/7e055af811b4bb53", "/s/job/c3"]);
    on(&cluster, ["release", "/s/job", "--yes"]).run().expect(0);
    assert_eq!(keys(&cluster), ["/s/job/c3"]);
    let nobody = on(&cluster, ["release", "/s/job", "/s/job/zz", "--yes"]).run().expect(1);
    assert!(nobody.stderr.contains("/s/job/c3"), "{}", nobody.stderr);
    on(&cluster, ["release", "/s/none", "--yes"]).run().expect(1);
    // A stray key in the queue goes by its name.
    store.put("/s/job/README.md", "stray", 0);
    on(&cluster, ["release", "/s/job", "/s/job/README.md", "--yes"]).run().expect(0);
    assert_eq!(keys(&cluster), ["/s/job/c3"]);
}

#[test]
fn several_holders_have_to_be_told_apart_and_kubernetes_keeps_its_own() {
    let Some(version) = newest("writes: several holders") else { return };
    let cluster = version.cluster().start();
    let mut store = Store::of(&cluster);
    // As the read-write mutex of etcd's recipes names them.
    let readers = ["/rw/cfg/read/1795972069464040059", "/rw/cfg/read/1795972069466162882"];
    for (lease, reader) in (0xa1..).zip(readers) {
        store.grant(lease, 120);
        store.put(reader, "", lease);
    }
    let which = on(&cluster, ["release", "/rw/cfg", "--yes"]).run().expect(3);
    assert!(readers.iter().all(|reader| which.stderr.contains(reader)), "{}", which.stderr);
    let plan = json_on(&cluster, ["release", "/rw/cfg", readers[0], "--dry-run"]);
    assert_eq!(plan["locks"], json!([{"name": "/rw/cfg", "freed": false, "next": readers[1]}]));
    on(&cluster, ["release", "/rw/cfg", readers[0], "--yes"]).run().expect(0);
    assert_eq!(keys(&cluster), [readers[1]]);
    let recorded = include_str!("../data/layouts/k8s_lease_SYNTHETIC.jsonl");
    let recorded: serde_json::Value = serde_json::from_str(recorded.lines().next().unwrap()).unwrap();
    let [name, value] = ["key", "value"].map(|field| STANDARD.decode(recorded[field].as_str().unwrap()).unwrap());
    store.put(name.clone(), value, 0);
    let name = std::str::from_utf8(&name).unwrap();
    let refused = on(&cluster, ["release", name, "--yes"]).run().expect(3);
    let mut segments = name.rsplit('/');
    let (object, namespace) = (segments.next().unwrap(), segments.next().unwrap());
    let advice = format!("kubectl -n {namespace} patch lease {object} ");
    assert!(refused.stderr.contains(&advice), "{}", refused.stderr);
    assert!(cluster.told(&format!("get --keys-only {name}")).contains(name));
}

#[test]
fn the_lead_goes_to_the_member_that_is_named_and_to_no_stranger() {
    for version in versions("writes: the lead") {
        let cluster = version.cluster().members(3).start();
        let members = json_on(&cluster, ["members"]);
        let is_leader = |member: &serde_json::Value| member["role"] == "leader";
        let all = members["members"].as_array().unwrap();
        let leader = all.iter().find(|member| is_leader(member)).unwrap();
        let heirs: Vec<_> = all.iter().filter(|member| !is_leader(member)).collect();
        let name = |member: &serde_json::Value| member["name"].as_str().unwrap().to_owned();
        let already = on(&cluster, ["move-leader", &name(leader), "--yes"]).run().expect(0);
        assert!(already.stderr.contains("leads already"), "{}", already.stderr);
        let idle = on(&cluster, ["move-leader", &name(leader), "--dry-run"]).run().expect(0).stdout;
        let idle = String::from_utf8(idle).unwrap();
        assert!(idle.contains("leads already") && !idle.contains("writes stop"), "{idle}");
        on(&cluster, ["move-leader", &name(heirs[0])]).run().expect(3);
        on(&cluster, ["--read-only", "move-leader", &name(heirs[0]), "--yes"]).run().expect(3);
        let plan = json_on(&cluster, ["move-leader", &name(heirs[0]), "--dry-run"]);
        assert!(plan["etcdctl"].as_str().unwrap().contains("etcdctl move-leader"), "{plan}");
        on(&cluster, ["move-leader", &name(heirs[0]), "--yes"]).run().expect(0);
        // By its id, and asked of a member that does not lead.
        let id = heirs[1]["id"].as_str().unwrap();
        let endpoint = leader["endpoint"].as_str().unwrap();
        crate::program::lockscope(["--endpoints", endpoint, "move-leader", id, "--yes"]).run().expect(0);
        let members = json_on(&cluster, ["members"]);
        let leads = members["members"].as_array().unwrap().iter().find(|member| is_leader(member)).unwrap();
        assert_eq!(leads["id"], heirs[1]["id"]);
        let stranger = on(&cluster, ["move-leader", "nobody", "--yes"]).run().expect(1);
        assert!(stranger.stderr.contains("there is no member `nobody`"), "{}", stranger.stderr);
    }
}

#[test]
fn nothing_that_a_terminal_obeys_is_printed() {
    let Some(version) = newest("writes: nothing that a terminal obeys") else { return };
    let cluster = version.cluster().start();
    let mut store = Store::of(&cluster);
    store.grant(0xd4, 120);
    store.put("/s/evil\x1b[2J/d4", "\x1b]0;owned\x07", 0xd4);
    for arguments in [
        &["revoke", "d4", "--dry-run"][..],
        &["revoke", "d4", "--dry-run", "-w", "table"],
        &["release", "/s/evil\x1b[2J", "--dry-run"],
        &["release", r"/s/evil\x1b[2J", "--yes"],
    ] {
        let ended = on(&cluster, arguments).run().expect(0);
        assert!(!ended.text().contains('\x1b') && !ended.stderr.contains('\x1b'), "{ended:?}");
        assert!(ended.text().contains(r"\x1b[2J"), "{}", ended.text());
    }
}
