//! What others are shown of a run: pictures for a screen, and the judge's own books.
//!
//! A picture is made when somebody asks for one, so that a run that nobody looks at pays nothing;
//! the judge waits for as long as that takes: of a thousand clients under two milliseconds without
//! any optimisation (1.7 ms measured), and some twenty pictures a second are asked for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::tally::{Happening, OfClient};
use super::{Cast, ClientId, LockOf, Tally};
use crate::domain::play::{ClientPicture, Expected, Narration, PlayPicture, ResourcePicture, SecondPicture, Stake};
use crate::domain::raft::{ClusterTime, TermRecord};
use crate::pace::Clock;

/// What a run is about.
#[derive(Clone, Debug)]
pub(super) struct Title {
    scenario: String,
    summary: String,
    summary_zh: String,
    lock: LockOf,
}

impl Title {
    pub fn of(cast: &Cast) -> Self {
        Self {
            scenario: cast.scenario.clone(),
            summary: cast.summary.clone(),
            summary_zh: cast.summary_zh.clone(),
            lock: cast.lock.clone(),
        }
    }

    /// The lock that it is about.
    pub const fn lock(&self) -> &LockOf {
        &self.lock
    }
}

/// The judge's books, with what the director of a run has told last.
#[derive(Debug, Default)]
pub(super) struct Desk {
    pub tally: Tally,
    pub narration: Option<Narration>,
    pub expectations: Vec<Expected>,
}

impl Desk {
    /// A picture of the run at this time, with the moments from this one on.
    pub fn picture(&self, title: &Title, now: ClusterTime, since: u64) -> PlayPicture {
        let (moments, before) = self.tally.moments_since(since);
        let places: BTreeMap<_, _> = self.tally.locks().keys().map(|lock| (lock, places(&self.tally, lock))).collect();
        let there = self.tally.clients().iter().filter(|(_, client)| !client.removed);
        let clients = there.map(|(id, client)| {
            picture(*id, client, |lock| places.get(lock).and_then(|places| places.get(id)).copied())
        });
        PlayPicture {
            now,
            scenario: title.scenario.clone(),
            summary: title.summary.clone(),
            summary_zh: title.summary_zh.clone(),
            lock: title.lock.name().clone(),
            clients: clients.collect(),
            resources: self.tally.ledgers().iter().map(ResourcePicture::from).collect(),
            moments: moments.cloned().collect(),
            before,
            narration: self.narration.clone(),
            expectations: self.expectations.clone(),
        }
    }
}

fn places(tally: &Tally, lock: &LockOf) -> BTreeMap<ClientId, usize> {
    // Of two keys of one client the older one is its place.
    let mut places = BTreeMap::new();
    for (place, client) in tally.places(lock).enumerate() {
        if let Some(client) = client {
            places.entry(client).or_insert(place);
        }
    }
    places
}

fn picture(id: ClientId, client: &OfClient, place: impl Fn(&LockOf) -> Option<usize>) -> ClientPicture {
    let standing = &client.standing;
    ClientPicture {
        id,
        recipe: client.kind.name().to_owned(),
        lock: client.lock.name().clone(),
        life: client.life,
        step: standing.step,
        belief: standing.belief,
        place: place(&client.lock),
        second: client.second.as_ref().map(|lock| SecondPicture { lock: lock.name().clone(), place: place(lock) }),
        stake: Stake {
            key: standing.key.clone(),
            lease: standing.lease,
            created: client.created(),
            ahead: standing.ahead.clone(),
        },
        ttl: client.ttl,
        heartbeat: client.heartbeat,
        hold: client.hold,
        skew_ms: client.skew_ms,
        cut: client.cut,
    }
}

/// A look at a run, and a word with its judge. Clones are the same; the run need not be there
/// any more.
#[derive(Clone, Debug)]
pub struct View {
    desk: Arc<Mutex<Desk>>,
    title: Arc<Title>,
    clock: Clock,
}

impl View {
    pub(super) fn new(desk: Desk, title: Title, clock: Clock) -> Self {
        Self { desk: Arc::new(Mutex::new(desk)), title: Arc::new(title), clock }
    }

    /// The run now, with what happened since the moment of this number: the `before` of the
    /// picture before, and as many as it had, make the next one.
    pub fn picture(&self, since: u64) -> PlayPicture {
        self.desk().picture(&self.title, self.clock.now(), since)
    }

    /// The judge's books, for as long as `look` takes; the judge waits meanwhile.
    pub fn look<T>(&self, look: impl FnOnce(&Tally) -> T) -> T {
        look(&self.desk().tally)
    }

    /// Tells the judge of something that is not a client's.
    pub fn note(&self, what: Happening) {
        let now = self.clock.now();
        self.desk().tally.note(now, what);
    }

    /// What a cluster of one's own tells of its latest terms.
    pub fn see_terms(&self, records: &[TermRecord]) {
        self.desk().tally.terms_were(records);
    }

    /// What the director has told last, and how what is expected stands.
    pub fn set_told(&self, narration: Option<Narration>, expectations: Vec<Expected>) {
        let mut desk = self.desk();
        desk.narration = narration;
        desk.expectations = expectations;
    }

    /// The lock that the run is about.
    pub(super) fn lock(&self) -> &LockOf {
        self.title.lock()
    }

    pub(super) fn now(&self) -> ClusterTime {
        self.clock.now()
    }

    pub(super) fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The books as they are in the end.
    pub(super) fn close(self) -> Tally {
        match Arc::try_unwrap(self.desk) {
            Ok(desk) => desk.into_inner().unwrap_or_else(PoisonError::into_inner).tally,
            // Somebody still looks at it.
            Err(desk) => desk.lock().unwrap_or_else(PoisonError::into_inner).tally.clone(),
        }
    }
}
