//! Members that die, stand still or lose each other, and answers that never come.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use lockscope::domain::write::WriteResult;
use lockscope::operate::Outcome;

use crate::hand::{carry_out, keys, release, revoke};
use crate::store::{Store, json_on, on};
use crate::support::etcd::{Cluster, newest, versions};
use crate::support::proxy::Proxy;

/// The members' numbers, the leader first.
fn leader_first(cluster: &Cluster) -> Vec<usize> {
    let members = json_on(cluster, ["members"]);
    let leads = |n: &usize| {
        let member = members["members"].as_array().unwrap().iter().find(|member| member["name"] == cluster.name(*n));
        member.is_some_and(|member| member["role"] == "leader")
    };
    let mut all: Vec<_> = (0..cluster.endpoints().len()).collect();
    all.sort_by_key(|n| !leads(n));
    assert!(leads(&all[0]), "{members}");
    all
}

fn keys_there(cluster: &Cluster, prefix: &str) -> Vec<String> {
    let listed = cluster.told(&format!("get --prefix --keys-only {prefix}"));
    listed.lines().filter(|line| !line.is_empty()).map(Into::into).collect()
}

fn leases_there(cluster: &Cluster) -> String {
    cluster.told("lease list")
}

/// What is called done has to be so.
#[track_caller]
fn is_honest(cluster: &Cluster, outcome: &Outcome, lease: &str, prefix: &str) {
    let (leases, keys) = (leases_there(cluster), keys_there(cluster, prefix));
    match &outcome.result {
        WriteResult::Done { .. } => {
            assert!(!leases.contains(lease), "{outcome:?} and yet {leases}");
            assert!(keys.is_empty(), "{outcome:?} and yet {keys:?}");
        }
        WriteResult::Unknown { .. } => {}
        other => panic!("after it was sent it is done or unknown, not {other:?}"),
    }
}

#[test]
fn an_answer_that_is_lost_is_looked_after_and_else_unknown() {
    for version in versions("writes: an answer that is lost") {
        let cluster = version.cluster().start();
        let mut store = Store::of(&cluster);
        // Only through the connection that was lost can it be asked.
        let alone = store.join("/q/alone", 0xa1, 600);
        let proxy = Arc::new(Proxy::start(cluster.address(0)));
        let swallow = Arc::clone(&proxy);
        let confirmed = revoke(0xa1, &[("/q/alone/a1", alone)]);
        let outcome = carry_out(vec![proxy.endpoint()], &confirmed, move || swallow.mute());
        assert!(matches!(outcome.result, WriteResult::Unknown { .. }), "{outcome:?}");
        assert!(!leases_there(&cluster).contains("a1"), "it was done, which nobody could see");
        // Another way in tells.
        let seen = store.join("/q/seen", 0xb2, 600);
        let proxy = Arc::new(Proxy::start(cluster.address(0)));
        let swallow = Arc::clone(&proxy);
        let confirmed = revoke(0xb2, &[("/q/seen/b2", seen)]);
        let outcome = carry_out(vec![proxy.endpoint(), cluster.endpoint(0)], &confirmed, move || swallow.mute());
        assert!(matches!(outcome.result, WriteResult::Done { .. }), "{outcome:?}");
        assert!(outcome.notes.iter().any(|note| note.contains("the answer was lost")), "{outcome:?}");
        is_honest(&cluster, &outcome, "b2", "/q/seen");
    }
}

#[test]
fn a_question_that_is_lost_is_not_called_done() {
    let Some(version) = newest("writes: a question that is lost") else { return };
    let cluster = version.cluster().start();
    let mut store = Store::of(&cluster);
    let created = store.join("/q", 0xa1, 600);
    let proxy = Arc::new(Proxy::start(cluster.address(0)));
    let hold = Arc::clone(&proxy);
    let confirmed = revoke(0xa1, &[("/q/a1", created)]);
    let outcome = carry_out(vec![proxy.endpoint(), cluster.endpoint(0)], &confirmed, move || hold.freeze());
    let WriteResult::Unknown { why } = &outcome.result else { panic!("{outcome:?}") };
    assert!(why.contains("lease a1 is there with 1 of its keys"), "{why}");
    assert_eq!(keys_there(&cluster, "/q"), ["/q/a1"]);
}

