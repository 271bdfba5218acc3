//! A cluster at one moment, for the tests of what is drawn of it: three voters and a learner,
//! messages on their way, a log with a past, an election not long ago.

use std::time::Duration;

use crate::domain::raft::{
    ClusterTime, EntryKind, Flight, LogCell, NetworkPicture, NodeId, NodePicture, Progress, RaftMessage, RaftPicture,
    RaftRole, Rules, Speed, TermRecord, Timer, Trace, TraceStep, Waypoint,
};
use crate::domain::{MemberId, RaftIndex, Revision, Term};

/// The number of a request that went all of its way.
pub const PUT: u64 = 301;
/// The number of one that stopped.
pub const STUCK: u64 = 302;
/// The moment.
pub const NOW: u64 = 41_300_000;

const fn at(micros: u64) -> ClusterTime {
    ClusterTime(micros)
}

/// The cluster of the mock-up.
pub fn picture() -> RaftPicture {
    let progress = |id, matched, next| Progress {
        node: NodeId(id),
        matched: RaftIndex(matched),
        next: RaftIndex(next),
        heard: at(NOW - 9_000),
    };
    let leader = NodePicture {
        role: RaftRole::Leader,
        voted_for: Some(NodeId(2)),
        timer: Some(Timer { set: at(NOW - 19_000), due: at(NOW + 31_000) }),
        progress: vec![progress(1, 96, 97), progress(3, 94, 95), progress(4, 90, 91)],
        leads_since: Some(at(12_400_000)),
        ..node(2, 97, 96)
    };
    let waits = |id, last, commit, left: u64| NodePicture {
        voted_for: Some(NodeId(2)),
        timer: Some(Timer { set: at(NOW - 100_000), due: at(NOW + left) }),
        ..node(id, last, commit)
    };
    RaftPicture {
        now: at(NOW),
        speed: Speed(500),
        seed: 42,
        rules: Rules {
            heartbeat: Duration::from_millis(50),
            election_min: Duration::from_millis(150),
            election_max: Duration::from_millis(300),
            pre_vote: true,
            check_quorum: true,
        },
        network: NetworkPicture {
            delay: Duration::from_millis(10),
            jitter: Duration::from_millis(5),
            ..NetworkPicture::default()
        },
        nodes: vec![
            waits(1, 96, 96, 212_000),
            leader,
            waits(3, 94, 94, 31_000),
            NodePicture { learner: true, snapshot: RaftIndex(86), ..node(4, 90, 90) },
        ],
        flights: flights(),
        in_flight: 3,
        terms: vec![
            record(5, 900, &[1], &[(1, 1), (2, 1), (3, 1)], Some((1, 950)), Some(8_000)),
            record(6, 11_900, &[2, 3], &[(2, 2), (3, 3)], None, Some(12_300)),
            record(7, 12_300, &[2], &[(2, 2), (1, 2), (3, 2)], Some((2, 12_400)), None),
        ],
        traces: vec![put(), stuck()],
        ..RaftPicture::default()
    }
}

fn node(id: u64, last: u64, commit: u64) -> NodePicture {
    let cell = |index: u64| LogCell {
        index: RaftIndex(index),
        term: Term(match index {
            ..=90 => 5,
            91..=92 => 6,
            _ => 7,
        }),
        kind: if [60, 91, 93].contains(&index) { EntryKind::Term } else { EntryKind::Request },
        what: format!("put /demo/lock/{index}"),
    };
    NodePicture {
        id: NodeId(id),
        member: MemberId(id),
        term: Term(7),
        leader: Some(NodeId(2)),
        last: RaftIndex(last),
        commit: RaftIndex(commit),
        applied: RaftIndex(commit),
        revision: Revision(412),
        log: (last.saturating_sub(31).max(1)..=last).filter(|&index| id != 4 || index > 86).map(cell).collect(),
        ..NodePicture::default()
    }
}

fn flights() -> Vec<Flight> {
    let flight = |id, from, to, gone: u64, what| Flight {
        id,
        from: NodeId(from),
        to: NodeId(to),
        sent: at(NOW - gone * 100),
        arrives: at(NOW - gone * 100 + 10_000),
        lost: false,
        what,
    };
    let append = |first, last| RaftMessage::Append { term: Term(7), first: RaftIndex(first), last: RaftIndex(last) };
    vec![
        flight(1, 3, 2, 60, RaftMessage::AppendReply { term: Term(7), last: RaftIndex(94) }),
        flight(2, 2, 3, 40, append(95, 96)),
        flight(3, 2, 1, 40, append(97, 97)),
    ]
}

/// A term; times in milliseconds.
fn record(
    term: u64,
    began: u64,
    candidates: &[u64],
    votes: &[(u64, u64)],
    leader: Option<(u64, u64)>,
    ended: Option<u64>,
) -> TermRecord {
    TermRecord {
        term: Term(term),
        began: at(began * 1_000),
        candidates: candidates.iter().copied().map(NodeId).collect(),
        votes: votes.iter().map(|&(by, to)| (NodeId(by), NodeId(to))).collect(),
        leader: leader.map(|(leader, since)| (NodeId(leader), at(since * 1_000))),
        ended: ended.map(|ended| at(ended * 1_000)),
    }
}

