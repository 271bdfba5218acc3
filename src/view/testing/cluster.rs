//! A cluster to draw, told fact by fact.

use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::{Screenshot, plain};
use crate::domain::{
    ClusterId, KeyEvent, KeyRange, KeyValue, LeaseId, Member, MemberId, Millis, RaftIndex, Revision, Status, Term,
    Timestamp,
};
use crate::event::{Change, Event, LeaseTtl, LinkState, ListPage, Observation, Stamped};
use crate::input::{Chord, Code, Hits, Input};
use crate::model::findings::Thresholds;
use crate::model::{Facts, Model, Ui};
use crate::update::update;
use crate::view;
use crate::view::theme::Theme;

/// A cluster told fact by fact, as a source would tell it.
pub struct Cluster {
    pub model: Model,
    /// The time of the next fact.
    pub now: Timestamp,
    revision: i64,
}

/// The time a sample cluster starts at: 2023-11-14 12:00:00 UTC.
pub const START: Timestamp = Timestamp(1_699_963_200_000);

impl Cluster {
    pub fn new() -> Self {
        let model = Model::new(Facts::new(200), Ui::default());
        Self { model, now: START, revision: 80_000 }
    }

    /// Connected, with three members, the second of which leads; nothing read yet.
    pub fn connected() -> Self {
        let mut cluster = Self::new();
        cluster.tell(Observation::Scope(vec![KeyRange::prefix(b"")]));
        cluster.tell(Observation::Link(LinkState::Live { endpoint: "http://etcd-eu.example:2379".into() }));
        cluster.tell(Observation::Cluster(ClusterId(0xcdf8_1819_4e3a_8c32)));
        cluster.tell(Observation::Members((1..=3).map(member).collect()));
        for id in 1..=3 {
            cluster.tell(Observation::Status { member: MemberId(id), answer: Ok(status(id)) });
        }
        cluster
    }

    pub fn tell(&mut self, what: Observation) {
        update(&mut self.model, Event::Observed(Stamped { at: self.now, what }));
    }

    /// Lets time pass.
    pub fn wait(&mut self, secs: i64) {
        self.now = self.now + Millis::from_secs(secs);
        update(&mut self.model, Event::Tick(self.now));
    }

    /// Reads these keys as everything there is.
    pub fn list(&mut self, keys: Vec<KeyValue>) {
        let page =
            ListPage { range: KeyRange::prefix(b""), revision: Revision(self.revision), keys, first: true, last: true };
        self.tell(Observation::Listed(page));
    }

    /// The same at a later revision.
    pub fn list_at(&mut self, revision: i64, keys: Vec<KeyValue>) {
        self.revision = revision;
        self.list(keys);
    }

    /// Puts a key at a revision.
    pub fn put(&mut self, kv: KeyValue) {
        self.revision = kv.mod_revision.0;
        let change = Change { revision: kv.mod_revision, event: KeyEvent::Put(kv) };
        self.tell(Observation::Watched(vec![change]));
    }

    /// Deletes a key at the next revision.
    pub fn delete(&mut self, key: &str) {
        self.revision += 1;
        let event = KeyEvent::Delete { key: key.into(), previous: None };
        self.tell(Observation::Watched(vec![Change { revision: Revision(self.revision), event }]));
    }

    pub fn ttl(&mut self, lease: i64, granted: i64, remaining: i64) {
        self.tell(Observation::LeaseTtl(LeaseTtl {
            lease: LeaseId(lease),
            granted,
            remaining,
            keys: None,
            term: Term(0),
        }));
    }

    /// Draws a frame of the whole program.
    pub fn draw(&mut self, width: u16, height: u16, theme: &Theme) -> Screenshot {
        // A frame shows what is so now, however short ago the last diagnosis was.
        self.model.diagnose_by(Some(Thresholds::default()));
        update(&mut self.model, Event::Tick(self.now));
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let mut hits = Hits::default();
        terminal.draw(|frame| hits = view::draw(&self.model, theme, frame)).unwrap();
        let cursor = terminal.get_cursor_position().unwrap();
        Screenshot { buffer: terminal.backend().buffer().clone(), hits, cursor: (cursor.x, cursor.y) }
    }

    /// Presses keys, as typed on the last frame of this size.
    pub fn press(&mut self, keys: &str, width: u16, height: u16) {
        update(&mut self.model, Event::Input(Input::Resize(width, height), Hits::default()));
        for key in keys.chars() {
            let hits = self.draw(width, height, &plain()).hits;
            let chord = match key {
                '\n' => Chord::plain(Code::Enter),
                '\t' => Chord::plain(Code::Tab),
                '\x1b' => Chord::plain(Code::Esc),
                key => Chord::char(key),
            };
            update(&mut self.model, Event::Input(Input::Key(chord), hits));
        }
    }
}

