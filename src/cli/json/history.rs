//! The document of `history`, written while the past is read.

use std::io::{self, Write};

use serde::Serialize;

use super::{Harmless, Head, Hex, SCHEMA, Style, Text, lease_id};
use crate::domain::{ClusterId, Revision};
use crate::layout::Recognised;
use crate::model::{Handoff, Handoffs, Turn};

/// Writes the document: its head with the first handoff, then handoff by handoff.
#[derive(Debug)]
pub struct History {
    cluster: ClusterId,
    style: Style,
    /// How many handoffs are written; `None` before the head is.
    written: Option<u64>,
}

impl History {
    /// Nothing written yet.
    pub const fn new(cluster: ClusterId, style: Style) -> Self {
        Self { cluster, style, written: None }
    }

    /// Writes one handoff, and before the first one the head.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn write(&mut self, past: &Handoffs, handoff: &Handoff, to: &mut impl Write) -> io::Result<()> {
        #[derive(Serialize)]
        struct Shape<'a> {
            revision: Revision,
            from: Party<'a>,
            to: Option<Party<'a>>,
            #[serde(skip_serializing_if = "Option::is_none")]
            to_all: Option<Vec<Party<'a>>>,
            cause: &'static str,
            at: Option<()>,
        }
        self.begin(past, to)?;
        let style = self.style;
        let party = |turn| Party::of(turn, style);
        if self.written.replace(self.written.unwrap_or_default() + 1) != Some(0) {
            to.write_all(b",")?;
        }
        let shape = Shape {
            revision: handoff.revision,
            from: party(&handoff.from),
            to: handoff.to.first().map(party),
            to_all: (handoff.to.len() > 1).then(|| handoff.to.iter().map(party).collect()),
            cause: super::cause(handoff.cause),
            at: None,
        };
        to.write_all(&fragment(&shape)?)
    }

    /// Writes the rest of the document; `omitted` handoffs before the first one were left out.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn end(&mut self, past: &Handoffs, omitted: u64, to: &mut impl Write) -> io::Result<()> {
        #[derive(Serialize)]
        struct Tail<'a> {
            omitted: u64,
            holders: Vec<Party<'a>>,
            gaps: Vec<Gap>,
        }
        #[derive(Serialize)]
        struct Gap {
            from_revision: Revision,
            to_revision: Revision,
        }
        self.begin(past, to)?;
        let tail = Tail {
            omitted,
            holders: past.turns().iter().map(|turn| Party::of(turn, self.style)).collect(),
            gaps: past.gaps().iter().map(|&(from, to)| Gap { from_revision: from.next(), to_revision: to }).collect(),
        };
        to.write_all(b"],")?;
        to.write_all(fragment(&tail)?.strip_prefix(b"{").unwrap_or_default())?;
        to.write_all(b"\n")
    }

    fn begin(&mut self, past: &Handoffs, to: &mut impl Write) -> io::Result<()> {
        #[derive(Serialize)]
        struct Start<'a> {
            #[serde(flatten)]
            head: Head,
            lock: Text<'a>,
            layout: Option<&'static str>,
            family: Option<&'static str>,
            since_revision: Revision,
            compacted_revision: Option<Revision>,
        }
        if self.written.is_some() {
            return Ok(());
        }
        self.written = Some(0);
        let recognised = past.recognised();
        let start = Start {
            head: Head { schema: SCHEMA, cluster_id: Some(self.cluster.into()), revision: Some(past.to().0) },
            lock: self.style.text(past.name()),
            layout: recognised.map(|Recognised { layout, .. }| layout.name()),
            family: recognised.map(|Recognised { family, .. }| family).filter(|family| !family.is_empty()),
            since_revision: past.since(),
            compacted_revision: past.compacted(),
        };
        to.write_all(fragment(&start)?.strip_suffix(b"}").unwrap_or_default())?;
        to.write_all(b",\"handoffs\":[")
    }
}

/// A holder.
#[derive(Serialize)]
struct Party<'a> {
    key: Text<'a>,
    lease: Option<Hex>,
    create_revision: Revision,
    held_since: Option<Revision>,
    owner: Option<&'a str>,
}

impl<'a> Party<'a> {
    fn of(turn: &'a Turn, style: Style) -> Self {
        Self {
            key: style.text(&turn.key),
            lease: lease_id(turn.lease),
            create_revision: turn.create_revision,
            held_since: turn.from,
            owner: turn.owner.as_deref(),
        }
    }
}

/// A piece of the document.
fn fragment(piece: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    piece.serialize(&mut serde_json::Serializer::with_formatter(&mut text, Harmless))?;
    Ok(text)
}
