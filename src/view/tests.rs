//! Whole frames: what is on them, how it looks, and what a click on it means.
//!
//! The cluster is that of the mock-ups, with a past of six minutes. Snapshots are cropped to
//! the part under test; whole frames are kept for the layouts.

use insta::assert_snapshot;
use proptest::prelude::*;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};

use super::testing::*;
use super::theme::{Depth, Palette, Role, Theme};
use crate::domain::{Alarm, AlarmKind, Key, KeyEvent, KeyRange, KeyValue, Lang, LeaseId, MemberId, Millis, Revision};
use crate::event::{Denied, EndpointError, LinkState, ListPage, NoStatus, Observation, Past, WatchLoss};
use crate::input::{Action, Pane, Screen, Sort, Target};

/// A part of a frame, by the title its panel starts with: the panel's rows and columns.
fn panel(shot: &Screenshot, title: &str) -> String {
    let (x, y) = shot.position(&format!("╭ {title}")).unwrap_or_else(|| panic!("no {title} in\n{}", shot.text()));
    let line: Vec<char> = shot.lines()[usize::from(y)].chars().collect();
    let width = line[usize::from(x)..].iter().position(|&char| char == '╮').unwrap() + 1;
    let height = (y..shot.buffer.area.height).find(|&row| shot.buffer[(x, row)].symbol() == "╰").unwrap() - y + 1;
    shot.crop(Rect::new(x, y, u16::try_from(width).unwrap(), height))
}

#[test]
fn the_list_at_80x24() {
    assert_snapshot!(sample().draw(80, 24, &plain()).text());
}

#[test]
fn the_list_in_ascii() {
    let shot = sample().draw(80, 24, &ascii());
    assert!(shot.text().is_ascii(), "{}", shot.text());
    assert_snapshot!(shot.text());
}

#[test]
fn the_list_at_60x16() {
    assert_snapshot!(sample().draw(60, 16, &plain()).text());
}

#[test]
fn the_list_beside_the_selected_lock_at_120x36() {
    let mut cluster = sample();
    cluster.press("jj", 120, 36);
    assert_snapshot!(cluster.draw(120, 36, &plain()).text());
}

#[test]
fn members_and_log_come_below_at_160x48() {
    let shot = sample().draw(160, 48, &plain());
    assert_snapshot!(shot.crop(Rect::new(0, 37, 88, 11)));
}

#[test]
fn three_columns_at_200x60() {
    let mut cluster = sample();
    cluster.press("jj", 200, 60);
    // Without the log, which other tests may write to.
    assert_snapshot!(cluster.draw(200, 60, &plain()).crop(Rect::new(0, 0, 200, 49)));
}

#[test]
fn the_lock_at_80x24() {
    let mut cluster = sample();
    cluster.press("/nightly\n\n", 80, 24);
    assert_snapshot!(cluster.draw(80, 24, &plain()).text());
}

#[test]
fn at_80x24_a_holder_that_does_not_renew_is_told_with_what_helps() {
    let mut cluster = sample();
    cluster.press("/nightly\n\n", 80, 24);
    let lease = 0x694d_8225_4d5f_a305;
    for remaining in [30, 20, 10] {
        cluster.wait(10);
        cluster.ttl(lease, 60, remaining);
    }
    let text = cluster.draw(80, 24, &plain()).text();
    assert!(text.contains("by a client that stopped renewing"), "{text}");
    assert!(text.contains("! holder-not-renewing: ") && text.contains("$ lockscope revoke 694d82254d5fa305"), "{text}");
}

#[test]
fn a_wrong_password_is_told_as_such_and_not_cut() {
    let mut cluster = Cluster::new();
    let endpoint = "https://etcd-with-a-long-name.of.some.example.com:2379".to_owned();
    let error = format!(
        "cannot log in to {endpoint} as \"root\": etcdserver: authentication failed, invalid user ID or password"
    );
    let why = vec![EndpointError { endpoint, error }];
    let next_at = cluster.now + Millis(2_400);
    cluster.tell(Observation::Link(LinkState::Retrying { attempt: 3, next_at, why }));
    let shot = cluster.draw(80, 24, &plain());
    let text = shot.text();
    assert!(text.contains("etcd does not let this user log in."), "{text}");
    assert!(text.contains("authentication failed: check --user and --password"), "{text}");
    assert!(!text.contains("No etcd can be reached"), "{text}");
    let attention = panel(&shot, "Attention");
    assert!(attention.contains("× cluster"), "{text}");
}

#[test]
fn the_lock_in_ascii() {
    let mut cluster = sample();
    cluster.press("/nightly\n\n", 80, 24);
    let shot = cluster.draw(80, 24, &ascii());
    assert!(shot.text().is_ascii(), "{}", shot.text());
    assert_snapshot!(shot.text());
}

#[test]
fn the_lock_at_200x60() {
    let mut cluster = sample();
    cluster.press("j\n", 200, 60);
    let shot = cluster.draw(200, 60, &plain());
    assert_snapshot!(shot.crop(Rect::new(0, 0, 200, 16)));
}

#[test]
fn the_leases() {
    let mut cluster = sample();
    cluster.press("3", 80, 24);
    assert_snapshot!(cluster.draw(80, 24, &plain()).crop(Rect::new(0, 1, 80, 9)));
    assert_snapshot!(cluster.draw(120, 36, &plain()).crop(Rect::new(0, 1, 120, 9)));
}

