//! A key, and what can be said of it by its text alone.
//!
//! Keys are bytes: etcd promises no encoding. How recipes name their keys is `layout`'s.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// A key of the store: any bytes. Clones share them, for a key is named in many places: in its
/// lock's queue, in each line of the history, in a finding and its remedy.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Key(#[serde(with = "super::bytes")] Arc<[u8]>);

impl Key {
    /// The key's bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// So many of its first bytes, or all of them.
    pub fn front(&self, len: u32) -> &[u8] {
        let len = usize::try_from(len).unwrap_or(usize::MAX).min(self.len());
        &self[..len]
    }

    /// The first key behind this one: where a list goes on that ended with it.
    #[must_use]
    pub fn successor(&self) -> Self {
        Self::from([self.as_bytes(), b"\0"].concat())
    }
}

impl Deref for Key {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl Borrow<[u8]> for Key {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for Key {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes.into())
    }
}

impl From<&[u8]> for Key {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.into())
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().into())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.0.escape_ascii())
    }
}

/// A range of keys `[start, end)` in etcd's way of saying it: an empty `end` is the one key
/// `start`, and `\0` is everything from `start` on.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct KeyRange {
    /// The first key of the range.
    pub start: Key,
    /// The first key behind it; see above for the two special values.
    pub end: Key,
}

impl KeyRange {
    /// The range that `key` and `range_end` of a request mean.
    pub fn from_wire(key: Vec<u8>, range_end: Vec<u8>) -> Self {
        Self { start: key.into(), end: range_end.into() }
    }

    /// All keys that start with `prefix`; an empty prefix is the whole keyspace.
    pub fn prefix(prefix: &[u8]) -> Self {
        // etcd takes an empty key for an error; the whole keyspace starts at `\0`.
        let start = if prefix.is_empty() { &b"\0"[..] } else { prefix };
        Self { start: start.into(), end: prefix_end(prefix).into() }
    }

    /// One key and nothing else.
    pub fn single(key: &[u8]) -> Self {
        Self { start: key.into(), end: Key::default() }
    }

    /// Whether `key` lies in the range.
    pub fn contains(&self, key: &[u8]) -> bool {
        match self.end.as_bytes() {
            [] => key == self.start.as_bytes(),
            [0] => key >= self.start.as_bytes(),
            end => key >= self.start.as_bytes() && key < end,
        }
    }

    /// Whether some key can lie in both ranges.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.contains(&other.start) || other.contains(&self.start)
    }

    /// Whether every key of `other` lies in this range.
    pub fn covers(&self, other: &Self) -> bool {
        let ends_later = match (self.end.as_bytes(), other.end.as_bytes()) {
            ([0], _) | (_, []) => true,
            (_, [0]) | ([], _) => false,
            (own, others) => own >= others,
        };
        self.contains(&other.start) && (ends_later || self == other)
    }

    /// The prefix this range was made from, for people to read: `/jobs/`, or the key itself.
    pub fn label(&self) -> &[u8] {
        if self.start.as_bytes() == b"\0" { b"" } else { &self.start }
    }
}

/// Splits a key at its last slash into the parent and the last segment; the slash belongs
/// to neither. A key without a slash has an empty parent.
pub fn split_last(key: &[u8]) -> (&[u8], &[u8]) {
    match key.iter().rposition(|&byte| byte == b'/') {
        Some(at) => (&key[..at], &key[at + 1..]),
        None => (&[], key),
    }
}

/// The end of the range of all keys that start with `prefix`, as etcd wants it: the prefix
/// with its last byte raised, dropping trailing `0xff`. An empty prefix, or one of `0xff`
/// alone, gives `\0`, which etcd reads as "all keys from here on".
pub fn prefix_end(prefix: &[u8]) -> Vec<u8> {
    match prefix.iter().rposition(|&byte| byte != 0xff) {
        Some(at) => {
            let mut end = prefix[..=at].to_vec();
            end[at] += 1;
            end
        }
        None => vec![0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_slash_splits_a_key() {
        assert_eq!(split_last(b"/lock/a/1f"), (&b"/lock/a"[..], &b"1f"[..]));
        assert_eq!(split_last(b"/lock/a//1f"), (&b"/lock/a/"[..], &b"1f"[..]));
        assert_eq!(split_last(b"lock"), (&b""[..], &b"lock"[..]));
        assert_eq!(split_last(b"/"), (&b""[..], &b""[..]));
    }

    #[test]
    fn ranges_overlap_and_cover_each_other() {
        let (all, dir, sub, one) =
            (KeyRange::prefix(b""), KeyRange::prefix(b"/a/"), KeyRange::prefix(b"/a/b/"), KeyRange::single(b"/a/b/c"));
        for (outer, inner) in [(&all, &dir), (&dir, &sub), (&sub, &one), (&all, &one), (&dir, &dir), (&one, &one)] {
            assert!(outer.covers(inner) && outer.overlaps(inner) && inner.overlaps(outer), "{outer:?} {inner:?}");
            assert_eq!(inner.covers(outer), outer == inner, "{inner:?} {outer:?}");
        }
        assert!(!dir.overlaps(&KeyRange::prefix(b"/b/")));
        assert!(!sub.overlaps(&KeyRange::single(b"/a/b0")));
    }

    #[test]
    fn a_prefix_ends_where_etcd_says() {
        assert_eq!(prefix_end(b"/a/"), b"/a0");
        assert_eq!(prefix_end(b"a\xff"), b"b");
        assert_eq!(prefix_end(b""), b"\0");
        assert_eq!(prefix_end(b"\xff\xff"), b"\0");
    }
}
