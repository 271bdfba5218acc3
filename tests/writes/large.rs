//! A hundred thousand keys, of which one is stuck.

use std::time::{Duration, Instant};

use etcd_client::{Client, Txn, TxnOp};

use crate::store::{Store, on};
use crate::support::etcd::newest;
use crate::support::running::block_on;

/// Far more than it takes, so that a busy machine does not fail it; a walk that looks at every key
/// for every key would take hours.
const PATIENCE: Duration = Duration::from_secs(45);

#[test]
fn one_stuck_lock_among_a_hundred_thousand_keys_is_released_in_seconds() {
    let Some(version) = newest("writes: a hundred thousand keys") else { return };
    let cluster = version.cluster().start();
    let endpoints = cluster.endpoints();
    block_on(async {
        let client = Client::connect(endpoints, None).await.unwrap();
        client.lease_client().grant(6_000, Some(etcd_client::LeaseGrantOptions::new().with_id(0xbeef))).await.unwrap();
        for block in 0..1_000 {
            let puts: Vec<_> = (0..100)
                .map(|number| {
                    let key = format!("/big/lock-{:05}/beef", block * 100 + number);
                    TxnOp::put(key, "", Some(etcd_client::PutOptions::new().with_lease(0xbeef)))
                })
                .collect();
            client.kv_client().txn(Txn::new().and_then(puts)).await.unwrap();
        }
    });
    let mut store = Store::of(&cluster);
    store.put("/big/stuck/7e055af811b4bb53", "", 0);
    store.join("/big/stuck", 0xc3, 600);
    drop(store);
    for arguments in [&["ls", "/big/"][..], &["release", "/big/stuck", "--yes"], &["revoke", "c3", "--yes"]] {
        let began = now();
        on(&cluster, arguments).run().expect(0);
        let took = began.elapsed();
        println!("{arguments:?}: {took:?}");
        assert!(took < PATIENCE, "{arguments:?} took {took:?}");
    }
    assert_eq!(cluster.told("get --prefix --keys-only /big/stuck").trim(), "");
}

#[expect(clippy::disallowed_methods, reason = "how long a command takes is what is tested")]
fn now() -> Instant {
    Instant::now()
}
