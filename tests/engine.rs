//! A local cluster of every real etcd found: what can be done to its members, and that nothing is
//! left of it.

#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking")]

mod support;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lockscope::config::Connection;
use lockscope::control::Control;
use lockscope::domain::raft::{Fault, Life, NodeId, NodePicture, RaftPicture, RaftRole, Told};
use lockscope::domain::{KeyRange, LeaseId, Revision};
use lockscope::engine::{self, Engine, EngineError, Options};
use lockscope::port::{Client, Etcd, Put, Range};
use support::etcd::Version;
use support::running::{block_on, on_every_real_etcd};
use tokio::time::{Instant, sleep};

const N1: NodeId = NodeId(1);
const N2: NodeId = NodeId(2);
const N3: NodeId = NodeId(3);

/// A PATH with this etcd on it.
fn path(version: &Version) -> OsString {
    version.etcd.parent().unwrap().into()
}

async fn start(version: &Version, members: usize) -> Engine {
    engine::start(Options { members, path: path(version) }).await.unwrap()
}

/// A connection to one member.
async fn client(engine: &Engine, node: NodeId) -> Client {
    let at = usize::try_from(node.0).unwrap() - 1;
    let endpoint = format!("http://{}", engine.endpoints()[at]);
    let settings = Connection {
        endpoints: vec![endpoint.clone()],
        command_timeout: Duration::from_secs(2),
        ..Connection::default()
    };
    Client::connect(&endpoint, &settings).await.unwrap()
}

async fn try_put(client: &Client, value: &str) -> Option<Revision> {
    let put = Put { key: "/engine".into(), value: value.into(), lease: LeaseId::NONE };
    client.put(put).await.ok().map(|done| done.header.revision)
}

/// Puts, again and again until it is taken: elections pass.
async fn put(client: &Client, value: &str) -> Revision {
    loop {
        if let Some(revision) = try_put(client, value).await {
            return revision;
        }
        sleep(Duration::from_millis(50)).await;
    }
}

/// What a member itself has, without asking others.
async fn has(client: &Client, value: &str) {
    loop {
        let ask = Range { serializable: true, ..Range::of(KeyRange::single(b"/engine")) };
        if client.range(ask).await.is_ok_and(|page| page.keys.iter().any(|key| &*key.value == value.as_bytes())) {
            return;
        }
        sleep(Duration::from_millis(50)).await;
    }
}

/// Waits for a picture of which this holds.
async fn shows(control: &Control, what: &str, holds: impl Fn(&RaftPicture) -> bool) -> RaftPicture {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let picture = control.picture().await.unwrap();
        if holds(&picture) {
            return picture;
        }
        assert!(Instant::now() < end, "{what}: {picture:#?}");
        sleep(Duration::from_millis(50)).await;
    }
}

/// Who leads: of several that think so the one of the highest term.
fn leader(picture: &RaftPicture) -> Option<NodeId> {
    let leads = |node: &&NodePicture| node.role == RaftRole::Leader && node.life == Life::Up;
    picture.nodes.iter().filter(leads).max_by_key(|node| node.term).map(|node| node.id)
}

fn life(picture: &RaftPicture, id: NodeId) -> Life {
    picture.nodes.iter().find(|node| node.id == id).unwrap().life
}

async fn led(control: &Control) -> NodeId {
    leader(&shows(control, "a leader", |picture| leader(picture).is_some()).await).unwrap()
}

fn others(id: NodeId) -> [NodeId; 2] {
    match id {
        N1 => [N2, N3],
        N2 => [N1, N3],
        _ => [N1, N2],
    }
}

async fn fault(control: &Control, line: &str) {
    control.fault(line.parse().unwrap()).await.unwrap_or_else(|why| panic!("{line}: {why}"));
}

/// The folders of clusters of this program.
fn folders() -> BTreeSet<PathBuf> {
    let start = format!("lockscope-etcd-{}-", std::process::id());
    let all = std::env::temp_dir().read_dir().unwrap().map(|entry| entry.unwrap().path());
    all.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(&start)).collect()
}

