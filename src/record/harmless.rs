//! JSON that a terminal only prints.
//!
//! JSON has to escape the first 32 characters only; a terminal also obeys DEL and the C1
//! controls, and bidirectional marks reorder what stands around them. Written as `\uXXXX`
//! they mean the same to every reader of JSON and nothing to a terminal.

use std::io::{self, Write};

use serde_json::ser::Formatter;

use crate::domain::escape::is_unsafe;

/// Compact JSON with harmless strings.
#[derive(Clone, Copy, Debug)]
pub struct Harmless;

impl Formatter for Harmless {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, to: &mut W, fragment: &str) -> io::Result<()> {
        // Nearly every text is plain ASCII, and a look at its bytes is many times cheaper: without
        // a way out of the loop many of them are looked at together.
        if fragment.bytes().fold(true, |plain, byte| plain & matches!(byte, b' '..=b'~')) {
            return to.write_all(fragment.as_bytes());
        }
        let mut rest = fragment;
        while let Some(at) = rest.find(is_unsafe) {
            let (plain, tail) = rest.split_at(at);
            to.write_all(plain.as_bytes())?;
            let mut characters = tail.chars();
            if let Some(character) = characters.next() {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    write!(to, "\\u{unit:04x}")?;
                }
            }
            rest = characters.as_str();
        }
        to.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize as _;

    use super::*;

    fn written(text: &str) -> String {
        let mut out = Vec::new();
        text.serialize(&mut serde_json::Serializer::with_formatter(&mut out, Harmless)).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn nothing_a_terminal_obeys_is_left_and_the_text_stays_the_same() {
        for text in ["/jobs/报告", "a\x1b[2J\x7f\u{9b}31m", "lock\u{202e}drow\"\\", "\u{e0041}x\u{fdd0}", ""] {
            let json = written(text);
            assert!(!json.chars().any(is_unsafe), "{json:?}");
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
        }
        assert_eq!(written("/jobs/报告"), "\"/jobs/报告\"");
        assert_eq!(written("\u{9b}"), "\"\\u009b\"");
    }
}
