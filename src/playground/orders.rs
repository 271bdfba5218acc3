//! Every order of things: calls, answers and events overtake each other, are lost, or are done
//! long after their client gave them up. Timers alone are on time.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;

use super::{Contender, Habits, LockOf, Span};
use crate::chance::Chance;
use crate::domain::play::Sight;
use crate::domain::raft::ClusterTime;
use crate::domain::{Key, KeyRange, KeyValue, Revision};
use crate::recipe::testing::{Store, Turn};
use crate::recipe::{Belief, Call, CallId, Command, Failure, Input, Kind, Mistakes, Recipe, Timer, WatchId};

type Who = usize;

/// Clients, a store, and what lies on the table between them.
struct Table {
    clients: Vec<Contender>,
    store: Store,
    now: ClusterTime,
    letters: Vec<Letter>,
    timers: BTreeMap<(Who, Timer), ClusterTime>,
    watches: BTreeMap<Who, (WatchId, KeyRange, Revision)>,
    held: Vec<u32>,
    /// What is there by the word of those who watch.
    known: BTreeMap<Who, BTreeMap<Key, Vec<u8>>>,
}

#[derive(Clone, Debug)]
enum Letter {
    ToStore(Who, CallId, Call),
    /// Nobody waits for its answer any more.
    Late(Call),
    /// Lies at the store until its turn comes.
    Waiting(Who, CallId, Turn),
    /// The same whose caller has gone, which the server will notice.
    Orphan(Turn),
    ToClient(Who, Input),
}

/// What is chosen of all that could happen next, and what becomes of it.
type Choice = (u16, u8);

impl Table {
    fn of(kind: Kind, clients: usize, mistakes: Mistakes) -> Self {
        let habits = Habits { kind, mistakes, ..habits() };
        Self::with(&vec![habits; clients])
    }

    fn with(habits: &[Habits]) -> Self {
        let contender = |(number, habits): (u64, &Habits)| Contender::new(habits.clone(), Chance::new(1, number));
        let mut table = Self {
            clients: (0..).zip(habits).map(contender).collect(),
            store: Store::default(),
            now: ClusterTime(0),
            letters: Vec::new(),
            timers: BTreeMap::new(),
            watches: BTreeMap::new(),
            held: vec![0; habits.len()],
            known: BTreeMap::new(),
        };
        for who in 0..habits.len() {
            table.tell(who, Input::Start);
        }
        table
    }

    fn tell(&mut self, who: Who, input: Input) {
        let before = self.clients[who].standing().belief;
        for command in self.clients[who].step(self.now, input) {
            match command {
                Command::Call(id, call) => self.letters.push(Letter::ToStore(who, id, call)),
                Command::Watch { watch, range, from } => {
                    self.watches.insert(who, (watch, range, from));
                }
                Command::Unwatch(watch) => {
                    if self.watches.get(&who).is_some_and(|(on, ..)| *on == watch) {
                        self.watches.remove(&who);
                    }
                }
                Command::Set(timer, at) => {
                    self.timers.insert((who, timer), at);
                }
                Command::Abandon(id) => {
                    self.letters = self.letters.drain(..).map(|letter| abandoned(letter, who, id)).collect();
                }
                Command::Saw(sight) => self.learn(who, sight),
                Command::Crashed => {
                    self.known.remove(&who);
                    self.watches.remove(&who);
                    self.timers.retain(|(of, _), _| *of != who);
                    self.letters = self.letters.drain(..).filter_map(|letter| outlives(letter, who)).collect();
                }
                Command::Report(_) | Command::Write(_) | Command::Stopped => {}
            }
        }
        if before != Belief::Holding && self.clients[who].standing().belief == Belief::Holding {
            self.held[who] += 1;
        }
    }

