//! etcd's own command line client, of each version found, works unchanged.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

use super::etcd::{self, Version};
use crate::server::grpc::testing::Served;

/// One etcdctl and the server it talks to.
struct Ctl<'a> {
    version: &'a Version,
    endpoint: String,
}

impl Ctl<'_> {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.version.etcdctl());
        command.env("ETCDCTL_API", "3").arg("--endpoints").arg(&self.endpoint).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn output(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("etcdctl runs")
    }

    /// What it prints; it has to succeed.
    fn run(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "etcdctl {} {arguments:?}: {error}", self.version);
        String::from_utf8(output.stdout).expect("it prints text")
    }

    /// What it complains of; it has to fail.
    fn fails(&self, arguments: &[&str]) -> String {
        let output = self.output(arguments);
        assert!(!output.status.success(), "etcdctl {} {arguments:?} succeeds", self.version);
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    /// Starts it, to be read line by line.
    fn start(&self, arguments: &[&str]) -> Running {
        let mut child = self.command(arguments).spawn().expect("etcdctl runs");
        let out = child.stdout.take().expect("it is piped");
        Running { child, lines: BufReader::new(out).lines() }
    }
}

/// A running etcdctl, which ends with its value.
struct Running {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Running {
    fn line(&mut self) -> String {
        self.lines.next().expect("there is a line").expect("it is text")
    }

