//! Makes text fit a number of columns.
//!
//! Widths are those of grapheme clusters, as the terminal library lays them out: a Chinese
//! character is two columns, a combining mark none.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

use crate::domain::escape::{escape, is_simple};

/// How many columns text takes.
pub fn width(text: &str) -> usize {
    let mut columns = 0;
    for char in text.chars() {
        if !is_simple(char) {
            return text.graphemes(true).map(grapheme_width).sum();
        }
        columns += 1;
    }
    columns
}

fn grapheme_width(grapheme: &str) -> usize {
    grapheme.width()
}

/// Which part of a text may go when there is too little room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The middle: for names, whose ends tell most.
    Middle,
    /// The end: for sentences.
    End,
}

/// `text` in at most `columns` columns, without its middle if need be.
///
/// The start gets the odd column. When not even the ellipsis and a character on each side
/// fit, the end is cut instead.
pub fn cut_middle<'a>(text: &'a str, columns: usize, ellipsis: &str) -> Cow<'a, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let Some(room) = columns.checked_sub(width(ellipsis)).filter(|&room| room >= 2) else {
        return cut_end(text, columns, ellipsis);
    };
    let head = front(text, room - room / 2);
    let tail = back(&text[head.len()..], room - width(head));
    Cow::Owned(format!("{head}{ellipsis}{tail}"))
}

/// `text` in at most `columns` columns, without its end if need be.
pub fn cut_end<'a>(text: &'a str, columns: usize, ellipsis: &str) -> Cow<'a, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    match columns.checked_sub(width(ellipsis)) {
        Some(room) => Cow::Owned(format!("{}{ellipsis}", front(text, room))),
        None => Cow::Borrowed(front(text, columns)),
    }
}

/// A key or value, escaped, in at most `columns` columns.
///
/// The work is bounded by the columns asked for, not by the length of the bytes: a key may
/// be a megabyte long.
pub fn fit_bytes<'a>(bytes: &'a [u8], columns: usize, cut: Cut, ellipsis: &str) -> Cow<'a, str> {
    // A column is at most one character of four bytes with four marks of four bytes; the
    // bytes beyond that many on a side can only lie behind the ellipsis.
    let side = (columns + 4) * 20;
    let text = match cut {
        Cut::End => escape(&bytes[..bytes.len().min(side)]),
        Cut::Middle if bytes.len() <= 2 * side => escape(bytes),
        Cut::Middle => {
            let (head, tail) = (&bytes[..side], &bytes[bytes.len() - side..]);
            Cow::Owned(format!("{}{}", escape(head), escape(tail)))
        }
    };
    // Text that was shortened above is always wider than the columns, so it gets its ellipsis here.
    match (cut, text) {
        (Cut::Middle, Cow::Borrowed(text)) => cut_middle(text, columns, ellipsis),
        (Cut::End, Cow::Borrowed(text)) => cut_end(text, columns, ellipsis),
        (Cut::Middle, Cow::Owned(text)) => Cow::Owned(cut_middle(&text, columns, ellipsis).into_owned()),
        (Cut::End, Cow::Owned(text)) => Cow::Owned(cut_end(&text, columns, ellipsis).into_owned()),
    }
}

/// As much of the front of `text` as fits.
pub fn front(text: &str, columns: usize) -> &str {
    let mut left = columns;
    let end = text
        .grapheme_indices(true)
        .find_map(|(at, grapheme)| match left.checked_sub(grapheme_width(grapheme)) {
            Some(rest) => {
                left = rest;
                None
            }
            None => Some(at),
        })
        .unwrap_or(text.len());
    &text[..end]
}

/// As much of the back of `text` as fits.
pub fn back(text: &str, columns: usize) -> &str {
    let mut left = columns;
    let start = text
        .grapheme_indices(true)
        .rev()
        .find_map(|(at, grapheme)| match left.checked_sub(grapheme_width(grapheme)) {
            Some(rest) => {
                left = rest;
                None
            }
            None => Some(at + grapheme.len()),
        })
        .unwrap_or(0);
    &text[start..]
}

/// What ends a part of a sentence and does not begin a line.
const CLOSING: &str = "。，；：、？！）》」』”’";
/// What begins a part of a sentence and does not end a line.
const OPENING: &str = "（《「『“‘";

/// Splits text behind so many columns: behind a space or beside a wide character, which is a word
/// by itself. A word breaks only where it would not fit on a line of its own; a number stays with
/// the wide measure word behind it.
pub fn split_at_width(text: &str, columns: usize) -> (&str, &str) {
    if width(text) <= columns {
        return (text, "");
    }
    let fits = front(text, columns.max(2));
    let may_end = |at: usize| {
        let next = text[at..].graphemes(true).next().unwrap_or_default();
        let last = text[..at].graphemes(true).next_back().unwrap_or_default();
        let is_wide = |grapheme: &str| grapheme_width(grapheme) > 1;
        if last == " " {
            return !(is_wide(next) && text[..at].trim_end().ends_with(|char: char| char.is_ascii_digit()));
        }
        (is_wide(last) || is_wide(next)) && next != " " && !CLOSING.contains(next) && !OPENING.contains(last)
    };
    let ends = fits.grapheme_indices(true).map(|(at, _)| at).chain([fits.len()]);
    let at = ends.rev().take_while(|&at| at > 0).find(|&at| may_end(at));
    let later = |at: usize| text[at..].split(' ').next().unwrap_or_default();
    let at = at.filter(|&at| at > fits.len() / 2 + 1 || width(later(at)) <= columns);
    text.split_at(at.unwrap_or(fits.len()))
}