#[test]
fn a_large_lease_is_told_by_one_of_its_keys_and_their_number() {
    let mut cluster = Cluster::connected();
    cluster.list((0..1_001).map(|n| queued(&format!("/jobs/{n:04}"), lease(0xa305), 80_000 + n)).collect());
    cluster.press("3", 120, 36);
    let shot = cluster.draw(120, 36, &plain()).text();
    let row = shot.lines().find(|line| line.contains("694d82254d5fa305")).unwrap();
    assert!(row.contains("1,001") && row.contains("/jobs/") && row.contains("+1,000"), "{row}");
    cluster.press("1\n", 120, 36);
    let shot = cluster.draw(120, 36, &plain()).text();
    assert!(shot.contains("the lease has 1,001 keys"), "{shot}");
}

#[test]
fn the_members() {
    let mut cluster = sample();
    cluster.press("4", 80, 24);
    for id in [1, 3] {
        cluster.tell(Observation::Status { member: MemberId(id), answer: Ok(status(id)) });
    }
    let answer = Err(NoStatus::Unreachable("connection refused (os error 111)".into()));
    cluster.tell(Observation::Status { member: MemberId(2), answer });
    assert_snapshot!(cluster.draw(80, 24, &plain()).text());
    assert_snapshot!(panel(&cluster.draw(120, 36, &plain()), "Members"));
}

#[test]
fn colours_are_kept_for_what_matters() {
    let theme = plain();
    let shot = sample().draw(80, 24, &theme);
    assert!(shot.has_role("● a305", &theme, Role::Holder));
    assert!(shot.has_role("× 9f20", &theme, Role::Error));
    assert!(shot.has_role("expired 4s ago", &theme, Role::Error));
    assert!(shot.has_role("! /jobs/reindex", &theme, Role::Warning));
    assert!(shot.has_role("★ etcd-2", &theme, Role::Leader));
    let low = shot.position("  6s !").unwrap();
    assert_eq!(shot.buffer[(low.0 + 2, low.1)].fg, theme.style(Role::Warning).fg.unwrap());
    // The name of a lock that is not selected is the terminal's own colour.
    assert_eq!(shot.find("/billing/close").unwrap().fg, Color::Reset);
    let hues = [Role::Holder, Role::Warning, Role::Error, Role::Muted].map(|role| theme.style(role).fg);
    for cell in &shot.buffer.content {
        assert!(cell.fg == Color::Reset || hues.contains(&Some(cell.fg)), "{cell:?} is no colour of the theme");
        assert_eq!(cell.bg, Color::Reset, "the terminal's own background stays");
    }
}

#[test]
fn without_colour_weight_says_the_same() {
    let theme = mono();
    let shot = sample().draw(80, 24, &theme);
    for cell in &shot.buffer.content {
        assert_eq!((cell.fg, cell.bg), (Color::Reset, Color::Reset));
    }
    let modifier = |needle: &str| shot.find(needle).unwrap().modifier;
    assert_eq!(modifier("● a305"), Modifier::BOLD);
    assert_eq!(modifier("× 9f20"), Modifier::REVERSED);
    assert_eq!(modifier("! /jobs/reindex"), Modifier::UNDERLINED | Modifier::REVERSED, "the selected row");
    assert_eq!(modifier("holder-not-renewing"), Modifier::UNDERLINED);
    assert_eq!(modifier("/billing/close"), Modifier::empty());
}

#[test]
fn sixteen_colours_are_the_users_own() {
    let theme = Theme::new(&Palette::builtin("light").unwrap(), Depth::Ansi);
    let shot = sample().draw(80, 24, &theme);
    assert_eq!(shot.find("● a305").unwrap().fg, Color::Blue);
    let lost = shot.find("× 9f20").unwrap();
    assert_eq!((lost.fg, lost.modifier), (Color::Red, Modifier::BOLD));
}

#[test]
fn a_row_that_has_just_changed_is_bold_unless_motion_is_reduced() {
    let mut cluster = sample();
    cluster.put(queued("/billing/close", lease(0x7777), 84_300));
    let bold = |cluster: &mut Cluster, theme: &Theme| {
        let (x, y) = cluster.draw(80, 24, theme).position("/billing/close").unwrap();
        cluster.draw(80, 24, theme).buffer[(x, y)].modifier.contains(Modifier::BOLD)
    };
    assert!(bold(&mut cluster, &plain()));
    assert!(!bold(&mut cluster, &plain().with_motion(false)));
    cluster.now = cluster.now + Millis(600);
    assert!(!bold(&mut cluster, &plain()));
}

#[test]
fn clicks_find_rows_tabs_headings_and_hints() {
    let shot = sample().draw(80, 24, &plain());
    let hit = |needle: &str| {
        let (x, y) = shot.position(needle).unwrap();
        shot.hits.at(x, y).cloned()
    };
    assert_eq!(hit("/jobs/reindex "), Some(Target::Lock("/jobs/reindex".into())));
    assert_eq!(hit("4 Members"), Some(Target::Do(Action::Show(Screen::Members))));
    assert_eq!(hit("HELD"), Some(Target::Do(Action::SortBy(Sort::Held))));
    assert_eq!(hit("q quit"), Some(Target::Do(Action::Quit)));
    assert_eq!(hit("! /jobs/reindex"), Some(Target::Lock("/jobs/reindex".into())));
    let shot = sample().draw(80, 32, &plain());
    let (x, y) = shot.position("84,221 × expired").unwrap();
    assert_eq!(shot.hits.at(x, y), Some(&Target::Lock("/cache/warm".into())));
    let shot = sample().draw(80, 24, &plain());
    let panes: Vec<(Pane, usize, usize)> =
        shot.hits.panes().iter().map(|(pane, extent)| (*pane, extent.rows, extent.len)).collect();
    assert_eq!(panes[..2], [(Pane::Locks, 7, 7), (Pane::Attention, 3, 3)]);
}

