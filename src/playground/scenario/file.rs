//! A scenario's file: TOML, and what is said about one that is no good.
//!
//! Here is only the shape; `check` makes a scenario of it. Whatever is wrong is told with the
//! file, the line, the column and the line itself.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use super::Scenario;
use crate::domain::line_and_column;
use crate::nearest;

/// Why a file is no scenario.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// It could not be read.
    #[error("cannot read the scenario {}: {why}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        why: std::io::Error,
    },
    /// It is no scenario.
    #[error("{}:{line}:{column}: {why}{}", path.display(), Quoted { line: *line, column: *column, text })]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The column in characters, from 1.
        column: usize,
        /// What is wrong.
        why: String,
        /// The line's text.
        text: String,
    },
}

/// The line that something is wrong with, and a mark below the place.
struct Quoted<'a> {
    line: usize,
    column: usize,
    text: &'a str,
}

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        let (gap, before) = (" ".repeat(number.len()), " ".repeat(self.column.saturating_sub(1)));
        // A tab is as wide as the terminal likes, so the mark would miss.
        let text = self.text.replace('\t', " ");
        write!(f, "\n {number} | {text}\n {gap} | {before}^")
    }
}

impl Scenario {
    /// Reads a scenario from a file.
    ///
    /// # Errors
    /// When it cannot be read or is no scenario.
    pub fn from_file(path: &Path) -> Result<Self, ScenarioError> {
        match std::fs::read_to_string(path) {
            Ok(text) => Self::from_toml(&text, path),
            Err(why) => Err(ScenarioError::Read { path: path.to_owned(), why }),
        }
    }

    /// Reads a scenario from its text; `path` is for messages.
    ///
    /// # Errors
    /// When it is no scenario: no TOML, a name that means nothing, a value that is no good, or
    /// things that do not go together.
    pub fn from_toml(text: &str, path: &Path) -> Result<Self, ScenarioError> {
        let invalid = |at: usize, why: String| {
            let (line, column) = line_and_column(text, at);
            let quoted = text.lines().nth(line - 1).unwrap_or_default().to_owned();
            ScenarioError::Invalid { path: path.to_owned(), line, column, why, text: quoted }
        };
        let raw: Raw = toml::from_str(text)
            .map_err(|error| invalid(error.span().map_or(0, |span| span.start), suggested(&error)))?;
        super::check::scenario(&raw).map_err(|wrong| invalid(wrong.at, wrong.why))
    }
}

/// Serde's word about a name it does not know, with the one that was probably meant instead of a
/// list of all.
fn suggested(error: &toml::de::Error) -> String {
    let message = error.message();
    // What the whole file lacks is at no place in it.
    if error.span().is_none_or(|span| span.start == 0)
        && let Some(name) = message.strip_prefix("missing field ")
        && !matches!(name.trim_matches('`'), "clients" | "expect")
    {
        return format!("{name} is missing: it stands at the top of the file, before the first table");
    }
    let mut names = message.split('`').skip(1).step_by(2);
    match (message.starts_with("unknown field"), names.next()) {
        (true, Some(unknown)) => {
            let known: Vec<&str> = names.collect();
            match nearest::nearest(unknown, known.iter().copied()) {
                Some(near) => format!("unknown name `{unknown}`; did you mean `{near}`?"),
                None => format!("unknown name `{unknown}`; there are {}", known.join(", ")),
            }
        }
        _ => in_words(message.trim_end()),
    }
}

