//! Errors as etcd's gRPC codes and texts, because clients match both.
//!
//! The codes are those of etcd's `rpctypes/error.go`; what etcd has no code for goes out as
//! `Unknown`, as its `togRPCError` does.

use tonic::{Code, Status};

use crate::embedded::Refusal;
use crate::mvcc;

/// What a store refuses.
pub(super) fn store(error: mvcc::Error) -> Status {
    Status::new(Code::from_i32(error.code().number()), error.message())
}

/// What the cluster behind the door refuses.
#[expect(clippy::needless_pass_by_value, reason = "it is what an error is mapped with")]
pub(super) fn refusal(refusal: Refusal) -> Status {
    let code = match refusal {
        Refusal::Store(error) => return store(error),
        Refusal::NoLeader
        | Refusal::Timeout
        | Refusal::LeaderLost
        | Refusal::Stopped
        | Refusal::Unhealthy
        | Refusal::NotForLearners => Code::Unavailable,
        Refusal::NotLeader
        | Refusal::BadTransferee
        | Refusal::PeerUrlsExist
        | Refusal::TooManyLearners
        | Refusal::NotLearner
        | Refusal::LearnerNotReady
        | Refusal::NotEnoughStarted => Code::FailedPrecondition,
        Refusal::MemberNotFound => Code::NotFound,
        Refusal::TransferTimeout => Code::Unknown,
    };
    Status::new(code, refusal.to_string())
}

/// A request above the size that etcd takes.
pub(super) fn too_large() -> Status {
    Status::invalid_argument("etcdserver: request is too large")
}

/// A sort order or target that etcd does not know.
pub(super) fn invalid_sort() -> Status {
    Status::invalid_argument("etcdserver: invalid sort option")
}

/// URLs of a new member that are none.
pub(super) fn bad_urls() -> Status {
    Status::invalid_argument("etcdserver: given member URLs are invalid")
}

/// What an answer of the Lock and Election services becomes: these are clients of the others in
/// etcd, and errors lose their code on the way through.
pub(super) fn through_client(status: &Status) -> Status {
    Status::unknown(status.message())
}

/// What this server does not do, and why, in words for whoever asked.
pub(super) fn missing(what: &str) -> Status {
    Status::unimplemented(format!("lockscope: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_has_etcds_text_and_code() {
        for (refused, code, text) in [
            (Refusal::NoLeader, Code::Unavailable, "etcdserver: no leader"),
            (Refusal::Timeout, Code::Unavailable, "etcdserver: request timed out"),
            (Refusal::NotLeader, Code::FailedPrecondition, "etcdserver: not leader"),
            (Refusal::MemberNotFound, Code::NotFound, "etcdserver: member not found"),
            (mvcc::Error::LeaseNotFound.into(), Code::NotFound, "etcdserver: requested lease not found"),
            (mvcc::Error::Compacted.into(), Code::OutOfRange, "etcdserver: mvcc: required revision has been compacted"),
        ] {
            let status = refusal(refused);
            assert_eq!((status.code(), status.message()), (code, text));
        }
    }
}
