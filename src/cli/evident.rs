//! Findings that one look at a lock shows, as codes for `ls` and `show`.
//!
//! Only what follows from the facts of this one lock is here; what needs time, other locks
//! or a reason is a diagnosis and no part of a list.

use crate::layout::Layout;
use crate::model::{LockView, Renewal, TtlState};

/// The codes that apply to a lock, the gravest first.
pub fn findings(lock: LockView<'_>) -> Vec<&'static str> {
    let layout = lock.layout();
    let etcd_leases = matches!(layout, Layout::Queue | Layout::Election | Layout::RwLock | Layout::SingleKey);
    if !etcd_leases {
        return if layout == Layout::KubernetesLease { vec!["kubernetes-lease"] } else { Vec::new() };
    }
    let holder = lock.holder();
    let rules = [
        // Nothing frees it by itself.
        ("holder-without-lease", lock.holders().any(|key| key.lease().is_none())),
        ("lease-overdue", holder.is_some_and(|key| matches!(key.ttl(), TtlState::Overdue { .. }))),
        // A put without a lease took the lease off a key that had one.
        ("detached-lease", lock.has_detached()),
        // Every key under a queue's name queues.
        ("foreign-key", lock.has_foreign()),
        ("holder-not-renewing", holder.is_some_and(|key| matches!(key.renewal(), Renewal::NotRenewed { .. }))),
        // A client that sorts by mod_revision sees another holder. Candidates of an election
        // rewrite their values by design.
        (
            "rewritten-holder",
            matches!(layout, Layout::Queue | Layout::RwLock)
                && holder.is_some_and(|holder| {
                    let (written, created) = (holder.entry().mod_revision, holder.token());
                    written > created && lock.waiters().any(|waiter| waiter.key.entry().mod_revision < written)
                }),
        ),
        // Who waits leaves no trace, and nobody has a turn.
        ("single-key-lock", layout == Layout::SingleKey),
    ];
    rules.into_iter().filter(|(_, applies)| *applies).map(|(code, _)| code).collect()
}
