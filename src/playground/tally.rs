//! What came of a run, judged from evidence: what clients said of themselves, beside the
//! store's own history.
//!
//! Nothing is taken for granted here. Whether a holder's turn had come is looked up in the
//! history at the revision that the client judged by; whether two held at once is seen from what
//! the clients believed, by the order in which they said so. However long a run is, what is
//! kept of it is bounded: counts for ever, samples and moments for the latest of it.
//!
//! Two that believe at once are double holders. Mostly one of them is late: the store has dropped
//! its key, its belief is stale, and only a fencing token keeps it from doing harm. That can happen
//! to every lock of leases. When both have their keys in the store it is a clash: then the recipe
//! is wrong, not a clock or a network.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::cast::Protected;
use super::resource::{Ledger, Verdict, Written};
use super::traffic::Traffic;
use super::{ClientId, Habits, LockOf, Told, What};
pub use crate::domain::play::{Happening, Moment};
use crate::domain::play::{Ill, Life, Sight};
use crate::domain::raft::{ClusterTime, TermRecord};
use crate::domain::{Key, KeyEvent, KeyValue, LeaseId, Revision, Term};
use crate::recipe::{Belief, Standing, Step};

mod circle;
mod client;
mod fairness;
mod lock;
mod queue;
mod reigns;
mod samples;
mod sights;

pub use client::OfClient;
pub use fairness::Fairness;
pub use lock::OfLock;
use lock::{Acquisition, Came};
use reigns::Reigns;
pub use samples::Spread;
use sights::Sightings;

/// How many moments are kept: the latest.
const MOMENTS: usize = 20_000;

/// How many keys that were there before the run are named.
const NAMED: usize = 3;

/// The judge of a run.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    locks: BTreeMap<LockOf, OfLock>,
    clients: BTreeMap<ClientId, OfClient>,
    /// Whose lease it is.
    leases: BTreeMap<LeaseId, ClientId>,
    ledgers: Vec<Ledger>,
    sightings: Sightings,
    /// Those who wait for each other.
    circle: Option<BTreeSet<ClientId>>,
    moments: VecDeque<Moment>,
    moments_cut: u64,
    reigns: Reigns,
    /// What was there when the store was first read: some of it, and how much.
    found: Option<(Vec<Key>, usize)>,
    over: bool,
}

