//! What a client is called on a screen.
//!
//! Clients have no names in etcd: the lease's last digits tell them apart, and a value may
//! name a host. Whoever has no lease is called by the last part of its key.

use std::borrow::Cow;

use crate::domain::LeaseId;
use crate::domain::key::split_last;
use crate::model::KeyView;

use super::text::{Cut, fit_bytes};

/// The columns of a client's short name.
const SHORT: usize = 4;

/// The lease's last four digits, or a few characters of the key's last part.
pub fn short(lease: LeaseId, key: &[u8]) -> Cow<'_, str> {
    if lease.is_none() {
        let (_, last) = split_last(key);
        return fit_bytes(last, 2 * SHORT, Cut::End, "");
    }
    let hex = lease.to_string();
    Cow::Owned(hex[hex.len().saturating_sub(SHORT)..].to_owned())
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
        assert_eq!(short(LeaseId(0x694d_8225_4d5f_a305), b"/jobs/a/694d82254d5fa305"), "a305");
        assert_eq!(short(LeaseId(0x0a), b"/jobs/a/a"), "a");
        assert_eq!(short(LeaseId(-0x7fab), b"x"), "7fab");
        assert_eq!(short(LeaseId::NONE, b"/jobs/a/README.md"), "README.m");
        assert_eq!(short(LeaseId::NONE, b"/jobs/a/\x1b"), "\\x1b");
    }
}
