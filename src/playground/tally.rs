//! What came of a run, judged from evidence: what clients said of themselves, beside the
//! store's own history.
//!
//! Nothing is taken for granted here. Whether a holder's turn had come is looked up in the
//! history at the revision that the client judged by; whether two held at once is seen from what
//! the clients believed, by the order in which they said so. However long a run is, what is
//! kept of it is bounded: counts for ever, samples and moments for the latest of it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{ClientId, LockOf, Told, What};
pub use crate::domain::play::{Happening, Moment};
use crate::domain::raft::{ClusterTime, TermRecord};
use crate::domain::{Key, KeyEvent, KeyValue, Revision, Term};
use crate::recipe::{Belief, Standing, Step};

mod lock;
mod queue;
mod samples;

use lock::Acquisition;
pub use lock::OfLock;
use queue::Queue;
pub use samples::Spread;

/// How many moments are kept: the latest.
const MOMENTS: usize = 20_000;

/// The judge of a run.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    locks: BTreeMap<LockOf, OfLock>,
    clients: BTreeMap<ClientId, Actor>,
    moments: VecDeque<Moment>,
    moments_cut: u64,
    /// The term it began in, the highest that began, and those that somebody led.
    began: Option<Term>,
    highest: Term,
    led: BTreeSet<Term>,
    over: bool,
}

#[derive(Clone, Debug)]
struct Actor {
    lock: LockOf,
    standing: Standing,
    /// Since when it waits, or holds.
    since: ClusterTime,
    gone: bool,
}

impl Tally {
    /// Begins, with these clients.
    pub fn new(clients: impl IntoIterator<Item = (ClientId, LockOf)>) -> Self {
        let mut tally = Self::default();
        for (client, lock) in clients {
            tally.locks.entry(lock.clone()).or_default().clients += 1;
            let actor = Actor { lock, standing: Standing::default(), since: ClusterTime(0), gone: false };
            tally.clients.insert(client, actor);
        }
        tally
    }

    /// The locks, by their recipe and name.
    pub const fn locks(&self) -> &BTreeMap<LockOf, OfLock> {
        &self.locks
    }

    /// What happened, oldest first; and how many moments before those were left out.
    pub fn moments(&self) -> (impl ExactSizeIterator<Item = &Moment>, u64) {
        (self.moments.iter(), self.moments_cut)
    }

    /// How many leaders were elected in the run, as far as was seen.
    pub fn elections(&self) -> usize {
        self.led.iter().filter(|term| self.began.is_none_or(|began| **term > began)).count()
    }

    /// How many terms began in the run.
    pub fn terms(&self) -> u64 {
        self.began.map_or(0, |began| self.highest.0.saturating_sub(began.0))
    }

    /// The highest term.
    pub const fn highest_term(&self) -> Term {
        self.highest
    }

    /// How many times a client took a lock that the history does not reach yet.
    pub fn pending(&self) -> usize {
        self.locks.values().map(|lock| lock.pending.len()).sum()
    }

    /// The run is over: what clients do from now on, such as giving up what they have, is not of
    /// it. The store's history is still taken in, as evidence.
    pub const fn ends(&mut self) {
        self.over = true;
    }

    /// The run begins in this term: 0 for who starts the cluster.
    pub fn begins(&mut self, term: Term) {
        self.began = Some(term);
        self.highest = term;
    }

    /// A term began; whether somebody won it is not said.
    pub fn term_began(&mut self, term: Term) {
        self.began.get_or_insert(term);
        self.highest = self.highest.max(term);
    }

