//! Lines of words that ask for something, as `pause client-1` and `kill n1` do: which first words
//! there are, what follows them, and what is wrong with a line that asks for nothing.

use std::fmt;
use std::str::SplitWhitespace;

use thiserror::Error;

use super::Sentence;
use crate::nearest::nearest;

/// A first word, in the table of its kind.
#[derive(Clone, Copy, Debug)]
pub struct Word<Takes: 'static> {
    /// The word itself.
    pub name: &'static str,
    /// What follows it, for the help; empty when nothing does.
    pub arguments: &'static str,
    /// What it does, as a sentence without its full stop.
    pub help: &'static str,
    /// How many words follow it, and which.
    pub(super) takes: Takes,
}

/// Why a line asks for nothing. The message quotes what was said and tells what could be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WordError {
    /// Nothing is called that.
    Unknown {
        /// What is looked for: `order`.
        noun: &'static str,
        /// The first word of the line.
        word: String,
        /// The one that was probably meant.
        near: Option<&'static str>,
        /// Those that there are.
        known: String,
    },
    /// Something has to follow the word.
    Missing {
        /// The word.
        word: &'static str,
        /// What has to follow it.
        wanted: &'static str,
    },
    /// What follows the word is not what it takes.
    Argument {
        /// The word.
        word: &'static str,
        /// What has to follow it.
        wanted: &'static str,
        /// What does.
        said: String,
    },
    /// More was said than the word takes.
    TooMuch {
        /// The word.
        word: &'static str,
        /// What is too much.
        said: String,
    },
}

impl<Takes> Word<Takes> {
    /// A word of a table.
    pub(super) const fn new(name: &'static str, arguments: &'static str, help: &'static str, takes: Takes) -> Self {
        Self { name, arguments, help, takes }
    }
}

/// What follows a word, taken from its front.
pub(super) struct Said<'a> {
    word: &'static str,
    rest: SplitWhitespace<'a>,
}

impl<'a> Said<'a> {
    /// The next word, which is wanted.
    pub fn next(&mut self, wanted: &'static str) -> Result<&'a str, WordError> {
        self.rest.next().ok_or(WordError::Missing { word: self.word, wanted })
    }

    /// The next word, as what is wanted; `read` gives none when it is not that.
    pub fn take<T>(&mut self, wanted: &'static str, read: impl FnOnce(&'a str) -> Option<T>) -> Result<T, WordError> {
        let said = self.next(wanted)?;
        read(said).ok_or_else(|| WordError::argument(self.word, wanted, said))
    }

    /// A word that was taken and is not what is wanted.
    pub fn wrong(&self, wanted: &'static str, said: &str) -> WordError {
        WordError::argument(self.word, wanted, said)
    }
}

/// Reads one line by a table whose words are each called a `noun`. Words are parted by white space.
pub(super) fn read<Takes, T>(
    line: &str,
    noun: &'static str,
    words: &'static [Word<Takes>],
    read: impl FnOnce(&'static Takes, &mut Said<'_>) -> Result<T, WordError>,
) -> Result<T, WordError> {
    let mut rest = line.split_whitespace();
    let name = rest.next().unwrap_or_default();
    let Some(word) = words.iter().find(|word| word.name == name) else {
        let known: Vec<&str> = words.iter().map(|word| word.name).collect();
        let near = nearest(name, known.iter().copied());
        return Err(WordError::Unknown { noun, word: name.to_owned(), near, known: known.join(", ") });
    };
    let mut said = Said { word: word.name, rest };
    let asked = read(&word.takes, &mut said)?;
    match said.rest.next() {
        None => Ok(asked),
        Some(said) => Err(WordError::TooMuch { word: word.name, said: said.to_owned() }),
    }
}

impl WordError {
    /// What follows the word is not what it takes.
    pub fn argument(word: &'static str, wanted: &'static str, said: &str) -> Self {
        Self::Argument { word, wanted, said: said.to_owned() }
    }

    /// The message, with what was said apart from its words.
    pub fn sentence(&self) -> Sentence {
        match self {
            Self::Unknown { noun, word, near, known } => {
                let words = match near {
                    Some(_) => "no {noun} `{word}`; did you mean `{near}`? There are {known}",
                    None => "no {noun} `{word}`; there are {known}",
                };
                Sentence::new(words)
                    .with("noun", *noun)
                    .with("word", word.clone())
                    .with("near", near.unwrap_or_default().to_owned())
                    .with("known", known.clone())
            }
            Self::Missing { word, wanted } => {
                Sentence::new("`{name}` wants {wanted}").with("name", (*word).to_owned()).with("wanted", *wanted)
            }
            Self::Argument { word, wanted, said } => Sentence::new("`{name}` wants {wanted}, not `{said}`")
                .with("name", (*word).to_owned())
                .with("wanted", *wanted)
                .with("said", said.clone()),
            Self::TooMuch { word, said } => Sentence::new("`{name}` takes nothing more, not `{said}`")
                .with("name", (*word).to_owned())
                .with("said", said.clone()),
        }
    }
}

impl fmt::Display for WordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sentence().fmt(f)
    }
}
