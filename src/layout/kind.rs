//! What a value looks like, as far as recipes differ in it. Only the beginning is read: a
//! value may be a megabyte, and this runs for every put.

use super::{ValueKind, segment};
use crate::domain::LeaseId;

/// How much of a value is looked at to tell text from other bytes.
const TEXT_SEEN: usize = 128;
/// How much of a JSON value is searched for the lease.
const JSON_SEEN: usize = 1024;

/// The kind of a value on a key with this lease.
pub(super) fn kind(value: &[u8], lease: LeaseId) -> ValueKind {
    match value {
        [] => ValueKind::Empty,
        [b'{' | b'[', ..] if is_json(value) => {
            // gRPC's own naming writes `{"Op":0,"Addr":…}`: a registration's by its form.
            if value.starts_with(br#"{"Op":"#) || repeats(&value[..value.len().min(JSON_SEEN)], lease) {
                ValueKind::JsonWithLease
            } else {
                ValueKind::Json
            }
        }
        _ if is_uuid_bytes(value) => ValueKind::UuidBytes,
        _ if segment::is_uuid(value) => ValueKind::UuidText,
        _ if is_address(value) => ValueKind::Address,
        _ if is_text(value) => ValueKind::Text,
        _ => ValueKind::Binary,
    }
}

/// Whether 16 bytes are a UUID of version 1 or 4 (RFC 9562 §4). Text is never one: the
/// variant's byte is not ASCII.
pub(super) fn is_uuid_bytes(value: &[u8]) -> bool {
    value.len() == 16 && matches!(value[6] >> 4, 1 | 4) && value[8] >> 6 == 0b10
}

/// Whether a value is `host:port`, with or without a scheme in front.
pub(super) fn is_address(value: &[u8]) -> bool {
    if value.len() > 128 {
        return false;
    }
    let Some(colon) = value.iter().rposition(|byte| *byte == b':') else { return false };
    let (host, port) = (&value[..colon], &value[colon + 1..]);
    let digits = port.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let with_scheme = host.windows(3).position(|part| part == b"://");
    let host = match with_scheme {
        Some(at) if at > 0 => &host[at + 3..],
        _ => host,
    };
    let path_ok = digits == port.len() || (with_scheme.is_some() && port[digits] == b'/');
    (1..=5).contains(&digits) && path_ok && is_host(host)
}

/// Whether text is a host name, an IPv4 address or an IPv6 address in brackets.
pub(super) fn is_host(host: &[u8]) -> bool {
    match host {
        [] => false,
        [b'[', inner @ .., b']'] => {
            inner.len() > 1 && inner.iter().all(|byte| byte.is_ascii_hexdigit() || matches!(byte, b':' | b'.' | b'%'))
        }
        _ => host.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_')),
    }
}

/// Whether text is nothing but decimal digits.
pub(super) fn is_number(text: &[u8]) -> bool {
    !text.is_empty() && text.iter().all(u8::is_ascii_digit)
}

fn is_json(value: &[u8]) -> bool {
    match value {
        [b'{', next, ..] => matches!(next, b'"' | b'}' | b' ' | b'\n' | b'\r' | b'\t'),
        [b'[', next, ..] => matches!(next, b'{' | b'[' | b'"' | b']' | b' ' | b'\n'),
        _ => false,
    }
}

