//! Recordings: the document and its example, the fixture of each version, and that a session that
//! was recorded is the same again when it is replayed.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::time::Duration;

use etcd_client::{Client, PutOptions};
use lockscope::config::Connection;
use lockscope::domain::play::PlayPicture;
use lockscope::domain::raft::ClusterTime;
use lockscope::domain::write::{Write, WriteId, WriteResult};
use lockscope::domain::{
    Alarm, AlarmKind, ClusterId, Key, KeyEvent, KeyRange, KeyValue, LeaseId, Member, MemberId, Millis, Redaction,
    Revision, Status, Term, Timestamp,
};
use lockscope::effect::Effect;
use lockscope::embedded;
use lockscope::event::{
    Change, Denied, EndpointError, Event, LeasePollCost, LeaseTtl, LinkState, ListPage, NoStatus, Observation, OnLease,
    Past, Stamped, WatchLoss, WriteDone,
};
use lockscope::input::{Chord, Hits, Input};
use lockscope::model::{Facts, Model, Ui};
use lockscope::playground::scenario::{Wishes, library};
use lockscope::playground::{Directed, Director, Rehearsal, cast};
use lockscope::port::{self, Pool};
use lockscope::record::{Header, Item, KINDS, Reader, Recorder, kind};
use lockscope::runtime::clock::Clock;
use lockscope::source::{Handle, Watching, Wires};
use lockscope::update::{recorded, update};
use lockscope::view;
use lockscope::view::theme::{Depth, Palette, Theme};
use proptest::collection::vec;
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

mod support;

use support::embedded::Embedded;
use support::etcd::newest;

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn fixture() -> Vec<u8> {
    fs::read(path("tests/data/recordings/version-1.jsonl")).unwrap()
}

fn reader(bytes: &[u8]) -> Reader<Cursor<Vec<u8>>> {
    Reader::new(Cursor::new(bytes.to_vec()), Path::new("x.jsonl")).unwrap()
}

fn items(bytes: &[u8]) -> Vec<Item> {
    let mut reader = reader(bytes);
    let items = std::iter::from_fn(|| reader.next_item().unwrap()).collect();
    assert_eq!((reader.trouble().broken, reader.trouble().unknown.len()), (0, 0), "{:?}", reader.trouble());
    items
}

/// What the facts are after all that, as far as anybody can see it.
fn replayed(items: &[Item]) -> Facts {
    let mut facts = Facts::new(200);
    for item in items {
        match item {
            Item::Observed(observed) => recorded::observe(&mut facts, observed.clone()),
            Item::Dropped(..) => {}
            Item::End(end) => recorded::pass_time(&mut facts, end.at),
        }
    }
    facts
}

/// What commands and screens show: locks with their queues, keys, leases, members, what happened.
fn seen(facts: &Facts) -> Vec<String> {
    let mut seen = vec![format!("{:?}", facts.link), format!("{:?}", facts.cluster), format!("{:?}", facts.timeline)];
    let mut keys: Vec<_> = facts.keyspace().iter().collect();
    keys.sort_by(|a, b| a.key.cmp(&b.key));
    seen.extend(keys.iter().map(|entry| {
        format!("{:?} {:?} {:?} {} {:?}", entry.key, entry.value, entry.mod_revision, entry.version, entry.since())
    }));
    let mut locks: Vec<_> = facts
        .locks()
        .map(|lock| {
            let holders: Vec<_> = lock.holders().map(|key| (key.key().to_vec(), key.ttl(), key.renewal())).collect();
            let waiters: Vec<_> = lock.waiters().map(|waiter| (waiter.position, waiter.key.key().to_vec())).collect();
            format!("{:?} {:?} {:?} {holders:?} {waiters:?}", lock.name().to_vec(), lock.layout(), lock.state())
        })
        .collect();
    locks.sort();
    seen.extend(locks);
    let mut leases: Vec<_> = facts.leases().ids().map(|id| (id, facts.leases().ttl(id, facts.now()))).collect();
    leases.sort_by_key(|(id, _)| *id);
    seen.push(format!("{leases:?}"));
    seen
}