fn put() -> Trace {
    let step = |micros: u64, node, what| TraceStep { at: at(40_900_000 + micros), node: NodeId(node), what };
    let steps = vec![
        step(0, 1, Waypoint::Received),
        step(200, 1, Waypoint::Forwarded { to: NodeId(2) }),
        step(11_200, 2, Waypoint::Proposed { term: Term(7), index: RaftIndex(96) }),
        step(11_200, 2, Waypoint::Appended),
        step(22_400, 1, Waypoint::Appended),
        step(33_900, 2, Waypoint::Acknowledged { by: NodeId(1) }),
        step(33_900, 2, Waypoint::Committed),
        step(33_900, 2, Waypoint::Applied { revision: Revision(412) }),
        step(35_000, 2, Waypoint::WatchersTold { watches: 2 }),
        step(45_000, 1, Waypoint::Committed),
        step(45_000, 1, Waypoint::Applied { revision: Revision(412) }),
        step(45_300, 1, Waypoint::Answered { ok: true }),
    ];
    Trace { id: PUT, what: "put /demo/lock/96".into(), steps, stopped: None }
}

fn stuck() -> Trace {
    let step = |micros: u64, node, what| TraceStep { at: at(41_250_000 + micros), node: NodeId(node), what };
    let steps = vec![
        step(0, 2, Waypoint::Received),
        step(100, 2, Waypoint::Proposed { term: Term(7), index: RaftIndex(97) }),
        step(100, 2, Waypoint::Appended),
    ];
    Trace { id: STUCK, what: "put /demo/lock/97".into(), steps, stopped: Some("no quorum: only n2 has it".into()) }
}

/// What real etcds tell that were started to be played on: two that run, the first leading, and a
/// killed one.
pub fn of_status() -> RaftPicture {
    use crate::domain::raft::{Life, Told};
    let told = |id, commit| NodePicture {
        term: Term(4),
        leader: Some(NodeId(1)),
        commit: RaftIndex(commit),
        applied: RaftIndex(commit),
        revision: Revision(412),
        member: MemberId(id),
        id: NodeId(id),
        ..NodePicture::default()
    };
    let leader = NodePicture { role: RaftRole::Leader, leads_since: Some(at(12_400_000)), ..told(1, 97) };
    let term = |term, began, leader, ended| record(term, began, &[], &[], leader, ended);
    RaftPicture {
        told: Told::Status,
        now: at(NOW),
        rules: Rules {
            heartbeat: Duration::from_millis(100),
            election_min: Duration::from_secs(1),
            election_max: Duration::from_secs(2),
            pre_vote: true,
            check_quorum: true,
        },
        nodes: vec![leader, told(2, 94), NodePicture { life: Life::Killed, ..told(3, 80) }],
        terms: vec![
            term(2, 1_000, Some((3, 1_100)), Some(11_900)),
            term(3, 11_900, None, Some(12_400)),
            term(4, 12_400, Some((1, 12_400)), None),
        ],
        ..RaftPicture::default()
    }
}

/// A cluster of so many nodes in the middle of an election: the leader is killed, one stands, one
/// asks whether it could, one is cut off.
pub fn election(count: u64) -> RaftPicture {
    use crate::domain::raft::Life;
    let mut picture = picture();
    let last = |id| 90 + id % 3;
    picture.nodes = (1..=count)
        .map(|id| NodePicture {
            timer: Some(Timer { set: at(NOW - 50_000 * id), due: at(NOW + 250_000 - 30_000 * id) }),
            ..node(id, last(id), 90)
        })
        .collect();
    let life = |picture: &mut RaftPicture, at: usize, change: &dyn Fn(&mut NodePicture)| {
        picture.nodes.get_mut(at).into_iter().for_each(change);
    };
    life(&mut picture, 1, &|node| {
        (node.life, node.role, node.timer) = (Life::Killed, RaftRole::Leader, None);
    });
    life(&mut picture, 0, &|node| {
        (node.role, node.term, node.granted) = (RaftRole::Candidate, Term(8), vec![NodeId(1)]);
        (node.voted_for, node.leader) = (Some(NodeId(1)), None);
    });
    life(&mut picture, 3, &|node| {
        (node.role, node.granted, node.refused) = (RaftRole::PreCandidate, vec![NodeId(4)], vec![NodeId(1)]);
    });
    life(&mut picture, 4, &|node| node.life = Life::Paused);
    picture.network.cuts = (1..=count).filter(|&id| id != 3).map(|id| (NodeId(id.min(3)), NodeId(id.max(3)))).collect();
    picture.network.cuts.push((NodeId(1), NodeId(5)));
    picture.network.loss = 200;
    picture.terms.push(record(8, 41_280, &[1], &[(1, 1)], None, None));
    let flight = |id, from, to, gone: u64, lost, what| Flight {
        id,
        from: NodeId(from),
        to: NodeId(to),
        sent: at(NOW - gone * 100),
        arrives: at(NOW - gone * 100 + 10_000),
        lost,
        what,
    };
    picture.flights = vec![
        flight(1, 1, 4, 70, false, RaftMessage::Vote { term: Term(8) }),
        flight(2, 1, 3, 70, true, RaftMessage::Vote { term: Term(8) }),
        flight(3, 4, 1, 20, false, RaftMessage::PreVote { term: Term(9) }),
    ];
    picture
}