/// The processes that have this folder on their command line: members, and who clears away.
fn processes(folder: &Path) -> Vec<String> {
    let ps = std::process::Command::new("ps").args(["-eo", "pid=,stat=,args="]).output().unwrap();
    let text = String::from_utf8_lossy(&ps.stdout).into_owned();
    text.lines().filter(|line| line.contains(folder.to_str().unwrap())).map(str::to_owned).collect()
}

/// One cluster after the other: each test looks at the folders and processes of all.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn a_killed_leader_is_followed_by_another_and_catches_up_when_it_starts_again() {
    let _alone = alone();
    on_every_real_etcd("a_killed_leader_is_followed_by_another", async |version| {
        let engine = start(&version, 3).await;
        assert_eq!(engine.version, version.to_string());
        let control = engine.control();
        let first = led(&control).await;
        let [one, other] = others(first);
        put(&client(&engine, one).await, "before").await;
        fault(&control, &format!("kill {first}")).await;
        let picture = control.picture().await.unwrap();
        assert_eq!((life(&picture, first), picture.told), (Life::Killed, Told::Status));
        let picture = shows(&control, "another leader", |picture| leader(picture).is_some_and(|id| id != first)).await;
        assert!([one, other].contains(&leader(&picture).unwrap()) && picture.terms.len() >= 2, "{picture:#?}");
        put(&client(&engine, one).await, "meanwhile").await;
        assert!(control.fault(Fault::Kill(first)).await.unwrap_err().contains("killed already"));
        fault(&control, &format!("start {first}")).await;
        assert!(control.fault(Fault::Start(first)).await.unwrap_err().contains("running already"));
        shows(&control, "it answers", |picture| {
            picture.nodes.iter().all(|node| node.life == Life::Up && node.leader.is_some())
        })
        .await;
        has(&client(&engine, first).await, "meanwhile").await;
        engine.stop().await;
    });
}

#[test]
fn a_paused_leader_is_followed_by_another_and_goes_on_when_it_is_resumed() {
    let _alone = alone();
    on_every_real_etcd("a_paused_leader_is_followed_by_another", async |version| {
        let engine = start(&version, 3).await;
        let control = engine.control();
        let first = led(&control).await;
        let paused = client(&engine, first).await;
        put(&paused, "before").await;
        fault(&control, &format!("pause {first}")).await;
        assert_eq!(life(&control.picture().await.unwrap(), first), Life::Paused);
        assert!(control.fault(Fault::Pause(first)).await.is_err());
        assert_eq!(try_put(&paused, "lost").await, None, "it answers nothing");
        shows(&control, "another leader", |picture| leader(picture).is_some_and(|id| id != first)).await;
        put(&client(&engine, others(first)[0]).await, "meanwhile").await;
        fault(&control, &format!("resume {first}")).await;
        assert!(control.fault(Fault::Resume(first)).await.is_err());
        shows(&control, "it follows", |picture| {
            let node = picture.nodes.iter().find(|node| node.id == first).unwrap();
            node.life == Life::Up && node.leader.is_some_and(|leader| leader != first)
        })
        .await;
        // What it was asked while it stood still it may do now.
        put(&client(&engine, others(first)[0]).await, "afterwards").await;
        has(&paused, "afterwards").await;
        engine.stop().await;
    });
}

#[test]
fn an_isolated_leader_takes_no_writes_and_catches_up_when_all_is_healed() {
    let _alone = alone();
    on_every_real_etcd("an_isolated_leader_takes_no_writes", async |version| {
        let engine = start(&version, 3).await;
        let control = engine.control();
        let first = led(&control).await;
        let isolated = client(&engine, first).await;
        put(&isolated, "before").await;
        fault(&control, &format!("isolate {first}")).await;
        let picture = control.picture().await.unwrap();
        assert!(picture.network.cuts.len() == 2 && life(&picture, first) == Life::Up, "{picture:#?}");
        assert_eq!(try_put(&isolated, "lost").await, None, "no majority hears of it");
        shows(&control, "another leader", |picture| leader(picture).is_some_and(|id| id != first)).await;
        put(&client(&engine, others(first)[0]).await, "meanwhile").await;
        has(&isolated, "before").await;
        fault(&control, "heal").await;
        assert_eq!(control.picture().await.unwrap().network.cuts, []);
        has(&isolated, "meanwhile").await;
        engine.stop().await;
    });
}