#[test]
fn a_release_whose_connection_is_cut_is_sent_again_under_the_same_guard() {
    let Some(version) = newest("writes: a release whose connection is cut") else { return };
    let cluster = version.cluster().start();
    let mut store = Store::of(&cluster);
    let created = store.put("/q/1", "", 0);
    let proxy = Arc::new(Proxy::start(cluster.address(0)));
    let cut = Arc::clone(&proxy);
    let outcome =
        carry_out(vec![proxy.endpoint(), cluster.endpoint(0)], &release("/q", "/q/1", created), move || cut.cut());
    assert!(matches!(outcome.result, WriteResult::Done { .. }), "{outcome:?}");
    assert_eq!(keys_there(&cluster, "/q"), [""; 0]);
}

#[test]
fn a_release_that_is_sent_again_does_not_hit_the_lock_that_came_meanwhile() {
    let Some(version) = newest("writes: a release that is sent again") else { return };
    let cluster = version.cluster().start();
    let mut store = Store::of(&cluster);
    let created = store.put("/q/1", "", 0);
    let proxy = Arc::new(Proxy::start(cluster.address(0)));
    let cut = Arc::clone(&proxy);
    // The first try is lost; meanwhile the same client lets go and takes it again.
    let outcome = carry_out(vec![proxy.endpoint(), cluster.endpoint(0)], &release("/q", "/q/1", created), move || {
        cut.cut();
        let again = thread::spawn(move || {
            store.delete("/q/1");
            store.put("/q/1", "newer", 0);
        });
        again.join().unwrap();
    });
    assert!(matches!(outcome.result, WriteResult::Done { .. }), "what was shown is gone: {outcome:?}");
    assert_eq!(keys_there(&cluster, "/q"), ["/q/1"], "and the newer one is there");
}

#[test]
fn a_newer_lock_under_the_same_name_and_a_lease_that_gained_a_key_are_shown_again() {
    for version in versions("writes: a newer lock under the same name") {
        let cluster = version.cluster().start();
        let mut store = Store::of(&cluster);
        let old = store.put("/q/1", "", 0);
        store.delete("/q/1");
        let new = store.put("/q/1", "", 0);
        let outcome = carry_out(cluster.endpoints(), &release("/q", "/q/1", old), || {});
        assert_eq!(outcome.result, WriteResult::Changed { now: keys(&[("/q/1", new)]) });
        let first = store.join("/l", 0xa1, 600);
        let second = store.put("/elsewhere", "", 0xa1);
        let outcome = carry_out(cluster.endpoints(), &revoke(0xa1, &[("/l/a1", first)]), || {});
        let now = keys(&[("/elsewhere", second), ("/l/a1", first)]);
        assert_eq!(outcome.result, WriteResult::Changed { now });
        assert_eq!(keys_there(&cluster, "/").len(), 3, "nothing was done");
    }
}

#[test]
fn a_leader_that_is_killed_during_a_revoke_makes_it_done_or_unknown() {
    let Some(version) = newest("writes: a leader that is killed") else { return };
    let cluster = Arc::new(Mutex::new(version.cluster().members(3).start()));
    // Asked of the leader itself, and of one that hands on to it; before it is sent, and just after.
    for (round, (through_leader, after)) in [(true, 0), (false, 0), (true, 3), (false, 3)].into_iter().enumerate() {
        let lease = 0xa1 + i64::try_from(round).unwrap();
        let (endpoints, leader, created) = {
            let cluster = cluster.lock().unwrap();
            let mut order = leader_first(&cluster);
            let leader = order[0];
            if !through_leader {
                order.rotate_left(1);
            }
            let created = Store::of(&cluster).join("/q", lease, 600);
            (order.iter().map(|n| cluster.endpoint(*n)).collect(), leader, created)
        };
        let key = format!("/q/{lease:x}");
        let victim = Arc::clone(&cluster);
        let outcome = carry_out(endpoints, &revoke(lease, &[(&key, created)]), move || {
            let kill = move || victim.lock().unwrap().kill(leader);
            if after == 0 {
                kill();
            } else {
                thread::spawn(move || {
                    wait(Duration::from_millis(after));
                    kill();
                });
            }
        });
        let mut cluster = cluster.lock().unwrap();
        cluster.restart(leader);
        cluster.healthy();
        is_honest(&cluster, &outcome, &format!("{lease:x}"), &key);
        if matches!(outcome.result, WriteResult::Unknown { .. })
            && leases_there(&cluster).contains(&format!("{lease:x}"))
        {
            cluster.told(&format!("lease revoke {lease:x}"));
        }
    }
}