#[test]
fn the_example_of_the_document_reads_and_names_every_kind() {
    let document = fs::read_to_string(path("docs/recording.md")).unwrap();
    let blocks = document.split("```json\n").skip(1).filter_map(|rest| rest.split_once("```"));
    let example: String = blocks.map(|(block, _)| block).collect();
    assert_eq!(example.as_bytes(), fixture(), "the fixture of version 1 is the example, and stays");
    let items = items(example.as_bytes());
    let told = items.iter().filter_map(|item| match item {
        Item::Observed(observed) => Some(kind(&observed.what)),
        _ => None,
    });
    assert_eq!(told.collect::<BTreeSet<_>>(), KINDS.into_iter().collect(), "every kind has its example");
    for kind in KINDS {
        assert!(document.contains(&format!("`{kind}`")), "{kind} is not described");
    }
}

#[test]
fn the_recording_of_version_1_ends_as_it_always_did() {
    let facts = replayed(&items(&fixture()));
    assert_eq!(facts.link.cluster_id, Some(ClusterId(0xcdf8_1819_4e3a_8c32)));
    let lock = facts.lock_named(b"/jobs/a").unwrap();
    let holder = lock.holder().unwrap();
    assert_eq!(holder.key(), b"/jobs/a/694d82254d5fa30b");
    assert_eq!(&*facts.key(b"/jobs/a/694d82254d5fa30b").unwrap().entry().value, b"\xff\x00\x01");
    assert_eq!(facts.now(), Timestamp(1_767_225_607_000));
}

#[test]
fn whatever_is_cut_off_all_whole_lines_before_are_read() {
    let whole = fixture();
    let header = whole.iter().position(|&byte| byte == b'\n').unwrap() + 1;
    for cut in header..whole.len() {
        let lines = whole[header..cut].split(|&byte| byte == b'\n').count() - 1;
        assert_eq!(items(&whole[..cut]).len(), lines, "cut behind byte {cut}");
    }
    for cut in 0..header - 1 {
        assert!(Reader::new(Cursor::new(whole[..cut].to_vec()), Path::new("x")).is_err(), "cut behind byte {cut}");
    }
}

/// Keeps locks busy for a while, and leaves a holder and a waiter.
async fn contend(client: &mut Client) {
    for round in 0..5 {
        let mut keys = Vec::new();
        for _ in 0..3 {
            let lease = client.lease_grant(60, None).await.unwrap().id();
            let key = format!("/r/job/{lease:x}");
            let value = if round % 2 == 0 { &b"owner"[..] } else { b"\xff\x00" };
            client.put(key.as_str(), value, Some(PutOptions::new().with_lease(lease))).await.unwrap();
            keys.push((key, lease));
        }
        for (nth, (key, lease)) in keys.into_iter().enumerate() {
            match nth {
                0 => drop(client.delete(key, None).await.unwrap()),
                1 => drop(client.lease_revoke(lease).await.unwrap()),
                _ => {}
            }
        }
    }
}

/// Records a session on this cluster; the facts it had at its end, and the file's lines.
async fn session(endpoints: Vec<String>) -> (Facts, Vec<Item>) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.jsonl");
    let clock = Clock::start();
    let stamps = clock.clone();
    let pool = Pool::new(Connection { endpoints: endpoints.clone(), ..Connection::default() });
    let stamps = port::Clock::new(move || stamps.now());
    let (source, Wires { mut observations, polls, .. }) =
        Handle::start(pool, Watching::Prefixes(vec![b"/r/".to_vec()]), stamps);
    let mut recorder =
        Recorder::create(&file, &Header::new(clock.now(), &endpoints, &[b"/r/".to_vec()], Redaction::None)).unwrap();
    let mut model = Model::new(Facts::new(200), Ui::default());
    let mut client = Client::connect(endpoints, None).await.unwrap();
    let busy = tokio::spawn(async move { contend(&mut client).await });
    let end = tokio::time::Instant::now() + Duration::from_secs(3);
    loop {
        let tick = model.live().next_deadline().map_or(end, |at| clock.instant(at));
        tokio::select! {
            biased;
            () = tokio::time::sleep_until(end) => break,
            () = tokio::time::sleep_until(tick) => {
                for effect in update(&mut model, Event::Tick(clock.now())) {
                    if let Effect::PollLeases(leases) = effect {
                        let _ = polls.try_send(leases);
                    }
                }
            }
            observed = observations.recv() => {
                let observed = observed.unwrap();
                recorder.record(&observed).await;
                update(&mut model, Event::Observed(observed));
            }
        }
    }
    busy.await.unwrap();
    source.stop().await;
    let now = clock.now();
    update(&mut model, Event::Tick(now));
    let done = recorder.end(now, "quit").await;
    assert_eq!((done.dropped, done.failed), (0, None));
    (model.live().clone(), items(&fs::read(&file).unwrap()))
}

