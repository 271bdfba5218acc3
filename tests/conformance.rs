//! The port and the source on every etcd found.

mod support;

use support::etcd;

#[test]
fn a_cluster_of_three_starts_is_paused_killed_and_comes_back() {
    for version in etcd::versions("a_cluster_of_three_starts_is_paused_killed_and_comes_back") {
        let mut cluster = version.cluster().members(3).start();
        cluster.pause(0);
        cluster.resume(0);
        cluster.kill(1);
        cluster.start(1);
        cluster.healthy();
        let members = cluster.ctl(&["member", "list"]);
        assert_eq!(String::from_utf8_lossy(&members.stdout).lines().count(), 3, "{version}");
    }
}
