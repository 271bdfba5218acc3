//! What is wrong: the document of `doctor`.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{Each, Head, Hex, Style, Text};
use crate::cli::unseen::{Unseen, is_complete};
use crate::domain::{Key, Sentence, Value};
use crate::model::{self, Diagnosis, Facts};
use crate::view::text;

/// The document of `doctor`.
pub struct Doctor<'a> {
    /// What was learnt.
    pub facts: &'a Facts,
    /// What is wrong.
    pub diagnosis: &'a Diagnosis,
    /// What could not be seen.
    pub unseen: &'a [Unseen],
    /// How texts are printed.
    pub style: Style,
}

impl Serialize for Doctor<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Document<'a, F, D> {
            #[serde(flatten)]
            head: Head,
            findings: F,
            denied: D,
            unseen: &'a [Unseen],
            complete: bool,
        }
        let Self { facts, diagnosis, unseen, style } = *self;
        Document {
            head: Head::of(facts),
            findings: Each(|| diagnosis.findings().iter().map(|finding| Finding::of(finding, style))),
            denied: Each(|| facts.link.denied.iter().map(|denied| super::lock::Denied::of(denied, style))),
            unseen,
            complete: is_complete(unseen),
        }
        .serialize(to)
    }
}

/// One thing that was found.
#[derive(Serialize)]
pub struct Finding<'a> {
    code: &'static str,
    severity: &'static str,
    locks: Vec<Text<'a>>,
    leases: Vec<Hex>,
    keys: Vec<Text<'a>>,
    members: Vec<Hex>,
    since: Option<String>,
    since_exact: Option<bool>,
    evidence: Told<'a>,
    why: &'static str,
    advice: &'static str,
    remedy: String,
}

impl<'a> Finding<'a> {
    /// A finding as it is known.
    pub fn of(finding: &'a model::Finding, style: Style) -> Self {
        let rule = finding.rule();
        let texts = |keys: &'a [Key]| keys.iter().map(|key| style.text(key)).collect();
        Self {
            code: finding.code,
            severity: finding.severity.name(),
            locks: texts(&finding.locks),
            leases: finding.leases.iter().map(|&lease| Hex::Lease(lease)).collect(),
            keys: texts(&finding.keys),
            members: finding.members.iter().map(|&member| member.into()).collect(),
            since: finding.since.and_then(|since| since.at.rfc3339()),
            since_exact: finding.since.map(|since| since.exact),
            evidence: Told { sentence: &finding.evidence, style },
            why: rule.map_or("", |rule| rule.why),
            advice: rule.map_or("", |rule| rule.advice),
            remedy: text::command(&finding.remedy),
        }
    }
}

/// A sentence: its text, and its values by their names, with the unit in the name where there
/// is one.
#[derive(Clone, Copy)]
pub struct Told<'a> {
    /// The sentence.
    pub sentence: &'a Sentence,
    /// How texts are printed.
    pub style: Style,
}

impl Serialize for Told<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("text", &text::sentence(self.sentence))?;
        self.values(self.sentence, &mut map)?;
        map.end()
    }
}

impl Told<'_> {
    /// The values, those of a part of the sentence beside the others.
    fn values<M: SerializeMap>(&self, sentence: &Sentence, map: &mut M) -> Result<(), M::Error> {
        for (name, value) in &sentence.values {
            match value {
                Value::Key(key) => map.serialize_entry(name, &self.style.text(key))?,
                Value::Keys(keys) | Value::Circle(keys) => {
                    map.serialize_entry(name, &Each(|| keys.iter().map(|key| self.style.text(key))))?;
                }
                Value::List(_) => map.serialize_entry(name, &value.to_string())?,
                Value::Lease(lease) => map.serialize_entry(name, &Hex::Lease(*lease))?,
                Value::Revision(revision) => map.serialize_entry(name, revision)?,
                Value::Term(term) => map.serialize_entry(name, &term.0)?,
                Value::Length(length) => map.serialize_entry(&format!("{name}_ms"), &length.0)?,
                Value::Count(number, _) => map.serialize_entry(name, number)?,
                Value::Number(number) => map.serialize_entry(name, number)?,
                Value::Bytes(size) => map.serialize_entry(&format!("{name}_bytes"), size)?,
                Value::Text(text) => map.serialize_entry(name, text)?,
                Value::Word(word) => map.serialize_entry(name, word)?,
                Value::Sentence(part) => self.values(part, map)?,
                Value::Variables(variables) => {
                    let variables: std::collections::BTreeMap<_, _> =
                        variables.iter().map(|(name, value)| (name, value)).collect();
                    map.serialize_entry(name, &variables)?;
                }
            }
        }
        Ok(())
    }
}
