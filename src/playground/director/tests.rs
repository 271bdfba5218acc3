//! The director by itself, and every scenario under many seeds in virtual time.

use std::time::Duration;

use super::*;
use crate::domain::play::Ill;
use crate::domain::{Revision, Term};
use crate::embedded::Config;
use crate::playground::cast::DEMO;
use crate::playground::scenario::{Wishes, library};
use crate::playground::{Rehearsal, Summary};
use crate::recipe::Belief;
use crate::view::testing::english_left_of_expected;

const AT: ClusterTime = ClusterTime(0);

fn at(millis: u64) -> ClusterTime {
    AT + Duration::from_millis(millis)
}

/// The director of a scenario whose cues are these.
fn director(cues: &str) -> Director {
    expecting("fifo", cues)
}

/// The same when this is expected.
fn expecting(that: &str, cues: &str) -> Director {
    let text = format!(
        r#"
        name = "test"
        summary = "A test"
        summary_zh = "测试"
        lock = "jobs"
        cluster = {{ needs = "faults" }}
        clients = [{{ count = 3, recipe = "queue", lock = "jobs" }}]
        at = [{cues}]
        expect = [{{ that = "{that}" }}]
        "#
    );
    let scenario =
        Scenario::from_toml(&text, std::path::Path::new("test.toml")).unwrap_or_else(|error| panic!("{error}"));
    let cast = scenario.cast("/test/", Wishes::default());
    Director::new(&scenario, &cast, at(1_000))
}

fn told(director: &mut Director, millis: u64, client: u32, what: Happening) {
    let (lock, client) = (Key::from("/test/jobs"), Some(ClientId(client)));
    director.see(&Moment { at: at(millis), lock, client, what });
}

fn acts(director: &mut Director, millis: u64) -> Vec<String> {
    let line = |act| match act {
        Act::Order(order) => order.to_string(),
        Act::Fault(fault) => fault.to_string(),
        Act::Tell(number) => format!("tell {number}"),
    };
    director.act(at(millis)).into_iter().map(line).collect()
}

const ACQUIRED: Happening = Happening::Acquired(Revision(3), Duration::ZERO);

