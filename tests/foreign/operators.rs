//! What operators ask of a cluster: who leads, who is a member, whether all is well.

use serde_json::Value;

use crate::ctl::{Ctl, on_every_cluster, on_the_embedded_cluster};

/// Of each member what it says of itself.
fn status(ctl: &Ctl) -> Vec<Value> {
    let told = ctl.json(&["endpoint", "status"]);
    told.as_array().expect("a list").iter().map(|member| member["Status"].clone()).collect()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no number: {value}"))
}

/// The endpoint of the leader among the three, and its id.
fn leader(ctl: &Ctl) -> (usize, u64) {
    let told = status(ctl);
    let leader = number(&told[0]["leader"]);
    let at = told.iter().position(|member| number(&member["header"]["member_id"]) == leader);
    (at.expect("it is one of them"), leader)
}

#[test]
fn every_member_tells_how_it_is() {
    on_every_cluster("every_member_tells_how_it_is", |ctl, cluster| {
        for n in 0..9 {
            ctl.run(&["put", &format!("k{n}"), "v"]);
        }
        let told = status(ctl);
        assert_eq!(told.len(), 3);
        for member in &told {
            assert_eq!(member["leader"], told[0]["leader"]);
            assert_eq!(member["raftTerm"], told[0]["raftTerm"]);
            assert!(number(&member["raftIndex"]) >= number(&member["raftAppliedIndex"]), "{member}");
            assert!(number(&member["dbSize"]) >= number(&member["dbSizeInUse"]), "{member}");
            assert!(member["version"].as_str().is_some_and(|version| version.starts_with("3.")), "{member}");
        }
        let table = ctl.run(&["endpoint", "status", "--write-out=table"]);
        assert_eq!(table.matches("true").count(), 1, "one leads: {table}");
        let health = ctl.json(&["endpoint", "health"]);
        assert!(health.as_array().is_some_and(|all| all.len() == 3 && all.iter().all(|one| one["health"] == true)));
        // All have the same once all have it all.
        let hashes = |text: &str| {
            let told: Value = serde_json::from_str(text).unwrap_or_default();
            let hashes = told.as_array().into_iter().flatten().map(|one| one["HashKV"]["hash"].clone());
            let mut hashes: Vec<_> = hashes.map(|hash| hash.to_string()).collect();
            hashes.dedup();
            hashes
        };
        ctl.until(&["endpoint", "hashkv", "--write-out=json"], |said| hashes(said).len() == 1);
        assert_eq!(ctl.run(&["alarm", "list"]), "");
        assert_eq!(ctl.run(&["defrag"]).matches("Finished defragmenting etcd member").count(), 3);
        let members = ctl.run(&["member", "list"]);
        assert_eq!(members.lines().count(), 3);
        for n in 0..3 {
            let line = format!("started, {}, ", cluster.name(n));
            assert!(members.contains(&line) && members.contains(&cluster.endpoint(n)), "{members}");
        }
    });
}

#[test]
fn the_lead_is_moved_by_the_leader_only() {
    on_every_cluster("the_lead_is_moved_by_the_leader_only", |ctl, _| {
        let (at, id) = leader(ctl);
        let to = number(&status(ctl)[(at + 1) % 3]["header"]["member_id"]);
        let target = format!("{to:x}");
        ctl.at((at + 1) % 3).fails_with(&["move-leader", &target], "no leader endpoint given");
        let said = ctl.run(&["move-leader", &target]);
        assert_eq!(said, format!("Leadership transferred from {id:x} to {target}\n"));
        ctl.until(&["endpoint", "status", "--write-out=json"], |said| {
            let told: Value = serde_json::from_str(said).unwrap_or_default();
            let leads = |member: &Value| number(&member["Status"]["leader"]) == to;
            told.as_array().is_some_and(|all| all.len() == 3 && all.iter().all(leads))
        });
        ctl.fails_with(&["move-leader", "1"], "etcdserver: bad leader transferee");
    });
}

const PEER: &str = "--peer-urls=http://127.0.0.1:9";

/// Adds a learner; its id as the membership lists it.
fn add_learner(ctl: &Ctl) -> String {
    // A real cluster changes nothing until its members have been connected for some seconds.
    let added = ctl.until(&["member", "add", "n4", "--learner", PEER], |said| said.starts_with("Member"));
    let id = added.split_whitespace().nth(1).expect("Member <id> added").to_owned();
    assert!(added.starts_with(&format!("Member {id:>16} added to cluster ")), "{added}");
    id
}

fn remove(ctl: &Ctl, id: &str) {
    let removed = ctl.run(&["member", "remove", id]);
    assert!(removed.starts_with(&format!("Member {id:>16} removed from cluster ")), "{removed}");
    ctl.fails_with(&["member", "remove", id], "etcdserver: member not found");
    ctl.until(&["member", "list"], |said| said.lines().count() == 3);
}

#[test]
fn changes_of_the_membership_that_cannot_be_are_refused() {
    on_every_cluster("changes_of_the_membership_that_cannot_be_are_refused", |ctl, _| {
        let id = add_learner(ctl);
        // etcd makes ids of the URLs and the second in which it is asked, and looks at them first.
        let twice = ctl.fails(&["member", "add", "n5", PEER]);
        let reasons = ["etcdserver: Peer URLs already exists", "etcdserver: member ID already exist"];
        assert!(reasons.iter().any(|reason| twice.contains(reason)), "{twice}");
        let second = ["member", "add", "n5", "--learner", "--peer-urls=http://127.0.0.1:10"];
        ctl.fails_with(&second, "etcdserver: too many learner members in cluster");
        ctl.fails_with(&["move-leader", &id], "etcdserver: bad leader transferee");
        let (_, leader) = leader(ctl);
        let promote = ["member", "promote", &format!("{leader:x}")];
        ctl.fails_with(&promote, "etcdserver: can only promote a learner member");
        ctl.fails_with(&["member", "promote", "1"], "etcdserver: member not found");
        remove(ctl, &id);
    });
}

#[test]
fn a_member_joins_as_a_learner_is_promoted_and_leaves() {
    on_the_embedded_cluster("a_member_joins_as_a_learner_is_promoted_and_leaves", |ctl, _| {
        ctl.run(&["put", "before", "1"]);
        let id = add_learner(ctl);
        // It starts by itself, and a learner serves what needs no vote.
        let joined = |said: &str| said.lines().any(|line| line.starts_with(&id) && line.ends_with(", true"));
        let list = ctl.until(&["member", "list"], joined);
        let line = list.lines().find(|line| line.starts_with(&id)).expect("it is listed");
        let endpoint = line.split(", ").nth(4).expect("where it serves").to_owned();
        let learner = ctl.to(&endpoint);
        learner.until(&["get", "before", "--consistency=s"], |said| said == "before\n1\n");
        learner.fails_with(&["get", "before"], "etcdserver: rpc not supported for learner");
        ctl.until(&["member", "promote", &id], |said| said.contains("promoted in cluster"));
        assert_eq!(learner.run(&["put", "after", "2"]), "OK\n");
        assert_eq!(ctl.run(&["get", "after", "--print-value-only"]), "2\n");
        remove(ctl, &id);
        learner.fails(&["get", "after", "--command-timeout=1s"]);
    });
}

#[test]
fn what_is_missing_says_so() {
    on_the_embedded_cluster("what_is_missing_says_so", |ctl, _| {
        ctl.fails_with(&["user", "list"], "the embedded cluster has no users");
        ctl.at(0).fails_with(&["snapshot", "save", "/dev/null"], "no database file");
    });
}
