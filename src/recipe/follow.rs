//! The machine of those who only watch: they know what is there, and tell what changes.
//!
//! ```text
//!   idle ─ Start ─► list ─► watch from the listed revision on ─ a change ─► tell it
//!                    ▲            │
//!                    └────────────┘ watch lost: list again, tell what is different now
//! ```
//!
//! No lease is needed for that, and nothing is put. What was missed between two watches is
//! told in sum: a key that went and came back meanwhile went and appeared.

use std::collections::BTreeMap;
use std::fmt::Debug;

use super::place::Place;
use super::session::AGAIN;
use super::{Activity, Answer, Belief, Call, CallId, Command, Failure, Input, Recipe, Standing, Step, Timer};
use crate::domain::play::Sight;
use crate::domain::raft::ClusterTime;
use crate::domain::{Key, KeyEvent, KeyRange, KeyValue, Revision};

/// The keys that are there.
pub type Keys = BTreeMap<Key, KeyValue>;

/// What of the keys a watcher looks at.
pub trait Eye: Debug + Send {
    /// What it sees of them; of one key's change, all that can be different after it.
    fn sees<'keys>(&self, keys: &'keys Keys, changed: Option<&Key>) -> Vec<&'keys KeyValue>;
}

/// A client that watches a range.
#[derive(Clone, Debug)]
pub struct Follower<E> {
    range: KeyRange,
    eye: E,
    keys: Keys,
    state: State,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// The call is none while its failure is waited out.
    Listing(Option<CallId>),
    Following,
}

impl<E: Eye> Follower<E> {
    /// A client that watches all keys with this prefix.
    pub(super) fn by(eye: E, prefix: &[u8]) -> Self {
        let range = KeyRange::prefix(prefix);
        Self { range, eye, keys: Keys::new(), state: State::Idle, place: Place::default() }
    }

    fn list(&mut self) -> Command {
        let (id, call) = self.place.call(Call::List { range: self.range.clone() });
        self.state = State::Listing(Some(id));
        call
    }

    fn answered(&mut self, now: ClusterTime, answer: Result<Answer, Failure>) -> Vec<Command> {
        let Ok(Answer::Listed { revision, keys }) = answer else { return self.again(now) };
        self.state = State::Following;
        self.place.standing.seen = revision;
        let before = std::mem::take(&mut self.keys);
        self.keys = keys.into_iter().map(|kv| (kv.key.clone(), kv)).collect();
        let follow = self.place.follow(self.range.clone(), revision);
        let sights = differences(&self.eye.sees(&before, None), &self.eye.sees(&self.keys, None));
        [self.place.stand(Step::Watch, Belief::Idle), follow].into_iter().chain(sights).collect()
    }

    fn changed(&mut self, revision: Revision, event: KeyEvent) -> Vec<Command> {
        self.place.standing.seen = revision;
        let key = event.key().clone();
        let before: Vec<_> = self.eye.sees(&self.keys, Some(&key)).into_iter().cloned().collect();
        match event {
            KeyEvent::Put(kv) => self.keys.insert(key.clone(), kv),
            KeyEvent::Delete { .. } => self.keys.remove(&key),
        };
        let before: Vec<_> = before.iter().collect();
        differences(&before, &self.eye.sees(&self.keys, Some(&key))).collect()
    }

    fn again(&mut self, now: ClusterTime) -> Vec<Command> {
        self.state = State::Listing(None);
        vec![Command::Set(Timer::Again, now + AGAIN)]
    }
}

/// What is told of the way from the one to the other: first what went.
fn differences(before: &[&KeyValue], after: &[&KeyValue]) -> impl Iterator<Item = Command> + use<> {
    let same = |one: &KeyValue, other: &KeyValue| one.key == other.key && one.create_revision == other.create_revision;
    let kept: BTreeMap<&Key, &KeyValue> = before.iter().map(|kv| (&kv.key, *kv)).collect();
    let still: BTreeMap<&Key, &KeyValue> = after.iter().map(|kv| (&kv.key, *kv)).collect();
    let went = before.iter().filter(|kv| !still.get(&kv.key).is_some_and(|now| same(now, kv)));
    let went: Vec<_> = went.map(|kv| Sight::Went(kv.key.clone())).collect();
    let now = after.iter().filter_map(|kv| match kept.get(&kv.key).filter(|before| same(before, kv)) {
        Some(before) if before.value == kv.value => None,
        Some(_) => Some(Sight::Changed(kv.key.clone(), kv.value.clone())),
        None => Some(Sight::Appeared(kv.key.clone(), kv.value.clone())),
    });
    let now: Vec<_> = now.collect();
    went.into_iter().chain(now).map(Command::Saw)
}

impl<E: Eye> Activity for Follower<E> {
    fn standing(&self) -> &Standing {
        &self.place.standing
    }

    fn needs_lease(&self) -> bool {
        false
    }

    fn reset(&mut self) {
        self.state = State::Idle;
        self.keys.clear();
        self.place.reset();
    }
}

impl<E: Eye> Recipe for Follower<E> {
    fn step(&mut self, now: ClusterTime, input: Input) -> Vec<Command> {
        match (self.state, input) {
            // A session does it no good, and no harm.
            (State::Idle, Input::Start | Input::Leased(_)) => {
                vec![self.place.stand(Step::Watch, Belief::Idle), self.list()]
            }
            (State::Idle, _) => Vec::new(),
            (_, Input::Stop) => {
                self.state = State::Idle;
                self.place.stop()
            }
            (State::Listing(Some(call)), Input::Answer(id, answer)) if call == id => self.answered(now, answer),
            (State::Listing(None), Input::Timer(Timer::Again)) => vec![self.list()],
            (State::Following, Input::Changed { watch, revision, event }) if self.place.watches_for(watch, &event) => {
                self.changed(revision, event)
            }
            (State::Following, Input::WatchLost(watch)) if self.place.watches(watch) => {
                self.place.lose_watch();
                self.again(now)
            }
            _ => Vec::new(),
        }
    }
}
