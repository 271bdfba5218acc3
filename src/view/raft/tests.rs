//! Whole frames of an embedded cluster: what is on them, how it looks, and that no picture is
//! too odd to be drawn.

use std::time::Duration;

use insta::assert_snapshot;
use proptest::prelude::*;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};

use super::sample;
use crate::domain::raft::{
    ClusterTime, EntryKind, Flight, Life, LogCell, NodeId, NodePicture, Progress, RaftMessage, RaftPicture, RaftRole,
    Speed, TermRecord, Timer, Trace, TraceStep, Waypoint,
};
use crate::domain::{Lang, MemberId, RaftIndex, Revision, Term};
use crate::event::Observation;
use crate::input::{Action, Pane, Target};
use crate::model::ui::Demo;
use crate::view::testing::*;
use crate::view::text::is_unsafe;
use crate::view::theme::Role;

/// The demo with this picture, its hint taken away.
fn demo(picture: RaftPicture) -> Cluster {
    let mut cluster = Cluster::connected();
    cluster.list(Vec::new());
    cluster.model.ui.demo = Some(Demo { hint: false, ..Demo::new(42, 3) });
    cluster.tell(Observation::Raft(Box::new(picture)));
    cluster
}

/// Its Raft screen.
fn raft(picture: RaftPicture, width: u16, height: u16) -> Cluster {
    let mut cluster = demo(picture);
    cluster.press("r", width, height);
    cluster
}

#[test]
fn the_cluster_at_80x24() {
    assert_snapshot!(raft(sample::picture(), 80, 24).draw(80, 24, &plain()).text());
}

#[test]
fn the_cluster_at_120x36() {
    assert_snapshot!(raft(sample::picture(), 120, 36).draw(120, 36, &plain()).text());
}

#[test]
fn the_cluster_at_200x60() {
    assert_snapshot!(raft(sample::picture(), 200, 60).draw(200, 60, &plain()).text());
}

#[test]
fn the_cluster_in_ascii() {
    let shot = raft(sample::picture(), 80, 24).draw(80, 24, &ascii());
    assert!(shot.text().is_ascii(), "{}", shot.text());
    assert_snapshot!(shot.text());
}

#[test]
fn seven_nodes_in_trouble_at_80x24() {
    assert_snapshot!(raft(sample::election(7), 80, 24).draw(80, 24, &plain()).crop(Rect::new(0, 2, 80, 20)));
}

#[test]
fn an_election_of_five_at_120x36() {
    assert_snapshot!(raft(sample::election(5), 120, 36).draw(120, 36, &plain()).crop(Rect::new(0, 2, 120, 22)));
}

#[test]
fn a_log_that_does_not_follow_says_so_and_counts_only_what_it_shows() {
    let mut cluster = raft(sample::picture(), 80, 24);
    assert!(!cluster.draw(80, 24, &plain()).text().contains("End follows"));
    cluster.model.ui.raft.entry = Some(RaftIndex(90));
    let text = cluster.draw(80, 24, &plain()).text();
    assert!(text.contains("Log entry 90, End follows") && text.contains("committed, on 4 nodes"), "{text}");
    let mut picture = sample::picture();
    picture.nodes[0].log.retain(|cell| cell.index.0 > 90);
    cluster.tell(Observation::Raft(Box::new(picture)));
    let text = cluster.draw(80, 24, &plain()).text();
    assert!(text.contains("committed ") && !text.contains("committed, on"), "{text}");
}

#[test]
fn the_elections_take_the_logs_place() {
    let mut cluster = raft(sample::picture(), 80, 24);
    cluster.press("e", 80, 24);
    let shot = cluster.draw(80, 24, &plain());
    assert_snapshot!(shot.crop(Rect::new(0, 14, 80, 8)));
    cluster.press("e", 80, 24);
    assert!(cluster.draw(80, 24, &plain()).text().contains("╭ Log "));
}

