//! However etcd delivers a history, the model ends where a fresh read ends.

use lockscope::domain::Revision;
use lockscope::event::{Change, Observation, WatchLoss};
use proptest::prelude::*;

use crate::store::{Bench, Step, Store, picture};

/// Names that share locks, folders and prefixes, so that steps meet each other.
fn key() -> impl Strategy<Value = (String, i64)> {
    let lease = 0..6_i64;
    (0..8_usize, lease).prop_map(|(kind, lease)| {
        let id = lease + 16;
        let key = match kind {
            0 | 1 => format!("/q/a/{id:x}"),
            2 => format!("/q/a/b/{id:x}"),
            3 => format!("/rw/read/179597206946404{id:04}"),
            4 => format!("/rw/write/179597206946404{id:04}"),
            5 => "/cron/lock".to_owned(),
            6 => format!("/svc/node-{id}"),
            _ => "/q/a/README".to_owned(),
        };
        // Now and then a put forgets the lease, or there never was one.
        (key, if kind == 7 || lease == 0 { 0 } else { id })
    })
}

pub fn step() -> impl Strategy<Value = Step> {
    let value =
        prop_oneof![3 => Just(String::new()), 1 => Just("host-a".to_owned()), 1 => Just("{\"a\":1}".to_owned())];
    prop_oneof![
        3 => (key(), value).prop_map(|((key, lease), value)| Step::Put { key, value, lease }),
        2 => prop::collection::vec(key(), 1..4).prop_map(|keys| {
            let mut keys: Vec<String> = keys.into_iter().map(|(key, _)| key).collect();
            keys.sort();
            keys.dedup();
            Step::Delete(keys)
        }),
    ]
}

/// Cuts changes into batches without splitting a revision.
fn batches(changes: Vec<Change>, size: usize) -> Vec<Vec<Change>> {
    let mut batches: Vec<Vec<Change>> = Vec::new();
    for change in changes {
        match batches.last_mut() {
            Some(batch) if batch.len() < size || batch.last().is_some_and(|last| last.revision == change.revision) => {
                batch.push(change);
            }
            _ => batches.push(vec![change]),
        }
    }
    batches
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn read_then_watched_equals_read_at_the_end(
        before in prop::collection::vec(step(), 0..30),
        after in prop::collection::vec(step(), 0..60),
        size in 1..9_usize,
        overlap in 0..5_usize,
    ) {
        let mut store = Store::new();
        for step in &before {
            store.apply(step);
        }
        let read_at = store.revision;
        let mut bench = Bench::reading(&store);
        for step in &after {
            store.apply(step);
        }
        // A watch opened before the read shows some of what the read has.
        let from = read_at - i64::try_from(overlap).unwrap();
        for batch in batches(store.changes_after(from), size) {
            bench.now += 10;
            bench.observe(Observation::Watched(batch));
            bench.tick(10);
        }
        prop_assert_eq!(picture(bench.facts()), picture(Bench::reading(&store).facts()));
    }

    #[test]
    fn a_read_after_a_loss_equals_a_fresh_read(
        before in prop::collection::vec(step(), 0..30),
        lost in prop::collection::vec(step(), 0..40),
        after in prop::collection::vec(step(), 0..20),
    ) {
        let mut store = Store::new();
        for step in &before {
            store.apply(step);
        }
        let mut bench = Bench::reading(&store);
        for step in &lost {
            store.apply(step);
        }
        bench.observe(Observation::WatchLost(WatchLoss::Compacted { at: Revision(store.revision) }));
        bench.read(&store);
        prop_assert_eq!(picture(bench.facts()), picture(Bench::reading(&store).facts()));
        for step in &after {
            store.apply(step);
        }
        bench.watch(&store);
        prop_assert_eq!(picture(bench.facts()), picture(Bench::reading(&store).facts()));
    }
}
