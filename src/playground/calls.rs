//! The calls of recipes, made through the port.

use std::time::Duration;

use crate::domain::{Key, KeyRange, LeaseId, Revision};
use crate::port::{
    Compare, Delete, Op, OpDone, Operand, Ordering, Page, PortError, Put, Range, Services, Txn, TxnDone, Want,
};
use crate::recipe::{Answer, Call};

/// Makes a call and waits for its answer.
///
/// # Errors
/// What the port says. What that means to a client is the recipe's to know.
pub async fn make(etcd: &impl Services, call: Call) -> Result<Answer, PortError> {
    match call {
        Call::Grant { ttl } => {
            let seconds = i64::try_from(ttl.as_secs()).unwrap_or(i64::MAX);
            let granted = etcd.grant(LeaseId::NONE, seconds).await?;
            let ttl = Duration::from_secs(u64::try_from(granted.ttl).unwrap_or(0));
            Ok(Answer::Granted { lease: granted.lease, ttl })
        }
        Call::KeepAlive(lease) => etcd.keep_alive(lease).await.map(Answer::Renewed),
        Call::Revoke(lease) => etcd.revoke(lease).await.map(|_| Answer::Revoked),
        Call::Create { key, value, lease } => {
            let when = vec![created(&key, Revision(0))];
            let or_else = vec![Op::Range(Range { want: Want::Keys, ..Range::of(KeyRange::single(&key)) })];
            let then = vec![Op::Put(Put { key, value, lease })];
            let done = etcd.txn(Txn { when, then, or_else }).await?;
            Ok(what_is_there(&done, lease))
        }
        Call::Look { key, created, queue } => {
            let keys_of = |ask| Op::Range(Range { want: Want::Keys, ..ask });
            let own = Range::of(KeyRange::single(&key));
            let ahead = Range::last_created_before(KeyRange::prefix(&queue), created);
            let then = vec![keys_of(own), keys_of(ahead)];
            let done = etcd.txn(Txn { then, ..Txn::default() }).await?;
            Ok(looked(&done, &key, created))
        }
        Call::Delete { key, created: by } => {
            let when = vec![created(&key, by)];
            let then = vec![Op::Delete(Delete { range: KeyRange::single(&key) })];
            etcd.txn(Txn { when, then, ..Txn::default() }).await.map(|_| Answer::Deleted)
        }
        Call::Put { key, value, lease } => {
            etcd.put(Put { key, value, lease }).await.map(|done| Answer::Put(done.header.revision))
        }
        Call::Update { key, created: by, value, lease } => {
            let when = vec![created(&key, by)];
            let then = vec![Op::Put(Put { key, value, lease })];
            etcd.txn(Txn { when, then, ..Txn::default() }).await.map(|done| Answer::Updated(done.succeeded))
        }
        Call::List { range } => {
            let page = etcd.range(Range::of(range)).await?;
            Ok(Answer::Listed { revision: page.header.revision, keys: page.keys })
        }
        Call::Lock { name, lease } => etcd.lock(name, lease).await.map(|key| Answer::Locked { key }),
        Call::Unlock { key } => etcd.unlock(key).await.map(|_| Answer::Deleted),
        Call::Campaign { name, lease, value } => etcd.campaign(name, lease, value).await.map(Answer::Elected),
        Call::Proclaim { leader, value } => etcd.proclaim(leader, value).await.map(|done| Answer::Put(done.revision)),
        Call::Resign { leader } => etcd.resign(leader).await.map(|_| Answer::Deleted),
    }
}

/// Whether an error says no: asking again elsewhere would not help.
pub fn is_refusal(error: &PortError) -> bool {
    let is_denied = matches!(
        error,
        PortError::Denied { .. }
            | PortError::Unauthenticated { .. }
            | PortError::AuthFailed { .. }
            | PortError::NoSpace { .. }
            | PortError::TooLarge { .. }
    );
    is_denied || error.is_not_leader()
}

fn created(key: &Key, by: Revision) -> Compare {
    Compare { key: key.clone(), is: Ordering::Equal, to: Operand::Create(by) }
}

fn what_is_there(done: &TxnDone, lease: LeaseId) -> Answer {
    let revision = done.header.revision;
    match done.answers.first().and_then(|answer| page(answer)?.keys.first()) {
        Some(there) => Answer::Created { revision, created: there.create_revision, lease: there.lease },
        None => Answer::Created { revision, created: revision, lease },
    }
}

fn looked(done: &TxnDone, key: &Key, created: Revision) -> Answer {
    let keys = |at: usize| done.answers.get(at).and_then(page).map_or(&[][..], |page| &page.keys);
    let present = keys(0).iter().any(|kv| kv.key == *key && kv.create_revision == created);
    let ahead = keys(1).first().map(|kv| kv.key.clone());
    Answer::Looked { revision: done.header.revision, present, ahead }
}

const fn page(answer: &OpDone) -> Option<&Page> {
    match answer {
        OpDone::Range(page) => Some(page),
        OpDone::Put(_) | OpDone::Delete(_) => None,
    }
}
