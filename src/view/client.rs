//! What a client is called on a screen.
//!
//! Clients have no names in etcd: the lease's last digits tell them apart, as many as it takes,
//! and a value may name a host. Whoever has no lease is called by the last part of its key.

use std::borrow::Cow;

use crate::domain::LeaseId;
use crate::domain::key::split_last;
use crate::layout::looks_like_digest;
use crate::model::KeyView;

use super::text::{Cut, fit_bytes};

/// The digits of a short name where few clients are to be told apart.
pub const FEW: usize = 4;

/// The columns of the short name of who has no lease.
const WITHOUT: usize = 8;

/// The lease's last digits, as many as tell the known leases apart (`digits`, see
/// [`Leases::digits`](crate::model::lease::Leases::digits)), or a few characters of the key's last part.
pub fn short(digits: usize, lease: LeaseId, key: &[u8]) -> Cow<'_, str> {
    if lease.is_none() {
        let (_, last) = split_last(key);
        // Named by a lease that it lost: as of any lease the last digits tell it apart.
        if looks_like_digest(key) {
            let tail = &last[last.len().saturating_sub(digits.max(WITHOUT))..];
            return fit_bytes(tail, tail.len(), Cut::End, "");
        }
        return fit_bytes(last, WITHOUT, Cut::End, "");
    }
    let whole = lease.to_string();
    // A sign is no digit: it is seen where all of them are, and two that differ by it alone are told apart.
    let hex = whole.trim_start_matches('-');
    match hex.len().checked_sub(digits) {
        None | Some(0) => Cow::Owned(whole),
        Some(cut) => Cow::Owned(hex[cut..].to_owned()),
    }
}

/// The name a value gives its client, if it gives one.
pub fn named(key: &KeyView<'_>) -> Option<String> {
    key.owner()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_called_by_its_last_digits_and_a_key_without_one_by_its_last_part() {
        let lease = LeaseId(0x694d_8225_4d5f_a305);
        assert_eq!(short(4, lease, b"/jobs/a/694d82254d5fa305"), "a305");
        assert_eq!(short(8, lease, b"/jobs/a/694d82254d5fa305"), "4d5fa305");
        assert_eq!(short(16, lease, b"/jobs/a/694d82254d5fa305"), "694d82254d5fa305");
        assert_eq!(short(4, LeaseId(0x0a), b"/jobs/a/a"), "a");
        assert_eq!(short(4, LeaseId(-0x17fab), b"x"), "7fab");
        assert_eq!(short(4, LeaseId(-0x7fab), b"x"), "-7fab");
        assert_eq!(short(16, LeaseId(-0x694d_8225_4d5f_a305), b"x"), "-694d82254d5fa305");
        assert_eq!(short(4, LeaseId::NONE, b"/jobs/a/README.md"), "README.m");
        assert_eq!(short(4, LeaseId::NONE, b"/jobs/a/694d82254d5fa305"), "4d5fa305");
        assert_eq!(short(4, LeaseId::NONE, b"/jobs/a/\x1b"), "\\x1b");
    }
}
