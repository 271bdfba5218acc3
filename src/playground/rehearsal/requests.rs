//! The calls of recipes as requests to the store, and its answers as theirs.

use std::time::Duration;

use crate::domain::{Key, KeyRange, KeyValue, LeaderKey, LeaseId, Revision};
use crate::mvcc::{
    Compare, CompareResult, CompareTarget, DeleteRequest, Error, Op, OpResponse, PutRequest, RangeRequest, Request,
    Response, SortOrder, SortTarget, Store, TxnRequest,
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
            let get = RangeRequest { range: KeyRange::single(key), keys_only: true, ..RangeRequest::default() };
            let (success, failure) = (vec![Op::Put(put)], vec![Op::Range(get)]);
            Some(Request::Txn(TxnRequest { compare: vec![created(key, Revision(0))], success, failure }))
        }
        Call::Delete { key, created: by } => {
            let delete = DeleteRequest { range: KeyRange::single(key), prev_kv: false };
            let (compare, success) = (vec![created(key, *by)], vec![Op::Delete(delete)]);
            Some(Request::Txn(TxnRequest { compare, success, failure: Vec::new() }))
        }
        Call::Put { key, value, lease } => Some(Request::Put(PutRequest {
            key: key.clone(),
            value: value.clone(),
            lease: *lease,
            ..PutRequest::default()
        })),
        Call::Update { key, created: by, value, lease } => {
            let put = PutRequest { key: key.clone(), value: value.clone(), lease: *lease, ..PutRequest::default() };
            let (compare, success) = (vec![created(key, *by)], vec![Op::Put(put)]);
            Some(Request::Txn(TxnRequest { compare, success, failure: Vec::new() }))
        }
        Call::Unlock { key } => Some(Request::Delete(DeleteRequest { range: KeyRange::single(key), prev_kv: false })),
        Call::Proclaim { leader: LeaderKey { key, created, lease, .. }, value } => write(
            &Call::Update { key: key.clone(), created: *created, value: value.clone(), lease: *lease },
            LeaseId::NONE,
        ),
        Call::Resign { leader: LeaderKey { key, created, .. } } => {
            write(&Call::Delete { key: key.clone(), created: *created }, LeaseId::NONE)
        }
        Call::KeepAlive(_)
        | Call::Look { .. }
        | Call::List { .. }
        | Call::Lock { .. }
        | Call::Campaign { .. }
        | Call::Leader { .. } => None,
    }
}

fn created(key: &Key, by: Revision) -> Compare {
    let (range, result) = (KeyRange::single(key), CompareResult::Equal);
    Compare { range, result, target: CompareTarget::Create(by) }
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
    let of = |range| RangeRequest { range, keys_only: true, ..RangeRequest::default() };
    let own = store.range(&of(KeyRange::single(key))).map_err(|_| Failure::Refused)?;
    let older = RangeRequest {
        limit: 1,
        sort_order: SortOrder::Descend,
        sort_target: SortTarget::Create,
        // Of 0 the store makes no bound; nothing is created at -1.
        max_create_revision: Revision(if created.0 > 1 { created.0 - 1 } else { -1 }),
        ..of(KeyRange::prefix(queue))
    };
    let older = store.range(&older).map_err(|_| Failure::Refused)?;
    let present = own.kvs.iter().any(|kv| kv.create_revision == created);
    let ahead = older.kvs.first().map(|kv| kv.key.clone());
    Ok(Answer::Looked { revision: own.revision, present, ahead })
}

/// Reads who leads an election, in a member's store.
pub fn leader(store: &Store, name: &Key) -> Result<Answer, Failure> {
    let first = RangeRequest {
        range: KeyRange::prefix(&[name, &b"/"[..]].concat()),
        limit: 1,
        sort_order: SortOrder::Ascend,
        sort_target: SortTarget::Create,
        ..RangeRequest::default()
    };
    let found = store.range(&first).map_err(|_| Failure::Refused)?;
    Ok(Answer::Leads(found.kvs.first().map(|kv| KeyValue::clone(kv))))
}