fn is_the_same_again(endpoints: Vec<String>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (facts, items) = runtime.block_on(session(endpoints));
    assert!(facts.lock_named(b"/r/job").is_some_and(|lock| lock.waiter_count() > 0), "{:?}", seen(&facts));
    assert_eq!(seen(&replayed(&items)), seen(&facts));
    // A recording that begins where that one ends knows the same keys, members and times.
    let begun: Vec<Item> = facts.as_observed().into_iter().map(Item::Observed).collect();
    let again = replayed(&begun);
    let there = |facts: &Facts| {
        let locks = facts.locks().map(|lock| (lock.name().to_vec(), lock.holder_count(), lock.waiter_count()));
        let leases = facts.leases().ids().filter_map(|id| facts.leases().polled_at(id)).count();
        (locks.collect::<BTreeSet<_>>(), facts.keyspace().len(), facts.link.revision, leases)
    };
    assert_eq!(there(&again), there(&facts));
}

#[test]
fn a_session_on_the_embedded_cluster_is_the_same_again() {
    let cluster = Embedded::start(3);
    is_the_same_again(cluster.members.iter().map(|member| format!("http://{}", member.endpoint)).collect());
}

#[test]
fn a_session_on_a_real_etcd_is_the_same_again() {
    let Some(version) = newest("a session on a real etcd is the same again") else { return };
    let cluster = version.cluster().start();
    is_the_same_again(cluster.endpoints());
}

/// When a demo's first picture is taken, and how far apart they are.
const BEGINS: Timestamp = Timestamp(1_767_225_600_000);
const APART: u64 = 100;

/// The pictures of a scenario's first seconds, as a demo takes them, in virtual time.
fn demo(scenario: &str, seconds: u64) -> Vec<Stamped<Observation>> {
    let scenario = library::find(scenario).unwrap().unwrap();
    let cast = scenario.cast(cast::DEMO, Wishes::default());
    let config = embedded::Config { seed: 7, delay: Duration::from_millis(2), ..embedded::Config::default() };
    let director = Director::new(&scenario, &cast, ClusterTime(0));
    let mut run = Directed::new(Rehearsal::new(&cast, config, 7), director);
    let (mut told, mut next) = (Vec::new(), 0);
    for millis in (0..=seconds * 1_000).step_by(usize::try_from(APART).unwrap()) {
        run.run(ClusterTime(millis * 1_000));
        let picture: PlayPicture = run.inner().picture(next);
        next = picture.before + picture.moments.len() as u64;
        let at = Timestamp(BEGINS.0 + i64::try_from(millis).unwrap());
        told.push(Stamped { at, what: Observation::Raft(Box::new(run.inner().cluster().picture())) });
        told.push(Stamped { at, what: Observation::Play(Box::new(picture)) });
    }
    told
}

/// A file of these observations, and what a session knows that was told them.
fn recorded(observed: &[Stamped<Observation>], redaction: Redaction) -> (Vec<u8>, Facts) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("demo.jsonl");
    let mut model = Model::new(Facts::new(200), Ui::default());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut recorder = Recorder::create(&file, &Header::new(BEGINS, &[], &[], redaction)).unwrap();
        for observed in observed {
            recorder.record(observed).await;
            update(&mut model, Event::Tick(observed.at));
            update(&mut model, Event::Observed(observed.clone()));
        }
        let done = recorder.end(observed.last().unwrap().at, "quit").await;
        assert_eq!((done.dropped, done.failed), (0, None));
    });
    (fs::read(&file).unwrap(), model.live().clone())
}

