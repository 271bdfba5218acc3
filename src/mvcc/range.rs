//! Reading a range: filters, order, limit (etcd `apply.go`, `Range`).

use std::cmp::Ordering;
use std::sync::Arc;

use crate::domain::{KeyValue, Revision};

use super::{Error, RangeRequest, RangeResponse, SortOrder, SortTarget, Store};

impl Store {
    /// Reads a range at any revision that is not compacted. It changes nothing.
    ///
    /// # Errors
    /// [`Error::FutureRevision`] and [`Error::Compacted`]; what [`RangeRequest::check`] refuses
    /// is not looked at again.
    pub fn range(&self, ask: &RangeRequest) -> Result<RangeResponse, Error> {
        self.range_seen(ask, self.revision)
    }

    /// Reads a range as someone does who sees the changes up to `current`.
    pub(super) fn range_seen(&self, ask: &RangeRequest, current: Revision) -> Result<RangeResponse, Error> {
        if ask.revision > current {
            return Err(Error::FutureRevision);
        }
        let revision = if ask.revision.0 > 0 { ask.revision } else { current };
        if revision < self.compacted {
            return Err(Error::Compacted);
        }
        let mut found = self.index.range(&ask.range, revision);
        if ask.count_only {
            return Ok(RangeResponse { revision: current, count: count(found), ..RangeResponse::default() });
        }
        let limit = usize::try_from(ask.limit).ok().filter(|limit| *limit > 0).unwrap_or(usize::MAX);
        let filter = Filter::of(ask);
        let (mut kvs, count) = if ask.sort_order == SortOrder::None && filter.passes_all() {
            // One more than the limit tells whether there is more; the rest is only counted. So
            // a target without an order sorts no more than these.
            let kvs: Vec<_> = found.by_ref().take(limit.saturating_add(1)).cloned().collect();
            let count = length(kvs.len()) + count(found);
            (kvs, count)
        } else {
            let mut count = 0;
            let kvs = found.inspect(|_| count += 1).filter(|kv| filter.passes(kv)).cloned().collect();
            (kvs, count)
        };
        if let Some(compare) = order(ask) {
            kvs.sort_by(|a, b| compare(a, b));
        }
        let more = kvs.len() > limit;
        kvs.truncate(limit);
        if ask.keys_only {
            for kv in &mut kvs {
                *kv = Arc::new(without_value(kv));
            }
        }
        Ok(RangeResponse { revision: current, kvs, more, count })
    }
}

/// The bounds on a key's revisions; 0 bounds nothing.
struct Filter {
    modified: (Revision, Revision),
    created: (Revision, Revision),
}

impl Filter {
    fn of(ask: &RangeRequest) -> Self {
        Self {
            modified: (ask.min_mod_revision, ask.max_mod_revision),
            created: (ask.min_create_revision, ask.max_create_revision),
        }
    }

    fn passes_all(&self) -> bool {
        let none = (Revision(0), Revision(0));
        self.modified == none && self.created == none
    }

    fn passes(&self, kv: &KeyValue) -> bool {
        let within = |value: Revision, (min, max): (Revision, Revision)| {
            (min.0 == 0 || value >= min) && (max.0 == 0 || value <= max)
        };
        within(kv.mod_revision, self.modified) && within(kv.create_revision, self.created)
    }
}

type Compare = fn(&KeyValue, &KeyValue) -> Ordering;

/// How to sort what the index gives in key order; `None` leaves it as it is. Keys that compare
/// the same stay in key order; etcd's sort leaves more than twelve of those in any order.
fn order(ask: &RangeRequest) -> Option<Compare> {
    let descend = ask.sort_order == SortOrder::Descend;
    let compare: Compare = match (ask.sort_target, descend) {
        (SortTarget::Key, false) => return None,
        (SortTarget::Key, true) => |a, b| b.key.cmp(&a.key),
        (SortTarget::Version, false) => |a, b| a.version.cmp(&b.version),
        (SortTarget::Version, true) => |a, b| b.version.cmp(&a.version),
        (SortTarget::Create, false) => |a, b| a.create_revision.cmp(&b.create_revision),
        (SortTarget::Create, true) => |a, b| b.create_revision.cmp(&a.create_revision),
        (SortTarget::Mod, false) => |a, b| a.mod_revision.cmp(&b.mod_revision),
        (SortTarget::Mod, true) => |a, b| b.mod_revision.cmp(&a.mod_revision),
        (SortTarget::Value, false) => |a, b| a.value.cmp(&b.value),
        (SortTarget::Value, true) => |a, b| b.value.cmp(&a.value),
    };
    Some(compare)
}

fn without_value(kv: &KeyValue) -> KeyValue {
    KeyValue { key: kv.key.clone(), value: Vec::new(), ..*kv }
}

fn count<T>(items: impl Iterator<Item = T>) -> i64 {
    length(items.count())
}

fn length(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
