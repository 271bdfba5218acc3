//! Members that are killed, paused or cut off, as clients see it.

use std::io::ErrorKind;
use std::net::TcpStream;

use crate::ctl::{on_every_cluster, on_the_embedded_cluster};
use crate::support::served::Cluster;

/// Does to the embedded cluster what the words say.
fn fault(cluster: &Cluster, words: &str) {
    let Cluster::Embedded { cluster, .. } = cluster else { panic!("only the embedded cluster obeys words") };
    cluster.fault(words);
}

#[test]
fn a_killed_member_refuses_connections_and_the_others_go_on() {
    on_every_cluster("a_killed_member_refuses_connections_and_the_others_go_on", |ctl, cluster| {
        ctl.run(&["put", "a", "1"]);
        for n in 0..3 {
            cluster.kill(n);
            // Other suites look for free ports by listening on them, for a moment.
            let refused = || TcpStream::connect(cluster.address(n)).map_err(|error| error.kind()).err();
            assert!((0..100).any(|_| refused() == Some(ErrorKind::ConnectionRefused)), "{}: {:?}", ctl.what, refused());
            // Before 3.5 it does not tell why it cannot connect.
            let words = if ctl.version.at_least(3, 5, 0) { "connection refused" } else { "TransientFailure" };
            ctl.at(n).fails_with(&["get", "a", "--command-timeout=1s"], words);
            let other = ctl.at((n + 1) % 3);
            other.until(&["put", "a", &n.to_string()], |said| said == "OK\n");
            cluster.start(n);
            cluster.healthy();
            assert_eq!(ctl.at(n).run(&["get", "a", "--print-value-only"]), format!("{n}\n"));
        }
    });
}

#[test]
fn a_paused_member_never_answers_and_goes_on_where_it_was() {
    on_every_cluster("a_paused_member_never_answers_and_goes_on_where_it_was", |ctl, cluster| {
        ctl.run(&["put", "a", "1"]);
        for n in 0..3 {
            cluster.pause(n);
            ctl.at(n).fails_with(&["get", "a", "--consistency=s", "--command-timeout=1s"], "context deadline exceeded");
            ctl.at(n).fails_with(&["put", "a", "lost", "--command-timeout=1s"], "context deadline exceeded");
            let other = ctl.at((n + 1) % 3);
            other.until(&["put", "a", &n.to_string()], |said| said == "OK\n");
            cluster.resume(n);
            ctl.at(n).until(&["get", "a", "--print-value-only"], |said| said == format!("{n}\n"));
        }
    });
}

#[test]
fn a_member_that_is_cut_off_tells_what_it_has_and_agrees_to_nothing() {
    on_the_embedded_cluster("a_member_that_is_cut_off_tells_what_it_has_and_agrees_to_nothing", |ctl, cluster| {
        for n in 0..3 {
            ctl.run(&["put", "a", "before"]);
            let (cut_off, other) = (ctl.at(n), ctl.at((n + 1) % 3));
            cut_off.run(&["get", "a"]);
            fault(cluster, &format!("isolate {}", cluster.name(n)));
            other.until(&["put", "a", "since"], |said| said == "OK\n");
            cut_off.fails_with(&["get", "a", "--command-timeout=1s"], "context deadline exceeded");
            cut_off.fails_with(&["put", "a", "no", "--command-timeout=1s"], "context deadline exceeded");
            assert_eq!(cut_off.run(&["get", "a", "--consistency=s", "--print-value-only"]), "before\n");
            fault(cluster, "heal");
            cut_off.until(&["get", "a", "--print-value-only"], |said| said == "since\n");
        }
        fault(cluster, &format!("isolate {}", cluster.name(0)));
        ctl.at(0).fails_with(&["put", "a", "no", "--command-timeout=30s"], "etcdserver: request timed out");
    });
}

#[test]
fn locks_and_watches_outlive_the_leader() {
    on_every_cluster("locks_and_watches_outlive_the_leader", |ctl, cluster| {
        let mut holder = ctl.start(&["lock", "--ttl=10", "q"]);
        let held = holder.line();
        // From the first revision on: nothing tells when a watch of what comes has begun.
        let mut watch = ctl.start(&["watch", "--prefix", "w/", "--rev=1"]);
        let mut waiting = ctl.start(&["lock", "--ttl=10", "q", "echo", "mine"]);
        ctl.until(&["get", "--prefix", "q/", "--keys-only"], |said| said.split_whitespace().count() == 2);
        ctl.run(&["put", "w/0", "v"]);
        assert_eq!(watch.lines(), ["PUT", "w/0", "v"]);
        for n in 0..3 {
            let told = ctl.json(&["endpoint", "status"]);
            let leader = &told[0]["Status"]["leader"];
            let all = told.as_array().expect("a list");
            let at = all.iter().position(|member| member["Status"]["header"]["member_id"] == *leader);
            let at = at.expect("the leader is one of them");
            cluster.kill(at);
            let other = ctl.at((at + 1) % 3);
            let key = format!("w/{}", n + 1);
            other.until(&["put", &key, "v"], |said| said == "OK\n");
            let queue = other.run(&["get", "--prefix", "q/", "--keys-only", "--sort-by=CREATE"]);
            assert_eq!(queue.split_whitespace().next(), Some(&*held), "{queue}");
            while watch.line() != key {}
            cluster.start(at);
            cluster.healthy();
        }
        holder.interrupt();
        assert_eq!(waiting.ends(), ["mine"]);
    });
}
