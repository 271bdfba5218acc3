//! Goes through a recording, forwards by feeding the facts, backwards from a checkpoint.
//!
//! ```text
//! lines   ─────────●───────────────●─────────────────●──────────────► end
//!            checkpoint       checkpoint  ◄── back ── here
//!                                 └─────► forward again
//! ```
//! Facts cannot be taken back, so from time to time they are kept. That costs memory, which is
//! bounded: when it is too much, every second checkpoint goes, and they are twice as far apart
//! from then on.

use std::io;
use std::path::Path;

use tokio::time::Instant;

use super::Goal;
use crate::domain::{Revision, Timestamp};
use crate::event::{Observation, Stamped};
use crate::model::Facts;
use crate::record::{Item, OpenError, Place, Reader, Trouble, last_time};
use crate::update::recorded;

/// Observations, and bytes of the file, between two checkpoints, at first.
const APART: u64 = 2_000;
const BYTES_APART: u64 = 1 << 20;
/// How many checkpoints are kept at most, and how much they may weigh together in bytes, as
/// far as that is known.
const MOST: usize = 64;
const WEIGHT: usize = 256 << 20;
/// What a key and what a lease of the facts weigh, roughly, and the facts without any.
const KEY: usize = 640;
const LEASE: usize = 256;
const BARE: usize = 256 << 10;
/// How many steps are made between two looks at the clock.
const STEPS: usize = 16;

/// A recording with a place in it.
pub struct Player {
    reader: Reader,
    /// Whether more may come behind its end.
    follow: bool,
    /// What comes next, read ahead.
    next: Option<Item>,
    /// Where the line of that starts, or will.
    place: Place,
    /// How many observations were taken in.
    count: u64,
    /// The time of the last of them.
    at: Timestamp,
    end: Timestamp,
    checkpoints: Vec<Checkpoint>,
    apart: u64,
    journey: Option<Journey>,
}

/// The facts at a place.
struct Checkpoint {
    place: Place,
    count: u64,
    at: Timestamp,
    facts: Facts,
}

/// Where it is going.
#[derive(Clone, Debug)]
enum Journey {
    /// Behind all that was observed by then.
    Time(Timestamp),
    /// Behind so many observations.
    Count(u64),
    /// Behind the observation that told of this revision; the revision before that.
    Revision(Revision, Revision),
    /// Behind the observation that tells of another revision than this.
    Other(Revision),
    /// Before the observation that told of this revision.
    Before(Revision),
    /// Behind the one that makes something happen to what has this in its name. Otherwise back
    /// to `origin`.
    Find { text: String, from: u64, origin: u64 },
    /// From the begin up to `origin`, for the last place where that happened, if it did: `last`.
    FindBehind { text: String, from: u64, origin: u64, last: Option<Revision> },
    /// Behind the last one.
    End,
}

/// How a journey goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Went {
    /// It goes on.
    On,
    /// It came where it was to come; this is the time there.
    Arrived(Timestamp),
    /// It came to a revision or, where nothing was observed of that, to the next one.
    Reached {
        /// The time there.
        at: Timestamp,
        /// The revision that was asked for.
        asked: Revision,
        /// The revision before the observation that led there; 0 when it is the first of all.
        before: Revision,
    },
    /// The recording ended before; this is the time there.
    Ended(Timestamp),
    /// What was looked for does not follow.
    NotFound {
        /// What was looked for.
        text: String,
        /// The revision at which it last was, before the place where it was looked for.
        behind: Option<Revision>,
    },
}

impl Player {
    /// Opens a recording, at its begin. With `follow` it may grow.
    ///
    /// # Errors
    /// When it is none that can be read.
    pub fn open(path: &Path, budget: u32, follow: bool) -> Result<Self, OpenError> {
        let reader = Reader::open(path)?;
        let begin = reader.header().at;
        let end = last_time(path).map_err(|source| OpenError::Read { path: path.to_owned(), source })?;
        let place = reader.place();
        let start = Checkpoint { place, count: 0, at: begin, facts: Facts::new(budget) };
        Ok(Self {
            reader,
            follow,
            next: None,
            place,
            count: 0,
            at: begin,
            end: end.unwrap_or(begin).max(begin),
            checkpoints: vec![start],
            apart: 1,
            journey: None,
        })
    }

