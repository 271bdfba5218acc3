//! The word that has to be typed, in a real terminal.

use crate::pty::Terminal;
use crate::store::Store;
use crate::support::etcd::{Cluster, newest};

/// Runs lockscope in a terminal, types `line` where it asks, and returns its exit code with what was shown.
fn typed(cluster: &Cluster, arguments: &[&str], line: &str) -> (u32, String) {
    let endpoints = cluster.endpoints().join(",");
    let mut terminal = Terminal::run(&[&["--endpoints", &endpoints], arguments].concat());
    terminal.shows("Type ");
    terminal.types(line);
    terminal.ends()
}

#[test]
fn only_the_word_that_is_asked_for_does_it() {
    let Some(version) = newest("writes: the word that is asked for") else { return };
    let cluster = version.cluster().start();
    let mut store = Store::of(&cluster);
    store.join("/jobs/reindex", 0xa1, 600);
    store.join("/jobs/reindex", 0xb2, 600);
    store.join("/jobs/ ", 0xc3, 600);
    drop(store);
    let (_, shown) = typed(&cluster, &["revoke", "a1"], "\u{4}");
    assert!(shown.contains("Type revoke a1 to revoke it: "), "{shown}");
    assert!(shown.contains("| KEY THAT GOES"), "a person is shown tables: {shown}");
    assert!(!shown.contains("\\t"), "{shown}");
    for (line, code) in [("yes\r", 3), ("\r", 3), ("\u{4}", 3), ("\u{3}", 5)] {
        let (ended, shown) = typed(&cluster, &["revoke", "a1"], line);
        assert_eq!(ended, code, "{line:?}: {shown}");
        assert!(shown.contains("/jobs/reindex/b2"), "who is next is shown: {shown}");
    }
    let keys = || cluster.told("get --prefix --keys-only /").lines().filter(|line| !line.is_empty()).count();
    let (ended, shown) = typed(&cluster, &["release", "/jobs/ "], "\r");
    assert_eq!(ended, 3, "where the name is a space, Enter alone is no word: {shown}");
    assert_eq!(keys(), 3);
    let (ended, shown) = typed(&cluster, &["revoke", "a1"], "revoke a1\r");
    assert_eq!(ended, 0, "{shown}");
    assert!(shown.contains("result\tdone") || shown.contains("done"), "{shown}");
    assert_eq!(keys(), 2);
    let (ended, shown) = typed(&cluster, &["release", "/jobs/reindex"], "reindex\r");
    assert_eq!(ended, 0, "{shown}");
    assert_eq!(keys(), 1);
}
