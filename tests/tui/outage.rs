//! An etcd that does not answer, and one that is not there: the screen goes on.

use std::time::Duration;

use super::locks::World;
use super::pty::lockscope;
use super::support::etcd::free_port;

#[test]
fn where_no_etcd_is_the_screen_says_what_was_tried() {
    let port = free_port().to_string();
    let tui = lockscope(&["--endpoints", &format!("127.0.0.1:{port}")]).start();
    tui.shows("RETRYING");
    tui.shows(&port);
    tui.shows("refused");
    tui.keys("q");
    assert_eq!(tui.ends(), 0);
    assert_eq!(tui.left_over(), Vec::<&str>::new());
}

#[test]
fn a_locked_up_etcd_freezes_nothing() {
    let Some(world) = World::new("a_locked_up_etcd_freezes_nothing") else { return };
    world.enqueue("/jobs/reindex", 600);
    let tui = world.lockscope(&[]).start();
    tui.shows("/jobs/reindex");
    tui.shows("LIVE");
    world.cluster.pause(0);
    for (keys, text) in [("?", "closes the help"), ("q", "sort: WEIGHT"), ("s", "sort: WAIT"), ("4", "Members 1")] {
        let took = tui.time(|| tui.keys(keys), text);
        println!("{keys:?} while etcd is locked up: {took:?}");
        assert!(took < Duration::from_millis(500), "{keys:?} took {took:?}");
    }
    tui.keys("1");
    tui.shows("/jobs/reindex");
    let took = tui.time_to_end(|| tui.keys("q"));
    println!("q while etcd is locked up: {took:?}");
    assert!(took < Duration::from_millis(500), "{took:?}");
    world.cluster.resume(0);
}

#[test]
fn a_lost_etcd_is_told_and_found_again() {
    let Some(mut world) = World::new("a_lost_etcd_is_told_and_found_again") else { return };
    world.enqueue("/jobs/reindex", 600);
    let tui = world.lockscope(&[]).start();
    tui.shows("LIVE");
    tui.shows("/jobs/reindex");
    world.cluster.kill(0);
    tui.shows("RETRYING");
    tui.shows("/jobs/reindex");
    world.cluster.start(0);
    tui.shows("LIVE");
    world.enqueue("/jobs/after", 600);
    tui.shows("/jobs/after");
    // The log tells it afterwards.
    tui.keys("6");
    tui.shows("connected to ");
    tui.shows("lost the connection to ");
}

#[test]
fn a_wrong_password_is_told_as_such() {
    let Some(world) = World::new("a_wrong_password_is_told_as_such") else { return };
    for line in ["user add root:right", "user grant-role root root", "auth enable"] {
        world.cluster.told(line);
    }
    let tui = world.lockscope(&["--user", "root:wrong"]).size(80, 24).start();
    tui.shows("etcd does not let this user log in.");
    tui.shows("authentication failed: check --user and --password");
}

#[test]
fn the_password_is_neither_on_the_screen_nor_in_the_log() {
    let Some(world) = World::new("the_password_is_neither_on_the_screen_nor_in_the_log") else { return };
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let tui = world.lockscope(&["--user", "root:s3cr3t-word", "--debug", "--log-file", log.to_str().unwrap()]).start();
    tui.shows("lockscope");
    tui.keys("6");
    tui.shows("started");
    tui.keys("q");
    tui.ends();
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("started") && !log.contains("s3cr3t"), "{log}");
    tui.was_not_sent(b"s3cr3t");
}
