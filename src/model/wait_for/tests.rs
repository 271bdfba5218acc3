use proptest::prelude::*;

use super::{ClientIx, Link, Step, WaitFor};
use crate::domain::{Key, KeyEvent, KeyRange, KeyValue, LeaseId, Revision, Timestamp};
use crate::event::{Change, Event, LinkState, ListPage, Observation, Stamped};
use crate::model::findings::scene::Scene;
use crate::model::findings::{Severity, Thresholds};
use crate::model::{Diagnosis, Facts, Finding, Model, Since, Ui};
use crate::update::update;

const START: Timestamp = Timestamp(1_000_000);

fn kv(key: &str, lease: i64, value: &[u8], revision: i64) -> KeyValue {
    KeyValue {
        key: key.into(),
        value: value.into(),
        create_revision: Revision(revision),
        mod_revision: Revision(revision),
        version: 1,
        lease: LeaseId(lease),
    }
}

fn see(model: &mut Model, at: Timestamp, what: Observation) {
    update(model, Event::Observed(Stamped { at, what }));
}

/// A model that read these keys: name, lease, value, each created after the one before.
fn model(keys: &[(&str, i64, &[u8])]) -> Model {
    let mut model = Model::new(Facts::new(200), Ui::default());
    let mut listed: Vec<KeyValue> =
        (2..).zip(keys).map(|(revision, &(key, lease, value))| kv(key, lease, value, revision)).collect();
    listed.sort_by(|a, b| a.key.cmp(&b.key));
    let range = KeyRange::prefix(b"");
    see(&mut model, START, Observation::Link(LinkState::Live { endpoint: "http://a:2379".into() }));
    see(&mut model, START, Observation::Scope(vec![range.clone()]));
    let page = ListPage { range, revision: Revision(1_000_000), keys: listed, first: true, last: true };
    see(&mut model, START, Observation::Listed(page));
    model
}

fn empty<'a>(keys: &[(&'a str, i64)]) -> Vec<(&'a str, i64, &'static [u8])> {
    keys.iter().map(|&(key, lease)| (key, lease, &b""[..])).collect()
}

/// The forest, a step a line: dots for its depth, then the client's key.
fn drawn(graph: &WaitFor<'_>) -> Vec<String> {
    let line = |(depth, step): (usize, Step)| {
        let what = match step {
            Step::Circle(_) => "circle".into(),
            Step::Client(ix) => String::from_utf8_lossy(graph.client(ix).key.key()).into_owned(),
        };
        format!("{}{what}", ".".repeat(depth))
    };
    graph.walk().map(line).collect()
}

fn deadlocks(model: &Model) -> Vec<Finding> {
    let diagnosis = Diagnosis::of(model.shown(), &Thresholds::default());
    diagnosis.findings().iter().filter(|finding| finding.code == "deadlock").cloned().collect()
}

fn keys(names: &[&str]) -> Vec<Key> {
    names.iter().map(|&name| name.into()).collect()
}

const CROSSING: [(&str, i64); 4] = [("/d/one/a1", 0xa1), ("/d/two/b2", 0xb2), ("/d/two/a1", 0xa1), ("/d/one/b2", 0xb2)];

#[test]
fn whoever_holds_up_others_is_a_root_and_the_queue_hangs_below() {
    let model = model(&empty(&[
        ("/one/a1", 0xa1),
        ("/two/b2", 0xb2),
        ("/one/b2", 0xb2),
        ("/one/c3", 0xc3),
        ("/two/d4", 0xd4),
        ("/free/e5", 0xe5),
    ]));
    let graph = WaitFor::of(model.shown());
    assert_eq!(drawn(&graph), ["/one/a1", "./one/b2", "../two/d4", "./one/c3"]);
    let root = &graph.roots()[0];
    assert_eq!((root.behind.direct, root.behind.all, root.behind.locks), (2, 3, 2));
    assert_eq!((graph.waiting(), graph.circles().len()), (3, 0));
    assert_eq!(root.behind.waited(Timestamp(1_002_000)).0, 3 * 2_000);
}

