//! The configuration file, and that flags, variables and the file are put over each other.

use serde_json::json;

use crate::program::{File, lockscope};

#[test]
fn a_file_that_was_named_has_to_be_there() {
    let ended = lockscope(["--config", "/no/such/file.toml", "ls"]).run().expect(6);
    assert!(ended.stderr.contains("/no/such/file.toml"), "{}", ended.stderr);
    let ended = lockscope(["ls"]).env("LOCKSCOPE_CONFIG", "/no/such/file.toml").run().expect(6);
    assert!(ended.stderr.contains("/no/such/file.toml"), "{}", ended.stderr);
}

#[test]
fn an_unknown_setting_is_placed_and_the_nearest_named() {
    let file = File::config("# mine\nendpoint = [\"db1:2379\"]\n");
    let ended = lockscope(["ls"]).env("XDG_CONFIG_HOME", file.home()).run().expect(6);
    let place = format!("{}:2:1: unknown setting `endpoint`; did you mean `endpoints`?", file.path().display());
    assert!(ended.stderr.contains(&place), "{}", ended.stderr);
}

#[test]
fn a_bad_value_is_placed() {
    let file = File::config("hex = true\ndial-timeout = \"5\"\n");
    let ended = lockscope(["ls"]).env("XDG_CONFIG_HOME", file.home()).run().expect(6);
    let place = format!("{}:2:16: a duration needs a unit", file.path().display());
    assert!(ended.stderr.contains(&place), "{}", ended.stderr);
}

#[test]
fn a_file_that_cannot_be_read_is_an_error_even_at_the_default_place() {
    // A folder in the place of the file cannot be read by anybody, root included.
    let file = File::config("");
    std::fs::remove_file(file.path()).unwrap();
    std::fs::create_dir(file.path()).unwrap();
    lockscope(["ls"]).env("XDG_CONFIG_HOME", file.home()).run().expect(6);
}

#[test]
fn flags_beat_variables_beat_the_file() {
    let file = File::config("endpoints = [\"127.0.0.1:1\"]\ntheme = \"light\"\nread-only = true\n");
    let run = |arguments: &[&str]| {
        lockscope(arguments.iter().chain(&["info", "-w", "json"])).env("XDG_CONFIG_HOME", file.home())
    };
    let from_file = run(&[]).json();
    assert_eq!(from_file["endpoints"], json!(["http://127.0.0.1:1"]));
    assert_eq!(from_file["config_file"], json!(file.path().display().to_string()));
    assert_eq!(from_file["read_only"], json!(true));
    let from_variable = run(&[]).env("ETCDCTL_ENDPOINTS", "127.0.0.1:2").json();
    assert_eq!(from_variable["endpoints"], json!(["http://127.0.0.1:2"]));
    assert_eq!(from_variable["theme"], json!("light"));
    let from_flag = run(&["--endpoints", "127.0.0.1:3"]).env("ETCDCTL_ENDPOINTS", "127.0.0.1:2").json();
    assert_eq!(from_flag["endpoints"], json!(["http://127.0.0.1:3"]));
    let empty = run(&["--read-only=false"]).env("ETCDCTL_ENDPOINTS", "").json();
    assert_eq!(empty["endpoints"], json!(["http://127.0.0.1:1"]));
    assert_eq!(empty["read_only"], json!(false));
}

#[test]
fn no_file_at_the_default_place_is_fine() {
    let document = lockscope(["--endpoints", "127.0.0.1:1", "info", "-w", "json"]).env("HOME", "/nowhere").json();
    assert_eq!(document["config_file"], json!(null));
    assert_eq!(document["reachable"], json!(false));
}
