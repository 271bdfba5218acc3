//! The configuration file, and that flags, variables and the file are put over each other.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

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

/// Two clusters and a default.
const CONTEXTS: &str = "context = \"dev\"\ndial-timeout = \"100ms\"\n\
    [contexts.dev]\nendpoints = [\"127.0.0.1:1\"]\n\
    [contexts.prod]\nendpoints = [\"127.0.0.1:2\"]\nread-only = true\nuser = \"ann:hunter2\"\nprefix = \"/jobs/\"\n";

#[test]
fn a_context_is_chosen_by_flag_variable_or_file_in_this_order() {
    let file = File::config(CONTEXTS);
    let run = |arguments: &[&str]| {
        lockscope(arguments.iter().chain(&["info", "-w", "json"])).env("XDG_CONFIG_HOME", file.home())
    };
    let is = |document: &serde_json::Value| (document["context"].clone(), document["endpoints"][0].clone());
    assert_eq!(is(&run(&[]).json()), (json!("dev"), json!("http://127.0.0.1:1")));
    let prod = run(&[]).env("LOCKSCOPE_CONTEXT", "prod").json();
    assert_eq!(is(&prod), (json!("prod"), json!("http://127.0.0.1:2")));
    assert_eq!((&prod["read_only"], &prod["user"]), (&json!(true), &json!("ann")));
    let dev = run(&["--context", "dev"]).env("LOCKSCOPE_CONTEXT", "prod").json();
    assert_eq!(is(&dev), (json!("dev"), json!("http://127.0.0.1:1")));
    let none = run(&["--context", ""]).json();
    assert_eq!(is(&none), (json!(null), json!("http://127.0.0.1:2379")));
    // Who types a context means its cluster; one that a variable names gives way to other variables.
    let typed = run(&["--context", "prod"]).env("ETCDCTL_ENDPOINTS", "127.0.0.1:3").json();
    assert_eq!(is(&typed), (json!("prod"), json!("http://127.0.0.1:2")));
    let variables = run(&[]).env("LOCKSCOPE_CONTEXT", "prod").env("ETCDCTL_ENDPOINTS", "127.0.0.1:3").json();
    assert_eq!(is(&variables), (json!("prod"), json!("http://127.0.0.1:3")));
    // Then its name does not say where the cluster is.
    assert_eq!((&typed["endpoints_from"], &variables["endpoints_from"]), (&json!(null), &json!("ETCDCTL_ENDPOINTS")));
}

#[test]
fn an_unknown_context_is_a_bad_argument_and_the_nearest_is_named() {
    let file = File::config(CONTEXTS);
    let ended = lockscope(["--context", "prd", "ls"]).env("XDG_CONFIG_HOME", file.home()).run().expect(128);
    assert!(ended.stderr.contains("there is no context `prd`; did you mean `prod`?"), "{}", ended.stderr);
    let ended = lockscope(["ls"]).env("LOCKSCOPE_CONTEXT", "prod").env("HOME", "/nowhere").run().expect(128);
    let nowhere = "there is no configuration file at /nowhere/.config/lockscope/config.toml";
    assert!(ended.stderr.contains(nowhere), "{}", ended.stderr);
    let none = File::config("hex = true\n");
    let ended = lockscope(["--context", "prod", "ls"]).env("XDG_CONFIG_HOME", none.home()).run().expect(128);
    assert!(ended.stderr.contains("no section [contexts.NAME]"), "{}", ended.stderr);
}

