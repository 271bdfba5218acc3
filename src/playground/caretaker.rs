//! What is done to the store by the company and not by its clients: somebody else's revocation of
//! a lease, and tidying up at the end.

use std::time::Duration;

use futures::future::{BoxFuture, FutureExt as _};
use futures::stream::{self, StreamExt as _};
use tokio::time::timeout;
use tracing::debug;

use super::calls;
use super::dial::{Dial, Line};
use super::left::Left;
use crate::domain::{KeyRange, LeaseId};
use crate::port::{PortError, Range, Services};
use crate::recipe::Call;

/// How long one try may take, by the wall's clock.
const TRY: Duration = Duration::from_secs(3);

/// How many tries there are, each on a connection of its own.
const TRIES: usize = 2;

/// How many leases are revoked at once.
const AT_ONCE: usize = 32;

/// Who does it.
pub trait Care: Send + Sync {
    /// Revokes a lease.
    ///
    /// # Errors
    /// In words.
    fn revoke(&self, lease: LeaseId) -> BoxFuture<'_, Result<(), String>>;

    /// Takes away what clients left: their leases, and those of their keys that hang on none.
    /// What cannot be reached in some seconds stays, and is handed back.
    fn tidy(&self, left: Left) -> BoxFuture<'_, Left>;
}

/// Someone with a connection of its own.
#[derive(Clone, Debug)]
pub struct Caretaker<D> {
    dial: D,
    range: KeyRange,
}

impl<D: Dial> Caretaker<D> {
    /// Who looks after the keys in `range`.
    pub const fn new(dial: D, range: KeyRange) -> Self {
        Self { dial, range }
    }

    async fn take_back(&self, left: &mut Left, lost: &mut Option<String>) -> Result<(), String> {
        let Line { etcd, endpoint } = self.dial.dial(lost.as_deref()).await?;
        *lost = Some(endpoint);
        let revoked = |lease: LeaseId| {
            let etcd = &etcd;
            async move { (lease, calls::make(etcd, Call::Revoke(lease)).await) }
        };
        let mut revoking = stream::iter(left.leases.clone()).map(revoked).buffer_unordered(AT_ONCE);
        let mut failed = None;
        while let Some((lease, revoked)) = revoking.next().await {
            match revoked {
                Err(error) if !error.is_lease_gone() => failed = Some(error),
                Ok(_) | Err(_) => left.leases.retain(|left| *left != lease),
            }
        }
        drop(revoking);
        if left.has_keys() {
            self.delete(&etcd, left).await.map_err(|error| error.to_string())?;
        }
        failed.map_or(Ok(()), |error| Err(error.to_string()))
    }

    async fn delete(&self, etcd: &impl Services, left: &Left) -> Result<(), PortError> {
        let there = etcd.range(Range::of(self.range.clone())).await?;
        for kv in there.keys.into_iter().filter(|kv| left.has(kv)) {
            // By its revision: whoever put one of the same name since keeps it.
            calls::make(etcd, Call::Delete { key: kv.key, created: kv.create_revision }).await?;
        }
        Ok(())
    }
}

impl<D: Dial> Care for Caretaker<D> {
    fn revoke(&self, lease: LeaseId) -> BoxFuture<'_, Result<(), String>> {
        let revoked = async move {
            let Line { etcd, .. } = self.dial.dial(None).await?;
            match calls::make(&etcd, Call::Revoke(lease)).await {
                Ok(_) => Ok(()),
                Err(error) if error.is_lease_gone() => Err(format!("lease {lease} is gone already")),
                Err(error) => Err(error.to_string()),
            }
        };
        let in_time = async move {
            timeout(TRY, revoked).await.unwrap_or_else(|_| Err(format!("lease {lease}: no member answers in time")))
        };
        in_time.boxed()
    }

    fn tidy(&self, mut left: Left) -> BoxFuture<'_, Left> {
        let tidied = async move {
            let mut lost = None;
            for _ in 0..TRIES {
                if left.is_nothing() {
                    return left;
                }
                match timeout(TRY, self.take_back(&mut left, &mut lost)).await {
                    Ok(Ok(())) => return Left::default(),
                    Ok(Err(why)) => debug!(%why, "not everything was taken back"),
                    Err(_) => debug!("not everything was taken back in time"),
                }
            }
            left
        };
        tidied.boxed()
    }
}