#[test]
fn without_a_quorum_a_write_ends_in_time_and_lists_go_on() {
    let Some(version) = newest("writes: without a quorum") else { return };
    let mut cluster = version.cluster().members(3).start();
    let mut store = Store::of(&cluster);
    let created = store.join("/q", 0xa1, 600);
    drop(store);
    cluster.kill(1);
    cluster.kill(2);
    let quick = ["--command-timeout", "2s", "--dial-timeout", "1s"];
    for write in [&["revoke", "a1", "--yes"][..], &["release", "/q", "--yes"]] {
        let ended = on(&cluster, quick.iter().chain(write)).run();
        assert!(matches!(ended.code, Some(1 | 2)), "{ended:?}");
        assert!(!ended.text().contains("result\tdone"), "{ended:?}");
    }
    let listed = on(&cluster, quick.iter().chain(&["ls", ""])).run().expect(0);
    assert!(listed.text().starts_with("/q\t"), "{}", listed.text());
    // What was confirmed before is not done either, and says why.
    let outcome = carry_out(cluster.endpoints(), &revoke(0xa1, &[("/q/a1", created)]), || {});
    assert!(matches!(&outcome.result, WriteResult::NotSent { .. }), "{outcome:?}");
}

#[test]
fn a_quorum_that_is_lost_between_look_and_write_leaves_it_unknown() {
    let Some(version) = newest("writes: a quorum that is lost") else { return };
    let cluster = Arc::new(Mutex::new(version.cluster().members(3).start()));
    let (order, endpoints, created) = {
        let cluster = cluster.lock().unwrap();
        let order = leader_first(&cluster);
        let endpoints = order.iter().map(|n| cluster.endpoint(*n)).collect();
        (order, endpoints, Store::of(&cluster).join("/q", 0xa1, 600))
    };
    let stop = Arc::clone(&cluster);
    let followers = order[1..].to_vec();
    let outcome = carry_out(endpoints, &revoke(0xa1, &[("/q/a1", created)]), move || {
        let cluster = stop.lock().unwrap();
        for n in &followers {
            cluster.pause(*n);
        }
    });
    assert!(matches!(outcome.result, WriteResult::Unknown { .. }), "{outcome:?}");
    let cluster = cluster.lock().unwrap();
    for n in &order[1..] {
        cluster.resume(*n);
    }
}

#[test]
fn a_member_that_stands_still_holds_no_write_up() {
    let Some(version) = newest("writes: a member that stands still") else { return };
    let cluster = version.cluster().members(3).start();
    let mut store = Store::of(&cluster);
    store.join("/q", 0xa1, 600);
    store.put("/s/lock/7e055af811b4bb53", "", 0);
    drop(store);
    let follower = leader_first(&cluster)[1];
    cluster.pause(follower);
    let mut endpoints = cluster.endpoints();
    endpoints.swap(0, follower);
    let run = |arguments: &[&str]| {
        let endpoints = endpoints.join(",");
        let all = ["--endpoints", &endpoints].into_iter().chain(arguments.iter().copied());
        crate::program::lockscope(all).run().expect(0)
    };
    run(&["revoke", "a1", "--yes"]);
    run(&["release", "/s/lock", "--yes"]);
    cluster.resume(follower);
    assert_eq!(keys_there(&cluster, "/"), [""; 0]);
}

#[test]
fn a_full_database_keeps_nobody_from_letting_go() {
    for version in versions("writes: a full database") {
        let cluster = version.cluster().flag("--quota-backend-bytes=1048576").start();
        let mut store = Store::of(&cluster);
        store.join("/q", 0xa1, 600);
        store.put("/s/lock/7e055af811b4bb53", "", 0);
        drop(store);
        let large = "x".repeat(300_000);
        let mut filled = 0;
        while cluster.ctl(&["put", "/fill", &large[..120_000]]).status.success() {
            filled += 1;
            assert!(filled < 50, "the quota is small");
        }
        assert!(cluster.told("alarm list").contains("NOSPACE"));
        let plan = json_on(&cluster, ["disarm", "--dry-run"]);
        assert_eq!(plan["alarm"], "NOSPACE");
        assert!(plan["notes"].to_string().contains("comes back"), "{plan}");
        on(&cluster, ["revoke", "a1", "--yes"]).run().expect(0);
        on(&cluster, ["release", "/s/lock", "--yes"]).run().expect(0);
        assert_eq!(keys_there(&cluster, "/q"), [""; 0]);
        assert_eq!(keys_there(&cluster, "/s"), [""; 0]);
        let done = on(&cluster, ["disarm", "nospace", "--yes"]).run().expect(0);
        assert!(done.stderr.contains("comes back"), "{}", done.stderr);
        assert!(!cluster.told("alarm list").contains("NOSPACE"));
        on(&cluster, ["disarm", "--yes"]).run().expect(1);
    }
}

#[expect(clippy::disallowed_methods, reason = "the moment at which a member dies, in a thread of its own")]
fn wait(length: Duration) {
    thread::sleep(length);
}