    fn learn(&mut self, who: Who, sight: Sight) {
        let known = self.known.entry(who).or_default();
        let (key, before, now) = match sight {
            Sight::Appeared(key, value) => (key.clone(), known.insert(key, value), false),
            Sight::Changed(key, value) => (key.clone(), known.insert(key, value), true),
            Sight::Went(key) => (key.clone(), known.remove(&key), true),
        };
        assert_eq!(before.is_some(), now, "{key:?}: what is told does not follow from what was told before");
    }

    fn next_timer(&self) -> Option<(ClusterTime, (Who, Timer))> {
        self.timers.iter().map(|(what, at)| (*at, *what)).min()
    }

    fn ring(&mut self) -> bool {
        let Some((at, (who, timer))) = self.next_timer() else { return false };
        self.now = self.now.max(at);
        self.timers.remove(&(who, timer));
        self.tell(who, Input::Timer(timer));
        true
    }

    fn news(&self) -> Vec<Who> {
        let has = |(_, range, next): &(WatchId, KeyRange, Revision)| !self.store.since(range, *next).is_empty();
        self.watches.iter().filter(|(_, watch)| has(watch)).map(|(who, _)| *who).collect()
    }

    /// Lets one of all the things happen that could.
    fn happen(&mut self, (pick, fate): Choice) {
        while self.next_timer().is_some_and(|(at, _)| at <= self.now) {
            self.ring();
        }
        let news = self.news();
        let pick = usize::from(pick) % (self.letters.len() + news.len() + 1);
        if pick < self.letters.len() {
            let letter = self.letters.remove(pick);
            self.deliver(letter, fate);
        } else if let Some(who) = news.get(pick - self.letters.len()) {
            self.tell_news(*who, fate);
        } else if fate == 0 {
            let who = self.clients.len() - 1;
            self.tell(who, Input::Crash);
        } else {
            self.ring();
        }
    }

    fn deliver(&mut self, letter: Letter, fate: u8) {
        match letter {
            Letter::ToClient(who, input) => self.tell(who, input),
            Letter::Late(call) => self.done_for_nobody(&call),
            Letter::Orphan(turn) => self.store.hang_up(turn),
            Letter::Waiting(who, id, turn) if fate < 10 => {
                self.letters.push(Letter::Orphan(turn));
                self.letters.push(Letter::ToClient(who, Input::Answer(id, Err(Failure::Unanswered))));
            }
            Letter::Waiting(who, id, turn) => self.letters.push(match self.store.answer(&turn) {
                Some(answer) => Letter::ToClient(who, Input::Answer(id, Ok(answer))),
                None => Letter::Waiting(who, id, turn),
            }),
            Letter::ToStore(who, id, call) if call.is_patient() && fate >= 60 => {
                self.letters.push(match self.store.enqueue(self.now, &call) {
                    Ok(turn) => Letter::Waiting(who, id, turn),
                    Err(failure) => Letter::ToClient(who, Input::Answer(id, Err(failure))),
                });
            }
            Letter::ToStore(who, id, call) => {
                let answer = match fate {
                    // Lost on the way there, on the way back, or stuck.
                    0..20 => Err(Failure::Unanswered),
                    20..40 => {
                        self.done_for_nobody(&call);
                        Err(Failure::Unanswered)
                    }
                    40..60 => {
                        self.letters.push(Letter::Late(call));
                        Err(Failure::Unanswered)
                    }
                    _ => self.store.ask(self.now, &call),
                };
                self.letters.push(Letter::ToClient(who, Input::Answer(id, answer)));
            }
        }
    }

    fn done_for_nobody(&mut self, call: &Call) {
        if call.is_patient() {
            self.letters.extend(self.store.enqueue(self.now, call).map(Letter::Orphan));
        } else {
            let _ = self.store.ask(self.now, call);
        }
    }

    /// The oldest letter that something comes of.
    fn next_letter(&self) -> Option<usize> {
        let moves = |letter: &Letter| match letter {
            Letter::Waiting(.., turn) => self.store.answer(turn).is_some(),
            _ => true,
        };
        self.letters.iter().position(moves)
    }

