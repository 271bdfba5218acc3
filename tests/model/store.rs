//! A store in a few lines: puts and deletes make revisions, and the model is fed from it
//! the way a source would.

use std::collections::BTreeMap;

use lockscope::domain::{Key, KeyEvent, KeyRange, KeyValue, LeaseId, Revision, Term, Timestamp};
use lockscope::effect::Effect;
use lockscope::event::{Change, Event, LeaseTtl, LinkState, ListPage, Observation, Stamped};
use lockscope::model::{Facts, KeyView, Model, Ui, What};
use lockscope::update::update;

/// One step of a store's history.
#[derive(Clone, Debug)]
pub enum Step {
    Put { key: String, value: String, lease: i64 },
    Delete(Vec<String>),
}

/// Keys, and every change that led to them.
#[derive(Clone, Default)]
pub struct Store {
    pub revision: i64,
    keys: BTreeMap<Key, KeyValue>,
    pub changes: Vec<Change>,
}

impl Store {
    pub fn new() -> Self {
        Self { revision: 1, ..Self::default() }
    }

    pub fn put(&mut self, key: &str, value: &str, lease: i64) -> i64 {
        self.put_bytes(key, value.into(), lease)
    }

    pub fn put_bytes(&mut self, key: &str, value: Vec<u8>, lease: i64) -> i64 {
        self.revision += 1;
        let revision = Revision(self.revision);
        let known = self.keys.get(key.as_bytes());
        let kv = KeyValue {
            key: key.into(),
            value,
            create_revision: known.map_or(revision, |kv| kv.create_revision),
            mod_revision: revision,
            version: known.map_or(1, |kv| kv.version + 1),
            lease: LeaseId(lease),
        };
        self.keys.insert(kv.key.clone(), kv.clone());
        self.changes.push(Change { revision, event: KeyEvent::Put(kv) });
        self.revision
    }

    /// Puts new keys in one transaction, each on a lease of its own.
    pub fn put_together(&mut self, keys: &[(&str, i64)]) {
        let revision = self.revision;
        for &(key, lease) in keys {
            self.revision = revision;
            self.put(key, "", lease);
        }
    }

    /// Deletes keys in one revision; deleting nothing makes none.
    pub fn delete(&mut self, keys: &[&str]) {
        let gone: Vec<KeyValue> = keys.iter().filter_map(|key| self.keys.remove(key.as_bytes())).collect();
        if gone.is_empty() {
            return;
        }
        self.revision += 1;
        let revision = Revision(self.revision);
        self.changes.extend(gone.into_iter().map(|previous| Change {
            revision,
            event: KeyEvent::Delete { key: previous.key.clone(), previous: Some(previous) },
        }));
    }

    pub fn apply(&mut self, step: &Step) {
        match step {
            Step::Put { key, value, lease } => {
                self.put(key, value, *lease);
            }
            Step::Delete(keys) => self.delete(&keys.iter().map(String::as_str).collect::<Vec<_>>()),
        }
    }

    /// The whole keyspace as a read of `range` shows it, in pages.
    pub fn pages(&self, range: &KeyRange, page_size: usize) -> Vec<ListPage> {
        let keys: Vec<KeyValue> = self.keys.values().filter(|kv| range.contains(&kv.key)).cloned().collect();
        let mut chunks: Vec<Vec<KeyValue>> = keys.chunks(page_size).map(<[_]>::to_vec).collect();
        if chunks.is_empty() {
            chunks.push(Vec::new());
        }
        let count = chunks.len();
        let page = |(at, keys)| ListPage {
            range: range.clone(),
            revision: Revision(self.revision),
            keys,
            first: at == 0,
            last: at + 1 == count,
        };
        chunks.into_iter().enumerate().map(page).collect()
    }

    pub fn changes_after(&self, revision: i64) -> Vec<Change> {
        self.changes.iter().filter(|change| change.revision.0 > revision).cloned().collect()
    }
}

/// A model with a clock of its own.
pub struct Bench {
    pub model: Model,
    pub now: i64,
}

impl Bench {
    pub fn new() -> Self {
        let mut bench = Self { model: Model::new(Facts::new(200), Ui::default()), now: 1_000_000 };
        bench.observe(Observation::Link(LinkState::Live { endpoint: "http://a".into() }));
        bench.observe(Observation::Scope(vec![everything()]));
        bench
    }

