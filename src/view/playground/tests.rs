//! Whole frames of the playground: what is on them, how it looks, and that no run is too odd or
//! too large to be drawn.

use insta::assert_snapshot;
use proptest::prelude::*;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};

use super::sample;
use crate::domain::Lang;
use crate::domain::play::{
    Belief, ClientId, ClientPicture, Expected, Happening, Life, Moment, PlayPicture, Said, Sight,
};
use crate::domain::raft::ClusterTime;
use crate::domain::{Key, Revision};
use crate::event::Observation;
use crate::input::action::Blow;
use crate::input::{Action, Pane, Target};
use crate::view::testing::*;
use crate::view::text::{is_unsafe, width};
use crate::view::theme::Role;

/// The playground's screen with this run.
fn playing(picture: PlayPicture, width: u16, height: u16) -> Cluster {
    let mut cluster = Cluster::connected();
    cluster.list(Vec::new());
    cluster.tell(Observation::Play(Box::new(picture)));
    cluster.press("5", width, height);
    // Half as far as usual, so that the whole story is seen at once.
    cluster.press("Z", width, height);
    cluster
}

fn zombie(width: u16, height: u16) -> Cluster {
    playing(sample::picture(), width, height)
}

#[test]
fn the_run_at_80x24() {
    assert_snapshot!(zombie(80, 24).draw(80, 24, &mono()).text());
}

#[test]
fn the_run_at_120x36() {
    assert_snapshot!(zombie(120, 36).draw(120, 36, &mono()).text());
}

#[test]
fn the_run_at_160x48() {
    assert_snapshot!(zombie(160, 48).draw(160, 48, &mono()).text());
}

#[test]
fn the_run_at_200x60() {
    assert_snapshot!(zombie(200, 60).draw(200, 60, &mono()).text());
}

#[test]
fn the_run_in_ascii() {
    let shot = zombie(80, 24).draw(80, 24, &ascii());
    assert!(shot.text().is_ascii(), "{}", shot.text());
    assert_snapshot!(shot.text());
}

#[test]
fn a_marked_moment_and_the_expectations_at_80x24() {
    let mut cluster = zombie(80, 24);
    // Behind the expectations come the lanes again, then the sentences, of which the fourth tells
    // that the storage refuses a token.
    cluster.press("e\t\tjjj", 80, 24);
    let shot = cluster.draw(80, 24, &mono());
    assert!(shot.text().contains("F follows"), "{}", shot.text());
    assert_snapshot!(shot.text());
}

/// Two locks with the clients of one between those of the other, and who publishes and watches.
fn several(width: u16, height: u16) -> Cluster {
    let mut picture = sample::picture();
    picture.clients[1].lock = "/demo/orders".into();
    picture.clients[3].lock = "/demo/orders".into();
    picture.clients[3].place = Some(1);
    let config: Key = "/demo/config/app".into();
    let beside = |id, recipe: &str, lock: &Key| ClientPicture {
        id: ClientId(id),
        recipe: recipe.into(),
        lock: lock.clone(),
        ..ClientPicture::default()
    };
    let mut publisher = beside(6, "publish", &config);
    (publisher.place, publisher.stake.key) = (Some(0), config.clone());
    picture.clients.extend([publisher, beside(7, "watch", &"/demo/config/".into())]);
    let sees = |millis: u64, value: &str| Moment {
        at: ClusterTime(millis * 1_000),
        lock: "/demo/config/".into(),
        client: Some(ClientId(7)),
        what: Happening::Saw(Sight::Changed(config.clone(), value.into())),
    };
    picture.moments.extend([sees(18_500, "limit = 10"), sees(19_600, "limit = 20")]);
    playing(picture, width, height)
}

#[test]
fn clients_of_a_lock_stand_together_and_who_takes_none_is_seen_to_do_something() {
    let shot = several(120, 40).draw(120, 40, &mono());
    assert!(!shot.text().contains("client-6 holds"), "{}", shot.text());
    assert_snapshot!(shot.crop(Rect::new(0, 3, 120, 27)));
}

#[test]
fn with_little_room_the_group_of_the_first_lane_is_still_named() {
    let mut cluster = several(80, 24);
    cluster.model.ui.play.clients.pin(Some(ClientId(7)));
    cluster.wait(1);
    let text = cluster.draw(80, 24, &mono()).text();
    assert!(text.contains("▌client-7"), "{text}");
}