#[test]
fn times_count_from_the_beginning_of_the_run() {
    let mut director =
        director(r#"{ time = "2s", do = ["crash client-1", "add 2"], say = { en = "A.", zh = "啊。" } }"#);
    assert_eq!(director.next(), Some(at(3_000)));
    assert!(acts(&mut director, 2_999).is_empty());
    assert_eq!(acts(&mut director, 3_000), ["tell 0", "crash client-1", "add 2"]);
    assert_eq!(director.narration().map(|narration| (narration.at, &*narration.en)), Some((at(3_000), "A.")));
    assert_eq!((director.next(), acts(&mut director, 9_000)), (None, Vec::new()));
}

#[test]
fn what_is_waited_for_counts_from_its_time_on() {
    let mut director =
        director(r#"{ time = "2s", when = "client-2 acquires", after = "300ms", do = "pause client-2" }"#);
    told(&mut director, 2_000, 2, ACQUIRED);
    told(&mut director, 4_000, 1, ACQUIRED);
    assert_eq!(director.next(), None);
    told(&mut director, 5_000, 2, ACQUIRED);
    told(&mut director, 5_100, 2, ACQUIRED);
    assert_eq!(director.next(), Some(at(5_300)));
    assert_eq!(acts(&mut director, 5_300), ["pause client-2"]);
    told(&mut director, 6_000, 2, ACQUIRED);
    assert_eq!(director.next(), None, "once is enough");
}

#[test]
fn what_comes_again_comes_again() {
    let mut director = director(r#"{ time = "1s", every = "3s", do = "release client-1" }"#);
    assert_eq!(acts(&mut director, 2_010), ["release client-1"]);
    assert_eq!(director.next(), Some(at(5_000)), "it does not drift");
}

#[test]
fn holder_and_waiter_are_those_of_the_moment_and_waited_for() {
    let mut director = director(r#"{ time = "1s", do = ["crash holder", "cut waiter"] }"#);
    assert!(acts(&mut director, 2_000).is_empty(), "nobody holds");
    told(&mut director, 2_010, 1, ACQUIRED);
    told(&mut director, 2_010, 3, Happening::Enqueued(Revision(4)));
    told(&mut director, 2_020, 2, Happening::Enqueued(Revision(5)));
    assert_eq!(acts(&mut director, 2_100), ["crash client-1", "cut client-3"]);
}

fn picture(leader: u64, killed: Option<u64>) -> RaftPicture {
    let node = |id| NodePicture {
        id: NodeId(id),
        role: if id == leader { RaftRole::Leader } else { RaftRole::Follower },
        life: if killed == Some(id) { Life::Killed } else { Life::Up },
        term: Term(2),
        ..NodePicture::default()
    };
    RaftPicture { nodes: (1..=3).map(node).collect(), ..RaftPicture::default() }
}

#[test]
fn nodes_are_those_of_the_picture() {
    let cues = r#"{ time = "1s", do = ["kill leader", "cut follower follower-2"] }, { time = "2s", do = "start killed" },
        { time = "3s", do = "isolate member of client-2" }"#;
    let mut director = director(cues);
    assert!(acts(&mut director, 2_000).is_empty(), "there is no picture yet");
    director.look(picture(2, None));
    assert_eq!(acts(&mut director, 2_100), ["kill n2", "cut n1 n3"]);
    assert!(acts(&mut director, 3_000).is_empty(), "nobody is killed");
    director.look(picture(3, Some(2)));
    assert_eq!(acts(&mut director, 3_100), ["start n2"]);
    assert_eq!(acts(&mut director, 4_000), ["isolate n3"]);
}

#[test]
fn only_what_was_done_to_a_leader_calls_for_another_one() {
    let cues = r#"{ time = "1s", do = "kill leader" }"#;
    let mut director = expecting("new leader within 3s of fault", cues);
    let stands = |director: &Director| director.expected(&Tally::default(), at(9_000)).remove(0);
    director.look(picture(2, None));
    assert_eq!(acts(&mut director, 2_000), ["kill n2"]);
    assert_eq!(stands(&director).evidence, "nothing was done to a leader");
    let what = Happening::Fault(Fault::Kill(NodeId(2)));
    director.see(&Moment { at: at(2_010), lock: Key::default(), client: None, what });
    assert_eq!(stands(&director).evidence, "after what was done at 2.00 s nobody led for 7.00 s");
}

#[test]
fn a_dropped_holder_holds_no_more() {
    let mut director = director(r#"{ time = "1s", do = "revoke holder" }"#);
    told(&mut director, 1_000, 1, ACQUIRED);
    told(&mut director, 1_500, 1, Happening::Dropped(Revision(9), Belief::Holding));
    told(&mut director, 1_600, 2, ACQUIRED);
    assert_eq!(director.act(at(2_000)), [Act::Order(Order::Client(Whom::Client(ClientId(2)), Ill::Revoke))]);
}

fn played(scenario: &Scenario, seed: u64, length: Duration) -> Summary {
    let cast = scenario.cast(DEMO, Wishes::default());
    let mut config = Config { seed, delay: Duration::from_millis(5), ..Config::default() };
    config.delay = scenario.needs.delay.unwrap_or(config.delay);
    config.rules.pre_vote = scenario.needs.pre_vote.unwrap_or(config.rules.pre_vote);
    config.rules.check_quorum = scenario.needs.check_quorum.unwrap_or(config.rules.check_quorum);
    config.nodes = scenario.needs.members.unwrap_or(config.nodes);
    let director = Director::new(scenario, &cast, AT);
    let mut directed = Directed::new(Rehearsal::new(&cast, config, seed), director);
    directed.run(AT + length);
    let (tally, director) = directed.stop();
    let summary = Summary::of(&cast, seed, length, &tally);
    summary.directed(director.expected(&tally, AT + length), director.narrations())
}

/// How many seeds each scenario is played with: `LOCKSCOPE_SEEDS` says so; a seed takes about a second in all.
fn seeds() -> std::ops::Range<u64> {
    let count = std::env::var("LOCKSCOPE_SEEDS").ok().and_then(|count| count.parse().ok());
    0..count.unwrap_or(8)
}

#[test]
fn every_scenario_keeps_what_it_promises_whatever_the_seed() {
    let mut broken = Vec::new();
    for scenario in library::all().unwrap() {
        for seed in seeds() {
            let summary = played(&scenario, seed, Duration::from_secs(20));
            let failed = summary.expectations.iter().filter(|expectation| !expectation.held);
            broken
                .extend(failed.map(|failed| format!("{} {seed}: {}: {}", scenario.name, failed.text, failed.evidence)));
        }
    }
    assert!(broken.is_empty(), "{} broken:\n{}", broken.len(), broken.join("\n"));
}

#[test]
fn what_is_expected_of_every_scenario_and_what_comes_of_it_are_said_in_chinese() {
    for scenario in library::all().unwrap() {
        let cast = scenario.cast(DEMO, Wishes::default());
        let locks = cast.clients.iter().map(|(_, habits)| String::from_utf8_lossy(habits.lock().name()).into_owned());
        let names: Vec<String> = locks.chain(cast.resources.iter().map(|resource| resource.name.clone())).collect();
        let names: Vec<&str> = names.iter().filter_map(|name| name.rsplit('/').next()).collect();
        for length in [3, 20].map(Duration::from_secs) {
            let summary = played(&scenario, 7, length);
            for said in summary.expectations.iter().flat_map(|expected| [&expected.text, &expected.evidence]) {
                assert_eq!(english_left_of_expected(said, &names), [""; 0], "{}: {said}", scenario.name);
            }
        }
    }
}

#[test]
fn a_run_that_ends_before_its_script_has_not_shown_what_it_should() {
    let zombie = library::find("zombie").unwrap().unwrap();
    let summary = played(&zombie, 7, Duration::from_secs(3));
    let held = |text: &str| summary.expectations.iter().find(|expectation| expectation.text == text).unwrap().held;
    assert!(held("fifo"), "{:?}", summary.expectations);
    for text in ["expired keys >= 1", "stale write refused by ledger", "no stale write accepted by ledger"] {
        assert!(!held(text), "{text}: {:?}", summary.expectations);
    }
}

#[test]
fn the_same_seed_is_the_same_run() {
    for name in ["zombie", "partition"] {
        let scenario = library::find(name).unwrap().unwrap();
        let run = |seed| played(&scenario, seed, Duration::from_secs(20));
        assert_eq!(run(42), run(42), "{name}");
        assert_ne!(run(42).timeline, run(43).timeline, "{name}");
    }
}
