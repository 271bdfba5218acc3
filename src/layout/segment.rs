//! What the last segment of a key can be: the key's own lease, a lease id that lost its
//! lease, a time in nanoseconds, a UUID. Bytes in, verdict out; no allocation, as this runs
//! for every put of every key.

use super::Shape;
use crate::domain::key::split_last;
use crate::domain::{LeaseId, hex_digits};

/// The shape of a segment that writes the key's own lease, or `None` when it does not.
///
/// The segment is compared with the lease, never merely looked at: `DM` names keys by the hex
/// of a worker's name, which looks like a lease id and is none.
pub(super) fn own_lease(segment: &[u8], lease: LeaseId) -> Option<Shape> {
    if lease.is_none() || segment.len() > 20 {
        return None;
    }
    // It is the id that is written out, for one comparison then tells.
    let (digits, zeros) = hex_digits(lease.0.unsigned_abs());
    let unsigned = if lease.0 < 0 { segment.strip_prefix(b"-") } else { Some(segment) };
    if unsigned == Some(&digits[zeros..]) {
        return Some(Shape::LeaseHex);
    }
    // Padding languages print either the absolute value or the two's complement.
    if segment == hex_digits(lease.0.cast_unsigned()).0 {
        return Some(Shape::LeaseHexPadded);
    }
    let written = signed(segment, decimal)?;
    let same = if written.negative {
        lease.0 < 0 && written.value == lease.0.unsigned_abs()
    } else {
        written.value == lease.0.cast_unsigned()
    };
    (same && !written.padded).then_some(Shape::LeaseDecimal)
}

/// A segment that can be a lease id by its look alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "four independent properties of a text")]
pub(super) struct LooksLikeLease {
    /// Whether it is in decimal.
    pub decimal: bool,
    /// Whether it is a negative number in hex: nothing else is named that way.
    pub negative: bool,
    /// Whether a server can have made the id; see [`server_made`].
    pub server_made: bool,
    /// Whether its bytes are printable: the hex of somebody's name, as `DM` writes it.
    pub text: bool,
}

/// Reads a segment as the id of a lease that is not there any more.
///
/// Hex ids have 13 to 16 digits: two leading zeros are dropped for one member in 128, three for
/// one in 2048.
pub(super) fn looks_like_lease(segment: &[u8]) -> Option<LooksLikeLease> {
    match segment.len() {
        13..=17 => {
            let written = signed(segment, hex).filter(|id| id.digits >= 13 && !id.padded)?;
            // Sixteen decimal digits are a time in microseconds or a counter before they are
            // a lease: of real ids one in two thousand has no letter.
            if segment.iter().all(u8::is_ascii_digit) {
                return None;
            }
            let server_made = !written.negative && server_made(written.value);
            let text = is_text(written.value);
            Some(LooksLikeLease { decimal: false, negative: written.negative, server_made, text })
        }
        18 | 19 if !is_nanoseconds(segment) => {
            let server_made = server_made(decimal(segment)?);
            Some(LooksLikeLease { decimal: true, negative: false, server_made, text: false })
        }
        _ => None,
    }
}

/// Whether a key's last segment is hex as long as a lease id. Digests and counters look like
/// that, too; the others beside them give these away.
pub fn looks_like_digest(key: &[u8]) -> bool {
    let (_, last) = split_last(key);
    (13..=16).contains(&last.len()) && hex(last).is_some()
}

/// Whether an etcd server can have made this lease id (`pkg/idutil`): the top bit clear, 15
/// bits of the member's id, 40 bits of the time the member started in milliseconds, and a
/// counter. The 40 bits wrap in 2039; from there back to the first 3.0 they cover 2016 on.
pub(super) fn server_made(id: u64) -> bool {
    const FIRST_RELEASES: u64 = 1_451_606_400_000 - (1 << 40);
    let started = (id >> 8) & 0xff_ffff_ffff;
    id >> 63 == 0 && started >= FIRST_RELEASES && !is_text(id)
}

/// Whether seven or eight bytes are printable: the hex of somebody's name.
fn is_text(id: u64) -> bool {
    id.to_be_bytes().iter().skip_while(|byte| **byte == 0).all(|byte| (b' '..=b'~').contains(byte))
}

/// Whether a segment is a time of this era in nanoseconds since 1970, as etcd's `recipes`
/// name their keys: 19 digits, from 2014 to 2033.
pub(super) fn is_nanoseconds(segment: &[u8]) -> bool {
    segment.len() == 19
        && segment[0] == b'1'
        && decimal(segment).is_some_and(|nanos| (1_400_000_000_000_000_000..2_000_000_000_000_000_000).contains(&nanos))
}

/// Whether a segment is a UUID as text, with its dashes.
pub(super) fn is_uuid(segment: &[u8]) -> bool {
    segment.len() == 36
        && segment.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// A number as a segment writes it.
struct Written {
    value: u64,
    negative: bool,
    digits: usize,
    padded: bool,
}

fn signed(segment: &[u8], parse: fn(&[u8]) -> Option<u64>) -> Option<Written> {
    let (negative, digits) = match segment.split_first()? {
        (b'-', rest) => (true, rest),
        _ => (false, segment),
    };
    let value = parse(digits)?;
    Some(Written { value, negative, digits: digits.len(), padded: digits[0] == b'0' })
}

/// Reads 1 to 16 digits of lower-case hex.
fn hex(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    let mut value = 0;
    for byte in digits {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => return None,
        };
        value = value << 4 | u64::from(digit);
    }
    Some(value)
}

