//! Leases: the document of `leases`, and the other keys of a lock's leases.

use serde::{Serialize, Serializer};

use super::{Each, Head, Hex, Style, Text, Time};
use crate::domain::LeaseId;
use crate::model::{Facts, LeaseView};

/// The document of `leases`.
pub struct Leases<'a> {
    /// What was learnt.
    pub facts: &'a Facts,
    /// The leases to print, in their order.
    pub leases: &'a [LeaseView<'a>],
    /// How texts are printed.
    pub style: Style,
}

impl Serialize for Leases<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Document<L> {
            #[serde(flatten)]
            head: Head,
            leases: L,
        }
        Document {
            head: Head::of(self.facts),
            leases: Each(|| self.leases.iter().map(|lease| Lease::of(lease, self.style))),
        }
        .serialize(to)
    }
}

#[derive(Serialize)]
struct Lease<'a> {
    lease: Hex,
    #[serde(flatten)]
    time: Time,
    keys: Vec<Text<'a>>,
    holds: Vec<Text<'a>>,
    waits_for: Vec<Text<'a>>,
}

impl<'a> Lease<'a> {
    fn of(lease: &LeaseView<'a>, style: Style) -> Self {
        Self {
            lease: Hex::Lease(lease.id),
            time: Time::of(lease.ttl(), lease.renewal()),
            keys: lease.keys().into_iter().map(|key| style.text(key.key())).collect(),
            holds: lease.holds().into_iter().map(|lock| style.text(lock.name())).collect(),
            waits_for: lease.waits_for().into_iter().map(|lock| style.text(lock.name())).collect(),
        }
    }
}

/// The keys of a lease beside those of the lock that is shown.
#[derive(Debug, Serialize)]
pub struct LeaseKeys<'a> {
    lease: Hex,
    keys: Vec<Text<'a>>,
}

impl<'a> LeaseKeys<'a> {
    /// A lease and its other keys.
    pub fn new(lease: LeaseId, keys: impl IntoIterator<Item = &'a [u8]>, style: Style) -> Self {
        Self { lease: Hex::Lease(lease), keys: keys.into_iter().map(|key| style.text(key)).collect() }
    }
}