#[test]
fn a_way_at_80x24_and_beside_the_requests() {
    let mut cluster = raft(sample::picture(), 80, 24);
    cluster.press("wj", 80, 24);
    assert_snapshot!(cluster.draw(80, 24, &plain()).text());
    assert_snapshot!(cluster.draw(120, 36, &plain()).crop(Rect::new(0, 2, 120, 19)));
}

#[test]
fn a_selected_request_that_is_no_longer_kept_stays_the_selected_row() {
    let mut cluster = raft(sample::picture(), 80, 24);
    cluster.press("wj", 80, 24);
    let before = cluster.draw(80, 24, &plain());
    assert!(before.text().contains("Way put /demo/lock/96") && !before.text().contains("gone from here"));
    let mut picture = sample::picture();
    picture.traces.remove(0);
    cluster.tell(Observation::Raft(Box::new(picture)));
    cluster.wait(0);
    let text = cluster.draw(80, 24, &plain()).text();
    assert!(text.contains("Way put /demo/lock/96"), "{text}");
    let marked: Vec<&str> = text.lines().filter(|line| line.contains("gone from here")).collect();
    assert!(matches!(marked[..], [line] if line.contains("put /demo/lock/96")), "{text}");
}

#[test]
fn the_time_stays_while_the_clock_stands_still() {
    let picture = RaftPicture { paused: true, speed: Speed(2_000), ..sample::picture() };
    let text = raft(picture, 80, 24).draw(80, 24, &plain()).text();
    assert!(text.contains("×2.00 FROZEN") && text.contains("t 00:41.3 FROZEN"), "{text}");
}

#[test]
fn a_node_that_is_cut_off_keeps_its_role_in_the_table() {
    let mut picture = sample::picture();
    picture.network.cuts = [1, 2, 4].map(|id| (NodeId(id.min(3)), NodeId(id.max(3)))).to_vec();
    let text = raft(picture, 80, 24).draw(80, 24, &plain()).crop(Rect::new(41, 2, 39, 12));
    let row = text.lines().find(|line| line.contains(" n3 ")).unwrap_or_default();
    assert!(row.contains("follower!"), "{text}");
}

#[test]
fn who_leads_is_told_by_the_picture_and_not_by_what_members_last_said() {
    let first = |picture: RaftPicture| {
        let mut cluster = demo(picture);
        let text = cluster.draw(120, 36, &plain()).text();
        (text.lines().next().unwrap_or_default().to_owned(), text)
    };
    let (head, text) = first(sample::picture());
    assert!(head.contains("★ n2  term 7") && !text.contains("no leader"), "{text}");
    let mut picture = sample::picture();
    picture.nodes[1].life = Life::Killed;
    let (head, text) = first(picture);
    assert!(head.contains("no leader  term 7"), "{text}");
    let mut picture = sample::picture();
    picture.nodes.iter_mut().for_each(|node| (node.term, node.role) = (Term(0), RaftRole::Follower));
    let (_, text) = first(picture);
    assert!(!text.contains("no leader"), "before the first election nothing is wrong: {text}");
}

#[test]
fn a_real_etcd_shows_what_it_tells_and_says_what_it_does_not() {
    let mut cluster = crate::view::testing::sample();
    cluster.press("r", 80, 24);
    for id in 1..=3 {
        cluster.tell(Observation::Status { member: MemberId(id), answer: Ok(status(id)) });
    }
    let shot = cluster.draw(80, 24, &plain());
    assert_snapshot!(shot.text());
    assert!(!shot.text().contains("kill"), "what cannot be done is not offered");
    cluster.press("?", 80, 24);
    assert!(!cluster.draw(120, 60, &plain()).text().to_lowercase().contains("kill"));
}

/// Real etcds that were started to be played on.
fn real(width: u16, height: u16) -> Cluster {
    let mut cluster = demo(sample::of_status());
    cluster.model.ui.demo = Some(Demo { hint: false, ..Demo::new(42, 3).of_real_etcds() });
    cluster.press("r", width, height);
    cluster
}

