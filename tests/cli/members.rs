//! `members` and `info` on real clusters.

use serde_json::{Value, json};

use crate::store::{json_on, on};
use crate::support::etcd::{newest, versions};

#[test]
fn every_member_is_listed_as_etcdctl_knows_it() {
    for version in versions("members: every member is listed as etcdctl knows it") {
        let cluster = version.cluster().members(3).start();
        let truth: Value = serde_json::from_slice(&cluster.ctl(&["endpoint", "status", "-w", "json"]).stdout).unwrap();
        let leader = format!("{:x}", truth[0]["Status"]["leader"].as_u64().unwrap());
        let document = json_on(&cluster, ["members"]);
        let members = document["members"].as_array().unwrap();
        assert_eq!(members.len(), 3, "{version}");
        let leaders: Vec<_> = members.iter().filter(|member| member["role"] == "leader").collect();
        assert_eq!(leaders.len(), 1);
        assert_eq!(leaders[0]["id"], json!(leader));
        for member in members {
            assert_eq!(member["term"], truth[0]["Status"]["raftTerm"]);
            assert_eq!(member["version"], json!(version.to_string()));
            assert!(member["db_size"].as_i64().unwrap() > 0);
            assert!(cluster.endpoints().contains(&member["endpoint"].as_str().unwrap().to_owned()));
        }
        assert_eq!(document["alarms"], json!([]));
        assert!(document["revision"].as_i64().unwrap() >= 1);
    }
}

#[test]
fn members_that_do_not_answer_are_told_and_one_that_does_is_enough() {
    let Some(version) = newest("members: members that do not answer are told") else { return };
    let mut cluster = version.cluster().members(3).start();
    cluster.kill(0);
    let document = json_on(&cluster, ["members"]);
    let role = |name: &str| {
        let members = document["members"].as_array().unwrap();
        members.iter().find(|member| member["name"] == name).unwrap()["role"].clone()
    };
    assert_eq!(role(cluster.name(0)), "unreachable");
    assert_ne!(role(cluster.name(1)), "unreachable");
    cluster.pause(1);
    // No quorum is left; who is there still says so.
    let lines = on(&cluster, ["members"]).run().expect(0);
    cluster.resume(1);
    assert_eq!(lines.text().matches("\tunreachable\t").count(), 2, "{}", lines.text());
    cluster.kill(1);
    cluster.kill(2);
    let ended = on(&cluster, ["members"]).run().expect(2);
    for endpoint in cluster.endpoints() {
        assert!(ended.stderr.contains(&endpoint), "{endpoint} is not in {}", ended.stderr);
    }
}

#[test]
fn info_tells_settings_and_cluster_and_no_password() {
    let Some(version) = newest("info: settings and cluster") else { return };
    let cluster = version.cluster().start();
    let document = json_on(&cluster, ["info", "--user", "root:hunter2", "--theme", "light"]);
    assert_eq!(document["reachable"], json!(true), "{document}");
    assert_eq!(document["members"][0]["version"], json!(version.to_string()));
    assert_eq!(document["cluster_id"], json_on(&cluster, ["members"])["cluster_id"]);
    assert_eq!((&document["user"], &document["password"]), (&json!("root"), &json!("***")));
    assert!(!document.to_string().contains("hunter2"));
}
