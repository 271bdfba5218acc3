//! Who held one lock, told from the store's revisions alone, without having watched.
//!
//! ```text
//! what was there before ─► facts ─┐
//! changes, revision by revision ──┴─► settle ─► holds that ended ─► cause? ─► handoffs
//! ```
//! It is the model itself that plays them, on facts of their own, so that who holds a queue, an
//! election or a read-write lock is decided where it is decided for the screen. What remains is
//! why a hold ended. Revisions tell less of that than a watch does, and what they do not tell
//! stays unknown:
//!
//! | what is seen | what it means |
//! |---|---|
//! | the key had no lease | it was deleted |
//! | its lease is alive now, has other keys in the lock, or gets one later | it was released |
//! | the same revision puts a key, or deletes keys of other leases | a client's request deleted it: revoking or expiring deletes the keys of one lease and does nothing else |
//! | neither | unknown: its lease may have run out, been revoked, or been given up right after |
//!
//! No revision tells when it was made, so there are no times.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::domain::{Key, KeyEvent, LeaseId, Revision, Timestamp};
use crate::event::{Change, ListPage, Past};
use crate::layout::Recognised;

use super::cause::Cause;
use super::facts::Facts;
use super::intake::How;
use super::lock::{History, Hold};
use super::poll_plan::PollPlan;

/// How many handoffs are held back while the cause of the first of them may still turn up. Fewer
/// than the holds that a lock remembers, where the cause is filled in.
const HELD_BACK: usize = 100;

/// One client's turn with the lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Its key.
    pub key: Key,
    /// The key's lease.
    pub lease: LeaseId,
    /// The key's create_revision, which is the fencing token.
    pub create_revision: Revision,
    /// The revision at which it came first; `None` when that was before all that is told.
    pub from: Option<Revision>,
    /// Who its value says it is.
    pub owner: Option<String>,
}

/// A hold ended: the lock passed on, or was free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handoff {
    /// The revision that ended the hold.
    pub revision: Revision,
    /// Who held.
    pub from: Turn,
    /// Who came first by that; nobody when none waited, or when others go on holding.
    pub to: Vec<Turn>,
    /// Why the hold ended.
    pub cause: Cause,
}

/// The past of one lock while it is played.
#[derive(Clone, Debug)]
pub struct Handoffs {
    name: Key,
    facts: Facts,
    since: Revision,
    compacted: Option<Revision>,
    to: Revision,
    told: Revision,
    gaps: Vec<(Revision, Revision)>,
    /// What the lock was when it was last seen to be one.
    recognised: Option<Recognised>,
    /// Who holds at the revision that was played last.
    turns: Vec<Turn>,
    held_back: VecDeque<Handoff>,
    ready: VecDeque<Handoff>,
}

impl Handoffs {
    /// Nothing played yet of the lock with this name.
    pub fn of(name: Key) -> Self {
        Self {
            name,
            facts: Facts::default(),
            since: Revision::default(),
            compacted: None,
            to: Revision::default(),
            told: Revision::default(),
            gaps: Vec::new(),
            recognised: None,
            turns: Vec::new(),
            held_back: VecDeque::new(),
            ready: VecDeque::new(),
        }
    }

    /// The lock's name.
    pub const fn name(&self) -> &Key {
        &self.name
    }

    /// The first revision that is told of.
    pub const fn since(&self) -> Revision {
        self.since
    }

    /// The first revision that is told of and that the store has reached; `None` when all there is
    /// was compacted.
    pub fn first_told(&self) -> Option<Revision> {
        (self.since <= self.to).then_some(self.since)
    }

    /// The compaction that took what was before.
    pub const fn compacted(&self) -> Option<Revision> {
        self.compacted
    }

    /// The last revision that is told of.
    pub const fn to(&self) -> Revision {
        self.to
    }

    /// The revision that was played last.
    pub const fn told(&self) -> Revision {
        self.told
    }

    /// Stretches that were compacted while they were read: behind the first revision, up to the
    /// second.
    pub fn gaps(&self) -> &[(Revision, Revision)] {
        &self.gaps
    }

    /// What the lock was when it was last seen; `None` when there was no lock of this name.
    pub const fn recognised(&self) -> Option<Recognised> {
        self.recognised
    }

