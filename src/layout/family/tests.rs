//! An example for every row of the table: a row that no example reaches is dead or shadowed.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{Group, Single, queues, singles};
use crate::domain::LeaseId;
use crate::layout::{
    GroupCounts, KeyFacts, Layout, MANY, QueueFacts, Signs, SingleFacts, ValueKind, place, recognise_queue,
    recognise_single,
};

const LEASE: i64 = 0x2040_a228_242e_2d06;
const LEASE_2: i64 = 0x2040_a228_242e_2d0a;
const HEX: &str = "2040a228242e2d06";
const HEX_2: &str = "2040a228242e2d0a";
const DECIMAL: &str = "2324035701012573446";
const UUID: &str = "7c7ad9fd-f80f-4426-98c8-5a225d58f2c7";
const UUID_1: &str = "445123c2-ec13-11f1-96b9-02fc00000001";
const TIME_UUID: &[u8] = b"5>\xa5\xda\xec\x13\x11\xf1\x8d1\x02\xfc\x00\x00\x00\x01";
const RANDOM_UUID: &[u8] = b"\0\xbbWmR\xa6J\x1a\xabu\x88\xa7\x91\x84G\x90";
const VIP_KEY: &str = "/kube-vip/vip/-6125262df22d6a4d";
const VIP_MEMBER: &[u8] = b"control-plane-1";
const VIP_LEASE: i64 = -0x6125_262d_f22d_6a4d;
const LEASE_OBJECT: &[u8] = b"k8s\0\n\x1f\n\x16coordination.k8s.io/v1\x12\x05Lease\x12\x02\n\0";

type Put<'a> = (&'a str, &'a [u8], i64, i64);

fn key_of((key, value, lease, version): Put<'_>) -> KeyFacts<'_> {
    KeyFacts { key: key.as_bytes(), value, lease: LeaseId(lease), version }
}

/// The facts of a group of one or two members.
fn group_of<'a>(puts: &[Put<'a>]) -> QueueFacts<'a> {
    let keys: Vec<_> = puts.iter().map(|put| key_of(*put)).collect();
    let placed: Vec<_> = keys.iter().map(place).collect();
    let name = &keys[0].key[..placed[0].name_len as usize];
    for (key, placement) in keys.iter().zip(&placed) {
        assert!(placement.shape.is_member(), "{} is {:?}", key.key.escape_ascii(), placement.shape);
        assert_eq!(&key.key[..placement.name_len as usize], name, "members of one group");
    }
    let count = |kinds: &[ValueKind]| {
        u32::try_from(placed.iter().filter(|placement| kinds.contains(&placement.value)).count()).expect("few")
    };
    let counts = GroupCounts {
        empty: count(&[ValueKind::Empty]),
        json: count(&[ValueKind::Json, ValueKind::JsonWithLease]),
        json_with_lease: count(&[ValueKind::JsonWithLease]),
        addresses: count(&[ValueKind::Address]),
        digests: 0,
    };
    let signs = counts.signs(u32::try_from(placed.len()).expect("few"), placed[placed.len() - 1].shape);
    QueueFacts { name, first: keys[0], first_placed: placed[0], signs }
}

