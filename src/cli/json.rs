//! The JSON documents: every shape that scripts rely on, in one place.
//!
//! They are views of the model that serialise themselves, so that a document of a hundred
//! thousand locks is written without being built first. Fields may be added; those here stay.

#![expect(clippy::struct_field_names, reason = "fields have the names that the documents promise")]

use std::fmt::Write as _;
use std::io::Write;

use serde::ser::SerializeSeq as _;
use serde::{Serialize, Serializer};

use crate::domain::{ClusterId, LeaseId, MemberId, Revision, bytes, hex_digits};
use crate::model::{Facts, KeyView, Renewal, TtlState};

mod cluster;
mod demo;
mod doctor;
mod history;
mod lease;
mod lock;
mod settings;
mod tree;
mod watch;
mod write;

pub use crate::record::Harmless;
pub use cluster::{Info, Members, Unreached, Version};
pub use demo::{Run, Scenarios, recipe};
pub use doctor::Doctor;
pub use history::History;
pub use lease::{LeaseKeys, Leases};
pub use lock::{Locks, Lone, Show};
pub use settings::{ConfigPath, Context, Contexts, SettingsInForce};
pub use tree::{Forest, Tree};
pub use watch::{Lines, cause, event};
pub use write::Writing;

/// The version of the shapes.
pub const SCHEMA: &str = "lockscope/1";

/// Writes a document and the end of its line.
pub fn write(document: &impl Serialize, to: &mut impl Write) -> Result<(), serde_json::Error> {
    document.serialize(&mut serde_json::Serializer::with_formatter(&mut *to, Harmless))?;
    to.write_all(b"\n").map_err(serde_json::Error::io)
}

/// What every document about a cluster starts with.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Head {
    schema: &'static str,
    cluster_id: Option<Hex>,
    revision: Option<i64>,
}

impl Head {
    /// The head of a document about these facts.
    pub fn of(facts: &Facts) -> Self {
        Self {
            schema: SCHEMA,
            cluster_id: facts.link.cluster_id.map(Into::into),
            revision: Some(facts.link.revision.0).filter(|&revision| revision > 0),
        }
    }
}

/// A key, a value or a name: a string when it is UTF-8, `{"base64": …}` when it is not, and
/// hex when that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<'a> {
    bytes: &'a [u8],
    hex: bool,
}

/// How texts are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Keys and values as hex.
    pub hex: bool,
}

impl Style {
    /// A text in this style.
    pub const fn text(self, bytes: &[u8]) -> Text<'_> {
        Text { bytes, hex: self.hex }
    }
}

impl Text<'_> {
    /// Whether it is written as it is, between quotes.
    fn is_plain(&self) -> bool {
        !self.hex && is_plain(self.bytes)
    }
}

/// Whether bytes are printable ASCII without quotes and backslashes, eight at a time: each line of
/// `watch` asks it.
fn is_plain(bytes: &[u8]) -> bool {
    let Some(last) = bytes.last_chunk::<8>() else { return bytes.iter().all(|&byte| special([byte; 8]) == 0) };
    bytes.as_chunks().0.iter().fold(special(*last), |any, eight| any | special(*eight)) == 0
}

/// Some bit where one of eight bytes is not plain. What is borrowed or carried from one byte to the
/// next comes from one that is not plain either.
fn special(eight: [u8; 8]) -> u64 {
    const HIGH: u64 = each(0x80);
    let bytes = u64::from_ne_bytes(eight);
    let below = |bytes: u64, bound: u8| bytes.wrapping_sub(each(bound)) & !bytes & HIGH;
    let control = below(bytes, b' ');
    let beyond = (bytes.wrapping_add(each(0x7f - b'~')) | bytes) & HIGH;
    let quote = below(bytes ^ each(b'"'), 1);
    let backslash = below(bytes ^ each(b'\\'), 1);
    control | beyond | quote | backslash
}

const fn each(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if self.hex {
            return to.serialize_str(&hex(self.bytes));
        }
        bytes::serialize(self.bytes, to)
    }
}

/// Bytes as lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a String never fails");
        text
    })
}

/// The bytes of a key in hex; `None` when it is not what [`hex`] writes.
pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    let digits = |pair| std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2 && !pair.starts_with('+'));
    (!text.is_empty()).then(|| pairs.map(|pair| u8::from_str_radix(digits(pair)?, 16).ok()).collect())?
}