#[test]
fn all_that_is_expected_can_be_scrolled_to() {
    let mut picture = sample::picture();
    let more = (1..=12).map(|nth| Expected {
        text: format!("expectation {nth} of a dozen").into(),
        held: Some(true),
        evidence: format!("evidence {nth}").into(),
    });
    picture.expectations.extend(more);
    let mut cluster = playing(picture, 80, 24);
    cluster.press("e", 80, 24);
    let text = cluster.draw(80, 24, &mono()).text();
    assert!(text.contains("▼ 25 more"), "{text}");
    cluster.press("G", 80, 24);
    let text = cluster.draw(80, 24, &mono()).text();
    assert!(text.contains("evidence 12") && text.contains("▲ 25 more"), "{text}");
    cluster.press("\t", 80, 24);
    let text = cluster.draw(80, 24, &mono()).text();
    assert!(!text.contains("evidence 1"), "without the focus what is met takes a line: {text}");
}

#[test]
fn the_last_client_leaves_the_resources_their_lanes() {
    let mut picture = sample::picture();
    picture.clients.truncate(1);
    let blind = crate::domain::play::ResourcePicture { name: "blind".into(), ..picture.resources[0].clone() };
    picture.resources.push(blind);
    let text = playing(picture.clone(), 120, 36).draw(120, 36, &mono()).text();
    assert!(text.contains("│ storage ") && text.contains("│ blind "), "{text}");
    picture.clients.clear();
    let text = playing(picture, 120, 36).draw(120, 36, &mono()).text();
    assert!(text.contains("no client plays; a adds one") && text.contains("│ blind "), "{text}");
}

#[test]
fn without_a_run_the_screen_says_how_to_get_one() {
    let mut cluster = Cluster::connected();
    assert!(!cluster.draw(80, 24, &plain()).text().contains("5 Play"), "no tab that leads nowhere");
    cluster.press("5", 80, 24);
    assert_snapshot!(cluster.draw(80, 24, &plain()).crop(Rect::new(0, 1, 80, 14)));
}

#[test]
fn who_reads_chinese_is_told_in_chinese_and_the_columns_stand() {
    let mut cluster = zombie(80, 24);
    let english = cluster.draw(80, 24, &mono()).text();
    cluster.model.ui.lang = Lang::Chinese;
    let shot = cluster.draw(80, 24, &mono());
    let (first, rest) = ("client-1 睡过了它的租约。存储已把锁交给 client-2，而 client-1 无从得知。", "client-2;");
    assert!(shot.text().contains(first) && !shot.text().contains(rest), "{}", shot.text());
    assert!(english.contains(rest) && !english.contains("租约"), "{english}");
    let told = shot.lines().into_iter().find(|line| line.contains("13.0") && line.contains("睡过了"));
    assert!(told.is_some(), "{}", shot.text());
    for line in shot.lines() {
        assert_eq!(width(&line), 80, "{line}");
    }
}

#[test]
fn who_reads_chinese_finds_no_english_in_a_run() {
    let sample = ["zombie", "six-steps", "storage", "ledger"];
    let writes = Said::new("{writes}; of {n} with an old token {m} taken, {l} refused").count("writes", 5, "write");
    let times = Said::new("{n} times").with("n", 2);
    let held = Said::new("{n} of {clients} held it, {times} in all; not {client}").with("n", 2);
    let expectations = vec![
        Expected {
            text: Said::new("no stale write accepted by {resource}").with("resource", "storage"),
            held: Some(true),
            evidence: writes.with("n", 1).with("m", 0).with("l", 1),
        },
        Expected {
            text: Said::new("everybody holds"),
            held: None,
            evidence: held.count("clients", 5, "client").part("times", times).with("client", "client-3"),
        },
    ];
    for (width, height) in [(80, 24), (120, 36), (160, 48), (200, 60)] {
        for keys in ["", "e", "\t\tjj"] {
            let mut cluster =
                playing(PlayPicture { expectations: expectations.clone(), ..sample::picture() }, width, height);
            cluster.press(keys, width, height);
            cluster.model.ui.lang = Lang::Chinese;
            let shot = cluster.draw(width, height, &mono());
            for line in shot.lines() {
                assert_eq!(crate::view::text::width(&line), usize::from(width), "{line}");
            }
            let text = shot.crop(Rect::new(0, 2, width, height - 3));
            assert_eq!(english_left(&text, &sample), [""; 0], "{width}x{height} {keys}\n{text}");
        }
    }
    let mut cluster = Cluster::connected();
    cluster.press("5", 80, 24);
    for awaited in [false, true] {
        (cluster.model.ui.play.awaited, cluster.model.ui.lang) = (awaited, Lang::Chinese);
        let text = cluster.draw(80, 24, &mono()).crop(Rect::new(0, 2, 80, 20));
        assert_eq!(english_left(&text, &["play", "demo", "endpoints"]), [""; 0], "{text}");
    }
}