#[test]
fn two_followers_that_are_cut_off_from_each_other_both_follow_still() {
    let _alone = alone();
    on_every_real_etcd("two_followers_that_are_cut_off_from_each_other", async |version| {
        let engine = start(&version, 3).await;
        let control = engine.control();
        let [one, other] = others(led(&control).await);
        fault(&control, &format!("cut {one} {other}")).await;
        put(&client(&engine, one).await, "value").await;
        has(&client(&engine, other).await, "value").await;
        assert_eq!(control.picture().await.unwrap().network.cuts, [(one, other)]);
        engine.stop().await;
    });
}

#[test]
fn the_lead_is_handed_over_and_what_cannot_be_done_is_said() {
    let _alone = alone();
    on_every_real_etcd("the_lead_is_handed_over", async |version| {
        let engine = start(&version, 3).await;
        let control = engine.control();
        let first = led(&control).await;
        let to = others(first)[1];
        fault(&control, &format!("transfer {to}")).await;
        shows(&control, "it leads", |picture| leader(picture) == Some(to)).await;
        for (line, words) in [
            (&*format!("transfer {to}"), "leads already"),
            ("transfer n9", "no node n9"),
            ("kill n9", "no node n9"),
            ("cut n1 n9", "no node n9"),
            ("campaign n1", "`transfer`"),
            ("freeze", "the embedded cluster"),
            ("speed 2", "the embedded cluster"),
            ("delay 20ms", "the embedded cluster"),
            ("loss 5%", "the embedded cluster"),
            ("prevote off", "the embedded cluster"),
        ] {
            let why = control.fault(line.parse().unwrap()).await.expect_err(line);
            assert!(why.contains(words), "{line}: {why}");
        }
        engine.stop().await;
    });
}

