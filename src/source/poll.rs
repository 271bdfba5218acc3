//! Asks leases how long they live: in one burst, of the leader, some at a time.
//!
//! The leader is the one member that counts a lease's time; another passes the question on,
//! which costs several times as much.

use std::time::Duration;

use futures::StreamExt;
use futures::stream::iter;
use tokio::time::Instant;

use crate::domain::{LeaseId, Millis};
use crate::event::{LeasePollCost, LeaseTtl};
use crate::port::{Client, Etcd, PortError};

/// How many questions are under way at once.
pub(super) const IN_FLIGHT: usize = 16;

/// How long one answer may take: during an election the leader-to-be keeps questions for up
/// to 7 s, and the rest shall not wait for them.
const ANSWER: Duration = Duration::from_secs(1);

/// Asks each of `leases`, in this order, and gives `sink` each answer when it comes.
///
/// An answer that does not come counts as failed; the first failure's reason is returned too.
pub(super) async fn burst(
    client: &Client,
    leases: &[LeaseId],
    with_keys: bool,
    mut sink: impl AsyncFnMut(LeaseTtl),
) -> (LeasePollCost, Option<PortError>) {
    let start = Instant::now();
    let client = client.with_deadline(ANSWER);
    let mut answers = iter(leases.iter().copied())
        .map(|lease| {
            let client = client.clone();
            async move { (lease, client.time_to_live(lease, with_keys).await) }
        })
        .buffer_unordered(IN_FLIGHT);
    let (mut failed, mut why) = (0, None);
    while let Some((lease, answer)) = answers.next().await {
        match answer {
            Ok(told) => {
                sink(LeaseTtl { lease, granted: told.granted, remaining: told.remaining, keys: told.keys }).await;
            }
            Err(error) => {
                failed += 1;
                why.get_or_insert(error);
            }
        }
    }
    let asked = u32::try_from(leases.len()).unwrap_or(u32::MAX);
    let took = Millis(i64::try_from(start.elapsed().as_millis()).unwrap_or(i64::MAX));
    (LeasePollCost { asked, failed, took }, why)
}