#[test]
fn before_anything_is_told_the_summary_is_read() {
    let picture = PlayPicture { narration: None, ..sample::picture() };
    let mut cluster = playing(picture, 120, 36);
    assert!(cluster.draw(120, 36, &plain()).text().contains("wakes believing that it still holds"));
    cluster.model.ui.lang = Lang::Chinese;
    assert!(cluster.draw(120, 36, &plain()).text().contains("醒来仍以为自己持有锁"));
}

#[test]
fn clients_that_are_waited_for_are_no_run_that_is_missing() {
    let mut cluster = Cluster::connected();
    cluster.model.ui.play.awaited = true;
    cluster.press("5", 80, 24);
    let text = cluster.draw(80, 24, &plain()).text();
    assert!(text.contains("The clients have not begun.") && text.contains("5 Play"), "{text}");
}

#[test]
fn what_lanes_say_has_its_looks() {
    let theme = plain();
    let shot = zombie(120, 36).draw(120, 36, &theme);
    assert!(shot.has_role("HOLDS", &theme, Role::Holder));
    assert!(shot.has_role("fenced", &theme, Role::Error));
    assert!(shot.has_role("away", &theme, Role::Error));
    assert!(shot.has_role("≈≈", &theme, Role::Warning));
    assert!(shot.has_role("▒", &theme, Role::Error));
    assert!(shot.has_role("×402", &theme, Role::Error));
    assert!(shot.has_role("391✗", &theme, Role::Error));
    assert!(shot.has_role("storage refuses", &theme, Role::Error));
    let held = shot.find("392█").expect("a hold has its token");
    assert!(held.modifier.contains(Modifier::REVERSED) && Some(held.fg) == theme.style(Role::Holder).fg);
}

#[test]
fn without_colour_nothing_is_told_by_hue_alone() {
    let shot = zombie(120, 36).draw(120, 36, &mono());
    for cell in &shot.buffer.content {
        assert_eq!((cell.fg, cell.bg), (Color::Reset, Color::Reset));
    }
    assert!(shot.find("fenced").unwrap().modifier.contains(Modifier::REVERSED));
}

#[test]
fn storage_that_checks_nothing_says_so_and_shows_the_damage() {
    let mut picture = sample::picture();
    picture.resources[0].fencing = false;
    for moment in &mut picture.moments {
        if let Happening::Refused(token, seen) = moment.what {
            moment.what = Happening::Damaged(token, seen);
        }
    }
    let text = playing(picture, 120, 36).draw(120, 36, &plain()).text();
    assert!(text.contains("unfenced") && text.contains("391◆") && text.contains("is damaged"), "{text}");
    assert!(!text.contains('✗') || !text.contains("refuses"), "{text}");
}

#[test]
fn lanes_rows_and_sentences_can_be_clicked() {
    let shot = zombie(160, 48).draw(160, 48, &plain());
    let hit = |needle: &str| {
        let (x, y) = shot.position(needle).unwrap();
        shot.hits.at(x, y).cloned()
    };
    assert_eq!(hit("client-3    waits"), Some(Target::Client(ClientId(3))));
    assert_eq!(hit("storage refuses"), Some(Target::Moment(23)));
    assert_eq!(hit("x revoke"), Some(Target::Do(Action::Client(Blow::Revoke))));
    let panes: Vec<Pane> = shot.hits.panes().iter().map(|(pane, _)| *pane).collect();
    assert_eq!(panes, [Pane::Lanes, Pane::Clients, Pane::Happened, Pane::Expected]);
}

#[test]
fn of_a_thousand_clients_the_selected_one_is_among_the_lanes() {
    let mut picture = sample::picture();
    picture.clients = (1..=1_000)
        .map(|id| ClientPicture {
            id: ClientId(id),
            lock: if id < 8 { "/demo/other".into() } else { picture.lock.clone() },
            belief: Belief::Waiting,
            ..ClientPicture::default()
        })
        .collect();
    let mut cluster = playing(picture, 80, 24);
    cluster.model.ui.play.clients.pin(Some(ClientId(700)));
    cluster.wait(1);
    let text = cluster.draw(80, 24, &plain()).text();
    assert!(text.contains("▌client-700") && text.contains("2 locks, 1,000 clients"), "{text}");
}