    /// Who holds after all that was played.
    pub fn turns(&self) -> &[Turn] {
        &self.turns
    }

    /// The next handoff whose cause is known, or will not be. In the order of revisions.
    pub fn next_handoff(&mut self) -> Option<Handoff> {
        self.ready.pop_front()
    }

    /// Plays a part; `at` is when it was learnt.
    pub fn take(&mut self, at: Timestamp, part: Past) {
        match part {
            Past::Begun { since, to, compacted } => (self.since, self.to, self.compacted) = (since, to, compacted),
            Past::Listed(page) => self.take_page(at, page),
            Past::Changes { changes, alive } => self.take_changes(at, &changes, &alive),
            Past::Compacted { from, to } => self.gaps.push((from, to)),
            Past::Ended { .. } => self.end(),
        }
    }

    fn take_page(&mut self, at: Timestamp, page: ListPage) {
        let (revision, last) = (page.revision, page.last);
        self.facts.timeline.trim();
        // What stood there before was told, or there was nothing: either way it is known.
        if !self.gaps.is_empty() && !self.facts.listing.done.contains(&page.range) {
            self.facts.listing.done.push(page.range.clone());
        }
        self.facts.take_page(at, page);
        if last {
            self.look(revision);
        }
    }

    fn take_changes(&mut self, at: Timestamp, changes: &[Change], alive: &[LeaseId]) {
        let alive: BTreeSet<LeaseId> = alive.iter().copied().collect();
        for changes in changes.chunk_by(|one, other| one.revision == other.revision) {
            let Some(revision) = changes.first().map(|change| change.revision) else { continue };
            let by_client = self.is_by_client(changes);
            let renamed: Vec<&Key> = changes.iter().filter_map(put).collect();
            self.facts.timeline.trim();
            self.facts.take_in(at, How::Filled { behind: self.since }, changes.to_vec());
            self.settle_causes(by_client, &alive);
            self.look(revision);
            self.name_owners(&renamed);
            // Nobody asks a lease about the past.
            self.facts.plan = PollPlan::default();
            self.facts.leases.sweep(at);
        }
    }

    /// Whether one revision does what only a client's own request can.
    fn is_by_client(&self, changes: &[Change]) -> bool {
        let mut leases = BTreeSet::new();
        for change in changes {
            match &change.event {
                KeyEvent::Put(_) => return true,
                KeyEvent::Delete { key, previous } => {
                    let known = || self.facts.key(key).map(|key| key.lease());
                    leases.extend(previous.as_ref().map(|kv| kv.lease).or_else(known));
                }
            }
        }
        leases.len() > 1
    }

    /// Settles the causes that can be told by what the last revision left behind.
    fn settle_causes(&mut self, by_client: bool, alive: &BTreeSet<LeaseId>) {
        let facts = &mut self.facts;
        let revision = facts.link.revision;
        for open in facts.pending.take_all() {
            let is_new = facts.timeline.get(open.seq).is_some_and(|happening| happening.revision == revision);
            if alive.contains(&open.lease) || facts.leases.key_count(open.lease) > 0 {
                facts.settle_cause(open, Cause::Released);
            } else if by_client && is_new {
                facts.settle_cause(open, Cause::Deleted);
            } else {
                facts.pending.push(open);
            }
        }
        for open in facts.pending.take_surplus(HELD_BACK) {
            facts.settle_cause(open, Cause::Unknown);
        }
    }

