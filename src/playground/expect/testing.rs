//! A run that is told moment by moment, and one expectation of it.

use std::time::Duration;

use super::{Expectations, PHRASES, Rule, Strike, Wanted};
use crate::domain::Key;
use crate::domain::play::{ClientId, Expected, Happening, Moment};
use crate::domain::raft::{ClusterTime, NodeId, RaftPicture};
use crate::playground::{Cast, Habits, LockOf, Tally};
use crate::recipe::Kind;
use crate::view::testing::english_left_of_expected;

pub(in crate::playground) struct Run {
    expectations: Expectations,
    now: ClusterTime,
}

pub(super) const LOCK: &str = "/run/lock";

impl Run {
    /// So many clients of one lock are expected to do this.
    pub fn new(words: &str, clients: u32) -> Self {
        Self::of(words, (1..=clients).map(|_| (Kind::Queue, LOCK)))
    }

    /// Clients of these recipes and names.
    pub fn of(words: &str, clients: impl IntoIterator<Item = (Kind, &'static str)>) -> Self {
        let habits = |(kind, name): (Kind, &str)| Habits { kind, name: Key::from(name), ..Habits::default() };
        Self::with(words, clients.into_iter().map(habits))
    }

    /// Clients of a first and a second lock.
    pub fn pairs(words: &str, locks: impl IntoIterator<Item = (&'static str, &'static str)>) -> Self {
        let habits = |(first, second)| Habits {
            kind: Kind::Pair,
            name: Key::from(first),
            second: Some(Key::from(second)),
            ..Habits::default()
        };
        Self::with(words, locks.into_iter().map(habits))
    }

    fn with(words: &str, clients: impl Iterator<Item = Habits>) -> Self {
        let cast = cast(Key::from(LOCK), clients);
        let (rule, text) = Rule::read(words).unwrap();
        let wanted = Wanted { text, lock: None, rule };
        let mut run = Self { expectations: Expectations::new(&[wanted], &cast), now: ClusterTime(0) };
        for (client, habits) in cast.clients {
            let (lock, client) = (habits.lock().name().clone(), Some(client));
            run.expectations.see(&Moment { at: ClusterTime(0), lock, client, what: Happening::Began });
        }
        run
    }

    pub fn tells(&mut self, millis: u64, client: u32, what: Happening) {
        self.tells_of(millis, LOCK, client, what);
    }

    pub fn tells_of(&mut self, millis: u64, lock: &str, client: u32, what: Happening) {
        self.takes(millis, lock, Some(ClientId(client)), what);
    }

    pub fn writes(&mut self, millis: u64, resource: &str, what: Happening) {
        self.takes(millis, resource, Some(ClientId(1)), what);
    }

    pub fn takes(&mut self, millis: u64, lock: &str, client: Option<ClientId>, what: Happening) {
        let at = self.reach(millis);
        self.expectations.see(&Moment { at, lock: Key::from(lock), client, what });
    }

    pub fn look(&mut self, picture: &RaftPicture) {
        self.expectations.look(picture);
    }

    pub fn strike(&mut self, millis: u64, node: u64, leads: bool) {
        let at = self.reach(millis);
        self.expectations.strike(Strike { at, node: NodeId(node), leads });
    }

    pub fn reach(&mut self, millis: u64) -> ClusterTime {
        self.now = ClusterTime(0) + Duration::from_millis(millis);
        self.now
    }

    pub fn stands(&self) -> (Option<bool>, String) {
        let mut expected = self.expectations.stand(&Tally::default(), self.now);
        let Expected { held, evidence, .. } = expected.remove(0);
        assert_eq!(english_left_of_expected(&evidence, &[]), [""; 0], "{evidence}");
        (held, evidence.to_string())
    }
}

fn cast(lock: Key, clients: impl Iterator<Item = Habits>) -> Cast {
    Cast {
        scenario: "test".into(),
        summary: "a test".into(),
        summary_zh: String::new(),
        lock: LockOf::Queue(lock),
        prefix: Key::from("/run/"),
        clients: (1..).map(ClientId).zip(clients).collect(),
        resources: Vec::new(),
    }
}

/// What everything that can be expected says of what was counted of this lock. All of it has to
/// have its words in Chinese.
pub(in crate::playground) fn said_of(tally: &Tally, lock: &Key) -> Vec<String> {
    let wanted = PHRASES.iter().map(|phrase| {
        let (rule, text) = Rule::read(&phrase.example()).unwrap();
        Wanted { text, lock: None, rule }
    });
    let wanted: Vec<Wanted> = wanted.collect();
    let stands = Expectations::new(&wanted, &cast(lock.clone(), std::iter::empty())).stand(tally, ClusterTime(0));
    for said in stands.iter().flat_map(|expected| [&expected.text, &expected.evidence]) {
        assert_eq!(english_left_of_expected(said, &["ledger"]), [""; 0], "{said}");
    }
    stands.into_iter().map(|expected| expected.evidence.to_string()).collect()
}

/// Whether it is known to be so.
pub(super) fn holds(run: &Run) -> bool {
    run.stands().0 == Some(true)
}
