//! However it ends, the terminal is as it was.

use std::time::Duration;

use lockscope::embedded::Config;
use lockscope::server::{self, Options};
use ratatui::buffer::Buffer;
use ratatui::layout::Position;
use ratatui::style::Style;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::pty::{Tui, lockscope, run};
use super::support::etcd::free_port;

/// The dashboard where no etcd is.
fn alone() -> Tui {
    let tui = lockscope(&["--endpoints", &format!("127.0.0.1:{}", free_port())]).start();
    tui.shows("lockscope");
    tui.wait("the keys", |screen| screen.contents().contains("quit"));
    tui
}

#[test]
fn q_quits_and_leaves_nothing_behind() {
    let tui = alone();
    assert!(tui.look(|screen| screen.alternate_screen() && screen.hide_cursor() && screen.bracketed_paste()));
    tui.keys("q");
    assert_eq!(tui.ends(), 0);
    assert_eq!(tui.left_over(), Vec::<&str>::new());
    assert_eq!(tui.look(|screen| screen.contents().trim().to_owned()), "", "and says nothing");
}

#[test]
fn ctrl_c_quits_and_leaves_nothing_behind() {
    let tui = alone();
    tui.keys("/typing\x03");
    assert_eq!(tui.ends(), 0);
    assert_eq!(tui.left_over(), Vec::<&str>::new());
}

#[test]
fn every_signal_that_ends_gives_the_terminal_back() {
    for signal in ["TERM", "INT", "HUP", "QUIT"] {
        let tui = alone();
        tui.signal(signal);
        assert_ne!(tui.ends(), 0, "SIG{signal}");
        assert_eq!(tui.left_over(), Vec::<&str>::new(), "SIG{signal}");
    }
}

#[test]
fn a_stopped_job_gives_the_terminal_to_the_shell_and_takes_it_back() {
    let script = format!(
        "set -m; {} --endpoints 127.0.0.1:{}; echo stopped; stty -a | grep -o -e -icanon -e icanon; read line; fg; echo ended $?",
        env!("CARGO_BIN_EXE_lockscope"),
        free_port()
    );
    let tui = run("/bin/bash", &["--norc", "-c", &script]).start();
    tui.wait("the keys", |screen| screen.alternate_screen() && screen.contents().contains("quit"));
    tui.keys("\x1a");
    tui.wait("the shell", |screen| {
        !screen.alternate_screen() && screen.contents().contains("stopped\r\nicanon")
            || screen.contents().contains("stopped\nicanon")
    });
    assert!(tui.look(|screen| !screen.hide_cursor() && !screen.bracketed_paste()));
    tui.keys("\r");
    tui.wait("the dashboard again, whole", |screen| screen.alternate_screen() && screen.contents().contains("quit"));
    tui.keys("q");
    tui.shows("ended 0");
    tui.ends();
    assert_eq!(tui.left_over(), Vec::<&str>::new());
}

#[test]
fn without_a_shell_to_wake_it_again_it_does_not_stop() {
    let tui = alone();
    tui.keys("\x1a");
    tui.keys("?");
    tui.shows("closes the help");
    tui.keys("qq");
    assert_eq!(tui.ends(), 0);
}

#[test]
fn a_terminal_that_does_not_keep_up_does_not_keep_the_program() {
    let tui = alone();
    tui.resize(200, 60);
    tui.wait("a frame of that size", |screen| screen.rows(0, 200).any(|row| row.chars().count() > 190));
    tui.hold(true);
    // Whole frames, until the terminal is full: some ten kilobytes each, into a buffer of 64.
    for _ in 0..40 {
        tui.keys("\x0c");
        tui.is_silent_for(Duration::from_millis(20));
    }
    let took = tui.time_to_end(|| tui.keys("q"));
    println!("q on a full terminal: {took:?}");
    assert!(
        (Duration::from_millis(20)..Duration::from_secs(1)).contains(&took),
        "it was not full, or kept it: {took:?}"
    );
    tui.hold(false);
    tui.catch_up();
    assert_eq!(tui.left_over(), Vec::<&str>::new(), "what matters got through");
}

