//! One line of `watch`.

use std::io::{self, Write};

use serde::Serialize;

use super::{Harmless, Hex, SCHEMA, Style, Text, lease_id};
use crate::cli::watch::Told;
use crate::domain::{ClusterId, Timestamp};
use crate::model::{Cause, What};

/// The name of a field that is not the first, with all that stands around it.
macro_rules! name {
    ($name:literal) => {
        concat!(",\"", $name, "\":")
    };
}

/// Writes lines, one happening each.
///
/// Writing is most of what `watch` does, so a line is put together here instead of by serde:
/// names need no escaping, and what a line has in common with the one before is kept.
#[derive(Debug, Default)]
pub struct Lines {
    line: Object,
    times: Times,
    /// Time and cluster of the last line, and what a line says of them.
    common: Option<(Option<Timestamp>, Option<ClusterId>, Vec<u8>)>,
}

impl Lines {
    /// Writes the line for a happening.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn write(&mut self, told: &Told<'_>, style: Style, to: &mut impl Write) -> io::Result<()> {
        let happening = told.happening;
        let line = &mut self.line;
        line.0.clear();
        line.0.extend_from_slice(b"{\"schema\":");
        line.quoted(SCHEMA);
        line.word(name!("event"), event(&happening.what));
        match &self.common {
            Some((at, cluster, text)) if (*at, *cluster) == (told.at(), told.cluster) => line.0.extend_from_slice(text),
            _ => {
                let start = line.0.len();
                line.word_or_null(name!("at"), told.at().and_then(|at| self.times.rfc3339(at)));
                if told.replayed {
                    line.value(name!("replayed")).extend_from_slice(b"true");
                }
                line.hex(name!("cluster_id"), told.cluster.map(Into::into));
                self.common = Some((told.at(), told.cluster, line.0[start..].to_vec()));
            }
        }
        match happening.known_revision() {
            Some(revision) => line.number(name!("revision"), revision),
            None => line.value(name!("revision")).extend_from_slice(b"null"),
        }
        if let Some(party) = happening.what.party() {
            // The key begins with the lock's name: where it is plain, both are.
            let (lock, key) = (style.text(party.lock()), style.text(&party.key));
            let plain = key.is_plain();
            line.text(name!("lock"), lock, plain);
            line.text(name!("key"), key, plain);
            line.hex(name!("lease"), lease_id(party.lease));
            line.number(name!("create_revision"), party.create_revision.0);
        }
        match &happening.what {
            What::Enqueued(_) | What::Acquired(_) => {}
            What::Released(_, why) | What::WaiterGone(_, why) => line.word(name!("cause"), cause(*why)),
            What::Rewritten { former_lease, .. } => line.hex(name!("former_lease"), lease_id(*former_lease)),
            What::LeaderChanged(change) => {
                line.hex(name!("from"), change.from.map(Into::into));
                line.hex(name!("to"), change.to.map(Into::into));
                line.number(name!("term"), change.term.0);
            }
            What::Alarm(alarm, raised) => {
                line.hex(name!("member"), Some(alarm.member.into()));
                line.word(name!("alarm"), &alarm.kind.name());
                line.value(name!("raised")).extend_from_slice(if *raised { b"true" } else { b"false" });
            }
            What::Gap { from, to } => {
                line.number(name!("from_revision"), from.0);
                line.number(name!("to_revision"), to.0);
            }
        }
        line.0.extend_from_slice(b"}\n");
        to.write_all(&line.0)
    }
}

/// Writes times as [`Timestamp::rfc3339`] does, one about as late as the one before: of two within a
/// second only the milliseconds differ.
#[derive(Debug, Default)]
struct Times {
    /// The second the last one was in.
    second: i64,
    last: Option<String>,
}

impl Times {
    fn rfc3339(&mut self, at: Timestamp) -> Option<&str> {
        let second = at.0.div_euclid(1000);
        let millis = u32::try_from(at.0.rem_euclid(1000)).unwrap_or_default();
        match &mut self.last {
            Some(last) if self.second == second => {
                last.truncate(last.len() - "000Z".len());
                last.extend([millis / 100, millis / 10, millis].iter().filter_map(|n| char::from_digit(n % 10, 10)));
                last.push('Z');
            }
            last => *last = at.rfc3339(),
        }
        self.second = second;
        self.last.as_deref()
    }
}

/// An object while it is written. Names are the program's own and need no escaping.
#[derive(Debug, Default)]
struct Object(Vec<u8>);

impl Object {
    /// Writes a name; its value is to follow.
    fn value(&mut self, name: &'static str) -> &mut Vec<u8> {
        self.0.extend_from_slice(name.as_bytes());
        &mut self.0
    }

    /// A word of the program's own, which needs no escaping either.
    fn word(&mut self, name: &'static str, word: &str) {
        self.value(name);
        self.quoted(word);
    }

    fn quoted(&mut self, word: &str) {
        self.0.push(b'"');
        self.0.extend_from_slice(word.as_bytes());
        self.0.push(b'"');
    }

    fn word_or_null(&mut self, name: &'static str, word: Option<&str>) {
        match word {
            Some(word) => self.word(name, word),
            None => self.value(name).extend_from_slice(b"null"),
        }
    }

    fn number(&mut self, name: &'static str, number: impl Serialize) {
        serde_json::to_writer(self.value(name), &number).expect("a Vec takes everything");
    }

    fn hex(&mut self, name: &'static str, id: Option<Hex>) {
        match id {
            Some(id) => {
                let to = self.value(name);
                to.push(b'"');
                id.write(to);
                to.push(b'"');
            }
            None => self.value(name).extend_from_slice(b"null"),
        }
    }

    /// Bytes of the cluster's; `plain` says whether they can be written as they are.
    fn text(&mut self, name: &'static str, text: Text<'_>, plain: bool) {
        let to = self.value(name);
        if plain {
            to.push(b'"');
            to.extend_from_slice(text.bytes);
            to.push(b'"');
        } else {
            let mut json = serde_json::Serializer::with_formatter(to, Harmless);
            text.serialize(&mut json).expect("a Vec takes everything");
        }
    }
}

/// The word for an event.
pub const fn event(what: &What) -> &'static str {
    match what {
        What::Enqueued(_) => "enqueued",
        What::Acquired(_) => "acquired",
        What::Released(..) => "released",
        What::WaiterGone(..) => "waiter_gone",
        What::Rewritten { .. } => "rewritten",
        What::LeaderChanged(_) => "leader_changed",
        What::Alarm(..) => "alarm",
        What::Gap { .. } => "gap",
    }
}

/// The word for a cause. One that is still being asked for when it has to be told is unknown.
pub const fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Pending => Cause::Unknown.name(),
        known => known.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_alike_whatever_was_written_before() {
        let mut times = Times::default();
        let last = 253_402_300_799_999; // the end of the year 9999
        for at in [0, 7, 999, 1_000, 1_050, -1, -1_000, -1_001, 1_700_000_000_123, 1_700_000_000_009, i64::MAX, last] {
            let at = Timestamp(at);
            assert_eq!(times.rfc3339(at), at.rfc3339().as_deref(), "{at:?}");
            assert_eq!(times.rfc3339(at), at.rfc3339().as_deref(), "{at:?} again");
        }
    }
}