fn is_text(value: &[u8]) -> bool {
    let seen = &value[..value.len().min(TEXT_SEEN)];
    let control =
        seen.iter().fold(false, |found, byte| found | (*byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r')));
    if control || seen.contains(&0x7f) {
        return false;
    }
    match std::str::from_utf8(seen) {
        Ok(_) => true,
        // A character may be cut where the look ends.
        Err(error) => error.error_len().is_none() && seen.len() < value.len(),
    }
}

/// Whether JSON repeats the lease's id, in decimal or hex. Short ids, which clients choose,
/// are found in any text and prove nothing.
fn repeats(json: &[u8], lease: LeaseId) -> bool {
    let id = lease.0.unsigned_abs();
    if id < 1 << 32 {
        return false;
    }
    let (mut decimal, mut hex) = ([0; 20], [0; 16]);
    has_run(json, write_digits(lease.0.cast_unsigned(), 10, &mut decimal))
        || has_run(json, write_digits(id, 16, &mut hex))
}

/// Whether `needle` is in `text`: any place it can be covers a multiple of its length, so
/// only those bytes are looked at.
fn has_run(text: &[u8], needle: &[u8]) -> bool {
    let length = needle.len();
    (length - 1..text.len()).step_by(length).any(|at| {
        let probe = text[at];
        probe.is_ascii_hexdigit()
            && (0..length).any(|offset| {
                needle[offset] == probe && text.get(at - offset..at - offset + length).is_some_and(|run| run == needle)
            })
    })
}

fn write_digits(mut number: u64, base: u64, buffer: &mut [u8]) -> &[u8] {
    let mut at = buffer.len();
    while at > 0 {
        at -= 1;
        let digit = u8::try_from(number % base).expect("a digit is below its base");
        buffer[at] = if digit < 10 { b'0' + digit } else { b'a' + digit - 10 };
        number /= base;
        if number == 0 {
            break;
        }
    }
    &buffer[at..]
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: LeaseId = LeaseId(2_324_035_701_012_574_206);

    fn of(value: &[u8]) -> ValueKind {
        kind(value, LEASE)
    }

    #[test]
    fn values_are_told_apart() {
        assert_eq!(of(b""), ValueKind::Empty);
        assert_eq!(of(b"5>\xa5\xda\xec\x13\x11\xf1\x8d1\x02\xfc\x00\x00\x00\x01"), ValueKind::UuidBytes);
        assert_eq!(of(b"445123c2-ec13-11f1-96b9-02fc00000001"), ValueKind::UuidText);
        assert_eq!(of(br#"{"a":1}"#), ValueKind::Json);
        assert_eq!(of(b"{}"), ValueKind::Json);
        assert_eq!(of(b"10.0.0.7:2379"), ValueKind::Address);
        assert_eq!(of(b"http://10.0.0.7:80/x"), ValueKind::Address);
        assert_eq!(of(b"[::1]:80"), ValueKind::Address);
        assert_eq!(of(b"lock success"), ValueKind::Text);
        assert_eq!(of("größer".as_bytes()), ValueKind::Text);
        assert_eq!(of(b"\x81\xa4zone\xa3z-h"), ValueKind::Binary);
        assert_eq!(of(b"\x1b[2J"), ValueKind::Binary);
    }

    #[test]
    fn near_misses_are_text() {
        for text in [
            "worker-node-0001",
            "vm:6c5cd64d",
            "a:b",
            ":80",
            "host:",
            "{name}",
            "[host]",
            "12:00:00 today",
            "http://:80",
        ] {
            assert_eq!(of(text.as_bytes()), ValueKind::Text, "{text}");
        }
        assert_eq!(of(b"host:123456"), ValueKind::Text, "no port has six digits");
    }

    #[test]
    fn json_that_repeats_the_lease_is_a_registrations() {
        assert_eq!(of(br#"{"ServerID":1,"LeaseID":2324035701012574206,"HostName":"vm"}"#), ValueKind::JsonWithLease);
        assert_eq!(of(br#"{"id":"2040a228242e2ffe"}"#), ValueKind::JsonWithLease);
        assert_eq!(of(br#"{"LeaseID":2324035701012574207}"#), ValueKind::Json);
        assert_eq!(of(br#"{"Op":0,"Addr":"h:1","Metadata":null}"#), ValueKind::JsonWithLease);
        assert_eq!(kind(br#"{"port":4096}"#, LeaseId(4096)), ValueKind::Json, "a short id proves nothing");
        let negative = LeaseId(-7_000_000_000_000_000_000);
        assert_eq!(kind(br#"{"id":11446744073709551616}"#, negative), ValueKind::JsonWithLease);
    }

    #[test]
    fn the_lease_is_found_wherever_it_stands() {
        for before in 0..40 {
            for after in [0, 1, 30] {
                let json = format!("{{\"{}\":2324035701012574206{}", "e".repeat(before), "f".repeat(after));
                assert_eq!(of(json.as_bytes()), ValueKind::JsonWithLease, "{before} {after}");
                let json = format!("{{\"{}\":\"2040a228242e2ffe{}", "2".repeat(before), "0".repeat(after));
                assert_eq!(of(json.as_bytes()), ValueKind::JsonWithLease, "{before} {after}");
            }
        }
    }

    #[test]
    fn a_character_cut_by_the_look_is_still_text() {
        let long = format!("{}é{}", "a".repeat(TEXT_SEEN - 1), "b".repeat(50));
        assert_eq!(of(long.as_bytes()), ValueKind::Text);
        let cut = format!("{}é", "a".repeat(10));
        assert_eq!(of(&cut.as_bytes()[..11]), ValueKind::Binary, "nothing follows that could complete it");
    }
}
