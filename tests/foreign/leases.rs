//! Leases: granted, kept alive, asked, revoked, run out.

use crate::ctl::on_every_cluster;

/// The id in `lease <id> granted with TTL(60s)`.
fn id(granted: &str) -> &str {
    granted.split(' ').nth(1).expect("lease <id> granted")
}

#[test]
fn leases_are_kept_alive_asked_and_revoked_at_every_member() {
    on_every_cluster("leases_are_kept_alive_asked_and_revoked_at_every_member", |ctl, _| {
        let granted = ctl.run(&["lease", "grant", "60"]);
        let id = id(&granted);
        assert_eq!(granted, format!("lease {id} granted with TTL(60s)\n"));
        ctl.run(&["put", "--lease", id, "a", "1"]);
        ctl.run(&["put", "--lease", id, "b", "1"]);
        for n in 0..3 {
            let ctl = ctl.at(n);
            let once = ctl.run(&["lease", "keep-alive", "--once", id]);
            assert_eq!(once, format!("lease {id} keepalived with TTL(60)\n"));
            let mut keeping = ctl.start(&["lease", "keep-alive", id]);
            assert_eq!(keeping.line(), format!("lease {id} keepalived with TTL(60)"));
            ctl.until(&["lease", "timetolive", "--keys", id], |said| said.ends_with("attached keys([a b])\n"));
            let said = ctl.run(&["lease", "timetolive", id]);
            assert!(said.starts_with(&format!("lease {id} granted with TTL(60s), remaining(")), "{said}");
            ctl.until(&["lease", "list"], |said| said == format!("found 1 leases\n{id}\n"));
        }
        assert_eq!(ctl.at(2).run(&["lease", "revoke", id]), format!("lease {id} revoked\n"));
        assert_eq!(ctl.run(&["get", "--prefix", ""]), "");
        assert!(ctl.run(&["lease", "timetolive", id]).ends_with("already expired\n"));
        ctl.fails_with(&["lease", "revoke", id], "etcdserver: requested lease not found");
        ctl.fails_with(&["put", "--lease", id, "a", "1"], "etcdserver: requested lease not found");
        assert_eq!(ctl.run(&["lease", "keep-alive", id]), format!("lease {id} expired or revoked.\n"));
    });
}

#[test]
fn a_lease_runs_out_and_takes_its_keys_at_one_revision() {
    on_every_cluster("a_lease_runs_out_and_takes_its_keys_at_one_revision", |ctl, _| {
        let granted = ctl.run(&["lease", "grant", "2"]);
        ctl.run(&["put", "--lease", id(&granted), "a", "1"]);
        ctl.run(&["put", "--lease", id(&granted), "b", "1"]);
        let before = ctl.json(&["get", "a"])["header"]["revision"].as_u64().expect("a revision");
        let mut watch = ctl.start(&["watch", "--prefix", "", &format!("--rev={}", before + 1)]);
        assert_eq!(watch.lines(), ["DELETE", "a", "", "DELETE", "b", ""]);
        assert_eq!(ctl.json(&["get", "a"])["header"]["revision"].as_u64(), Some(before + 1));
        assert_eq!(ctl.run(&["lease", "list"]), "found 0 leases\n");
    });
}
