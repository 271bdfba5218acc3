//! A lock that somebody took from its holder by putting over its key.
//!
//! The key stays and with it its create_revision, so nothing tells the former holder: it goes on
//! believing that it holds, on a lease that lives. Some programs renew a lock by putting it anew
//! on a fresh lease; there the value says that it is still the same client.

use crate::domain::{LeaseId, Revision, Timestamp};
use crate::layout::value::decode;
use crate::layout::{Family, ValueKind};

use super::intake::Intake;
use super::keyspace::Entry;
use super::lock::Since;

/// How many characters of an owner are kept.
const KEPT: usize = 120;

/// One lock that was taken so, while its key lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Theft {
    /// The create_revision of the key: the token of both.
    pub token: Revision,
    /// The revision of the put.
    pub revision: Revision,
    /// When that was learnt.
    pub since: Since,
    /// The lease of the one who held.
    pub former_lease: LeaseId,
    /// Who held, by the value.
    pub former: String,
    /// When it was learnt that the former lease is gone: its client's session ended.
    pub former_gone: Option<Timestamp>,
    /// The lease of the one who holds now.
    pub lease: LeaseId,
    /// Who holds now, by the value.
    pub owner: String,
}

impl Theft {
    /// Whether the put that made `now` out of `former` took the key from another client.
    pub(super) fn of(intake: Intake, former: &Entry, now: &Entry, family: Family) -> Option<Self> {
        if former.lease().is_none() || former.lease() == now.lease() {
            return None;
        }
        let (before, after) = (owner(former, family)?, owner(now, family)?);
        (before != after).then(|| Self {
            token: now.create_revision,
            revision: now.mod_revision,
            since: intake.since(),
            former_lease: former.lease(),
            former: before,
            former_gone: None,
            lease: now.lease(),
            owner: after,
        })
    }
}

/// Who wrote a value, when that can be told. An id is only itself: what else can be read of it is
/// the same for every client of one machine.
fn owner(entry: &Entry, family: Family) -> Option<String> {
    let owner = match entry.placed.value {
        ValueKind::Empty | ValueKind::Binary => return None,
        ValueKind::UuidBytes => hex(&entry.value),
        ValueKind::UuidText => String::from_utf8_lossy(&entry.value).into_owned(),
        ValueKind::Json | ValueKind::JsonWithLease | ValueKind::Address | ValueKind::Text => {
            decode(&entry.facts(), family).owner?
        }
    };
    Some(owner.chars().take(KEPT).collect())
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 0xf])
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}