/// The screen behind this key, at 80x24.
fn drawn(facts: &Facts, key: char) -> String {
    let mut model = Model::new(facts.clone(), Ui::default());
    update(&mut model, Event::Input(Input::Resize(80, 24), Hits::default()));
    update(&mut model, Event::Input(Input::Key(Chord::char(key)), Hits::default()));
    let theme = Theme::new(&Palette::builtin("dark").unwrap(), Depth::True);
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    terminal
        .draw(|frame| {
            view::draw(&model, &theme, frame);
        })
        .unwrap();
    terminal.backend().to_string()
}

#[test]
fn a_demo_that_was_recorded_is_the_same_again() {
    for (scenario, seconds, on_raft, on_play) in
        [("zombie", 20, "leader", "client-1"), ("leader-failover", 12, "leader", "client-1")]
    {
        let pictures = demo(scenario, seconds);
        let (file, facts) = recorded(&pictures, Redaction::None);
        let items = items(&file);
        let observed = items.iter().filter_map(|item| match item {
            Item::Observed(observed) => Some(observed),
            _ => None,
        });
        assert!(observed.eq(&pictures), "{scenario}: the pictures themselves are the same");
        let again = replayed(&items);
        assert_eq!(again.raft, facts.raft, "{scenario}");
        assert_eq!(again.play, facts.play, "{scenario}");
        for (key, shows) in [('4', on_raft), ('5', on_play)] {
            let live = drawn(&facts, key);
            assert!(live.contains(shows), "{scenario}: {live}");
            assert_eq!(drawn(&again, key), live, "{scenario}");
        }
    }
}

#[test]
fn a_demo_is_seen_as_it_was_at_any_moment_of_its_recording() {
    let pictures = demo("zombie", 20);
    let items = items(&recorded(&pictures, Redaction::None).0);
    for moment in [3_000, 9_500, 14_200] {
        let before = |at: Timestamp| at.0 <= BEGINS.0 + moment;
        let told = pictures.iter().filter(|observed| before(observed.at)).count();
        let (_, live) = recorded(&pictures[..told], Redaction::None);
        let again = replayed(&items[..told]);
        assert_eq!((&again.raft, &again.play), (&live.raft, &live.play), "{moment} ms");
        assert_eq!((drawn(&again, '4'), drawn(&again, '5')), (drawn(&live, '4'), drawn(&live, '5')), "{moment} ms");
    }
}

#[test]
fn what_simulated_clients_see_is_no_more_told_than_other_values() {
    let pictures = demo("config-watch", 8);
    let text = |redaction| String::from_utf8(recorded(&pictures, redaction).0).unwrap();
    assert!(text(Redaction::None).contains("limit = 10"), "the clients see it");
    for redaction in [Redaction::Values, Redaction::Hash] {
        let text = text(redaction);
        assert!(!text.contains("limit = 10"), "{redaction:?}");
        assert!(items(text.as_bytes()).len() > 100);
    }
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![vec(any::<u8>(), 0..12), "\\PC{0,8}".prop_map(String::into_bytes)]
}

fn key() -> impl Strategy<Value = Key> {
    bytes().prop_map(Key::from)
}

fn range() -> impl Strategy<Value = KeyRange> {
    (key(), key()).prop_map(|(start, end)| KeyRange { start, end })
}

fn key_value() -> impl Strategy<Value = KeyValue> {
    (key(), bytes(), any::<i64>(), any::<i64>(), any::<i64>(), any::<i64>()).prop_map(
        |(key, value, created, modified, version, lease)| KeyValue {
            key,
            value,
            create_revision: Revision(created),
            mod_revision: Revision(modified),
            version,
            lease: LeaseId(lease),
        },
    )
}

