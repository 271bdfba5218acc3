//! Between etcd's wire types and the domain: by value, nothing is copied that can be moved.

use etcd_client::proto::{
    PbKeyValue, PbMember, PbRangeRequest, PbResponseHeader, PbStatusResponse, PbWatchRequest, PbWatchRequestUnion,
};
use etcd_client::{CompareOp, DeleteOptions, GetOptions, PutOptions, TxnOp, WatchOptions};

use super::{
    Compare, Delete, Header, Op, Operand, Ordering, Put, Range, SortOrder, SortTarget, Want, WatchId, WatchRange,
};
use crate::domain::{
    AlarmKind, ClusterId, Key, KeyValue, LeaseId, Member, MemberId, Millis, RaftIndex, Revision, Status, Term,
};

pub(super) fn header(header: Option<PbResponseHeader>) -> Header {
    let header = header.unwrap_or_default();
    Header {
        cluster: ClusterId(header.cluster_id),
        member: MemberId(header.member_id),
        revision: Revision(header.revision),
        term: Term(header.raft_term),
    }
}

pub(super) fn key_value(kv: PbKeyValue) -> KeyValue {
    KeyValue {
        key: Key::from(kv.key),
        value: kv.value,
        create_revision: Revision(kv.create_revision),
        mod_revision: Revision(kv.mod_revision),
        version: kv.version,
        lease: LeaseId(kv.lease),
    }
}

pub(super) fn key_values(kvs: Vec<PbKeyValue>) -> Vec<KeyValue> {
    kvs.into_iter().map(key_value).collect()
}

pub(super) fn member(member: PbMember) -> Member {
    Member {
        id: MemberId(member.id),
        name: member.name,
        client_urls: member.client_ur_ls,
        peer_urls: member.peer_ur_ls,
        learner: member.is_learner,
    }
}

pub(super) fn status(answer: PbStatusResponse) -> Status {
    Status {
        endpoint: String::new(),
        version: answer.version,
        leader: (answer.leader != 0).then_some(MemberId(answer.leader)),
        term: Term(answer.raft_term),
        revision: Revision::default(),
        raft_index: RaftIndex(answer.raft_index),
        applied_index: RaftIndex(answer.raft_applied_index),
        db_size: answer.db_size,
        db_in_use: answer.db_size_in_use,
        db_quota: (answer.db_size_quota > 0).then_some(answer.db_size_quota),
        learner: answer.is_learner,
        errors: answer.errors,
        latency: Millis::default(),
    }
}

pub(super) fn alarm_kind(number: i32) -> Option<AlarmKind> {
    match number {
        0 => None,
        1 => Some(AlarmKind::NoSpace),
        2 => Some(AlarmKind::Corrupt),
        other => Some(AlarmKind::Other(other)),
    }
}

/// The number etcd has for an alarm; that of none for one this version does not know.
pub(super) const fn alarm_type(kind: AlarmKind) -> etcd_client::AlarmType {
    match kind {
        AlarmKind::NoSpace => etcd_client::AlarmType::Nospace,
        AlarmKind::Corrupt => etcd_client::AlarmType::Corrupt,
        AlarmKind::Other(_) => etcd_client::AlarmType::None,
    }
}

pub(super) fn range_request(ask: &Range) -> PbRangeRequest {
    let (key, range_end) = (ask.range.start.to_vec(), ask.range.end.to_vec());
    PbRangeRequest { key, range_end, ..range_options(ask).into() }
}

fn range_options(ask: &Range) -> GetOptions {
    let mut options = GetOptions::new()
        .with_range(&*ask.range.end)
        .with_limit(i64::from(ask.limit))
        .with_revision(ask.revision.map_or(0, |revision| revision.0))
        .with_min_create_revision(ask.min_create_revision.unwrap_or_default().0)
        .with_max_create_revision(ask.upper_bound().0);
    if ask.serializable {
        options = options.with_serializable();
    }
    if let Some(sort) = ask.sort {
        options = options.with_sort(sort_target(sort.by), sort_order(sort.order));
    }
    match ask.want {
        Want::All => options,
        Want::Keys => options.with_keys_only(),
        Want::Count => options.with_count_only(),
    }
}

fn sort_target(by: SortTarget) -> etcd_client::SortTarget {
    match by {
        SortTarget::Key => etcd_client::SortTarget::Key,
        SortTarget::Version => etcd_client::SortTarget::Version,
        SortTarget::Create => etcd_client::SortTarget::Create,
        SortTarget::Mod => etcd_client::SortTarget::Mod,
        SortTarget::Value => etcd_client::SortTarget::Value,
    }
}

fn sort_order(order: SortOrder) -> etcd_client::SortOrder {
    match order {
        SortOrder::Ascend => etcd_client::SortOrder::Ascend,
        SortOrder::Descend => etcd_client::SortOrder::Descend,
    }
}

pub(super) fn put_options(put: &Put) -> PutOptions {
    PutOptions::new().with_lease(put.lease.0)
}

pub(super) fn delete_options(delete: &Delete) -> DeleteOptions {
    DeleteOptions::new().with_range(&*delete.range.end)
}

pub(super) fn watch_request(watch: &WatchRange) -> PbWatchRequest {
    let options = WatchOptions::new()
        .with_key(&*watch.range.start)
        .with_watch_id(watch.id.0)
        .with_range(&*watch.range.end)
        .with_prev_key()
        .with_progress_notify()
        .with_start_revision(watch.from.map_or(0, |revision| revision.0));
    options.into()
}

pub(super) fn cancel_request(watch: WatchId) -> PbWatchRequest {
    let mut union = PbWatchRequestUnion::CancelRequest(unset());
    if let PbWatchRequestUnion::CancelRequest(cancel) = &mut union {
        cancel.watch_id = watch.0;
    }
    PbWatchRequest { request_union: Some(union) }
}

pub(super) fn progress_request() -> PbWatchRequest {
    PbWatchRequest { request_union: Some(PbWatchRequestUnion::ProgressRequest(unset())) }
}

/// A message that etcd-client gives no name to.
fn unset<T: Default>() -> T {
    T::default()
}

pub(super) fn compare(compare: Compare) -> etcd_client::Compare {
    let is = match compare.is {
        Ordering::Equal => CompareOp::Equal,
        Ordering::NotEqual => CompareOp::NotEqual,
        Ordering::Less => CompareOp::Less,
        Ordering::Greater => CompareOp::Greater,
    };
    let key = &*compare.key;
    match compare.to {
        Operand::Create(revision) => etcd_client::Compare::create_revision(key, is, revision.0),
        Operand::Mod(revision) => etcd_client::Compare::mod_revision(key, is, revision.0),
        Operand::Version(version) => etcd_client::Compare::version(key, is, version),
        Operand::Value(value) => etcd_client::Compare::value(key, is, value),
        Operand::Lease(lease) => etcd_client::Compare::lease(key, is, lease.0),
    }
}

pub(super) fn operation(op: Op) -> TxnOp {
    match op {
        Op::Range(ask) => TxnOp::get(&*ask.range.start, Some(range_options(&ask))),
        Op::Put(put) => {
            let options = put_options(&put);
            TxnOp::put(&*put.key, put.value, Some(options))
        }
        Op::Delete(delete) => TxnOp::delete(&*delete.range.start, Some(delete_options(&delete))),
    }
}
