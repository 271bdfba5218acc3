//! Identities and counters of an etcd cluster, each a type of its own.
//!
//! Printing follows what operators see elsewhere: revisions are decimal, lease ids are the
//! signed, unpadded hex that the concurrency recipes write into keys, member and cluster
//! ids are unsigned hex as `etcdctl member list` prints them.

use std::fmt;
use std::num::ParseIntError;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A revision of the key-value store; one transaction makes at most one new revision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Revision(pub i64);

/// The id of a lease, signed as etcd keeps it; 0 means "no lease".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseId(pub i64);

/// The id of a member of the cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemberId(pub u64);

/// The id of a cluster: two clusters behind one address differ in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterId(pub u64);

/// A Raft term (Raft §5.1): it grows with every election that is started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Term(pub u64);

/// An index into the Raft log (Raft §5.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RaftIndex(pub u64);

impl Revision {
    /// The revision right after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl LeaseId {
    /// "No lease": what etcd reports for a key without one.
    pub const NONE: Self = Self(0);

    /// Whether this is no lease at all.
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// The unsigned hex form that `etcdctl lease list` prints.
    pub fn unsigned_hex(self) -> String {
        format!("{:x}", self.0)
    }

    /// Reads a lease id in hex: padded or not, with or without `0x`, and with a minus sign
    /// as the Go recipes print negative ids.
    ///
    /// # Errors
    /// When the text is not hex or does not fit 64 bits.
    pub fn parse_hex(text: &str) -> Result<Self, ParseIntError> {
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let digits = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")).unwrap_or(digits);
        if negative {
            // The sign is parsed with the digits, so that i64::MIN fits and `--1` does not.
            return i64::from_str_radix(&format!("-{}", reject_sign(digits)), 16).map(Self);
        }
        u64::from_str_radix(reject_sign(digits), 16).map(|id| Self(id.cast_signed()))
    }

    /// Reads a lease id in signed or unsigned decimal.
    ///
    /// # Errors
    /// When the text is not decimal or does not fit 64 bits.
    pub fn parse_decimal(text: &str) -> Result<Self, ParseIntError> {
        text.parse::<i64>().map(Self).or_else(|_| text.parse::<u64>().map(|id| Self(id.cast_signed())))
    }
}

/// The sixteen digits of a number in lower-case hex, and how many zeros lead them: fifteen at most.
pub fn hex_digits(number: u64) -> ([u8; 16], usize) {
    let [upper, lower] = [number >> 32, number & 0xffff_ffff].map(eight_hex_digits);
    let mut digits = [0; 16];
    digits[..8].copy_from_slice(&upper);
    digits[8..].copy_from_slice(&lower);
    (digits, (number.leading_zeros() as usize / 4).min(15))
}

/// The digits of a number of 32 bits, all at once: ids are compared and written for every change.
const fn eight_hex_digits(number: u64) -> [u8; 8] {
    let pairs = (number | number << 16) & 0x0000_ffff_0000_ffff;
    let bytes = (pairs | pairs << 8) & 0x00ff_00ff_00ff_00ff;
    let halves = (bytes | bytes << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    // One in each byte that is beyond nine.
    let letters = (halves + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101;
    (halves + 0x3030_3030_3030_3030 + letters * (b'a' - b'0' - 10) as u64).to_be_bytes()
}

/// `from_str_radix` takes a leading `+`; an id with one is not an id.
fn reject_sign(digits: &str) -> &str {
    if digits.starts_with(['+', '-']) { "" } else { digits }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for LeaseId {
    /// Signed, unpadded hex, as Go's `%x` prints an `int64`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 0 { write!(f, "-{:x}", self.0.unsigned_abs()) } else { write!(f, "{:x}", self.0) }
    }
}

macro_rules! hex_display {
    ($($name:ident),+) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:x}", self.0)
            }
        }
    )+};
}
hex_display!(MemberId, ClusterId);

/// Ids are serialised as the hex text that is printed: many readers of JSON keep no more than 53
/// bits of a number.
macro_rules! hex_text {
    ($($name:ident: $read:expr),+) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(from)?;
                let read: fn(&str) -> Result<Self, ParseIntError> = $read;
                read(&text).map_err(|error| D::Error::custom(format_args!("`{text}` is no id in hex: {error}")))
            }
        }
    )+};
}
hex_text!(
    LeaseId: LeaseId::parse_hex,
    MemberId: |text| u64::from_str_radix(reject_sign(text), 16).map(MemberId),
    ClusterId: |text| u64::from_str_radix(reject_sign(text), 16).map(ClusterId)
);

macro_rules! decimal_display {
    ($($name:ident),+) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )+};
}
decimal_display!(Term, RaftIndex);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lease_ids_print_as_the_go_recipes_write_them() {
        assert_eq!(LeaseId(0x694d_8225_4d5f_a305).to_string(), "694d82254d5fa305");
        assert_eq!(LeaseId(0x1000).to_string(), "1000");
        let negative = LeaseId(0x8054_ed32_cb10_a9ff_u64.cast_signed());
        assert_eq!(negative.to_string(), "-7fab12cd34ef5601");
        assert_eq!(negative.unsigned_hex(), "8054ed32cb10a9ff");
    }

    #[test]
    fn digits_are_those_that_are_printed() {
        let ones = (0..64).map(|bit| 1 << bit);
        let every = [0, 0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210, u64::MAX];
        for number in ones.chain(every) {
            let (digits, zeros) = hex_digits(number);
            assert_eq!(digits, *format!("{number:016x}").as_bytes(), "{number:x}");
            assert_eq!(digits[zeros..], *format!("{number:x}").as_bytes(), "{number:x}");
        }
    }

    #[test]
    fn lease_ids_are_read_in_every_form_that_is_printed() {
        let negative = LeaseId(0x8054_ed32_cb10_a9ff_u64.cast_signed());
        for text in ["-7fab12cd34ef5601", "8054ed32cb10a9ff", "0x8054ed32cb10a9ff", "0X8054ED32CB10A9FF"] {
            assert_eq!(LeaseId::parse_hex(text), Ok(negative), "{text}");
        }
        assert_eq!(LeaseId::parse_hex("0000000000001000"), Ok(LeaseId(4096)));
        assert_eq!(LeaseId::parse_hex("-8000000000000000"), Ok(LeaseId(i64::MIN)));
        assert_eq!(LeaseId::parse_decimal("2324035701012573446"), Ok(LeaseId(2_324_035_701_012_573_446)));
        for nonsense in ["", "0x", "-", "--1", "+1", "-+1", "xyz", "11112222333344445"] {
            assert!(LeaseId::parse_hex(nonsense).is_err(), "{nonsense:?}");
        }
    }
}
