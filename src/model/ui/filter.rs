//! Which rows of a list are shown.

/// A filter: text that a row has somewhere in it, or, with a leading `!`, has not.
///
/// Capitals in the text make it mind the case, as in `less -i` and ripgrep's smart case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    text: String,
}

impl Filter {
    /// The filter as it is typed.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into() }
    }

    /// The text as it was typed, with its `!`.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it lets everything through.
    pub fn is_empty(&self) -> bool {
        self.needle().is_empty()
    }

    /// Whether it lets through what does not have the text.
    pub fn is_inverse(&self) -> bool {
        self.text.starts_with('!')
    }

    /// Whether a row is shown, given all that can be looked for in it.
    pub fn shows<'a>(&self, row: impl IntoIterator<Item = &'a [u8]>) -> bool {
        let needle = self.needle().as_bytes();
        if needle.is_empty() {
            return true;
        }
        let minds_case = self.needle().chars().any(char::is_uppercase);
        row.into_iter().any(|text| contains(text, needle, minds_case)) != self.is_inverse()
    }

    /// Whether the text could be part of a lease id: four hex digits or more. Fewer would be in
    /// the id of many a lease by chance.
    pub fn may_be_lease(&self) -> bool {
        let needle = self.needle();
        needle.len() >= 4 && needle.bytes().all(|byte| byte.is_ascii_hexdigit())
    }

    fn needle(&self) -> &str {
        self.text.strip_prefix('!').unwrap_or(&self.text)
    }
}

/// Keys are bytes, so case is that of ASCII.
fn contains(text: &[u8], needle: &[u8], minds_case: bool) -> bool {
    text.windows(needle.len()).any(|part| if minds_case { part == needle } else { part.eq_ignore_ascii_case(needle) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shows(filter: &str, row: &[&str]) -> bool {
        Filter::new(filter).shows(row.iter().map(|text| text.as_bytes()))
    }

    #[test]
    fn a_row_is_shown_when_any_of_its_texts_has_the_filter() {
        assert!(shows("jobs", &["/x", "/Jobs/a"]));
        assert!(!shows("jobs", &["/x", "/job/s"]));
        assert!(shows("", &[]));
    }

    #[test]
    fn an_exclamation_mark_turns_it_round_and_alone_does_nothing() {
        assert!(!shows("!jobs", &["/jobs/a", "/x"]));
        assert!(shows("!jobs", &["/x"]));
        assert!(shows("!", &["/x"]));
        assert!(Filter::new("!").is_empty());
    }

    #[test]
    fn capitals_mind_the_case() {
        assert!(!shows("Jobs", &["/jobs/a"]));
        assert!(shows("Jobs", &["/Jobs/a"]));
    }

    #[test]
    fn keys_that_are_no_text_can_be_filtered() {
        let filter = Filter::new("é");
        assert!(filter.shows([&b"\xff\xc3\xa9\xfe"[..]]));
        assert!(!filter.shows([&b"\xff\xfe"[..]]));
    }
}