fn change() -> impl Strategy<Value = Change> {
    let event = prop_oneof![
        key_value().prop_map(KeyEvent::Put),
        (key(), proptest::option::of(key_value())).prop_map(|(key, previous)| KeyEvent::Delete { key, previous }),
    ];
    (any::<i64>(), event).prop_map(|(revision, event)| Change { revision: Revision(revision), event })
}

#[expect(clippy::too_many_lines, reason = "one arm for each kind of observation")]
fn observation() -> impl Strategy<Value = Observation> {
    let text = || "\\PC{0,10}|[\\x00-\\x1f]{0,3}";
    let loss = prop_oneof![
        any::<i64>().prop_map(|at| WatchLoss::Compacted { at: Revision(at) }),
        any::<(i64, i64)>().prop_map(|(from, to)| WatchLoss::Skipped { from: Revision(from), to: Revision(to) }),
        text().prop_map(|why| WatchLoss::Cancelled { why }),
        text().prop_map(|why| WatchLoss::BeganAnew { why }),
        text().prop_map(|why| WatchLoss::Transport { why }),
    ];
    let link = prop_oneof![
        Just(LinkState::Connecting),
        text().prop_map(|endpoint| LinkState::Live { endpoint }),
        (any::<u32>(), any::<i64>(), text(), text()).prop_map(|(attempt, at, endpoint, error)| {
            LinkState::Retrying { attempt, next_at: Timestamp(at), why: vec![EndpointError { endpoint, error }] }
        }),
    ];
    let status =
        (text(), any::<u64>(), any::<i64>(), any::<Option<i64>>()).prop_map(|(version, term, size, quota)| Status {
            version,
            term: Term(term),
            leader: Some(MemberId(term)),
            db_size: size,
            db_quota: quota,
            latency: Millis(size),
            ..Status::default()
        });
    let answer = prop_oneof![
        status.prop_map(Ok),
        text().prop_map(|why| Err(NoStatus::Unreachable(why))),
        text().prop_map(|why| Err(NoStatus::Denied(why))),
    ];
    let page = || {
        (range(), any::<i64>(), vec(key_value(), 0..4), any::<bool>(), any::<bool>()).prop_map(
            |(range, revision, keys, first, last)| ListPage { range, revision: Revision(revision), keys, first, last },
        )
    };
    let ids = || vec(any::<i64>().prop_map(LeaseId), 0..4);
    let guarded = || vec((key(), any::<i64>().prop_map(Revision)), 0..3);
    let past = prop_oneof![
        (any::<(i64, i64)>(), any::<Option<i64>>()).prop_map(|((since, to), compacted)| Past::Begun {
            since: Revision(since),
            to: Revision(to),
            compacted: compacted.map(Revision)
        }),
        page().prop_map(Past::Listed),
        (vec(change(), 0..4), ids()).prop_map(|(changes, alive)| Past::Changes { changes, alive }),
        any::<(i64, i64)>().prop_map(|(from, to)| Past::Compacted { from: Revision(from), to: Revision(to) }),
        proptest::option::of(text()).prop_map(|why| Past::Ended { why }),
    ];
    let on_lease =
        prop_oneof![Just(OnLease::Gone), guarded().prop_map(OnLease::Keys), text().prop_map(OnLease::NotTold),];
    let write = prop_oneof![
        any::<i64>().prop_map(|lease| Write::Revoke { lease: LeaseId(lease) }),
        (key(), key(), any::<i64>()).prop_map(|(lock, key, at)| Write::Release {
            lock,
            key,
            create_revision: Revision(at)
        }),
        any::<u64>().prop_map(|to| Write::MoveLeader { to: MemberId(to) }),
        Just(Write::Disarm(AlarmKind::NoSpace)),
    ];
    let result = prop_oneof![
        (any::<i64>(), vec(key(), 0..3))
            .prop_map(|(revision, gone)| WriteResult::Done { revision: Revision(revision), gone }),
        guarded().prop_map(|now| WriteResult::Changed { now }),
        Just(WriteResult::Gone),
        text().prop_map(|why| WriteResult::NotSent { why }),
        text().prop_map(|why| WriteResult::Refused { why }),
        text().prop_map(|why| WriteResult::Unknown { why }),
    ];
    let written = (any::<u64>(), write, result, vec(text(), 0..2)).prop_map(|(id, write, result, notes)| WriteDone {
        id: WriteId(id),
        write,
        result,
        notes,
    });
    prop_oneof![
        (key(), past).prop_map(|(lock, part)| Observation::Past { lock, part }),
        (any::<u64>(), ids())
            .prop_map(|(member, leases)| Observation::LeasesMissing { member: MemberId(member), leases }),
        (any::<i64>(), on_lease).prop_map(|(lease, keys)| Observation::LeaseKeys(LeaseId(lease), keys)),
        written.prop_map(|done| Observation::WriteDone(Box::new(done))),
        link.prop_map(Observation::Link),
        any::<u64>().prop_map(|id| Observation::Cluster(ClusterId(id))),
        vec(range(), 0..3).prop_map(Observation::Scope),
        page().prop_map(Observation::Listed),
        vec(change(), 0..4).prop_map(Observation::Watched),
        any::<i64>().prop_map(|revision| Observation::Progress(Revision(revision))),
        loss.prop_map(Observation::WatchLost),
        vec(change(), 0..4).prop_map(Observation::Filled),
        (any::<i64>(), proptest::option::of(text()))
            .prop_map(|(through, why)| Observation::FillEnded { through: Revision(through), why }),
        (range(), text(), text()).prop_map(|(range, user, why)| Observation::Denied(Denied { range, user, why })),
        ids().prop_map(Observation::LeaseList),
        (any::<i64>(), any::<i64>(), any::<i64>(), proptest::option::of(vec(key(), 0..3)), any::<u64>()).prop_map(
            |(lease, granted, remaining, keys, term)| Observation::LeaseTtl(LeaseTtl {
                lease: LeaseId(lease),
                granted,
                remaining,
                keys,
                term: Term(term)
            })
        ),
        any::<(u32, u32, i64)>().prop_map(|(asked, failed, took)| Observation::LeasesPolled(LeasePollCost {
            asked,
            failed,
            took: Millis(took)
        })),
        (any::<u64>(), text(), any::<bool>()).prop_map(|(id, name, learner)| Observation::Members(vec![Member {
            id: MemberId(id),
            name,
            learner,
            ..Member::default()
        }])),
        (any::<u64>(), answer).prop_map(|(member, answer)| Observation::Status { member: MemberId(member), answer }),
        (any::<u64>(), any::<i32>()).prop_map(|(member, number)| Observation::Alarms(
            [AlarmKind::NoSpace, AlarmKind::Corrupt, AlarmKind::Other(number)]
                .map(|kind| Alarm { member: MemberId(member), kind })
                .to_vec()
        )),
    ]
}