#[test]
fn a_small_terminal_says_how_large_it_has_to_be() {
    let shot = sample().draw(59, 24, &plain());
    assert!(shot.text().contains("59x24 is too small: lockscope needs 60x16; q quits"), "{}", shot.text());
    let small = sample().draw(40, 10, &plain()).text();
    assert!(small.contains("needs 60x16; q quits") && small.contains("`lockscope ls` needs no screen"), "{small}");
    for (width, height) in [(0, 0), (1, 1), (10, 1), (14, 2), (60, 15), (20, 200)] {
        sample().draw(width, height, &plain());
    }
}

#[test]
fn every_size_can_be_drawn_on_every_screen() {
    let mut cluster = sample();
    for screen in ["1", "2", "3", "4", "r", "5", "6", "7"] {
        cluster.press(screen, 80, 24);
        for width in (60..=240).step_by(12) {
            for height in [16, 17, 24, 36, 50, 61] {
                cluster.draw(width, height, &plain());
            }
        }
        for (width, height) in [(20, 5), (40, 10)] {
            let text = cluster.draw(width, height, &plain()).text();
            assert!(text.contains("60x16"), "what is too small is told on {screen} at {width}x{height}:\n{text}");
        }
        for (width, height) in [(500, 200), (500, 16), (60, 200)] {
            let shot = cluster.draw(width, height, &plain());
            let lines = shot.lines();
            assert!(lines.last().is_some_and(|line| line.contains("q quit")), "{screen} at {width}x{height}");
            assert!(lines[1].contains("7 Waits"), "{screen} at {width}x{height}: {}", lines[1]);
        }
    }
}

#[test]
fn columns_stay_together_on_the_widest_screen() {
    let shot = sample().draw(500, 200, &plain());
    let place = |needle: &str| shot.position(needle).unwrap_or_else(|| panic!("no {needle}")).0;
    let (lock, wait) = (place("! LOCK"), place("WAIT  HANDOVER"));
    assert!(wait > lock && wait - lock < 140, "{lock} {wait}: {}", shot.lines()[3]);
}

#[test]
fn at_60x16_all_tabs_are_there_where_clients_play_and_held_is_where_marks_are() {
    let mut cluster = sample();
    cluster.model.ui.play.awaited = true;
    let text = cluster.draw(60, 16, &plain()).text();
    let tabs = text.lines().nth(1).unwrap();
    assert!(tabs.contains("5 Play ") && tabs.contains("7 Waits"), "{tabs}");
    assert!(text.contains("HELD") && text.contains("4m55s"), "{text}");
}

#[test]
fn at_80x24_attention_tells_what_is_the_matter_in_words_and_the_verdict_is_whole() {
    let theme = plain();
    let text = sample().draw(80, 24, &theme).text();
    let named = "! /jobs/reindex     holder-not-renewing  not renewed for 24s: frees in 6s of";
    assert!(text.contains(named) && text.contains("30s; 2 waiters blocked"), "{text}");
    let verdict = "held for 4m55s by a client that stopped renewing 24s ago: frees by itself in";
    assert!(text.contains(verdict) && text.contains("6s; 2 wait; next is /jobs/reindex/"), "{text}");
    assert!(text.contains("Attention  1 warning, 2 infos"), "{text}");
}

#[test]
fn where_rows_are_short_each_of_them_tells_of_another_trouble() {
    let mut cluster = sample();
    cluster.put(KeyValue { lease: LeaseId::NONE, ..queued("/s/job", lease(0x1), 84_300) });
    cluster.put(queued("/s/job", lease(0x2), 84_301));
    cluster.ttl(lease(0x55d1), 30, -120);
    let text = panel(&cluster.draw(60, 16, &plain()), "Attention");
    assert!(text.contains("2 errors, 1 warning, 2 infos") && text.contains("rows 1-3 of 5"), "{text}");
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[2].starts_with("│× /s/job") && lines[3].starts_with("│! /jobs/reindex"), "{text}");
}

#[test]
fn an_etcd_that_cannot_be_reached_is_told_with_every_error() {
    let mut cluster = Cluster::new();
    let error = |endpoint: &str, error: &str| EndpointError { endpoint: endpoint.into(), error: error.into() };
    let why = vec![
        error("http://10.0.0.1:2379", "connection refused (os error 111)"),
        error("https://etcd.example:2379", "certificate has expired\x1b[31m"),
    ];
    let next_at = cluster.now + Millis(2_400);
    cluster.tell(Observation::Link(LinkState::Retrying { attempt: 3, next_at, why }));
    let theme = plain();
    let shot = cluster.draw(80, 24, &theme);
    assert!(shot.has_role("! RETRYING in 2s", &theme, Role::Error));
    assert_snapshot!(panel(&shot, "Locks"));
}

