//! Answers that come by the hundred thousand, from the wire into the domain's types at once.
//!
//! Pages of keys and watched changes are most of what lockscope reads, so they are read without
//! the generated types in between (etcd `api/etcdserverpb/rpc.proto`, `api/mvccpb/kv.proto`).

use tonic::codegen::Bytes;

use super::error::printable;
use super::{Header, Page, WatchAnswer, WatchId};
use crate::domain::protobuf::{Content, Fields, int32};
use crate::domain::{ClusterId, Key, KeyEvent, KeyValue, LeaseId, MemberId, Revision, Term};

/// A page as it came. Its keys are read a few at a time, so that they are taken in while they are
/// in the processor's caches, and a large page is in memory once and not twice.
#[derive(Debug)]
pub struct RawPage {
    /// Who answered, and at which revision.
    pub header: Header,
    /// Whether the limit cut the answer short.
    pub more: bool,
    /// How many keys the whole range has.
    pub count: i64,
    message: Bytes,
    /// Where in the message reading goes on.
    at: usize,
    left: usize,
    last: Option<Key>,
}

impl RawPage {
    /// Takes a `RangeResponse`; `None` when it is none.
    pub(super) fn of(message: Bytes) -> Option<Self> {
        let (mut header, mut more, mut count, mut left, mut last) = (Header::default(), false, 0, 0, None);
        for field in Fields::of(&message) {
            match field? {
                (1, Content::Bytes(bytes)) => header = self::header(bytes)?,
                (2, Content::Bytes(bytes)) => {
                    left += 1;
                    last = Some(bytes);
                }
                (3, Content::Number(is)) => more = is != 0,
                (4, Content::Number(all)) => count = all.cast_signed(),
                _ => {}
            }
        }
        let last = match last {
            Some(bytes) => Some(key_value(bytes)?.key),
            None => None,
        };
        Some(Self { header, more, count, at: 0, left, last, message })
    }

    /// How many keys are still to be read.
    pub const fn left(&self) -> usize {
        self.left
    }

    /// The size of the whole message in bytes.
    pub fn size(&self) -> usize {
        self.message.len()
    }

    /// The last key of the page, if it has any.
    pub const fn last_key(&self) -> Option<&Key> {
        self.last.as_ref()
    }

    /// Reads so many keys more, or what is left; `None` when they are none.
    pub fn read(&mut self, most: usize) -> Option<Vec<KeyValue>> {
        let mut keys = Vec::with_capacity(most.min(self.left));
        let mut fields = Fields::of(&self.message[self.at..]);
        while keys.len() < most
            && let Some(field) = fields.next()
        {
            if let (2, Content::Bytes(bytes)) = field? {
                keys.push(key_value(bytes)?);
            }
        }
        self.at = self.message.len() - fields.rest().len();
        self.left -= keys.len();
        Some(keys)
    }

    /// The same with all its keys.
    pub(super) fn whole(mut self) -> Option<Page> {
        let keys = self.read(self.left)?;
        Some(Page { header: self.header, keys, more: self.more, count: self.count })
    }
}

/// Reads a `WatchResponse`; `None` when it is none.
pub(super) fn watch_answer(message: &[u8]) -> Option<WatchAnswer> {
    let mut changes = Vec::with_capacity(count(message, 11));
    let (mut from, mut number, mut compacted) = (Header::default(), 0, 0);
    let (mut created, mut cancelled, mut any, mut why) = (false, false, false, String::new());
    for field in Fields::of(message) {
        match field? {
            (1, Content::Bytes(bytes)) => from = header(bytes)?,
            (2, Content::Number(id)) => number = id.cast_signed(),
            (3, Content::Number(is)) => created = is != 0,
            (4, Content::Number(is)) => cancelled = is != 0,
            (5, Content::Number(revision)) => compacted = revision.cast_signed(),
            (6, Content::Bytes(text)) => why = printable(&String::from_utf8_lossy(text)),
            (11, Content::Bytes(bytes)) => {
                any = true;
                changes.extend(change(bytes)?);
            }
            _ => {}
        }
    }
    // Refused watches and progress of the whole stream come as -1, or as 0 from some servers;
    // the numbers handed out start at 1.
    let watch = (number > 0).then_some(WatchId(number));
    Some(if cancelled {
        let compacted = (compacted > 0).then_some(Revision(compacted));
        WatchAnswer::Cancelled { watch, refused: created, compacted, why }
    } else if created {
        WatchAnswer::Created { watch, header: from }
    } else if any {
        WatchAnswer::Events { watch: WatchId(number), header: from, changes }
    } else {
        WatchAnswer::Progress { watch, revision: from.revision }
    })
}

