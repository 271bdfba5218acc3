//! Sends a write once, and sorts what the answer says of it.

use crate::domain::escape::escape;
use crate::domain::write::{Write, WriteResult};
use crate::domain::{AlarmKind, KeyRange, Revision};
use crate::port::{Client, Compare, Delete, Etcd, Op, OpDone, Operand, Ordering, PortError, Range, Txn, Want};

/// What is known once a write was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// The cluster says that it is done, at this revision; 0 where the call does not tell.
    Acknowledged(Revision),
    /// It is certain that nothing was done, and why.
    Ended(WriteResult),
    /// Nobody can say: it may have been done, or be done yet. What went wrong, as one line.
    Lost(String),
}

/// Sends the write. It is never sent again from here.
pub(super) async fn send(client: &Client, write: &Write) -> Sent {
    let answer = match write {
        Write::MoveLeader { to } => client.move_leader(*to).await.map(|()| Sent::Acknowledged(Revision(0))),
        Write::Disarm(AlarmKind::Other(number)) => {
            let why = format!("alarm {number} is none that this version knows; use etcdctl alarm disarm");
            return Sent::Ended(WriteResult::NotSent { why });
        }
        Write::Disarm(kind) => return disarm(client, write, *kind).await,
        Write::Revoke { .. } | Write::Release { .. } => keys(client, write).await,
    };
    answer.unwrap_or_else(|error| sort(write, &error))
}

/// Disarms the alarms of a kind, one member after the other: etcd takes no more at a time.
async fn disarm(client: &Client, write: &Write, kind: AlarmKind) -> Sent {
    let raised = match client.alarms().await {
        Ok(alarms) => alarms.into_iter().filter(|alarm| alarm.kind == kind),
        Err(error) => return Sent::Ended(WriteResult::NotSent { why: right(write, &error) }),
    };
    let mut some_are_done = false;
    for alarm in raised {
        match client.disarm(alarm).await {
            Ok(()) => some_are_done = true,
            Err(error) if some_are_done => return Sent::Lost(error.to_string()),
            Err(error) => return sort(write, &error),
        }
    }
    Sent::Acknowledged(Revision(0))
}

pub(super) async fn keys(etcd: &impl Etcd, write: &Write) -> Result<Sent, PortError> {
    match write {
        Write::Revoke { lease } => Ok(Sent::Acknowledged(etcd.revoke(*lease).await?.revision)),
        Write::Release { key, create_revision, .. } => {
            let single = KeyRange::single(key);
            let read = Range { want: Want::Keys, ..Range::of(single.clone()) };
            let done = etcd
                .txn(Txn {
                    when: vec![Compare {
                        key: key.clone(),
                        is: Ordering::Equal,
                        to: Operand::Create(*create_revision),
                    }],
                    then: vec![Op::Delete(Delete { range: single })],
                    or_else: vec![Op::Range(read)],
                })
                .await?;
            if done.succeeded {
                return Ok(Sent::Acknowledged(done.header.revision));
            }
            let there = done.answers.into_iter().find_map(|answer| match answer {
                OpDone::Range(page) => page.keys.into_iter().next(),
                OpDone::Put(_) | OpDone::Delete(_) => None,
            });
            Ok(Sent::Ended(match there {
                Some(kv) => WriteResult::Changed { now: vec![(kv.key, kv.create_revision)] },
                None => WriteResult::Gone,
            }))
        }
        Write::MoveLeader { .. } | Write::Disarm(_) => Ok(Sent::Acknowledged(Revision(0))),
    }
}

/// Whether sending it twice does no more than sending it once: its own comparison guards it.
pub(super) const fn may_be_repeated(write: &Write) -> bool {
    matches!(write, Write::Release { .. })
}

