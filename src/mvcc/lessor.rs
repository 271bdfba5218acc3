//! How long each lease still lives: a clock that only the leader keeps, in memory.
//!
//! Every member knows every lease and its TTL, because those are agreed on; the time of a lease
//! runs on the leader alone. A new leader knows nothing of what was left and gives every lease
//! its full TTL again, so a lease may live longer than its TTL and never shorter
//! (etcd `lease/lessor.go`). Time is what the caller says it is.
//!
//! ```text
//!             lead                        expired
//!   follower ──────► running ◄─────┐ ───────────────► overdue ──► revoked
//!      ▲                │    renew │                     │  ▲
//!      │                └──────────┘               retry └──┘
//!      └── follow, from anywhere
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::domain::LeaseId;

/// See the module. Times are counted from the cluster's start, on its own clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lessor {
    leads: bool,
    leases: BTreeMap<LeaseId, Clock>,
    /// The leases by when they end, without those that were told to be expired.
    ends: BTreeSet<(Duration, LeaseId)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Clock {
    ttl: Duration,
    /// When the lease ends; it means nothing while following.
    end: Duration,
}

/// Why a lease is not renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenewError {
    /// This member does not lead; the leader has to be asked.
    #[error("not the leader")]
    NotLeader,
    /// There is no such lease.
    #[error("requested lease not found")]
    NotFound,
    /// It is overdue. etcd answers when it is revoked, as for one that does not exist, or tries
    /// again elsewhere when another member leads by then.
    #[error("the lease has expired and is about to be revoked")]
    Expired,
}

impl Lessor {
    /// Begins to keep time: every lease has its full TTL again and `extend` on top, for what
    /// the election took.
    pub fn lead(&mut self, now: Duration, extend: Duration) {
        self.leads = true;
        self.ends.clear();
        for (id, clock) in &mut self.leases {
            clock.end = now.saturating_add(clock.ttl).saturating_add(extend);
            self.ends.insert((clock.end, *id));
        }
    }

    /// Stops keeping time.
    pub fn follow(&mut self) {
        self.leads = false;
        self.ends.clear();
    }

    /// Takes in a lease that the store granted, with the TTL it granted in seconds.
    pub fn granted(&mut self, lease: LeaseId, ttl: i64, now: Duration) {
        let ttl = Duration::from_secs(u64::try_from(ttl).unwrap_or(0));
        let clock = Clock { ttl, end: now.saturating_add(ttl) };
        if let Some(old) = self.leases.insert(lease, clock) {
            self.ends.remove(&(old.end, lease));
        }
        if self.leads {
            self.ends.insert((clock.end, lease));
        }
    }

    /// Knows these leases and no others, each with the TTL granted in seconds: for a member
    /// whose store was restored from a snapshot.
    pub fn restored(&mut self, leases: impl IntoIterator<Item = (LeaseId, i64)>, now: Duration) {
        self.leases.clear();
        self.ends.clear();
        for (lease, ttl) in leases {
            self.granted(lease, ttl, now);
        }
    }

    /// Forgets a lease that the store revoked.
    pub fn revoked(&mut self, lease: LeaseId) {
        if let Some(clock) = self.leases.remove(&lease) {
            self.ends.remove(&(clock.end, lease));
        }
    }

    /// Gives a lease its full TTL again; that TTL.
    ///
    /// # Errors
    /// See [`RenewError`].
    pub fn renew(&mut self, lease: LeaseId, now: Duration) -> Result<Duration, RenewError> {
        if !self.leads {
            return Err(RenewError::NotLeader);
        }
        let clock = self.leases.get_mut(&lease).ok_or(RenewError::NotFound)?;
        if clock.end <= now {
            return Err(RenewError::Expired);
        }
        self.ends.remove(&(clock.end, lease));
        clock.end = now.saturating_add(clock.ttl);
        self.ends.insert((clock.end, lease));
        Ok(clock.ttl)
    }

    /// How long a lease still lives: nothing when it is overdue. `None` when there is no such
    /// lease or this member does not lead.
    pub fn remaining(&self, lease: LeaseId, now: Duration) -> Option<Duration> {
        let clock = self.leases.get(&lease).filter(|_| self.leads)?;
        Some(clock.end.saturating_sub(now))
    }

    /// When the next lease ends that was not told of yet.
    pub fn next_expiry(&self) -> Option<Duration> {
        self.ends.first().map(|(end, _)| *end)
    }

    /// The leases that ended, first those that ended first. Each is told once, to be revoked.
    pub fn expired(&mut self, now: Duration) -> Vec<LeaseId> {
        let mut expired = Vec::new();
        while let Some(&(end, lease)) = self.ends.first()
            && end <= now
        {
            self.ends.pop_first();
            expired.push(lease);
        }
        expired
    }

    /// Tells of an expired lease again: revoking it came to nothing.
    pub fn retry(&mut self, lease: LeaseId) {
        if let Some(clock) = self.leases.get(&lease).filter(|_| self.leads) {
            self.ends.insert((clock.end, lease));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: LeaseId = LeaseId(1);
    const B: LeaseId = LeaseId(2);

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn leader() -> Lessor {
        let mut lessor = Lessor::default();
        lessor.lead(at(0), at(0));
        lessor.granted(A, 10, at(0));
        lessor.granted(B, 5, at(1));
        lessor
    }

    #[test]
    fn a_lease_ends_after_its_ttl_and_is_told_once() {
        let mut lessor = leader();
        assert_eq!(lessor.next_expiry(), Some(at(6)));
        assert_eq!(lessor.remaining(A, at(4)), Some(at(6)));
        assert_eq!(lessor.expired(at(5)), []);
        assert_eq!(lessor.expired(at(20)), [B, A]);
        assert_eq!((lessor.expired(at(21)), lessor.next_expiry()), (vec![], None));
        assert_eq!(lessor.remaining(A, at(21)), Some(at(0)), "overdue, and still there");
        lessor.retry(A);
        assert_eq!(lessor.expired(at(21)), [A]);
        lessor.revoked(A);
        lessor.retry(A);
        assert_eq!((lessor.expired(at(22)), lessor.remaining(A, at(22))), (vec![], None));
    }

    #[test]
    fn a_renewal_sets_the_full_ttl_and_comes_too_late_for_an_overdue_lease() {
        let mut lessor = leader();
        assert_eq!(lessor.renew(A, at(9)), Ok(at(10)));
        assert_eq!(lessor.remaining(A, at(9)), Some(at(10)));
        assert_eq!(lessor.renew(A, at(19)), Err(RenewError::Expired));
        assert_eq!(lessor.renew(LeaseId(3), at(1)), Err(RenewError::NotFound));
        lessor.follow();
        assert_eq!(lessor.renew(A, at(9)), Err(RenewError::NotLeader));
    }

    #[test]
    fn a_restored_store_replaces_every_lease() {
        let mut lessor = leader();
        lessor.restored([(B, 7)], at(2));
        assert_eq!((lessor.remaining(A, at(2)), lessor.next_expiry()), (None, Some(at(9))));
    }

    #[test]
    fn a_new_leader_gives_every_lease_its_full_ttl_again() {
        let mut lessor = leader();
        lessor.expired(at(6));
        lessor.follow();
        assert_eq!((lessor.next_expiry(), lessor.expired(at(100)), lessor.remaining(A, at(7))), (None, vec![], None));
        lessor.granted(LeaseId(3), 1, at(50));
        lessor.lead(at(100), at(1));
        assert_eq!(lessor.expired(at(101)), []);
        assert_eq!(lessor.expired(at(111)), [LeaseId(3), B, A], "the one that was overdue has time again");
    }
}
