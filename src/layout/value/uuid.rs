//! UUIDs: those made from time and place name the host's network card and the moment a lock
//! object was made (RFC 9562 §5.1).

use jiff::Timestamp;

use super::Decoded;

/// Ticks of 100 ns from the start of the Gregorian calendar, 1582-10-15, to 1970.
const GREGORIAN_TO_UNIX: i128 = 0x01b2_1dd2_1381_4000;

/// Decodes a UUID, in 16 bytes or as text.
pub(super) fn decode(value: &[u8]) -> Option<Decoded> {
    let id = match value.len() {
        16 => uuid::Uuid::from_slice(value).ok()?,
        36 => uuid::Uuid::try_parse_ascii(value).ok()?,
        _ => return None,
    };
    let decoded = Decoded::default().with("uuid", id.to_string());
    if id.get_version_num() != 1 {
        return Some(if value.len() == 36 { Decoded { owner: Some(id.to_string()), ..decoded } } else { decoded });
    }
    let bytes = id.as_bytes();
    let mac = bytes[10..].iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":");
    // A host without a card uses random bits and says so in the multicast bit (§6.10).
    let random = bytes[10] & 1 == 1;
    let decoded = if random {
        decoded.with("node", format!("{mac} (random, no network card)"))
    } else {
        Decoded { owner: Some(mac.clone()), ..decoded }.with("mac", mac)
    };
    Some(match made(bytes) {
        Some(made) => decoded.with("made", made.to_string()),
        None => decoded,
    })
}

/// When a UUID of version 1 was made.
fn made(bytes: &[u8; 16]) -> Option<Timestamp> {
    let low = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    let middle = u16::from_be_bytes([bytes[4], bytes[5]]);
    let high = u16::from_be_bytes([bytes[6] & 0x0f, bytes[7]]);
    let ticks = i128::from(high) << 48 | i128::from(middle) << 32 | i128::from(low);
    Timestamp::from_nanosecond((ticks - GREGORIAN_TO_UNIX) * 100).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field<'a>(decoded: &'a Decoded, label: &str) -> Option<&'a str> {
        decoded.fields.iter().find(|(name, _)| *name == label).map(|(_, text)| text.as_str())
    }

    #[test]
    fn a_time_based_uuid_names_card_and_moment() {
        // RFC 9562, appendix A.1: 2022-02-22 14:22:22 -05:00.
        let decoded = decode(b"C232AB00-9414-11EC-B3C8-9F6BDECED846").expect("a UUID");
        assert_eq!(field(&decoded, "made"), Some("2022-02-22T19:22:22Z"));
        assert_eq!(field(&decoded, "node"), Some("9f:6b:de:ce:d8:46 (random, no network card)"));
        assert_eq!(decoded.owner, None, "random bits are nobody");

        let decoded = decode(b"5>\xa5\xda\xec\x13\x11\xf1\x8d1\x02\xfc\x00\x00\x00\x01").expect("a UUID");
        assert_eq!(decoded.owner.as_deref(), Some("02:fc:00:00:00:01"));
        assert_eq!(field(&decoded, "mac"), Some("02:fc:00:00:00:01"));
        assert_eq!(field(&decoded, "uuid"), Some("353ea5da-ec13-11f1-8d31-02fc00000001"));
        assert!(field(&decoded, "made").is_some_and(|made| made.starts_with("2026-11-29T")), "{decoded:?}");
    }

    #[test]
    fn a_random_uuid_is_its_own_owner_only_as_text() {
        let text = "7c7ad9fd-f80f-4426-98c8-5a225d58f2c7";
        assert_eq!(decode(text.as_bytes()).and_then(|decoded| decoded.owner).as_deref(), Some(text));
        let raw = decode(b"\0\xbbWmR\xa6J\x1a\xabu\x88\xa7\x91\x84G\x90").expect("a UUID");
        assert_eq!(raw.owner, None);
        assert_eq!(field(&raw, "uuid"), Some("00bb576d-52a6-4a1a-ab75-88a791844790"));
    }

    #[test]
    fn the_earliest_moment_is_before_1970() {
        let made = made(&[0, 0, 0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0, 0, 0, 0, 0]).map(|made| made.to_string());
        assert_eq!(made.as_deref(), Some("1582-10-15T00:00:00Z"));
    }
}