    /// A model that has read everything the store has.
    pub fn reading(store: &Store) -> Self {
        let mut bench = Self::new();
        bench.read(store);
        bench
    }

    pub fn facts(&self) -> &Facts {
        self.model.live()
    }

    pub fn observe(&mut self, what: Observation) {
        update(&mut self.model, Event::Observed(Stamped { at: Timestamp(self.now), what }));
    }

    pub fn read(&mut self, store: &Store) {
        for page in store.pages(&everything(), 3) {
            self.observe(Observation::Listed(page));
        }
    }

    pub fn watch(&mut self, store: &Store) {
        let seen = self.facts().link.revision.0;
        self.observe(Observation::Watched(store.changes_after(seen)));
    }

    pub fn ttl(&mut self, lease: i64, granted: i64, remaining: i64) {
        self.observe(Observation::LeaseTtl(LeaseTtl {
            lease: LeaseId(lease),
            granted,
            remaining,
            keys: None,
            term: Term(0),
        }));
    }

    /// Lets time pass; returns the leases the model wants asked.
    pub fn tick(&mut self, millis: i64) -> Vec<i64> {
        self.now += millis;
        let effects = update(&mut self.model, Event::Tick(Timestamp(self.now)));
        let asked = |effect| match effect {
            Effect::PollLeases(ids) => ids.into_iter().map(|id| id.0).collect(),
            _ => Vec::new(),
        };
        effects.into_iter().flat_map(asked).collect()
    }

    /// What happened, in words.
    pub fn story(&self) -> Vec<String> {
        self.facts().timeline.iter().map(|happening| tell(&happening.what)).collect()
    }
}

pub fn tell(what: &What) -> String {
    let key = |key: &Key| String::from_utf8_lossy(key).into_owned();
    match what {
        What::Enqueued(party) => format!("{} enqueued", key(&party.key)),
        What::Acquired(party) => format!("{} acquired", key(&party.key)),
        What::Released(party, cause) => format!("{} {}", key(&party.key), cause.name()),
        What::WaiterGone(party, cause) => format!("{} gave up: {}", key(&party.key), cause.name()),
        What::Rewritten { party, former_lease } => format!("{} rewritten, was on {former_lease}", key(&party.key)),
        What::LeaderChanged(change) => format!("leader in term {}", change.term),
        What::Alarm(alarm, raised) => format!("{} {raised}", alarm.kind.name()),
        What::Gap { from, to } => format!("gap {from}..{to}"),
    }
}

pub fn everything() -> KeyRange {
    KeyRange::prefix(b"")
}

/// Everything that a fresh reader would see too: locks with who holds and who waits for what.
pub fn picture(facts: &Facts) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut rows: Vec<String> = facts
        .locks()
        // A queue that only a foreign key is left of is known from before, by nobody else; and so
        // may be a lock none of whose keys has a lease.
        .filter(|lock| {
            let shaped = |key: KeyView<'_>| !key.is_foreign(lock.layout()) && !key.lease().is_none();
            lock.holders().chain(lock.waiters().map(|waiter| waiter.key)).any(shaped)
        })
        .map(|lock| {
            let holders: Vec<String> = lock.holders().map(|key| text(key.key())).collect();
            let waiters: Vec<String> =
                lock.waiters().map(|waiter| format!("{}<-{}", text(waiter.key.key()), waiter.waits_for)).collect();
            let (layout, state) = (lock.layout().name(), lock.state().name());
            format!("{} {layout} {state} {holders:?} {waiters:?}", text(lock.name()))
        })
        .collect();
    rows.sort();
    let mut leases: Vec<String> = facts
        .keyspace()
        .iter()
        .filter(|entry| !entry.lease().is_none())
        .map(|entry| {
            let lease = facts.lease(entry.lease()).expect("a key's lease is known");
            let keys: Vec<String> = lease.keys().iter().map(|key| text(key.key())).collect();
            format!("{}: {keys:?}", entry.lease())
        })
        .collect();
    leases.sort();
    leases.dedup();
    rows.extend(leases);
    rows
}
