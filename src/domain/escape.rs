//! Turns any bytes into text that a terminal only prints and never obeys.
//!
//! Escaped are control characters, bytes that are not UTF-8, characters that reorder or
//! hide their neighbours (Unicode's bidirectional controls and other format characters, see
//! UAX #9 and UTS #39), characters whose width terminals disagree about, and piled-up
//! combining marks. The form is that of a Rust string: `\n`, `\x1b`, `\u{202e}`, `\\`.
//!
//! It stands below the screens because the embedded cluster, too, puts keys into words.

use std::borrow::Cow;
use std::fmt::Write as _;

use unicode_width::UnicodeWidthChar as _;

/// How many combining marks one character may carry; what comes above them is escaped.
/// Living scripts need at most three or four (Vietnamese two, Tibetan and Hebrew more).
const MAX_MARKS: usize = 4;

/// The printable form of a key or a value: one line, nothing a terminal would act on.
///
/// A backslash becomes two, so that the form is unambiguous.
pub fn escape(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return escape_text(text);
    }
    let mut out = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        escape_into(&mut out, chunk.valid(), true);
        for byte in chunk.invalid() {
            push_byte(&mut out, *byte);
        }
    }
    Cow::Owned(out)
}

/// [`escape`] for what is text already: names of members, messages of servers.
pub fn escape_text(text: &str) -> Cow<'_, str> {
    if is_plain(text) && !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    escape_into(&mut out, text, true);
    Cow::Owned(out)
}

/// The bytes that [`escape`] prints as `text`; `None` when it has an escape that is never
/// printed. Characters that would have been escaped are taken as they are.
pub fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((plain, after)) = rest.split_once('\\') {
        bytes.extend_from_slice(plain.as_bytes());
        let kind = after.chars().next()?;
        rest = &after[kind.len_utf8()..];
        match kind {
            '\\' => bytes.push(b'\\'),
            'n' => bytes.push(b'\n'),
            'r' => bytes.push(b'\r'),
            't' => bytes.push(b'\t'),
            'x' => {
                let digits = rest.get(..2)?;
                bytes.push(u8::try_from(hex(digits)?).ok()?);
                rest = &rest[2..];
            }
            'u' => {
                let (digits, after) = rest.strip_prefix('{')?.split_once('}')?;
                bytes.extend_from_slice(char::from_u32(hex(digits)?)?.encode_utf8(&mut [0; 4]).as_bytes());
                rest = after;
            }
            _ => return None,
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    Some(bytes)
}

/// Bytes as a string of Go's language, quotes included: what `etcdctl txn` reads. It is one line
/// that a terminal only prints, without the quote that ends a word of a shell.
pub fn go_quoted(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() + 2);
    out.push('"');
    for chunk in bytes.utf8_chunks() {
        for char in chunk.valid().chars() {
            match char {
                '"' | '\\' => out.extend(['\\', char]),
                '\'' => push_byte(&mut out, b'\''),
                _ if is_unsafe(char) || char.width() == Some(0) => {
                    char.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| push_byte(&mut out, byte));
                }
                _ => out.push(char),
            }
        }
        chunk.invalid().iter().for_each(|byte| push_byte(&mut out, *byte));
    }
    out.push('"');
    out
}

/// Reads hex digits, of which there is at least one and nothing else.
fn hex(digits: &str) -> Option<u32> {
    let only_digits = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    only_digits.then(|| u32::from_str_radix(digits, 16).ok())?
}

/// The last check before a cell: escapes what is unsafe and leaves backslashes alone, so
/// that text which is escaped already comes out as it went in.
pub fn sanitise(text: &str) -> Cow<'_, str> {
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    escape_into(&mut out, text, false);
    Cow::Owned(out)
}

