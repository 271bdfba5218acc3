//! What came of one lock: the counts, and whose turn it was.

use std::collections::BTreeMap;

use super::Happening;
use super::queue::{Queue, Verdict};
use super::samples::{Samples, Spread};
use crate::domain::raft::ClusterTime;
use crate::domain::{Key, KeyEvent, Revision};
use crate::playground::ClientId;

/// What came of one lock.
#[derive(Clone, Debug, Default)]
pub struct OfLock {
    /// How many clients there are.
    pub clients: usize,
    /// How often the store passed it on, from one client to the next.
    pub handoffs: u64,
    /// How often a client took it, by its own word.
    pub acquired: u64,
    /// How many of those the history could be asked about.
    pub judged: u64,
    /// How many of those whose turn it was not, or that took it before somebody older.
    pub fifo_violations: u64,
    /// How often a client took it while another believed that it held.
    pub double_holders: u64,
    /// How often it was let go in order.
    pub released: u64,
    /// How many clients crashed that held it or stood in its queue.
    pub crashed: u64,
    /// How many keys of crashed clients went with their leases.
    pub expired: u64,
    /// How often a client noticed that its lease or key was gone.
    pub lost: u64,
    /// The first of those whose turn it was not, in words.
    pub first_out_of_turn: Option<String>,
    /// The first of those that took it from another, in words.
    pub first_double: Option<String>,
    pub(super) queue: Queue,
    pub(super) waits: Samples,
    pub(super) holds: Samples,
    /// Who believes that it holds, with its token.
    pub(super) holders: BTreeMap<ClientId, Revision>,
    last_acquired: Revision,
    /// What the history does not reach yet.
    pub(super) pending: Vec<Acquisition>,
    /// The keys that crashed clients left, and since when.
    pub(super) left: BTreeMap<(Key, Revision), (ClientId, ClusterTime)>,
}

/// A client says that it holds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acquisition {
    pub at: ClusterTime,
    pub client: ClientId,
    /// Its fencing token.
    pub created: Revision,
    /// The revision of the store that it judged by.
    pub seen: Revision,
}

impl OfLock {
    /// How long clients waited that got it; none when nobody did.
    pub fn waits(&self) -> Option<Spread> {
        self.waits.spread()
    }

    /// How long it was held, by those that hold it no more.
    pub fn holds(&self) -> Option<Spread> {
        self.holds.spread()
    }

    /// Takes in the changes of one revision; what went with the leases of crashed clients.
    pub(super) fn change(&mut self, at: ClusterTime, changes: &[&(Revision, KeyEvent)]) -> Vec<(ClientId, Happening)> {
        let mut expired = Vec::new();
        for (revision, event) in changes {
            match event {
                KeyEvent::Put(kv) => self.queue.put(kv.create_revision, &kv.key, kv.lease),
                KeyEvent::Delete { key, .. } => {
                    let Some(created) = self.queue.delete(key) else { continue };
                    if let Some((client, since)) = self.left.remove(&(key.clone(), created)) {
                        self.expired += 1;
                        expired.push((client, Happening::Expired(*revision, at.since(since))));
                    }
                }
            }
        }
        if let Some((revision, _)) = changes.first()
            && self.queue.settle(*revision)
        {
            self.handoffs += 1;
        }
        expired
    }

    pub(super) fn acquire(&mut self, acquisition: Acquisition, name: impl Fn() -> String) {
        let Acquisition { at, client, created, .. } = acquisition;
        self.acquired += 1;
        if let Some((other, token)) = self.holders.first_key_value() {
            let what = format!("{client} (revision {created}) while {other} (revision {token}) believed it held");
            self.double_holders += 1;
            self.first_double.get_or_insert_with(|| in_words(at, &name(), &what));
        }
        self.holders.insert(client, created);
        if created < self.last_acquired {
            let what = format!("{client} (revision {created}) took it after revision {}", self.last_acquired);
            self.fifo_violations += 1;
            self.judged += 1;
            self.first_out_of_turn.get_or_insert_with(|| in_words(at, &name(), &what));
        } else {
            self.last_acquired = created;
            self.pending.push(acquisition);
            self.judge(name);
        }
    }

    /// Looks up in the history whose turn it was, as far as that is known by now.
    pub(super) fn judge(&mut self, name: impl Fn() -> String) {
        for acquisition in std::mem::take(&mut self.pending) {
            let Acquisition { at, client, created, seen } = acquisition;
            match self.queue.first_at(seen) {
                Verdict::NotYet => self.pending.push(acquisition),
                Verdict::Unknown => {}
                Verdict::First(first) => {
                    self.judged += 1;
                    if first != Some(created) {
                        let first = first.map_or("nobody".into(), |first| format!("revision {first}"));
                        let what = format!("{client} (revision {created}) took it when, at {seen}, {first} was first");
                        self.fifo_violations += 1;
                        self.first_out_of_turn.get_or_insert_with(|| in_words(at, &name(), &what));
                    }
                }
            }
        }
    }
}

fn in_words(at: ClusterTime, name: &str, what: &str) -> String {
    let seconds = at.since(ClusterTime(0)).as_secs_f64();
    format!("{name} at {seconds:.3} s: {what}")
}
