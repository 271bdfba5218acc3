//! A small cluster for the tests of rules: what is told of it, one fact after the other.

use std::collections::BTreeMap;

use crate::domain::{
    Alarm, AlarmKind, ClusterId, KeyEvent, KeyRange, KeyValue, LeaseId, Member, MemberId, Millis, RaftIndex, Revision,
    Status, Term, Timestamp,
};
use crate::event::{Change, Event, LeaseTtl, LinkState, ListPage, NoStatus, Observation, Stamped};
use crate::model::{Diagnosis, Facts, Finding, Model, Severity, Ui};
use crate::update::update;
use crate::view::text::{command, sentence};

use super::Thresholds;
use super::bench::put_over;

/// The cluster.
pub struct Scene {
    pub model: Model,
    now: Timestamp,
    revision: i64,
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

    /// Members of these names with the first for the leader, all of them well. One named learner is
    /// one.
    pub fn of(names: &[&str]) -> Self {
        let model = Model::new(Facts::new(200), Ui::default());
        let mut scene = Self { model, now: Timestamp(1_700_000_000_000), revision: 1, keys: BTreeMap::new() };
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

    pub fn pass(&mut self, ms: i64) {
        self.now = self.now + Millis(ms);
        update(&mut self.model, Event::Tick(self.now));
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
    pub fn put(&mut self, key: &str, lease: i64, value: &str) {
        self.revision += 1;
        let revision = Revision(self.revision);
        let kv = put_over(self.keys.get(key), key, value.into(), lease, revision);
        self.keys.insert(key.into(), kv.clone());
        self.observe(Observation::Watched(vec![Change { revision, event: KeyEvent::Put(kv) }]));
    }

    /// A key goes.
    pub fn delete(&mut self, key: &str) {
        self.revision += 1;
        self.keys.remove(key);
        let event = KeyEvent::Delete { key: key.into(), previous: None };
        self.observe(Observation::Watched(vec![Change { revision: Revision(self.revision), event }]));
    }

    /// Everything is read anew, at this revision.
    pub fn list_at(&mut self, revision: i64) {
        self.revision = revision;
        let (range, keys) = (KeyRange::prefix(b""), self.keys.values().cloned().collect());
        let page = ListPage { range, revision: Revision(revision), keys, first: true, last: true };
        self.observe(Observation::Listed(page));
    }

    pub fn ttl(&mut self, lease: i64, granted: i64, remaining: i64) {
        let lease = LeaseId(lease);
        self.observe(Observation::LeaseTtl(LeaseTtl { lease, granted, remaining, keys: None, term: Term(4) }));
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