#[test]
fn a_lost_connection_keeps_the_list_and_says_why() {
    let mut cluster = sample();
    let why = vec![EndpointError { endpoint: "http://etcd-eu.example:2379".into(), error: "timed out".into() }];
    let next_at = cluster.now + Millis(1_000);
    cluster.tell(Observation::Link(LinkState::Retrying { attempt: 1, next_at, why }));
    cluster.wait(6);
    let theme = plain();
    let shot = cluster.draw(80, 24, &theme);
    assert!(shot.text().contains("RETRYING now") && shot.text().contains("/jobs/reindex"), "{}", shot.text());
    let attention = panel(&shot, "Attention");
    assert!(
        attention.contains("× cluster           unreachable") && attention.contains("out; 1 tries in"),
        "{attention}"
    );
    assert!(
        shot.text().contains("~34s") && shot.has_role("TTLs at most 8s old", &theme, Role::Warning),
        "{}",
        shot.text()
    );
}

#[test]
fn an_empty_etcd_says_what_is_watched_and_what_to_do() {
    let mut cluster = Cluster::connected();
    cluster.list(Vec::new());
    assert_snapshot!(panel(&cluster.draw(80, 24, &plain()), "Locks"));
}

#[test]
fn connecting_and_reading_are_told() {
    assert!(Cluster::new().draw(80, 24, &plain()).text().contains("Connecting to etcd."));
    assert!(Cluster::connected().draw(80, 24, &plain()).text().contains("Reading all keys"));
}

#[test]
fn a_denied_prefix_says_which_right_is_missing() {
    let mut cluster = Cluster::connected();
    let range = KeyRange::prefix(b"/secret/");
    cluster.tell(Observation::Scope(vec![range.clone()]));
    let why = "etcdserver: permission denied".to_owned();
    cluster.tell(Observation::Denied(Denied { range, user: "app".into(), why }));
    assert_snapshot!(panel(&cluster.draw(80, 24, &plain()), "Locks"));
}

#[test]
fn locks_that_may_not_be_found_stay_denied_beside_those_that_were() {
    let mut cluster = Cluster::connected();
    let why = "etcdserver: permission denied".to_owned();
    cluster.tell(Observation::Denied(Denied { range: KeyRange::prefix(b""), user: "app".into(), why }));
    cluster.tell(Observation::Scope(vec![KeyRange::prefix(b"/jobs/")]));
    let page =
        |keys| ListPage { range: KeyRange::prefix(b"/jobs/"), revision: Revision(2), keys, first: true, last: true };
    cluster.tell(Observation::Listed(page(vec![])));
    let shot = cluster.draw(120, 40, &plain());
    assert!(shot.text().contains("all keys: denied to app"), "{}", shot.text());
    assert!(shot.text().contains("No locks."), "{}", shot.text());
}

#[test]
fn what_may_be_read_again_is_denied_no_more() {
    let mut cluster = sample();
    let range = KeyRange::prefix(b"/secret/");
    cluster.tell(Observation::Scope(vec![range.clone()]));
    cluster.tell(Observation::Denied(Denied { range: range.clone(), user: "app".into(), why: String::new() }));
    let page = ListPage { range, revision: Revision(84_300), keys: vec![], first: true, last: true };
    cluster.tell(Observation::Listed(page));
    assert!(!cluster.draw(120, 40, &plain()).text().contains("denied"));
}

#[test]
fn on_the_smallest_screen_nothing_is_written_below_the_members() {
    let mut cluster = sample();
    cluster.press("3", 60, 16);
    let status = cluster.draw(60, 16, &plain()).lines()[14].clone();
    cluster.press("4", 60, 16);
    assert_eq!(cluster.draw(60, 16, &plain()).lines()[14], status);
}

#[test]
fn the_history_keeps_a_row_of_its_own_when_much_is_wrong() {
    let mut cluster = Cluster::connected();
    let stuck = |(at, revision): (u8, i64)| {
        let lock = format!("/s/{at}");
        let holder = KeyValue { lease: LeaseId::NONE, ..queued(&lock, lease(0xc3), revision) };
        [holder, queued(&lock, lease(0xc4), revision + 1)]
    };
    cluster.list(std::iter::zip(1..=6, (500..).step_by(2)).flat_map(stuck).collect());
    let shot = cluster.draw(120, 36, &plain());
    let lines = shot.lines();
    let at = lines.iter().position(|line| line.contains("╭ History ")).unwrap_or_else(|| panic!("{}", shot.text()));
    assert!(lines[at + 1].contains("││"), "{}", shot.text());
    assert!(lines[at + 1].contains("no change of hands seen yet"), "{}", shot.text());
}

#[test]
fn attention_names_what_is_wrong_worst_first() {
    let mut cluster = sample();
    let range = KeyRange::prefix(b"/secret/");
    cluster.tell(Observation::Scope(vec![KeyRange::prefix(b"/jobs/"), range.clone()]));
    cluster.tell(Observation::Denied(Denied {
        range,
        user: "app".into(),
        why: "etcdserver: permission denied".into(),
    }));
    cluster.tell(Observation::Alarms(vec![Alarm { member: MemberId(1), kind: AlarmKind::NoSpace }]));
    let answer = Err(NoStatus::Unreachable("deadline exceeded".into()));
    cluster.tell(Observation::Status { member: MemberId(3), answer });
    cluster.put(KeyValue { lease: crate::domain::LeaseId::NONE, ..queued("/s/job", lease(0x1), 84_300) });
    cluster.put(queued("/s/job", lease(0x2), 84_301));
    cluster.ttl(lease(0x55d1), 30, -120);
    let shot = cluster.draw(120, 40, &plain());
    assert_snapshot!(panel(&shot, "Attention"));
}

