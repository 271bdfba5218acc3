//! Why a key went away.
//!
//! A DELETE event does not say. What tells is the key's lease, asked right after: a lease
//! that lives on means the client deleted its key and kept its session; one that is gone
//! went down with the key, by itself when its time was up and by a revoke when it was not.
//! A client that deletes its key and revokes its lease within one round trip looks like a
//! revoke, because by the time of the question it is one.

use serde::Serialize;

use crate::domain::{Millis, Timestamp};

/// Why a key went away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// Not known yet: its lease is being asked.
    Pending,
    /// The key was deleted and its lease lives on: an unlock.
    Released,
    /// The lease ran out.
    Expired,
    /// The lease was revoked while it had time left.
    Revoked,
    /// The key had no lease and was deleted.
    Deleted,
    /// It cannot be told: the answer never came, or the events of that time were missed.
    Unknown,
}

impl Cause {
    /// The word used in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Released => "released",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
            Self::Deleted => "deleted",
            Self::Unknown => "unknown",
        }
    }
}

/// How long an answer about a vanished key's lease is waited for.
pub const PATIENCE: Millis = Millis(3_000);

/// etcd counts in whole seconds and looks for expired leases twice a second, so a lease may
/// seem to go this much before its time (lessor.go, `leaseRevokeRate` and `Remaining`).
const GRAIN: Millis = Millis(1_500);

/// Tells expired from revoked once the lease is known to be gone: `expected_end` is when it
/// would have run out by the last poll, `gone_at` when its key vanished.
pub fn of_gone_lease(expected_end: Option<Timestamp>, gone_at: Timestamp) -> Cause {
    match expected_end {
        None => Cause::Unknown,
        Some(end) if gone_at >= end - GRAIN => Cause::Expired,
        Some(_) => Cause::Revoked,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_that_goes_at_its_end_expired_and_before_it_was_revoked() {
        let end = Some(Timestamp(100_000));
        assert_eq!(of_gone_lease(end, Timestamp(99_000)), Cause::Expired);
        assert_eq!(of_gone_lease(end, Timestamp(130_000)), Cause::Expired);
        assert_eq!(of_gone_lease(end, Timestamp(90_000)), Cause::Revoked);
        assert_eq!(of_gone_lease(None, Timestamp(90_000)), Cause::Unknown);
    }
}
