//! The store's own history of the playground's keys, as evidence beside what clients say.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep;
use tracing::debug;

use super::dial::{Dial, Line};
use super::{Note, Seen};
use crate::domain::{KeyRange, Revision};
use crate::pace::Clock;
use crate::port::{Etcd, PortError, Range, WatchAnswer, WatchId, WatchRange, WatchStream};

/// The pause after a connection was lost, by the wall's clock.
const AGAIN: Duration = Duration::from_millis(200);

/// Follows the keys of a range and notes what happens to them.
#[derive(Debug)]
pub struct Journal<D> {
    dial: D,
    clock: Clock,
    range: KeyRange,
    notes: mpsc::Sender<Note>,
    /// The first revision that is not noted yet; none before the first read.
    next: Option<Revision>,
}

/// Why a turn ended.
enum End {
    /// The connection or the member is of no use.
    Lost(String),
    /// Nobody reads the notes any more.
    Unread,
}

impl<D: Dial> Journal<D> {
    /// A journal of the keys in `range`.
    pub const fn new(dial: D, clock: Clock, range: KeyRange, notes: mpsc::Sender<Note>) -> Self {
        Self { dial, clock, range, notes, next: None }
    }

    /// Writes until nobody reads it. To be cancelled.
    pub async fn run(mut self) {
        let mut lost = None;
        loop {
            let why = match self.dial.dial(lost.as_deref()).await {
                Ok(Line { etcd, endpoint }) => match self.write(&etcd).await {
                    End::Lost(why) => {
                        lost = Some(endpoint);
                        why
                    }
                    End::Unread => return,
                },
                Err(why) => why,
            };
            debug!(%why, "the journal looks for another member");
            sleep(AGAIN).await;
        }
    }

    async fn write(&mut self, etcd: &impl Etcd) -> End {
        match self.follow(etcd).await {
            Ok(end) => end,
            Err(error) => {
                if matches!(error, PortError::Compacted { .. }) {
                    self.next = None;
                }
                End::Lost(error.to_string())
            }
        }
    }

    async fn follow(&mut self, etcd: &impl Etcd) -> Result<End, PortError> {
        let next = if let Some(next) = self.next {
            next
        } else {
            let page = etcd.range(Range::of(self.range.clone())).await?;
            let (revision, term) = (page.header.revision, page.header.term);
            if self.note(Seen::Term(term)).await.is_err()
                || self.note(Seen::Listed { revision, keys: page.keys }).await.is_err()
            {
                return Ok(End::Unread);
            }
            revision.next()
        };
        self.next = Some(next);
        let ask = WatchRange { id: WatchId(1), range: self.range.clone(), from: Some(next) };
        let mut watch = etcd.watch(ask).await?;
        while let Some(answer) = watch.next().await? {
            let (seen, header) = match answer {
                WatchAnswer::Events { changes, header, .. } => {
                    self.next = changes.last().map(|(revision, _)| revision.next()).or(self.next);
                    (Some(Seen::Changed(changes)), Some(header))
                }
                WatchAnswer::Created { header, .. } => (None, Some(header)),
                WatchAnswer::Progress { .. } => (None, None),
                WatchAnswer::Cancelled { compacted, why, .. } => {
                    if compacted.is_some() {
                        self.next = None;
                    }
                    return Ok(End::Lost(why));
                }
            };
            let term = header.map(|header| Seen::Term(header.term));
            for seen in term.into_iter().chain(seen) {
                if self.note(seen).await.is_err() {
                    return Ok(End::Unread);
                }
            }
        }
        Ok(End::Lost("the watch ended".into()))
    }

    async fn note(&self, seen: Seen) -> Result<(), ()> {
        self.notes.send(Note::Store(self.clock.now(), seen)).await.map_err(drop)
    }
}
