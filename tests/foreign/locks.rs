//! Locks and elections as etcdctl makes them: of keys, leases and watches.

use std::fs;

use crate::ctl::{Running, on_every_cluster};

#[test]
fn a_lock_goes_to_those_who_wait_in_their_order() {
    on_every_cluster("a_lock_goes_to_those_who_wait_in_their_order", |ctl, cluster| {
        let folder = tempfile::tempdir().expect("a folder");
        let order = folder.path().join("order");
        let mut first = ctl.start(&["lock", "--ttl=60", "q"]);
        assert!(first.line().starts_with("q/"));
        let write = |name: &str| format!("echo {name} >>'{}'", order.display());
        let mut waiting: Vec<Running> = Vec::new();
        for (n, name) in ["second", "third", "fourth"].into_iter().enumerate() {
            // Each at another member.
            waiting.push(ctl.at(n % cluster.endpoints().len()).start(&["lock", "q", "--", "sh", "-c", &write(name)]));
            ctl.until(&["get", "--prefix", "q/", "--keys-only"], |said| said.split_whitespace().count() == n + 2);
        }
        assert!(!order.exists(), "nobody has it but the first");
        first.interrupt();
        for lock in &mut waiting {
            lock.ends();
        }
        assert_eq!(fs::read_to_string(order).expect("they wrote"), "second\nthird\nfourth\n");
        assert_eq!(ctl.run(&["get", "--prefix", "q/"]), "");
    });
}

#[test]
fn a_lock_whose_holder_dies_is_free_when_its_lease_has_run_out() {
    on_every_cluster("a_lock_whose_holder_dies_is_free_when_its_lease_has_run_out", |ctl, _| {
        let mut first = ctl.start(&["lock", "--ttl=2", "q"]);
        let held = first.line();
        first.kill();
        assert_eq!(ctl.run(&["get", "--prefix", "q/", "--keys-only"]).trim(), held);
        assert_eq!(ctl.run(&["lock", "q", "echo", "free"]), "free\n");
    });
}

#[test]
fn an_election_passes_on_and_those_who_listen_hear_of_it() {
    on_every_cluster("an_election_passes_on_and_those_who_listen_hear_of_it", |ctl, _| {
        let mut one = ctl.at(0).start(&["elect", "e", "one"]);
        let [key, value] = one.lines();
        assert_eq!((key.starts_with("e/"), &*value), (true, "one"));
        let mut two = ctl.at(1).start(&["elect", "e", "two"]);
        ctl.until(&["get", "--prefix", "e/", "--keys-only"], |said| said.split_whitespace().count() == 2);
        let mut listening = ctl.at(2).start(&["elect", "--listen", "e"]);
        assert_eq!(listening.lines(), [key.clone(), value]);
        one.interrupt();
        let [next, value] = two.lines();
        assert_eq!((next != key, &*value), (true, "two"));
        assert_eq!(listening.lines(), [next, value]);
        two.interrupt();
        assert_eq!(ctl.run(&["get", "--prefix", "e/"]), "");
    });
}
