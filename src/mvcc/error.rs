//! What a store refuses, in etcd's own words and gRPC codes, because clients match both.
//!
//! The texts are those of etcd's `rpctypes/error.go`. What other parts of a server may refuse
//! (no leader, a timeout) is theirs to say.

use serde::{Deserialize, Serialize};

/// Why a request is refused. It displays as [`Self::message`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
pub enum Error {
    /// No key was given.
    #[error("etcdserver: key is not provided")]
    EmptyKey,
    /// A put with `ignore_value` or `ignore_lease` names a key that does not exist.
    #[error("etcdserver: key not found")]
    KeyNotFound,
    /// A put with `ignore_value` has a value.
    #[error("etcdserver: value is provided")]
    ValueProvided,
    /// A put with `ignore_lease` has a lease.
    #[error("etcdserver: lease is provided")]
    LeaseProvided,
    /// A transaction has more operations than a server takes.
    #[error("etcdserver: too many operations in txn request")]
    TooManyOps,
    /// A transaction puts a key twice, or puts and deletes it.
    #[error("etcdserver: duplicate key given in txn request")]
    DuplicateKey,
    /// The revision is below the compaction.
    #[error("etcdserver: mvcc: required revision has been compacted")]
    Compacted,
    /// The revision is above the store's.
    #[error("etcdserver: mvcc: required revision is a future revision")]
    FutureRevision,
    /// There is no such lease.
    #[error("etcdserver: requested lease not found")]
    LeaseNotFound,
    /// There is a lease with this id already.
    #[error("etcdserver: lease already exists")]
    LeaseExists,
    /// The TTL is longer than etcd grants.
    #[error("etcdserver: too large lease TTL")]
    LeaseTtlTooLarge,
    /// The store has no room for more; the text of the alarm NOSPACE.
    #[error("etcdserver: mvcc: database space exceeded")]
    NoSpace,
}

impl Error {
    /// The text etcd answers with.
    pub fn message(self) -> String {
        self.to_string()
    }

    /// The gRPC code etcd answers with.
    pub const fn code(self) -> Code {
        match self {
            Self::EmptyKey
            | Self::KeyNotFound
            | Self::ValueProvided
            | Self::LeaseProvided
            | Self::TooManyOps
            | Self::DuplicateKey => Code::InvalidArgument,
            Self::Compacted | Self::FutureRevision | Self::LeaseTtlTooLarge => Code::OutOfRange,
            Self::LeaseNotFound => Code::NotFound,
            Self::LeaseExists => Code::FailedPrecondition,
            Self::NoSpace => Code::ResourceExhausted,
        }
    }
}

/// The gRPC codes a store answers with; the discriminants are gRPC's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(i32)]
pub enum Code {
    /// The request makes no sense, whatever the store holds.
    InvalidArgument = 3,
    /// What is named is not there.
    NotFound = 5,
    /// Something is used up.
    ResourceExhausted = 8,
    /// The store is not in a state for it.
    FailedPrecondition = 9,
    /// A number is outside of what can be.
    OutOfRange = 11,
}

impl Code {
    /// gRPC's number for it.
    pub const fn number(self) -> i32 {
        self as i32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_has_grpcs_number() {
        let numbers = [Error::EmptyKey, Error::LeaseNotFound, Error::NoSpace, Error::LeaseExists, Error::Compacted];
        assert_eq!(numbers.map(|error| error.code().number()), [3, 5, 8, 9, 11]);
    }
}
