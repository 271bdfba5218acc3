//! What an etcd does for clients that let it do their queueing: the Lock and Election services.
//!
//! In etcd these are clients of the other services (`server/etcdserver/api/v3lock`, `v3election`,
//! on `client/v3/concurrency`), so what they queue up are keys like everybody's, and what they
//! refuse has lost its code: it is told by its words.

use std::future::Future;

use super::{Etcd, Header, PortError};
use crate::domain::{Key, KeyValue, LeaderKey, LeaseId};

/// An etcd with these services. A lease of [`LeaseId::NONE`] lets the server grant one of 60 s,
/// which nobody renews; it renews none of the caller's either.
pub trait Services: Etcd {
    /// Takes the lock `name`, and returns the key it is held by. It waits until the turn has
    /// come, without a deadline; dropping it gives the place in the queue up.
    ///
    /// A key whose end is noticed when the turn has come is an error from 3.5 on
    /// ([`PortError::is_lease_gone`]); what older ones say then is no proof of holding.
    fn lock(&self, name: Key, lease: LeaseId) -> impl Future<Output = Result<Key, PortError>> + Send;
    /// Gives a lock back by the key it was answered with; it may be gone already.
    fn unlock(&self, key: Key) -> impl Future<Output = Result<Header, PortError>> + Send;
    /// Stands for the election `name` with `value`. It waits until the election is won, without
    /// a deadline; dropping it gives the candidacy up. etcd does not look whether the own key
    /// has outlived the waiting.
    fn campaign(
        &self,
        name: Key,
        lease: LeaseId,
        value: Vec<u8>,
    ) -> impl Future<Output = Result<LeaderKey, PortError>> + Send;
    /// Says something else as the leader. Who does not lead by this key any more is refused
    /// ([`PortError::is_not_leader`]).
    fn proclaim(&self, leader: LeaderKey, value: Vec<u8>) -> impl Future<Output = Result<Header, PortError>> + Send;
    /// Gives the lead up; it may be gone already.
    fn resign(&self, leader: LeaderKey) -> impl Future<Output = Result<Header, PortError>> + Send;
    /// The key of whoever leads; `None` when nobody does.
    fn leader(&self, name: Key) -> impl Future<Output = Result<Option<KeyValue>, PortError>> + Send;
}

/// etcd `concurrency/election.go`, `ErrElectionNoLeader`.
pub(super) const NO_LEADER: &str = "election: no leader";

/// etcd `concurrency/election.go`, `ErrElectionNotLeader`.
pub(super) const NOT_LEADER: &str = "election: not leader";

/// etcd `concurrency/mutex.go`, `ErrSessionExpired`.
pub(super) const SESSION_EXPIRED: &str = "mutex: session is expired";

/// etcd `rpctypes/error.go`, `ErrGRPCLeaseNotFound`, by the words that all ways to it share.
const LEASE_NOT_FOUND: &str = "requested lease not found";

impl PortError {
    /// Whether it says that the lease it was about is gone, or that the key which hung on it is,
    /// which etcd takes for the same.
    pub fn is_lease_gone(&self) -> bool {
        self.says(LEASE_NOT_FOUND) || self.says(SESSION_EXPIRED)
    }

    /// Whether it says that whoever asked does not lead.
    pub fn is_not_leader(&self) -> bool {
        self.says(NOT_LEADER)
    }

    /// Whether it says that nobody leads.
    pub(super) fn is_no_leader(&self) -> bool {
        self.says(NO_LEADER)
    }

    fn says(&self, words: &str) -> bool {
        matches!(self, Self::Other { message, .. } if message.contains(words))
    }
}