/// An id as hex, the way operators see it elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hex {
    /// A lease, signed as the recipes write it into keys.
    Lease(LeaseId),
    /// A member.
    Member(MemberId),
    /// A cluster.
    Cluster(ClusterId),
}

impl Hex {
    /// Appends the digits.
    fn write(self, to: &mut Vec<u8>) {
        let id = match self {
            Self::Lease(id) => {
                if id.0 < 0 {
                    to.push(b'-');
                }
                id.0.unsigned_abs()
            }
            Self::Member(id) => id.0,
            Self::Cluster(id) => id.0,
        };
        let (digits, zeros) = hex_digits(id);
        to.extend_from_slice(&digits[zeros..]);
    }
}

impl Serialize for Hex {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Lease(id) => to.collect_str(id),
            Self::Member(id) => to.collect_str(id),
            Self::Cluster(id) => to.collect_str(id),
        }
    }
}

impl From<MemberId> for Hex {
    fn from(id: MemberId) -> Self {
        Self::Member(id)
    }
}

impl From<ClusterId> for Hex {
    fn from(id: ClusterId) -> Self {
        Self::Cluster(id)
    }
}

/// A lease id, or null for a key without a lease.
pub fn lease_id(id: LeaseId) -> Option<Hex> {
    (!id.is_none()).then_some(Hex::Lease(id))
}

/// A lease's time, as the cluster last told it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Ttl {
    /// Seconds granted.
    pub granted: i64,
    /// Seconds left at the poll; zero or less when it is overdue.
    pub remaining: i64,
    /// How long ago that was.
    pub age_ms: i64,
}

/// What is known of a lease's time and of its renewal.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Time {
    ttl: Option<Ttl>,
    lease_state: &'static str,
    renewed_ms_ago: Option<i64>,
    not_renewed_ms: Option<i64>,
}

impl Time {
    /// Puts a lease's state and renewal together.
    pub fn of(state: TtlState, renewal: Renewal) -> Self {
        let (renewed_ms_ago, not_renewed_ms) = match renewal {
            Renewal::Unknown => (None, None),
            Renewal::Renewed { ago } => (Some(ago.0), None),
            Renewal::NotRenewed { since } => (None, Some(since.0)),
        };
        Self { ttl: ttl(state), lease_state: lease_state(state), renewed_ms_ago, not_renewed_ms }
    }
}

/// The time of a lease in etcd's numbers; none when it was not asked, does not exist or is
/// not known to the member that answered.
pub fn ttl(state: TtlState) -> Option<Ttl> {
    match state {
        TtlState::Live { granted, polled, age, .. } => Some(Ttl { granted, remaining: polled, age_ms: age.0 }),
        // Counted from the moment its time was up, which the poll's age moves back.
        TtlState::Overdue { granted, by, age } => {
            Some(Ttl { granted, remaining: -((by.0 - age.0).max(0) / 1000), age_ms: age.0 })
        }
        TtlState::NoLease | TtlState::Unpolled | TtlState::Gone | TtlState::Unknown => None,
    }
}

/// A word for what is known of a lease.
pub const fn lease_state(state: TtlState) -> &'static str {
    match state {
        TtlState::NoLease => "none",
        TtlState::Unpolled => "not-asked",
        TtlState::Live { .. } => "live",
        TtlState::Overdue { .. } => "overdue",
        TtlState::Gone => "gone",
        TtlState::Unknown => "unknown",
    }
}

/// What every key in a lock has.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Key<'a> {
    key: Text<'a>,
    lease: Option<Hex>,
    create_revision: Revision,
    mod_revision: Revision,
    #[serde(flatten)]
    time: Time,
    value: Text<'a>,
    value_size: u32,
}

impl<'a> Key<'a> {
    /// A key as it is known. Long values are cut at a whole character; `value_size` tells.
    pub fn of(view: &KeyView<'a>, style: Style) -> Self {
        let entry = view.entry();
        Self {
            key: style.text(&entry.key),
            lease: lease_id(entry.lease()),
            create_revision: entry.create_revision,
            mod_revision: entry.mod_revision,
            time: Time::of(view.ttl(), view.renewal()),
            value: style.text(whole_characters(&entry.value, entry.value_len)),
            value_size: entry.value_len,
        }
    }
}

