//! Locks: the documents of `ls` and `show`.

use serde::{Serialize, Serializer};

use super::lease::LeaseKeys;
use super::tree::Tree;
use super::{Each, Head, Key, Style, Text};
use crate::domain::Revision;
use crate::event;
use crate::model::{Diagnosis, Facts, KeyView, LockView, Waiter};

/// The document of `ls`.
pub struct Locks<'a> {
    /// What was learnt.
    pub facts: &'a Facts,
    /// The locks to print, in their order.
    pub locks: &'a [LockView<'a>],
    /// What is wrong with them.
    pub diagnosis: &'a Diagnosis,
    /// How texts are printed.
    pub style: Style,
}

impl Serialize for Locks<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Document<L, D> {
            #[serde(flatten)]
            head: Head,
            locks: L,
            denied: D,
        }
        Document {
            head: Head::of(self.facts),
            locks: Each(|| {
                let (diagnosis, style) = (self.diagnosis, self.style);
                self.locks.iter().map(move |&lock| Lock { lock, diagnosis, style, whole: false })
            }),
            denied: Each(|| self.facts.link.denied.iter().map(|denied| Denied::of(denied, self.style))),
        }
        .serialize(to)
    }
}

/// The document of `show`.
pub struct Show<'a> {
    /// What was learnt.
    pub facts: &'a Facts,
    /// The lock.
    pub lock: LockView<'a>,
    /// What is wrong with it.
    pub diagnosis: &'a Diagnosis,
    /// The verdict on it.
    pub verdict: String,
    /// The other keys of the leases in its queue.
    pub lease_keys: Vec<LeaseKeys<'a>>,
    /// Who waits for whom around it, when that is asked for.
    pub tree: Option<Tree<'a>>,
    /// How texts are printed.
    pub style: Style,
}

impl Serialize for Show<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Document<'a> {
            #[serde(flatten)]
            head: Head,
            lock: Lock<'a>,
            verdict: &'a str,
            lease_keys: &'a [LeaseKeys<'a>],
            #[serde(skip_serializing_if = "Option::is_none")]
            tree: Option<&'a Tree<'a>>,
        }
        Document {
            head: Head::of(self.facts),
            lock: Lock { lock: self.lock, diagnosis: self.diagnosis, style: self.style, whole: true },
            verdict: &self.verdict,
            lease_keys: &self.lease_keys,
            tree: self.tree.as_ref(),
        }
        .serialize(to)
    }
}

/// The document of `show` about a key that is no lock by itself.
#[derive(Serialize)]
pub struct Lone<'a> {
    #[serde(flatten)]
    head: Head,
    lock: Option<()>,
    key: LoneKey<'a>,
}

#[derive(Serialize)]
struct LoneKey<'a> {
    #[serde(flatten)]
    key: Key<'a>,
    version: i64,
    part_of: Option<Text<'a>>,
}

impl<'a> Lone<'a> {
    /// A key, how often it was put, and the lock it is part of.
    pub fn of(facts: &Facts, key: Key<'a>, version: i64, part_of: Option<Text<'a>>) -> Self {
        Self { head: Head::of(facts), lock: None, key: LoneKey { key, version, part_of } }
    }
}

/// A range that this user may not read.
#[derive(Debug, Serialize)]
pub struct Denied<'a> {
    prefix: Text<'a>,
    user: &'a str,
    why: &'a str,
}

impl<'a> Denied<'a> {
    /// A range with its reason.
    pub fn of(denied: &'a event::Denied, style: Style) -> Self {
        Self { prefix: style.text(denied.range.label()), user: &denied.user, why: &denied.why }
    }
}

/// A lock.
struct Lock<'a> {
    lock: LockView<'a>,
    diagnosis: &'a Diagnosis,
    style: Style,
    /// Whether what the values say is told in full.
    whole: bool,
}

impl Serialize for Lock<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shape<'a, H, W> {
            name: Text<'a>,
            layout: &'static str,
            family: Option<&'static str>,
            state: &'static str,
            holder: Option<Holder<'a>>,
            #[serde(skip_serializing_if = "Option::is_none")]
            holders: Option<H>,
            waiters: W,
            findings: Vec<&'static str>,
        }
        let Self { lock, diagnosis, style, whole } = *self;
        let holder = move |key| Holder::of(&key, style, whole);
        let waiter = move |waiter| Waiting::of(&waiter, style, whole);
        Shape {
            name: style.text(lock.name()),
            layout: lock.layout().name(),
            family: Some(lock.family()).filter(|family| !family.is_empty()),
            state: lock.state().name(),
            holder: lock.holder().map(holder),
            holders: lock.holders().nth(1).is_some().then_some(Each(move || lock.holders().map(holder))),
            waiters: Each(move || lock.waiters().map(waiter)),
            findings: diagnosis.codes(lock.name()),
        }
        .serialize(to)
    }
}

/// Who holds a lock.
#[derive(Serialize)]
struct Holder<'a> {
    #[serde(flatten)]
    key: Key<'a>,
    token: Revision,
    owner: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    details: Vec<Detail>,
}

impl<'a> Holder<'a> {
    fn of(key: &KeyView<'a>, style: Style, whole: bool) -> Self {
        let (owner, details) = decoded(key, whole);
        Self { key: Key::of(key, style), token: key.token(), owner, details }
    }
}

/// Who waits for it.
#[derive(Serialize)]
struct Waiting<'a> {
    position: usize,
    #[serde(flatten)]
    key: Key<'a>,
    waits_for: Revision,
    owner: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    details: Vec<Detail>,
}

impl<'a> Waiting<'a> {
    fn of(waiter: &Waiter<'a>, style: Style, whole: bool) -> Self {
        let (owner, details) = decoded(&waiter.key, whole);
        Self {
            position: waiter.position,
            key: Key::of(&waiter.key, style),
            waits_for: waiter.waits_for,
            owner,
            details,
        }
    }
}

/// Something a value says.
#[derive(Serialize)]
struct Detail {
    label: &'static str,
    text: String,
}

fn decoded(key: &KeyView<'_>, whole: bool) -> (Option<String>, Vec<Detail>) {
    let decoded = key.decoded();
    let details = decoded.fields.into_iter().filter(|_| whole).map(|(label, text)| Detail { label, text });
    (key.owner(), details.collect())
}