    /// When the recording begins.
    pub const fn begin(&self) -> Timestamp {
        self.reader.header().at
    }

    /// When it ends, as far as it is written.
    pub const fn end(&self) -> Timestamp {
        self.end
    }

    /// The time of the last observation that was taken in.
    pub const fn at(&self) -> Timestamp {
        self.at
    }

    /// How many were taken in.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// How many bytes lie before the next, of how many.
    pub fn bytes(&self) -> (u64, u64) {
        (self.place.offset, self.reader.size())
    }

    /// What was wrong with the lines so far.
    pub const fn trouble(&self) -> &Trouble {
        self.reader.trouble()
    }

    /// Whether it is going somewhere.
    pub const fn is_going(&self) -> bool {
        self.journey.is_some()
    }

    /// What comes next; `None` where nothing more is written.
    ///
    /// # Errors
    /// When the file cannot be read any more.
    pub fn peek(&mut self) -> io::Result<Option<&Item>> {
        while self.next.is_none() {
            self.place = self.reader.place();
            let read = self.reader.next_item()?;
            let read = if self.follow { read } else { read.or_else(|| self.reader.last_item()) };
            match read {
                None => return Ok(None),
                // What was left out is counted by the reader.
                Some(Item::Dropped(at, _)) => self.end = self.end.max(at),
                Some(item) => {
                    self.end = self.end.max(item.at());
                    self.next = Some(item);
                }
            }
        }
        Ok(self.next.as_ref())
    }

    /// Takes the next observation, to be fed to the facts, which are as they were before it.
    ///
    /// # Errors
    /// When the file cannot be read any more.
    pub fn take(&mut self, facts: &Facts) -> io::Result<Option<Stamped<Observation>>> {
        if !matches!(self.peek()?, Some(Item::Observed(_))) {
            return Ok(None);
        }
        self.keep(facts);
        let Some(Item::Observed(observed)) = self.next.take() else { return Ok(None) };
        self.count += 1;
        self.at = self.at.max(observed.at);
        self.place = self.reader.place();
        Ok(Some(observed))
    }

    /// Sets out for a place.
    ///
    /// # Errors
    /// When the file cannot be read any more.
    pub fn go(&mut self, facts: &mut Facts, goal: Goal) -> io::Result<()> {
        match goal {
            Goal::Time(at) => {
                // The clock may have come further than the last observation.
                if at < self.at.max(facts.now()) {
                    self.back_to(facts, |kept| kept.at <= at)?;
                }
                self.journey = Some(Journey::Time(at));
            }
            Goal::Revision(revision) => {
                if facts.link.revision >= revision {
                    self.back_to(facts, |kept| kept.facts.link.revision < revision)?;
                }
                self.journey = Some(Journey::Revision(revision, Revision(0)));
            }
            Goal::End => self.journey = Some(Journey::End),
        }
        Ok(())
    }

    /// Sets out for the place behind the next observation.
    pub fn go_on(&mut self) {
        self.journey = Some(Journey::Count(self.count + 1));
    }

    /// Sets out for the place behind the observation before; whether there is one.
    ///
    /// # Errors
    /// When the file cannot be read any more.
    pub fn go_back(&mut self, facts: &mut Facts) -> io::Result<bool> {
        let Some(count) = self.count.checked_sub(1) else { return Ok(false) };
        self.go_to_count(facts, count)?;
        Ok(true)
    }

    /// Sets out for another revision than the one the store has.
    pub fn go_to_next_revision(&mut self, facts: &Facts) {
        self.journey = Some(Journey::Other(facts.link.revision));
    }

