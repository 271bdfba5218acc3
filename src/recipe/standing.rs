//! Where a client stands: in which of the six steps, and what it believes.

pub use crate::domain::play::{Belief, Step};
use crate::domain::{Key, LeaseId, Revision};

/// Where a client stands, as it sees it itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// What it does.
    pub step: Step,
    /// What it takes for true.
    pub belief: Belief,
    /// Its session's lease, once it has one.
    pub lease: LeaseId,
    /// Its key, once it takes part.
    pub key: Key,
    /// The revision that created the key; 0 until it is known. The fencing token of a holder.
    pub created: Revision,
    /// The revision of the store that it last judged by.
    pub seen: Revision,
    /// The key whose end it waits for.
    pub ahead: Option<Key>,
    /// Whether it has the first of two locks, and not the second yet.
    pub has_first: bool,
}
