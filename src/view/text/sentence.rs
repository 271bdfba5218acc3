//! Sentences with their values put in: escaped for a terminal, or quoted for a shell.

use std::borrow::Cow;

use crate::domain::sentence::Piece;
use crate::domain::{Lang, Millis, Sentence, Value};
use crate::{lang, say};

use super::{bytes, duration, escape, escape_text, grouped, quantity};

/// How many keys are named before the rest is counted.
const NAMED: usize = 3;

/// A sentence in the current language, as one line that a terminal only prints.
pub fn sentence(sentence: &Sentence) -> String {
    sentence
        .pieces_of(lang::text(sentence.words))
        .map(|piece| match piece {
            Piece::Words(words) => Cow::Borrowed(words),
            Piece::Value(value) => said(value),
        })
        .collect()
}

/// The same in English, as the log has it.
pub fn in_english(told: &Sentence) -> String {
    lang::within(Lang::English, || sentence(told))
}

/// The clauses of a verdict as one sentence.
pub fn verdict(clauses: &[Sentence]) -> String {
    clauses.iter().map(sentence).collect::<Vec<_>>().join(say!("; "))
}

fn said(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Key(key) => escape(key),
        Value::Keys(keys) => {
            let named: Vec<_> = keys.iter().take(NAMED).map(|key| escape(key)).collect();
            let more = keys.len().saturating_sub(NAMED);
            let named = named.join(say!(", "));
            if more > 0 { say!("{named} and {more} more", named, more).into() } else { named.into() }
        }
        Value::Circle(keys) => {
            let mut named: Vec<_> = keys.iter().take(NAMED).map(|key| escape(key)).collect();
            let more = keys.len().saturating_sub(NAMED);
            named.extend((more > 0).then(|| say!("{more} more", more).into()));
            named.extend(keys.first().map(|key| escape(key)));
            named.join(" -> ").into()
        }
        Value::List(values) => values.iter().map(said).collect::<Vec<_>>().join(say!(", ")).into(),
        Value::Lease(lease) => lease.to_string().into(),
        Value::Revision(revision) => grouped(revision.0).into(),
        Value::Term(term) => grouped(term.0).into(),
        Value::Length(length) => duration(whole(*length)).into(),
        Value::Count(number, noun) => quantity(*number, noun).into(),
        Value::Number(number) => grouped(*number).into(),
        Value::Bytes(size) => bytes(*size).into(),
        Value::Text(text) => escape_text(text),
        Value::Word(word) => Cow::Borrowed(lang::text(word)),
        Value::Sentence(part) => sentence(part).into(),
        Value::Variables(set) => variables(set, |value| escape_text(value).into_owned()).into(),
    }
}

/// Whole seconds from one on: a fraction of a second is of no use in a sentence.
const fn whole(length: Millis) -> Millis {
    if length.0 < 1_000 { length } else { Millis(length.0 / 1_000 * 1_000) }
}

/// A sentence that is a command, ready for a POSIX shell: values are quoted where they must be.
/// What a terminal would obey is escaped as `$'…'`, which bash, zsh and ksh read back.
pub fn command(sentence: &Sentence) -> String {
    sentence
        .pieces()
        .map(|piece| match piece {
            Piece::Words(words) => Cow::Borrowed(words),
            Piece::Value(value) => typed(value),
        })
        .collect()
}

fn typed(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Key(key) => quoted(key).into(),
        Value::Keys(keys) | Value::Circle(keys) => {
            keys.iter().map(|key| quoted(key)).collect::<Vec<_>>().join(" ").into()
        }
        Value::List(values) => values.iter().map(typed).collect::<Vec<_>>().join(" ").into(),
        Value::Text(text) => quoted(text.as_bytes()).into(),
        Value::Revision(revision) => revision.0.to_string().into(),
        Value::Term(term) => term.0.to_string().into(),
        Value::Number(number) | Value::Bytes(number) => number.to_string().into(),
        Value::Count(number, _) => number.to_string().into(),
        Value::Variables(set) => variables(set, |value| quoted(value.as_bytes())).into(),
        Value::Word(word) => Cow::Borrowed(*word),
        Value::Sentence(part) => command(part).into(),
        Value::Length(_) | Value::Lease(_) => said(value),
    }
}

