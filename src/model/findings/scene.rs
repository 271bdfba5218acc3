//! A small cluster for the tests of rules: what is told of it, one fact after the other.

use std::collections::BTreeMap;

use crate::domain::{
    Alarm, AlarmKind, ClusterId, KeyEvent, KeyRange, KeyValue, LeaseId, Member, MemberId, Millis, RaftIndex, Revision,
    Status, Term, Timestamp,
};
use crate::effect::Effect;
use crate::event::{Change, Event, LeaseTtl, LinkState, ListPage, NoStatus, Observation, Stamped};
use crate::model::{Diagnosis, Facts, Finding, Model, Severity, Ui};
use crate::update::update;
use crate::view::text::{command, sentence};

use super::Thresholds;

/// When it begins, in milliseconds.
pub const START: i64 = 1_000_000_000;

/// The cluster.
pub struct Scene {
    pub model: Model,
    now: Timestamp,
    revision: i64,
    term: Term,
    keys: BTreeMap<String, KeyValue>,
}

/// What a member says: in this term, with this leader (0 for none), having applied so much.
pub fn follower(term: u64, leader: u64, index: u64) -> Status {
    Status {
        version: "3.5.30".into(),
        term: Term(term),
        leader: (leader != 0).then_some(MemberId(leader)),
        raft_index: RaftIndex(index),
        applied_index: RaftIndex(index),
        db_size: 1 << 20,
        db_in_use: 1 << 20,
        latency: Millis(1),
        ..Status::default()
    }
}

impl Scene {
    /// Members a, b and c, with a for the leader of term 4, all of them well.
    pub fn of_three() -> Self {
        Self::of(&["a", "b", "c"])
    }

    fn new() -> Self {
        let model = Model::new(Facts::new(200), Ui::default());
        Self { model, now: Timestamp(START), revision: 1, term: Term(4), keys: BTreeMap::new() }
    }

    /// Keys with their leases and values that were put in this order before anybody looked; nothing
    /// is told of members.
    pub fn reading(keys: &[(&str, &str, i64)]) -> Self {
        let mut scene = Self::new();
        for (key, value, lease) in keys {
            scene.change(key, *lease, value.as_bytes());
        }
        scene.read_anew()
    }

    /// The same keys as somebody sees them who comes now.
    pub fn read_anew(&self) -> Self {
        let mut scene = Self { keys: self.keys.clone(), model: Self::new().model, ..*self };
        scene.link(LinkState::Live { endpoint: "http://a:1".into() });
        scene.observe(Observation::Scope(vec![KeyRange::prefix(b"")]));
        scene.list_at(scene.revision);
        scene
    }

    /// Members of these names with the first for the leader, all of them well. One named learner is
    /// one.
    pub fn of(names: &[&str]) -> Self {
        let mut scene = Self::new();
        scene.observe(Observation::Cluster(ClusterId(1)));
        scene.link(LinkState::Live { endpoint: "http://a:1".into() });
        scene.observe(Observation::Scope(vec![KeyRange::prefix(b"")]));
        scene.list_at(1);
        let members = (1..).zip(names).map(|(id, &name)| Member {
            id: MemberId(id),
            name: name.into(),
            learner: name == "learner",
            ..Member::default()
        });
        scene.observe(Observation::Members(members.collect()));
        for (id, _) in (1..).zip(names) {
            scene.says(id, follower(4, 1, 900));
        }
        scene
    }