#[test]
fn real_etcds_to_play_on_show_what_they_tell_and_say_what_they_do_not() {
    assert_snapshot!(real(80, 24).draw(80, 24, &plain()).text());
    assert_snapshot!(real(120, 36).draw(120, 36, &plain()).text());
}

#[test]
fn of_real_etcds_nothing_is_claimed_that_nobody_told() {
    let mut cluster = real(200, 60);
    let text = cluster.draw(200, 60, &plain()).text();
    for claim in ["in flight", "no entry", "VOTED", "VOTES", "MATCH", "SNAPSHOT", "seed", "log to", "no election"] {
        assert!(!text.contains(claim), "{claim}: {text}");
    }
    assert!(text.contains("a real etcd tells nothing of single requests"), "{text}");
    assert!(!text.to_lowercase().contains("embedded cluster") || text.contains("starts an embedded"), "{text}");
    cluster.press("4", 80, 24);
    let text = cluster.draw(80, 24, &plain()).text();
    assert!(text.contains("K kills") && !text.contains("votes"), "{text}");
}

#[test]
fn roles_troubles_and_votes_have_their_looks() {
    let theme = plain();
    let shot = raft(sample::picture(), 120, 36).draw(120, 36, &theme);
    assert!(shot.has_role("★ n2 leader", &theme, Role::Leader));
    assert!(shot.has_role("◌ n4 learner (no vote)", &theme, Role::Learner));
    assert!(shot.has_role("31ms !", &theme, Role::Warning), "an election that is near");
    let shot = raft(sample::election(5), 120, 36).draw(120, 36, &theme);
    assert!(shot.has_role("▲ n1 candidate", &theme, Role::Warning));
    assert!(shot.has_role("× n2 killed", &theme, Role::Error));
    assert!(shot.has_role("isolated", &theme, Role::Warning));
    assert!(shot.has_role("≈ n5 paused", &theme, Role::Warning));
    let wide = raft(sample::election(5), 200, 60).draw(200, 60, &theme);
    assert!(wide.has_role("lost: vote in 8?", &theme, Role::Error));
    assert!(shot.has_role("× cut", &theme, Role::Error));
    assert!(shot.has_role("voting", &theme, Role::Warning));
    let votes = shot.lines().into_iter().find(|line| line.contains("votes term 8 n1:")).unwrap();
    assert!(votes.contains("n1✓ n2? n3? n4? n5?"), "{votes}");
}

#[test]
fn without_colour_nothing_is_told_by_hue_alone() {
    let theme = mono();
    let shot = raft(sample::election(5), 120, 36).draw(120, 36, &theme);
    for cell in &shot.buffer.content {
        assert_eq!((cell.fg, cell.bg), (Color::Reset, Color::Reset));
    }
    assert!(shot.find("× n2 killed").unwrap().modifier.contains(Modifier::REVERSED));
    assert!(shot.find("≈ n5 paused").unwrap().modifier.contains(Modifier::UNDERLINED));
}

#[test]
fn an_entry_that_the_leader_does_not_have_stands_out() {
    let mut picture = sample::picture();
    picture.nodes[2].log.iter_mut().for_each(|cell| {
        if cell.index == RaftIndex(94) {
            cell.term = Term(6);
        }
    });
    let theme = plain();
    let shot = raft(picture, 80, 24).draw(80, 24, &theme);
    let row = shot.lines().iter().rposition(|line| line.starts_with("│ ● n3 ")).unwrap();
    let row = u16::try_from(row).unwrap();
    let head = shot.lines().into_iter().find(|line| line.starts_with("│ index")).unwrap();
    let x = u16::try_from(crate::view::text::width(&head[..head.find(" 94 ").unwrap()])).unwrap();
    assert_eq!(shot.buffer[(x + 2, row)].symbol(), "6", "{}", shot.text());
    assert_eq!(shot.buffer[(x + 2, row)].fg, theme.style(Role::Error).fg.unwrap());
}

