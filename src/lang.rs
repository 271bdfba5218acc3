//! The catalogue: what the program says to people, in the language they read.
//!
//! The English text in the code is the name of a text, as with gettext; `assets/lang/zh/` has
//! the others. A text is a whole sentence with named values in braces, so that a language can
//! order them as it must: [`say!`](crate::say) looks one up and puts its values in. Lists of
//! texts that are made at compile time (keys, rules, column titles) are looked up where they are
//! drawn. What is not for people alone stays English: commands, codes, JSON, errors and the log,
//! which are grepped, filed and searched for.
//!
//! The language is that of the drawing that is under way ([`within`]); nothing else could be
//! handed to every function that says a word. `tests/catalogue.rs` finds texts that are missing.

use std::cell::Cell;
use std::sync::LazyLock;

use hashbrown::HashMap;

pub use crate::domain::sentence::fill;
use crate::domain::{Lang, plural};

macro_rules! files {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../assets/lang/zh/", $name, ".toml")))),+]
    };
}

/// The Chinese texts by the English ones, a file for each part of the program.
const CHINESE: &[(&str, &str)] = files![
    "words",
    "header",
    "keys",
    "notices",
    "locks",
    "lock",
    "leases",
    "members",
    "waits",
    "dialog",
    "findings",
    "raft",
    "way",
    "playground",
    "replay",
    "commands",
];

/// The same, looked up.
static TEXTS: LazyLock<HashMap<String, String>> =
    LazyLock::new(|| entries().map(|(_, english, chinese)| (english, chinese)).collect());

thread_local! {
    static CURRENT: Cell<Lang> = const { Cell::new(Lang::English) };
}

/// Runs something whose texts are in this language.
pub fn within<T>(lang: Lang, run: impl FnOnce() -> T) -> T {
    /// Gives the language back also when what ran panics.
    struct Before(Lang);
    impl Drop for Before {
        fn drop(&mut self) {
            CURRENT.set(self.0);
        }
    }
    let _before = Before(CURRENT.replace(lang));
    run()
}

/// The language of what is said now.
pub fn current() -> Lang {
    CURRENT.get()
}

/// A text in the current language; the English one where the catalogue has no other.
pub fn text(english: &str) -> &str {
    parts(english).1
}

/// A number of things, by the English noun for one of them: `9 waiters`, `9 个等待者`. English has
/// a plural; where the catalogue has a measure word, it stands before the noun: `个|等待者`.
pub fn counted(count: &str, noun: &str, number: u64) -> String {
    match (current(), parts(noun)) {
        (Lang::English, _) => format!("{count} {}", plural::noun(number, noun)),
        (Lang::Chinese, (Some(measure), noun)) => format!("{count} {measure}{noun}"),
        (Lang::Chinese, (None, noun)) => format!("{count}{noun}"),
    }
}

/// A text in the current language, apart from its measure word if it has one.
fn parts(english: &str) -> (Option<&str>, &str) {
    let other = match current() {
        Lang::English => None,
        Lang::Chinese => TEXTS.get(english).map(String::as_str),
    };
    match other.map(|other| (other, other.split_once('|').filter(|_| !english.contains('|')))) {
        None => (None, english),
        Some((_, Some((measure, noun)))) => (Some(measure), noun),
        Some((other, None)) => (None, other),
    }
}

/// All entries of the catalogue: the file, the English text, the other one.
///
/// # Panics
/// When a file of the catalogue is no TOML, which a test would have told.
pub fn entries() -> impl Iterator<Item = (&'static str, String, String)> {
    CHINESE.iter().flat_map(|&(file, texts)| {
        let texts: toml::Table = texts.parse().expect("a test reads the whole catalogue");
        texts.into_iter().filter_map(move |(english, other)| {
            let toml::Value::String(other) = other else { return None };
            Some((file, english, other))
        })
    })
}

/// Says something in the current language: `say!("locks")` is a text of the catalogue, and
/// `say!("{count} of {total}", count, total = all.len())` one with values, as a `String`.
#[macro_export]
macro_rules! say {
    ($words:literal) => {
        $crate::lang::text($words)
    };
    ($words:literal, $($name:ident $(= $value:expr)?),+ $(,)?) => {
        $crate::lang::fill(
            $crate::lang::text($words),
            &[$((stringify!($name), $crate::say!(@value $name $(= $value)?))),+],
        )
    };
    (@value $name:ident) => {
        &$name as &dyn ::std::fmt::Display
    };
    (@value $name:ident = $value:expr) => {
        &$value as &dyn ::std::fmt::Display
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_take_the_places_that_have_their_names() {
        let who = "a{count}b";
        assert_eq!(
            say!("{who} and {count} more, {unknown} {", who, count = 1 + 1),
            "a{count}b and 2 more, {unknown} {"
        );
    }

    #[test]
    fn the_language_is_that_of_what_is_under_way() {
        let chinese = within(Lang::Chinese, || (say!("help"), within(Lang::English, || say!("help")), say!("help")));
        assert_eq!(chinese, ("帮助", "help", "帮助"));
        assert_eq!(say!("help"), "help");
    }

    #[test]
    fn a_noun_has_its_measure_word_where_it_is_counted_and_only_there() {
        assert_eq!((counted("1", "key", 1), counted("9", "key", 9)), ("1 key".into(), "9 keys".into()));
        let chinese = within(Lang::Chinese, || (counted("9", "key", 9), text("key")));
        assert_eq!(chinese, ("9 个键".to_owned(), "键"));
    }

    #[test]
    fn the_language_is_given_back_when_something_panics() {
        let run = || within(Lang::Chinese, || std::panic::resume_unwind(Box::new(())));
        assert!(std::panic::catch_unwind(run).is_err());
        assert_eq!(current(), Lang::English);
    }

    #[test]
    fn what_is_in_no_catalogue_is_said_in_english() {
        assert_eq!(within(Lang::Chinese, || text("no text of ours")), "no text of ours");
    }
}