proptest! {
    #[test]
    fn every_observation_is_the_same_when_it_is_read_again(at: i64, what in observation()) {
        let observed = Stamped { at: Timestamp(at), what };
        let line = serde_json::to_string(&observed).unwrap();
        prop_assert!(!line.contains('\n'));
        prop_assert_eq!(serde_json::from_str::<Stamped<Observation>>(&line).unwrap(), observed);
    }
}

#[test]
fn faults_orders_and_what_was_done_by_them_are_the_same_when_they_are_read_again() {
    let faults = "kill n1, start n1, pause n2, resume n2, isolate n3, cut n1 n2, delay 200ms, loss 20%, heal, campaign n1, \
                  transfer n2, speed 0.1, freeze, thaw, step, prevote off, checkquorum on";
    let orders = "pause client-1, resume holder, crash waiter, cut client-2, mend client-2, heartbeat client-1 9s, \
                  skew client-1 -3s, release holder, hold client-1 2s, revoke holder, remove client-3, add 3";
    let faults = faults.split(", ").map(|words| Observation::FaultDone(words.parse().unwrap(), Ok(())));
    let orders = orders.split(", ").map(|words| Observation::OrderDone(words.parse().unwrap(), Err("no".into())));
    for what in faults.chain(orders) {
        let line = serde_json::to_string(&what).unwrap();
        assert_eq!(serde_json::from_str::<Observation>(&line).unwrap(), what, "{line}");
    }
}
