//! A cluster in a few lines for the tests of rules: keys come and go, leases are asked, time
//! passes, and the diagnosis says what it makes of it.

use std::collections::BTreeMap;

use crate::domain::{KeyEvent, KeyRange, KeyValue, LeaseId, Millis, Revision, Term, Timestamp};
use crate::effect::Effect;
use crate::event::{Change, Event, LeaseTtl, LinkState, ListPage, Observation, Stamped};
use crate::model::findings::Thresholds;
use crate::model::{Diagnosis, Facts, Finding, Model, Ui};
use crate::update::update;
use crate::view::text::{command, sentence};

/// When it begins, in milliseconds.
pub const START: i64 = 1_000_000_000;

/// The cluster and what is known of it.
pub struct Bench {
    pub model: Model,
    now: Timestamp,
    revision: i64,
    term: u64,
    keys: BTreeMap<String, KeyValue>,
}

impl Bench {
    /// Keys with their values and leases that were put in this order before anybody looked.
    pub fn reading(keys: &[(&str, &str, i64)]) -> Self {
        let mut bench = Self {
            model: Model::new(Facts::new(200), Ui::default()),
            now: Timestamp(START),
            revision: 1,
            term: 1,
            keys: BTreeMap::new(),
        };
        for (key, value, lease) in keys {
            bench.change(key, value.as_bytes().to_vec(), *lease);
        }
        bench.read_anew()
    }

    /// The same cluster as somebody sees it who comes now.
    pub fn read_anew(&self) -> Self {
        let model = Model::new(Facts::new(200), Ui::default());
        let mut bench = Self { model, keys: self.keys.clone(), ..*self };
        let range = KeyRange::prefix(b"");
        let keys = bench.keys.values().cloned().collect();
        bench.observe(Observation::Link(LinkState::Live { endpoint: "http://a:2379".into() }));
        bench.observe(Observation::Scope(vec![range.clone()]));
        let revision = Revision(bench.revision);
        bench.observe(Observation::Listed(ListPage { range, revision, keys, first: true, last: true }));
        bench
    }

    pub fn observe(&mut self, what: Observation) {
        update(&mut self.model, Event::Observed(Stamped { at: self.now, what }));
    }

    pub fn put(&mut self, key: &str, value: &str, lease: i64) {
        self.put_bytes(key, value.as_bytes().to_vec(), lease);
    }

    pub fn put_bytes(&mut self, key: &str, value: Vec<u8>, lease: i64) {
        let kv = self.change(key, value, lease);
        let revision = kv.mod_revision;
        self.observe(Observation::Watched(vec![Change { revision, event: KeyEvent::Put(kv) }]));
    }

    /// Deletes keys that are there, in one revision.
    pub fn delete(&mut self, keys: &[&str]) {
        self.revision += 1;
        let revision = Revision(self.revision);
        let gone = keys.iter().map(|key| self.keys.remove(*key).expect("it is there"));
        let changes = gone.map(|previous| Change {
            revision,
            event: KeyEvent::Delete { key: previous.key.clone(), previous: Some(previous) },
        });
        let changes = changes.collect();
        self.observe(Observation::Watched(changes));
    }

    /// Answers the poll of a lease.
    pub fn ttl(&mut self, lease: i64, granted: i64, remaining: i64) {
        let term = Term(self.term);
        let answer = LeaseTtl { lease: LeaseId(lease), granted, remaining, keys: None, term };
        self.observe(Observation::LeaseTtl(answer));
    }

    /// Lists leases.
    pub fn leases(&mut self, ids: impl IntoIterator<Item = i64>) {
        self.observe(Observation::LeaseList(ids.into_iter().map(LeaseId).collect()));
    }

    /// Another leader answers from now on.
    pub const fn elect(&mut self) {
        self.term += 1;
    }

    /// Lets time pass; the leases that are to be asked now.
    pub fn pass(&mut self, ms: i64) -> Vec<LeaseId> {
        self.now = self.now + Millis(ms);
        let effects = update(&mut self.model, Event::Tick(self.now));
        let asked = effects.into_iter().map(|effect| match effect {
            Effect::PollLeases(ids) => ids,
            _ => Vec::new(),
        });
        asked.flatten().collect()
    }

    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::of(self.model.live(), &Thresholds::default())
    }

    /// The codes of a lock.
    pub fn codes(&self, lock: &str) -> Vec<&'static str> {
        self.diagnosis().codes(lock.as_bytes())
    }

    /// The findings of a rule.
    pub fn findings(&self, code: &str) -> Vec<Finding> {
        self.diagnosis().findings().iter().filter(|finding| finding.code == code).cloned().collect()
    }

    /// All findings that are more than worth knowing, in words.
    pub fn alarms(&self) -> Vec<String> {
        let grave = |finding: &&Finding| finding.severity > crate::model::Severity::Info;
        let told = |finding: &Finding| format!("{}: {}", finding.code, sentence(&finding.evidence));
        self.diagnosis().findings().iter().filter(grave).map(told).collect()
    }

    /// Their evidence in words.
    pub fn told(&self, code: &str) -> Vec<String> {
        self.findings(code).iter().map(|finding| sentence(&finding.evidence)).collect()
    }

    /// Their remedies as commands.
    pub fn remedies(&self, code: &str) -> Vec<String> {
        self.findings(code).iter().map(|finding| command(&finding.remedy)).collect()
    }

    fn change(&mut self, key: &str, value: Vec<u8>, lease: i64) -> KeyValue {
        self.revision += 1;
        let kv = put_over(self.keys.get(key), key, value, lease, Revision(self.revision));
        self.keys.insert(key.to_owned(), kv.clone());
        kv
    }
}

/// What a put makes of a key that is there, or is not.
pub fn put_over(known: Option<&KeyValue>, key: &str, value: Vec<u8>, lease: i64, revision: Revision) -> KeyValue {
    KeyValue {
        key: key.into(),
        value,
        create_revision: known.map_or(revision, |kv| kv.create_revision),
        mod_revision: revision,
        version: known.map_or(1, |kv| kv.version + 1),
        lease: LeaseId(lease),
    }
}
