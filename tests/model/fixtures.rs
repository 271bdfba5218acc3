//! Keys that real programs left in a real etcd, read by the model: each lock as it should be.

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

use crate::store::{Bench, Store};
use lockscope::layout::Layout;
use lockscope::model::findings::{RULES, Thresholds};
use lockscope::model::{Diagnosis, LockState, Severity};

struct Row {
    key: String,
    value: Vec<u8>,
    lease: i64,
    created: i64,
    modified: i64,
}

/// The rows of a fixture's phase with the most keys, in the order they were written.
fn rows(path: &Path) -> Vec<Row> {
    let lines = fs::read_to_string(path).unwrap();
    let mut phases: Vec<(String, Vec<Row>)> = Vec::new();
    for line in lines.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let bytes = |field: &str| BASE64_STANDARD.decode(row[field].as_str().unwrap_or_default()).unwrap();
        let number = |field: &str| row[field].as_i64().unwrap_or_default();
        if bytes("key").is_empty() {
            continue;
        }
        let phase = row["phase"].as_str().unwrap().to_owned();
        if phases.iter().all(|(known, _)| *known != phase) {
            phases.push((phase.clone(), Vec::new()));
        }
        let (_, rows) = phases.iter_mut().find(|(known, _)| *known == phase).unwrap();
        rows.push(Row {
            key: String::from_utf8(bytes("key")).unwrap(),
            value: bytes("value"),
            lease: number("lease"),
            created: number("create_revision"),
            modified: number("mod_revision"),
        });
    }
    // The first of the largest, as the loader of the acceptance test takes it.
    let largest = phases.iter().map(|(_, rows)| rows.len()).max().unwrap_or_default();
    phases.into_iter().find(|(_, rows)| rows.len() == largest).map(|(_, rows)| rows).unwrap_or_default()
}

fn load(store: &mut Store, mut rows: Vec<Row>) {
    rows.sort_by_key(|row| row.created);
    for row in &rows {
        let first = if row.modified == row.created { row.value.clone() } else { Vec::new() };
        store.put_bytes(&row.key, first, row.lease);
    }
    rows.retain(|row| row.modified != row.created);
    rows.sort_by_key(|row| row.modified);
    for row in rows {
        store.put_bytes(&row.key, row.value, row.lease);
    }
}

fn everything_in_one_store() -> Bench {
    let mut store = Store::new();
    let mut paths: Vec<_> = fs::read_dir("tests/data/layouts").unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    paths.sort();
    assert!(paths.len() > 20, "the fixtures are there");
    for path in paths {
        load(&mut store, rows(&path));
    }
    Bench::reading(&store)
}

#[test]
fn every_fixture_is_listed_once_with_its_layout_and_waiters() {
    let bench = everything_in_one_store();
    let expected = fs::read_to_string("tests/data/expected.tsv").unwrap();
    let mut checked = 0;
    for line in expected.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let [_, name, layout, waiters, ..] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let found: Vec<_> = bench
            .facts()
            .locks()
            .filter(|lock| lock.name() == name.as_bytes() && lock.layout().is_lock())
            .map(|lock| (lock.layout().name(), lock.waiters().count(), lock.waiter_count()))
            .collect();
        let waiters: usize = waiters.parse().unwrap();
        assert_eq!(found, [(layout, waiters, waiters)], "{name}");
        checked += 1;
    }
    assert_eq!(checked, 28);
}

#[test]
fn every_fixture_has_the_findings_that_are_expected_and_no_alarm_beside_them() {
    let known: Vec<_> = RULES.iter().map(|rule| rule.code).collect();
    let expected = fs::read_to_string("tests/data/expected.tsv").unwrap();
    let mut checked = 0;
    for line in expected.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let [fixture, name, .., codes] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let codes: Vec<_> = codes.split(',').filter(|code| *code != "-").collect();
        assert!(codes.iter().all(|code| known.contains(code)), "{line}: there is no such rule");
        let mut store = Store::new();
        load(&mut store, rows(&Path::new("tests/data/layouts").join(fixture).with_extension("jsonl")));
        let bench = Bench::reading(&store);
        let diagnosis = Diagnosis::of(bench.facts(), &Thresholds::default().at_one_look());
        let found = diagnosis.codes(name.as_bytes());
        for code in &codes {
            assert!(found.contains(code), "{fixture}: {name} has {found:?} and lacks {code}");
        }
        let alarms: Vec<_> = diagnosis
            .of_lock(name.as_bytes())
            .filter(|finding| finding.severity > Severity::Info && !codes.contains(&finding.code))
            .map(|finding| finding.code)
            .collect();
        assert_eq!(alarms, Vec::<&str>::new(), "{fixture}: {name}");
        checked += codes.len();
    }
    assert!(checked > 10, "only {checked} codes are expected");
}

#[test]
fn a_released_kubernetes_lease_is_free_and_a_running_one_names_its_holder() {
    let bench = everything_in_one_store();
    let state = |name: &str| bench.facts().lock_named(name.as_bytes()).map(|lock| lock.state());
    assert_eq!(state("/registry/leases/default/my-operator-lock"), Some(LockState::Free));
    assert_eq!(state("/registry/leases/kube-system/kube-scheduler"), Some(LockState::Held));
    let lock = bench.facts().lock_named(b"/registry/leases/kube-system/kube-scheduler").unwrap();
    assert!(lock.holder().unwrap().decoded().owner.is_some_and(|owner| !owner.is_empty()));
}

#[test]
fn registrations_and_data_are_no_locks() {
    let bench = everything_in_one_store();
    for name in
        ["by-dev/meta/session/proxy-1", "/service/recipes-pg/members/pg2", "tooz/groups/recipes-group/host-h.example"]
    {
        let lock = bench.facts().lock_named(name.as_bytes());
        assert_eq!(lock.map(|lock| lock.layout()), Some(Layout::Registration), "{name}");
    }
    for name in ["/service/recipes-pg/config", "by-dev/kv/gid/timestamp", "/recipes/app/conf"] {
        assert!(bench.facts().lock_named(name.as_bytes()).is_none(), "{name}");
    }
}

#[test]
fn a_kubernetes_lease_is_told_once_each_time_it_changes_hands() {
    let path = Path::new("tests/data/layouts/k8s_lease_SYNTHETIC.jsonl");
    let value = |key: &str| rows(path).into_iter().find(|row| row.key.ends_with(key)).unwrap().value;
    let (released, one, other) = (value("my-operator-lock"), value("kube-scheduler"), value("kube-controller-manager"));
    let key = "/registry/leases/default/it";
    let mut store = Store::new();
    store.put_bytes(key, released.clone(), 0);
    let mut bench = Bench::reading(&store);
    for value in [one, other, released] {
        store.put_bytes(key, value, 0);
        bench.watch(&store);
    }
    let it = |what: &str| format!("{key} {what}");
    assert_eq!(bench.story(), [it("acquired"), it("released"), it("acquired"), it("released")]);
    let lock = bench.facts().lock_named(key.as_bytes()).unwrap();
    assert_eq!((lock.state(), lock.holds().count()), (LockState::Free, 2));
    assert!(lock.free_since().is_some());
}
