//! Leases are renewed on streams that stay open, one for each lease, as real clients do it.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use etcd_client::{LeaseClient, LeaseKeepAliveStream, LeaseKeeper};
use tokio::time::Instant;

use crate::domain::LeaseId;

/// The streams of one connection on which nothing is asked right now.
///
/// Whoever renews a lease takes its stream out and puts it back with the answer. When the caller
/// goes away before that, the stream ends with it: an answer that nobody took would be taken for
/// that to the next question, and a lease for renewed later than it was.
#[derive(Default)]
pub(super) struct Keepers {
    idle: Mutex<BTreeMap<LeaseId, Keeper>>,
}

/// A stream on which a lease was renewed.
pub(super) struct Keeper {
    ask: LeaseKeeper,
    answers: LeaseKeepAliveStream,
    /// When the lease has run out, unless it was renewed since by somebody else.
    until: Instant,
}

impl Keepers {
    /// The stream of this lease, if there is one.
    pub fn take(&self, lease: LeaseId) -> Option<Keeper> {
        self.idle().remove(&lease)
    }

    /// Keeps a stream for the next time, and those of leases that nobody renewed no longer.
    pub fn put(&self, lease: LeaseId, keeper: Keeper) {
        let now = Instant::now();
        let mut idle = self.idle();
        idle.retain(|_, keeper| keeper.until > now);
        idle.insert(lease, keeper);
    }

    fn idle(&self) -> MutexGuard<'_, BTreeMap<LeaseId, Keeper>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Keeper {
    /// Renews a lease on its stream, or on a new one; none when the lease is gone.
    ///
    /// # Errors
    /// When the member does not answer on a new stream. That an old one is broken says nothing of
    /// the member, which may have been started again since.
    pub async fn renew(
        before: Option<Self>,
        mut client: LeaseClient,
        lease: LeaseId,
    ) -> Result<Option<Self>, etcd_client::Error> {
        if let Some(Self { mut ask, mut answers, .. }) = before
            && ask.keep_alive().await.is_ok()
            && let Ok(Some(answer)) = answers.message().await
        {
            return Ok(lasting(answer.ttl()).map(|until| Self { ask, answers, until }));
        }
        match client.keep_alive(lease.0).await {
            // What the first answer said is not told: the lease was there.
            Ok((ask, answers)) => Ok(Some(Self { ask, answers, until: Instant::now() + FIRST })),
            // What etcd-client makes of a TTL of 0, which is how etcd says "gone".
            Err(etcd_client::Error::LeaseKeepAliveError(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// How long a stream is kept before anything is known of its lease's length.
const FIRST: Duration = Duration::from_mins(1);

/// Until when a lease lasts that was renewed for so many seconds now; none when it is gone.
fn lasting(ttl: i64) -> Option<Instant> {
    let ttl = u64::try_from(ttl).ok().filter(|ttl| *ttl > 0)?;
    Some(Instant::now() + Duration::from_secs(ttl.min(FARTHEST)))
}

/// The longest that is counted, in seconds.
const FARTHEST: u64 = 24 * 60 * 60;
