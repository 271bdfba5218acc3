//! What is known, as the observations that would tell it: a recording that is begun in the
//! middle of a session starts with them.
//!
//! What happened before is not among them, nor are values that were not kept; the cluster's leases
//! are told with the times at which they were asked.

use crate::domain::{KeyValue, LeaseId, Timestamp};
use crate::event::{LeaseTtl, ListPage, Observation, Stamped};

use super::facts::Facts;
use super::keyspace::Entry;

/// How many keys a page has.
const PAGE: usize = 1_000;

impl Facts {
    /// The observations that lead to these facts, as far as they are about what is there now.
    pub fn as_observed(&self) -> Vec<Stamped<Observation>> {
        let now = self.now;
        let mut told = Told { now, observed: Vec::new() };
        if let Some(cluster) = self.link.cluster_id {
            told.tell(Observation::Cluster(cluster));
        }
        told.tell(Observation::Link(self.link.state.clone()));
        told.tell(Observation::Scope(self.link.scope.clone()));
        for denied in &self.link.denied {
            told.tell(Observation::Denied(denied.clone()));
        }
        self.tell_keys(&mut told);
        told.tell(Observation::Progress(self.link.revision));
        told.tell(Observation::LeaseList(self.leases.ids().collect()));
        told.observed.extend(self.leases.answers().map(|(at, ttl)| Stamped { at, what: Observation::LeaseTtl(ttl) }));
        told.observed.extend(self.leases.missing().map(|(member, missing)| Stamped {
            at: missing.since.at,
            what: Observation::LeasesMissing { member, leases: missing.leases.clone() },
        }));
        let members = self.cluster.members();
        told.tell(Observation::Members(members.iter().map(|of| of.member.clone()).collect()));
        for of in members {
            let answer = match (&of.error, &of.status) {
                (Some(error), _) => Err(error.clone()),
                (None, Some(status)) => Ok(status.clone()),
                (None, None) => continue,
            };
            told.tell(Observation::Status { member: of.member.id, answer });
        }
        told.tell(Observation::Alarms(self.cluster.alarms().to_vec()));
        if let Some(picture) = &self.raft {
            told.tell(Observation::Raft(picture.clone()));
        }
        told.observed
    }

    /// Tells each range that was read as a list.
    fn tell_keys(&self, told: &mut Told) {
        let mut entries: Vec<&Entry> = self.keys.iter().collect();
        entries.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        for range in self.link.scope.iter().filter(|range| self.listing.done.contains(range)) {
            let keys: Vec<KeyValue> =
                entries.iter().filter(|entry| range.contains(&entry.key)).map(|entry| key_value(entry)).collect();
            let pages = keys.len().div_ceil(PAGE).max(1);
            for page in 0..pages {
                let part = keys.iter().skip(page * PAGE).take(PAGE).cloned().collect();
                told.tell(Observation::Listed(ListPage {
                    range: range.clone(),
                    revision: self.link.revision,
                    keys: part,
                    first: page == 0,
                    last: page + 1 == pages,
                }));
            }
        }
    }
}

struct Told {
    now: Timestamp,
    observed: Vec<Stamped<Observation>>,
}

impl Told {
    fn tell(&mut self, what: Observation) {
        self.observed.push(Stamped { at: self.now, what });
    }
}

fn key_value(entry: &Entry) -> KeyValue {
    KeyValue {
        key: entry.key.clone(),
        value: entry.value.to_vec(),
        create_revision: entry.create_revision,
        mod_revision: entry.mod_revision,
        version: entry.version,
        lease: entry.lease(),
    }
}

impl super::lease::Leases {
    /// The last answer of each lease that was asked, with its time.
    fn answers(&self) -> impl Iterator<Item = (Timestamp, LeaseTtl)> {
        self.ids().filter_map(|lease: LeaseId| self.answer(lease))
    }
}