    /// Sets out for the last place before the store had its revision; whether there is one.
    ///
    /// # Errors
    /// When the file cannot be read any more.
    pub fn go_to_previous_revision(&mut self, facts: &mut Facts) -> io::Result<bool> {
        let revision = facts.link.revision;
        if revision.0 == 0 {
            return Ok(false);
        }
        self.back_to(facts, |kept| kept.facts.link.revision < revision)?;
        self.journey = Some(Journey::Before(revision));
        Ok(true)
    }

    /// Sets out for the next thing that happens to what has the text in its name.
    pub fn find(&mut self, facts: &Facts, text: &str) {
        let (text, from) = (text.to_owned(), facts.timeline.next_seq());
        self.journey = Some(Journey::Find { text, from, origin: self.count });
    }

    /// Goes no further.
    pub fn stop(&mut self) {
        self.journey = None;
    }

    /// Goes on, until it comes where it goes or the time is up.
    ///
    /// # Errors
    /// When the file cannot be read any more.
    pub fn work(&mut self, facts: &mut Facts, until: Instant) -> io::Result<Went> {
        loop {
            for _ in 0..STEPS {
                let went = self.step(facts)?;
                if went != Went::On {
                    self.journey = None;
                    return Ok(went);
                }
            }
            if Instant::now() >= until {
                return Ok(Went::On);
            }
        }
    }

    fn step(&mut self, facts: &mut Facts) -> io::Result<Went> {
        let (count, at) = (self.count, self.at);
        let Some(journey) = &mut self.journey else { return Ok(Went::Arrived(at)) };
        let arrived = match journey {
            Journey::Count(goal) => count >= *goal,
            Journey::Revision(asked, before) => {
                if facts.link.revision < *asked {
                    *before = facts.link.revision;
                } else if is_whole(facts) {
                    return Ok(Went::Reached { at, asked: *asked, before: *before });
                }
                false
            }
            Journey::Other(revision) => facts.link.revision != *revision,
            Journey::Find { text, from, .. } => {
                let found = happens_to(facts, *from, text);
                *from = facts.timeline.next_seq();
                found
            }
            Journey::FindBehind { text, from, origin, last } => {
                if happens_to(facts, *from, text) {
                    *last = Some(facts.link.revision);
                }
                *from = facts.timeline.next_seq();
                if count >= *origin {
                    return Ok(Went::NotFound { text: std::mem::take(text), behind: *last });
                }
                false
            }
            Journey::Before(revision) if facts.link.revision >= *revision => {
                self.go_to_count(facts, count.saturating_sub(1))?;
                return Ok(Went::On);
            }
            Journey::Time(_) | Journey::Before(_) | Journey::End => false,
        };
        if arrived {
            return Ok(Went::Arrived(at));
        }
        if let Journey::Time(goal) = *journey
            && self.peek()?.is_some_and(|next| next.at() > goal)
        {
            let goal = goal.max(self.begin());
            recorded::pass_time(facts, goal);
            return Ok(Went::Arrived(goal));
        }
        if let Some(observed) = self.take(facts)? {
            recorded::observe(facts, observed);
            return Ok(Went::On);
        }
        // Only the end is left.
        let end = self.peek()?.map_or(at, Item::at);
        match self.journey.take() {
            Some(Journey::Find { text, origin, .. }) => {
                self.back_to(facts, |kept| kept.count == 0)?;
                let from = facts.timeline.next_seq();
                self.journey = Some(Journey::FindBehind { text, from, origin, last: None });
                Ok(Went::On)
            }
            Some(Journey::FindBehind { text, last, .. }) => Ok(Went::NotFound { text, behind: last }),
            Some(Journey::Time(goal)) if goal < end => {
                recorded::pass_time(facts, goal);
                Ok(Went::Arrived(goal))
            }
            Some(Journey::Revision(asked, before)) if facts.link.revision >= asked => {
                Ok(Went::Reached { at, asked, before })
            }
            _ => {
                recorded::pass_time(facts, end);
                Ok(Went::Ended(end))
            }
        }
    }