#[test]
fn what_is_found_in_half_a_list_is_not_nothing() {
    let mut cluster = Cluster::connected();
    cluster.list(vec![queued("/jobs/a", lease(1), 10)]);
    // What is listed is drawn before the rules ran.
    let attention = |facts: &crate::model::Facts, diagnosis: &crate::model::Diagnosis| {
        let attention = super::locks::attention::Attention { facts, diagnosis };
        let area = Rect::new(0, 0, 60, 5);
        let theme = plain();
        Screenshot::of(60, 5, &theme, |canvas| {
            super::locks::attention::draw(canvas, area, &attention, 0, false, None);
        })
        .text()
    };
    let unlooked = crate::model::Diagnosis::default();
    let text = attention(cluster.model.live(), &unlooked);
    assert!(text.contains("still looking") && !text.contains("nothing"), "{text}");
    cluster.draw(80, 24, &plain());
    let text = attention(cluster.model.live(), cluster.model.diagnosis());
    assert!(text.contains("nothing"), "{text}");
}

#[test]
fn beside_a_header_without_a_leader_attention_is_no_all_clear() {
    let mut cluster = Cluster::connected();
    cluster.list(vec![queued("/jobs/a", lease(1), 10)]);
    let alone = crate::domain::Status { leader: None, term: crate::domain::Term(15), ..status(1) };
    for id in [2, 3] {
        let answer = Err(NoStatus::Unreachable("connection refused".into()));
        cluster.tell(Observation::Status { member: MemberId(id), answer });
    }
    let panel = |cluster: &mut Cluster| panel(&cluster.draw(120, 36, &plain()), "Attention");
    let text = panel(&mut cluster);
    assert!(text.contains("no answer from 2 members for ") && !text.contains("nothing"), "{text}");
    cluster.tell(Observation::Status { member: MemberId(1), answer: Ok(alone) });
    cluster.wait(2);
    let text = panel(&mut cluster);
    assert!(text.contains("no leader for 2s: an election may end it") && !text.contains("nothing"), "{text}");
}

#[test]
fn what_is_only_worth_knowing_of_a_lock_is_told_on_its_screen() {
    for (width, height) in [(80, 24), (120, 36)] {
        let mut cluster = Cluster::connected();
        cluster.list(vec![queued("/jobs/a", lease(1), 10), queued("/jobs/b", lease(1), 11)]);
        cluster.wait(2);
        cluster.press("\n", width, height);
        let text = cluster.draw(width, height, &plain()).text();
        assert!(text.contains("shared-lease: lease"), "{text}");
        assert!(text.contains("$ lockscope") && text.contains("Revoking it to free one lock"), "{text}");
    }
}

#[test]
fn a_preview_says_what_forbids_more_and_asks_for_no_word() {
    let mut cluster = sample();
    cluster.model.ui.read_only = Some("read-only in context prod".into());
    cluster.press("D", 80, 24);
    let text = cluster.draw(80, 24, &plain()).text();
    assert!(text.contains("A preview: read-only in context prod refuses everything that"), "{text}");
    assert!(!text.contains("type ") && text.contains("etcdctl txn"), "{text}");
}

#[test]
fn a_member_that_may_not_be_asked_is_no_reason_for_attention() {
    let mut cluster = sample();
    let answer = Err(NoStatus::Denied("permission denied".into()));
    cluster.tell(Observation::Status { member: MemberId(1), answer });
    let text = cluster.draw(120, 40, &plain()).text();
    assert!(!text.contains("unreachable") && text.contains("(3/3)"), "{text}");
    cluster.press("4", 120, 40);
    let text = cluster.draw(120, 40, &plain()).text();
    assert!(text.contains("not allowed: permission denied") && !text.contains("unreachable"), "{text}");
}

#[test]
fn no_leader_is_told_in_the_header_and_in_attention() {
    let mut cluster = sample();
    for id in 1..=3 {
        let answer = Ok(crate::domain::Status { leader: None, term: crate::domain::Term(15), ..status(id) });
        cluster.tell(Observation::Status { member: MemberId(id), answer });
    }
    let theme = plain();
    // An election takes less.
    cluster.wait(6);
    let shot = cluster.draw(80, 24, &theme);
    assert!(shot.has_role("no leader", &theme, Role::Error));
    let attention = panel(&shot, "Attention");
    assert!(attention.contains("× cluster ") && attention.contains("no leader for at least 6s"), "{attention}");
}

#[test]
fn a_gap_in_the_history_is_marked() {
    let mut cluster = sample();
    cluster.tell(Observation::WatchLost(WatchLoss::Compacted { at: Revision(84_400) }));
    cluster.list_at(84_500, vec![queued("/jobs/nightly-report", lease(0xa305), 84_190)]);
    cluster.press("/nightly\n\n", 80, 24);
    let text = cluster.draw(80, 24, &plain()).text();
    assert!(text.contains("! gap since 84,221"), "{text}");
    assert!(text.contains("1 gap"), "{text}");
}