/// The same beside keys that are named by digests.
fn beside_digests(group: QueueFacts<'_>) -> QueueFacts<'_> {
    QueueFacts { signs: Signs { beside_digests: true, ..group.signs }, ..group }
}

fn single_of(put: Put<'_>, empty_siblings: u32) -> SingleFacts<'_> {
    let key = key_of(put);
    let placed = place(&key);
    assert!(!placed.shape.is_member(), "{} is {:?}", key.key.escape_ascii(), placed.shape);
    SingleFacts { key, placed, leased_siblings: empty_siblings, empty_leased_siblings: empty_siblings }
}

fn by_hex(name: &str) -> String {
    format!("{name}/{HEX}")
}

fn by_decimal(name: &str) -> String {
    format!("{name}/{DECIMAL}")
}

/// An example of a group: its members, and what they are.
type Example = (Vec<(String, &'static [u8], i64, i64)>, Layout, &'static str);

fn examples_of_groups() -> Vec<Example> {
    let mut examples: Vec<Example> = examples_of_holders()
        .into_iter()
        .map(|(key, value, version, layout, family)| (vec![(key, value, LEASE, version)], layout, family))
        .collect();
    examples.extend([
        // kube-vip's lease id is a hash of `/kube-vip/vip` and `VIP_MEMBER`.
        (vec![(VIP_KEY.into(), VIP_MEMBER, VIP_LEASE, 1)], Layout::Election, "kube-vip"),
        (vec![(VIP_KEY.into(), b"somebody", VIP_LEASE, 1)], Layout::Election, "go-concurrency"),
        (vec![("/q/1795972069464040059".into(), b"job", 0, 1)], Layout::Data, "etcd-recipes-queue"),
        (vec![("/pq/q/00003/0000000000000000".into(), b"job", 0, 1)], Layout::Data, "etcd-recipes-queue"),
        // Names of leases without a lease: data, unless the path or an emptied value says lock.
        (vec![(by_hex("/by-digest"), b"x", 0, 1), (format!("/by-digest/{HEX_2}"), b"x", 0, 1)], Layout::Data, ""),
        (vec![("/orph/job/694d000000000001".into(), b"hostA", 0, 1)], Layout::Election, "go-concurrency"),
        (vec![("/app/nodes/694d000000000001".into(), b"hostA", 0, 1)], Layout::Data, ""),
        (vec![(by_hex("/by-digest"), b"", 0, 1), (format!("/by-digest/{HEX_2}"), b"", 0, 1)], Layout::Data, ""),
        (vec![(by_hex("/jobs/lone"), b"", 0, 1)], Layout::Queue, "go-concurrency"),
        (vec![(by_hex("/jobs/a"), b"", 0, 2)], Layout::Queue, "go-concurrency"),
        (vec![(by_hex("/locks/a"), b"", 0, 1)], Layout::Queue, "go-concurrency"),
        (vec![(by_hex("/app/leader"), b"me", 0, 2)], Layout::Election, "go-concurrency"),
        (vec![(by_decimal("/vitess/k/locks"), b"{\"Action\":1}", 0, 2)], Layout::Queue, "vitess"),
        // A member that lost its lease, or was put by hand, still heads its queue.
        (vec![(by_hex("/s/job"), b"who", 0, 1), ("/s/job/c3".into(), b"", 0xc3, 1)], Layout::Queue, ""),
        (vec![(by_hex("/s/job"), b"", 0, 2), ("/s/job/c3".into(), b"", 0xc3, 1)], Layout::Queue, "go-concurrency"),
        (
            vec![(by_hex("/edge/x"), b"holder", LEASE, 2), (format!("/edge/x/{HEX_2}"), b"", LEASE_2, 1)],
            Layout::Queue,
            "",
        ),
        (
            vec![(by_hex("/ctl"), b"", LEASE, 1), (format!("/ctl/{HEX_2}"), b"b", LEASE_2, 1)],
            Layout::Election,
            "go-concurrency",
        ),
        (vec![("/jobs/a/0000000000001000".into(), b"", 4096, 1)], Layout::Queue, ""),
    ]);
    examples
}

/// One member on a lease of its own: its key, value and version, and what it is.
fn examples_of_holders() -> Vec<(String, &'static [u8], i64, Layout, &'static str)> {
    let nanoseconds = |name: &str| format!("{name}/1795972069464040059");
    let uuid = |name: &str| format!("{name}/{UUID}");
    vec![
        (by_hex("/etcd-lock/a"), b"", 1, Layout::Queue, "scalingo"),
        (by_hex("/go-etcd-lock-rw/readers/L2V0Y2QtbG9jay9h"), b"", 1, Layout::RwLock, "scalingo"),
        (by_hex("/go-etcd-lock-rw/writer-intents/L2V0Y2QtbG9jay9h"), b"", 1, Layout::Leased, "scalingo"),
        (by_hex("store/key___lock"), b"", 1, Layout::Queue, "valkeyrie"),
        (by_decimal("user.rpc"), b"10.0.0.7:8080", 1, Layout::Registration, "go-zero"),
        (nanoseconds("/rw/cfg/read"), b"", 1, Layout::RwLock, "etcd-recipes-rwmutex"),
        (nanoseconds("/rw/cfg/write"), b"", 1, Layout::RwLock, "etcd-recipes-rwmutex"),
        (nanoseconds("/barrier/waiters"), b"", 1, Layout::Leased, "etcd-recipes-barrier"),
        (by_hex("cilium/state/identities/v1/locks/k8s"), b"", 1, Layout::Queue, "cilium"),
        (by_hex("/tidb/cdc/default/__cdc_meta__/owner"), b"capture-1", 1, Layout::Election, "ticdc"),
        (by_hex("/tidb/ddl/fg/owner"), UUID.as_bytes(), 1, Layout::Election, "tidb"),
        (by_hex("/keyspaces/tidb/1/tidb/stats/owner"), UUID.as_bytes(), 1, Layout::Election, "tidb"),
        (uuid("/tidb/server/minstartts"), b"438123456789", 1, Layout::Registration, "tidb"),
        (by_hex("/dm-master/leader"), br#"{"id":"m1","addr":"10.0.0.1:8261"}"#, 1, Layout::Election, "dm"),
        (by_decimal("/vitess/zone1/keyspaces/k/locks"), br#"{"Action":"x"}"#, 1, Layout::Queue, "vitess"),
        (by_decimal("/vitess/elections/vtctld/locks"), b"zone1-100", 1, Layout::Election, "vitess"),
        (by_hex("stolon/cluster/pg/sentinel-leader"), b"ab12", 1, Layout::Election, "stolon"),
        (by_hex("_ld/prod/m3aggregator/x"), b"agg-1", 1, Layout::Election, "m3"),
        (by_hex("/c/__metasrv_election"), b"10.0.0.1:3002", 1, Layout::Election, "greptimedb"),
        (by_hex("__etcd3aio:lock/job"), b"", 1, Layout::Queue, "etcd3aio"),
        (by_hex("__etcd3aio:election/job"), b"me", 1, Layout::Election, "etcd3aio"),
        (by_decimal("election/singleton"), b"host-h", 1, Layout::Election, "node-etcd3"),
        (by_hex("/vault/core/lock"), b"9c5f1f0a-holder-uuid", 2, Layout::Queue, "vault"),
        (by_hex("/rabbitmq/locks/p/clusters/c/registration"), b"", 1, Layout::Queue, "rabbitmq"),
        (by_hex("emqx/ekkacl/lock/"), b"", 1, Layout::Queue, "emqx"),
        (by_hex("vineyard/S000000000000002a/meta_sync_lock"), b"", 1, Layout::Queue, "vineyard"),
        (by_hex("/openebs.io/StoreLeaseLock/CoreAgent"), b"", 1, Layout::Queue, "mayastor"),
        (by_hex("/dolphinscheduler/lock/master-failover"), b"", 1, Layout::Queue, "dolphinscheduler"),
        (by_decimal("/vitastor/mon/member"), br#"{"hostname":"a"}"#, 1, Layout::Registration, "vitastor"),
        (
            by_hex("v1/instances/ns/backend/generate"),
            br#"{"instance_id":2324035701012573446}"#,
            1,
            Layout::Registration,
            "dynamo",
        ),
        (uuid("/app/workers"), b"idle", 1, Layout::Registration, ""),
        (uuid("/lock/mylock"), b"", 1, Layout::Queue, "uuid-queue"),
        (uuid("/lock/mylock"), b"lock success", 1, Layout::Queue, "uuid-queue"),
        (by_hex("/app/things"), br#"{"id":"2040a228242e2d06"}"#, 1, Layout::Registration, ""),
        (by_hex("/app/services/web"), b"10.0.0.1:80", 1, Layout::Registration, ""),
        (by_hex("/app/services/web"), br#"{"port":80}"#, 1, Layout::Registration, ""),
        (by_decimal("/app/things"), br#"{"port":80}"#, 1, Layout::Registration, ""),
        (by_hex("/jobs/reindex"), b"", 1, Layout::Queue, "go-concurrency"),
        (by_decimal("/jobs/reindex"), b"", 1, Layout::Queue, ""),
        (by_hex("/jobs/lock"), b"holder", 2, Layout::Queue, ""),
        (by_hex("/jobs/lock"), b"candidate", 1, Layout::Election, "go-concurrency"),
        (by_hex("/ctl"), b"node-h", 1, Layout::Election, "go-concurrency"),
        (by_hex("/ctl"), b"10.0.0.1:80", 1, Layout::Election, "go-concurrency"),
        (by_hex("/services/web/leader"), br#"{"host":"a"}"#, 1, Layout::Election, "go-concurrency"),
        (by_decimal("/ctl"), b"node-h", 1, Layout::Election, ""),
    ]
}

/// Keys that stand alone: key, value, whether leased, and what they are.
fn examples_of_singles() -> Vec<(&'static str, &'static [u8], bool, Layout, &'static str)> {
    vec![
        ("/cronsun/lock/ab12", b"", true, Layout::SingleKey, "cronsun"),
        ("/cronsun/node/10.0.0.1", b"411", true, Layout::Registration, "cronsun"),
        ("/cronsun/proc/n/g/j/7", b"{}", true, Layout::Leased, "cronsun"),
        ("/leasing//app/conf", b"", true, Layout::Leased, "etcd-leasing"),
        ("/leasing/app/conf", b"REVOKE", true, Layout::Leased, "etcd-leasing"),
        ("/locks//job", b"", true, Layout::SingleKey, ""),
        ("/registry/leases/kube-node-lease/worker-1", LEASE_OBJECT, false, Layout::Registration, "kubernetes-node"),
        ("/registry/leases/kube-system/apiserver-abc", LEASE_OBJECT, false, Layout::Registration, "kubernetes-node"),
        ("/registry/leases/kube-system/kube-scheduler", LEASE_OBJECT, false, Layout::KubernetesLease, "kubernetes"),
        ("/registry/leases/a/b", b"k8s:enc:aescbc:v1:k:x", false, Layout::KubernetesLease, "kubernetes"),
        ("/registry/events/default/x.17", b"k8s\0\n\x0b\n\x02v1\x12\x05Event", true, Layout::Leased, "kubernetes"),
        ("/registry/masterleases/10.0.0.1", b"k8s\0", true, Layout::Leased, "kubernetes"),
        ("/registry/pods/default/x", b"k8s\0", false, Layout::Data, ""),
        ("/calico/openstack/v1/no-region/neutron/election", b"ctl-1:4711", true, Layout::SingleKey, "calico"),
        ("pwx/domain/some/key", br#"{"LockerID":"px-1"}"#, true, Layout::SingleKey, "portworx"),
        (
            "com.coreos.airlock/groups/default/v1/semaphore",
            br#"{"total_slots":1,"holders":["a"]}"#,
            false,
            Layout::SingleKey,
            "airlock",
        ),
        ("/coreos.com/network/subnets/10.1.0.0-24", br#"{"PublicIP":"x"}"#, true, Layout::Leased, "flannel"),
        ("cilium/state/nodes/v1/default/n1", b"{}", true, Layout::Registration, "cilium"),
        ("cilium/state/ip/v1/default/10.0.0.1", b"{}", true, Layout::Leased, "cilium"),
        ("/pd/7012/leader", b"\n\x03pd1\x10\x01", true, Layout::SingleKey, "pd"),
        ("/ms/7012/tso/00000/primary", b"\n\x03tso", true, Layout::SingleKey, "pd"),
        ("/ms/7012/tso/00000/primary/expected_primary", b"10.0.0.1:1", true, Layout::Leased, "pd"),
        ("/ms/7012/tso/registry/10.0.0.1:1", br#"{"addr":"x"}"#, true, Layout::Registration, "pd"),
        ("/tidb/cdc/default/__cdc_meta__/capture/c1", b"{}", true, Layout::Registration, "ticdc"),
        ("/tidb/server/info/7c7ad9fd-f80f-4426-98c8-5a225d58f2c7", b"{}", true, Layout::Registration, "tidb"),
        ("/topology/tidb/10.0.0.1:4000/ttl", b"1795972069", true, Layout::Registration, "tidb"),
        ("/dm-worker/a/776f726b65722d31", b"{}", true, Layout::Registration, "dm"),
        ("/service/pg/leader", b"pg1", true, Layout::SingleKey, "patroni"),
        ("/ns/pg/members/pg1", br#"{"conn_url":"postgres://h:1/p"}"#, true, Layout::Registration, "patroni"),
        ("/service/pg/config", b"{}", false, Layout::Data, ""),
        ("by-dev/meta/session/rootcoord", br#"{"ServerID":1,"Exclusive":true}"#, true, Layout::SingleKey, "milvus"),
        ("by-dev/meta/session/querynode-1", br#"{"ServerID":1}"#, true, Layout::Registration, "milvus"),
        ("by-dev/meta/session/id", b"2", false, Layout::Data, ""),
        ("stolon/cluster/pg/proxies/info/ab12", b"{}", true, Layout::Registration, "stolon"),
        ("stolon/cluster/pg/clusterdata", b"{}", false, Layout::Data, ""),
        ("_hb/prod/m3db/n1", b"\n\x01x", true, Layout::Registration, "m3"),
        ("/c/__metasrv_election_candidates/10.0.0.1:3002", b"{}", true, Layout::Registration, "greptimedb"),
        ("/rqlite/leader", br#"{"id":"1","api_addr":"h:1","addr":"h:2"}"#, false, Layout::SingleKey, "rqlite"),
        ("ha-tracker/team-a/prom", b"\x0b\x28\n\x01a", false, Layout::SingleKey, "cortex"),
        ("/tooz/locksjobs", RANDOM_UUID, true, Layout::SingleKey, "tooz"),
        ("tooz/groups/g/host-1", b"\x81\xa4", true, Layout::Registration, "tooz"),
        ("tooz/groups/g/", b"tooz/groups/g/", false, Layout::Data, ""),
        ("/locks/job", UUID_1.as_bytes(), true, Layout::SingleKey, "etcd3gw"),
        ("/locks/job", TIME_UUID, true, Layout::SingleKey, "python-etcd3"),
        ("/locks/job", TIME_UUID, false, Layout::SingleKey, "python-etcd3"),
        ("/recipes/aetcd/jobs", TIME_UUID, true, Layout::SingleKey, "aetcd"),
        ("_locks/job/holders", b"2", true, Layout::Leased, "etcd3-py"),
        ("_locks/job", b"vm:6c5cd64d", true, Layout::SingleKey, "etcd3-py"),
        ("other/job", b"vm:thrd:7", true, Layout::SingleKey, "etcd3-py"),
        ("keyv:user-1", br#"{"value":1}"#, true, Layout::Leased, "keyv"),
        ("moleculer-x/discovery/beats/n/ab/7", b"{}", true, Layout::Registration, "moleculer"),
        ("/teleport/.locks/session", RANDOM_UUID, true, Layout::SingleKey, "teleport"),
        ("/rabbitmq/discovery/p/clusters/c/nodes/rabbit@a", b"{}", true, Layout::Registration, "rabbitmq"),
        ("emqx/ekkacl/nodes/emqx@10.0.0.1", b"emqx@10.0.0.1", true, Layout::Registration, "emqx"),
        ("/vitastor/mon/master", br#"{"id":"1"}"#, true, Layout::SingleKey, "vitastor"),
        ("/vitastor/osd/state/1", b"{}", true, Layout::Registration, "vitastor"),
        ("/loadbalance/leader", b"{}", true, Layout::SingleKey, "pulsar"),
        ("/loadbalance/brokers/10.0.0.1:8080", b"{}", true, Layout::Registration, "pulsar"),
        ("/dolphinscheduler/nodes/master/10.0.0.1:5678", b"{}", true, Layout::Registration, "dolphinscheduler"),
        ("instances/ns/c/generate:2040", br#"{"instance_id":1}"#, true, Layout::Registration, "dynamo"),
        ("/microservices/web/1", b"{}", true, Layout::Registration, "go-kratos"),
        ("kitex/registry-etcd/web/10.0.0.1:80", b"{}", true, Layout::Registration, "kitex"),
        ("/micro/registry/web/1", b"{}", true, Layout::Registration, "go-micro"),
        ("/apisix/data_plane/server_info/1", b"{}", true, Layout::Registration, "apisix"),
        ("web/1", br#"{"Op":0,"Addr":"h:1","Metadata":null}"#, true, Layout::Registration, "grpc-naming"),
        ("/dubbo/com.Foo/providers/dubbo%3A%2F%2F10.0.0.1%3A20000", b"", true, Layout::Registration, "dubbo-go"),
        ("/elections/vip/node-1", b"node-1", true, Layout::Registration, ""),
        ("/cron/lock/reindex", b"reindex", true, Layout::SingleKey, ""),
        ("/app/thing", RANDOM_UUID, true, Layout::SingleKey, ""),
        ("/app/thing", RANDOM_UUID, false, Layout::Data, ""),
        ("/app/mutex/thing", RANDOM_UUID, false, Layout::SingleKey, ""),
        ("/recipes/naive/lock", b"vm-h", true, Layout::SingleKey, ""),
        ("/cron/lock/reindex", b"vm-h", true, Layout::SingleKey, ""),
        ("/app/leader", br#"{"host":"a"}"#, true, Layout::SingleKey, ""),
        ("lock", UUID.as_bytes(), true, Layout::SingleKey, ""),
        ("/cron/lock/reindex", b"", false, Layout::SingleKey, ""),
        ("/cron/lock/reindex", b"vm-h:411", false, Layout::SingleKey, ""),
        ("/config/lock", b"true", false, Layout::Data, ""),
        ("/config/master", b"", false, Layout::Data, ""),
        ("/app/web/1", br#"{"a":1}"#, true, Layout::Registration, ""),
        ("/app/web/1", b"10.0.0.1:80", true, Layout::Registration, ""),
        ("/app/workers/1", b"idle", true, Layout::Registration, ""),
        ("/app/web/10.0.0.1:80", b"", true, Layout::Registration, ""),
        ("recipes/node-lock/jobs", b"", true, Layout::SingleKey, ""),
        ("/app/cache/1", b"some text", true, Layout::Leased, ""),
        ("/app/config", b"some text", false, Layout::Data, ""),
    ]
}

#[test]
fn every_row_has_an_example_and_every_example_its_row() {
    let mut reached = BTreeSet::new();
    for (members, layout, family) in examples_of_groups() {
        let puts: Vec<Put<'_>> =
            members.iter().map(|(key, value, lease, version)| (key.as_str(), *value, *lease, *version)).collect();
        let facts = group_of(&puts);
        let recognised = recognise_queue(&facts);
        assert_eq!((recognised.layout, recognised.family), (layout, family), "{members:?}");
        reached.extend(queues().position(|row| (row.matches)(&Group::new(&facts))));
    }
    let missed: Vec<_> = queues()
        .enumerate()
        .filter(|(at, _)| !reached.contains(at))
        .map(|(_, row)| (row.family, row.evidence))
        .collect();
    assert!(missed.is_empty(), "rows for groups without an example: {missed:#?}");

    let mut reached = BTreeSet::new();
    for (key, value, leased, layout, family) in examples_of_singles() {
        let facts = single_of((key, value, if leased { LEASE } else { 0 }, 1), 0);
        let recognised = recognise_single(&facts);
        assert_eq!((recognised.layout, recognised.family), (layout, family), "{key}");
        reached.extend(singles().position(|row| (row.matches)(&Single::new(&facts))));
    }
    let missed: Vec<_> = singles()
        .enumerate()
        .filter(|(at, _)| !reached.contains(at))
        .map(|(_, row)| (row.family, row.evidence))
        .collect();
    assert!(missed.is_empty(), "rows for single keys without an example: {missed:#?}");
}

#[test]
fn many_empty_leased_keys_side_by_side_are_a_directory() {
    let alone = recognise_single(&single_of(("/app/things/a", b"", LEASE, 1), MANY - 1));
    assert_eq!(alone.layout, Layout::SingleKey);
    let listed = recognise_single(&single_of(("/app/things/a", b"", LEASE, 1), MANY));
    assert_eq!(listed.layout, Layout::Registration);
    let locks = recognise_single(&single_of(("/app/locks/a", b"", LEASE, 1), MANY));
    assert_eq!(locks.layout, Layout::SingleKey, "a directory of locks");
}

#[test]
fn a_lone_key_named_by_a_lease_is_a_lock_unless_digests_lie_beside_it() {
    let key = by_hex("/jobs/lone");
    let lone = group_of(&[(&key, b"", 0, 1)]);
    assert_eq!(recognise_queue(&lone).layout, Layout::Queue);
    assert_eq!(recognise_queue(&beside_digests(lone)).layout, Layout::Data);
    let valued = group_of(&[(&key, b"alice", 0, 1)]);
    assert_eq!(recognise_queue(&valued).layout, Layout::Election, "who locks the name waits whatever the value");
    assert_eq!(recognise_queue(&beside_digests(valued)).layout, Layout::Data);
}

proptest! {
    #[test]
    fn no_facts_make_a_row_panic(
        key in proptest::collection::vec(any::<u8>(), 0..40),
        value in proptest::collection::vec(any::<u8>(), 0..60),
        lease: i64,
        counts in proptest::array::uniform6(0_u32..4),
    ) {
        let key = KeyFacts { key: &key, value: &value, lease: LeaseId(lease), version: 1 };
        let placed = place(&key);
        recognise_single(&SingleFacts { key, placed, leased_siblings: counts[0], empty_leased_siblings: counts[1] });
        let [members, empty, json, json_with_lease, addresses, digests] = counts;
        let counts = GroupCounts { empty, json, json_with_lease, addresses, digests };
        recognise_queue(&QueueFacts {
            name: &key.key[..placed.name_len as usize],
            first: key,
            first_placed: placed,
            signs: counts.signs(members, placed.shape),
        });
    }
}