    fn go_to_count(&mut self, facts: &mut Facts, count: u64) -> io::Result<()> {
        if count < self.count {
            self.back_to(facts, |kept| kept.count <= count)?;
        }
        self.journey = Some(Journey::Count(count));
        Ok(())
    }

    /// Takes the facts back to the last checkpoint before here that will do.
    fn back_to(&mut self, facts: &mut Facts, will_do: impl Fn(&Checkpoint) -> bool) -> io::Result<()> {
        let count = self.count;
        let fitting = self.checkpoints.iter().rev().find(|kept| kept.count <= count && will_do(kept));
        // The first is kept always.
        let Some(kept) = fitting.or_else(|| self.checkpoints.first()) else { return Ok(()) };
        self.reader.go_to(kept.place)?;
        (self.place, self.count, self.at) = (kept.place, kept.count, kept.at);
        *facts = kept.facts.clone();
        self.next = None;
        Ok(())
    }

    /// Keeps the facts when it is time to.
    fn keep(&mut self, facts: &Facts) {
        let Some(last) = self.checkpoints.last() else { return };
        let observations = self.count.saturating_sub(last.count);
        let bytes = self.place.offset.saturating_sub(last.place.offset);
        // What weighs much takes long to copy, and so is copied more rarely.
        let much = weight(facts) as u64;
        let is_due = observations >= APART * self.apart || bytes >= BYTES_APART.max(much / 8) * self.apart;
        if self.count <= last.count || !is_due {
            return;
        }
        let checkpoint = Checkpoint { place: self.place, count: self.count, at: self.at, facts: facts.clone() };
        self.checkpoints.push(checkpoint);
        let weighs: usize = self.checkpoints.iter().map(|kept| weight(&kept.facts)).sum();
        if self.checkpoints.len() > MOST || (weighs > WEIGHT && self.checkpoints.len() > 2) {
            let mut nth = 0;
            self.checkpoints.retain(|_| {
                nth += 1;
                nth % 2 == 1
            });
            self.apart = self.apart.saturating_mul(2);
        }
    }
}

/// Whether everything that is watched was read once: until then a part of it would look like all.
pub fn is_whole(facts: &Facts) -> bool {
    facts.link.listed || facts.link.scope.is_empty()
}

/// What facts weigh in bytes, roughly.
fn weight(facts: &Facts) -> usize {
    BARE + facts.keyspace().len() * KEY + facts.leases().len() * LEASE
}