#[test]
fn the_header_says_demo_and_how_the_clock_runs() {
    let theme = plain();
    let first_line = |picture| demo(picture).draw(80, 24, &theme).lines()[0].clone();
    let line = first_line(RaftPicture { paused: true, ..sample::picture() });
    assert!(line.contains("LIVE  DEMO ×0.50 FROZEN  "), "{line}");
    let line = first_line(RaftPicture { speed: Speed::default(), ..sample::picture() });
    assert!(line.contains("DEMO  ") && !line.contains('×'), "{line}");
    assert!(!Cluster::connected().draw(80, 24, &theme).text().contains("DEMO"));
}

#[test]
fn the_hint_stands_above_the_screen_until_something_is_done() {
    let mut cluster = demo(sample::picture());
    cluster.model.ui.demo = Some(Demo::new(42, 3));
    let shot = cluster.draw(80, 24, &plain());
    assert_snapshot!(shot.crop(Rect::new(0, 0, 80, 10)));
    assert!(shot.text().contains("╭ Locks"), "the screen goes on below");
    cluster.press("?", 120, 36);
    let text = cluster.draw(120, 36, &plain()).text();
    assert!(!text.contains("any key takes this away") && text.contains("kill"), "{text}");
}

#[test]
fn with_reduced_motion_nothing_moves_unless_the_clock_stands_still() {
    let still = plain().with_motion(false);
    let text = raft(sample::picture(), 120, 36).draw(120, 36, &still).text();
    assert!(!text.contains("append 97") && !text.contains("212ms"), "{text}");
    let frozen = RaftPicture { paused: true, ..sample::picture() };
    let text = raft(frozen, 120, 36).draw(120, 36, &still).text();
    assert!(text.contains("append 97") && text.contains("212ms"), "{text}");
}

#[test]
fn nodes_entries_and_requests_can_be_clicked() {
    let shot = raft(sample::picture(), 200, 60).draw(200, 60, &plain());
    let hit = |needle: &str| {
        let (x, y) = shot.position(needle).unwrap();
        shot.hits.at(x, y).cloned()
    };
    assert_eq!(hit("● n3 follower"), Some(Target::Node(NodeId(3))));
    assert_eq!(hit("▌★ n2    ·"), Some(Target::Node(NodeId(2))));
    assert_eq!(hit("put /demo/lock/96"), Some(Target::Request(sample::PUT)));
    assert_eq!(hit("k kill"), Some(Target::Do(Action::Node(crate::input::action::NodeDeed::KillOrStart))));
    let (x, y) = shot.position("7┊ 7").unwrap();
    assert_eq!(shot.hits.at(x, y), Some(&Target::Entry(NodeId(2), RaftIndex(96))));
    let panes: Vec<Pane> = shot.hits.panes().iter().map(|(pane, _)| *pane).collect();
    assert_eq!(panes, [Pane::Nodes, Pane::Terms, Pane::Requests, Pane::Way]);
}

#[test]
fn every_number_of_nodes_shows_all_of_them_at_every_size() {
    for count in [1, 3, 5, 7] {
        for (width, height) in [(80, 24), (120, 36), (160, 48), (200, 60)] {
            let text = raft(sample::election(count), width, height).draw(width, height, &plain()).text();
            for id in 1..=count {
                // In the ring, in the table, in the log.
                assert!(text.matches(&format!(" n{id} ")).count() >= 3, "n{id} of {count} at {width}x{height}\n{text}");
            }
        }
    }
}

#[test]
fn the_members_of_an_embedded_cluster_say_what_more_there_is() {
    let mut cluster = demo(sample::picture());
    cluster.press("4", 80, 24);
    let text = cluster.draw(80, 24, &plain()).text();
    assert!(text.contains("Enter shows votes, messages") && text.contains("K kill"), "{text}");
}

/// A number that is small, or at an end of what there is.
fn odd() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..200_u64, 1 => proptest::sample::select(vec![u64::MAX, u64::MAX - 1, 1 << 40])]
}

