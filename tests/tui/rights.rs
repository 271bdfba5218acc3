//! What a user may not read is said on the screen and hides nothing else.

use super::pty::lockscope;
use super::support::etcd::{Cluster, versions};

/// Queues for a lock with a lease of its own.
fn enqueue(cluster: &Cluster, lock: &str) {
    let granted = cluster.told("lease grant 600");
    let lease = granted.split(' ').nth(1).unwrap();
    cluster.told(&format!("put --lease={lease} {lock}/{lease} v"));
}

#[test]
fn locks_that_may_not_be_found_are_said_to_be_denied() {
    for version in versions("rights: locks that may not be found are denied") {
        let cluster = version.cluster().start();
        enqueue(&cluster, "/open/a");
        enqueue(&cluster, "/secret/b");
        cluster.guard();
        let tui = lockscope(&["--endpoints", &cluster.endpoint(0), "--user", "ann:annpw"]).size(200, 60).start();
        // 3.4 tells anybody which keys hang on a lease, 3.5.16 only who may read those keys, and
        // 3.5.30 tells of no lease to who may not read everything.
        if version.at_least(3, 5, 0) {
            tui.shows("all keys: denied to ann; it takes a role that may read everything");
        } else {
            tui.shows("prefix /secret/: denied to ann; it takes a role that may read it");
        }
        if version.at_least(3, 5, 17) {
            tui.shows("all keys  denied to ann: its role needs read on all keys");
        } else {
            tui.shows("/open/a");
            tui.shows("1 denied");
        }
        tui.keys("q");
        assert_eq!(tui.ends(), 0, "{version}");
    }
}