/// What else serde says, in the words of who writes a file.
fn in_words(message: &str) -> String {
    if let Some(name) = message.strip_prefix("missing field ") {
        return match name.trim_matches('`') {
            table @ ("clients" | "expect") => format!("a scenario needs at least one [[{table}]], and there is none"),
            _ => format!("{name} is missing here"),
        };
    }
    let (Some((_, found)), true) = (message.split_once(": "), message.starts_with("invalid ")) else {
        return message.to_owned();
    };
    let Some((found, wanted)) = found.rsplit_once(", expected ") else { return message.to_owned() };
    let wanted = match wanted {
        "u16" => "a whole number from 0 to 65535",
        "usize" => "a whole number",
        "a boolean" => "true or false",
        "a string" => "text in quotes",
        "a sequence" => "a list, or tables in double brackets such as [[expect]]",
        wanted => wanted,
    };
    let found = match found.split_once(' ') {
        Some(("string", said)) => format!("the text {said}"),
        Some(("integer" | "boolean", said)) => said.trim_matches('`').to_owned(),
        Some(("floating", said)) => said.trim_start_matches("point ").trim_matches('`').to_owned(),
        None if found == "sequence" => "a list".to_owned(),
        None if found == "map" => "a table".to_owned(),
        _ => found.to_owned(),
    };
    format!("{wanted} is wanted here, not {found}")
}

/// A text with its place.
pub(super) type Text = Spanned<String>;

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Raw {
    pub name: Text,
    pub summary: Text,
    pub summary_zh: Text,
    pub lock: Text,
    #[serde(default)]
    pub cluster: RawCluster,
    pub clients: Vec<Spanned<RawGroup>>,
    #[serde(default)]
    pub resources: Vec<RawResource>,
    #[serde(default)]
    pub at: Vec<Spanned<RawCue>>,
    pub expect: Vec<RawWanted>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table [cluster]")]
pub(super) struct RawCluster {
    pub needs: Option<Text>,
    pub members: Option<Spanned<usize>>,
    pub pre_vote: Option<bool>,
    pub check_quorum: Option<bool>,
    pub delay: Option<Text>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table [[clients]]")]
pub(super) struct RawGroup {
    pub count: Option<Spanned<u16>>,
    pub recipe: Text,
    pub lock: Option<Text>,
    pub name: Option<Text>,
    pub second: Option<Text>,
    pub value: Option<Text>,
    pub ttl: Option<Text>,
    pub heartbeat: Option<Text>,
    pub hold: Option<Text>,
    pub think: Option<Text>,
    pub writes: Option<Text>,
    pub crash: Option<Text>,
    pub crash_one_in: Option<Spanned<u16>>,
    pub away: Option<Text>,
    #[serde(default)]
    pub mistakes: Vec<Text>,
    pub starts: Option<Text>,
    #[serde(default)]
    pub stays: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table [[resources]]")]
pub(super) struct RawResource {
    pub name: Text,
    pub fencing: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table [[at]]")]
pub(super) struct RawCue {
    pub time: Option<Text>,
    pub when: Option<Text>,
    pub after: Option<Text>,
    pub every: Option<Text>,
    #[serde(rename = "do")]
    pub deeds: Option<Deeds>,
    pub say: Option<RawSay>,
}

/// One line or a list of them.
#[derive(Debug)]
pub(super) struct Deeds(pub Vec<Text>);

impl<'de> Deserialize<'de> for Deeds {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        // A place is only kept by who asks for it, and a list has one of its own.
        let value = Spanned::<toml::Value>::deserialize(from)?;
        let at = value.span();
        match value.into_inner() {
            toml::Value::String(line) => Ok(Self(vec![Spanned::new(at, line)])),
            toml::Value::Array(lines) => {
                let line = |line| match line {
                    toml::Value::String(line) => Ok(Spanned::new(at.clone(), line)),
                    _ => Err(serde::de::Error::custom("each thing to do is text in quotes")),
                };
                lines.into_iter().map(line).collect::<Result<_, _>>().map(Self)
            }
            _ => Err(serde::de::Error::custom("what to do is text in quotes, or a list of such")),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "{ en = \"…\", zh = \"…\" }")]
pub(super) struct RawSay {
    pub en: Text,
    pub zh: Text,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table [[expect]]")]
pub(super) struct RawWanted {
    pub that: Text,
    pub lock: Option<Text>,
}
