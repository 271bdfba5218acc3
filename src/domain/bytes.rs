//! Keys and values as serialised data: a string when they are UTF-8, `{"base64": …}` when not.
//!
//! So a recording can be read and searched like the documents that commands print. It is for
//! `#[serde(with = "…")]` on fields of bytes.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Deserializer, Serializer};

/// The one field of bytes that are no text.
const BASE64: &str = "base64";

/// Writes bytes.
///
/// # Errors
/// When the format fails.
pub fn serialize<S: Serializer>(bytes: impl AsRef<[u8]>, to: S) -> Result<S::Ok, S::Error> {
    let bytes = bytes.as_ref();
    if let Ok(text) = std::str::from_utf8(bytes) {
        return to.serialize_str(text);
    }
    let mut map = to.serialize_map(Some(1))?;
    map.serialize_entry(BASE64, &STANDARD.encode(bytes))?;
    map.end()
}

/// Reads what [`serialize`] wrote, and plain lists of numbers.
///
/// # Errors
/// When it is none of these, or no base64.
pub fn deserialize<'de, D: Deserializer<'de>, B: From<Vec<u8>>>(from: D) -> Result<B, D::Error> {
    from.deserialize_any(Bytes).map(B::from)
}

struct Bytes;

impl<'de> Visitor<'de> for Bytes {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, or bytes as {\"base64\": …}")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Vec<u8>, E> {
        Ok(text.as_bytes().to_vec())
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Vec<u8>, E> {
        Ok(text.into_bytes())
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
        Ok(bytes.to_vec())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<u8>, A::Error> {
        let mut bytes = Vec::new();
        while let Some(byte) = items.next_element()? {
            bytes.push(byte);
        }
        Ok(bytes)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Vec<u8>, A::Error> {
        let mut bytes = None;
        while let Some(field) = fields.next_key::<String>()? {
            if field == BASE64 {
                let text: String = fields.next_value()?;
                bytes = Some(STANDARD.decode(text).map_err(A::Error::custom)?);
            } else {
                fields.next_value::<IgnoredAny>()?;
            }
        }
        bytes.ok_or_else(|| A::Error::missing_field(BASE64))
    }
}

#[cfg(test)]
mod tests {
    use crate::domain::Key;

    #[test]
    fn text_stays_text_and_other_bytes_survive() {
        for (bytes, json) in [
            (&b"/jobs/a"[..], "\"/jobs/a\""),
            (b"", "\"\""),
            ("/报告".as_bytes(), "\"/报告\""),
            (b"\xff\x00a", "{\"base64\":\"/wBh\"}"),
        ] {
            let key = Key::from(bytes);
            assert_eq!(serde_json::to_string(&key).unwrap(), json);
            assert_eq!(serde_json::from_str::<Key>(json).unwrap(), key);
        }
        let later = "{\"hint\":[1,{}],\"base64\":\"/w==\"}";
        assert_eq!(serde_json::from_str::<Key>(later).unwrap(), Key::from(&b"\xff"[..]));
    }

    #[test]
    fn what_is_neither_is_refused() {
        for json in ["7", "null", "{}", "{\"base64\":\"!\"}", "{\"base64\":7}", "[256]", "[\"a\"]"] {
            assert!(serde_json::from_str::<Key>(json).is_err(), "{json}");
        }
    }
}