#[test]
fn nothing_is_left_after_a_stop_nor_after_a_drop_nor_after_a_start_that_was_broken_off() {
    let _alone = alone();
    on_every_real_etcd("nothing_is_left", async |version| {
        let before = folders();
        let engine = start(&version, 3).await;
        let folder = folders().difference(&before).next().unwrap().clone();
        assert!(processes(&folder).len() >= 4, "members, and who clears away: {:?}", processes(&folder));
        fault(&engine.control(), "pause n2").await;
        fault(&engine.control(), "kill n3").await;
        let control = engine.control();
        engine.stop().await;
        assert!(!folder.exists());
        assert_eq!(processes(&folder), Vec::<String>::new());
        assert!(control.picture().await.is_err());
        assert!(control.fault(Fault::Heal).await.unwrap_err().contains("has stopped"));

        let engine = start(&version, 1).await;
        let folder = folders().difference(&before).next().unwrap().clone();
        fault(&engine.control(), "pause n1").await;
        drop(engine);
        gone(&folder).await;

        let mut starting = Box::pin(start(&version, 3));
        let started = async {
            while folders().difference(&before).next().is_none_or(|folder| processes(folder).len() < 4) {
                sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            _ = &mut starting => panic!("it was to be broken off"),
            () = started => {}
        }
        let folder = folders().difference(&before).next().unwrap().clone();
        drop(starting);
        gone(&folder).await;
    });
}

#[test]
fn a_program_that_is_killed_leaves_nothing_either() {
    on_every_real_etcd("a_program_that_is_killed_leaves_nothing_either", async |version| {
        for signal in ["KILL", "TERM", "HUP"] {
            let mut program = tokio::process::Command::new(env!("CARGO_BIN_EXE_lockscope"))
                .args(["demo", "--engine", "etcd", "--headless", "--for", "10m"])
                .env("PATH", std::env::join_paths([version.etcd.parent().unwrap(), "/usr/bin".as_ref()]).unwrap())
                .stdout(std::process::Stdio::null())
                .kill_on_drop(true)
                .spawn()
                .unwrap();
            let id = program.id().unwrap();
            let folder = std::env::temp_dir().join(format!("lockscope-etcd-{id}-0"));
            let end = Instant::now() + Duration::from_secs(20);
            while processes(&folder).len() < 4 {
                assert!(Instant::now() < end, "it does not start: {:?}", processes(&folder));
                sleep(Duration::from_millis(50)).await;
            }
            send(signal, id);
            assert!(!program.wait().await.unwrap().success());
            gone(&folder).await;
        }
    });
}

/// Runs the demo on the etcd found in this folder; its exit code and what it said.
fn demo(folder: &Path, flags: &[&str]) -> (Option<i32>, String) {
    let run = std::process::Command::new(env!("CARGO_BIN_EXE_lockscope"))
        .args(["demo", "--engine", "etcd", "--headless", "--for", "3s"])
        .args(flags)
        .env("PATH", std::env::join_paths([folder, "/bin".as_ref(), "/usr/bin".as_ref()]).unwrap())
        .output()
        .unwrap();
    (run.status.code(), String::from_utf8_lossy(&[run.stdout, run.stderr].concat()).into_owned())
}

#[test]
fn what_real_etcds_cannot_be_told_is_refused_before_one_is_looked_for() {
    let folder = tempfile::tempdir().unwrap();
    for flags in [
        &["--virtual-time"][..],
        &["--speed", "2"],
        &["--delay", "5ms"],
        &["--loss", "5%"],
        &["--listen", "127.0.0.1:2379"],
        &["--no-pre-vote"],
        &["--no-check-quorum"],
        &["--auto-compaction-retention", "5"],
    ] {
        let (code, said) = demo(folder.path(), flags);
        assert!(code == Some(3) && said.contains(flags[0]) && said.contains("embedded cluster"), "{flags:?}: {said}");
    }
}

#[test]
fn the_same_clients_play_on_real_etcds() {
    on_every_real_etcd("the_same_clients_play_on_real_etcds", async |version| {
        let (code, said) = demo(version.etcd.parent().unwrap(), &["--seed", "7", "-w", "json"]);
        let document: serde_json::Value = serde_json::from_str(&said).unwrap_or_else(|_| panic!("{said}"));
        assert_eq!((code, &document["double_holders"]), (Some(0), &0.into()), "{said}");
        assert!(document["handoffs"].as_u64() > Some(0) && document["terms"].as_u64() > Some(0), "{said}");
    });
}

fn send(signal: &str, id: u32) {
    let sent = std::process::Command::new("kill").args(["-s", signal, &id.to_string()]).status().unwrap();
    assert!(sent.success(), "SIG{signal}");
}

/// Waits until nothing is left of the cluster of this folder.
async fn gone(folder: &Path) {
    let end = Instant::now() + Duration::from_secs(20);
    while folder.exists() || !processes(folder).is_empty() {
        assert!(Instant::now() < end, "left: {:?}", processes(folder));
        sleep(Duration::from_millis(50)).await;
    }
}

#[test]
fn an_etcd_that_does_not_start_is_quoted_and_nothing_is_left() {
    let _alone = alone();
    block_on(async {
        use std::os::unix::fs::PermissionsExt as _;
        let before = folders();
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("etcd");
        let script = "#!/bin/sh\n[ \"$1\" = --version ] && echo 'etcd Version: 3.5.0' && exit\necho no space; exit 1\n";
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let error = engine::start(Options { members: 3, path: folder.path().into() }).await.unwrap_err();
        assert!(matches!(&error, EngineError::Ended { .. }) && error.to_string().contains("no space"), "{error}");
        while !folders().is_subset(&before) {
            sleep(Duration::from_millis(50)).await;
        }
    });
}

#[test]
fn without_an_etcd_on_path_nothing_is_started_and_the_error_says_what_to_do() {
    block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let error = engine::start(Options { members: 3, path: folder.path().into() }).await.unwrap_err();
        assert!(matches!(error, EngineError::NotFound));
        let said = error.to_string();
        assert!(said.contains("etcd-server") && said.contains("`lockscope demo` without --engine"), "{said}");
    });
}