    /// Notes what a revision did to the lock.
    fn look(&mut self, revision: Revision) {
        self.told = self.told.max(revision);
        if let Some(lock) = self.facts.lock_named(&self.name) {
            self.recognised = Some(lock.lock.recognised);
        }
        let ended_now = |hold: &&Hold| hold.ended.is_some_and(|end| end.revision == revision);
        let ended: Vec<Hold> = holds(&self.facts, &self.name).filter(ended_now).cloned().collect();
        let ended: Vec<_> = ended.iter().filter_map(|hold| Some((self.end_turn(hold), hold.ended?.cause))).collect();
        let begun: Vec<Turn> = holds(&self.facts, &self.name)
            .filter(|hold| hold.ended.is_none() && self.turns.iter().all(|turn| !is_same(turn, hold)))
            .map(|hold| self.turn(hold))
            .collect();
        for (from, cause) in ended {
            self.held_back.push_back(Handoff { revision, from, to: begun.clone(), cause });
        }
        self.turns.extend(begun);
        // Keys that turn out to be no lock are held by nobody.
        let held = self.facts.lock_named(&self.name).map(|lock| &lock.lock.held[..]).unwrap_or_default();
        self.turns.retain(|turn| held.contains(&turn.create_revision));
        if held.len() > self.turns.len() {
            let found = self.holding();
            let is_known = |found: &Turn| self.turns.iter().any(|turn| turn.create_revision == found.create_revision);
            let found: Vec<Turn> = found.into_iter().filter(|found| !is_known(found)).collect();
            self.turns.extend(found);
        }
        self.let_go(false);
    }

    /// Takes out the turn that a hold was.
    fn end_turn(&mut self, hold: &Hold) -> Turn {
        match self.turns.iter().position(|turn| is_same(turn, hold)) {
            Some(at) => self.turns.remove(at),
            None => self.turn(hold),
        }
    }

    fn turn(&self, hold: &Hold) -> Turn {
        Turn {
            key: hold.key.clone(),
            lease: hold.lease,
            create_revision: hold.create_revision,
            from: hold.from,
            owner: self.owner(&hold.key),
        }
    }

    fn owner(&self, key: &[u8]) -> Option<String> {
        self.facts.key(key).and_then(|key| key.decoded().owner)
    }

    /// Who is found holding; since when nobody knows.
    fn holding(&self) -> Vec<Turn> {
        let holders = self.facts.lock_named(&self.name).into_iter().flat_map(|lock| lock.holders());
        holders
            .map(|key| Turn {
                key: key.key().into(),
                lease: key.lease(),
                create_revision: key.token(),
                from: None,
                owner: key.decoded().owner,
            })
            .collect()
    }

    /// A leader may say something else in the middle of its turn.
    fn name_owners(&mut self, put: &[&Key]) {
        let owners: BTreeMap<_, _> = self
            .turns
            .iter()
            .filter(|turn| put.contains(&&turn.key))
            .filter_map(|turn| Some((turn.key.clone(), self.owner(&turn.key)?)))
            .collect();
        for turn in &mut self.turns {
            if let Some(owner) = owners.get(&turn.key) {
                turn.owner = Some(owner.clone());
            }
        }
    }

    /// Lets go of the handoffs that wait for nothing any more; all of them at the `end`.
    fn let_go(&mut self, end: bool) {
        let mut waiting = self.held_back.len();
        while let Some(front) = self.held_back.front_mut() {
            if front.cause == Cause::Pending {
                let end_of = |hold: &Hold| hold.ended.filter(|end| end.revision == front.revision);
                let settled = holds(&self.facts, &self.name)
                    .filter(|hold| hold.create_revision == front.from.create_revision)
                    .find_map(end_of);
                front.cause = settled.map_or(Cause::Unknown, |end| end.cause);
            }
            if front.cause == Cause::Pending {
                if !end && waiting <= HELD_BACK {
                    return;
                }
                front.cause = Cause::Unknown;
            }
            waiting -= 1;
            self.ready.extend(self.held_back.pop_front());
        }
    }

    fn end(&mut self) {
        for open in self.facts.pending.take_all() {
            self.facts.settle_cause(open, Cause::Unknown);
        }
        self.let_go(true);
        self.told = self.told.max(self.to);
    }
}

/// Whether a turn is the one that a hold tells of.
fn is_same(turn: &Turn, hold: &Hold) -> bool {
    turn.create_revision == hold.create_revision && (hold.from.is_none() || turn.from == hold.from)
}

fn holds<'a>(facts: &'a Facts, name: &[u8]) -> impl Iterator<Item = &'a Hold> {
    facts.lock_named(name).and_then(|lock| lock.history()).into_iter().flat_map(History::holds)
}

fn put(change: &Change) -> Option<&Key> {
    match &change.event {
        KeyEvent::Put(kv) => Some(&kv.key),
        KeyEvent::Delete { .. } => None,
    }
}