/// Reads decimal digits that fit 64 bits.
fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 20 {
        return None;
    }
    let mut value: u64 = 0;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(segment: &str, lease: i64) -> Option<Shape> {
        own_lease(segment.as_bytes(), LeaseId(lease))
    }

    #[test]
    fn a_segment_is_its_own_lease_in_hex_padded_hex_or_decimal() {
        let lease = 0x694d_8225_4d5f_a305;
        assert_eq!(own("694d82254d5fa305", lease), Some(Shape::LeaseHex));
        assert_eq!(own(&lease.to_string(), lease), Some(Shape::LeaseDecimal));
        assert_eq!(own("1000", 4096), Some(Shape::LeaseHex));
        assert_eq!(own("4096", 4096), Some(Shape::LeaseDecimal));
        assert_eq!(own("0000000000001000", 4096), Some(Shape::LeaseHexPadded));
        assert_eq!(own("a1", 0xa1), Some(Shape::LeaseHex));
    }

    #[test]
    fn a_negative_lease_is_read_signed_and_as_its_complement() {
        let lease = 0x8054_ed32_cb10_a9ff_u64.cast_signed();
        assert_eq!(own("-7fab12cd34ef5601", lease), Some(Shape::LeaseHex));
        assert_eq!(own("8054ed32cb10a9ff", lease), Some(Shape::LeaseHexPadded));
        assert_eq!(own(&lease.to_string(), lease), Some(Shape::LeaseDecimal));
        assert_eq!(own(&lease.cast_unsigned().to_string(), lease), Some(Shape::LeaseDecimal));
        assert_eq!(own("7fab12cd34ef5601", lease), None);
        assert_eq!(own("-8000000000000000", i64::MIN), Some(Shape::LeaseHex));
    }

    #[test]
    fn what_only_looks_like_a_lease_is_not_the_keys_own() {
        let lease = 0x694d_8225_4d5f_a305;
        for other in
            ["694d82254d5fa306", "694D82254D5FA305", "+694d82254d5fa305", "0694d82254d5fa305", "", "-", "leader"]
        {
            assert_eq!(own(other, lease), None, "{other:?}");
        }
        assert_eq!(own("0", 0), None);
        assert_eq!(own("00001000", 4096), None, "padded to neither width");
        assert_eq!(own("04096", 4096), None);
        assert_eq!(own("99999999999999999999", lease), None, "more than 64 bits");
    }

    #[test]
    fn ids_of_servers_are_told_from_names_counters_and_digests() {
        assert!(server_made(0x2040_a228_5077_ba19));
        assert!(server_made(0x7e05_5af8_11b4_bb53));
        assert!(!server_made(0x8040_a228_5077_ba19), "the top bit is clear");
        assert!(!server_made(0x0000_0000_0000_1000), "a counter");
        assert!(!server_made(u64::from_be_bytes(*b"worker-1")), "a name in hex");
    }

    #[test]
    fn an_id_without_its_lease_is_known_by_its_form() {
        let hex = LooksLikeLease { decimal: false, negative: false, server_made: true, text: false };
        assert_eq!(looks_like_lease(b"2040a2285077ba19"), Some(hex));
        assert_eq!(looks_like_lease(b"40a2285077ba19"), Some(hex));
        assert_eq!(looks_like_lease(b"4a2285077ba19").map(|id| id.decimal), Some(false), "three zeros dropped");
        assert_eq!(looks_like_lease(b"776f726b65722d31").map(|id| id.text), Some(true), "worker-1");
        assert_eq!(looks_like_lease(b"776f726b65722d").map(|id| id.text), Some(true), "worker-");
        let negative = LooksLikeLease { decimal: false, negative: true, server_made: false, text: false };
        assert_eq!(looks_like_lease(b"-7fab12cd34ef5601"), Some(negative));
        let decimal = LooksLikeLease { decimal: true, negative: false, server_made: true, text: false };
        assert_eq!(looks_like_lease(b"2324035701012573934"), Some(decimal));
        for other in [&b"1795972100434902"[..], b"1795972100434902922", b"0040a2285077ba19", b"deadbeef", b"README"] {
            assert_eq!(looks_like_lease(other), None, "{:?}", other.escape_ascii().to_string());
        }
    }

    #[test]
    fn digests_are_hex_as_long_as_a_lease() {
        assert!(looks_like_digest(b"/blobs/f040a2285077ba19"));
        assert!(looks_like_digest(b"/blobs/1795972100434902"));
        for other in
            [&b"/blobs/deadbeef"[..], b"/blobs/README", b"/blobs/F040A2285077BA19", b"/blobs/f040a2285077ba19/x"]
        {
            assert!(!looks_like_digest(other), "{:?}", other.escape_ascii().to_string());
        }
    }

    #[test]
    fn nanoseconds_are_of_this_era() {
        assert!(is_nanoseconds(b"1795972069464040059"));
        assert!(!is_nanoseconds(b"2324035701012573934"), "a lease id in decimal");
        assert!(!is_nanoseconds(b"1000000000000000000"), "of 2001");
        assert!(!is_nanoseconds(b"179597206946404005x"));
    }

    #[test]
    fn uuids_have_their_dashes_in_place() {
        assert!(is_uuid(b"7c7ad9fd-f80f-4426-98c8-5a225d58f2c7"));
        assert!(!is_uuid(b"7c7ad9fdf80f442698c85a225d58f2c7"));
        assert!(!is_uuid(b"7c7ad9fd-f80f-4426-98c8-5a225d58f2cg"));
        assert!(!is_uuid(b"7c7ad9fd0f80f-4426-98c8-5a225d58f2c7"));
    }
}
