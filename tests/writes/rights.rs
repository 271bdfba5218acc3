//! Users that may not write: they are refused with the right that is missing, and nothing changes.

use crate::store::{Store, on};
use crate::support::etcd::versions;

#[test]
fn a_role_that_may_only_read_is_told_which_right_it_takes() {
    for version in versions("writes: a role that may only read") {
        let cluster = version.cluster().start();
        let mut store = Store::of(&cluster);
        store.join("/open/a", 0xa1, 600);
        store.put("/open/lock/7e055af811b4bb53", "", 0);
        drop(store);
        cluster.guard();
        let ann = |arguments: &[&str]| on(&cluster, ["--user", "ann:annpw"].iter().chain(arguments)).run();
        for (write, right) in [
            (&["release", "/open/lock", "--yes"][..], "readwrite '/open/lock/7e055af811b4bb53'"),
            (&["revoke", "a1", "--yes"], "readwrite"),
        ] {
            let refused = ann(write).expect(1);
            assert!(refused.stderr.contains("permission denied"), "{version}: {}", refused.stderr);
            assert!(refused.stderr.contains("ann"), "{version}: {}", refused.stderr);
            assert!(refused.stderr.contains(right), "{version}: {}", refused.stderr);
        }
        let kept = on(&cluster, ["--user", "root:rootpw", "ls", "/open/"]).run().expect(0);
        assert_eq!(kept.text().lines().count(), 2, "{}", kept.text());
        // Who may write, writes.
        on(&cluster, ["--user", "root:rootpw", "revoke", "a1", "--yes"]).run().expect(0);
        on(&cluster, ["--user", "root:rootpw", "release", "/open/lock", "--yes"]).run().expect(0);
    }
}

#[test]
fn who_may_not_ask_who_leads_is_told_so_and_which_role_it_takes() {
    for version in versions("writes: who may not ask who leads") {
        // Earlier ones tell their status to everybody.
        if !version.at_least(3, 5, 17) {
            continue;
        }
        let cluster = version.cluster().start();
        cluster.guard();
        let ann = |arguments: &[&str]| on(&cluster, ["--user", "ann:annpw"].iter().chain(arguments)).run();
        for write in [&["move-leader", cluster.name(0), "--yes"][..], &["move-leader", cluster.name(0), "--dry-run"]] {
            let refused = ann(write).expect(1);
            for words in ["permission denied", "ann", "the role root"] {
                assert!(refused.stderr.contains(words), "{version}: {}", refused.stderr);
            }
            assert!(!refused.stderr.contains("knows no leader"), "{version}: {}", refused.stderr);
        }
        let members = ann(&["members"]).expect(0);
        assert!(members.text().contains("permission denied; it takes the role root"), "{version}: {}", members.text());
    }
}