#[test]
fn a_second_ago_is_where_it_was_a_second_ago() {
    let mut cluster = zombie(120, 36);
    let lane = |cluster: &mut Cluster| {
        let text = cluster.draw(120, 36, &plain()).text();
        text.lines().find(|line| line.contains("client-1 ")).unwrap().to_owned()
    };
    let before = lane(&mut cluster);
    let quarter = PlayPicture { now: ClusterTime(20_300_000), moments: Vec::new(), before: 28, ..sample::picture() };
    cluster.tell(Observation::Play(Box::new(quarter)));
    let after = lane(&mut cluster);
    assert!(after.contains(before.trim_start_matches(|char| char != '×').trim_end_matches(['·', ' ', '│', '╮'])));
}

fn moments(text: &str) -> impl Strategy<Value = Vec<Moment>> + use<> {
    let text = text.to_owned();
    let time = prop_oneof![6 => 0..40_000_000_u64, 1 => proptest::sample::select(vec![u64::MAX, u64::MAX - 1])];
    let moment = (time, 0..7_u32, 0..17_usize, any::<i64>()).prop_map(move |(at, client, what, number)| {
        let revision = Revision(number);
        let key: Key = text.as_str().into();
        let what = [
            Happening::Began,
            Happening::Enqueued(revision),
            Happening::First(revision),
            Happening::Acquired(revision, std::time::Duration::MAX),
            Happening::Released(std::time::Duration::ZERO),
            Happening::GaveUp,
            Happening::Lost(Belief::Holding),
            Happening::Dropped(revision, Belief::Holding),
            Happening::Crashed(Belief::Waiting),
            Happening::Expired(revision, std::time::Duration::MAX),
            Happening::Paused,
            Happening::Resumed,
            Happening::Wrote(revision),
            Happening::Damaged(revision, revision),
            Happening::Refused(revision, revision),
            Happening::Saw(Sight::Changed(key.clone(), text.clone().into_bytes())),
            Happening::Told(client as usize),
        ][what]
            .clone();
        Moment { at: ClusterTime(at), lock: key, client: (client > 0).then_some(ClientId(client)), what }
    });
    proptest::collection::vec(moment, 0..60)
}

fn pictures() -> impl Strategy<Value = PlayPicture> {
    "\\PC{0,40}\\p{C}{0,8}".prop_flat_map(|text| {
        let now = prop_oneof![4 => 0..60_000_000_u64, 1 => Just(u64::MAX)];
        let clients = proptest::collection::vec((0..4_usize, 0..4_usize, proptest::option::of(0..5_usize)), 0..7);
        (moments(&text), now, clients, any::<bool>()).prop_map(move |(moments, now, clients, told)| {
            let client = |(id, (life, belief, place)): (u32, (usize, usize, Option<usize>))| ClientPicture {
                id: ClientId(id),
                recipe: text.clone(),
                life: [Life::Up, Life::Paused, Life::Gone, Life::Stopped][life],
                belief: [Belief::Idle, Belief::Waiting, Belief::Holding, Belief::Lost][belief],
                place,
                ttl: std::time::Duration::MAX,
                heartbeat: std::time::Duration::MAX,
                skew_ms: i64::MIN,
                ..sample::picture().clients[1].clone()
            };
            let mut picture = sample::picture();
            picture.resources[0].name.clone_from(&text);
            picture.expectations.push(Expected {
                text: Said::new("{that}").with("that", &text),
                held: Some(false),
                evidence: text.as_str().into(),
            });
            let narration = picture.narration.take().filter(|_| told);
            PlayPicture {
                now: ClusterTime(now),
                scenario: text.clone(),
                summary: text.clone(),
                lock: text.as_str().into(),
                clients: (1..).zip(clients).map(client).collect(),
                moments,
                narration,
                ..picture
            }
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn no_run_is_too_odd_to_be_drawn_and_none_reaches_the_terminal_as_it_is(
        picture in pictures(),
        width in 1_u16..210,
        height in 1_u16..62,
        keys in proptest::sample::select(vec!["5", "5e", "5zzzzzzzzzzzz", "5ZZZZZZZZZZZZZZZZ", "5\tjjj", "5\t\tjj", "1", "5?"]),
        unicode in any::<bool>(),
    ) {
        let mut cluster = Cluster::connected();
        cluster.press("5", 80, 24);
        cluster.tell(Observation::Play(Box::new(picture)));
        cluster.press(keys, width, height);
        let theme = if unicode { plain() } else { ascii() };
        let shot = cluster.draw(width, height, &theme);
        for cell in &shot.buffer.content {
            prop_assert!(!cell.symbol().chars().any(is_unsafe), "{cell:?}");
        }
    }
}
