//! Compactions while somebody watches.

use lockscope::domain::{KeyRange, Revision};
use lockscope::port::{Etcd, WatchAnswer, WatchId, WatchRange, WatchStream};

use crate::common::{Live, client, delete, join, on_every_real_etcd, put};
use crate::support::proxy::Proxy;

async fn compact(endpoint: &str, revision: Revision) {
    let mut client = etcd_client::Client::connect([endpoint], None).await.unwrap();
    client.compact(revision.0, None).await.unwrap();
}

/// etcd issue 9715: a client that waits by a watch from an old revision is told that it was
/// compacted, not that its predecessor went. That is no event of the predecessor: the queue is
/// to be read again.
#[test]
fn a_watch_below_a_compaction_is_told_the_compaction_and_nothing_else() {
    on_every_real_etcd("a watch below a compaction", async |version| {
        let cluster = version.cluster().start();
        let etcd = client(&cluster.endpoint(0)).await;
        let token = join(&etcd, "/q", 0xa1, 600).await;
        join(&etcd, "/q", 0xb2, 600).await;
        let last = put(&etcd, "/elsewhere", "", 0).await;
        compact(&cluster.endpoint(0), last).await;
        let watch = WatchRange { id: WatchId(1), range: KeyRange::single(b"/q/a1"), from: Some(token.next()) };
        let mut stream = etcd.watch(watch).await.unwrap();
        loop {
            match stream.next().await.unwrap().unwrap() {
                WatchAnswer::Created { .. } => {}
                WatchAnswer::Cancelled { compacted, .. } => {
                    assert_eq!(compacted, Some(last), "{version}");
                    break;
                }
                other => unreachable!("{version}: {other:?}"),
            }
        }
    });
}

/// etcd issue 18089: a watch that is resumed at the very revision of a delete which is compacted
/// at once misses that delete. Whoever lost the connection then must not show the dead holder for
/// ever.
#[test]
fn a_delete_that_is_compacted_before_the_watch_resumes_is_not_missed() {
    on_every_real_etcd("a delete that is compacted before the watch resumes", async |version| {
        let cluster = version.cluster().start();
        let etcd = client(&cluster.endpoint(0)).await;
        join(&etcd, "/q", 0xa1, 600).await;
        join(&etcd, "/q", 0xb2, 600).await;
        let proxy = Proxy::start(cluster.address(0));
        let mut live = Live::watch(&[proxy.endpoint()], "/q/");
        let holder = |facts: &lockscope::model::Facts| {
            facts.lock_named(b"/q").and_then(|lock| lock.holder()).map(|key| key.lease().0)
        };
        live.until("the holder is read", |facts| holder(facts) == Some(0xa1) && facts.link.is_live()).await;
        proxy.cut();
        live.until("the connection is lost", |facts| !facts.link.is_live()).await;
        let gone = delete(&etcd, "/q/a1").await;
        compact(&cluster.endpoint(0), gone).await;
        proxy.open();
        live.until("the next one holds", |facts| holder(facts) == Some(0xb2)).await;
        live.end().await;
    });
}
