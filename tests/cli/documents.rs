//! Help, the manual page, completion scripts and the list of keys.

use crate::program::{lockscope, sections};

const COMMANDS: [&str; 17] = [
    "ls",
    "show",
    "history",
    "leases",
    "members",
    "watch",
    "doctor",
    "info",
    "keys",
    "completions",
    "man",
    "revoke",
    "release",
    "move-leader",
    "disarm",
    "record",
    "replay",
];

fn printed(arguments: &[&str]) -> String {
    let ended = lockscope(arguments).run().expect(0);
    assert_eq!(ended.stderr, "");
    ended.text().to_owned()
}

#[test]
fn help_is_as_it_was() {
    insta::assert_snapshot!("help", printed(&["--help"]));
}

#[test]
fn each_command_has_its_own_help_and_the_flags_of_all() {
    let own = COMMANDS.map(|command| {
        let help = printed(&[command, "--help"]);
        let (own, shared) = help.split_once("Connection:\n").expect("the flags of all commands follow");
        assert!(shared.contains("--endpoints"), "{command}");
        (command, own.to_owned())
    });
    insta::assert_snapshot!("help_of_commands", sections(own));
}

#[test]
fn the_manual_page_is_as_it_was_and_names_every_command_flag_and_exit_code() {
    let page = printed(&["man"]);
    insta::assert_snapshot!("man", page.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
    // Dashes are escaped in roff.
    let plain = page.replace("\\-", "-");
    for command in COMMANDS {
        assert!(plain.contains(&format!("lockscope {command}")), "{command}");
    }
    for line in printed(&["--help"]).lines().filter(|line| line.trim_start().starts_with("--")) {
        let flag = line.trim_start().split(['[', ' ', '<']).next().expect("a flag stands first");
        assert!(plain.contains(flag), "{flag}");
    }
}

#[test]
fn every_shell_gets_a_script_that_completes_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = printed(&["completions", shell]);
        for command in COMMANDS {
            assert!(script.contains(command), "{command} is missing for {shell}");
        }
        for flag in ["endpoints", "write-out", "ttl-budget"] {
            assert!(script.contains(flag), "{flag} is missing for {shell}");
        }
    }
    insta::assert_snapshot!("completions_fish", printed(&["completions", "fish"]));
}

#[test]
fn the_keys_are_the_documented_ones() {
    assert_eq!(printed(&["keys"]), include_str!("../../docs/keys.md"));
}

#[test]
fn the_version_is_the_crates() {
    assert_eq!(printed(&["--version"]), format!("lockscope {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn documents_need_neither_a_cluster_nor_sound_settings() {
    for command in ["man", "keys"] {
        let run = lockscope([command]).env("ETCDCTL_DIAL_TIMEOUT", "nonsense").env("LOCKSCOPE_CONFIG", "/nowhere");
        assert!(run.run().expect(0).stdout.len() > 1_000, "{command}");
    }
}
