//! Questions for a range of keys, and their answers.

use super::Header;
use crate::domain::{KeyRange, KeyValue, Revision};

/// A question for a range of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// The range.
    pub range: KeyRange,
    /// The revision to read at; `None` is now.
    pub revision: Option<Revision>,
    /// How many keys at most; 0 is all.
    pub limit: u32,
    /// What of them.
    pub want: Want,
    /// Whether the member may answer from what it has, without asking the quorum.
    pub serializable: bool,
    /// The order to answer in; `None` is that of the keys. The limit cuts what was sorted.
    pub sort: Option<Sort>,
    /// Leaves out what was created before this revision; the count stays that of the whole range.
    pub min_create_revision: Option<Revision>,
    /// Leaves out what was created after this revision, so with 0 everything, though on the wire
    /// that is no bound at all; the count stays that of the whole range.
    pub max_create_revision: Option<Revision>,
}

/// An order of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sort {
    /// By what.
    pub by: SortTarget,
    /// Which end comes first.
    pub order: SortOrder,
}

/// What keys are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortTarget {
    /// The key.
    Key,
    /// The version.
    Version,
    /// The revision that created it.
    Create,
    /// The revision of its last put.
    Mod,
    /// The value.
    Value,
}

/// The direction of sorting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortOrder {
    /// Lowest first.
    Ascend,
    /// Highest first.
    Descend,
}

/// What of the keys is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Want {
    /// Everything.
    #[default]
    All,
    /// All but the values.
    Keys,
    /// How many there are.
    Count,
}

impl Range {
    /// The whole of `range`, now.
    pub fn of(range: KeyRange) -> Self {
        let (sort, min_create_revision, max_create_revision) = (None, None, None);
        let (revision, limit, want, serializable) = (None, 0, Want::All, false);
        Self { range, revision, limit, want, serializable, sort, min_create_revision, max_create_revision }
    }

    /// The first of the range by `create_revision`: in a queue, whose turn it is.
    #[must_use]
    pub fn first_created(range: KeyRange) -> Self {
        let sort = Some(Sort { by: SortTarget::Create, order: SortOrder::Ascend });
        Self { sort, limit: 1, ..Self::of(range) }
    }

    /// The last of the range that was created before `revision`: in a queue, the predecessor of
    /// what was created then (etcd `concurrency/key.go`).
    #[must_use]
    pub fn last_created_before(range: KeyRange, revision: Revision) -> Self {
        let sort = Some(Sort { by: SortTarget::Create, order: SortOrder::Descend });
        let max_create_revision = Some(Revision(revision.0 - 1));
        Self { sort, limit: 1, max_create_revision, ..Self::of(range) }
    }

    /// The upper bound as the wire has it: 0 is none there, and nothing is created at -1.
    pub(super) fn upper_bound(&self) -> Revision {
        match self.max_create_revision {
            None => Revision(0),
            Some(Revision(bound)) if bound <= 0 => Revision(-1),
            Some(bound) => bound,
        }
    }
}

/// An answer to a [`Range`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// Who answered, and at which revision.
    pub header: Header,
    /// The keys in key order, or in the one that was asked for.
    pub keys: Vec<KeyValue>,
    /// Whether the limit cut the answer short.
    pub more: bool,
    /// How many keys the whole range has.
    pub count: i64,
}