#[test]
fn what_is_over_can_be_taken_out_of_attention_and_stays_in_the_history() {
    let mut cluster = sample();
    cluster.tell(Observation::WatchLost(WatchLoss::Compacted { at: Revision(84_400) }));
    cluster.list_at(84_500, vec![queued("/jobs/nightly-report", lease(0xa305), 84_190)]);
    assert!(cluster.draw(120, 40, &plain()).text().contains("watch-gap"));
    cluster.press("x", 120, 40);
    cluster.wait(5);
    let text = cluster.draw(120, 40, &plain()).text();
    assert!(!text.contains("watch-gap"), "{text}");
    cluster.press("/nightly\n\n", 120, 40);
    assert!(cluster.draw(120, 40, &plain()).text().contains("nothing seen since revision 84,221"));
    cluster.tell(Observation::WatchLost(WatchLoss::Compacted { at: Revision(84_600) }));
    cluster.list_at(84_700, vec![]);
    assert!(cluster.draw(120, 40, &plain()).text().contains("1 gap"), "a new one is told again");
    cluster.tell(Observation::Cluster(crate::domain::ClusterId(1)));
    cluster.press("1:dismiss\n", 120, 40);
    assert!(!cluster.draw(120, 40, &plain()).text().contains("another cluster"));
}

#[test]
fn what_was_missed_enters_the_history_without_a_time() {
    let mut cluster = sample();
    let named = |lease, created| queued("/jobs/nightly-report", lease, created);
    let new = named(lease(0xbb01), 84_300);
    let lock = cluster.model.live().lock_named(b"/jobs/nightly-report").unwrap();
    let waiters: Vec<Key> = lock.waiters().map(|waiter| waiter.key.key().into()).collect();
    cluster.tell(Observation::WatchLost(WatchLoss::Skipped { from: Revision(84_221), to: Revision(99_000) }));
    cluster.list_at(99_000, vec![named(lease(0xbb02), 85_000)]);
    let change = |revision, event| crate::event::Change { revision: Revision(revision), event };
    let gone = |key| KeyEvent::Delete { key, previous: None };
    cluster.tell(Observation::Filled(waiters.into_iter().map(|key| change(84_240, gone(key))).collect()));
    cluster.tell(Observation::Filled(vec![
        change(84_250, gone(named(lease(0xa305), 84_190).key)),
        change(84_300, KeyEvent::Put(new.clone())),
        change(84_900, gone(new.key)),
    ]));
    cluster.press("/nightly\n\n", 120, 40);
    assert!(cluster.draw(120, 40, &plain()).text().contains("1 gap"));
    cluster.tell(Observation::FillEnded { through: Revision(99_000), why: None });
    let text = cluster.draw(120, 40, &plain()).text();
    assert!(!text.contains("1 gap"), "{text}");
    let told: Vec<_> = text.lines().filter(|line| line.contains("replayed")).collect();
    assert_eq!(told.len(), 3, "{text}");
    assert!(told[0].contains("rev 84,900") && told[1].contains("acquired 84,300"), "{text}");
    assert!(told[2].contains("rev 84,250"), "{text}");
}

#[test]
fn the_history_goes_on_below_with_handoffs_rebuilt_from_revisions() {
    let mut cluster = sample();
    cluster.press("/nightly\n\n", 120, 60);
    cluster.draw(120, 60, &plain());
    let mut past = |part| cluster.tell(Observation::Past { lock: "/jobs/nightly-report".into(), part });
    let named = |tail, created| queued("/jobs/nightly-report", lease(tail), created);
    let change = |revision, event| crate::event::Change { revision: Revision(revision), event };
    let gone = |revision, kv: &KeyValue| {
        let event = KeyEvent::Delete { key: kv.key.clone(), previous: Some(kv.clone()) };
        change(revision, event)
    };
    let (first, second) = (named(0xdd01, 70_010), named(0xdd02, 70_020));
    let changes = vec![
        change(70_010, KeyEvent::Put(first.clone())),
        change(70_020, KeyEvent::Put(second.clone())),
        gone(70_030, &first),
        gone(70_040, &second),
    ];
    past(Past::Begun { since: Revision(70_000), to: Revision(84_221), compacted: Some(Revision(69_999)) });
    past(Past::Changes { changes, alive: vec![LeaseId(lease(0xdd01))] });
    past(Past::Ended { why: None });
    let text = cluster.draw(120, 60, &plain()).text();
    let row = |needle: &str| {
        text.lines().position(|line| line.contains(needle)).unwrap_or_else(|| panic!("{needle}: {text}"))
    };
    let rows = [
        row("lease expired"),
        row("rebuilt from revisions"),
        row("70,040 ◦ dd02 cause unknown"),
        row("70,030 ◦ dd01 released  then dd02"),
        row("compacted below 70,000"),
    ];
    assert!(rows.is_sorted(), "{rows:?}: {text}");
}

#[test]
fn pause_counts_what_is_missed_and_holds_the_list_still() {
    let mut cluster = sample();
    cluster.press(" ", 80, 24);
    cluster.put(queued("/new/lock", lease(0x99), 84_300));
    let theme = plain();
    let shot = cluster.draw(80, 24, &theme);
    assert!(shot.has_role("PAUSED +2", &theme, Role::Warning), "{}", shot.text());
    assert!(!shot.text().contains("/new/lock"));
}

