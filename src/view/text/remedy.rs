//! Commands that are advised, so that they reach the cluster they are about from any shell.

use std::borrow::Cow;

use super::sentence::{for_shell, quoted, variables};
use crate::domain::sentence::Piece;
use crate::domain::{Reach, Sentence, Value};

/// What may stand before a program's name: the rest of a line is its arguments.
const BEFORE: [&str; 4] = ["&& ", "; ", "| ", "$("];

/// A sentence that is a command, or several, ready for a POSIX shell as [`command`](super::command)
/// has it, with what leads each of them to the cluster: flags for this program's, variables for
/// etcdctl's, which refuses a flag whose variable is set.
pub fn remedy(remedy: &Sentence, reach: &Reach) -> String {
    let said = |flag: &str| {
        let mut words = remedy.words.split_whitespace();
        words.any(|word| word.strip_prefix("--").is_some_and(|word| word.split('=').next() == Some(flag)))
    };
    let mut text = String::new();
    for (at, piece) in remedy.pieces().enumerate() {
        match piece {
            Piece::Words(words) => directed(words, at == 0, reach, &said, &mut text),
            Piece::Value(Value::Sentence(part)) => text += &self::remedy(part, reach),
            Piece::Value(value) => text += &for_shell(value),
        }
    }
    text
}

/// Adds words to a command; `said` tells whether it names a flag itself.
fn directed(words: &str, begins: bool, reach: &Reach, said: &impl Fn(&str) -> bool, to: &mut String) {
    let mut rest = words;
    let mut begins = begins;
    while !rest.is_empty() {
        let program = rest.split(' ').next().unwrap_or_default();
        match program {
            "lockscope" if begins => {
                *to += program;
                for (name, value) in reach.flags.iter().filter(|(name, _)| !said(name)) {
                    *to += " ";
                    *to += &flag(name, value);
                }
            }
            "etcdctl" if begins => {
                // Who administers users is somebody else than who was refused.
                let is_of_root = ["etcdctl role ", "etcdctl user "].iter().any(|start| rest.starts_with(start));
                let is_wanted = |variable: &str| {
                    let name = variable.strip_prefix("ETCDCTL_").unwrap_or(variable);
                    let is_roots = is_of_root && name == "USER";
                    !is_roots && !said(&name.to_ascii_lowercase().replace('_', "-"))
                };
                let set: Vec<_> = reach.variables.iter().filter(|(name, _)| is_wanted(name)).cloned().collect();
                *to += &variables(&set, |value| quoted(value.as_bytes()));
                *to += program;
            }
            _ => *to += program,
        }
        rest = &rest[program.len()..];
        let next = next_program(rest).unwrap_or(rest.len());
        begins = next < rest.len();
        *to += &rest[..next];
        rest = &rest[next..];
    }
}

/// Where the next program's name begins.
fn next_program(words: &str) -> Option<usize> {
    BEFORE.iter().filter_map(|before| words.find(before).map(|at| at + before.len())).min()
}

fn flag(name: &str, value: &str) -> Cow<'static, str> {
    let is_switch = matches!(name, "insecure-skip-tls-verify" | "insecure-transport");
    match value {
        "true" if is_switch => format!("--{name}"),
        // What begins with a dash would be taken for a flag, and a switch has its value behind the sign.
        _ if is_switch || value.starts_with('-') => format!("--{name}={}", quoted(value.as_bytes())),
        _ => format!("--{name} {}", quoted(value.as_bytes())),
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach() -> Reach {
        let flags = vec![
            ("context", "prod".to_owned()),
            ("cacert", "/my certs/ca.pem".to_owned()),
            ("user", "ann".to_owned()),
            ("insecure-transport", "false".to_owned()),
        ];
        let variables = vec![("ETCDCTL_ENDPOINTS", "https://a:1".into()), ("ETCDCTL_USER", "ann".into())];
        Reach { flags, variables }
    }

    #[test]
    fn a_command_of_ours_has_the_flags_behind_the_programs_name() {
        let show = Sentence::new("lockscope show {lock}").with("lock", &b"/it's && lockscope ls"[..]);
        assert_eq!(remedy(&show, &Reach::default()), "lockscope show '/it'\\''s && lockscope ls'");
        assert_eq!(
            remedy(&show, &reach()),
            "lockscope --context prod --cacert '/my certs/ca.pem' --user ann --insecure-transport=false \
             show '/it'\\''s && lockscope ls'"
        );
        let odd = Reach { flags: vec![("context", "-a $b".to_owned())], variables: Vec::new() };
        assert_eq!(remedy(&Sentence::new("lockscope ls"), &odd), "lockscope --context='-a $b' ls");
        let hostile = Reach { flags: vec![("context", "\x1b[2J".to_owned())], variables: Vec::new() };
        assert_eq!(remedy(&Sentence::new("lockscope ls"), &hostile), "lockscope --context $'\\x1b[2J' ls");
    }

    #[test]
    fn each_command_of_several_is_directed_and_no_other_word() {
        let compact = Sentence::new("etcdctl compact \"$(etcdctl endpoint status | sed 's/x//')\"");
        let all =
            Sentence::new("{compact} && etcdctl defrag --cluster && lockscope disarm nospace").with("compact", compact);
        let reach = Reach { flags: vec![("endpoints", "a:1".to_owned())], ..reach() };
        let set = "ETCDCTL_ENDPOINTS=https://a:1 ETCDCTL_USER=ann";
        assert_eq!(
            remedy(&all, &reach),
            format!(
                "{set} etcdctl compact \"$({set} etcdctl endpoint status | sed 's/x//')\" && {set} etcdctl defrag \
                 --cluster && lockscope --endpoints a:1 disarm nospace"
            )
        );
        let role = Sentence::new("etcdctl role add lockscope; etcdctl user grant-role {user} lockscope")
            .with("user", "ops".to_owned());
        assert_eq!(
            remedy(&role, &reach),
            "ETCDCTL_ENDPOINTS=https://a:1 etcdctl role add lockscope; \
             ETCDCTL_ENDPOINTS=https://a:1 etcdctl user grant-role ops lockscope"
        );
    }

    #[test]
    fn what_a_command_says_itself_is_not_said_twice() {
        let reach = Reach { flags: vec![("endpoints", "a:1".into()), ("user", "ann".into())], ..reach() };
        let of = |words: &'static str| remedy(&Sentence::new(words).with("url", "http://c:1".to_owned()), &reach);
        assert_eq!(of("lockscope members --endpoints {url}"), "lockscope --user ann members --endpoints http://c:1");
        assert_eq!(of("lockscope doctor --user root"), "lockscope --endpoints a:1 doctor --user root");
        assert_eq!(
            of("etcdctl --endpoints {url} lease list"),
            "ETCDCTL_USER=ann etcdctl --endpoints http://c:1 lease list"
        );
    }
}
