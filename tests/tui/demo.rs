//! The demo: its clients at play, and what keys do to them.

use super::pty::lockscope;

#[test]
fn the_demo_opens_with_its_clients_lanes() {
    let tui = lockscope(&["demo", "--theme", "dark"]).size(160, 48).start();
    for text in ["DEMO", "5 Playground", "pause the holder", "░░", "██", "HOLDS"] {
        tui.shows(text);
    }
    tui.keys("q");
    assert_eq!(tui.ends(), 0);
    assert!(tui.left_over().is_empty(), "{:?}", tui.left_over());
}

#[test]
fn what_keys_do_to_a_client_is_told_and_seen() {
    let tui = lockscope(&["demo", "--theme", "dark"]).size(120, 36).start();
    tui.shows("HOLDS");
    tui.keys("p");
    tui.shows("stands still");
    tui.shows("≈≈");
    // Its lease runs out, the store passes the lock on, and it wakes to a stale belief.
    tui.shows("the store dropped its key");
    // The loss is marked in the lane, with its revision; the legend has a sign without one.
    tui.wait("a lost lease in a lane", |screen| {
        let text = screen.contents();
        text.split('×').skip(1).any(|behind| behind.starts_with(|char: char| char.is_ascii_digit()))
    });
    tui.keys("p");
    tui.shows("goes on");
    tui.keys(":crash holder\r");
    tui.shows("crashes while it holds");
    tui.keys("a");
    tui.shows("one client more joins");
    tui.keys("q");
    assert_eq!(tui.ends(), 0);
}

#[test]
fn a_scenario_is_told_in_the_language_of_the_locale() {
    let tui = lockscope(&["demo", "zombie", "--theme", "dark"]).env("LC_ALL", "zh_CN.UTF-8").size(120, 36).start();
    // The first narration, of which the list below has as much as there is room for.
    tui.shows("持有者向两个资源写入，并附上防护令牌");
    tui.shows("5 演练场");
    tui.keys("q");
    assert_eq!(tui.ends(), 0);
}

#[test]
fn a_deadlock_that_is_played_is_seen_on_the_screen_of_waits() {
    let tui = lockscope(&["demo", "deadlock", "--theme", "dark"]).size(120, 36).start();
    tui.shows("HOLDS");
    tui.keys("7");
    tui.shows("× deadlock");
    tui.keys("q");
    assert_eq!(tui.ends(), 0);
}