/// Whether a character must not reach the terminal as itself.
pub fn is_unsafe(char: char) -> bool {
    matches!(u32::from(char),
        0x00..=0x1f | 0x7f..=0x9f // control characters, C0 and C1
        | 0xad | 0x34f | 0x61c // soft hyphen, grapheme joiner, Arabic letter mark
        | 0x600..=0x605 | 0x6dd | 0x70f | 0x890..=0x891 | 0x8e2 // Arabic and Syriac marks that enclose text
        | 0x115f..=0x1160 | 0x17b4..=0x17b5 | 0x3164 | 0xffa0 // fillers that look like nothing
        | 0x180b..=0x180f // Mongolian variation selectors
        | 0x200b..=0x200f | 0x2028..=0x202e | 0x2060..=0x206f // zero width, separators, bidirectional
        | 0xe000..=0xf8ff // private use: drawn by special fonts, one or two cells wide
        | 0xfe00..=0xfe0f | 0xfeff | 0xfff0..=0xfffb // variation selectors, byte order mark, annotations
        | 0xfdd0..=0xfdef // never characters
        | 0x110bd | 0x110cd | 0x13430..=0x1345f | 0x1bca0..=0x1bca3 | 0x1d173..=0x1d17a
        | 0xe0000..=0x0010_ffff // tags, more variation selectors, private use
    ) || u32::from(char) & 0xfffe == 0xfffe
}

/// Whether text needs no escaping at all; the fast path for nearly all of it.
fn is_plain(text: &str) -> bool {
    text.chars().all(is_simple)
}

/// Whether a character is one column wide and joins with nothing, at a glance: printable
/// ASCII and most of what frames, bars and marks are drawn with.
pub const fn is_simple(char: char) -> bool {
    matches!(char, ' '..='~' | '\u{2500}'..='\u{25fc}' | '…' | '★' | '↑' | '·' | '×')
}

fn escape_into(out: &mut String, text: &str, double_backslashes: bool) {
    // A mark needs something printed to sit on: at the start, and behind an escape, it is escaped.
    let mut marks = MAX_MARKS;
    for char in text.chars() {
        let is_mark = char.width() == Some(0);
        if is_unsafe(char) || (is_mark && marks >= MAX_MARKS) {
            push_char(out, char);
            marks = MAX_MARKS;
        } else if char == '\\' && double_backslashes {
            out.push_str("\\\\");
            marks = MAX_MARKS;
        } else {
            marks = if is_mark { marks + 1 } else { 0 };
            out.push(char);
        }
    }
}

fn push_char(out: &mut String, char: char) {
    match char {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\0'..='\x7f' => push_byte(out, char as u8),
        _ => write!(out, "\\u{{{:x}}}", u32::from(char)).expect("writing to a String never fails"),
    }
}

