//! The word that has to be typed, in a real terminal.

use std::io::{Read as _, Write as _};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use portable_pty::{CommandBuilder, PtySize, native_pty_system};

use crate::store::Store;
use crate::support::etcd::{Cluster, newest};

/// Runs lockscope in a terminal, types `line` where it asks, and returns its exit code with what was shown.
fn typed(cluster: &Cluster, arguments: &[&str], line: &str) -> (u32, String) {
    let pair = native_pty_system().openpty(PtySize::default()).expect("a terminal");
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_lockscope"));
    command.env_clear();
    command.args(["--endpoints", &cluster.endpoints().join(",")].iter().chain(arguments));
    let mut child = pair.slave.spawn_command(command).expect("the binary starts");
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader().expect("a reader");
    let mut keys = pair.master.take_writer().expect("a writer");
    let (tell, output) = mpsc::channel();
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = reader.read(&mut buffer) {
            if tell.send(buffer[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    let mut shown = String::new();
    let mut asked = false;
    while let Ok(more) = output.recv_timeout(Duration::from_secs(30)) {
        shown.push_str(&String::from_utf8_lossy(&more));
        if !asked && shown.contains("Type ") && shown.trim_end().ends_with(':') {
            asked = true;
            keys.write_all(line.as_bytes()).expect("the terminal takes keys");
        }
    }
    assert!(asked, "{shown}");
    (child.wait().expect("it ends").exit_code(), shown)
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
    for (line, code) in [("yes\r", 3), ("\r", 3), ("\u{4}", 3), ("\u{3}", 5)] {
        let (ended, shown) = typed(&cluster, &["revoke", "a1"], line);
        assert_eq!(ended, code, "{line:?}: {shown}");
        assert!(shown.contains("/jobs/reindex/b2"), "who is next is shown: {shown}");
    }
    let keys = || cluster.told("get --prefix --keys-only /").lines().filter(|line| !line.is_empty()).count();
    let (ended, shown) = typed(&cluster, &["release", "/jobs/ "], "\r");
    assert_eq!(ended, 3, "where the name is a space, Enter alone is no word: {shown}");
    assert_eq!(keys(), 3);
    let (ended, shown) = typed(&cluster, &["revoke", "a1"], "a1\r");
    assert_eq!(ended, 0, "{shown}");
    assert!(shown.contains("result\tdone") || shown.contains("done"), "{shown}");
    assert_eq!(keys(), 2);
    let (ended, shown) = typed(&cluster, &["release", "/jobs/reindex"], "reindex\r");
    assert_eq!(ended, 0, "{shown}");
    assert_eq!(keys(), 1);
}
