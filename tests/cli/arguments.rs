//! Nonsense on the command line and in the environment: a clear word and etcdctl's code.

use crate::program::{lockscope, words};

/// Each line: a nonsense flag, what the message has to say.
const NONSENSE: &[(&str, &[&str])] = &[
    ("--endpoints ,", &["--endpoints", "no endpoint", "host:port"]),
    ("--endpoints db1", &["`db1` has no port", "db1:2379"]),
    ("--endpoints db1:99999", &["`db1:99999` is no address"]),
    ("--endpoints ftp://db1:21", &["ftp://", "only http:// and https://"]),
    ("--endpoints a:1,b", &["`b` has no port"]),
    ("--insecure-skip-tls-verify=perhaps", &["--insecure-skip-tls-verify", "`perhaps` is neither true nor false"]),
    ("--insecure-transport=2", &["--insecure-transport", "`2`"]),
    ("--dial-timeout 5", &["--dial-timeout", "needs a unit", "5s"]),
    ("--dial-timeout -5s", &["--dial-timeout", "longer than zero"]),
    ("--dial-timeout=-5s", &["--dial-timeout", "longer than zero"]),
    ("--command-timeout 0s", &["--command-timeout", "longer than zero"]),
    ("--keepalive-time soon", &["--keepalive-time", "`soon` is no duration", "1m30s"]),
    ("--keepalive-timeout 1d", &["--keepalive-timeout", "`1d`"]),
    ("-w yaml", &["--write-out", "yaml", "simple", "table", "json"]),
    ("--hex=yes", &["--hex", "`yes`"]),
    ("--debug=loud", &["--debug", "`loud`"]),
    ("--ttl some", &["--ttl", "some", "holders", "all", "none"]),
    ("--ttl-budget 0", &["--ttl-budget", "`0` is no whole number from 1 to"]),
    ("--ttl-budget 1e9", &["--ttl-budget", "`1e9`"]),
    ("--read-only=si", &["--read-only", "`si`"]),
    ("--ascii=x", &["--ascii", "`x`"]),
    ("--no-mouse=x", &["--no-mouse", "`x`"]),
    ("--theme nope", &["--theme", "`nope`", "dark, light"]),
    ("--reduce-motion=x", &["--reduce-motion", "`x`"]),
    ("--no-such-flag", &["--no-such-flag"]),
    ("--endpoint a:1", &["--endpoint", "--endpoints"]),
    ("--cert c.pem", &["--cert is given without --key"]),
    ("--key k.pem", &["--key is given without --cert"]),
    ("--user ann", &["no password for user `ann`", "no terminal", "ETCDCTL_PASSWORD"]),
    ("--endpoints", &["--endpoints", "value"]),
];

#[test]
fn every_flag_refuses_nonsense_with_128_and_says_what_to_do() {
    for (flag, said) in NONSENSE {
        let ended = lockscope(words(&format!("{flag} ls"))).run();
        let ended = ended.expect(128);
        assert!(ended.stdout.is_empty(), "{flag}: data is not for errors");
        for words in *said {
            assert!(ended.stderr.contains(words), "{flag}: {words} is not in {}", ended.stderr);
        }
    }
}

#[test]
fn commands_refuse_arguments_they_do_not_take() {
    for line in [
        "frobnicate",
        "show",
        "show a b",
        "leases a",
        "ls a b",
        "completions tcsh",
        "completions",
        "watch --for 5",
        "ls --for 5s",
    ] {
        let ended = lockscope(words(line)).run().expect(128);
        assert!(ended.stderr.contains("--help"), "{line}: {}", ended.stderr);
    }
    let meant = lockscope(["lease"]).run().expect(128).stderr;
    assert!(meant.contains("leases"), "{meant}");
}

#[test]
fn every_variable_refuses_nonsense_and_is_named() {
    for (variable, value) in [
        ("ETCDCTL_ENDPOINTS", "db1"),
        ("ETCDCTL_INSECURE_SKIP_TLS_VERIFY", "perhaps"),
        ("ETCDCTL_INSECURE_TRANSPORT", "perhaps"),
        ("ETCDCTL_DIAL_TIMEOUT", "5"),
        ("ETCDCTL_COMMAND_TIMEOUT", "5"),
        ("ETCDCTL_KEEPALIVE_TIME", "5"),
        ("ETCDCTL_KEEPALIVE_TIMEOUT", "5"),
        ("ETCDCTL_WRITE_OUT", "yaml"),
        ("ETCDCTL_HEX", "x"),
        ("ETCDCTL_DEBUG", "x"),
        ("LOCKSCOPE_READ_ONLY", "x"),
        ("LOCKSCOPE_ASCII", "x"),
        ("LOCKSCOPE_NO_MOUSE", "x"),
        ("LOCKSCOPE_REDUCE_MOTION", "x"),
        ("LOCKSCOPE_TTL_BUDGET", "x"),
        ("LOCKSCOPE_TTL", "x"),
    ] {
        let ended = lockscope(["ls"]).env(variable, value).run().expect(128);
        assert!(ended.stderr.contains(variable), "{variable}: {}", ended.stderr);
        assert!(ended.stdout.is_empty());
    }
}

#[test]
fn a_password_is_in_no_message() {
    for line in ["--user root:hunter2 --password", "--password hunter2 --user root --dial-timeout 5 ls"] {
        let ended = lockscope(words(line)).run().expect(128);
        assert!(!ended.stderr.contains("hunter2"), "{}", ended.stderr);
    }
}

#[test]
fn bytes_that_are_no_text_are_refused_where_text_is_wanted() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let ended = lockscope([OsStr::new("--theme"), OsStr::from_bytes(b"\xff\x1b[2J")]).run().expect(128);
    assert!(!ended.stderr.contains('\x1b'), "{:?}", ended.stderr);
}