#[test]
fn the_header_says_whose_settings_these_are_and_that_writes_are_off() {
    let mut cluster = sample();
    let theme = plain();
    assert!(!cluster.draw(80, 24, &theme).text().contains("prod"));
    cluster.model.ui.context = Some("prod".into());
    cluster.model.ui.read_only = Some("--read-only".into());
    let header = |text: String| text.lines().next().unwrap_or_default().to_owned();
    for (width, height) in [(60, 16), (80, 24), (120, 36)] {
        let shot = cluster.draw(width, height, &theme);
        assert!(header(shot.text()).contains("prod  READ-ONLY"), "{}", shot.text());
    }
    cluster.model.ui.context = Some("a\x1b[31m and a name that is far too long for any header".into());
    let text = header(cluster.draw(80, 24, &theme).text());
    assert!(text.contains("a\\x1b[31m") && text.contains("READ-ONLY") && !text.contains("any header"), "{text}");
}

#[test]
fn a_context_whose_endpoints_come_from_elsewhere_is_not_named_as_if_it_were_there() {
    let mut cluster = sample();
    let theme = plain();
    cluster.model.ui.context = Some("prod".into());
    cluster.model.ui.endpoints_from = Some("ETCDCTL_ENDPOINTS".into());
    let wide = cluster.draw(120, 36, &theme);
    assert!(wide.text().contains("prod (endpoints from ETCDCTL_ENDPOINTS)  "), "{}", wide.text());
    for (width, height) in [(60, 16), (80, 24)] {
        let shot = cluster.draw(width, height, &theme);
        assert!(shot.has_role("prod", &theme, Role::Warning) && shot.text().contains("prod! "), "{}", shot.text());
    }
    cluster.model.ui.lang = Lang::Chinese;
    let chinese = cluster.draw(120, 36, &theme).text();
    assert!(chinese.contains("prod （端点取自 ETCDCTL_ENDPOINTS）"), "{chinese}");
}

#[test]
fn a_remedy_on_the_screen_names_the_cluster_and_what_is_done_is_not_cut_off() {
    let mut cluster = sample();
    let endpoints = "etcd-1.example.com:2379,etcd-2.example.com:2379,etcd-3.example.com:2379";
    cluster.model.ui.given.flags = vec![("endpoints", endpoints.into())];
    cluster.press("/reindex\n\n", 80, 36);
    let shot = cluster.draw(80, 36, &plain()).text();
    let words: String = shot.chars().filter(|c| !c.is_whitespace() && *c != '│').collect();
    assert!(words.contains(&format!("$lockscope--endpoints{endpoints}revoke694d82254d5f770a")), "{shot}");
}

#[test]
fn a_filter_is_shown_with_what_it_hides() {
    let mut cluster = sample();
    cluster.press("/jobs\n", 80, 24);
    let shot = cluster.draw(80, 24, &plain());
    assert!(shot.text().contains("Locks 3/7 /jobs"), "{}", shot.text());
    cluster.press("/\x1b", 80, 24);
    cluster.press("/zz\n", 80, 24);
    let shot = cluster.draw(80, 24, &plain());
    assert!(shot.text().contains("Nothing matches zz"), "{}", shot.text());
}

#[test]
fn hostile_names_are_spelled_out_and_wide_ones_keep_the_columns() {
    let mut cluster = Cluster::connected();
    cluster.list(vec![
        queued("/evil\x1b[2J\u{202e}txt", lease(1), 100),
        queued("/任务/夜间报告/非常非常长的名字", lease(2), 101),
        queued("/משימה/לילית", lease(3), 102),
        queued("/e\u{301}te\u{301}", lease(4), 103),
        KeyValue { key: Key::from(&b"/raw\xff\xfe/5"[..]), ..leased("", 5, 104) },
    ]);
    let shot = cluster.draw(80, 24, &plain());
    for cell in &shot.buffer.content {
        assert!(!cell.symbol().chars().any(super::text::is_unsafe), "{cell:?}");
    }
    assert_snapshot!(panel(&shot, "Locks"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_of_a_cluster_reach_the_terminal_as_they_are(
        names in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..60), 1..6),
        text in "\\PC{0,30}\\p{C}{0,8}",
        width in 60_u16..210,
        height in 16_u16..62,
        screen in 0_usize..4,
    ) {
        let mut cluster = Cluster::connected();
        let keys = names.iter().zip(1..).map(|(name, n)| {
            let key = [&b"/x"[..], &name[..], b"/", format!("{n:x}").as_bytes()].concat();
            KeyValue { key: Key::from(key), value: text.clone().into_bytes(), ..leased("", n, 100 + n) }
        });
        let mut keys: Vec<KeyValue> = keys.collect();
        keys.sort_by(|a, b| a.key.cmp(&b.key));
        keys.dedup_by(|a, b| a.key == b.key);
        cluster.list(keys);
        let why = vec![EndpointError { endpoint: text.clone(), error: text.clone() }];
        cluster.tell(Observation::Status { member: MemberId(1), answer: Err(NoStatus::Unreachable(text.clone())) });
        cluster.press(["1", "2", "3", "4"][screen], width, height);
        let range = KeyRange::prefix(text.as_bytes());
        cluster.tell(Observation::Denied(Denied { range, user: text.clone(), why: text.clone() }));
        cluster.tell(Observation::Link(LinkState::Retrying { attempt: 1, next_at: cluster.now, why }));
        let shot = cluster.draw(width, height, &plain());
        for cell in &shot.buffer.content {
            prop_assert!(!cell.symbol().chars().any(super::text::is_unsafe), "{cell:?}");
        }
    }
}