/// Whether something that happened from this number on has the text in its name.
fn happens_to(facts: &Facts, from: u64, text: &str) -> bool {
    let has = |bytes: &[u8]| bytes.windows(text.len().max(1)).any(|part| part == text.as_bytes());
    facts
        .timeline
        .from(from)
        .filter_map(|happening| happening.what.party())
        .any(|party| has(party.lock()) || has(&party.key))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::{ClusterId, Key, KeyEvent, KeyRange, KeyValue, LeaseId, Millis, Redaction};
    use crate::event::{Change, LinkState, ListPage};
    use crate::record::{Header, Recorder};

    /// A lock that is passed on from client to client, one a second, `COUNT` times.
    const COUNT: i64 = 4_500;

    fn observations() -> Vec<Stamped<Observation>> {
        let range = KeyRange::prefix(b"/jobs/");
        let mut told = vec![
            (0, Observation::Link(LinkState::Live { endpoint: "http://a:2379".into() })),
            (0, Observation::Cluster(ClusterId(7))),
            (0, Observation::Scope(vec![range.clone()])),
            (1, Observation::Listed(ListPage { range, revision: Revision(1), keys: vec![], first: true, last: true })),
        ];
        let key =
            |nth: i64| Key::from(format!("/jobs/{}/{nth:x}", if nth % 1_000 == 7 { "rare" } else { "often" }).as_str());
        for nth in 1..=COUNT {
            let revision = Revision(nth * 2);
            let put = KeyEvent::Put(KeyValue {
                key: key(nth),
                create_revision: revision,
                mod_revision: revision,
                version: 1,
                lease: LeaseId(nth),
                ..KeyValue::default()
            });
            told.push((nth * 1_000, Observation::Watched(vec![Change { revision, event: put }])));
            let gone = KeyEvent::Delete { key: key(nth), previous: None };
            let revision = revision.next();
            told.push((nth * 1_000 + 500, Observation::Watched(vec![Change { revision, event: gone }])));
        }
        told.into_iter().map(|(at, what)| Stamped { at: Timestamp(at), what }).collect()
    }

    async fn recorded_at(path: &Path) -> Vec<Stamped<Observation>> {
        let told = observations();
        let mut recorder = Recorder::create(path, &Header::new(Timestamp(0), &[], &[], Redaction::None)).unwrap();
        for observed in &told {
            recorder.record(observed).await;
        }
        recorder.end(Timestamp(COUNT * 1_000 + 900), "quit").await;
        told
    }

    /// All that is known and that anybody could see.
    fn seen(facts: &Facts) -> String {
        let keys: Vec<_> =
            facts.locks().map(|lock| (lock.name().to_vec(), lock.state(), lock.holder_count())).collect();
        format!("{} {} {keys:?} {:?}", facts.link.revision, facts.now().0, facts.timeline)
    }

    struct Replay {
        _folder: tempfile::TempDir,
        told: Vec<Stamped<Observation>>,
        player: Player,
        facts: Facts,
    }

    impl Replay {
        async fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.jsonl");
            let told = recorded_at(&path).await;
            let player = Player::open(&path, 200, false).unwrap();
            let facts = Facts::new(200);
            Self { _folder: folder, told, player, facts }
        }

        fn work(&mut self) -> Went {
            let far = Instant::now() + Duration::from_hours(1);
            self.player.work(&mut self.facts, far).unwrap()
        }

        fn go(&mut self, goal: Goal) -> Went {
            self.player.go(&mut self.facts, goal).unwrap();
            self.work()
        }

        /// What is seen after so many observations, from the begin.
        fn expected(&self, count: u64, at: Timestamp) -> String {
            let mut facts = Facts::new(200);
            for observed in &self.told[..usize::try_from(count).unwrap()] {
                recorded::observe(&mut facts, observed.clone());
            }
            recorded::pass_time(&mut facts, at);
            seen(&facts)
        }

        #[track_caller]
        fn is_at(&self, count: u64, at: Timestamp) {
            assert_eq!(self.player.count(), count);
            assert_eq!(seen(&self.facts), self.expected(count, at));
        }
    }

    #[tokio::test]
    async fn every_way_to_a_place_leads_to_the_same_facts() {
        let mut replay = Replay::new().await;
        let end = Timestamp(COUNT * 1_000 + 900);
        let last = replay.told.len() as u64;
        assert_eq!(replay.player.end(), end);
        assert_eq!(replay.go(Goal::End), Went::Ended(end));
        replay.is_at(last, end);
        assert!((3..=MOST).contains(&replay.player.checkpoints.len()), "{}", replay.player.checkpoints.len());
        // Back to a time between two observations, on to a later one, and before the begin.
        let at = Timestamp(2_321_200);
        assert_eq!(replay.go(Goal::Time(at)), Went::Arrived(at));
        replay.is_at(4 + 2 * 2_321 - 1, at);
        let at = at + Millis(2_000);
        assert_eq!(replay.go(Goal::Time(at)), Went::Arrived(at));
        replay.is_at(4 + 2 * 2_323 - 1, at);
        assert_eq!(replay.go(Goal::Time(Timestamp(-5))), Went::Arrived(Timestamp(0)));
        replay.is_at(0, Timestamp(0));
        assert_eq!(replay.go(Goal::Time(Timestamp(i64::MAX))), Went::Ended(end));
        replay.is_at(last, end);
    }

    #[tokio::test]
    async fn observations_and_revisions_are_stepped_over_both_ways() {
        let mut replay = Replay::new().await;
        assert!(!replay.player.go_back(&mut replay.facts).unwrap(), "there is nothing before the begin");
        replay.go(Goal::Revision(Revision(5_000)));
        let here = replay.player.count();
        assert_eq!((here, replay.facts.link.revision), (4 + 4_999, Revision(5_000)));
        for count in [here - 1, here - 2] {
            assert!(replay.player.go_back(&mut replay.facts).unwrap());
            replay.work();
            replay.is_at(count, replay.player.at());
        }
        replay.player.go_on();
        replay.work();
        replay.is_at(here - 1, replay.player.at());
        replay.player.go_to_next_revision(&replay.facts);
        replay.work();
        assert_eq!((replay.player.count(), replay.facts.link.revision), (here, Revision(5_000)));
        assert!(replay.player.go_to_previous_revision(&mut replay.facts).unwrap());
        replay.work();
        assert_eq!((replay.player.count(), replay.facts.link.revision), (here - 1, Revision(4_999)));
        assert!(matches!(replay.go(Goal::Revision(Revision(1_000_000))), Went::Ended(_)));
    }

    #[tokio::test]
    async fn what_is_looked_for_is_found_or_one_stays_where_one_was() {
        let mut replay = Replay::new().await;
        replay.player.find(&replay.facts, "jobs/rare");
        assert_eq!(replay.work(), Went::Arrived(Timestamp(7_000)));
        replay.player.find(&replay.facts, "jobs/rare");
        assert_eq!(replay.work(), Went::Arrived(Timestamp(7_500)), "it is released");
        replay.player.find(&replay.facts, "jobs/rare");
        assert_eq!(replay.work(), Went::Arrived(Timestamp(1_007_000)));
        let (count, at) = (replay.player.count(), replay.player.at());
        replay.player.find(&replay.facts, "nowhere");
        assert_eq!(replay.work(), Went::NotFound { text: "nowhere".into(), behind: None });
        replay.is_at(count, at);
        while !matches!(replay.work(), Went::NotFound { .. }) {
            replay.player.find(&replay.facts, "jobs/rare");
        }
        let (count, at) = (replay.player.count(), replay.player.at());
        replay.player.find(&replay.facts, "jobs/rare");
        let last = Revision(4_007 * 2 + 1);
        assert_eq!(replay.work(), Went::NotFound { text: "jobs/rare".into(), behind: Some(last) });
        replay.is_at(count, at);
    }

    #[tokio::test]
    async fn checkpoints_stay_few() {
        let mut replay = Replay::new().await;
        replay.go(Goal::End);
        let before = replay.player.checkpoints.len();
        for _ in 0..200 {
            let (place, count, at) =
                (replay.player.place, replay.player.count + APART * replay.player.apart, replay.player.at);
            replay.player.count = count;
            replay.player.keep(&replay.facts);
            assert!(replay.player.checkpoints.len() <= MOST + 1, "{before}");
            assert_eq!((replay.player.place, replay.player.at), (place, at));
        }
        assert_eq!(replay.player.checkpoints[0].count, 0, "the begin is kept");
    }

    #[tokio::test]
    async fn a_recording_that_grows_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let header = Header::new(Timestamp(0), &[], &[], Redaction::None);
        let mut recorder = Recorder::create(&path, &header).unwrap();
        let mut player = Player::open(&path, 200, true).unwrap();
        let facts = Facts::new(200);
        assert!(player.peek().unwrap().is_none());
        let told = observations();
        for observed in told.into_iter().take(3) {
            recorder.record(&observed).await;
            while recorder.progress().bytes == player.bytes().0 {
                tokio::task::yield_now().await;
            }
            assert_eq!(player.take(&facts).unwrap(), Some(observed));
            assert!(player.peek().unwrap().is_none());
        }
        recorder.end(Timestamp(5), "quit").await;
        assert!(matches!(player.peek().unwrap(), Some(Item::End(_))));
    }
}
