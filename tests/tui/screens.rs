//! What is seen and what keys and clicks do, on a real etcd.

use std::time::Duration;

use super::locks::World;
use super::pty::Tui;

/// Two locks, one of them waited for, as the dashboard shows them at 80x24.
fn two_locks(test: &str) -> Option<(World, Tui)> {
    let world = World::new(test)?;
    world.enqueue("/jobs/reindex", 600);
    world.enqueue("/jobs/reindex", 600);
    world.enqueue("/billing/close", 600);
    let tui = world.lockscope(&[]).start();
    tui.shows("LIVE");
    tui.shows("/jobs/reindex");
    tui.shows("/billing/close");
    Some((world, tui))
}

/// The names of the locks from top to bottom.
fn order(tui: &Tui, names: &[&'static str]) -> Vec<&'static str> {
    let mut found: Vec<_> = names.iter().map(|name| (tui.row_of(name), *name)).collect();
    found.sort_unstable();
    found.into_iter().map(|(_, name)| name).collect()
}

#[test]
fn the_start_shows_the_locks_the_leader_and_live() {
    let Some((world, tui)) = two_locks("the_start_shows_the_locks_the_leader_and_live") else { return };
    assert_eq!(order(&tui, &["/jobs/reindex", "/billing/close"]), ["/jobs/reindex", "/billing/close"]);
    tui.shows(&format!("★ {}", world.cluster.name(0)));
    tui.keys("q");
    assert_eq!(tui.ends(), 0);
    assert_eq!(tui.left_over(), Vec::<&str>::new());
}

#[test]
fn what_happens_on_the_cluster_is_seen_at_once() {
    let Some((world, tui)) = two_locks("what_happens_on_the_cluster_is_seen_at_once") else { return };
    let key = world.enqueue("/jobs/new", 600);
    tui.shows("/jobs/new");
    world.delete(&key);
    tui.wait("the lock as free", |screen| {
        screen.contents().lines().any(|line| line.contains("/jobs/new") && line.contains("free"))
    });
}

#[test]
fn keys_sort_filter_and_open() {
    let Some((_world, tui)) = two_locks("keys_sort_filter_and_open") else { return };
    tui.keys("s");
    tui.shows("sort: WAIT");
    tui.keys("s");
    tui.shows("sort: NAME");
    assert_eq!(order(&tui, &["/jobs/reindex", "/billing/close"]), ["/billing/close", "/jobs/reindex"]);
    tui.keys("/bill");
    // Attention may name the other one.
    tui.shows("Locks 1/2");
    tui.keys("\x1b");
    tui.shows("╭ Locks 2 ");
    tui.keys("/!bill\r");
    tui.shows("Locks 1/2 /!bill");
    tui.keys("\r");
    tui.shows("holder + 1 waiter");
    tui.keys("\x1b");
    tui.shows("sort: NAME");
    tui.keys("\x1b");
    tui.shows("╭ Locks 2 ");
}

#[test]
fn screens_change_by_number_and_by_command() {
    let Some((_world, tui)) = two_locks("screens_change_by_number_and_by_command") else { return };
    tui.keys("4");
    tui.shows("Members 1");
    tui.keys("3");
    tui.shows("Leases 3");
    tui.keys(":locks\r");
    tui.shows("Locks 2");
    tui.keys("6");
    tui.shows("newest first");
    tui.keys(":frob\r");
    tui.shows("no command `frob`");
    tui.keys(":q\r");
    assert_eq!(tui.ends(), 0);
}

#[test]
fn the_help_comes_and_goes() {
    let Some((_world, tui)) = two_locks("the_help_comes_and_goes") else { return };
    tui.keys("?");
    tui.shows("Sort by the next column");
    tui.keys("/mouse");
    tui.hides("Sort by the next column");
    tui.shows("Leave the mouse to the terminal");
    tui.keys("\r");
    tui.keys("q");
    tui.hides("Leave the mouse to the terminal");
}

#[test]
fn a_paused_screen_stands_still_and_counts_what_it_misses() {
    let Some((world, tui)) = two_locks("a_paused_screen_stands_still_and_counts_what_it_misses") else { return };
    tui.keys(" ");
    tui.shows("PAUSED +0");
    world.enqueue("/jobs/reindex", 600);
    tui.hides("PAUSED +0");
    tui.shows("PAUSED +");
    world.enqueue("/jobs/late", 600);
    tui.keys(" ");
    tui.shows("/jobs/late");
    tui.hides("PAUSED");
}

#[test]
fn a_click_selects_a_second_one_opens_and_tabs_are_clicked() {
    let Some((_world, tui)) = two_locks("a_click_selects_a_second_one_opens_and_tabs_are_clicked") else { return };
    let row = tui.row_of("/billing/close");
    tui.click(10, row);
    tui.wait("the clicked row as selected", |screen| {
        screen.contents().lines().any(|line| line.contains("▌ /billing/close"))
    });
    tui.click(10, row);
    tui.shows("Queue: holder");
    let tabs = &tui.rows()[1];
    let at = tabs.chars().take_while(|&char| char != '4').count();
    tui.click(u16::try_from(at).unwrap() + 2, 1);
    tui.shows("Members 1");
}

#[test]
fn every_size_has_a_picture_and_the_way_back_is_whole() {
    let Some((_world, tui)) = two_locks("every_size_has_a_picture_and_the_way_back_is_whole") else { return };
    tui.resize(20, 5);
    tui.shows("60x16");
    tui.resize(200, 60);
    tui.shows("Members");
    tui.shows("/billing/close");
    tui.wait("a frame to the last column", |screen| {
        screen.rows(0, 200).any(|row| row.chars().count() >= 199 && row.ends_with('╮'))
    });
    tui.resize(80, 24);
    tui.wait("a frame at 80 columns", |screen| screen.rows(0, 80).any(|row| row.ends_with('╮')));
    tui.shows("/billing/close");
    tui.resize(1, 1);
    tui.resize(20, 5);
    tui.shows("60x16");
    tui.keys("q");
    assert_eq!(tui.ends(), 0, "q works at any size");
}

#[test]
fn copying_hands_the_terminal_the_text() {
    let Some((_world, tui)) = two_locks("copying_hands_the_terminal_the_text") else { return };
    tui.keys("y");
    tui.shows("fencing token");
    tui.keys("n");
    // `/jobs/reindex` in base64.
    tui.was_sent(b"\x1b]52;c;L2pvYnMvcmVpbmRleA==");
    tui.shows("lock name sent to the terminal's clipboard");
}

#[test]
fn the_mouse_is_let_go_and_taken_back() {
    let Some((_world, tui)) = two_locks("the_mouse_is_let_go_and_taken_back") else { return };
    tui.keys("m");
    tui.wait("no mouse", |screen| screen.mouse_protocol_mode() == vt100::MouseProtocolMode::None);
    tui.keys("m");
    tui.wait("the mouse", |screen| screen.mouse_protocol_mode() != vt100::MouseProtocolMode::None);
}

#[test]
fn pasted_text_is_no_command() {
    let Some((_world, tui)) = two_locks("pasted_text_is_no_command") else { return };
    tui.keys("\x1b[200~q:q\rq\x1b[201~");
    tui.keys("/\x1b[200~bill\x1b[201~");
    // Attention may name the other one.
    tui.shows("Locks 1/2");
    tui.shows("/billing/close");
}

#[test]
fn nothing_is_sent_while_nothing_changes() {
    let test = "nothing_is_sent_while_nothing_changes";
    let Some(world) = World::new(test) else { return };
    let tui = world.lockscope(&[]).start();
    tui.shows("LIVE");
    // Messages of the start go first.
    tui.wait("what is watched", |screen| screen.contents().contains("watching"));
    while !tui.is_silent_for(Duration::from_millis(500)) {}
    assert!(tui.is_silent_for(Duration::from_secs(3)), "an empty etcd has nothing to tell:\n{:?}", tui.rows());
}

#[test]
fn a_countdown_is_drawn_once_a_second_and_the_program_sleeps_in_between() {
    let test = "a_countdown_is_drawn_once_a_second_and_the_program_sleeps_in_between";
    let Some((_world, tui)) = two_locks(test) else { return };
    let marks = |tui: &Tui| tui.count_sent(b"\x1b[?2026h");
    let (frames, wakes) = (marks(&tui), tui.wakes());
    let mut seen = 0;
    // Some three seconds, measured by what is drawn and not by a clock.
    while seen < 3 {
        tui.is_silent_for(Duration::from_millis(900));
        seen = marks(&tui) - frames;
        assert!(!tui.is_silent_for(Duration::from_secs(3)), "the countdown stands still");
    }
    assert!(seen <= 8, "{seen} frames");
    match (wakes, tui.wakes()) {
        (Some(before), Some(after)) => assert!(after - before < 600, "woken {} times in some 3 s", after - before),
        _ => super::support::etcd::not_run(test, "no /proc tells how often a program was woken"),
    }
}
