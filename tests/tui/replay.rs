//! A recording in the dashboard: its keys, its places, and that it is left as any other screen.

use std::path::Path;

use super::pty::lockscope;

#[test]
fn a_recording_is_played_stopped_stepped_through_and_searched() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/recordings/version-1.jsonl");
    let tui = lockscope(&["replay", fixture.to_str().unwrap(), "--speed", "max"]).size(120, 36).start();
    tui.shows("REPLAY max  END");
    let told = std::fs::read_to_string(&fixture).unwrap().matches("\"what\":").count();
    tui.shows(&format!("{told} observations"));
    tui.keys(":seek rev 41\r");
    tui.shows("REPLAY max  PAUSED");
    tui.shows("694d82254d5fa305");
    tui.keys(">");
    tui.shows("rev 42");
    tui.keys("<");
    tui.shows("rev 41");
    tui.keys("[[");
    tui.shows("REPLAY 32x  PAUSED");
    tui.keys(",");
    tui.shows("5 observations");
    tui.keys(".");
    tui.shows("6 observations");
    tui.keys(":find nowhere\r");
    tui.shows("nothing more happens to what has `nowhere` in its name");
    tui.shows("6 observations");
    tui.keys("R");
    tui.shows("this is a recording");
    tui.keys(" ");
    tui.shows("END");
    tui.keys("q");
    assert_eq!(tui.ends(), 0);
}
