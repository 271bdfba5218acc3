//! What placing a key costs: it happens for every put of every key of the cluster. The goal is
//! well under 150 ns for the keys that there are most of.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use lockscope::domain::LeaseId;
use lockscope::layout::{GroupCounts, KeyFacts, QueueFacts, SingleFacts, place, recognise_queue, recognise_single};

const LEASE: LeaseId = LeaseId(0x2040_a228_242e_2d06);
const MILVUS: &[u8] = br#"{"ServerID":1,"ServerName":"rootcoord","Address":"192.0.2.2:53100","Exclusive":true,"TriggerKill":true,"Version":"2.3.5","IndexEngineVersion":{},"LeaseID":2324035701012573446,"HostName":"vm"}"#;
const POD: &[u8] = b"k8s\0\n\t\n\x02v1\x12\x03Pod\x12\x80\x10\n\x10some-deployment-\x12\0\x1a\x07default";
const KUBERNETES: &[u8] = b"k8s\0\n\x1f\n\x16coordination.k8s.io/v1\x12\x05Lease\x12x\nS\n\x10my-operator-lock";

fn key(key: &'static [u8], value: &'static [u8], lease: LeaseId) -> KeyFacts<'static> {
    KeyFacts { key, value, lease, version: 1 }
}

fn keys() -> [(&'static str, KeyFacts<'static>); 10] {
    let none = LeaseId::NONE;
    [
        ("queue member", key(b"/jobs/nightly/report/2040a228242e2d06", b"", LEASE)),
        ("candidate", key(b"/app/election/ctl/2040a228242e2d06", b"node-17.example.org", LEASE)),
        ("decimal member", key(b"election/singleton/2324035701012573446", b"host-h", LEASE)),
        ("data", key(b"/registry/configs/default/some-application-settings", b"some plain text of a config", none)),
        ("json data", key(b"/app/users/by-name/somebody", br#"{"name":"somebody","roles":["a","b"]}"#, none)),
        ("pod", key(b"/registry/pods/default/some-deployment-7d4b9c6f5-x2x4z", POD, none)),
        ("kubernetes lease", key(b"/registry/leases/kube-system/kube-scheduler", KUBERNETES, none)),
        ("uuid member", key(b"/lock/mylock/7c7ad9fd-f80f-4426-98c8-5a225d58f2c7", b"", LEASE)),
        ("digest, no lease", key(b"/blobs/by-digest/2040a228242e2d06", b"layer", none)),
        ("json with lease", key(b"by-dev/meta/session/rootcoord", MILVUS, LEASE)),
    ]
}

fn placing(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("place");
    for (name, key) in keys() {
        group.bench_function(name, |bencher| bencher.iter(|| place(black_box(&key))));
    }
    let mix = keys().map(|(_, key)| key);
    group.bench_function("mix of ten", |bencher| {
        bencher.iter(|| {
            for key in &mix {
                black_box(place(black_box(key)));
            }
        });
    });
    group.finish();
}

fn recognising(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("recognise");
    for (name, key) in keys() {
        let placed = place(&key);
        if placed.shape.is_member() {
            let counts = GroupCounts { empty: u32::from(key.value.is_empty()), ..GroupCounts::default() };
            let signs = counts.signs(1, placed.shape);
            let lock = &key.key[..placed.name_len as usize];
            let facts = QueueFacts { name: lock, first: key, first_placed: placed, signs };
            group.bench_function(name, |bencher| bencher.iter(|| recognise_queue(black_box(&facts))));
        } else {
            let facts = SingleFacts { key, placed, leased_siblings: 2, empty_leased_siblings: 0 };
            group.bench_function(name, |bencher| bencher.iter(|| recognise_single(black_box(&facts))));
        }
    }
    // The last rule of all: leased text of which nothing is known.
    let unknown = key(b"/some/application/cache/entry-4711", b"some text", LEASE);
    let facts = SingleFacts { key: unknown, placed: place(&unknown), leased_siblings: 2, empty_leased_siblings: 0 };
    group.bench_function("unknown leased key", |bencher| bencher.iter(|| recognise_single(black_box(&facts))));
    group.finish();
}

criterion_group!(benches, placing, recognising);
criterion_main!(benches);