#[test]
fn what_the_file_gets_wrong_is_placed_and_a_file_error_and_a_flag_is_a_bad_argument() {
    for (text, place) in [
        ("hex = true\ncontext = \"prd\"\n[contexts.prod]\n", "2:11: there is no context `prd`; did you mean `prod`?"),
        ("theme = \"drak\"\n", "1:9: there is no theme `drak`; did you mean `dark`?"),
        ("context = \"a\"\n[contexts.a]\ntheme = \"drak\"\n", "3:9: there is no theme `drak`; did you mean `dark`?"),
        ("cert = \"c.pem\"\n", "1:8: `cert` is given without `key`: a client certificate needs both files"),
        ("[findings]\nnear-quota = 500\n", "2:14: `500` is no whole number from 1 to 100"),
        ("long-hold = \"1m\"\n", "1:1: `long-hold` belongs into the section [findings]"),
    ] {
        let file = File::config(text);
        let wanted = format!("{}:{place}", file.path().display());
        for arguments in [&["ls"][..], &["config", "show"], &["demo"], &[]] {
            // What follows from settings together is no matter of showing each.
            if arguments == ["config", "show"] && text.starts_with("cert") {
                continue;
            }
            let ended = lockscope(arguments).env("XDG_CONFIG_HOME", file.home()).run().expect(6);
            assert!(ended.stderr.contains(&wanted), "{arguments:?}: {}", ended.stderr);
        }
    }
    let file = File::config("theme = \"drak\"\n");
    let run = |arguments: &[&str]| lockscope(arguments).env("XDG_CONFIG_HOME", file.home()).run();
    run(&["config", "show", "--theme", "light"]).expect(0);
    let ended = run(&["config", "show", "--theme", "lihgt"]).expect(128);
    assert!(ended.stderr.contains("--theme: there is no theme `lihgt`; did you mean `light`?"), "{}", ended.stderr);
}

#[test]
fn contexts_are_listed_whichever_is_chosen() {
    let file = File::config(CONTEXTS);
    let run = |arguments: &[&str]| lockscope(arguments).env("XDG_CONFIG_HOME", file.home());
    let text = run(&["config", "contexts"]).run().expect(0);
    assert_eq!(text.text(), "dev\t*\t127.0.0.1:1\t-\tfalse\t-\nprod\t-\t127.0.0.1:2\tann\ttrue\t/jobs/\n");
    let document = run(&["config", "contexts", "-w", "json", "--context", "nope"]).json();
    assert_eq!(document["schema"], "lockscope/1");
    assert_eq!(
        document["contexts"][1],
        json!({"name": "prod", "chosen": false, "endpoints": ["127.0.0.1:2"], "user": "ann", "read_only": true,
            "prefixes": ["/jobs/"]})
    );
}

#[test]
fn the_settings_in_force_are_shown_with_where_they_came_from_and_no_password() {
    let file = File::config(CONTEXTS);
    let run = |format: &str| {
        lockscope(["config", "show", "--context", "prod", "--password", "hunter3", "-w", format])
            .env("XDG_CONFIG_HOME", file.home())
            .env("LC_ALL", "zh_CN.UTF-8")
            .env("ETCDCTL_COMMAND_TIMEOUT", "9s")
    };
    let ended = run("simple").run().expect(0);
    let from_file = format!("dial-timeout\t\"100ms\"\t{}\n", file.path().display());
    for line in [
        "context\t\"prod\"\t--context\n",
        "endpoints\t[\"127.0.0.1:2\"]\tcontext prod\n",
        "user\t\"ann:***\"\tcontext prod\n",
        "password\t\"***\"\t--password\n",
        "command-timeout\t\"9s\"\tETCDCTL_COMMAND_TIMEOUT\n",
        from_file.as_str(),
        "lang\t\"zh\"\tlocale\n",
        "ttl-budget\t200\tdefault\n",
        "theme\t-\tdefault\n",
        "findings.long-hold\t\"15m\"\tdefault\n",
    ] {
        assert!(ended.text().contains(line), "{line:?} is not in {}", ended.text());
    }
    for format in ["simple", "table", "json"] {
        assert!(!run(format).run().expect(0).text().contains("hunter"), "{format}");
    }
    let document = run("json").json();
    let endpoints = document["settings"].as_array().unwrap().iter().find(|one| one["name"] == "endpoints");
    let expected = json!({"name": "endpoints", "value": ["127.0.0.1:2"], "source": "context", "from": "prod"});
    assert_eq!(endpoints, Some(&expected));
}