fn nodes(text: &str) -> impl Strategy<Value = Vec<NodePicture>> + use<> {
    let text = text.to_owned();
    let node = (
        (0..9_u64, odd(), odd(), odd(), odd()),
        (0..3_usize, 0..4_usize, any::<bool>(), proptest::collection::vec(odd(), 0..6)),
        (odd(), odd(), odd()),
    );
    let node = node.prop_map(move |((id, term, last, commit, snapshot), (life, role, learner, ids), times)| {
        let cell = |(at, kind): (u64, &u64)| LogCell {
            index: RaftIndex(last.saturating_sub(40).saturating_add(at)),
            term: Term(term),
            kind: [EntryKind::Term, EntryKind::Members, EntryKind::Request][usize::try_from(kind % 3).unwrap()],
            what: text.clone(),
        };
        let progress = |id: &u64| Progress {
            node: NodeId(id % 9),
            matched: RaftIndex(*id),
            next: RaftIndex(*id),
            heard: ClusterTime(*id),
        };
        let some: Vec<NodeId> = ids.iter().map(|id| NodeId(id % 9)).collect();
        NodePicture {
            id: NodeId(id),
            member: MemberId(id),
            life: [Life::Up, Life::Paused, Life::Killed][life],
            role: [RaftRole::Follower, RaftRole::PreCandidate, RaftRole::Candidate, RaftRole::Leader][role],
            learner,
            term: Term(term),
            voted_for: some.first().copied(),
            leader: some.last().copied(),
            timer: Some(Timer { set: ClusterTime(times.0), due: ClusterTime(times.1) }),
            last: RaftIndex(last),
            commit: RaftIndex(commit),
            applied: RaftIndex(commit),
            snapshot: RaftIndex(snapshot),
            revision: Revision(i64::from_ne_bytes(times.2.to_ne_bytes())),
            log: (0..41).zip(ids.iter().cycle()).map(cell).collect(),
            granted: some.clone(),
            refused: some,
            progress: ids.iter().map(progress).collect(),
            leads_since: Some(ClusterTime(times.2)),
        }
    });
    proptest::collection::vec(node, 0..9)
}

fn flights() -> impl Strategy<Value = Vec<Flight>> {
    let flight = ((0..9_u64, 0..9_u64), (odd(), odd()), any::<bool>(), odd(), 0..6_usize);
    let flight = flight.prop_map(|((from, to), (sent, arrives), lost, number, what)| {
        let (term, index) = (Term(number), RaftIndex(number));
        let what = [
            RaftMessage::Append { term, first: index, last: RaftIndex(number / 2) },
            RaftMessage::AppendReply { term, last: index },
            RaftMessage::VoteReply { term, granted: lost },
            RaftMessage::PreVote { term },
            RaftMessage::Snapshot { last: index },
            RaftMessage::ReadIndex,
        ][what];
        let (sent, arrives) = (ClusterTime(sent), ClusterTime(arrives));
        Flight { id: number, from: NodeId(from), to: NodeId(to), sent, arrives, lost, what }
    });
    proptest::collection::vec(flight, 0..80)
}

fn traces(text: &str) -> impl Strategy<Value = Vec<Trace>> + use<> {
    let text = text.to_owned();
    let step = (0..9_u64, odd(), 0..9_usize, any::<bool>());
    let trace = (odd(), proptest::collection::vec(step, 0..14), any::<bool>());
    let trace = trace.prop_map(move |(id, steps, stopped)| {
        let step = |(node, number, what, ok): (u64, u64, usize, bool)| TraceStep {
            at: ClusterTime(number),
            node: NodeId(node),
            what: [
                Waypoint::Received,
                Waypoint::Forwarded { to: NodeId(number % 9) },
                Waypoint::Proposed { term: Term(number), index: RaftIndex(number) },
                Waypoint::Appended,
                Waypoint::Acknowledged { by: NodeId(number % 9) },
                Waypoint::Committed,
                Waypoint::Compacted { snapshot: RaftIndex(number) },
                Waypoint::Answered { ok },
                Waypoint::WatchersTold { watches: 1 },
            ][what],
        };
        let steps = steps.into_iter().map(step).collect();
        Trace { id, what: text.clone(), steps, stopped: stopped.then(|| text.clone()) }
    });
    proptest::collection::vec(trace, 0..5)
}