impl Tally {
    /// Begins, with these clients and what they write to.
    pub fn new<'a>(clients: impl IntoIterator<Item = (ClientId, &'a Habits)>, protected: &[Protected]) -> Self {
        let mut tally = Self { ledgers: protected.iter().map(Ledger::new).collect(), ..Self::default() };
        for (client, habits) in clients {
            tally.join(client, habits);
        }
        tally
    }

    /// One more client takes part.
    pub fn join(&mut self, client: ClientId, habits: &Habits) {
        let actor = OfClient::new(habits);
        for lock in [Some(&actor.lock), actor.second.as_ref()].into_iter().flatten() {
            self.locks.entry(lock.clone()).or_default().clients += 1;
        }
        self.clients.insert(client, actor);
    }

    /// The locks, by their recipe and name.
    pub const fn locks(&self) -> &BTreeMap<LockOf, OfLock> {
        &self.locks
    }

    /// The clients, those that were removed too.
    pub const fn clients(&self) -> &BTreeMap<ClientId, OfClient> {
        &self.clients
    }

    /// What holders write to, as it stands.
    pub fn ledgers(&self) -> &[Ledger] {
        &self.ledgers
    }

    /// What counts the calls of the clients of a lock.
    pub fn traffic(&self, lock: &LockOf) -> Traffic {
        self.locks.get(lock).map(|lock| lock.traffic.clone()).unwrap_or_default()
    }

    /// How evenly a lock was held by all that ever took part in it; none while nobody held.
    pub fn fairness(&self, lock: &LockOf) -> Option<Fairness> {
        Fairness::of(self.clients.values().filter(|client| client.lock == *lock))
    }

    /// What happened, oldest first; and how many moments before those were left out.
    pub fn moments(&self) -> (impl ExactSizeIterator<Item = &Moment>, u64) {
        (self.moments.iter(), self.moments_cut)
    }

    /// What happened from this moment on, counted from 0 at the run's beginning, as far as it is
    /// kept; and the number of the first of them.
    pub fn moments_since(&self, number: u64) -> (impl ExactSizeIterator<Item = &Moment>, u64) {
        let all = self.moments_cut + self.moments.len() as u64;
        let first = number.clamp(self.moments_cut, all);
        let skipped = usize::try_from(first - self.moments_cut).unwrap_or(usize::MAX);
        (self.moments.iter().skip(skipped), first)
    }

    /// Who is elected, and how soon after what was done to the cluster.
    pub const fn reigns(&self) -> &Reigns {
        &self.reigns
    }

    /// How many leaders were elected in the run, as far as was seen.
    pub fn elections(&self) -> usize {
        self.reigns.elections()
    }

    /// How many terms began in the run.
    pub fn terms(&self) -> u64 {
        self.reigns.terms()
    }

    /// The highest term.
    pub const fn highest_term(&self) -> Term {
        self.reigns.highest()
    }

    /// How many times a client took a lock that the history does not reach yet.
    pub fn pending(&self) -> usize {
        self.locks.values().map(|lock| lock.pending.len()).sum()
    }

    /// Some of the keys that were there when the store was first read, and how many there were.
    pub fn found(&self) -> (&[Key], usize) {
        self.found.as_ref().map_or((&[], 0), |(some, all)| (some, *all))
    }

    /// Who is where in a lock's queue by the store, the holder first; keys of others count
    /// and have no client.
    pub fn places(&self, lock: &LockOf) -> impl Iterator<Item = Option<ClientId>> {
        self.locks.get(lock).into_iter().flat_map(OfLock::places)
    }

    /// The run is over: what clients do from now on, such as giving up what they have, is not of
    /// it. The store's history is still taken in, as evidence.
    pub fn ends(&mut self) {
        self.over = true;
        for lock in self.locks.values_mut() {
            lock.close();
        }
    }

    /// The run begins in this term: 0 for who starts the cluster.
    pub fn begins(&mut self, term: Term) {
        self.reigns.begins(term);
    }

    /// A term began; whether somebody won it is not said.
    pub fn term_began(&mut self, term: Term) {
        self.reigns.began(term);
    }

    /// Somebody leads this term: an answer was given in it.
    pub fn term_led(&mut self, at: ClusterTime, term: Term) {
        if self.reigns.led(at, term) {
            self.moment(at, Key::default(), None, Happening::Term(term));
        }
    }

    /// What an embedded cluster knows of its latest terms.
    pub fn terms_were(&mut self, records: &[TermRecord]) {
        for record in records {
            self.term_began(record.term);
            if let Some((_, at)) = record.leader {
                self.term_led(at, record.term);
            }
        }
    }

    /// Something that is not a client's: a fault of the cluster, a narration.
    pub fn note(&mut self, at: ClusterTime, what: Happening) {
        if self.over {
            return;
        }
        if let Happening::Fault(fault) = &what {
            self.reigns.struck(at, *fault);
        }
        self.moment(at, Key::default(), None, what);
    }

    /// The store as it was at `revision`: what it was before is not known, or not any more.
    pub fn listed(&mut self, revision: Revision, keys: &[KeyValue]) {
        self.found.get_or_insert_with(|| {
            let some = keys.iter().take(NAMED).map(|kv| kv.key.clone());
            (some.collect(), keys.len())
        });
        for (of, lock) in &mut self.locks {
            let keys = keys.iter().filter(|kv| of.has(&kv.key));
            let leases = &self.leases;
            lock.relist(revision, keys, |lease| leases.get(&lease).copied());
            lock.judge(|| name(of));
        }
    }

    /// Changes of the store, whole revisions in order.
    pub fn changed(&mut self, at: ClusterTime, changes: &[(Revision, KeyEvent)]) {
        let Some(&(last, _)) = changes.last() else { return };
        if !self.over {
            self.sightings.changed(at, changes, self.locks.keys());
        }
        let mut came = Vec::new();
        for (of, lock) in &mut self.locks {
            let ours = changes.iter().filter(|(_, event)| of.has(event.key()));
            let leases = &self.leases;
            for revision in ours.collect::<Vec<_>>().chunk_by(|one, other| one.0 == other.0) {
                let what = lock.change(at, revision, |lease| leases.get(&lease).copied());
                came.extend(what.into_iter().map(|what| (of.clone(), what)));
            }
            lock.queue.reach(last);
            lock.judge(|| name(of));
        }
        if !self.over {
            for (of, what) in came {
                self.came(at, &of, what);
            }
            self.look_for_circle(at);
        }
    }

    /// What the history says of a client's key.
    fn came(&mut self, at: ClusterTime, of: &LockOf, came: Came) {
        let (client, what) = match came {
            Came::Enqueued(client, created) => {
                let Some(actor) = self.clients.get_mut(&client) else { return };
                let tells_itself = actor.lock == *of && !actor.is_queued_by_server();
                let is_elsewhere = actor.lock != *of && actor.second.as_ref() != Some(of);
                // Who gave up meanwhile has no part in it any more.
                if tells_itself || is_elsewhere || !actor.waits() || actor.standing.created == created {
                    return;
                }
                if actor.lock == *of {
                    actor.queued = created;
                }
                (client, Happening::Enqueued(created))
            }
            Came::First(client, revision) => (client, Happening::First(revision)),
            Came::Expired(client, revision, after) => (client, Happening::Expired(revision, after)),
            Came::Gone { client, created, lease, revision } => {
                let Some(actor) = self.clients.get(&client).filter(|actor| actor.lock == *of) else { return };
                let Some(belief) = actor.loses(created, lease) else { return };
                if let Some(lock) = self.locks.get_mut(of) {
                    lock.dropped += 1;
                    if belief == Belief::Holding {
                        lock.becomes_stale(client, at);
                    }
                }
                (client, Happening::Dropped(revision, belief))
            }
        };
        self.moment(at, of.name().clone(), Some(client), what);
    }

    /// A client is about to say this: that it lets go is known before its key goes, whatever
    /// is taken in first.
    pub fn foresees(&mut self, told: &Told) {
        if let What::Stands(standing) = &told.what
            && standing.step == Step::Release
            && let Some(lock) = self.clients.get(&told.client).and_then(|actor| self.locks.get_mut(&actor.lock))
        {
            lock.asks(standing.created);
        }
    }

    /// A client says something of itself.
    pub fn told(&mut self, told: &Told) {
        let Some(mut actor) = self.clients.remove(&told.client) else { return };
        let (at, client) = (told.at, told.client);
        match &told.what {
            // Whose lease and key it is counts as evidence to the very end.
            What::Stands(standing) if self.over => actor.standing = standing.clone(),
            _ if self.over => {}
            What::Stands(standing) => self.stands(at, client, &mut actor, standing),
            What::Crashed => self.crashed(at, client, &mut actor),
            What::Stopped => self.stopped(at, client, &mut actor),
            What::Suffers(ill) => {
                actor.suffers(*ill);
                let what = match ill {
                    Ill::Pause => Some(Happening::Paused),
                    Ill::Resume => Some(Happening::Resumed),
                    // What comes of these is told by itself.
                    Ill::Crash | Ill::Remove => None,
                    ill => Some(Happening::Suffered(*ill)),
                };
                if let Some(what) = what {
                    self.moment(at, actor.lock.name().clone(), Some(client), what);
                }
            }
            What::Wrote(written) => self.wrote(at, client, &actor, *written),
            What::Saw(sight) => self.saw(at, client, &actor, sight),
        }
        self.clients.insert(client, actor);
    }

    fn stands(&mut self, at: ClusterTime, client: ClientId, actor: &mut OfClient, standing: &Standing) {
        let before = std::mem::replace(&mut actor.standing, standing.clone());
        let since = actor.since;
        if let Some(lease) = actor.learns_lease(standing.lease) {
            self.leases.remove(&lease);
        }
        if !standing.lease.is_none() {
            self.leases.insert(standing.lease, client);
        }
        let Some(lock) = self.locks.get_mut(&actor.lock) else { return };
        let called = || name(&actor.lock);
        let mut happened = Vec::new();
        if actor.life == Life::Gone {
            happened.push(Happening::Returned);
        } else if actor.began.is_none() {
            happened.push(Happening::Began);
        }
        if actor.life == Life::Gone || actor.began.is_none() {
            actor.life = Life::Up;
            actor.began = Some(at);
        }
        if standing.created != before.created && standing.created > Revision(0) {
            if standing.created != actor.queued {
                happened.push(Happening::Enqueued(standing.created));
            }
            happened.extend(lock.owns(standing.created, client).map(Happening::First));
        }
        if standing.has_first && !before.has_first {
            happened.push(Happening::HasFirst(standing.created, at.since(since)));
        }
        if matches!(standing.belief, Belief::Idle | Belief::Lost) {
            actor.queued = Revision(0);
        }
        match standing.step {
            Step::Release if before.step != Step::Release => {
                lock.asks(standing.created);
                // Its put is still under way: what comes of it is known by the lease alone.
                if standing.created == Revision(0) {
                    actor.asked = standing.lease;
                }
            }
            Step::Put => actor.asked = LeaseId::NONE,
            _ => {}
        }
        if standing.belief != before.belief {
            actor.since = at;
            if before.belief == Belief::Holding {
                lock.believes_no_more(client, at);
                lock.holds.add(at.since(since));
                actor.held += at.since(since);
            }
        }
        match (before.belief, standing.belief) {
            (before, now) if before == now => {}
            (_, Belief::Holding) => {
                let waited = at.since(since);
                actor.holds += 1;
                lock.waits.add(waited);
                happened.push(Happening::Acquired(standing.created, waited));
                lock.acquire(Acquisition::new(at, client, standing), called);
            }
            (Belief::Holding, Belief::Idle) => {
                lock.released += 1;
                happened.push(Happening::Released(at.since(since)));
            }
            (Belief::Waiting, Belief::Idle) if standing.step == Step::Release => happened.push(Happening::GaveUp),
            (before, Belief::Lost) => {
                lock.lost += 1;
                happened.push(Happening::Lost(before));
            }
            _ => {}
        }
        for what in happened {
            self.moment(at, actor.lock.name().clone(), Some(client), what);
        }
    }

    fn crashed(&mut self, at: ClusterTime, client: ClientId, actor: &mut OfClient) {
        actor.life = Life::Gone;
        let created = actor.created();
        let before = std::mem::take(&mut actor.standing);
        (actor.asked, actor.queued) = (before.lease, Revision(0));
        if let Some(lock) = self.locks.get_mut(&actor.lock) {
            lock.believes_no_more(client, at);
            if before.belief == Belief::Holding {
                lock.holds.add(at.since(actor.since));
                actor.held += at.since(actor.since);
            }
            if matches!(before.belief, Belief::Waiting | Belief::Holding) && created > Revision(0) {
                lock.crashed += 1;
                lock.leaves(client, at, created);
            }
        }
        self.moment(at, actor.lock.name().clone(), Some(client), Happening::Crashed(before.belief));
    }

    fn stopped(&mut self, at: ClusterTime, client: ClientId, actor: &mut OfClient) {
        actor.life = Life::Stopped;
        actor.asked = std::mem::take(&mut actor.standing).lease;
        if let Some(lock) = self.locks.get_mut(&actor.lock) {
            lock.believes_no_more(client, at);
        }
        self.moment(at, actor.lock.name().clone(), Some(client), Happening::Stopped);
    }

    fn wrote(&mut self, at: ClusterTime, client: ClientId, actor: &OfClient, written: Written) {
        let Written { ledger, token, verdict } = written;
        let Some(ledger) = self.ledgers.get_mut(ledger) else { return };
        ledger.count(token, verdict);
        let resource = Key::from(&*ledger.name);
        let lock = self.locks.entry(actor.lock.clone()).or_default();
        let what = match verdict {
            Verdict::Taken => Happening::Wrote(token),
            Verdict::Damaged(higher) => {
                lock.stale_accepted += 1;
                Happening::Damaged(token, higher)
            }
            Verdict::Refused(higher) => {
                lock.stale_refused += 1;
                Happening::Refused(token, higher)
            }
        };
        self.moment(at, resource, Some(client), what);
    }

    fn saw(&mut self, at: ClusterTime, client: ClientId, actor: &OfClient, sight: &Sight) {
        let lock = self.locks.entry(actor.lock.clone()).or_default();
        lock.sights += 1;
        if let Some(after) = self.sightings.saw(at, actor.began, sight) {
            lock.learnt.add(after);
        }
        self.moment(at, actor.lock.name().clone(), Some(client), Happening::Saw(sight.clone()));
    }

    fn moment(&mut self, at: ClusterTime, lock: Key, client: Option<ClientId>, what: Happening) {
        if self.moments.len() == MOMENTS {
            self.moments.pop_front();
            self.moments_cut += 1;
        }
        self.moments.push_back(Moment { at, lock, client, what });
    }
}

/// A lock's name in words.
fn name(lock: &LockOf) -> String {
    lock.name().escape_ascii().to_string()
}