/// What an error says about whether anything was done. Only what etcd answers before it proposes
/// or applies the request is a refusal; of all else nobody knows.
fn sort(write: &Write, error: &PortError) -> Sent {
    let refused = || Sent::Ended(WriteResult::Refused { why: right(write, error) });
    match error {
        PortError::BadEndpoint { .. }
        | PortError::Denied { .. }
        | PortError::Unauthenticated { .. }
        | PortError::AuthFailed { .. }
        | PortError::NoSpace { .. } => refused(),
        PortError::Other { message, .. } if message.contains("requested lease not found") => {
            Sent::Ended(WriteResult::Gone)
        }
        PortError::Other { code, message, .. } => {
            let by_code = ["NotFound", "InvalidArgument", "FailedPrecondition", "AlreadyExists", "Unimplemented"];
            let by_text = ["too many requests", "not supported for learner"];
            if by_code.contains(&code.as_str()) || by_text.iter().any(|text| message.contains(text)) {
                refused()
            } else {
                Sent::Lost(error.to_string())
            }
        }
        PortError::Unreachable { .. }
        | PortError::Deadline { .. }
        | PortError::Compacted { .. }
        | PortError::NoLeader { .. }
        | PortError::TooLarge { .. }
        | PortError::NotEtcd { .. }
        | PortError::Tls { .. } => Sent::Lost(error.to_string()),
    }
}

/// An error in words, with the right that is missing when it is one.
pub(super) fn right(write: &Write, error: &PortError) -> String {
    let PortError::Denied { .. } = error else { return error.to_string() };
    let needed = match write {
        Write::Revoke { .. } => {
            "a role that may read and write every key of the lease: etcdctl role grant-permission ROLE readwrite KEY"
                .into()
        }
        Write::Release { key, .. } => format!(
            "a role that may read and write the key: etcdctl role grant-permission ROLE readwrite '{}'",
            escape(key)
        ),
        Write::MoveLeader { .. } | Write::Disarm(_) => "the role root".into(),
    };
    format!("{error}; it takes {needed}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::LeaseId;

    const REVOKE: Write = Write::Revoke { lease: LeaseId(0xa1) };

    fn other(code: &str, message: &str) -> PortError {
        let (doing, endpoint) = ("revoke lease a1".into(), "http://one:2379".into());
        PortError::Other { doing, endpoint, code: code.into(), message: message.into() }
    }

    #[test]
    fn only_what_etcd_says_before_it_does_anything_is_a_refusal() {
        for error in [
            other("FailedPrecondition", "etcdserver: not leader"),
            other("InvalidArgument", "etcdserver: bad leader transferee"),
            other("ResourceExhausted", "etcdserver: too many requests"),
            PortError::NoSpace { doing: "revoke".into() },
        ] {
            assert!(matches!(sort(&REVOKE, &error), Sent::Ended(WriteResult::Refused { .. })), "{error}");
        }
    }

    #[test]
    fn what_may_have_been_done_is_never_called_a_refusal() {
        let (doing, endpoint) = (String::from("revoke lease a1"), String::from("http://one:2379"));
        for error in [
            other("Unavailable", "etcdserver: request timed out"),
            other("Unavailable", "etcdserver: request timed out, possibly due to previous leader failure"),
            other("Unavailable", "etcdserver: server stopped"),
            other("DeadlineExceeded", "context deadline exceeded"),
            other("Unknown", "raft proposal dropped"),
            other("Canceled", "context canceled"),
            PortError::Deadline { doing: doing.clone(), endpoint: endpoint.clone(), after: Duration::ZERO },
            PortError::NoLeader { doing, endpoint: endpoint.clone() },
            PortError::Unreachable { endpoint, why: "connection reset".into() },
        ] {
            assert!(matches!(sort(&REVOKE, &error), Sent::Lost(_)), "{error}");
        }
    }

    #[test]
    fn a_lease_that_is_not_found_is_gone() {
        let error = other("NotFound", "etcdserver: requested lease not found");
        assert_eq!(sort(&REVOKE, &error), Sent::Ended(WriteResult::Gone));
    }

    #[test]
    fn a_missing_right_is_named_with_what_gives_it() {
        let denied = PortError::Denied { doing: "run a transaction".into(), user: "ann".into(), why: "denied".into() };
        let write = Write::Release { lock: "/q".into(), key: "/q/\x1b1".into(), create_revision: Revision(3) };
        let said = right(&write, &denied);
        assert!(said.contains("ann") && said.contains(r"readwrite '/q/\x1b1'"), "{said}");
    }
}