fn header(message: &[u8]) -> Option<Header> {
    let mut header = Header::default();
    for field in Fields::of(message) {
        match field? {
            (1, Content::Number(id)) => header.cluster = ClusterId(id),
            (2, Content::Number(id)) => header.member = MemberId(id),
            (3, Content::Number(revision)) => header.revision = Revision(revision.cast_signed()),
            (4, Content::Number(term)) => header.term = Term(term),
            _ => {}
        }
    }
    Some(header)
}

fn key_value(message: &[u8]) -> Option<KeyValue> {
    let mut kv = KeyValue::default();
    for field in Fields::of(message) {
        match field? {
            (1, Content::Bytes(key)) => kv.key = Key::from(key),
            (2, Content::Number(revision)) => kv.create_revision = Revision(revision.cast_signed()),
            (3, Content::Number(revision)) => kv.mod_revision = Revision(revision.cast_signed()),
            (4, Content::Number(version)) => kv.version = version.cast_signed(),
            (5, Content::Bytes(value)) => kv.value = value.to_vec(),
            (6, Content::Number(lease)) => kv.lease = LeaseId(lease.cast_signed()),
            _ => {}
        }
    }
    Some(kv)
}

/// A change with its revision. `Some(None)` for an event without a key or of a type that this
/// version does not know: a newer server's, which must not end the watch.
#[expect(clippy::option_option, reason = "unreadable and unknown are two things")]
fn change(message: &[u8]) -> Option<Option<(Revision, KeyEvent)>> {
    let (mut kind, mut kv, mut previous) = (0, None, None);
    for field in Fields::of(message) {
        match field? {
            (1, Content::Number(number)) => kind = int32(number),
            (2, Content::Bytes(bytes)) => kv = Some(key_value(bytes)?),
            (3, Content::Bytes(bytes)) => previous = Some(key_value(bytes)?),
            _ => {}
        }
    }
    let Some(kv) = kv else { return Some(None) };
    let revision = kv.mod_revision;
    Some(match kind {
        0 => Some((revision, KeyEvent::Put(kv))),
        1 => Some((revision, KeyEvent::Delete { key: kv.key, previous })),
        unknown => {
            tracing::warn!(unknown, "watch event of an unknown type left out");
            None
        }
    })
}

/// From this size on a message is gone through once more first, so that room is made for all of it
/// at once.
const LARGE: usize = 4 << 10;

/// How often a large message has a field.
fn count(message: &[u8], wanted: u64) -> usize {
    if message.len() < LARGE {
        return 0;
    }
    Fields::of(message).filter(|field| matches!(field, Some((number, _)) if *number == wanted)).count()
}

#[cfg(test)]
mod tests {
    use etcd_client::proto::{PbEvent, PbKeyValue, PbRangeResponse, PbResponseHeader, PbWatchResponse};
    use proptest::collection::vec;
    use proptest::prelude::*;
    use prost::Message as _;

    use super::*;
    use crate::port::convert;