fn push_byte(out: &mut String, byte: u8) {
    write!(out, "\\x{byte:02x}").expect("writing to a String never fails");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ordinary_text_is_not_copied() {
        assert!(matches!(escape(b"/jobs/nightly-report"), Cow::Borrowed("/jobs/nightly-report")));
    }

    #[test]
    fn simple_characters_are_one_column_and_safe() {
        for char in ('\0'..=char::MAX).filter(|&char| is_simple(char)) {
            assert_eq!(char.width(), Some(1), "{char:?}");
            assert!(!is_unsafe(char), "{char:?}");
        }
    }

    #[test]
    fn living_scripts_stay_as_they_are() {
        for text in ["/jobs/报告", "/jobs/مهمة", "/jobs/משימה", "/jobs/Việt", "/e\u{301}t\u{e9}", "/한국어", "/हिन्दी"]
        {
            assert_eq!(escape(text.as_bytes()), text);
        }
    }

    #[test]
    fn what_a_terminal_would_obey_is_spelled_out() {
        assert_eq!(escape(b"a\x1b[2J\x07b"), "a\\x1b[2J\\x07b");
        assert_eq!(escape("a\u{9b}31m".as_bytes()), "a\\u{9b}31m");
        assert_eq!(escape(b"a\nb\tc\rd\x7f"), "a\\nb\\tc\\rd\\x7f");
    }

    #[test]
    fn what_hides_or_reorders_is_spelled_out() {
        assert_eq!(escape("lock\u{202e}drow".as_bytes()), "lock\\u{202e}drow");
        assert_eq!(escape("a\u{200b}b\u{2066}c\u{feff}".as_bytes()), "a\\u{200b}b\\u{2066}c\\u{feff}");
        assert_eq!(escape("x\u{e0041}".as_bytes()), "x\\u{e0041}");
    }

    #[test]
    fn bytes_that_are_not_utf8_are_spelled_out() {
        assert_eq!(escape(b"a\xff\xfeb\xc3"), "a\\xff\\xfeb\\xc3");
        assert_eq!(escape(b"\xc3\xa9\x80"), "é\\x80");
    }

    #[test]
    fn an_escape_in_a_key_and_an_escaped_byte_stay_apart() {
        assert_eq!(escape(b"\\x1b"), "\\\\x1b");
        assert_eq!(escape(b"\x1b"), "\\x1b");
    }

    #[test]
    fn go_reads_the_bytes_back_from_one_harmless_line() {
        assert_eq!(go_quoted(b"/jobs/a b"), r#""/jobs/a b""#);
        assert_eq!(go_quoted(b"it's \"q\" \\"), r#""it\x27s \"q\" \\""#);
        assert_eq!(go_quoted(b"a\n\x1b[2J\xff"), r#""a\x0a\x1b[2J\xff""#);
        assert_eq!(go_quoted("锁\u{202e}e\u{301}".as_bytes()), r#""锁\xe2\x80\xaee\xcc\x81""#);
    }

    #[test]
    fn marks_need_a_character_and_do_not_pile_up() {
        assert_eq!(escape("\u{301}a".as_bytes()), "\\u{301}a");
        let pile = format!("a{}b", "\u{301}".repeat(7));
        assert_eq!(
            escape(pile.as_bytes()),
            format!("a{}{}b", "\u{301}".repeat(4), "\\u{301}".repeat(3)),
            "four marks stay, the rest is spelled out"
        );
    }

    #[test]
    fn what_is_never_printed_is_not_read_back() {
        for text in ["\\", "a\\q", "\\x1", "\\x+1", "\\xé", "\\u{}", "\\u{d800}", "\\u{110000}", "\\u1b"] {
            assert_eq!(unescape(text), None, "{text}");
        }
        assert_eq!(unescape("/h/\\xff\\xfe\\x80bad").as_deref(), Some(&b"/h/\xff\xfe\x80bad"[..]));
    }

    proptest! {
        #[test]
        fn what_is_printed_can_be_read_back(bytes in proptest::collection::vec(any::<u8>(), 0..60), text in "\\PC{0,20}|[\\\\nrtxu{}0-9a-f]{0,20}|\\p{C}{0,10}") {
            for input in [&bytes[..], text.as_bytes()] {
                prop_assert_eq!(unescape(&escape(input)), Some(input.to_vec()));
            }
        }

        #[test]
        fn nothing_unsafe_is_left(bytes in proptest::collection::vec(any::<u8>(), 0..200), text in "\\PC{0,40}|\\p{C}{0,20}") {
            for input in [&bytes[..], text.as_bytes()] {
                let out = escape(input);
                prop_assert!(!out.chars().any(is_unsafe), "{out:?}");
                prop_assert!(!out.chars().any(char::is_control));
            }
        }

        #[test]
        fn escaping_is_one_to_one(a in proptest::collection::vec(any::<u8>(), 0..6), b in proptest::collection::vec(any::<u8>(), 0..6)) {
            prop_assert_eq!(a == b, escape(&a) == escape(&b));
        }

        #[test]
        fn the_last_check_leaves_escaped_text_alone(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let once = escape(&bytes).into_owned();
            prop_assert_eq!(sanitise(&once), once.as_str());
        }
    }
}
