//! Sentences with values in them, before anybody put them into letters.
//!
//! A finding is evidence with numbers, keys and times in it. Kept as the words and the values
//! apart, it can be printed escaped for a terminal, quoted for a shell, as fields of a JSON
//! document, or in another language; and nothing that came from a cluster is ever part of the
//! words.

use std::fmt;

use super::escape::escape;
use super::{Key, LeaseId, Millis, Revision, Term, plural};

/// Words with named values: `"TTL {remaining} of {granted}"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// The words; a name in braces stands for the value of that name.
    pub words: &'static str,
    /// The values by their names, in the order in which they were given.
    pub values: Vec<(&'static str, Value)>,
}

/// A value in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A key, or the name of a lock.
    Key(Key),
    /// Several of them.
    Keys(Vec<Key>),
    /// Several of them, each of which leads to the next and the last to the first.
    Circle(Vec<Key>),
    /// Several values of any kind, one after the other.
    List(Vec<Value>),
    /// A lease.
    Lease(LeaseId),
    /// A revision.
    Revision(Revision),
    /// A term.
    Term(Term),
    /// A length of time.
    Length(Millis),
    /// A number of things, with the word for one of them: `12 waiters`.
    Count(usize, &'static str),
    /// A number.
    Number(i64),
    /// An amount of bytes.
    Bytes(i64),
    /// Text from outside: a member's name, a server's message, what a value says.
    Text(String),
    /// A word of ours.
    Word(&'static str),
    /// Words of ours with values of their own, where a sentence has a part that differs.
    Sentence(Box<Sentence>),
    /// Variables that a command is to see, each followed by a space: they stand right before it.
    Variables(Vec<(&'static str, String)>),
}

impl Sentence {
    /// Words, without values so far.
    pub const fn new(words: &'static str) -> Self {
        Self { words, values: Vec::new() }
    }

    /// The same with one value more.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.values.push((name, value.into()));
        self
    }

    /// The value of a name.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// The words cut at their values, in their order. A name that has no value stays a part of
    /// the words, braces and all.
    pub fn pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        self.pieces_of(self.words)
    }

    /// The same of other words for these values: those of another language.
    pub fn pieces_of(&self, words: &'static str) -> impl Iterator<Item = Piece<'_>> {
        let mut rest = words;
        let mut then = None;
        std::iter::from_fn(move || {
            if let Some(value) = then.take() {
                return Some(Piece::Value(value));
            }
            if rest.is_empty() {
                return None;
            }
            let mut from = 0;
            while let Some(open) = rest[from..].find('{').map(|at| from + at) {
                let Some(close) = rest[open..].find('}').map(|at| open + at) else { break };
                if let Some(value) = self.value(&rest[open + 1..close]) {
                    let words = &rest[..open];
                    rest = &rest[close + 1..];
                    if words.is_empty() {
                        return Some(Piece::Value(value));
                    }
                    then = Some(value);
                    return Some(Piece::Words(words));
                }
                from = open + 1;
            }
            Some(Piece::Words(std::mem::take(&mut rest)))
        })
    }
}

impl fmt::Display for Sentence {
    /// In English, as errors and the log have it. Text from outside stays as it is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pieces().try_for_each(|piece| match piece {
            Piece::Words(words) => f.write_str(words),
            Piece::Value(value) => value.fmt(f),
        })
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => f.write_str(&escape(key)),
            Self::Keys(keys) => f.write_str(&keys.iter().map(|key| escape(key)).collect::<Vec<_>>().join(", ")),
            Self::Circle(keys) => {
                let around = keys.iter().chain(keys.first());
                f.write_str(&around.map(|key| escape(key)).collect::<Vec<_>>().join(" -> "))
            }
            Self::List(values) => f.write_str(&values.iter().map(Self::to_string).collect::<Vec<_>>().join(", ")),
            Self::Lease(lease) => lease.fmt(f),
            Self::Revision(revision) => revision.fmt(f),
            Self::Term(term) => term.0.fmt(f),
            Self::Length(length) => write!(f, "{} ms", length.0),
            Self::Count(count, noun) => write!(f, "{count} {}", plural::noun(*count as u64, noun)),
            Self::Number(number) => number.fmt(f),
            Self::Bytes(size) => write!(f, "{size} B"),
            Self::Text(text) => f.write_str(text),
            Self::Word(word) => f.write_str(word),
            Self::Sentence(sentence) => sentence.fmt(f),
            Self::Variables(set) => set.iter().try_for_each(|(name, text)| write!(f, "{name}={text} ")),
        }
    }
}

/// A part of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Words of ours.
    Words(&'static str),
    /// A value between them.
    Value(&'a Value),
}

macro_rules! value_from {
    ($($type:ty => $variant:ident),* $(,)?) => {
        $(impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Self::$variant(value)
            }
        })*
    };
}

value_from! {
    Key => Key, Vec<Key> => Keys, LeaseId => Lease, Revision => Revision, Term => Term, Millis => Length,
    i64 => Number, String => Text, &'static str => Word,
}

impl From<Sentence> for Value {
    fn from(part: Sentence) -> Self {
        Self::Sentence(Box::new(part))
    }
}

impl From<&[u8]> for Value {
    fn from(key: &[u8]) -> Self {
        Self::Key(key.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_at_their_values_and_nowhere_else() {
        let sentence = Sentence::new("{a}{b} of {c}, {unknown} {").with("a", 1).with("b", "two").with("c", Millis(3));
        let pieces: Vec<Piece<'_>> = sentence.pieces().collect();
        let expected = [
            Piece::Value(&Value::Number(1)),
            Piece::Value(&Value::Word("two")),
            Piece::Words(" of "),
            Piece::Value(&Value::Length(Millis(3))),
            Piece::Words(", {unknown} {"),
        ];
        assert_eq!(pieces, expected);
        assert_eq!(Sentence::new("").pieces().count(), 0);
    }

    #[test]
    fn a_sentence_of_the_log_is_in_english_and_has_its_values() {
        let sentence = Sentence::new("`{word}` wants {wanted}, not `{said}` of {keys}")
            .with("word", "sort")
            .with("wanted", "a column")
            .with("said", "zz".to_owned())
            .with("keys", Value::Count(2, "key"));
        assert_eq!(sentence.to_string(), "`sort` wants a column, not `zz` of 2 keys");
    }
}
