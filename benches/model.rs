//! What the model costs: a full read of many keys, and one event among few or many.

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

use lockscope::domain::{Key, KeyEvent, KeyRange, KeyValue, LeaseId, Revision, Timestamp};
use lockscope::event::{Change, Event, LinkState, ListPage, Observation, Stamped};
use lockscope::model::{Facts, Model, Ui};
use lockscope::update::update;

/// Ten keys a lock, as ten clients of the Go recipe leave them.
fn keys(count: i64) -> Vec<KeyValue> {
    let key = |n: i64| {
        let lease = 0x694d_8225_4d00_0000 + n;
        let revision = Revision(n + 2);
        KeyValue {
            key: Key::from(format!("/bench/lock-{:06}/{lease:x}", n / 10).into_bytes()),
            value: Vec::new(),
            create_revision: revision,
            mod_revision: revision,
            version: 1,
            lease: LeaseId(lease),
        }
    };
    (0..count).map(key).collect()
}

fn observe(model: &mut Model, what: Observation) {
    update(model, Event::Observed(Stamped { at: Timestamp(1_000_000), what }));
}

fn read(keys: Vec<KeyValue>) -> Model {
    let mut model = Model::new(Facts::new(200), Ui::default());
    observe(&mut model, Observation::Link(LinkState::Live { endpoint: "http://127.0.0.1:2379".into() }));
    let revision = Revision(1 + i64::try_from(keys.len()).unwrap_or(i64::MAX));
    let range = KeyRange::prefix(b"/bench/");
    observe(&mut model, Observation::Scope(vec![range.clone()]));
    observe(&mut model, Observation::Listed(ListPage { range, revision, keys, first: true, last: true }));
    model
}

fn listing(c: &mut Criterion) {
    let mut group = c.benchmark_group("full read");
    for count in [1_000_i64, 100_000] {
        group.throughput(Throughput::Elements(count.unsigned_abs()));
        group.bench_with_input(BenchmarkId::from_parameter(count), &count, |b, &count| {
            b.iter_batched(|| keys(count), read, BatchSize::LargeInput);
        });
    }
    group.finish();
}

/// One client leaves the middle of the keyspace and comes back: two events.
fn one_event(c: &mut Criterion) {
    let mut group = c.benchmark_group("leave and rejoin");
    for count in [1_000_i64, 100_000] {
        let mut model = read(keys(count));
        let mut kv = keys(count).swap_remove(usize::try_from(count / 2).unwrap_or(0));
        let mut revision = count + 10;
        group.bench_function(BenchmarkId::from_parameter(count), |b| {
            b.iter(|| {
                revision += 1;
                let gone = KeyEvent::Delete { key: kv.key.clone(), previous: None };
                observe(&mut model, Observation::Watched(vec![Change { revision: Revision(revision), event: gone }]));
                revision += 1;
                kv.create_revision = Revision(revision);
                kv.mod_revision = Revision(revision);
                let back = KeyEvent::Put(kv.clone());
                observe(&mut model, Observation::Watched(vec![Change { revision: Revision(revision), event: back }]));
            });
        });
    }
    group.finish();
}

criterion_group!(benches, listing, one_event);
criterion_main!(benches);