    fn event(r#type: i32) -> PbEvent {
        let kv = PbKeyValue { key: b"k".into(), mod_revision: 7, ..PbKeyValue::default() };
        PbEvent { r#type, kv: Some(kv), prev_kv: None }
    }

    #[test]
    fn an_event_of_an_unknown_type_is_left_out_and_the_rest_stays() {
        let answer = PbWatchResponse { watch_id: 3, events: vec![event(9), event(1)], ..PbWatchResponse::default() };
        let deleted = (Revision(7), KeyEvent::Delete { key: Key::from("k"), previous: None });
        let expected = WatchAnswer::Events { watch: WatchId(3), header: Header::default(), changes: vec![deleted] };
        assert_eq!(watch_answer(&answer.encode_to_vec()), Some(expected));
    }

    #[test]
    fn a_refused_watch_is_no_created_one() {
        let why = "no\u{1b}[2J".to_owned();
        let answer = PbWatchResponse {
            watch_id: -1,
            created: true,
            canceled: true,
            cancel_reason: why,
            ..PbWatchResponse::default()
        };
        let refused =
            WatchAnswer::Cancelled { watch: None, refused: true, compacted: None, why: "no\\u{1b}[2J".into() };
        assert_eq!(watch_answer(&answer.encode_to_vec()), Some(refused));
    }

    #[test]
    fn a_cut_answer_is_none() {
        let kvs = vec![PbKeyValue { key: b"/a".into(), value: b"value".into(), ..PbKeyValue::default() }];
        let whole = PbRangeResponse { kvs, ..PbRangeResponse::default() }.encode_to_vec();
        assert!(page(&whole).is_some());
        for cut in 1..whole.len() {
            assert_eq!(page(&whole[..cut]), None, "cut at {cut}");
        }
    }

    #[test]
    fn a_page_is_read_in_parts() {
        let kv = |name: &str| PbKeyValue { key: name.into(), ..PbKeyValue::default() };
        let kvs = ["/a", "/b", "/c", "/d", "/e"].map(kv).to_vec();
        let wire = PbRangeResponse { kvs, more: true, count: 9, ..PbRangeResponse::default() }.encode_to_vec();
        let mut page = RawPage::of(wire.into()).unwrap();
        assert_eq!((page.left(), page.more, page.count, page.last_key()), (5, true, 9, Some(&Key::from("/e"))));
        let mut names = |most| page.read(most).unwrap().into_iter().map(|kv| kv.key).collect::<Vec<_>>();
        assert_eq!(names(2), ["/a", "/b"].map(Key::from));
        assert_eq!(names(2), ["/c", "/d"].map(Key::from));
        assert_eq!(names(2), ["/e"].map(Key::from));
        assert_eq!((names(2), page.left()), (Vec::new(), 0));
    }

    fn page(message: &[u8]) -> Option<Page> {
        RawPage::of(message.to_vec().into())?.whole()
    }

    prop_compose! {
        fn any_kv()(
            key in vec(any::<u8>(), 0..40), value in vec(any::<u8>(), 0..300), create_revision: i64,
            mod_revision: i64, version: i64, lease: i64,
        ) -> PbKeyValue {
            PbKeyValue { key, value, create_revision, mod_revision, version, lease }
        }
    }

    prop_compose! {
        fn any_header()(cluster_id: u64, member_id: u64, revision: i64, raft_term: u64) -> PbResponseHeader {
            PbResponseHeader { cluster_id, member_id, revision, raft_term }
        }
    }

    /// The same key by way of the generated types.
    fn kv(kv: &PbKeyValue) -> KeyValue {
        convert::key_value(kv.clone())
    }

    proptest! {
        #[test]
        fn a_page_is_read_as_it_was_written(kvs in vec(any_kv(), 0..20), from in any_header(), more: bool, count: i64) {
            let wire = PbRangeResponse { header: Some(from), kvs: kvs.clone(), more, count }.encode_to_vec();
            let expected = Page { header: convert::header(Some(from)), keys: kvs.iter().map(kv).collect(), more, count };
            prop_assert_eq!(page(&wire), Some(expected));
        }

        #[test]
        fn changes_are_read_as_they_were_written(
            events in vec((any_kv(), any::<bool>(), proptest::option::of(any_kv())), 1..20),
            from in any_header(),
            watch_id in 1_i64..,
        ) {
            let put = |(now, put, previous): &(PbKeyValue, bool, Option<PbKeyValue>)| PbEvent {
                r#type: i32::from(!put), kv: Some(now.clone()), prev_kv: previous.clone(),
            };
            let wire = PbWatchResponse {
                header: Some(from), watch_id, events: events.iter().map(put).collect(), ..PbWatchResponse::default()
            };
            let changes = events.iter().map(|(now, put, previous)| {
                let event = if *put {
                    KeyEvent::Put(kv(now))
                } else {
                    KeyEvent::Delete { key: Key::from(&now.key[..]), previous: previous.as_ref().map(kv) }
                };
                (Revision(now.mod_revision), event)
            });
            let expected = WatchAnswer::Events { watch: WatchId(watch_id), header: convert::header(Some(from)), changes: changes.collect() };
            prop_assert_eq!(watch_answer(&wire.encode_to_vec()), Some(expected));
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes in vec(any::<u8>(), 0..200)) {
            page(&bytes);
            watch_answer(&bytes);
        }
    }
}
