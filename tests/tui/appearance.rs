//! What the terminal can show decides how the dashboard looks.

use vt100::Color;

use super::pty::{Answer, Setup, Tui, lockscope};
use super::support::etcd::free_port;

fn alone(arguments: &[&str]) -> Setup {
    let endpoint = format!("127.0.0.1:{}", free_port());
    let mut all = vec!["--endpoints", &endpoint];
    all.extend_from_slice(arguments);
    lockscope(&all).env("COLORTERM", "truecolor")
}

fn shown(setup: Setup) -> Tui {
    let tui = setup.start();
    tui.shows("RETRYING");
    tui
}

/// All colours on the screen.
fn colours(tui: &Tui) -> Vec<Color> {
    tui.look(|screen| {
        let (rows, columns) = screen.size();
        let cells = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
        let cells = cells.filter_map(|(row, column)| screen.cell(row, column));
        let mut colours: Vec<_> = cells.flat_map(|cell| [cell.fgcolor(), cell.bgcolor()]).collect();
        colours.retain(|&colour| colour != Color::Default);
        colours
    })
}

/// The theme in use: `t` goes to the next one and names it.
fn next_theme(tui: &Tui) -> String {
    tui.keys("t");
    tui.shows(" theme ");
    let row = tui.rows().into_iter().find(|row| row.trim_start().starts_with("theme ")).unwrap();
    row.trim().trim_start_matches("theme ").to_owned()
}

#[test]
fn no_color_means_no_colour() {
    let tui = shown(alone(&[]).env("NO_COLOR", "1"));
    assert_eq!(colours(&tui), []);
    let tui = shown(alone(&[]).env("NO_COLOR", ""));
    assert_ne!(colours(&tui), [], "set and empty counts for nothing");
}

#[test]
fn ascii_is_ascii() {
    for setup in [alone(&["--ascii"]), alone(&[]).env("LC_ALL", "C")] {
        let tui = shown(setup);
        let text = tui.look(vt100::Screen::contents);
        assert!(text.is_ascii(), "{text}");
    }
}

#[test]
fn a_light_background_has_the_light_theme() {
    let answer = |bytes: &[u8]| Some(Answer { bytes: bytes.to_vec(), after: None });
    let cases = [
        (answer(b"\x1b]11;rgb:ffff/ffff/eeee\x1b\\\x1b[?62c"), "light"),
        (answer(b"\x1b]11;rgb:1111/1111/1111\x1b\\\x1b[?62c"), "dark"),
        // A terminal that does not know the question answers the one behind it only.
        (answer(b"\x1b[?62c"), "dark"),
        (None, "dark"),
    ];
    for (answer, theme) in cases {
        let setup = match answer {
            Some(answer) => alone(&[]).answers(answer),
            None => alone(&[]),
        };
        let after_light = next_theme(&shown(alone(&["--theme", theme])));
        assert_eq!(next_theme(&shown(setup)), after_light, "{theme}");
    }
}

#[test]
fn an_answer_that_comes_too_late_presses_no_keys() {
    let late = Answer { bytes: b"\x1b]11;rgb:6666/6666/6666\x1b\\\x1b[?62c?".to_vec(), after: Some("RETRYING") };
    let tui = alone(&[]).answers(late).start();
    // The question mark behind it is a key.
    tui.shows("closes the help");
    tui.keys("\x1b");
    tui.hides("closes the help");
    // Sixes lead to the log.
    tui.wait("the first screen", |screen| screen.contents().contains("quit"));
    assert!(!tui.look(|screen| screen.contents().contains("newest first")), "{:?}", tui.rows());
}

#[test]
fn an_unknown_theme_is_told_on_the_shells_screen() {
    let tui = alone(&["--theme", "drak"]).start();
    assert_ne!(tui.ends(), 0);
    tui.shows("drak");
    assert_eq!(tui.left_over(), Vec::<&str>::new());
}

#[test]
fn a_persons_own_theme_is_found_beside_the_settings() {
    let home = tempfile::tempdir().unwrap();
    let themes = home.path().join("lockscope/themes");
    std::fs::create_dir_all(&themes).unwrap();
    std::fs::write(themes.join("mine.toml"), "name = \"mine\"\nground = \"dark\"\n[title]\nfg = \"#123456\"\n")
        .unwrap();
    std::fs::write(themes.join("broken.toml"), "name = ").unwrap();
    let tui = shown(alone(&["--theme", "mine"]).env("XDG_CONFIG_HOME", home.path()));
    assert!(colours(&tui).contains(&Color::Rgb(0x12, 0x34, 0x56)), "{:?}", colours(&tui));
    tui.keys("6");
    tui.shows("string values must be quoted");
}