#[test]
fn two_sessions_that_cross_are_a_deadlock_with_what_opens_it() {
    let model = model(&empty(&[&CROSSING[..], &[("/d/one/c3", 0xc3), ("/x/b2", 0xb2)]].concat()));
    let graph = WaitFor::of(model.shown());
    assert_eq!(drawn(&graph), ["circle", "./d/one/a1", "../d/one/c3", "./d/one/b2"]);
    assert_eq!(graph.roots()[0].behind.all, 1);
    let [finding] = &deadlocks(&model)[..] else { panic!("one finding") };
    assert_eq!(finding.severity, Severity::Error);
    assert_eq!(finding.locks, keys(&["/d/one", "/d/two"]));
    assert_eq!(finding.leases, [LeaseId(0xa1), LeaseId(0xb2)]);
    assert_eq!(finding.keys, keys(&["/d/one/a1", "/d/two/a1", "/d/two/b2", "/d/one/b2"]));
    assert_eq!(finding.remedy.value("lease"), Some(&LeaseId(0xa1).into()), "b2 has a key more");
}

#[test]
fn a_circle_that_a_handover_closes_is_as_old_as_the_handover() {
    let mut scene = Scene::of_three();
    for (key, lease) in [("/d/one/2", 2), ("/d/two/9", 9), ("/d/two/1", 1), ("/d/one/1", 1), ("/d/two/2", 2)] {
        scene.put(key, lease, "");
    }
    scene.pass(60_000);
    assert_eq!(WaitFor::of(scene.model.shown()).circles(), []);
    scene.delete("/d/two/9");
    let at = scene.model.shown().now();
    scene.pass(5_000);
    let graph = WaitFor::of(scene.model.shown());
    assert_eq!(graph.circles().iter().map(|circle| circle.since).collect::<Vec<_>>(), [Since { at, exact: true }]);
}

#[test]
fn three_in_a_circle_are_told_in_their_order() {
    let model =
        model(&empty(&[("/l/a/1", 1), ("/l/b/2", 2), ("/l/c/3", 3), ("/l/b/1", 1), ("/l/c/2", 2), ("/l/a/3", 3)]));
    let [finding] = &deadlocks(&model)[..] else { panic!("one finding") };
    assert_eq!(finding.locks, keys(&["/l/a", "/l/b", "/l/c"]));
    assert_eq!(finding.leases, [1, 2, 3].map(LeaseId));
}

#[test]
fn leases_whose_values_name_one_process_cross_as_well() {
    let (one, two) = (&b"ctl-1:4711"[..], &b"ctl-2:4711"[..]);
    let crossing = |a: &'static [u8], b: &'static [u8]| {
        model(&[("/lock/x/1", 1, a), ("/lock/y/2", 2, b), ("/lock/y/3", 3, a), ("/lock/x/4", 4, b)])
    };
    let found = deadlocks(&crossing(one, two));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].leases, [1, 3, 2, 4].map(LeaseId), "by which they hold, and with which they wait");
    assert_eq!(deadlocks(&crossing(b"worker-1", b"worker-2")), [], "a word may be anybody's");
    assert_eq!(deadlocks(&crossing(one, one)), [], "a name that stands twice in one queue joins nothing");
}

#[test]
fn an_election_may_be_waited_for_in_the_background() {
    let crossing = [
        ("/shards/x/1", 1, &b"ctl-1:4711"[..]),
        ("/shards/y/2", 2, b"ctl-2:4711"),
        ("/shards/y/1", 1, b"ctl-1:4711"),
        ("/shards/x/2", 2, b"ctl-2:4711"),
    ];
    let found = deadlocks(&model(&crossing));
    assert_eq!(found.iter().map(|finding| finding.severity).collect::<Vec<_>>(), [Severity::Warn]);
}

#[test]
fn a_lease_that_waits_for_its_own_key_is_told_and_one_that_takes_its_lock_again_is_not() {
    let uuid = |last: char| format!("/q/7c7ad9fd-f80f-4426-98c8-5a225d58f2c{last}");
    let (first, second, other) = (uuid('1'), uuid('2'), uuid('3'));
    let twice = model(&empty(&[(&first, 7), (&second, 7), (&other, 8)]));
    let [finding] = &deadlocks(&twice)[..] else { panic!("one finding") };
    assert_eq!((finding.severity, &finding.leases[..]), (Severity::Warn, &[LeaseId(7)][..]));
    assert_eq!(finding.remedy.value("key"), Some(&Key::from(&*second).into()));
    assert_eq!(drawn(&WaitFor::of(twice.shown())), [first.clone(), format!(".{other}")]);
    let once = model(&empty(&[(&first, 7), (&other, 8)]));
    assert_eq!(deadlocks(&once), []);
}