impl<'a> Key<'a> {
    /// The same with more of its value than is kept.
    pub const fn with_value(self, value: Text<'a>) -> Self {
        Self { value, ..self }
    }
}

/// What is kept of a value, without the half of a character that cutting it may have left.
pub fn whole_characters(kept: &[u8], whole_len: u32) -> &[u8] {
    if usize::try_from(whole_len).is_ok_and(|len| len == kept.len()) {
        return kept;
    }
    match std::str::from_utf8(kept) {
        Err(error) if error.error_len().is_none() => &kept[..error.valid_up_to()],
        _ => kept,
    }
}

/// A list that is made while it is written.
pub struct Each<F>(pub F);

impl<F, I, T> Serialize for Each<F>
where
    F: Fn() -> I,
    I: Iterator<Item = T>,
    T: Serialize,
{
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut list = to.serialize_seq(None)?;
        for item in (self.0)() {
            list.serialize_element(&item)?;
        }
        list.end()
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::domain::Millis;

    fn json(value: &impl Serialize) -> String {
        serde_json::to_string(value).unwrap()
    }

    proptest! {
        #[test]
        fn plain_is_printable_ascii_that_stands_for_itself_between_quotes(bytes in vec(any::<u8>(), 0..30), text in "[ -~\\x7f\\t\"]{0,30}") {
            for bytes in [&bytes[..], text.as_bytes()] {
                let plain = |byte: &u8| (b' '..=b'~').contains(byte) && !matches!(byte, b'"' | b'\\');
                prop_assert_eq!(is_plain(bytes), bytes.iter().all(plain));
            }
        }
    }

    #[test]
    fn every_byte_is_judged_alone_wherever_it_stands() {
        for byte in 0..=u8::MAX {
            for at in 0..11 {
                let mut bytes = [b'a'; 11];
                bytes[at] = byte;
                assert_eq!(is_plain(&bytes), matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\'), "{byte}");
            }
        }
    }

    #[test]
    fn texts_are_strings_or_base64_or_hex() {
        let style = Style::default();
        assert_eq!(json(&style.text("/jobs/报告\n".as_bytes())), "\"/jobs/报告\\n\"");
        assert_eq!(json(&style.text(b"\xff\x00")), r#"{"base64":"/wA="}"#);
        assert_eq!(json(&Style { hex: true }.text(b"\xff\x00a")), "\"ff0061\"");
    }

    #[test]
    fn times_are_etcds_numbers_at_the_poll() {
        let live = TtlState::Live { granted: 60, polled: 6, remaining: Millis(5_880), age: Millis(120) };
        assert_eq!(ttl(live), Some(Ttl { granted: 60, remaining: 6, age_ms: 120 }));
        let overdue = TtlState::Overdue { granted: 60, by: Millis(31_000), age: Millis(1_000) };
        assert_eq!(ttl(overdue), Some(Ttl { granted: 60, remaining: -30, age_ms: 1_000 }));
        for unknown in [TtlState::NoLease, TtlState::Unpolled, TtlState::Gone, TtlState::Unknown] {
            assert_eq!(ttl(unknown), None);
        }
    }

    #[test]
    fn a_cut_value_ends_with_a_whole_character() {
        let text = "añ".as_bytes();
        assert_eq!(whole_characters(&text[..2], 100), b"a");
        assert_eq!(whole_characters(text, 3), text);
        // Bytes that were no text before the cut stay as they are.
        assert_eq!(whole_characters(b"\xff\xc3", 100), b"\xff\xc3");
        assert_eq!(whole_characters(b"a\xc3", 2), b"a\xc3");
    }

    #[test]
    fn ids_are_the_hex_operators_know() {
        assert_eq!(json(&lease_id(LeaseId(-0x7fab_12cd_34ef_5601))), "\"-7fab12cd34ef5601\"");
        assert_eq!(json(&lease_id(LeaseId::NONE)), "null");
        assert_eq!(json(&Hex::from(MemberId(0x8e9e_05c5_2164_694d))), "\"8e9e05c52164694d\"");
        for id in [0, 1, -1, 0x10, i64::MAX, i64::MIN, -0x7fab_12cd_34ef_5601] {
            let mut written = Vec::new();
            Hex::Lease(LeaseId(id)).write(&mut written);
            assert_eq!(String::from_utf8(written).unwrap(), LeaseId(id).to_string());
        }
    }
}
