//! A sentence about a run that travels: into recordings, and from there into any language.
//!
//! The words with their gaps are the name of the sentence, as in the catalogue of texts; what
//! stands in the gaps is kept apart from them. The English sentence is made from both.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::domain::plural;
use crate::domain::sentence::fill;

/// Words with named gaps, and what stands in these: `"{keys} of holders went"`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// The words; a name in braces is a gap.
    pub words: Cow<'static, str>,
    /// What stands in the gaps, by their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<(Cow<'static, str>, Gap)>,
}

/// What stands in a gap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gap {
    /// A name, a number, a time: the same in every language.
    As(String),
    /// A number of things, with the word for one of them.
    Count(u64, Cow<'static, str>),
    /// A sentence of its own.
    Said(Said),
}

impl Said {
    /// Words, without anything in their gaps so far.
    pub fn new(words: impl Into<Cow<'static, str>>) -> Self {
        Self { words: words.into(), gaps: Vec::new() }
    }

    /// The same with this, as it is, in a gap.
    #[must_use]
    pub fn with(self, name: &'static str, what: impl fmt::Display) -> Self {
        self.filled(name, Gap::As(what.to_string()))
    }

    /// The same with a number of things in a gap.
    #[must_use]
    pub fn count(self, name: &'static str, number: u64, one: &'static str) -> Self {
        self.filled(name, Gap::Count(number, one.into()))
    }

    /// The same with another sentence in a gap.
    #[must_use]
    pub fn part(self, name: &'static str, said: Self) -> Self {
        self.filled(name, Gap::Said(said))
    }

    fn filled(mut self, name: &'static str, gap: Gap) -> Self {
        self.gaps.push((name.into(), gap));
        self
    }
}

impl fmt::Display for Said {
    /// In English.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gaps: Vec<(&str, &dyn fmt::Display)> =
            self.gaps.iter().map(|(name, gap)| (&**name, gap as &dyn fmt::Display)).collect();
        f.write_str(&fill(&self.words, &gaps))
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::As(text) => f.write_str(text),
            Self::Count(number, one) => write!(f, "{number} {}", plural::noun(*number, one)),
            Self::Said(said) => said.fmt(f),
        }
    }
}

impl From<String> for Said {
    /// A sentence of which nothing else is known: it stays as it is in every language.
    fn from(words: String) -> Self {
        Self::new(words)
    }
}

impl From<&str> for Said {
    /// The same.
    fn from(words: &str) -> Self {
        Self::new(words.to_owned())
    }
}

impl PartialEq<&str> for Said {
    /// Whether this is the English sentence.
    fn eq(&self, english: &&str) -> bool {
        let said = self.to_string();
        said == *english
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_english_sentence_is_made_of_its_words_and_what_stands_in_them() {
        let first = Said::new("{name} at {time}").with("name", "/a {holds}").with("time", "3 s");
        let said = Said::new("{n} of {holds}; {first}").with("n", 2).count("holds", 5, "hold").part("first", first);
        assert_eq!(said.to_string(), "2 of 5 holds; /a {holds} at 3 s");
        assert_eq!(Said::new("{keys} left").count("keys", 1, "key").to_string(), "1 key left");
        assert_eq!(Said::from("a {gap} of nobody".to_owned()).to_string(), "a {gap} of nobody");
    }

    #[test]
    fn it_is_the_same_when_it_was_written_and_read() {
        let said = Said::new("{keys}: {n}").count("keys", 2, "key").part("n", Said::new("{n} times").with("n", 3));
        let json = serde_json::to_string(&said).unwrap();
        assert_eq!(serde_json::from_str::<Said>(&json).unwrap(), said);
    }
}
