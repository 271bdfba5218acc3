//! What real programs left in a real etcd is recognised: each fixture by itself, and all of
//! them in one keyspace, where neighbours could mislead. Keys are grouped here as simply as
//! can be, so that the rules are tested without the model.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a fixture that cannot be read fails its test")]

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lockscope::domain::key::split_last;
use lockscope::domain::{LeaseId, Millis};
use lockscope::layout::{
    GroupCounts, KeyFacts, Layout, MANY, Placement, QueueFacts, Shape, SingleFacts, ValueKind, place, recognise_queue,
    recognise_single, value,
};
use serde_json::Value;

#[derive(Clone, Debug)]
struct Row {
    key: Vec<u8>,
    value: Vec<u8>,
    lease: i64,
    version: i64,
    create_revision: i64,
}

impl Row {
    fn facts(&self) -> KeyFacts<'_> {
        KeyFacts { key: &self.key, value: &self.value, lease: LeaseId(self.lease), version: self.version }
    }
}

/// What was recognised under a name.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    layout: Layout,
    family: &'static str,
    /// Members that hold; 0 for what stands alone.
    holders: usize,
    waiters: usize,
    /// Keys beside the members that are none.
    foreign: usize,
}

fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

/// A fixture's phases in their order, each with the keys it left.
fn phases(fixture: &str) -> Vec<(String, Vec<Row>)> {
    let path = data().join(format!("layouts/{fixture}.jsonl"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut phases: Vec<(String, Vec<Row>)> = Vec::new();
    for line in text.lines() {
        let json: Value = serde_json::from_str(line).unwrap();
        if json["empty"] == true {
            continue;
        }
        let bytes = |name: &str| STANDARD.decode(json[name].as_str().unwrap()).unwrap();
        let number = |name: &str| json[name].as_i64().unwrap();
        let row = Row {
            key: bytes("key"),
            value: bytes("value"),
            lease: number("lease"),
            version: number("version"),
            create_revision: number("create_revision"),
        };
        let phase = json["phase"].as_str().unwrap();
        match phases.iter_mut().find(|(known, _)| known == phase) {
            Some((_, rows)) => rows.push(row),
            None => phases.push((phase.to_owned(), vec![row])),
        }
    }
    phases
}

/// A fixture's rows in the phase with the most keys; the first such when several have as many.
fn largest_phase(fixture: &str) -> Vec<Row> {
    let phases = phases(fixture);
    let most = phases.iter().map(|(_, rows)| rows.len()).max().unwrap();
    phases.into_iter().find(|(_, rows)| rows.len() == most).unwrap().1
}

fn fixtures() -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(data().join("layouts"))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

/// Everything that is recognised among these keys, by name.
fn recognise(rows: &[Row]) -> BTreeMap<String, Found> {
    let placed: Vec<(&Row, Placement)> = rows.iter().map(|row| (row, place(&row.facts()))).collect();
    let mut groups: BTreeMap<&[u8], Vec<(&Row, Placement)>> = BTreeMap::new();
    for (row, placement) in &placed {
        if placement.shape.is_member() {
            groups.entry(&row.key[..placement.name_len as usize]).or_default().push((row, *placement));
        }
    }
    let plain = |parent: &[u8]| {
        let parent = parent.to_vec();
        placed.iter().filter(move |(row, other)| !other.shape.is_member() && split_last(&row.key).0 == parent)
    };
    let mut found = BTreeMap::new();
    for (name, members) in &mut groups {
        members.sort_by_key(|(row, _)| row.create_revision);
        let recognised = recognise_queue(&queue_facts(name, members));
        let holders = holders(recognised.layout, members);
        let what = Found {
            layout: recognised.layout,
            family: recognised.family,
            holders,
            waiters: members.len() - holders,
            foreign: plain(name).count(),
        };
        found.insert(String::from_utf8_lossy(name).into_owned(), what);
    }
    for (row, placement) in placed.iter().filter(|(_, placement)| !placement.shape.is_member()) {
        let siblings = || plain(split_last(&row.key).0).filter(|(other, _)| other.lease != 0 && other.key != row.key);
        let count = |number: usize| u32::try_from(number).unwrap().min(MANY);
        let recognised = recognise_single(&SingleFacts {
            key: row.facts(),
            placed: *placement,
            leased_siblings: count(siblings().count()),
            empty_leased_siblings: count(siblings().filter(|(other, _)| other.value.is_empty()).count()),
        });
        let what = Found { layout: recognised.layout, family: recognised.family, holders: 0, waiters: 0, foreign: 0 };
        let before = found.insert(String::from_utf8_lossy(&row.key).into_owned(), what);
        assert_eq!(before, None, "a key and a group of one name");
    }
    found
}

fn queue_facts<'a>(name: &'a [u8], members: &[(&'a Row, Placement)]) -> QueueFacts<'a> {
    let (first, last) = (members[0], members[members.len() - 1]);
    let count = |kinds: &[ValueKind]| {
        u32::try_from(members.iter().filter(|(_, placement)| kinds.contains(&placement.value)).count()).unwrap()
    };
    let counts = GroupCounts {
        empty: count(&[ValueKind::Empty]),
        json: count(&[ValueKind::Json, ValueKind::JsonWithLease]),
        json_with_lease: count(&[ValueKind::JsonWithLease]),
        addresses: count(&[ValueKind::Address]),
        digests: 0,
    };
    let signs = counts.signs(u32::try_from(members.len()).unwrap(), last.1.shape);
    QueueFacts { name, first: first.0.facts(), first_placed: first.1, signs }
}

/// One holds a queue; readers in front of the first writer hold together.
fn holders(layout: Layout, members: &[(&Row, Placement)]) -> usize {
    let readers = members.iter().take_while(|(_, placement)| placement.shape == Shape::Read).count();
    match layout {
        Layout::RwLock => readers.max(1),
        Layout::Queue | Layout::Election => 1,
        _ => members.len(),
    }
}

/// Every fixture's largest phase. Two fixtures share a lease; none share a key.
fn whole_keyspace() -> Vec<Row> {
    let rows: Vec<_> = fixtures().iter().flat_map(|fixture| largest_phase(fixture)).collect();
    let keys: HashSet<_> = rows.iter().map(|row| &row.key).collect();
    assert_eq!(keys.len(), rows.len());
    rows
}

/// The rows of `expected.tsv`: fixture, name, layout, waiters.
fn expected() -> Vec<(String, String, String, usize)> {
    let text = std::fs::read_to_string(data().join("expected.tsv")).unwrap();
    let rows: Vec<_> = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| {
            let columns: Vec<_> = line.split('\t').collect();
            (columns[0].into(), columns[1].into(), columns[2].into(), columns[3].parse().unwrap())
        })
        .collect();
    assert!(rows.len() > 20, "only {} rows", rows.len());
    rows
}

/// What else is in the fixtures: fixture, name, layout, family, foreign keys.
const MORE: &[(&str, &str, Layout, &str, usize)] = &[
    ("edge_foreign_key_blocks", "/edge/foreign/x/README", Layout::Data, "", 0),
    ("edge_lease_lost_by_overwrite", "/edge/nolease/x", Layout::Queue, "go-concurrency", 0),
    ("edge_holder_rewrote_value", "/edge/vault/core/lock", Layout::Queue, "vault", 0),
    ("go_mutex", "/recipes/go-mutex/jobs", Layout::Queue, "go-concurrency", 0),
    ("v3election_grpc", "/recipes/v3election/jobs", Layout::Election, "go-concurrency", 0),
    ("handrolled_queue", "/lock/mylock", Layout::Queue, "uuid-queue", 0),
    ("node_election", "election/recipes-singleton", Layout::Election, "node-etcd3", 0),
    ("py_etcd3aio_lock", "__etcd3aio:lock/recipes-job", Layout::Queue, "etcd3aio", 0),
    ("go_recipe_rwmutex", "/recipes/rw/cfg", Layout::RwLock, "etcd-recipes-rwmutex", 0),
    ("go_recipe_barrier", "/recipes/dbarrier/start/waiters", Layout::Leased, "etcd-recipes-barrier", 0),
    ("go_recipe_barrier", "/recipes/dbarrier/start/ready", Layout::Data, "", 0),
    ("go_recipe_leasing", "/recipes/leasing//recipes/app/conf", Layout::Leased, "etcd-leasing", 0),
    ("go_recipe_leasing", "/recipes/app/conf", Layout::Data, "", 0),
    ("go_recipe_queue", "/recipes/queue/q", Layout::Data, "etcd-recipes-queue", 0),
    ("go_recipe_queue", "/recipes/pqueue/q/00003", Layout::Data, "etcd-recipes-queue", 0),
    ("k8s_lease_SYNTHETIC", "/registry/leases/kube-node-lease/worker-1", Layout::Registration, "kubernetes-node", 0),
    (
        "k8s_lease_SYNTHETIC",
        "/registry/leases/kube-system/kube-controller-manager",
        Layout::KubernetesLease,
        "kubernetes",
        0,
    ),
    ("milvus", "by-dev/meta/session/rootcoord", Layout::SingleKey, "milvus", 0),
    ("milvus", "by-dev/meta/session/querycoord", Layout::SingleKey, "milvus", 0),
    ("milvus", "by-dev/meta/session/querynode-1", Layout::Registration, "milvus", 0),
    ("milvus", "by-dev/meta/session/proxy-1", Layout::Registration, "milvus", 0),
    ("milvus", "by-dev/meta/session/id", Layout::Data, "", 0),
    ("milvus", "by-dev/kv/gid/timestamp", Layout::Data, "", 0),
    ("naive_lock", "/recipes/naive/lock", Layout::SingleKey, "", 0),
    ("node_lock", "recipes/node-lock/jobs", Layout::SingleKey, "", 0),
    ("patroni", "/service/recipes-pg/leader", Layout::SingleKey, "patroni", 0),
    ("patroni", "/service/recipes-pg/members/pg1", Layout::Registration, "patroni", 0),
    ("patroni", "/service/recipes-pg/config", Layout::Data, "", 0),
    ("py_aetcd", "/recipes/aetcd/jobs", Layout::SingleKey, "aetcd", 0),
    ("py_etcd3", "/locks/recipes-pyetcd3", Layout::SingleKey, "python-etcd3", 0),
    ("py_etcd3gw", "/locks/recipes-etcd3gw", Layout::SingleKey, "etcd3gw", 0),
    ("py_etcd3py", "_locks/recipes-etcd3py", Layout::SingleKey, "etcd3-py", 0),
    ("py_tooz", "/tooz/locksrecipes-tooz-jobs", Layout::SingleKey, "tooz", 0),
    ("py_tooz", "tooz/groups/recipes-group/", Layout::Data, "", 0),
    ("py_tooz", "tooz/groups/recipes-group/host-w1.example", Layout::Registration, "tooz", 0),
];

#[test]
fn each_fixture_is_recognised_as_expected() {
    for (fixture, name, layout, waiters) in expected() {
        let found = recognise(&largest_phase(&fixture));
        let what = found.get(&name).unwrap_or_else(|| panic!("{fixture}: no {name} among {:?}", found.keys()));
        assert_eq!((what.layout.name(), what.waiters), (layout.as_str(), waiters), "{fixture}: {name}");
    }
}

#[test]
fn the_rest_of_each_fixture_is_recognised_too() {
    for (fixture, name, layout, family, foreign) in MORE {
        let found = recognise(&largest_phase(fixture));
        let what = found.get(*name).unwrap_or_else(|| panic!("{fixture}: no {name} among {:?}", found.keys()));
        assert_eq!((what.layout, what.family, what.foreign), (*layout, *family, *foreign), "{fixture}: {name}");
    }
}

#[test]
fn everything_is_recognised_in_one_keyspace_as_well() {
    let found = recognise(&whole_keyspace());
    for (fixture, name, layout, waiters) in expected() {
        let what = &found[&name];
        assert_eq!((what.layout.name(), what.waiters), (layout.as_str(), waiters), "{fixture}: {name}");
    }
    for (fixture, name, layout, family, foreign) in MORE {
        let what = &found[*name];
        assert_eq!((what.layout, what.family, what.foreign), (*layout, *family, *foreign), "{fixture}: {name}");
    }
}

#[test]
fn nothing_in_the_keyspace_is_taken_for_a_lock_that_is_none() {
    let expected: HashSet<_> = expected().into_iter().map(|(_, name, ..)| name).collect();
    let also: HashSet<_> =
        MORE.iter().filter(|(_, _, layout, ..)| layout.is_lock()).map(|(_, name, ..)| *name).collect();
    let others = ["by-dev/meta/session/datacoord", "by-dev/meta/session/indexcoord"];
    for (name, what) in recognise(&whole_keyspace()) {
        let known = expected.contains(&name) || also.contains(name.as_str()) || others.contains(&name.as_str());
        assert!(known || !what.layout.is_lock(), "{name} is {what:?}");
    }
}

#[test]
fn clients_that_leave_crash_or_take_over_do_not_change_what_a_lock_is() {
    let mut phases_seen = 0;
    for (fixture, name, layout, _) in expected() {
        for (phase, rows) in phases(&fixture) {
            // Between a crash and the next holder a single key is gone.
            if let Some(what) = recognise(&rows).get(&name) {
                assert_eq!(what.layout.name(), layout, "{fixture}, {phase}: {name}");
                phases_seen += 1;
            }
        }
    }
    assert!(phases_seen > 80, "only {phases_seen} phases");
}

#[test]
fn a_key_beside_members_is_foreign_to_their_queue() {
    let mut rows = largest_phase("go_mutex");
    let foreign = Row {
        key: b"/recipes/go-mutex/jobs/README".to_vec(),
        value: b"do not delete".to_vec(),
        lease: 0,
        version: 1,
        ..rows[0].clone()
    };
    rows.push(foreign);
    let found = recognise(&rows);
    let queue = &found["/recipes/go-mutex/jobs"];
    assert_eq!((queue.layout, queue.holders, queue.waiters, queue.foreign), (Layout::Queue, 1, 2, 1));
    assert_eq!(found["/recipes/go-mutex/jobs/README"].layout, Layout::Data);
}

#[test]
fn values_of_real_programs_name_their_writers() {
    let owner = |fixture: &str, key: &str, family: &str| {
        let rows = largest_phase(fixture);
        let row = rows.iter().find(|row| row.key == key.as_bytes()).unwrap();
        let family = lockscope::layout::families().map(|(family, ..)| family).find(|known| *known == family).unwrap();
        value::decode(&row.facts(), family).owner
    };
    assert_eq!(owner("py_etcd3", "/locks/recipes-pyetcd3", "python-etcd3").as_deref(), Some("02:fc:00:00:00:01"));
    assert_eq!(owner("py_etcd3gw", "/locks/recipes-etcd3gw", "etcd3gw").as_deref(), Some("02:fc:00:00:00:01"));
    assert_eq!(owner("py_etcd3py", "_locks/recipes-etcd3py", "etcd3-py").as_deref(), Some("vm"));
    assert_eq!(owner("naive_lock", "/recipes/naive/lock", "").as_deref(), Some("vm-h"));
    let patroni = largest_phase("patroni");
    let leader = owner("patroni", "/service/recipes-pg/leader", "patroni").unwrap();
    assert!(patroni.iter().any(|row| row.key.ends_with(format!("/members/{leader}").as_bytes())));
    let root = owner("milvus", "by-dev/meta/session/rootcoord", "milvus");
    assert_eq!(root.as_deref(), Some("192.0.2.2:53100"));
}

#[test]
fn kubernetes_leases_of_the_fixture_read_whole() {
    let leases: BTreeMap<String, value::kubernetes::Lease> = largest_phase("k8s_lease_SYNTHETIC")
        .iter()
        .map(|row| {
            let lease = value::kubernetes::Lease::parse(&row.value).expect("a lease");
            (String::from_utf8(row.key.clone()).unwrap(), lease)
        })
        .collect();
    let scheduler = &leases["/registry/leases/kube-system/kube-scheduler"];
    assert_eq!(scheduler.holder.as_deref(), Some("cp1_6b0b6a2e-77aa-4d6e-9c55-2f1f6b3a9d10"));
    assert_eq!(scheduler.duration.map(Millis::secs), Some(15));
    assert!(scheduler.renewed > scheduler.acquired, "{scheduler:?}");
    let released = &leases["/registry/leases/default/my-operator-lock"];
    assert_eq!((released.holder.as_deref(), released.transitions), (None, Some(7)));
    let node = &leases["/registry/leases/kube-node-lease/worker-1"];
    assert_eq!(node.duration.map(Millis::secs), Some(40));
}