    /// Lets the next thing happen as it should; whether there was one before any timer.
    fn go_on(&mut self) -> bool {
        if let Some(letter) = self.next_letter() {
            let letter = self.letters.remove(letter);
            self.deliver(letter, u8::MAX);
        } else if let Some(who) = self.news().first() {
            self.tell_news(*who, u8::MAX);
        } else {
            return false;
        }
        true
    }

    fn tell_news(&mut self, who: Who, fate: u8) {
        let Some((watch, range, next)) = self.watches.remove(&who) else { return };
        if fate < 30 {
            return self.tell(who, Input::WatchLost(watch));
        }
        let news = self.store.since(&range, next);
        self.watches.insert(who, (watch, range, self.store.revision.next()));
        for (revision, event) in news {
            self.tell(who, Input::Changed { watch, revision, event });
        }
    }

    /// Who believes that it holds and is not first.
    fn wrong(&self) -> Option<Who> {
        self.clients.iter().position(|client| {
            let standing = client.standing();
            let first = match client.habits().lock() {
                LockOf::Queue(name) => self.store.first(&[&*name, &b"/"[..]].concat()),
                LockOf::SingleKey(name) | LockOf::Watched(name) => self.store.first(&name),
            };
            // A key whose lease comes late hangs on none at first.
            let is_own = |kv: &KeyValue| kv.lease == standing.lease || kv.lease.is_none();
            let is_first = || first.is_some_and(|kv| is_own(kv) && kv.key == standing.key);
            let is_pair = client.habits().kind == Kind::Pair;
            let has_second = || self.store.first(b"/b/").is_some_and(is_own);
            standing.belief == Belief::Holding && !(is_first() && (!is_pair || has_second()))
        })
    }
}

/// A client of the lock `/a`.
fn habits() -> Habits {
    Habits {
        name: "/a".into(),
        second: Some("/b".into()),
        writes: Some(Duration::from_millis(700)),
        ttl: Duration::from_secs(5),
        think: Span::millis(0, 500),
        hold: Span::millis(0, 2_000),
        away: Span::millis(0, 3_000),
        ..Habits::default()
    }
}

/// What becomes of a client's letters when it gives up a call.
fn abandoned(letter: Letter, client: Who, call: CallId) -> Letter {
    match letter {
        Letter::Waiting(who, id, turn) if who == client && id == call => Letter::Orphan(turn),
        Letter::ToStore(who, id, what) if who == client && id == call => Letter::Late(what),
        letter => letter,
    }
}

/// What of a client's letters there still is when it crashed: what it asked for is under way.
fn outlives(letter: Letter, crashed: Who) -> Option<Letter> {
    match letter {
        Letter::ToStore(who, _, call) if who == crashed => Some(Letter::Late(call)),
        Letter::Waiting(who, _, turn) if who == crashed => Some(Letter::Orphan(turn)),
        Letter::ToClient(who, _) if who == crashed => None,
        letter => Some(letter),
    }
}

fn choices(most: usize) -> impl Strategy<Value = Vec<Choice>> {
    proptest::collection::vec((any::<u16>(), any::<u8>()), 1..most)
}

fn check(kind: Kind, mistakes: Mistakes, choices: Vec<Choice>) -> Result<(), TestCaseError> {
    let mut table = Table::of(kind, 4, mistakes);
    for (at, choice) in choices.into_iter().enumerate() {
        table.happen(choice);
        if let Some(who) = table.wrong() {
            let standing = table.clients[who].standing();
            return Err(TestCaseError::fail(format!("choice {at}: {standing:?} is not first")));
        }
    }
    // From here on all goes well, in the order of asking: nobody may have been forgotten.
    let before = table.held.clone();
    let mut turns = 0;
    while table.held.iter().zip(&before).any(|(now, before)| now == before) {
        turns += 1;
        if turns == 20_000 {
            return Err(TestCaseError::fail(format!("held {before:?} times, then {:?}", table.held)));
        }
        if !table.go_on() {
            table.ring();
        }
    }
    Ok(())
}