#[test]
fn read_write_locks_show_all_who_hold() {
    let mut cluster = Cluster::connected();
    let nano = 1_700_000_000_000_000_000_i64;
    cluster.list(vec![
        leased(&format!("/db/schema/read/{nano}"), lease(0xaa01), 100),
        leased(&format!("/db/schema/read/{}", nano + 1), lease(0xaa02), 101),
        leased(&format!("/db/schema/write/{}", nano + 2), lease(0xaa03), 102),
        leased(&format!("/db/schema/read/{}", nano + 3), lease(0xaa04), 103),
    ]);
    for tail in 0xaa01..=0xaa04 {
        cluster.ttl(lease(tail), 60, 50);
    }
    let shot = cluster.draw(80, 24, &plain());
    assert!(shot.text().contains("● aa01 +1"), "{}", shot.text());
    cluster.press("\n", 100, 24);
    assert_snapshot!(panel(&cluster.draw(100, 24, &plain()), "Queue"));
}

#[test]
fn single_keys_say_that_waiters_cannot_be_seen() {
    let mut cluster = Cluster::connected();
    cluster.list(vec![KeyValue { value: b"pg-1".to_vec(), ..leased("/service/pg/leader", lease(0xbb01), 100) }]);
    cluster.ttl(lease(0xbb01), 30, 22);
    cluster.press("\n", 80, 24);
    let shot = cluster.draw(80, 24, &plain());
    assert_snapshot!(shot.crop(Rect::new(0, 2, 80, 16)));
}

#[test]
fn foreign_keys_and_keys_without_a_lease_stand_out() {
    let mut cluster = Cluster::connected();
    cluster.list(vec![
        KeyValue { lease: crate::domain::LeaseId::NONE, ..leased("/jobs/a/README", 0, 99) },
        queued("/jobs/a", lease(0xcc01), 100),
    ]);
    cluster.ttl(lease(0xcc01), 60, 50);
    cluster.press("\n", 80, 24);
    let theme = plain();
    let shot = cluster.draw(80, 24, &theme);
    assert!(shot.has_role("foreign key", &theme, Role::Error));
    assert!(shot.has_role("no lease  ", &theme, Role::Error));
    assert_snapshot!(panel(&shot, "Queue"));
}

#[test]
fn kubernetes_leases_count_down_by_their_value() {
    let mut cluster = Cluster::connected();
    let renewed = cluster.now - Millis(4_000);
    let value = kubernetes_lease("kube-controller-1_3f", 15, renewed);
    let key =
        KeyValue { value, lease: crate::domain::LeaseId::NONE, ..leased("/registry/leases/kube-system/kcm", 0, 100) };
    cluster.list(vec![key]);
    let shot = cluster.draw(120, 24, &plain());
    let row = shot.lines().into_iter().find(|line| line.contains("/registry/leases")).unwrap();
    assert!(row.contains("kube-controller-1_3f") && row.contains(" 11s") && row.contains('?'), "{row}");
    cluster.press("\n", 80, 24);
    let text = cluster.draw(80, 24, &plain()).text();
    assert!(text.contains("= leaseTransitions") && text.contains("mod_revision(key) = 100"), "{text}");
    cluster.wait(30);
    let text = cluster.draw(80, 24, &plain()).text();
    assert!(text.contains("overdue 19s"), "{text}");
}

#[test]
fn the_help_lies_on_top() {
    let mut cluster = sample();
    cluster.press("?", 80, 24);
    let shot = cluster.draw(80, 24, &plain());
    assert!(shot.text().contains("╭ Help ─") && shot.text().contains("esc closes the help"), "{}", shot.text());
    assert_eq!(shot.hits.at(40, 10), Some(&Target::Pane(Pane::Help)));
}

#[test]
fn what_can_be_copied_is_offered() {
    let mut cluster = sample();
    cluster.press("y", 80, 24);
    let shot = cluster.draw(80, 24, &plain());
    assert_snapshot!(panel(&shot, "Copy"));
}

#[test]
fn a_command_is_typed_where_the_cursor_is() {
    let mut cluster = sample();
    cluster.press(":so", 80, 24);
    let shot = cluster.draw(80, 24, &plain());
    assert_eq!(shot.lines()[22].trim_end(), " :so");
    assert_eq!(shot.cursor, (4, 22));
    cluster.press("rt nonsense\n", 80, 24);
    let theme = plain();
    let shot = cluster.draw(80, 24, &theme);
    assert!(shot.has_role("`sort` wants", &theme, Role::Error), "{}", shot.text());
}

#[test]
fn the_pane_with_the_focus_has_the_bright_frame_and_the_marked_row() {
    let theme = plain();
    let mut cluster = sample();
    let frame = |shot: &Screenshot, title: &str| {
        let (x, y) = shot.position(&format!("╭ {title}")).unwrap();
        shot.buffer[(x, y)].fg
    };
    let shot = cluster.draw(120, 36, &theme);
    assert_eq!(frame(&shot, "Locks"), Color::Reset);
    assert_eq!(frame(&shot, "/jobs/reindex"), theme.style(Role::Border).fg.unwrap());
    assert_eq!(shot.text().matches('▌').count(), 1);
    cluster.press("\t", 120, 36);
    let shot = cluster.draw(120, 36, &theme);
    assert_eq!(frame(&shot, "Locks"), theme.style(Role::Border).fg.unwrap());
    assert_eq!(frame(&shot, "/jobs/reindex"), Color::Reset);
    assert_eq!(shot.text().matches('▌').count(), 2, "{}", shot.text());
}
