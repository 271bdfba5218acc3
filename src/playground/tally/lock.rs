//! What came of one lock: the counts, and whose turn it was.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::queue::{Queue, Verdict};
use super::samples::{Samples, Spread};
use crate::domain::play::Said;
use crate::domain::raft::ClusterTime;
use crate::domain::{KeyEvent, KeyValue, LeaseId, Revision};
use crate::playground::ClientId;
use crate::playground::traffic::{Counted, Traffic};
use crate::recipe::Standing;

/// What came of one lock.
#[derive(Clone, Debug, Default)]
pub struct OfLock {
    /// How many clients ever took part.
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
    /// How many of those while the other did hold by the store too, or that were not first
    /// themselves: two hold though no lease ran out.
    pub clashes: u64,
    /// How often the store dropped the key of a client that believed on that it held.
    pub stale_beliefs: u64,
    /// How often it was let go in order.
    pub released: u64,
    /// How many clients crashed that held it or stood in its queue.
    pub crashed: u64,
    /// How many keys of crashed clients went with their leases.
    pub expired: u64,
    /// How many keys the store dropped of clients that had neither crashed nor let go.
    pub dropped: u64,
    /// How often a client noticed that its lease or key was gone.
    pub lost: u64,
    /// How many writes of its clients a resource took that came with an older token than one
    /// before.
    pub stale_accepted: u64,
    /// How many of those a resource refused.
    pub stale_refused: u64,
    /// How often a client that watches it learnt something.
    pub sights: u64,
    /// The first of those whose turn it was not, in words.
    pub first_out_of_turn: Option<Said>,
    /// The first of those that took it from another, in words.
    pub first_double: Option<Said>,
    /// The first that took it while two held by the store, in words.
    pub first_clash: Option<String>,
    pub(super) traffic: Traffic,
    counted: Option<Counted>,
    pub(super) queue: Queue,
    pub(super) waits: Samples,
    pub(super) holds: Samples,
    pub(super) learnt: Samples,
    stale: Samples,
    expiries: Samples,
    to_first: Samples,
    to_acquired: Samples,
    /// Who believes that it holds, with its token; and who of them without a key, since when.
    holders: BTreeMap<ClientId, Revision>,
    mistaken: BTreeMap<ClientId, ClusterTime>,
    last_acquired: Revision,
    /// What the history does not reach yet.
    pub(super) pending: Vec<Acquisition>,
    /// Whose key it is, by what created it; those that their clients let go of; and those that
    /// crashed clients left, since when.
    owners: BTreeMap<Revision, ClientId>,
    asked: BTreeSet<Revision>,
    left: BTreeMap<Revision, (ClientId, ClusterTime)>,
    /// A key that became the first at the second revision and that nobody has named yet.
    unnamed: Option<(Revision, Revision)>,
    /// Since when there is no first, and no holder, because a first one's key was dropped.
    without_first: Option<ClusterTime>,
    without_holder: Option<ClusterTime>,
}

/// A client says that it holds.
#[derive(Clone, Debug)]
pub(super) struct Acquisition {
    at: ClusterTime,
    client: ClientId,
    /// Its fencing token.
    created: Revision,
    /// The revision of the store that it judged by.
    seen: Revision,
    /// The tokens of others that believed so too.
    beside: Vec<Revision>,
}

impl Acquisition {
    /// A client that stands so holds from now on, by its own word.
    pub fn new(at: ClusterTime, client: ClientId, standing: &Standing) -> Self {
        Self { at, client, created: standing.created, seen: standing.seen, beside: Vec::new() }
    }
}

