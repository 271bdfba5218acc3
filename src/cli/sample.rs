//! A small cluster for the tests of what commands print.

use crate::domain::{
    Alarm, AlarmKind, ClusterId, KeyRange, KeyValue, LeaseId, Member, MemberId, Millis, RaftIndex, Revision, Status,
    Term, Timestamp,
};
use crate::event::{Event, LeaseTtl, ListPage, NoStatus, Observation, Stamped};
use crate::model::{Facts, Model, Ui};
use crate::update::update;

pub const FIRST: LeaseId = LeaseId(0x694d_8225_4d5f_a305);
pub const SECOND: LeaseId = LeaseId(0x694d_8225_4d5f_a307);
pub const NEGATIVE: LeaseId = LeaseId(-0x7fab_12cd_34ef_5601);

/// A model that saw these observations, all at the same time, and then let 120 ms pass.
pub fn model(observations: impl IntoIterator<Item = Observation>) -> Model {
    let mut model = Model::new(Facts::new(200), Ui::default());
    let at = Timestamp(1_700_000_000_000);
    for what in observations {
        update(&mut model, Event::Observed(Stamped { at, what }));
    }
    update(&mut model, Event::Tick(at + Millis(120)));
    model
}

pub fn key(key: &[u8], lease: LeaseId, revision: i64, value: &[u8]) -> KeyValue {
    KeyValue {
        key: key.into(),
        value: value.into(),
        create_revision: Revision(revision),
        mod_revision: Revision(revision),
        version: 1,
        lease,
    }
}

/// The observations of one full read of everything.
pub fn list(mut keys: Vec<KeyValue>) -> Vec<Observation> {
    keys.sort_by(|a, b| a.key.cmp(&b.key));
    let range = KeyRange::prefix(b"");
    let page = ListPage { range: range.clone(), revision: Revision(84_213), keys, first: true, last: true };
    vec![
        Observation::Cluster(ClusterId(0xcdf8_1819_4e3a_8c32)),
        Observation::Scope(vec![range]),
        Observation::Listed(page),
    ]
}

pub fn ttl(lease: LeaseId, granted: i64, remaining: i64) -> Observation {
    Observation::LeaseTtl(LeaseTtl { lease, granted, remaining, keys: None, term: Term(0) })
}

/// A queue of two whose first lease was polled, a single key, and a registration.
pub fn locks() -> Model {
    let mut all = list(vec![
        key(b"/jobs/reindex/694d82254d5fa305", FIRST, 83_004, b""),
        key(b"/jobs/reindex/694d82254d5fa307", SECOND, 83_010, b""),
        key(b"/cron/lock/nightly", NEGATIVE, 90, b"worker-7"),
    ]);
    all.push(ttl(FIRST, 60, 6));
    model(all)
}

/// Three members: a leader, a follower, one that does not answer.
pub fn members() -> Model {
    let member = |id, name: &str, port| Member {
        id: MemberId(id),
        name: name.into(),
        client_urls: vec![format!("http://127.0.0.1:{port}")],
        peer_urls: vec![format!("http://127.0.0.1:{}", port + 1)],
        learner: false,
    };
    let status = |port, applied| Status {
        endpoint: format!("http://127.0.0.1:{port}"),
        version: "3.5.30".into(),
        leader: Some(MemberId(0xa1)),
        term: Term(7),
        raft_index: RaftIndex(100),
        applied_index: RaftIndex(applied),
        db_size: 24_576,
        db_in_use: 16_384,
        latency: Millis(1),
        ..Status::default()
    };
    let answer = |id, answer| Observation::Status { member: MemberId(id), answer };
    model([
        Observation::Cluster(ClusterId(0xcdf8_1819_4e3a_8c32)),
        Observation::Progress(Revision(84_213)),
        Observation::Members(vec![member(0xa1, "a", 1), member(0xa2, "b", 3), member(0xa3, "c\x1b[2J", 5)]),
        answer(0xa1, Ok(status(1, 100))),
        answer(0xa2, Ok(status(3, 98))),
        answer(0xa3, Err(NoStatus::Unreachable("connection refused".into()))),
        Observation::Alarms(vec![Alarm { member: MemberId(0xa2), kind: AlarmKind::NoSpace }]),
    ])
}