    /// Somebody leads this term: an answer was given in it.
    pub fn term_led(&mut self, at: ClusterTime, term: Term) {
        self.term_began(term);
        if self.led.insert(term) {
            self.moment(Moment { at, lock: Key::default(), client: None, what: Happening::Term(term) });
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

    /// The store as it was at `revision`: what it was before is not known, or not any more.
    pub fn listed(&mut self, revision: Revision, keys: &[KeyValue]) {
        for (of, lock) in &mut self.locks {
            let keys = keys.iter().filter(|kv| of.has(&kv.key));
            lock.queue = Queue::at(revision, keys.map(|kv| (kv.create_revision, (kv.key.clone(), kv.lease))));
            lock.left.retain(|(key, created), _| lock.queue.has(key, *created));
            lock.judge(|| of.name().escape_ascii().to_string());
        }
    }

    /// Changes of the store, whole revisions in order.
    pub fn changed(&mut self, at: ClusterTime, changes: &[(Revision, KeyEvent)]) {
        let Some(&(last, _)) = changes.last() else { return };
        let mut expired = Vec::new();
        for (of, lock) in &mut self.locks {
            let ours = changes.iter().filter(|(_, event)| of.has(event.key()));
            for revision in ours.collect::<Vec<_>>().chunk_by(|one, other| one.0 == other.0) {
                let before = (lock.handoffs, lock.expired);
                let gone = lock.change(at, revision);
                if self.over {
                    (lock.handoffs, lock.expired) = before;
                } else {
                    expired.extend(gone.into_iter().map(|what| (of.name().clone(), what)));
                }
            }
            lock.queue.reach(last);
            lock.judge(|| of.name().escape_ascii().to_string());
        }
        for (lock, (client, what)) in expired {
            self.moment(Moment { at, lock, client: Some(client), what });
        }
    }

    /// A client says something of itself.
    pub fn told(&mut self, told: &Told) {
        if self.over {
            return;
        }
        let Some(mut actor) = self.clients.remove(&told.client) else { return };
        match &told.what {
            What::Stands(standing) => self.stands(told.at, told.client, &mut actor, standing),
            What::Crashed => self.crashed(told.at, told.client, &mut actor),
            What::Stopped => {}
        }
        self.clients.insert(told.client, actor);
    }

    fn stands(&mut self, at: ClusterTime, client: ClientId, actor: &mut Actor, standing: &Standing) {
        let before = std::mem::replace(&mut actor.standing, standing.clone());
        let since = actor.since;
        let Some(lock) = self.locks.get_mut(&actor.lock) else { return };
        let name = actor.lock.name();
        let mut happened = Vec::new();
        if actor.gone {
            actor.gone = false;
            happened.push(Happening::Returned);
        }
        if standing.created != before.created && standing.created > Revision(0) {
            happened.push(Happening::Enqueued(standing.created));
        }
        if standing.belief != before.belief {
            actor.since = at;
            if before.belief == Belief::Holding {
                lock.holders.remove(&client);
                lock.holds.add(at.since(since));
            }
        }
        match (before.belief, standing.belief) {
            (before, now) if before == now => {}
            (_, Belief::Holding) => {
                let waited = at.since(since);
                lock.waits.add(waited);
                happened.push(Happening::Acquired(standing.created, waited));
                let acquisition = Acquisition { at, client, created: standing.created, seen: standing.seen };
                lock.acquire(acquisition, || name.escape_ascii().to_string());
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
        let lock = name.clone();
        for what in happened {
            self.moment(Moment { at, lock: lock.clone(), client: Some(client), what });
        }
    }

    fn crashed(&mut self, at: ClusterTime, client: ClientId, actor: &mut Actor) {
        actor.gone = true;
        let before = std::mem::take(&mut actor.standing);
        let Some(lock) = self.locks.get_mut(&actor.lock) else { return };
        lock.holders.remove(&client);
        if before.belief == Belief::Holding {
            lock.holds.add(at.since(actor.since));
        }
        if matches!(before.belief, Belief::Waiting | Belief::Holding) && before.created > Revision(0) {
            lock.crashed += 1;
            lock.left.insert((before.key, before.created), (client, at));
        }
        let lock = actor.lock.name().clone();
        self.moment(Moment { at, lock, client: Some(client), what: Happening::Crashed(before.belief) });
    }

    fn moment(&mut self, moment: Moment) {
        if self.moments.len() == MOMENTS {
            self.moments.pop_front();
            self.moments_cut += 1;
        }
        self.moments.push_back(moment);
    }
}

impl LockOf {
    /// Whether a key is one of this lock's.
    pub fn has(&self, key: &Key) -> bool {
        match self {
            Self::Queue(name) => key.strip_prefix(&**name).is_some_and(|rest| rest.starts_with(b"/")),
            Self::SingleKey(name) => name == key,
            Self::Watched(_) => false,
        }
    }
}