/// What the history says of a client's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Came {
    /// It stands in the queue, created by this revision.
    Enqueued(ClientId, Revision),
    /// It is the first from this revision on.
    First(ClientId, Revision),
    /// It was left by a crash, and is gone at this revision, so long after.
    Expired(ClientId, Revision, Duration),
    /// It is gone, and nobody knows that the client asked for it.
    Gone { client: ClientId, created: Revision, lease: LeaseId, revision: Revision },
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

    /// How long clients believed on that they held when their key was gone.
    pub fn stale(&self) -> Option<Spread> {
        self.stale.spread()
    }

    /// How long after a crash the key was gone.
    pub fn expiries(&self) -> Option<Spread> {
        self.expiries.spread()
    }

    /// How long it took from the end of a first key that nobody deleted to the next first one.
    pub fn to_first(&self) -> Option<Spread> {
        self.to_first.spread()
    }

    /// How long it took from there until a client held, by its own word.
    pub fn to_acquired(&self) -> Option<Spread> {
        self.to_acquired.spread()
    }

    /// How long after a change those that watch learnt of it.
    pub fn learnt(&self) -> Option<Spread> {
        self.learnt.spread()
    }

    /// What its clients asked for and were told, until the run ended.
    pub fn traffic(&self) -> Counted {
        self.counted.unwrap_or_else(|| self.traffic.counted())
    }

    /// How many believe now that they hold.
    pub fn holders(&self) -> impl ExactSizeIterator<Item = ClientId> {
        self.holders.keys().copied()
    }

    /// Who stands in its queue, the oldest first; keys of others are nobody's.
    pub(super) fn places(&self) -> impl Iterator<Item = Option<ClientId>> {
        self.queue.ages().map(|created| self.owners.get(&created).copied())
    }

    /// Whose key is the first, and whether this client has another one behind it.
    pub(super) fn first_before(&self, client: ClientId) -> Option<ClientId> {
        let mut places = self.places();
        let first = places.next()??;
        (first != client && places.any(|of| of == Some(client))).then_some(first)
    }

    /// The run is over: nothing is counted any more, though what it rests on may still come in.
    pub(super) fn close(&mut self) {
        self.counted = Some(self.traffic.counted());
    }

    /// The queue as it was at a revision, without a past.
    pub(super) fn relist<'a>(
        &mut self,
        revision: Revision,
        keys: impl Iterator<Item = &'a KeyValue>,
        owner: impl Fn(LeaseId) -> Option<ClientId>,
    ) {
        let keys: Vec<_> = keys.collect();
        self.queue = Queue::at(revision, keys.iter().map(|kv| (kv.create_revision, (kv.key.clone(), kv.lease))));
        self.owners.retain(|created, _| self.queue.has(*created));
        let known = keys.iter().filter_map(|kv| Some((kv.create_revision, owner(kv.lease)?)));
        self.owners.extend(known);
        self.left.retain(|created, _| self.queue.has(*created));
        self.asked.retain(|created| self.queue.has(*created));
        self.unnamed = None;
    }

    /// Takes in the changes of one revision; what came of it to clients.
    pub(super) fn change(
        &mut self,
        at: ClusterTime,
        changes: &[&(Revision, KeyEvent)],
        owner: impl Fn(LeaseId) -> Option<ClientId>,
    ) -> Vec<Came> {
        let Some(&&(revision, _)) = changes.first() else { return Vec::new() };
        let before = self.queue.first();
        let mut came = Vec::new();
        for (_, event) in changes {
            match event {
                KeyEvent::Put(kv) => {
                    self.queue.put(kv.create_revision, &kv.key, kv.lease);
                    if let Some(client) = owner(kv.lease) {
                        self.owners.insert(kv.create_revision, client);
                        came.extend((kv.create_revision == revision).then_some(Came::Enqueued(client, revision)));
                    }
                }
                KeyEvent::Delete { key, .. } => {
                    let gone = self.queue.delete(key);
                    came.extend(gone.and_then(|(created, lease)| self.lose(at, revision, created, lease)));
                }
            }
        }
        let passed = self.queue.settle(revision);
        if self.counted.is_some() {
            return Vec::new();
        }
        self.handoffs += u64::from(passed);
        self.expired += came.iter().filter(|came| matches!(came, Came::Expired(..))).count() as u64;
        let unasked = came.iter().any(|came| !matches!(came, Came::Enqueued(..)));
        self.vacate(at, before.filter(|first| !self.queue.has(*first)), unasked);
        if let Some(first) = self.queue.first().filter(|first| before != Some(*first)) {
            self.to_first.extend(self.without_first.take().map(|since| at.since(since)));
            match self.owners.get(&first) {
                Some(client) => came.push(Came::First(*client, revision)),
                None => self.unnamed = Some((first, revision)),
            }
        }
        came
    }

    /// A key is gone; what that is, unless its client asked for it.
    fn lose(&mut self, at: ClusterTime, revision: Revision, created: Revision, lease: LeaseId) -> Option<Came> {
        let owner = self.owners.remove(&created);
        let asked = self.asked.remove(&created);
        if let Some((client, since)) = self.left.remove(&created) {
            let after = at.since(since);
            if self.counted.is_none() {
                self.expiries.add(after);
            }
            return Some(Came::Expired(client, revision, after));
        }
        owner.filter(|_| !asked).map(|client| Came::Gone { client, created, lease, revision })
    }

    /// The first key, this one, went; and somebody's went without being asked for.
    fn vacate(&mut self, at: ClusterTime, first: Option<Revision>, unasked: bool) {
        if first.is_none() || !unasked {
            return;
        }
        self.without_first = Some(at);
        let next = self.queue.first();
        if next.is_some_and(|next| self.holders.values().any(|token| *token == next)) {
            // It knows already, and said so before the history came by.
            self.to_acquired.add(Duration::ZERO);
        } else {
            self.without_holder = Some(at);
        }
    }

    /// A client says that this revision created its key; since when it is the first, if it is and
    /// nobody knew whose it was.
    pub(super) fn owns(&mut self, created: Revision, client: ClientId) -> Option<Revision> {
        // Of a key that is gone already nothing has to be known.
        if self.queue.is_known(created) && !self.queue.has(created) {
            return None;
        }
        self.owners.insert(created, client);
        self.unnamed.take_if(|(unnamed, _)| *unnamed == created).map(|(_, revision)| revision)
    }

    /// A client lets go of its key.
    pub(super) fn asks(&mut self, created: Revision) {
        if created > Revision(0) && (self.queue.has(created) || !self.queue.is_known(created)) {
            self.asked.insert(created);
        }
    }

    /// A client crashed that had this key.
    pub(super) fn leaves(&mut self, client: ClientId, at: ClusterTime, created: Revision) {
        if self.queue.has(created) || !self.queue.is_known(created) {
            self.left.insert(created, (client, at));
        }
    }

    /// The store dropped the key of a client that goes on believing.
    pub(super) fn becomes_stale(&mut self, client: ClientId, at: ClusterTime) {
        if self.holders.contains_key(&client) && !self.mistaken.contains_key(&client) {
            self.mistaken.insert(client, at);
            self.stale_beliefs += 1;
        }
    }

    /// A client does not believe any more that it holds.
    pub(super) fn believes_no_more(&mut self, client: ClientId, at: ClusterTime) {
        self.holders.remove(&client);
        self.stale.extend(self.mistaken.remove(&client).map(|since| at.since(since)));
    }

    pub(super) fn acquire(&mut self, mut acquisition: Acquisition, name: impl Fn() -> String) {
        let Acquisition { at, client, created, .. } = acquisition;
        self.acquired += 1;
        self.to_acquired.extend(self.without_holder.take().map(|since| at.since(since)));
        if let Some((other, token)) = self.holders.first_key_value() {
            let (other, token) = (*other, *token);
            self.double_holders += 1;
            self.first_double.get_or_insert_with(|| {
                took(
                    "{name} at {time}: {client} (revision {n}) while {other} (revision {m}) believed it held",
                    &acquisition,
                    name(),
                )
                .with("other", other)
                .with("m", token)
            });
            acquisition.beside = self.holders.values().copied().collect();
        }
        self.holders.insert(client, created);
        if created < self.last_acquired {
            let after = self.last_acquired;
            self.judged += 1;
            self.is_out_of_turn(&acquisition, &name, || {
                let words = "{name} at {time}: {client} (revision {n}) took it after revision {m}";
                took(words, &acquisition, name()).with("m", after)
            });
        } else {
            self.last_acquired = created;
            self.pending.push(acquisition);
            self.judge(name);
        }
    }

    /// Looks up in the history whose turn it was, as far as that is known by now.
    pub(super) fn judge(&mut self, name: impl Fn() -> String) {
        for acquisition in std::mem::take(&mut self.pending) {
            let Acquisition { at, client, created, seen, .. } = acquisition;
            match self.queue.first_at(seen) {
                Verdict::NotYet => self.pending.push(acquisition),
                Verdict::Unknown => {}
                Verdict::First(first) if first == Some(created) => {
                    self.judged += 1;
                    // The older ones were gone when it was the first; a younger one held before.
                    if acquisition.beside.iter().any(|other| *other > created) {
                        self.is_clash(&acquisition, &name);
                    }
                    if self.holders.get(&client) == Some(&created) && !self.queue.has(created) {
                        self.becomes_stale(client, at);
                    }
                }
                Verdict::First(first) => {
                    self.judged += 1;
                    self.is_out_of_turn(&acquisition, &name, || {
                        let said = |words| took(words, &acquisition, name()).with("m", seen);
                        let nobody = "{name} at {time}: {client} (revision {n}) took it when, at {m}, nobody was first";
                        let other =
                            "{name} at {time}: {client} (revision {n}) took it when, at {m}, revision {l} was first";
                        first.map_or_else(|| said(nobody), |first| said(other).with("l", first))
                    });
                }
            }
        }
    }

    fn is_out_of_turn(&mut self, acquisition: &Acquisition, name: &impl Fn() -> String, said: impl FnOnce() -> Said) {
        self.fifo_violations += 1;
        self.first_out_of_turn.get_or_insert_with(said);
        if !acquisition.beside.is_empty() {
            self.is_clash(acquisition, name);
        }
    }

    fn is_clash(&mut self, Acquisition { at, client, created, beside, .. }: &Acquisition, name: &impl Fn() -> String) {
        self.clashes += 1;
        self.first_clash.get_or_insert_with(|| {
            let beside = beside.first().map(ToString::to_string).unwrap_or_default();
            format!("{} at {}: {client} (revision {created}) beside revision {beside}", name(), seconds(*at))
        });
    }
}

/// Who took it when, in these words.
fn took(words: &'static str, acquisition: &Acquisition, name: String) -> Said {
    let Acquisition { at, client, created, .. } = acquisition;
    Said::new(words).with("name", name).with("time", seconds(*at)).with("client", client).with("n", created)
}

fn seconds(at: ClusterTime) -> String {
    format!("{:.3} s", at.since(ClusterTime(0)).as_secs_f64())
}