    /// Ends it as Ctrl-C does.
    fn interrupt(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
        self.child.wait().expect("it ends");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a test with every etcdctl, each against a server of its own.
fn with_every(test: &str, run: impl Fn(&Ctl<'_>)) {
    for version in etcd::versions(test) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let served = runtime.block_on(Served::start());
        run(&Ctl { version: &version, endpoint: served.address.to_string() });
        runtime.block_on(served.stop());
    }
}

#[test]
fn keys_are_put_read_and_deleted() {
    with_every("keys_are_put_read_and_deleted", |ctl| {
        assert_eq!(ctl.run(&["put", "a", "1"]), "OK\n");
        assert_eq!(ctl.run(&["put", "--prev-kv", "a", "2"]), "OK\na\n1\n");
        assert_eq!(ctl.run(&["get", "a"]), "a\n2\n");
        assert_eq!(ctl.run(&["get", "--consistency=s", "--rev=2", "a"]), "a\n1\n");
        assert_eq!(ctl.run(&["del", "--prefix", ""]), "1\n");
        assert_eq!(ctl.run(&["compaction", "3"]), "compacted revision 3\n");
        assert!(ctl.fails(&["compaction", "3"]).contains("required revision has been compacted"));
        assert!(ctl.fails(&["get", "--rev=99", "a"]).contains("required revision is a future revision"));
    });
}

#[test]
fn a_transaction_runs() {
    with_every("a_transaction_runs", |ctl| {
        let mut child = ctl.command(&["txn"]).stdin(Stdio::piped()).spawn().expect("etcdctl runs");
        let mut input = child.stdin.take().expect("it is piped");
        std::io::Write::write_all(&mut input, b"create(\"a\") = \"0\"\n\nput a 1\nget a\n\nget a\n\n")
            .expect("it reads");
        drop(input);
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "SUCCESS\n\nOK\n\na\n1\n");
    });
}

#[test]
fn a_watch_sees_puts_and_deletes() {
    with_every("a_watch_sees_puts_and_deletes", |ctl| {
        ctl.run(&["put", "a", "0"]);
        let mut watch = ctl.start(&["watch", "--prefix", "--prev-kv", "--rev=2", "a"]);
        assert_eq!([watch.line(), watch.line(), watch.line()], ["PUT", "a", "0"]);
        ctl.run(&["put", "ab", "1"]);
        assert_eq!([watch.line(), watch.line(), watch.line()], ["PUT", "ab", "1"]);
        ctl.run(&["del", "ab"]);
        let lines: Vec<_> = (0..5).map(|_| watch.line()).collect();
        assert_eq!(lines, ["DELETE", "ab", "1", "ab", ""]);
        ctl.run(&["compaction", "4"]);
        assert!(ctl.fails(&["watch", "--rev=2", "a"]).contains("watch is canceled by the server"));
    });
}

#[test]
fn leases_are_kept_alive_and_revoked() {
    with_every("leases_are_kept_alive_and_revoked", |ctl| {
        let granted = ctl.run(&["lease", "grant", "60"]);
        let id = granted.split(' ').nth(1).expect("lease <id> granted");
        assert_eq!(granted, format!("lease {id} granted with TTL(60s)\n"));
        ctl.run(&["put", "--lease", id, "a", "1"]);
        assert!(ctl.run(&["lease", "timetolive", "--keys", id]).ends_with("attached keys([a])\n"));
        assert_eq!(ctl.run(&["lease", "keep-alive", "--once", id]), format!("lease {id} keepalived with TTL(60)\n"));
        let mut keeping = ctl.start(&["lease", "keep-alive", id]);
        assert_eq!(keeping.line(), format!("lease {id} keepalived with TTL(60)"));
        assert_eq!(ctl.run(&["lease", "list"]), format!("found 1 leases\n{id}\n"));
        assert_eq!(ctl.run(&["lease", "revoke", id]), format!("lease {id} revoked\n"));
        assert_eq!(ctl.run(&["get", "a"]), "");
        assert!(ctl.run(&["lease", "timetolive", id]).ends_with("already expired\n"));
    });
}

#[test]
fn a_lock_is_handed_over() {
    with_every("a_lock_is_handed_over", |ctl| {
        let mut first = ctl.start(&["lock", "--ttl=60", "name"]);
        let held = first.line();
        let mut watch = ctl.start(&["watch", "--prefix", "--rev=1", "name"]);
        assert_eq!([watch.line(), watch.line()], ["PUT".to_owned(), held.clone()]);
        let mut second = ctl.start(&["lock", "--ttl=60", "name"]);
        while !matches!(&*watch.line(), "PUT") {}
        assert_ne!(watch.line(), held);
        first.interrupt();
        assert_ne!(second.line(), held);
        second.interrupt();
        assert_eq!(ctl.run(&["get", "--prefix", "name"]), "");
        assert_eq!(ctl.run(&["lock", "name", "echo", "held"]), "held\n");
    });
}

#[test]
fn an_election_is_won_and_listened_to() {
    with_every("an_election_is_won_and_listened_to", |ctl| {
        let mut leader = ctl.start(&["elect", "name", "me"]);
        let (key, value) = (leader.line(), leader.line());
        assert_eq!((key.starts_with("name/"), &*value), (true, "me"));
        let mut listening = ctl.start(&["elect", "--listen", "name"]);
        assert_eq!([listening.line(), listening.line()], [key, value]);
        leader.interrupt();
        assert_eq!(ctl.run(&["get", "--prefix", "name"]), "");
    });
}

#[test]
fn operators_commands_are_answered() {
    with_every("operators_commands_are_answered", |ctl| {
        let table = ctl.run(&["endpoint", "status", "-w", "table"]);
        assert!(table.contains("3.5.30") && table.contains("true"), "{table}");
        let health = ctl.output(&["endpoint", "health"]);
        let said = format!("{}{}", String::from_utf8_lossy(&health.stdout), String::from_utf8_lossy(&health.stderr));
        assert!(said.contains("is healthy"), "{said}");
        assert_eq!(ctl.run(&["alarm", "list"]), "");
        assert_eq!(ctl.run(&["alarm", "disarm"]), "");
        assert!(ctl.run(&["defrag"]).contains("Finished defragmenting"));
        assert!(ctl.run(&["endpoint", "hashkv"]).contains(", "));
        let members = ctl.run(&["member", "list"]);
        assert!(members.starts_with("a1, started, n1, http://127.0.0.1:1, "), "{members}");
        let added = ctl.run(&["member", "add", "n2", "--learner", "--peer-urls=http://127.0.0.1:2"]);
        assert!(added.starts_with("Member               a2 added to cluster               c1"), "{added}");
        assert!(ctl.run(&["member", "promote", "a2"]).contains("promoted"));
        assert!(ctl.run(&["member", "remove", "a2"]).contains("removed"));
        assert!(ctl.fails(&["move-leader", "a2"]).contains("bad leader transferee"));
        assert!(ctl.fails(&["snapshot", "save", "/dev/null"]).contains("no database file"));
        assert!(ctl.fails(&["user", "list"]).contains("the embedded cluster has no users"));
    });
}