fn member(id: u64) -> Member {
    Member {
        id: MemberId(id),
        name: format!("etcd-{id}"),
        client_urls: vec![format!("http://etcd-{id}.example:2379")],
        peer_urls: vec![format!("http://etcd-{id}.example:2380")],
        learner: false,
    }
}

pub fn status(id: u64) -> Status {
    Status {
        endpoint: format!("http://etcd-{id}.example:2379"),
        version: "3.5.30".into(),
        leader: Some(MemberId(2)),
        term: Term(14),
        revision: Revision::default(),
        raft_index: RaftIndex(91_877),
        applied_index: RaftIndex(if id == 3 { 91_875 } else { 91_877 }),
        db_size: 25 << 20,
        db_in_use: 11 << 20,
        db_quota: None,
        learner: false,
        errors: Vec::new(),
        latency: Millis(i64::try_from(id).unwrap()),
    }
}

/// A leased key, put once.
pub fn leased(key: &str, lease: i64, created: i64) -> KeyValue {
    KeyValue {
        key: key.into(),
        value: Vec::new(),
        create_revision: Revision(created),
        mod_revision: Revision(created),
        version: 1,
        lease: LeaseId(lease),
    }
}

/// A member of a queue: its key ends in its lease.
pub fn queued(lock: &str, lease: i64, created: i64) -> KeyValue {
    leased(&format!("{lock}/{}", LeaseId(lease)), lease, created)
}

/// A lease id as etcd makes them, with these last digits.
pub const fn lease(tail: i64) -> i64 {
    0x694d_8225_4d5f_0000 | tail
}

/// The cluster of the mock-ups: seven locks in all states, with a past.
pub fn sample() -> Cluster {
    let mut cluster = Cluster::connected();
    cluster.list(vec![queued("/leader/api", lease(0x0b1e), 77_150), queued("/billing/close", lease(0x55d1), 79_777)]);
    cluster.ttl(lease(0x0b1e), 60, 60);
    cluster.ttl(lease(0x55d1), 30, 29);
    cluster.wait(60);
    cluster.put(queued("/jobs/reindex", lease(0x770a), 83_004));
    cluster.ttl(lease(0x770a), 30, 30);
    cluster.put(queued("/migrations/users", lease(0x1234), 83_010));
    for (n, tail) in [0xbeef, 0xcafe].into_iter().enumerate() {
        cluster.put(queued("/leader/api", lease(tail), 83_020 + i64::try_from(n).unwrap()));
        cluster.put(queued("/jobs/reindex", lease(0x100 + tail), 83_030 + i64::try_from(n).unwrap()));
        cluster.ttl(lease(tail), 60, 58);
        cluster.ttl(lease(0x100 + tail), 30, 25);
    }
    cluster.wait(20);
    // The report passes on: one client that lets it go, one whose lease runs out.
    cluster.put(queued("/jobs/nightly-report", lease(0x0aa1), 84_120));
    cluster.ttl(lease(0x0aa1), 60, 60);
    cluster.wait(10);
    cluster.put(queued("/jobs/nightly-report", lease(0x1f22), 84_162));
    cluster.ttl(lease(0x1f22), 60, 60);
    cluster.wait(70);
    cluster.delete(&format!("/jobs/nightly-report/{}", LeaseId(lease(0x0aa1))));
    cluster.ttl(lease(0x0aa1), 0, -1);
    cluster.wait(100);
    cluster.put(queued("/jobs/nightly-report", lease(0xa305), 84_190));
    cluster.delete(&format!("/jobs/nightly-report/{}", LeaseId(lease(0x1f22))));
    cluster.ttl(lease(0x1f22), 60, 55);
    for (n, tail) in [0x770c_i64, 0xc0de, 0x8831].into_iter().enumerate() {
        cluster.wait(20);
        cluster.put(queued(
            "/jobs/nightly-report",
            0x694d_8225_4e18_0000 | tail,
            84_192 + 3 * i64::try_from(n).unwrap(),
        ));
        cluster.ttl(0x694d_8225_4e18_0000 | tail, 60, 54);
    }
    for n in 0..12 {
        cluster.put(queued("/jobs/thumbnails", lease(0x4100 + n), 84_200 + n));
        cluster.ttl(lease(0x4100 + n), 30, 28);
    }
    for n in 0..3 {
        cluster.delete(&format!("/jobs/thumbnails/{}", LeaseId(lease(0x4100 + n))));
        cluster.ttl(lease(0x4100 + n), 30, 27);
    }
    // Free for so short a time that it is listed still.
    cluster.delete(&format!("/migrations/users/{}", LeaseId(lease(0x1234))));
    cluster.ttl(lease(0x1234), 30, 20);
    cluster.put(queued("/cache/warm", lease(0x9f20), 84_220));
    cluster.ttl(lease(0x9f20), 30, 30);
    cluster.wait(31);
    cluster.delete(&format!("/cache/warm/{}", LeaseId(lease(0x9f20))));
    cluster.ttl(lease(0x9f20), 0, -1);
    // The newest polls: most are renewed, the index's holder is not.
    cluster.wait(2);
    for (tail, granted, remaining) in [
        (0x0b1e, 60, 59),
        (0x55d1, 30, 24),
        (0xbeef, 60, 51),
        (0xcafe, 60, 44),
        (0xa305, 60, 42),
        (0x770a, 30, 8),
        (0xbfef, 30, 22),
        (0xcbfe, 30, 21),
    ] {
        cluster.ttl(lease(tail), granted, remaining);
    }
    for n in 3..12 {
        cluster.ttl(lease(0x4100 + n), 30, 28);
    }
    for tail in [0x770c, 0xc0de, 0x8831] {
        cluster.ttl(0x694d_8225_4e18_0000 | tail, 60, 55);
    }
    cluster.wait(1);
    cluster.ttl(lease(0x770a), 30, 7);
    cluster.wait(1);
    cluster
}