#[test]
fn readers_block_a_writer_together_and_any_of_them_can_close_a_circle() {
    let t = |name: &str, nth: u32| format!("{name}/176000000000000000{nth}");
    let (r1, r2, w, two, two_w) =
        (t("/rw/read", 1), t("/rw/read", 2), t("/rw/write", 3), "/two/3".to_owned(), "/two/2".to_owned());
    let model = model(&empty(&[(&r1, 1), (&r2, 2), (&w, 3), (&two, 3), (&two_w, 2)]));
    let [finding] = &deadlocks(&model)[..] else { panic!("one finding") };
    assert_eq!(finding.locks, keys(&["/rw", "/two"]));
    assert_eq!(finding.leases, [LeaseId(2), LeaseId(3)]);
}

#[test]
fn waiting_behind_a_waiter_is_no_circle_while_the_holder_works() {
    // 2 and 3 stand in both queues in opposite order, and 1 holds both.
    let model = model(&empty(&[("/a/1", 1), ("/b/1", 1), ("/a/2", 2), ("/a/3", 3), ("/b/3", 3), ("/b/2", 2)]));
    let graph = WaitFor::of(model.shown());
    assert_eq!(graph.circles(), []);
    assert_eq!(drawn(&graph), ["/a/1", "./a/2", "./a/3"]);
}

#[test]
fn a_circle_that_closed_just_now_counts_only_after_a_moment() {
    let mut model = model(&empty(&CROSSING[..3]));
    let last = kv(CROSSING[3].0, CROSSING[3].1, b"", 1_000_001);
    let change = Change { revision: Revision(1_000_001), event: KeyEvent::Put(last) };
    see(&mut model, START, Observation::Watched(vec![change]));
    assert_eq!(deadlocks(&model).len(), 0);
    update(&mut model, Event::Tick(Timestamp(START.0 + 1_000)));
    let [finding] = &deadlocks(&model)[..] else { panic!("one finding") };
    assert!(finding.since.is_some_and(|since| since.exact && since.at == START));
}

#[test]
fn half_of_a_list_shows_no_deadlock() {
    let mut model = Model::new(Facts::new(200), Ui::default());
    let range = KeyRange::prefix(b"");
    see(&mut model, START, Observation::Scope(vec![range.clone()]));
    let mut keys: Vec<_> = (2..).zip(CROSSING).map(|(revision, (key, lease))| kv(key, lease, b"", revision)).collect();
    keys.sort_by(|a, b| a.key.cmp(&b.key));
    let page = ListPage { range, revision: Revision(9), keys, first: true, last: false };
    see(&mut model, START, Observation::Listed(page));
    assert_eq!(WaitFor::of(model.shown()).circles().len(), 1);
    assert_eq!(deadlocks(&model), []);
}

#[test]
fn long_queues_and_long_chains_cost_no_stack() {
    let queue: Vec<String> = (1..=100_000).map(|lease| format!("/q/{lease:x}")).collect();
    let queue: Vec<(&str, i64)> = queue.iter().map(String::as_str).zip(1..).collect();
    let long = model(&empty(&queue));
    let graph = WaitFor::of(long.shown());
    assert_eq!(graph.roots()[0].behind.direct, 99_999);
    assert_eq!(graph.walk().count(), 100_000);
    // Each holds a lock and waits for the next one's: a chain, and closed at its end a circle.
    let holds = (1..=10_000).map(|lease| (format!("/c/{lease:05}/{lease:x}"), lease));
    let waits = (1..=10_000).map(|lease| (format!("/c/{:05}/{lease:x}", lease % 10_000 + 1), lease));
    let chain: Vec<(String, i64)> = holds.chain(waits).collect();
    let keys: Vec<(&str, i64)> = chain.iter().map(|(key, lease)| (key.as_str(), *lease)).collect();
    let open = model(&empty(&keys[..19_999]));
    let graph = WaitFor::of(open.shown());
    assert_eq!(graph.walk().last().map(|(depth, _)| depth), Some(9_999));
    let closed = model(&empty(&keys));
    assert_eq!(WaitFor::of(closed.shown()).circles()[0].links.len(), 10_000);
    assert_eq!(deadlocks(&closed)[0].locks.len(), 10_000);
}