fn terms() -> impl Strategy<Value = Vec<TermRecord>> {
    let record = (odd(), odd(), proptest::collection::vec((0..9_u64, 0..9_u64), 0..9), any::<bool>());
    let record = record.prop_map(|(term, time, votes, led)| TermRecord {
        term: Term(term),
        began: ClusterTime(time),
        candidates: votes.iter().take(3).map(|(by, _)| NodeId(*by)).collect(),
        votes: votes.iter().map(|&(by, to)| (NodeId(by), NodeId(to))).collect(),
        leader: led.then_some((NodeId(time % 9), ClusterTime(term))),
        ended: led.then_some(ClusterTime(time)),
    });
    proptest::collection::vec(record, 0..6)
}

fn pictures() -> impl Strategy<Value = RaftPicture> {
    "\\PC{0,30}\\p{C}{0,8}".prop_flat_map(|text| {
        let parts = (nodes(&text), flights(), traces(&text), terms(), (odd(), odd(), any::<bool>()));
        parts.prop_map(|(nodes, flights, traces, terms, (now, number, paused))| {
            let mut picture = sample::picture();
            picture.rules.heartbeat = Duration::from_micros(number);
            picture.network.jitter = Duration::from_micros(number);
            picture.network.cuts = nodes.iter().zip(nodes.iter().skip(1)).map(|(one, two)| (one.id, two.id)).collect();
            let in_flight = flights.len();
            RaftPicture { now: ClusterTime(now), paused, nodes, flights, in_flight, terms, traces, ..picture }
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn no_picture_is_too_odd_to_be_drawn_and_none_reaches_the_terminal_as_it_is(
        picture in pictures(),
        width in 1_u16..210,
        height in 1_u16..62,
        keys in proptest::sample::select(vec!["r", "re", "rw", "r\t\t", "rwjj", "4", "1?"]),
        unicode in any::<bool>(),
    ) {
        let mut cluster = demo(sample::picture());
        cluster.press("r", 80, 24);
        cluster.tell(Observation::Raft(Box::new(picture)));
        cluster.press(keys, width, height);
        let theme = if unicode { plain() } else { ascii() };
        let shot = cluster.draw(width, height, &theme);
        for cell in &shot.buffer.content {
            prop_assert!(!cell.symbol().chars().any(is_unsafe), "{cell:?}");
        }
    }
}

/// What a frame says between the tabs and the hints, in Chinese.
fn in_chinese(mut cluster: Cluster, width: u16, height: u16) -> String {
    cluster.model.ui.lang = Lang::Chinese;
    let shot = cluster.draw(width, height, &mono());
    for line in shot.lines() {
        assert_eq!(crate::view::text::width(&line), usize::from(width), "{line}");
    }
    shot.crop(Rect::new(0, 2, width, height - 3))
}

#[test]
fn who_reads_chinese_finds_no_english_among_nodes_logs_terms_and_ways() {
    // What a server says of a request that failed is in its words.
    let sample = ["put", "etcdctl", "End", "PreVote", "CheckQuorum", "WAL", "no", "quorum", "only", "has", "it"];
    for (width, height) in [(80, 24), (120, 36), (200, 60)] {
        for (picture, keys) in [
            (sample::picture(), ""),
            (sample::picture(), "e"),
            (sample::picture(), "w"),
            (sample::picture(), "wj"),
            (sample::election(5), ""),
            (sample::election(7), "e"),
            (sample::of_status(), ""),
        ] {
            let mut cluster = raft(picture, width, height);
            cluster.press(keys, width, height);
            let text = in_chinese(cluster, width, height);
            assert_eq!(english_left(&text, &sample), [""; 0], "{width}x{height} {keys}\n{text}");
        }
    }
}