/// Two that cross and one behind them, a holder of two contended locks with a long queue behind
/// it, and a key without a lease that blocks.
pub fn tangled() -> Cluster {
    let mut cluster = Cluster::connected();
    let (a, b, c) = (lease(0xa1a1), lease(0xb2b2), lease(0xc3c3));
    let mut keys = vec![queued("/acct/one", a, 100), queued("/acct/two", b, 101)];
    keys.extend([queued("/jobs/index", c, 102), queued("/jobs/report", c, 103)]);
    keys.push(KeyValue { value: b"db7.example.org:4711".to_vec(), ..queued("/leader/api", lease(0xd4d4), 104) });
    keys.push(leased("/jobs/odd/README", 0, 105));
    keys.sort_by(|x, y| x.key.cmp(&y.key));
    cluster.list(keys);
    for tail in [a, b, c, lease(0xd4d4)] {
        cluster.ttl(tail, 60, 55);
    }
    cluster.wait(5);
    let mut revision = 200;
    let mut put = |cluster: &mut Cluster, lock: &str, lease: i64, value: &[u8]| {
        revision += 1;
        cluster.put(KeyValue { value: value.to_vec(), ..queued(lock, lease, revision) });
        cluster.ttl(lease, 60, 50);
    };
    put(&mut cluster, "/acct/two", a, b"");
    put(&mut cluster, "/leader/api", lease(0x5000), b"db8.example.org:815");
    put(&mut cluster, "/jobs/odd", lease(0x6000), b"");
    cluster.wait(3);
    put(&mut cluster, "/acct/one", b, b"");
    put(&mut cluster, "/acct/one", lease(0x7000), b"");
    for nth in 0..12 {
        put(&mut cluster, "/jobs/report", lease(0x8000 + nth), b"");
    }
    put(&mut cluster, "/jobs/index", lease(0x8008), b"");
    put(&mut cluster, "/jobs/report", lease(0x8008), b"");
    cluster.wait(62);
    for tail in [a, b, c, lease(0xd4d4), lease(0x5000), lease(0x6000), lease(0x7000)] {
        cluster.ttl(tail, 60, 58);
    }
    // One of those that wait is dead, and two polls say so.
    cluster.ttl(lease(0x8001), 60, 14);
    cluster.wait(1);
    cluster.ttl(lease(0x8001), 60, 13);
    cluster
}

/// A Kubernetes `Lease` as the API server stores it, held and renewed at a time.
pub fn kubernetes_lease(holder: &str, seconds: u8, renewed: Timestamp) -> Vec<u8> {
    let field = |number: u8, bytes: &[u8]| {
        let mut out = vec![number << 3 | 2, u8::try_from(bytes.len()).expect("fields of a test are short")];
        out.extend_from_slice(bytes);
        out
    };
    let varint = |mut number: u64| {
        let mut out = Vec::new();
        while number >= 0x80 {
            out.push(u8::try_from(number & 0x7f).unwrap() | 0x80);
            number >>= 7;
        }
        out.push(u8::try_from(number).unwrap());
        out
    };
    let time = [vec![1 << 3], varint(u64::try_from(renewed.0 / 1_000).unwrap())].concat();
    let spec = [field(1, holder.as_bytes()), vec![2 << 3, seconds], field(3, &time), field(4, &time), vec![5 << 3, 7]]
        .concat();
    let object = field(2, &spec);
    let meta = [field(1, b"coordination.k8s.io/v1"), field(2, b"Lease")].concat();
    [b"k8s\0".to_vec(), field(1, &meta), field(2, &object)].concat()
}