#[test]
fn a_slow_terminal_gets_fewer_frames_and_keys_do_what_they_do() {
    /// What lies between a program and its terminal (Linux, `tty_buffer.c`), and some more.
    const BUFFER: usize = 96 << 10;
    let tui = lockscope(&["demo", "--theme", "dark"]).size(200, 60).start();
    tui.shows("HOLDS");
    tui.keys("r");
    tui.shows("newest first");
    let before = tui.taken();
    tui.keys("\x0c");
    let frame = tui.sent_between(before, b"\x1b[2J", b"\x1b[?2026l");

    // Whole frames are asked for while it takes a few hundred bytes at a time.
    tui.pace(Some(2_000));
    let begun = tui.taken();
    let frames = 4 * BUFFER / frame;
    for nth in 0..frames {
        tui.keys("\x0c");
        tui.takes(begun + 256 * nth.min(32));
    }
    tui.keys("?");
    let at = tui.taken();
    tui.pace(None);
    tui.shows("closes the help");
    let behind = tui.taken() - at;
    println!("{frames} frames of {frame} bytes were asked for, {behind} bytes were on their way");
    assert!(behind < BUFFER + 2 * frame, "frames queue up: {behind} bytes for {frames}");

    tui.pace(Some(2_000));
    let took = tui.time_to_end(|| tui.keys("qq"));
    println!("q on a slow terminal: {took:?}");
    assert!(took < Duration::from_secs(2), "{took:?}");
}

#[test]
fn a_terminal_that_is_stopped_does_not_keep_the_program() {
    let tui = alone();
    tui.stop();
    tui.keys("?");
    let took = tui.time_to_end(|| tui.keys("qq"));
    println!("q on a stopped terminal: {took:?}");
    assert!(
        (Duration::from_millis(20)..Duration::from_secs(1)).contains(&took),
        "it was not stopped, or kept it: {took:?}"
    );
}

#[test]
fn a_window_that_is_closed_ends_the_program() {
    let mut tui = alone();
    tui.close();
    tui.ends_unseen();
}

#[test]
fn a_window_that_is_closed_ends_a_program_that_no_signal_reaches() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    // A quiet cluster: the program has nothing to draw by which it would notice.
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let cluster = runtime.block_on(server::start(Options::new(Config::default()))).unwrap();
    // In a session of its own it has no controlling terminal, as under a wrapper that was killed.
    let script = format!(
        "exec 3<&0; setsid /bin/sh -c 'echo $$ >{}; exec {} --prefix /quiet/ --endpoints {}' <&3 & wait",
        file.display(),
        env!("CARGO_BIN_EXE_lockscope"),
        cluster.endpoints().join(",")
    );
    let mut tui = run("/bin/sh", &["-c", &script]).start();
    tui.shows("No locks");
    assert!((0..20).any(|_| tui.is_silent_for(Duration::from_secs(1))), "it draws, and would notice by that");
    let pid: i32 = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
    let program = pidfd_open(Pid::from_raw(pid).unwrap(), PidfdFlags::empty()).unwrap();
    tui.close();
    let mut asked = [PollFd::new(&program, PollFlags::IN)];
    let timeout = Timespec { tv_sec: 20, tv_nsec: 0 };
    let ended = poll(&mut asked, Some(&timeout)).unwrap();
    if ended == 0 {
        rustix::process::kill_process(Pid::from_raw(pid).unwrap(), rustix::process::Signal::KILL).unwrap();
    }
    runtime.block_on(cluster.stop());
    assert_eq!(ended, 1, "it goes on without a terminal");
}

/// Runs one of the tests below, which panic on purpose, in a terminal.
fn panicking(name: &str) -> Tui {
    let program = std::env::current_exe().unwrap();
    let tui = run(program, &["--exact", name, "--ignored", "--nocapture"]).start();
    tui.ends();
    tui
}

#[test]
fn a_panic_gives_the_terminal_back_before_it_speaks() {
    for name in ["ending::panics_while_it_draws", "ending::panics_in_another_task"] {
        let tui = panicking(name);
        assert_eq!(tui.left_over(), Vec::<&str>::new(), "{name}");
        let text = tui.look(vt100::Screen::contents);
        assert!(text.contains("this is on purpose"), "the message is on the shell's screen: {text}");
        tui.was_sent(b"\x1b[?1049h");
    }
}

fn write(cells: &mut Buffer, text: &str) -> Option<Position> {
    cells.reset();
    cells.set_string(0, 0, text, Style::new());
    None
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

#[test]
#[ignore = "panics; run by the test above in a terminal"]
fn panics_while_it_draws() {
    runtime().block_on(async {
        lockscope::runtime::terminal::install_panic_hook();
        let mut terminal = lockscope::runtime::terminal::Terminal::enter(true).unwrap();
        terminal.draw(|_| panic!("this is on purpose")).unwrap();
    });
}

#[test]
#[ignore = "panics; run by the test above in a terminal"]
fn panics_in_another_task() {
    runtime().block_on(async {
        lockscope::runtime::terminal::install_panic_hook();
        let mut terminal = lockscope::runtime::terminal::Terminal::enter(true).unwrap();
        terminal.draw(|cells| write(cells, "drawn before")).unwrap();
        tokio::spawn(async { panic!("this is on purpose") }).await.unwrap_err();
        lockscope::runtime::terminal::panicked().await;
        // Nothing that is drawn now reaches the shell's screen.
        terminal.redraw();
        terminal.draw(|cells| write(cells, "drawn after")).unwrap();
    });
}
