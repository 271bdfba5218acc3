//! What a stream of watches answers, and the messages that say it. Changes become messages when
//! they are sent and not before: a thousand watches of one key do not copy its value at once.

use std::collections::VecDeque;
use std::sync::Arc;

use etcd_client::proto::{PbEvent, PbResponseHeader, PbWatchResponse};
use prost::Message;

use super::watches::{News, Wanted, WatchId};
use crate::domain::Revision;
use crate::mvcc::{self, Change};
use crate::server::door::Door;
use crate::server::grpc::{MAX_MESSAGE, convert, header};

/// What a stream answers.
#[derive(Debug)]
pub(super) enum Answer {
    /// There is a watch now.
    Created {
        /// Which.
        watch: WatchId,
        /// The store's revision.
        revision: Revision,
    },
    /// A watch was not made.
    Refused {
        /// Why.
        why: String,
        /// The store's revision.
        revision: Revision,
    },
    /// A watch is no more, as the client wished.
    Cancelled {
        /// Which.
        watch: WatchId,
        /// The store's revision.
        revision: Revision,
    },
    /// A watch, or all of them, have seen everything up to a revision.
    Progress {
        /// Which; [`WatchId::NONE`] for all.
        watch: WatchId,
        /// The revision.
        revision: Revision,
    },
    /// What the watch watches is compacted, and so it ends.
    Compacted {
        /// Which.
        watch: WatchId,
        /// The oldest revision there is.
        at: Revision,
    },
    /// Changes.
    Changes {
        /// Of which watch.
        watch: WatchId,
        /// How far the watch is with them.
        revision: Revision,
        /// Changes of several watches.
        changes: Arc<Vec<Change>>,
        /// Which of these are its own.
        which: Vec<usize>,
        /// Whether to tell what keys were before.
        prev_kv: bool,
        /// Whether the client takes large answers in parts.
        fragment: bool,
    },
}

impl Answer {
    /// News of a watch as an answer.
    pub fn news(news: News, wanted: &Wanted) -> Self {
        match news {
            News::Changes { watch, revision, changes, which } => Self::Changes {
                watch,
                revision,
                changes,
                which,
                prev_kv: wanted.watch.prev_kv,
                fragment: wanted.fragment,
            },
            News::Compacted { watch, at } => Self::Compacted { watch, at },
        }
    }

    /// The messages that say it: one, unless it is large and the client takes it in parts.
    pub fn into_messages(self, door: &Door) -> VecDeque<PbWatchResponse> {
        let of = |watch: WatchId, header: PbResponseHeader| PbWatchResponse {
            header: Some(header),
            watch_id: watch.0,
            ..PbWatchResponse::default()
        };
        let message = match self {
            Self::Created { watch, revision } => {
                PbWatchResponse { created: true, ..of(watch, header::at(door, revision)) }
            }
            Self::Refused { why, revision } => PbWatchResponse {
                created: true,
                canceled: true,
                cancel_reason: why,
                ..of(WatchId::NONE, header::at(door, revision))
            },
            Self::Cancelled { watch, revision } => {
                PbWatchResponse { canceled: true, ..of(watch, header::at(door, revision)) }
            }
            Self::Progress { watch, revision } => of(watch, header::at(door, revision)),
            // etcd gives neither revision nor reason here: the compaction says it all.
            Self::Compacted { watch, at } => {
                PbWatchResponse { canceled: true, compact_revision: at.0, ..of(watch, header::without_revision(door)) }
            }
            Self::Changes { watch, revision, changes, which, prev_kv, fragment } => {
                let events = which.iter().map(|at| convert::event::event(&changes[*at], prev_kv)).collect();
                let whole = PbWatchResponse { events, ..of(watch, header::at(door, revision)) };
                return if fragment { in_parts(whole, MAX_MESSAGE) } else { [whole].into() };
            }
        };
        [message].into()
    }
}

/// Splits an answer so that each part is below `most` bytes, or has one event only.
fn in_parts(mut whole: PbWatchResponse, most: usize) -> VecDeque<PbWatchResponse> {
    if whole.events.len() < 2 || whole.encoded_len() < most {
        return [whole].into();
    }
    let events = std::mem::take(&mut whole.events);
    let empty = PbWatchResponse { fragment: true, ..whole };
    let size = |event: &PbEvent| {
        let length = event.encoded_len();
        1 + prost::length_delimiter_len(length) + length
    };
    let lengths: Vec<_> =
        mvcc::watch::fragments(&events, empty.encoded_len(), most, size).into_iter().map(<[_]>::len).collect();
    let mut events = events.into_iter();
    let mut parts: VecDeque<_> = lengths
        .into_iter()
        .map(|length| PbWatchResponse { events: events.by_ref().take(length).collect(), ..empty.clone() })
        .collect();
    if let Some(last) = parts.back_mut() {
        last.fragment = false;
    }
    parts
}

#[cfg(test)]
mod tests {
    use etcd_client::proto::PbKeyValue;

    use super::*;

    #[test]
    fn a_large_answer_comes_in_parts_of_which_the_last_is_not_marked() {
        let event = |size| PbEvent {
            kv: Some(PbKeyValue { value: vec![b'v'; size], ..PbKeyValue::default() }),
            ..PbEvent::default()
        };
        let whole = PbWatchResponse {
            watch_id: 7,
            events: vec![event(400), event(400), event(1500), event(10)],
            ..PbWatchResponse::default()
        };
        let parts = in_parts(whole.clone(), 1000);
        let shape: Vec<_> = parts.iter().map(|part| (part.watch_id, part.events.len(), part.fragment)).collect();
        assert_eq!(shape, [(7, 2, true), (7, 1, true), (7, 1, false)]);
        assert_eq!(in_parts(whole.clone(), 1 << 20), [whole]);
    }
}
