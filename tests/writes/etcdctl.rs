//! The commands that are printed do what they say, whatever the key is.

use std::process::{Command, Output, Stdio};

use lockscope::view::text::escape;

use crate::store::{Store, json_on, on};
use crate::support::etcd::{Version, versions};

/// Runs a command that was printed, with the etcdctl of this version.
fn shell(version: &Version, command: &str) -> Output {
    let folder = version.etcdctl();
    let path = format!("{}:{}", folder.parent().unwrap().display(), std::env::var("PATH").unwrap_or_default());
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).env("PATH", path).env("ETCDCTL_API", "3").stdin(Stdio::null());
    shell.output().expect("sh runs")
}

#[test]
fn a_release_by_etcdctl_deletes_the_key_that_was_shown_and_no_newer_one() {
    let names: [&[u8]; 10] = [
        b"/plain/lock",
        b"/with a space/lock",
        b"/it's \"quoted\"/lock",
        b"/control\x1b[2J\x07/lock",
        b"/line\nbreak/lock",
        b"-dash/lock",
        "/锁/lock".as_bytes(),
        b"/back\\slash/lock",
        b"/$HOME`id`%s/lock",
        b"/no\xff\xfetext/lock",
    ];
    for version in versions("writes: a release by etcdctl") {
        let cluster = version.cluster().start();
        let mut store = Store::of(&cluster);
        for name in names {
            let key = [name, b"/7e055af811b4bb53"].concat();
            let printed = |store: &mut Store| {
                store.put(key.clone(), "", 0);
                let name = escape(name).into_owned();
                let plan = on(&cluster, ["-w", "json", "--prefix", "", "release", "--dry-run", "--", &name]).json();
                plan["etcdctl"].as_str().unwrap().to_owned()
            };
            let old = printed(&mut store);
            assert!(old.starts_with("printf") && old.contains("ETCDCTL_ENDPOINTS="), "{old}");
            store.delete(key.clone());
            let new = printed(&mut store);
            let missed = shell(&version, &old);
            assert!(String::from_utf8_lossy(&missed.stdout).contains("FAILURE"), "{old}: {missed:?}");
            let hit = shell(&version, &new);
            assert!(String::from_utf8_lossy(&hit.stdout).contains("SUCCESS"), "{new}: {hit:?}");
            assert!(String::from_utf8_lossy(&hit.stdout).contains('1'), "{new}: {hit:?}");
        }
        let left = cluster.told("get --prefix --keys-only /");
        assert_eq!(left.trim(), "");
    }
}

#[test]
fn a_revoke_and_a_move_by_etcdctl_are_the_real_thing() {
    for version in versions("writes: a revoke by etcdctl") {
        let cluster = version.cluster().members(3).start();
        let mut store = Store::of(&cluster);
        for lease in [0xa1, -0x7fab_12cd] {
            store.grant(lease, 60);
            let id = if lease < 0 { format!("-{:x}", -lease) } else { format!("{lease:x}") };
            let plan = json_on(&cluster, ["revoke", &id, "--dry-run"]);
            let done = shell(&version, plan["etcdctl"].as_str().unwrap());
            assert!(done.status.success(), "{done:?}");
            assert!(!cluster.told("lease list").contains(&id));
        }
        let members = json_on(&cluster, ["members"]);
        let heir = members["members"].as_array().unwrap().iter().find(|member| member["role"] == "follower").unwrap();
        let plan = json_on(&cluster, ["move-leader", heir["name"].as_str().unwrap(), "--dry-run"]);
        let done = shell(&version, plan["etcdctl"].as_str().unwrap());
        assert!(done.status.success(), "{done:?}");
    }
}

#[test]
fn a_password_is_in_nothing_that_is_printed() {
    for version in versions("writes: a password in what is printed") {
        let cluster = version.cluster().start();
        Store::of(&cluster).join("/open/a", 0xa1, 600);
        cluster.guard();
        let ended = on(&cluster, ["--user", "root:rootpw", "release", "/open/a", "--dry-run"]).run().expect(0);
        assert!(ended.text().contains("ETCDCTL_USER=root etcdctl"), "{}", ended.text());
        assert!(!ended.text().contains("rootpw") && !ended.stderr.contains("rootpw"), "{ended:?}");
    }
}