/// Variables as they stand before a command, with a space behind each.
fn variables(set: &[(&str, String)], value: impl Fn(&str) -> String) -> String {
    set.iter().fold(String::new(), |all, (name, text)| all + name + "=" + &value(text) + " ")
}

/// One word for a shell.
fn quoted(bytes: &[u8]) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/_.:@%+=,-".contains(byte);
    if !bytes.is_empty() && bytes.iter().all(plain) {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let harmless = std::str::from_utf8(bytes).ok().filter(|text| escape_text(text).replace("\\\\", "\\") == **text);
    if let Some(text) = harmless {
        format!("'{}'", text.replace('\'', r"'\''"))
    } else {
        let each = bytes.iter().map(|&byte| match byte {
            b'\'' | b'\\' => format!("\\{}", char::from(byte)),
            b' '..=b'~' => char::from(byte).to_string(),
            _ => format!("\\x{byte:02x}"),
        });
        format!("$'{}'", each.collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_said_in_the_words_of_people_and_escaped() {
        let keys: Vec<crate::domain::Key> = ["a", "b", "c\x1b", "d"].map(Into::into).into();
        let said = Sentence::new("{key}: {waiters}, {keys}, {ttl} at {revision}")
            .with("key", &b"/q\x1b[2J"[..])
            .with("waiters", Value::Count(1_200, "waiter"))
            .with("keys", keys)
            .with("ttl", Millis(42_900))
            .with("revision", crate::domain::Revision(84_213));
        assert_eq!(sentence(&said), r"/q\x1b[2J: 1,200 waiters, a, b, c\x1b and 1 more, 42s at 84,213");
    }

    #[test]
    fn a_long_circle_is_said_in_the_language_of_who_reads_it() {
        let keys = ["a", "b", "c", "d", "e"].map(crate::domain::Key::from).into();
        let circle = Sentence::new("{clients} wait in a circle: {locks}")
            .with("clients", Value::Count(5, "client"))
            .with("locks", Value::Circle(keys));
        assert_eq!(sentence(&circle), "5 clients wait in a circle: a -> b -> c -> 2 more -> a");
        lang::within(Lang::Chinese, || {
            assert_eq!(sentence(&circle), "5 个客户端循环等待：a -> b -> c -> 还有 2 -> a");
            assert_eq!(in_english(&circle), "5 clients wait in a circle: a -> b -> c -> 2 more -> a");
        });
    }

    #[test]
    fn a_list_has_the_commas_of_who_reads_it() {
        let runs = |member: &str, version: &str| {
            let said = Sentence::new("{member} runs {version}");
            said.with("member", member.to_owned()).with("version", version.to_owned()).into()
        };
        let said = Sentence::new("{versions}: too far apart")
            .with("versions", Value::List(vec![runs("a", "3.4.23"), runs("b\x1b", "3.6.1")]));
        assert_eq!(said.to_string(), "a runs 3.4.23, b\x1b runs 3.6.1: too far apart");
        assert_eq!(sentence(&said), r"a runs 3.4.23, b\x1b runs 3.6.1: too far apart");
        lang::within(Lang::Chinese, || assert_eq!(sentence(&said), r"a 是 3.4.23、b\x1b 是 3.6.1：相差太大"));
    }

    #[test]
    fn commands_are_quoted_for_a_shell() {
        let of = |key: &[u8]| command(&Sentence::new("lockscope show {lock}").with("lock", key));
        assert_eq!(of(b"/jobs/reindex"), "lockscope show /jobs/reindex");
        assert_eq!(of(b"it's a $lock"), r"lockscope show 'it'\''s a $lock'");
        assert_eq!(of(b"a\\b"), r"lockscope show 'a\b'");
        assert_eq!(of(b"\x1b[2J'\xff"), r"lockscope show $'\x1b[2J\'\xff'");
        assert_eq!(of("锁".as_bytes()), "lockscope show '锁'");
        assert_eq!(of(b""), "lockscope show ''");
        let variables = vec![("ETCDCTL_ENDPOINTS", "http://a:1,http://b:1".into()), ("ETCDCTL_USER", "an n".into())];
        let reached = Sentence::new("{reach}etcdctl alarm list").with("reach", Value::Variables(variables));
        assert_eq!(command(&reached), "ETCDCTL_ENDPOINTS=http://a:1,http://b:1 ETCDCTL_USER='an n' etcdctl alarm list");
    }
}
