//! Every setting with what it means and what it is when nobody sets it, as one table; and the
//! commented configuration file that is made from it.

use std::fmt::Write as _;

use super::{Findings, VARIABLES};

/// A setting of the configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name, which is also the flag's.
    pub name: &'static str,
    /// What it means, as a sentence.
    pub about: &'static str,
    /// A value as TOML: the default where there is one.
    pub value: &'static str,
    /// Whether that value is the default; else it is an example.
    pub is_default: bool,
}

/// All settings that stand outside a section, in the order of [`Layer::NAMES`](super::Layer::NAMES).
pub const SETTINGS: [Setting; 27] = [
    example(
        "context",
        "The context that is used when none is named: a section [contexts.NAME], see the end of this file.",
        r#""prod""#,
    ),
    usual("endpoints", "The members of the cluster; the scheme may be left out.", r#"["127.0.0.1:2379"]"#),
    example("cacert", "Trust servers whose certificates these authorities signed.", r#""/etc/etcd/ca.pem""#),
    example("cert", "Show this client certificate.", r#""/etc/etcd/me.pem""#),
    example("key", "The key of the client certificate.", r#""/etc/etcd/me-key.pem""#),
    example(
        "user",
        "Log in as this user. A password that is given nowhere is asked for at the terminal.",
        r#""inspector""#,
    ),
    example(
        "password",
        "The user's password. Whoever can read this file can read it: the variable, or the question at the terminal, is better.",
        r#""secret""#,
    ),
    usual("insecure-skip-tls-verify", "Accept any server certificate.", "false"),
    example(
        "insecure-transport",
        "Whether endpoints without a scheme are spoken to without TLS. Without it: yes, unless cacert, cert or key is set.",
        "false",
    ),
    usual("dial-timeout", "How long opening a connection may take.", r#""2s""#),
    usual("command-timeout", "How long one call may take.", r#""5s""#),
    usual("keepalive-time", "How often an idle connection is pinged.", r#""2s""#),
    usual("keepalive-timeout", "How long the answer to a ping may take.", r#""6s""#),
    example("write-out", "How commands print: simple, table, json. Each has its own default.", r#""table""#),
    usual("hex", "Print keys and values as hex.", "false"),
    usual("debug", "Log in detail what is asked and answered.", "false"),
    example(
        "prefix",
        "Watch the keys that start with these. Without it locks are found through their leases.",
        r#"["/jobs/"]"#,
    ),
    usual("read-only", "Refuse everything that writes to the cluster.", "false"),
    example("lang", "Speak English or Chinese: en, zh. Without it the locale decides.", r#""en""#),
    example("theme", "Colours of the dashboard. Without it the terminal's background decides.", r#""dark""#),
    usual("ascii", "Draw with ASCII characters only.", "false"),
    usual("no-mouse", "Leave the mouse to the terminal.", "false"),
    usual("reduce-motion", "Let nothing move on the screen but countdowns.", "false"),
    example("log-file", "Append the log to this file.", r#""/var/log/lockscope.log""#),
    example("audit-log", "Note every write to the cluster in this file.", r#""/var/log/lockscope.jsonl""#),
    usual("ttl-budget", "Ask at most this many leases a second for their TTL.", "200"),
    example(
        "ttl",
        "Which leases commands ask for their TTL: holders, all, none. Each command has its own default.",
        r#""holders""#,
    ),
];

/// Columns of a comment in the file.
const WIDTH: usize = 96;

const HEAD: &str = "\
Settings of lockscope. Nothing here is in force yet: take the # away from what is to be. Each setting \
shows its default, or an example where it says so. What stands in [brackets] behind the help of a \
setting is the environment variable that says the same.

A flag beats its variable, a variable the context, the context the rest of this file; a context that \
is typed as --context NAME beats the variables, too. `lockscope config show` prints what is in force \
and where it came from.";

const FINDINGS: &str = "\
From when on something counts as a finding, which `doctor` and the dashboard report; `lockscope doctor \
--list` tells of them all. Whoever takes the # from one of these settings takes it from the line \
[findings] as well.";

const CONTEXTS: &str = "\
Contexts: settings under a name, for a cluster each. One is chosen with --context prod, with \
LOCKSCOPE_CONTEXT or with `context` at the top; the header of the dashboard shows its name. Each may \
have every setting but `context`, and findings of its own as [contexts.prod.findings]. Take the # from \
the line [contexts.prod] as well.";

const CONTEXT: &str = "\
#[contexts.prod]
#endpoints = [\"https://etcd-1:2379\", \"https://etcd-2:2379\"]
#cacert = \"/etc/etcd/ca.pem\"
#read-only = true
";

/// The configuration file with every setting, all of them commented out: comments begin with
/// two `#`, so that with one taken from each line it is still a configuration.
pub fn commented_file() -> String {
    let mut file = String::new();
    comment(&mut file, HEAD);
    for setting in &SETTINGS {
        let variable = VARIABLES.iter().find(|(name, _)| *name == setting.name).map(|(_, variable)| *variable);
        file.push('\n');
        describe(&mut file, setting, variable);
    }
    file.push('\n');
    comment(&mut file, FINDINGS);
    file.push_str("#[findings]\n");
    for setting in Findings::SETTINGS {
        file.push('\n');
        describe(&mut file, setting, None);
    }
    file.push('\n');
    comment(&mut file, CONTEXTS);
    file.push_str(CONTEXT);
    file
}

const fn usual(name: &'static str, about: &'static str, value: &'static str) -> Setting {
    Setting { name, about, value, is_default: true }
}

const fn example(name: &'static str, about: &'static str, value: &'static str) -> Setting {
    Setting { name, about, value, is_default: false }
}

fn describe(file: &mut String, setting: &Setting, variable: Option<&str>) {
    let mut about = setting.about.to_owned();
    if let Some(variable) = variable {
        let _ = write!(about, " [{variable}]");
    }
    if !setting.is_default {
        about.push_str(" An example:");
    }
    comment(file, &about);
    let _ = writeln!(file, "#{} = {}", setting.name, setting.value);
}

/// Adds a text as lines of a comment, broken between words; an empty line parts paragraphs.
fn comment(file: &mut String, text: &str) {
    for (at, paragraph) in text.split("\n\n").enumerate() {
        if at > 0 {
            file.push_str("##\n");
        }
        let mut columns = 0;
        for word in paragraph.split_whitespace() {
            let length = word.chars().count();
            if columns == 0 || columns + 1 + length > WIDTH {
                file.push_str(if columns == 0 { "##" } else { "\n##" });
                columns = 2;
            }
            file.push(' ');
            file.push_str(word);
            columns += 1 + length;
        }
        file.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::{Config, File, Layer, Origin, merge};

    fn read(text: &str) -> File {
        File::from_toml(text, Path::new("config.toml")).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    fn merged(layer: Layer) -> Config {
        merge(&[(Origin::Default, layer)], |user| panic!("no password for {user}")).unwrap()
    }

    /// Takes one `#` from the start of each line, or from those that a test wants.
    fn uncommented(wanted: impl Fn(&str) -> bool) -> String {
        let lines = commented_file();
        let lines = lines.lines().map(|line| line.strip_prefix('#').filter(|rest| wanted(rest)).unwrap_or(line));
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn the_table_has_every_setting_once() {
        assert_eq!(SETTINGS.map(|setting| setting.name), Layer::NAMES);
        let names: Vec<_> = Findings::SETTINGS.iter().map(|setting| setting.name).collect();
        assert_eq!(names, Findings::NAMES);
    }

    #[test]
    fn the_file_says_nothing_until_something_is_uncommented() {
        let file = read(&commented_file());
        assert_eq!((file.layer, file.contexts.len()), (Layer::default(), 0));
        assert!(commented_file().lines().all(|line| line.is_empty() || line.starts_with('#')));
    }

    #[test]
    fn with_every_line_uncommented_every_setting_is_set() {
        let file = read(&uncommented(|_| true));
        for (name, value) in file.layer.said() {
            assert!(value.is_some(), "{name} is not in the file");
        }
        assert_eq!(file.contexts.keys().collect::<Vec<_>>(), ["prod"]);
        assert_eq!(file.contexts["prod"].read_only, Some(true));
        assert!(file.layer.context.is_some_and(|name| file.contexts.contains_key(&name)));
    }

    #[test]
    fn what_is_called_the_default_is_the_default() {
        let usual = |rest: &str| {
            let name = rest.split(" = ").next().unwrap_or_default();
            SETTINGS.iter().any(|setting| setting.is_default && setting.name == name)
        };
        // Behind the sections there are settings of the same names.
        let file = uncommented(usual);
        let layer = read(file.split("#[findings]").next().unwrap_or_default()).layer;
        assert_ne!(layer, Layer::default());
        assert_eq!(merged(layer), Config::default());
    }

    #[test]
    fn no_line_is_wider_than_a_screen_nor_broken_before_it_is_full() {
        let file = commented_file();
        let lines: Vec<&str> = file.lines().collect();
        for pair in lines.windows(2) {
            let [line, next] = [pair[0], pair[1]];
            assert!(line.chars().count() <= WIDTH, "{line}");
            let goes_on = line.starts_with("## ") && next.starts_with("## ");
            let first = next.trim_start_matches("## ").split(' ').next().unwrap_or_default();
            assert!(!goes_on || line.chars().count() + 1 + first.chars().count() > WIDTH, "{line}\n{next}");
        }
    }

    #[test]
    fn each_setting_explains_itself_in_whole_sentences() {
        for setting in SETTINGS.iter().chain(Findings::SETTINGS) {
            let begins = setting.about.starts_with(|first: char| first.is_uppercase());
            assert!(begins && setting.about.ends_with('.'), "{}: {}", setting.name, setting.about);
        }
    }

    #[test]
    fn what_belongs_together_stands_together() {
        let at = |name: &str| Findings::NAMES.iter().position(|known| *known == name).unwrap();
        for (one, other) in [
            ("long-hold", "long-hold-medians"),
            ("stuck", "stuck-longest"),
            ("lag", "lag-entries"),
            ("keyless", "keyless-many"),
        ] {
            assert_eq!(at(one) + 1, at(other), "{one}");
        }
    }
}
