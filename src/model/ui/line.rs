//! A line of text that is being typed, with its cursor.

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

use crate::input::action::Edit;

/// More than any key name that can be told apart on a screen; what is typed or pasted beyond
/// is dropped.
const MOST_BYTES: usize = 4_096;

/// The line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    text: String,
    /// Where the next character goes, in bytes; always between two graphemes.
    cursor: usize,
}

impl Line {
    /// A line with this text and the cursor behind it.
    pub fn new(text: impl Into<String>) -> Self {
        let mut line = Self::default();
        line.insert(&text.into());
        line
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text in front of the cursor and behind it.
    pub fn split(&self) -> (&str, &str) {
        self.text.split_at(self.cursor)
    }

    /// Puts text in at the cursor. Line ends and tabs become spaces, other control characters
    /// are dropped: they mean nothing in a line.
    pub fn insert(&mut self, text: &str) {
        let room = MOST_BYTES.saturating_sub(self.text.len());
        let mut taken = String::new();
        for char in text.chars() {
            let char = match char {
                '\n' | '\r' | '\t' => ' ',
                char if char.is_control() => continue,
                char => char,
            };
            if taken.len() + char.len_utf8() > room {
                break;
            }
            taken.push(char);
        }
        self.text.insert_str(self.cursor, &taken);
        self.cursor += taken.len();
        // A combining mark joins what stands around it.
        if !GraphemeCursor::new(self.cursor, self.text.len(), true).is_boundary(&self.text, 0).unwrap_or(true) {
            self.cursor = self.after();
        }
    }

    /// Changes the line; the edits that end or complete it are not the line's to do.
    pub fn edit(&mut self, edit: Edit) {
        match edit {
            Edit::Backspace => self.cut(self.before(), self.cursor),
            Edit::Delete => self.cut(self.cursor, self.after()),
            Edit::DeleteWord => {
                let head = &self.text[..self.cursor];
                let word = head.trim_end_matches(|char: char| !is_word(char)).trim_end_matches(is_word);
                self.cut(word.len(), self.cursor);
            }
            Edit::DeleteLine => self.cut(0, self.cursor),
            Edit::Left => self.cursor = self.before(),
            Edit::Right => self.cursor = self.after(),
            Edit::Start => self.cursor = 0,
            Edit::End => self.cursor = self.text.len(),
            Edit::Accept | Edit::Cancel | Edit::Complete | Edit::Earlier | Edit::Later => {}
        }
    }

    fn before(&self) -> usize {
        self.text[..self.cursor].grapheme_indices(true).next_back().map_or(0, |(at, _)| at)
    }

    fn after(&self) -> usize {
        let mut cursor = GraphemeCursor::new(self.cursor, self.text.len(), true);
        cursor.next_boundary(&self.text, 0).ok().flatten().unwrap_or(self.text.len())
    }

    fn cut(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.cursor = from;
    }
}

/// Words end at slashes as well as at spaces: names of locks are paths.
fn is_word(char: char) -> bool {
    !char.is_whitespace() && char != '/'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(text: &str, edits: &[Edit]) -> (String, String) {
        let mut line = Line::new(text);
        for &edit in edits {
            line.edit(edit);
        }
        let (before, after) = line.split();
        (before.into(), after.into())
    }

    #[test]
    fn the_cursor_goes_by_what_a_person_sees_as_one_character() {
        let flag = "\u{1F1E9}\u{1F1EA}";
        assert_eq!(edited(&format!("a{flag}"), &[Edit::Left]), ("a".into(), flag.into()));
        assert_eq!(edited("xe\u{301}", &[Edit::Backspace]), ("x".into(), String::new()));
        assert_eq!(edited("xe\u{301}y", &[Edit::Start, Edit::Right, Edit::Delete]), ("x".into(), "y".into()));
        assert_eq!(edited("", &[Edit::Left, Edit::Backspace, Edit::Delete, Edit::Right]), Default::default());
    }

    #[test]
    fn words_of_a_path_are_deleted_one_by_one() {
        assert_eq!(edited("/jobs/re index", &[Edit::DeleteWord]).0, "/jobs/re ");
        assert_eq!(edited("/jobs/re index", &[Edit::DeleteWord, Edit::DeleteWord]).0, "/jobs/");
        assert_eq!(edited("/jobs/", &[Edit::DeleteWord]).0, "/");
        assert_eq!(edited("a b", &[Edit::Left, Edit::DeleteLine]), (String::new(), "b".into()));
    }

    #[test]
    fn pasted_control_characters_cannot_do_anything() {
        assert_eq!(Line::new("a\u{1b}[31m\tb\r\nc\u{7}").text(), "a[31m b  c");
    }

    #[test]
    fn a_combining_mark_takes_the_cursor_along() {
        let mut line = Line::new("ab");
        line.edit(Edit::Left);
        line.insert("\u{301}");
        assert_eq!(line.split(), ("a\u{301}", "b"));
    }

    #[test]
    fn a_huge_paste_is_cut_at_a_whole_character() {
        let line = Line::new("é".repeat(5_000));
        assert_eq!(line.text().len(), MOST_BYTES);
    }
}
