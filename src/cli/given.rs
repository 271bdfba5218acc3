//! A name as it was typed, and what may be meant by it.
//!
//! A name that is no plain text is printed escaped, or in hex, and comes back so. The same letters
//! can be the whole name of another lock, or key: then nobody but the person who typed them knows.

use super::exit::{Exit, Failure};
use super::json;
use crate::view::text::{NO_NAME, escape, sanitise, unescape};

/// What was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    names: Vec<Vec<u8>>,
    /// The first of them is meant when there is something of that name.
    is_certain: bool,
    typed: String,
}

impl Given {
    /// Reads a name; with `hex` it is one in hex if it can be.
    pub fn of(typed: &[u8], hex: bool) -> Self {
        let text = std::str::from_utf8(typed).ok();
        let from_hex = text.filter(|_| hex).and_then(json::from_hex);
        let is_certain = from_hex.is_some();
        let unescaped = text.and_then(unescape);
        let mut names: Vec<Vec<u8>> = Vec::new();
        let nothing = (typed == NO_NAME.as_bytes()).then(Vec::new);
        for name in from_hex.into_iter().chain([typed.to_vec()]).chain(unescaped).chain(nothing) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let typed = match text {
            Some(text) => sanitise(text).into_owned(),
            None => escape(typed).into_owned(),
        };
        Self { names, is_certain, typed }
    }

    /// The names that may be meant, the likeliest first; never empty.
    pub fn names(&self) -> &[Vec<u8>] {
        &self.names
    }

    /// What was typed, harmless to print; the empty name in quotes.
    pub fn typed(&self) -> &str {
        if self.typed.is_empty() { NO_NAME } else { &self.typed }
    }

    /// The one of the names that something has; `what` is a word for such a thing.
    ///
    /// # Errors
    /// When several have one, and it cannot be told which is meant.
    pub fn meant(&self, what: &str, is_there: impl Fn(&[u8]) -> bool) -> Result<Option<&[u8]>, Failure> {
        let there: Vec<&[u8]> = self.names.iter().map(Vec::as_slice).filter(|name| is_there(name)).collect();
        let is_certain = self.is_certain && there.first().copied() == self.names.first().map(Vec::as_slice);
        match there[..] {
            [] => Ok(None),
            [one] => Ok(Some(one)),
            [first, ..] if is_certain => Ok(Some(first)),
            _ => {
                let line = |name: &&[u8]| format!("\n  --hex {}  is printed as {}", json::hex(name), escape(name));
                let lines: String = there.iter().map(line).collect();
                let failure = Failure::new(
                    Exit::BadInput,
                    format!("`{}` is the name of one {what} and how that of another is printed", self.typed),
                );
                Err(failure.hint(format!("Say in hex which is meant:{lines}")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(typed: &[u8], hex: bool) -> Vec<Vec<u8>> {
        Given::of(typed, hex).names
    }

    #[test]
    fn a_name_may_be_given_as_it_is_printed() {
        let raw = b"/h/\xff\xfe\x80bad".to_vec();
        let printed = escape(&raw).into_owned();
        assert_eq!(names(printed.as_bytes(), false), [printed.clone().into_bytes(), raw.clone()]);
        let hex = json::hex(&raw);
        assert_eq!(names(hex.as_bytes(), true), [raw.clone(), hex.clone().into_bytes()]);
        assert_eq!(names(hex.as_bytes(), false), [hex.into_bytes()]);
        assert_eq!(names(&raw, true), [raw]);
        assert_eq!(names(b"/jobs/a", true), [b"/jobs/a".to_vec()]);
        assert_eq!(names(b"''", false), [b"''".to_vec(), Vec::new()], "the empty name");
        assert_eq!(names(b"C:\\locks", false), [b"C:\\locks".to_vec()], "no escape that is ever printed");
    }

    #[test]
    fn letters_that_are_one_name_and_print_another_are_refused_with_the_way_to_say_which() {
        let (literal, raw) = (&br"/w/amb\x1bX"[..], &b"/w/amb\x1bX"[..]);
        let given = Given::of(literal, false);
        let both = |name: &[u8]| name == literal || name == raw;
        let Err(Failure::Said { exit: Exit::BadInput, what, hint: Some(hint) }) = given.meant("lock", both) else {
            panic!("it is refused")
        };
        assert_eq!(what, r"`/w/amb\x1bX` is the name of one lock and how that of another is printed");
        assert_eq!(
            hint.lines().skip(1).collect::<Vec<_>>(),
            [
                r"  --hex 2f772f616d625c78316258  is printed as /w/amb\\x1bX",
                r"  --hex 2f772f616d621b58  is printed as /w/amb\x1bX"
            ]
        );
        assert_eq!(given.meant("lock", |name| name == raw).unwrap(), Some(raw));
        for name in [literal, raw] {
            let hex = json::hex(name);
            assert_eq!(Given::of(hex.as_bytes(), true).meant("lock", both).unwrap(), Some(name));
        }
        assert_eq!(given.meant("lock", |_| false).unwrap(), None);
    }

    #[test]
    fn hex_that_is_a_name_itself_is_taken_for_hex_where_hex_is_asked_for() {
        let there = |name: &[u8]| name == b"2f61" || name == b"/a";
        assert_eq!(Given::of(b"2f61", true).meant("lock", there).unwrap(), Some(&b"/a"[..]));
        assert_eq!(Given::of(b"2f61", false).meant("lock", there).unwrap(), Some(&b"2f61"[..]));
        assert_eq!(Given::of(b"2f61", true).meant("lock", |name| name == b"2f61").unwrap(), Some(&b"2f61"[..]));
    }
}
