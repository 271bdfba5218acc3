//! What a person at a real terminal is asked and told.

use crate::program::File;
use crate::pty::Terminal;
use crate::rights::guarded;
use crate::support::etcd::free_port;

#[test]
fn a_password_is_asked_for_and_not_shown() {
    let Some(cluster) = guarded("terminal: a password is asked for") else { return };
    let endpoints = cluster.endpoints().join(",");
    let mut terminal = Terminal::run(&["--endpoints", &endpoints, "--user", "root", "ls", "--ttl", "none", ""]);
    terminal.shows("Password of root: ");
    terminal.types("rootpx\u{7f}w\r");
    let (code, shown) = terminal.ends();
    assert_eq!(code, 0, "{shown}");
    assert!(shown.contains("/secret/b\tqueue"), "{shown}");
    assert!(!shown.contains("rootp"), "{shown}");
}

#[test]
fn control_c_at_the_question_ends_with_5_and_gives_the_terminal_back() {
    let endpoint = format!("127.0.0.1:{}", free_port());
    let mut terminal = Terminal::run(&["--endpoints", &endpoint, "--user", "root", "ls"]);
    terminal.shows("Password of root: ");
    terminal.types("hunter\u{3}");
    let (code, shown) = terminal.ends();
    assert_eq!(code, 5, "{shown}");
    assert!(!shown.contains("hunter"), "{shown}");
}

#[test]
fn whoever_gives_the_password_is_not_asked() {
    let endpoint = format!("127.0.0.1:{}", free_port());
    for login in [&["--user", "root:x"][..], &["--user", "root", "--password", "x"]] {
        let terminal = Terminal::run(&[&["--endpoints", &endpoint], login, &["ls"]].concat());
        let (code, shown) = terminal.ends();
        assert_eq!(code, 2, "{shown}");
        assert!(!shown.contains("Password"), "{shown}");
    }
}

#[test]
fn no_screen_is_opened_on_a_terminal_that_can_only_print_lines() {
    for arguments in [&[][..], &["demo"], &["replay", "/nowhere/x.jsonl"]] {
        let (code, shown) = Terminal::within(&[("TERM", "dumb")], arguments).ends();
        assert_eq!(code, 3, "{arguments:?}: {shown}");
        let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("TERM is `dumb`") && !shown.contains('\u{1b}'), "{arguments:?}: {shown}");
    }
}

#[test]
fn a_context_whose_endpoints_come_from_a_variable_is_warned_of() {
    let file = File::config("[contexts.prod]\nendpoints = [\"127.0.0.1:2\"]\n");
    let home = file.home().to_str().unwrap();
    let context = [("XDG_CONFIG_HOME", home), ("LOCKSCOPE_CONTEXT", "prod")];
    let other = ("ETCDCTL_ENDPOINTS", "127.0.0.1:1");
    let (code, shown) = Terminal::within(&[&context[..], &[other]].concat(), &["ls"]).ends();
    assert_eq!(code, 2, "{shown}");
    assert!(shown.contains("warning: the endpoints are those of ETCDCTL_ENDPOINTS"), "{shown}");
    let (_, shown) = Terminal::within(&context, &["ls"]).ends();
    assert!(!shown.contains("warning"), "{shown}");
}
