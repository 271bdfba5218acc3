//! `watch` on a real etcd.

use std::io::{BufRead as _, BufReader};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::program::{Lockscope, Running};
use crate::store::{Store, on};
use crate::support::etcd::newest;

/// A watch under way whose lines can be awaited.
struct Watch {
    run: Running,
    lines: mpsc::Receiver<String>,
}

impl Watch {
    fn start(run: Lockscope) -> Self {
        let mut run = run.start();
        let stdout = run.child().stdout.take().expect("it is piped");
        let (tell, lines) = mpsc::channel();
        thread::spawn(move || {
            BufReader::new(stdout).lines().map_while(Result::ok).try_for_each(|line| tell.send(line))
        });
        Self { run, lines }
    }

    /// The next line.
    fn line(&self) -> String {
        self.lines.recv_timeout(Duration::from_secs(30)).expect("something happens")
    }

    /// The next event.
    fn event(&self) -> Value {
        serde_json::from_str(&self.line()).expect("a line is a document")
    }

    /// Puts keys until the watch tells of one: only then is it known to be open.
    fn opened(self, store: &mut Store) -> Self {
        for lease in 0x7000..0x7100 {
            store.join("/probe", lease, 60);
            if self.lines.recv_timeout(Duration::from_millis(200)).is_ok() {
                // Every probe that was told of enqueues, and the first acquires.
                while self.lines.recv_timeout(Duration::from_millis(500)).is_ok() {}
                return self;
            }
        }
        panic!("the watch never opens")
    }
}

fn strip(event: &Value) -> Value {
    let mut kept = serde_json::Map::new();
    for name in ["event", "lock", "key", "lease", "create_revision", "cause"] {
        if let Some(value) = event.get(name) {
            kept.insert(name.into(), value.clone());
        }
    }
    kept.into()
}

#[test]
fn a_handover_is_told_with_its_cause_as_it_happens() {
    let Some(version) = newest("watch: a handover is told") else { return };
    let cluster = version.cluster().start();
    let mut store = Store::of(&cluster);
    let mut watch = Watch::start(on(&cluster, ["watch", "--prefix", "/"])).opened(&mut store);
    let first = store.join("/a", 0x1000, 60);
    let second = store.join("/a", 0x2000, 60);
    let third = store.join("/a", 0x3000, 60);
    let at = |event: &str, lease: &str, revision: i64| json!({"event": event, "lock": "/a", "key": format!("/a/{lease}"), "lease": lease, "create_revision": revision});
    let told: Vec<_> = (0..4).map(|_| watch.event()).collect();
    assert_eq!(told.iter().map(|event| &event["schema"]).collect::<Vec<_>>(), ["lockscope/1"; 4]);
    assert!(told.iter().all(|event| event["at"].is_string() && event["cluster_id"].is_string()), "{told:?}");
    assert_eq!(told[0]["revision"], first);
    let told: Vec<_> = told.iter().map(strip).collect();
    let expected = [
        at("enqueued", "1000", first),
        at("acquired", "1000", first),
        at("enqueued", "2000", second),
        at("enqueued", "3000", third),
    ];
    assert_eq!(told, expected);
    let with_cause = |mut event: Value, cause: &str| {
        event["cause"] = json!(cause);
        event
    };
    // Nothing else is told. Meanwhile the leases are polled, without which nobody could say
    // later that one went before its time.
    assert_eq!(watch.lines.recv_timeout(Duration::from_millis(2_500)).ok(), None);
    // An unlock leaves the lease alone; a revoke takes the key along.
    store.delete("/a/1000");
    // The new holder need not wait until it is known why the old one went.
    let mut told = [strip(&watch.event()), strip(&watch.event())];
    told.sort_by_key(|event| event["event"].to_string());
    assert_eq!(told, [at("acquired", "2000", second), with_cause(at("released", "1000", first), "released")]);
    store.revoke(0x3000);
    assert_eq!(strip(&watch.event()), with_cause(at("waiter_gone", "3000", third), "revoked"));
    watch.run.signal("INT");
    watch.run.end().expect(5);
}

#[test]
fn an_expired_holder_is_told_from_one_that_released() {
    let Some(version) = newest("watch: an expired holder") else { return };
    let cluster = version.cluster().start();
    let mut store = Store::of(&cluster);
    let watch = Watch::start(on(&cluster, ["watch", "-w", "json"])).opened(&mut store);
    store.join("/probe2", 0x1000, 2);
    let expired = loop {
        let event = watch.event();
        if event["event"] == "released" {
            break event;
        }
    };
    assert_eq!((&expired["lock"], &expired["cause"]), (&json!("/probe2"), &json!("expired")), "{expired}");
}

#[test]
fn told_to_end_it_ends_as_if_broken_off_and_has_written_whole_lines() {
    let Some(version) = newest("watch: told to end") else { return };
    let cluster = version.cluster().start();
    let mut store = Store::of(&cluster);
    let mut watch = Watch::start(on(&cluster, ["watch", "-w", "json", "--prefix", "/"])).opened(&mut store);
    store.join("/a", 0x1000, 60);
    assert_eq!(watch.event()["event"], "enqueued");
    watch.run.signal("TERM");
    watch.run.end().expect(5);
    let last: Vec<_> = watch.lines.iter().collect();
    assert!(last.iter().all(|line| line.starts_with('{') && line.ends_with('}')), "{last:?}");
}

#[test]
fn it_ends_by_itself_after_the_time_it_was_given() {
    let Some(version) = newest("watch: it ends by itself") else { return };
    let cluster = version.cluster().start();
    let ended = on(&cluster, ["watch", "--for", "300ms"]).run().expect(0);
    assert_eq!((ended.text(), ended.stderr.as_str()), ("", ""));
}

#[test]
fn text_has_a_line_an_event_too() {
    let Some(version) = newest("watch: text has a line an event") else { return };
    let cluster = version.cluster().start();
    let mut store = Store::of(&cluster);
    let watch = Watch::start(on(&cluster, ["watch", "-w", "simple", "--prefix", "/"])).opened(&mut store);
    let revision = store.join("/a", 0x1000, 60);
    let line = watch.line();
    let fields: Vec<_> = line.split('\t').collect();
    let text = revision.to_string();
    assert_eq!(fields[1..], ["enqueued", "/a", "/a/1000", "1000", &text, &text, "-"]);
}

#[test]
fn it_ends_quietly_when_nobody_reads_any_more() {
    let Some(version) = newest("watch: it ends when nobody reads") else { return };
    let cluster = version.cluster().start();
    // Nothing happens, so no write can tell.
    let mut run = on(&cluster, ["watch"]).start();
    drop(run.child().stdout.take());
    let ended = run.end().expect(0);
    assert_eq!(ended.stderr, "");
}

#[test]
fn a_lost_connection_is_said_and_outlived() {
    let Some(version) = newest("watch: a lost connection is outlived") else { return };
    let mut cluster = version.cluster().start();
    let mut watch = Watch::start(on(&cluster, ["watch", "--prefix", "/"])).opened(&mut Store::of(&cluster));
    cluster.restart(0);
    cluster.healthy();
    let revision = Store::of(&cluster).join("/after", 0x1000, 60);
    let told = loop {
        let event = watch.event();
        if event["lock"] == "/after" {
            break event;
        }
    };
    assert_eq!(told["create_revision"], revision);
    watch.run.signal("INT");
    let ended = watch.run.end().expect(5);
    assert!(
        ended.stderr.contains("connection is lost") && ended.stderr.contains("connected again"),
        "{}",
        ended.stderr
    );
}