/// A text with blanks behind it up to so many columns.
pub fn padded(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// The words before and behind a name in braces, for words whose value has a look of its own.
pub fn around<'a>(words: &'a str, name: &str) -> (&'a str, &'a str) {
    words.split_once(name).unwrap_or((words, ""))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_of_chinese_ends_anywhere_but_before_what_closes_and_within_a_latin_word() {
        assert_eq!(split_at_width("锁交给下一个。它的键", 12), ("锁交给下一", "个。它的键"));
        assert_eq!(split_at_width("锁交给 client-2 持有", 12), ("锁交给 ", "client-2 持有"));
        assert_eq!(split_at_width("锁在 5 s 后交给下一个客户端", 18), ("锁在 5 s 后交给下", "一个客户端"));
        assert_eq!(split_at_width("阻塞 12 个等待者", 9), ("阻塞 ", "12 个等待者"), "a number and its measure word");
        assert_eq!(split_at_width("已释放（共 3 次）", 8), ("已释放", "（共 3 次）"));
        assert_eq!(split_at_width("one two three", 9), ("one two ", "three"));
        assert_eq!(split_at_width("so nothing", 9), ("so ", "nothing"), "a word that fits on the next line");
        assert_eq!(split_at_width("of abcdefghijkl", 9), ("of abcdef", "ghijkl"), "a word that fits nowhere");
    }

    #[test]
    fn the_middle_of_a_name_goes_first() {
        assert_eq!(cut_middle("/jobs/nightly-report", 20, "…"), "/jobs/nightly-report");
        assert_eq!(cut_middle("/jobs/nightly-report", 13, "…"), "/jobs/…report");
        assert_eq!(cut_middle("/jobs/nightly-report", 12, "…"), "/jobs/…eport");
        assert_eq!(cut_middle("/jobs/nightly-report", 12, ".."), "/jobs..eport");
        assert_eq!(cut_middle("/jobs/nightly-report", 2, "…"), "/…");
        assert_eq!(cut_middle("/jobs", 1, "…"), "…");
        assert_eq!(cut_middle("/jobs", 0, "…"), "");
    }

    #[test]
    fn wide_characters_are_never_halved() {
        assert_eq!(cut_middle("任务报告锁", 10, "…"), "任务报告锁");
        assert_eq!(cut_middle("任务报告锁", 9, "…"), "任务…告锁");
        assert_eq!(cut_middle("任务报告锁", 8, "…"), "任务…锁");
        assert_eq!(cut_end("任务报告锁", 4, "…"), "任…");
    }

    #[test]
    fn marks_stay_with_their_letter() {
        assert_eq!(cut_middle("e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}", 3, "…"), "e\u{301}…e\u{301}");
        assert_eq!(width("e\u{301}"), 1);
    }

    #[test]
    fn a_megabyte_is_cut_at_both_ends() {
        let mut key = b"/start/".to_vec();
        key.resize(1 << 20, b'x');
        key.extend_from_slice(b"/end");
        assert_eq!(fit_bytes(&key, 15, Cut::Middle, "…"), "/start/…xxx/end");
        assert_eq!(fit_bytes(&key, 8, Cut::End, "…"), "/start/…");
        let raw = vec![0xff; 1 << 20];
        assert_eq!(width(&fit_bytes(&raw, 30, Cut::Middle, "…")), 30);
    }

    proptest! {
        #[test]
        fn never_wider_than_asked(bytes in proptest::collection::vec(any::<u8>(), 0..400), text in ".{0,80}", columns in 0usize..60, ascii: bool) {
            let ellipsis = if ascii { ".." } else { "…" };
            for input in [&bytes[..], text.as_bytes()] {
                for cut in [Cut::Middle, Cut::End] {
                    let out = fit_bytes(input, columns, cut, ellipsis);
                    prop_assert!(width(&out) <= columns, "{out:?} is wider than {columns}");
                    prop_assert!(!out.chars().any(super::super::is_unsafe), "{out:?}");
                }
            }
        }

        #[test]
        fn what_fits_is_left_alone(text in "[a-z/任务é]{0,20}") {
            prop_assert_eq!(cut_middle(&text, width(&text), "…"), text.as_str());
            prop_assert_eq!(fit_bytes(text.as_bytes(), width(&text), Cut::Middle, "…"), text.as_str());
        }

        #[test]
        fn both_ends_of_a_cut_name_are_its_own(text in "[a-z/任务é]{10,40}", columns in 5usize..20) {
            prop_assume!(width(&text) > columns);
            let out = cut_middle(&text, columns, "…").into_owned();
            let (head, tail) = out.split_once('…').expect("a cut name has an ellipsis");
            prop_assert!(text.starts_with(head) && text.ends_with(tail), "{out} of {text}");
            prop_assert!(columns - width(&out) <= 2, "{out} wastes room");
        }
    }
}
