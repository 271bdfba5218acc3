//! The calls of recipes as requests to the store, and its answers as theirs.

use std::time::Duration;

use crate::domain::{Key, KeyRange, KeyValue, LeaderKey, LeaseId, Revision};
use crate::mvcc::{
    DeleteRequest, Error, Op, OpResponse, PutRequest, RangeRequest, Request, Response, Store, TxnRequest, queue,
};
use crate::recipe::{Answer, Call, Failure};

/// What of a call has to be agreed on; none when it is a question. `lease` is the id for a
/// lease that is granted.
pub fn write(call: &Call, lease: LeaseId) -> Option<Request> {
    match call {
        Call::Grant { ttl } => Some(Request::Grant { lease, ttl: i64::try_from(ttl.as_secs()).unwrap_or(i64::MAX) }),
        Call::Revoke(lease) => Some(Request::Revoke { lease: *lease }),
        Call::Create { key, value, lease } => {
            let put = PutRequest { key: key.clone(), value: value.clone(), lease: *lease, ..PutRequest::default() };
            let get = RangeRequest { keys_only: true, ..queue::get(key) };
            let (success, failure) = (vec![Op::Put(put)], vec![Op::Range(get)]);
            Some(Request::Txn(TxnRequest { compare: vec![queue::created_at(key, Revision(0))], success, failure }))
        }
        Call::Delete { key, created } | Call::Resign { leader: LeaderKey { key, created, .. } } => {
            Some(Request::Txn(queue::delete_if(key, *created)))
        }
        Call::Put { key, value, lease } => Some(Request::Put(PutRequest {
            key: key.clone(),
            value: value.clone(),
            lease: *lease,
            ..PutRequest::default()
        })),
        Call::Update { key, created, value, lease }
        | Call::Proclaim { leader: LeaderKey { key, created, lease, .. }, value } => {
            Some(Request::Txn(queue::put_if(key, *created, value.clone(), *lease)))
        }
        Call::Unlock { key } => Some(Request::Delete(DeleteRequest { range: KeyRange::single(key), prev_kv: false })),
        Call::KeepAlive(_) | Call::Look { .. } | Call::List { .. } | Call::Lock { .. } | Call::Campaign { .. } => None,
    }
}

/// The answer to a call that was agreed on.
pub fn answer(call: &Call, response: Result<Response, Error>) -> Result<Answer, Failure> {
    let response = response.map_err(|error| match error {
        Error::LeaseNotFound => Failure::LeaseGone,
        _ => Failure::Refused,
    })?;
    match (call, response) {
        (_, Response::Grant(granted)) => {
            let ttl = Duration::from_secs(u64::try_from(granted.ttl).unwrap_or(0));
            Ok(Answer::Granted { lease: granted.lease, ttl })
        }
        (_, Response::Revoke(_)) => Ok(Answer::Revoked),
        (Call::Create { lease, .. }, Response::Txn(done)) => {
            let there = done.responses.first().and_then(|response| match response {
                OpResponse::Range(found) => found.kvs.first(),
                _ => None,
            });
            let (created, lease) = there.map_or((done.revision, *lease), |kv| (kv.create_revision, kv.lease));
            Ok(Answer::Created { revision: done.revision, created, lease })
        }
        (Call::Delete { .. } | Call::Resign { .. }, Response::Txn(_)) | (Call::Unlock { .. }, Response::Delete(_)) => {
            Ok(Answer::Deleted)
        }
        // etcd's words for it are "election: not leader".
        (Call::Proclaim { .. }, Response::Txn(done)) if done.succeeded => Ok(Answer::Put(done.revision)),
        (Call::Update { .. }, Response::Txn(done)) => Ok(Answer::Updated(done.succeeded)),
        (Call::Put { .. }, Response::Put(done)) => Ok(Answer::Put(done.revision)),
        _ => Err(Failure::Refused),
    }
}

/// Reads everything in a range of a member's store.
pub fn list(store: &Store, range: &KeyRange) -> Result<Answer, Failure> {
    let found = store.range(&RangeRequest { range: range.clone(), ..RangeRequest::default() });
    let found = found.map_err(|_| Failure::Refused)?;
    Ok(Answer::Listed { revision: found.revision, keys: found.kvs.iter().map(|kv| KeyValue::clone(kv)).collect() })
}

/// Looks at a queue in a member's store.
pub fn look(store: &Store, key: &Key, created: Revision, queue: &Key) -> Result<Answer, Failure> {
    let keys_of = |ask| store.range(&RangeRequest { keys_only: true, ..ask }).map_err(|_| Failure::Refused);
    let own = keys_of(queue::get(key))?;
    let older = keys_of(queue::last_before(KeyRange::prefix(queue), created))?;
    let present = own.kvs.iter().any(|kv| kv.create_revision == created);
    let ahead = older.kvs.first().map(|kv| kv.key.clone());
    Ok(Answer::Looked { revision: own.revision, present, ahead })
}