    pub fn observe(&mut self, what: Observation) {
        update(&mut self.model, Event::Observed(Stamped { at: self.now, what }));
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

    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// The newest revision.
    pub const fn revision(&self) -> i64 {
        self.revision
    }

    pub fn link(&mut self, state: LinkState) {
        self.observe(Observation::Link(state));
    }

    pub fn says(&mut self, member: u64, status: Status) {
        self.observe(Observation::Status { member: MemberId(member), answer: Ok(status) });
    }

    pub fn silent(&mut self, member: u64) {
        let answer = Err(NoStatus::Unreachable("connection refused".into()));
        self.observe(Observation::Status { member: MemberId(member), answer });
    }

    pub fn alarms(&mut self, raised: &[(u64, AlarmKind)]) {
        let alarms = raised.iter().map(|&(member, kind)| Alarm { member: MemberId(member), kind });
        self.observe(Observation::Alarms(alarms.collect()));
    }

    /// A client puts a key, on this lease or on none.
    pub fn put(&mut self, key: &str, lease: i64, value: impl AsRef<[u8]>) {
        let kv = self.change(key, lease, value.as_ref());
        let revision = kv.mod_revision;
        self.observe(Observation::Watched(vec![Change { revision, event: KeyEvent::Put(kv) }]));
    }

    /// What a put makes of a key that is there, or is not.
    fn change(&mut self, key: &str, lease: i64, value: &[u8]) -> KeyValue {
        self.revision += 1;
        let revision = Revision(self.revision);
        let known = self.keys.get(key);
        let kv = KeyValue {
            key: key.into(),
            value: value.to_vec(),
            create_revision: known.map_or(revision, |kv| kv.create_revision),
            mod_revision: revision,
            version: known.map_or(1, |kv| kv.version + 1),
            lease: LeaseId(lease),
        };
        self.keys.insert(key.into(), kv.clone());
        kv
    }

    /// A key goes.
    pub fn delete(&mut self, key: &str) {
        self.revision += 1;
        let previous = self.keys.remove(key);
        let event = KeyEvent::Delete { key: key.into(), previous };
        self.observe(Observation::Watched(vec![Change { revision: Revision(self.revision), event }]));
    }

    /// Lists leases.
    pub fn leases(&mut self, ids: impl IntoIterator<Item = i64>) {
        self.observe(Observation::LeaseList(ids.into_iter().map(LeaseId).collect()));
    }

    /// Another leader answers from now on.
    pub const fn elect(&mut self) {
        self.term.0 += 1;
    }

    /// Everything is read anew, at this revision.
    pub fn list_at(&mut self, revision: i64) {
        self.revision = revision;
        let (range, keys) = (KeyRange::prefix(b""), self.keys.values().cloned().collect());
        let page = ListPage { range, revision: Revision(revision), keys, first: true, last: true };
        self.observe(Observation::Listed(page));
    }

    pub fn ttl(&mut self, lease: i64, granted: i64, remaining: i64) {
        let (lease, term) = (LeaseId(lease), self.term);
        self.observe(Observation::LeaseTtl(LeaseTtl { lease, granted, remaining, keys: None, term }));
    }

    /// A lease does not exist any more.
    pub fn gone(&mut self, lease: i64) {
        self.ttl(lease, 0, -1);
    }

    fn diagnosis(&self, thresholds: Thresholds) -> Diagnosis {
        Diagnosis::of(self.model.live(), &thresholds)
    }

    fn findings(&self) -> Vec<Finding> {
        self.diagnosis(Thresholds::default()).findings().to_vec()
    }

    /// The codes of all that is wrong, sorted; what is only worth knowing is not among them.
    pub fn codes(&self) -> Vec<&'static str> {
        codes(&self.findings(), |severity| severity > Severity::Info)
    }

    /// The same for one who has looked only once.
    pub fn codes_at_one_look(&self) -> Vec<&'static str> {
        let diagnosis = self.diagnosis(Thresholds::default().at_one_look());
        codes(diagnosis.findings(), |severity| severity > Severity::Info)
    }

    /// The codes of what is worth knowing, sorted.
    pub fn infos(&self) -> Vec<&'static str> {
        codes(&self.findings(), |severity| severity == Severity::Info)
    }

    /// The codes of a lock, the gravest first.
    pub fn codes_of_lock(&self, lock: &str) -> Vec<&'static str> {
        self.diagnosis(Thresholds::default()).codes(lock.as_bytes())
    }

    /// All that is wrong, in words; what is only worth knowing is not among them.
    pub fn wrongs(&self) -> Vec<String> {
        let told = |finding: &Finding| format!("{}: {}", finding.code, sentence(&finding.evidence));
        self.findings().iter().filter(|finding| finding.severity > Severity::Info).map(told).collect()
    }

    /// The evidence of all findings of a rule.
    pub fn told(&self, code: &str) -> Vec<String> {
        self.all(code).iter().map(|finding| sentence(&finding.evidence)).collect()
    }

    /// The remedies of all findings of a rule.
    pub fn remedies(&self, code: &str) -> Vec<String> {
        self.all(code).iter().map(|finding| command(&finding.remedy)).collect()
    }

    /// All findings of a rule.
    pub fn all(&self, code: &str) -> Vec<Finding> {
        self.findings().into_iter().filter(|finding| finding.code == code).collect()
    }

    /// How many findings a rule has.
    pub fn codes_of(&self, code: &str) -> usize {
        self.all(code).len()
    }

    /// The first finding of a rule.
    pub fn finding(&self, code: &str) -> Finding {
        let found = self.findings();
        found.iter().find(|finding| finding.code == code).cloned().unwrap_or_else(|| panic!("no {code} in {found:#?}"))
    }

    pub fn evidence(&self, code: &str) -> String {
        sentence(&self.finding(code).evidence)
    }

    pub fn remedy(&self, code: &str) -> String {
        command(&self.finding(code).remedy)
    }
}

fn codes(findings: &[Finding], which: impl Fn(Severity) -> bool) -> Vec<&'static str> {
    let mut codes: Vec<_> =
        findings.iter().filter(|finding| which(finding.severity)).map(|finding| finding.code).collect();
    codes.sort_unstable();
    codes
}
