//! Help, the manual page, completion scripts and the list of keys.

use crate::program::{lockscope, sections};

/// All commands, as they are typed behind the program's name.
fn commands() -> Vec<String> {
    let mut command = ::lockscope::cli::args::command();
    command.build();
    let subs = command.get_subcommands().flat_map(|sub| {
        let below = sub.get_subcommands().filter(|below| below.get_name() != "help");
        let below: Vec<_> = below.map(|below| format!("{} {}", sub.get_name(), below.get_name())).collect();
        if below.is_empty() { vec![sub.get_name().to_owned()] } else { below }
    });
    subs.collect()
}

fn words(command: &str) -> Vec<&str> {
    command.split(' ').collect()
}

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
    let own = commands().into_iter().map(|command| {
        let help = printed(&[&words(&command)[..], &["--help"]].concat());
        let (own, shared) = help.split_once("Connection:\n").expect("the flags of all commands follow");
        assert!(shared.contains("--endpoints"), "{command}");
        (command, own.to_owned())
    });
    let own: Vec<_> = own.collect();
    let own = own.iter().map(|(command, help)| (command.as_str(), help.clone()));
    insta::assert_snapshot!("help_of_commands", sections(own));
}

#[test]
fn the_manual_page_is_as_it_was_and_names_every_command_flag_and_exit_code() {
    let page = printed(&["man"]);
    insta::assert_snapshot!("man", page.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
    // Dashes are escaped in roff.
    let plain = page.replace("\\-", "-");
    for command in commands() {
        assert!(plain.contains(&format!("lockscope {command}")), "{command}");
    }
    for line in printed(&["--help"]).lines().filter(|line| line.trim_start().starts_with("--")) {
        let flag = line.trim_start().split(['[', ' ', '<']).next().expect("a flag stands first");
        assert!(plain.contains(flag), "{flag}");
    }
}

#[test]
fn a_folder_gets_a_page_for_every_command() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("man").join("man1");
    assert_eq!(printed(&["man", "--out", folder.to_str().unwrap()]), "");
    let page = |name: &str| std::fs::read_to_string(folder.join(format!("{name}.1"))).unwrap_or_default();
    assert_eq!(page("lockscope"), printed(&["man"]));
    for command in commands() {
        let text = page(&format!("lockscope-{}", command.replace(' ', "-"))).replace("\\-", "-");
        assert!(text.contains(".SH SYNOPSIS") && text.contains(".SH DESCRIPTION"), "{command}: {text}");
        assert!(text.contains(&format!("lockscope {command}")), "{command}: {text}");
        assert!(!text.contains("--endpoints"), "{command} repeats what all share: {text}");
    }
    for synopsis in [
        "lockscope history\\fR LOCK [\\-\\-limit N] [\\-\\-since REVISION]",
        "lockscope config init\\fR [\\-\\-stdout] [\\-\\-force]",
        "lockscope config\\fR COMMAND",
    ] {
        let pages = ["lockscope-history", "lockscope-config-init", "lockscope-config"].map(page);
        assert!(pages.iter().any(|text| text.contains(synopsis)), "{synopsis:?} is on none of {pages:?}");
    }
    insta::assert_snapshot!("man_of_ls", page("lockscope-ls").replace(env!("CARGO_PKG_VERSION"), "VERSION"));
    let refused = lockscope(["man", "--out", "/dev/null/x"]).run().expect(6);
    assert!(refused.stderr.contains("cannot write /dev/null/x"), "{}", refused.stderr);
}

#[test]
fn every_shell_gets_a_script_that_completes_every_command() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = printed(&["completions", shell]);
        for command in commands().iter().flat_map(|command| command.split(' ')) {
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