/// Each circle's leases and locks in its order, and who waits for itself.
fn closed(graph: &WaitFor<'_>) -> Vec<String> {
    let link = |link: &Link| {
        let client = graph.client(link.client);
        format!(
            "{:?} {} waits for {:?}",
            client.leases,
            client.key.key().escape_ascii(),
            graph.wait(link.wait).key.key()
        )
    };
    let circles = graph.circles().iter().map(|circle| {
        let links: Vec<_> = circle.links.iter().map(link).collect();
        format!("{links:?} of {}, {:?}", circle.clients.len(), (circle.certain, circle.since))
    });
    let itself = graph.clients().filter_map(|(_, client)| client.waits_for_itself);
    circles.chain(itself.map(|wait| format!("itself {:?}", graph.wait(wait).key.key()))).collect()
}

/// How many clients hang on this one.
fn below(graph: &WaitFor<'_>, client: ClientIx) -> usize {
    graph.client(client).children.iter().map(|&child| 1 + below(graph, child)).sum()
}

proptest! {
    #[test]
    fn every_client_that_waits_is_in_the_forest_once_and_circles_are_circles(
        joined in proptest::collection::vec((0..6_u8, 1..9_i64), 0..40),
    ) {
        // A lease has one key in a lock, as sessions have.
        let mut names: Vec<(String, i64)> = Vec::new();
        for (lock, lease) in joined {
            let key = format!("/l/{lock}/{lease:x}");
            if names.iter().all(|(known, _)| *known != key) {
                names.push((key, lease));
            }
        }
        let keys: Vec<(&str, i64)> = names.iter().map(|(key, lease)| (key.as_str(), *lease)).collect();
        let model = model(&empty(&keys));
        let graph = WaitFor::of(model.shown());
        let itself = graph.clients().any(|(_, client)| client.waits_for_itself.is_some());
        prop_assert!(WaitFor::can_close(model.shown()) || graph.circles().is_empty() && !itself);

        prop_assert_eq!(closed(&WaitFor::of_holders(model.shown())), closed(&graph));

        let mut listed: Vec<ClientIx> = graph
            .walk()
            .filter_map(|(_, step)| match step { Step::Client(ix) => Some(ix), Step::Circle(_) => None })
            .collect();
        let steps = listed.len();
        listed.sort_unstable();
        listed.dedup();
        prop_assert_eq!(listed.len(), steps, "nobody twice");
        for (ix, client) in graph.clients().filter(|(_, client)| !client.waits.is_empty()) {
            prop_assert!(listed.contains(&ix), "{:?}", client.leases);
        }

        for circle in graph.circles() {
            for (at, link) in circle.links.iter().enumerate() {
                let next = circle.links[(at + 1) % circle.links.len()].client;
                prop_assert_eq!(graph.wait(link.wait).client, link.client);
                prop_assert!(graph.lock_of(link.wait).holders.contains(&next));
            }
        }

        // Whoever can come back to itself is in a circle, by a search of another kind.
        let clients = graph.clients().count();
        let mut reaches = vec![vec![false; clients]; clients];
        for (ix, client) in graph.clients() {
            for &wait in &client.waits {
                for holder in graph.lock_of(wait).holders.iter().filter(|&&holder| holder != ix) {
                    reaches[ix.0 as usize][holder.0 as usize] = true;
                }
            }
        }
        for via in 0..clients {
            for from in 0..clients {
                for to in 0..clients {
                    reaches[from][to] |= reaches[from][via] && reaches[via][to];
                }
            }
        }
        for (ix, _) in graph.clients() {
            let entangled = graph.circles().iter().any(|circle| circle.clients.contains(&ix));
            prop_assert_eq!(entangled, reaches[ix.0 as usize][ix.0 as usize]);
        }

        // A root's count is the size of what hangs below it.
        for root in graph.roots() {
            let below: usize = root.clients.iter().map(|&client| below(&graph, client)).sum();
            prop_assert_eq!(root.behind.all, below);
        }
    }

    #[test]
    fn circles_are_found_among_those_who_may_hold_alone(
        joined in proptest::collection::vec((0..5_u8, 0..8_i64, 0..5_u8), 0..40),
    ) {
        let process = |number: u8| if number == 0 { String::new() } else { format!("host-{number}:4{number}") };
        let keys: Vec<(String, i64, String)> = joined
            .into_iter()
            .map(|(lock, lease, name)| (format!("/l/{lock}/{lease:x}"), lease, process(name)))
            .collect();
        let keys: Vec<(&str, i64, &[u8])> =
            keys.iter().map(|(key, lease, name)| (key.as_str(), *lease, name.as_bytes())).collect();
        let model = model(&keys);
        let all = closed(&WaitFor::of(model.shown()));
        prop_assert_eq!(closed(&WaitFor::of_holders(model.shown())), all);
    }
}