/// Clients that register, publish and campaign, and two that watch: at the end these two know what
/// is there.
fn check_watchers(choices: Vec<Choice>) -> Result<(), TestCaseError> {
    let of = |kind, name: &str| Habits { kind, name: name.into(), value: b"v".to_vec(), ..habits() };
    let mut table = Table::with(&[
        of(Kind::Watch, "/s/"),
        of(Kind::Observe, "/s/e"),
        of(Kind::Registration, "/s/1"),
        of(Kind::Publish, "/s/2"),
        of(Kind::Election, "/s/e"),
        of(Kind::Election, "/s/e"),
    ]);
    for choice in choices {
        table.happen(choice);
    }
    while [0, 1].iter().any(|watcher| !table.watches.contains_key(watcher)) {
        if !table.go_on() {
            table.ring();
        }
    }
    while table.go_on() {}
    let there: BTreeMap<_, _> = table.store.keys.values().map(|kv| (kv.key.clone(), kv.value.clone())).collect();
    let leads = table.store.first(b"/s/e/").map(|kv| (kv.key.clone(), kv.value.clone()));
    prop_assert_eq!(table.known.get(&0).cloned().unwrap_or_default(), there);
    prop_assert_eq!(table.known.get(&1).cloned().unwrap_or_default(), leads.into_iter().collect());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn in_no_order_does_a_queue_have_two_holders_or_forget_a_client(choices in choices(600)) {
        check(Kind::Queue, Mistakes::default(), choices)?;
    }

    #[test]
    fn in_no_order_does_a_lock_in_six_steps(choices in choices(600)) {
        check(Kind::SixSteps, Mistakes::default(), choices)?;
    }

    #[test]
    fn in_no_order_does_a_herd(choices in choices(600)) {
        check(Kind::Herd, Mistakes::default(), choices)?;
    }

    #[test]
    fn in_no_order_does_an_election(choices in choices(600)) {
        check(Kind::Election, Mistakes::default(), choices)?;
    }

    #[test]
    fn in_no_order_does_a_lock_of_the_lock_api(choices in choices(600)) {
        check(Kind::LockApi, Mistakes::default(), choices)?;
    }

    #[test]
    fn in_no_order_does_an_election_of_the_election_api(choices in choices(600)) {
        check(Kind::ElectionApi, Mistakes::default(), choices)?;
    }

    #[test]
    fn in_no_order_does_a_pair_of_locks(choices in choices(600)) {
        check(Kind::Pair, Mistakes::default(), choices)?;
    }

    #[test]
    fn in_any_order_those_who_watch_know_in_the_end_what_is_there(choices in choices(600)) {
        check_watchers(choices)?;
    }

    #[test]
    fn in_no_order_does_a_lock_of_one_key(choices in choices(600)) {
        check(Kind::SingleKey, Mistakes::default(), choices)?;
    }
}

/// Whether some of many orders of clients with these mistakes shows two holders.
fn shows_two_holders(kind: Kind, mistakes: Mistakes) -> bool {
    let mut chance = Chance::new(9, 0);
    (0..200).any(|_| {
        let mut table = Table::of(kind, 4, mistakes);
        (0..600).any(|_| {
            let drawn = chance.up_to(u64::MAX - 1).to_le_bytes();
            table.happen((u16::from_le_bytes([drawn[0], drawn[1]]), drawn[2]));
            table.wrong().is_some()
        })
    })
}

#[test]
fn some_order_shows_the_missing_second_look() {
    let wrong = Mistakes { no_recheck: true, ..Mistakes::default() };
    for kind in [Kind::Queue, Kind::SixSteps, Kind::Herd, Kind::Election, Kind::Pair] {
        assert!(shows_two_holders(kind, wrong), "these tests would not notice that {kind} is broken");
    }
}