#[test]
fn a_file_is_written_where_it_is_looked_for_and_never_over_another() {
    let home = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| lockscope(arguments).env("XDG_CONFIG_HOME", home.path().join("new"));
    let path = home.path().join("new").join("lockscope").join("config.toml");
    let told = run(&["info", "--endpoints", "127.0.0.1:1", "-w", "json"]).json();
    assert_eq!(told["config_path"], json!(path.display().to_string()));
    assert_eq!(run(&["config", "path"]).run().expect(0).text(), format!("{}\n", path.display()));
    let printed = run(&["config", "init", "--stdout"]).run().expect(0);
    assert!(!path.exists());
    run(&["config", "init"]).run().expect(0);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), printed.text());
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&path).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    // It changes nothing, and with every line in force it is still good.
    let of_file = |document: serde_json::Value| {
        document["settings"].as_array().unwrap().iter().filter(|one| one["source"] == "file").count()
    };
    assert_eq!(of_file(run(&["config", "show", "-w", "json"]).json()), 0);
    let all: Vec<_> = printed.text().lines().map(|line| line.strip_prefix('#').unwrap_or(line)).collect();
    std::fs::write(&path, all.join("\n")).unwrap();
    assert!(of_file(run(&["config", "show", "-w", "json", "--context", ""]).json()) > 40);
    let refused = run(&["config", "init"]).run().expect(6);
    assert!(refused.stderr.contains("is there already") && refused.stderr.contains("--force"), "{}", refused.stderr);
    assert_ne!(std::fs::read_to_string(&path).unwrap(), printed.text());
    // A file that cannot be used is no hindrance to one that can.
    std::fs::write(&path, "garbage").unwrap();
    run(&["config", "init", "-f"]).run().expect(0);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), printed.text());
    lockscope(["config", "init"]).run().expect(6);
}

#[test]
fn the_path_is_given_whatever_stands_in_the_file() {
    let file = File::config("garbage");
    let ended = lockscope(["config", "path"]).env("XDG_CONFIG_HOME", file.home()).run().expect(0);
    assert_eq!(ended.text(), format!("{}\n", file.path().display()));
    let path = |home: &Path| {
        lockscope(["config", "path"]).env("XDG_CONFIG_HOME", home).env("ETCDCTL_WRITE_OUT", "json").json()
    };
    assert_eq!(path(file.home())["config_path"], json!(file.path().display().to_string()));
    // A folder whose name is no text is looked into all the same.
    let home = tempfile::tempdir().unwrap();
    let odd = home.path().join(OsStr::from_bytes(b"\xff"));
    assert_eq!(path(&odd)["is_there"], json!(false));
    lockscope(["config", "init"]).env("XDG_CONFIG_HOME", &odd).run().expect(0);
    assert_eq!(path(&odd)["is_there"], json!(true));
}

#[test]
fn garbage_in_the_place_of_the_file_is_told_with_its_place() {
    for (bytes, told) in [
        (&b"\x7fELF\x02\x01"[..], ":1:7: "),
        (b"hex = true\n\xff\xfe", ":2:1: this is no UTF-8"),
        (b"hex = true\r\nhexx = 1\r\n", ":2:1: unknown setting `hexx`; did you mean `hex`?"),
        (b"\xef\xbb\xbfendpoints = 3", ":1:13: "),
        (b"[contexts.prod]\nread_only = true", ":2:1: unknown setting `read_only`; did you mean `read-only`?"),
        (b"dial-timeout = [1]", ":1:16: "),
        (b"lang = \"klingon\"", ":1:8: `klingon` is not one of en, zh"),
    ] {
        let file = File::config("");
        std::fs::write(file.path(), bytes).unwrap();
        let ended = lockscope(["ls"]).env("XDG_CONFIG_HOME", file.home()).run().expect(6);
        let place = format!("{}{told}", file.path().display());
        assert!(ended.stderr.contains(&place), "{place} is not in {}", ended.stderr);
    }
}

#[test]
fn the_program_says_what_it_is_built_from() {
    let document = lockscope(["--endpoints", "127.0.0.1:1", "info", "-w", "json"]).json();
    assert!(document["rustc"].as_str().unwrap().starts_with("rustc 1."), "{document}");
    assert!(document["target"].as_str().unwrap().contains(std::env::consts::ARCH), "{document}");
    // Of a release: twelve digits, or more where those would not do, and whether the tree was changed.
    let commit = document["commit"].as_str().map(|commit| commit.trim_end_matches("-dirty"));
    let is_hash = |commit: &str| commit.len() >= 12 && commit.chars().all(|digit| digit.is_ascii_hexdigit());
    assert!(commit.is_none_or(is_hash), "{document}");
}
