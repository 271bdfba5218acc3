//! Where something is in a text, as people count: in which line and which column.

/// Line and column, both from 1, of a byte in a text; columns are counted in characters. A byte
/// behind the end counts as the end.
pub fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(at.min(text.len()))];
    let start_of_line = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[start_of_line..].chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_are_counted_from_one_and_in_characters() {
        let text = "名 = 1\nholds = 2\n";
        assert_eq!(line_and_column(text, 0), (1, 1));
        assert_eq!(line_and_column(text, "名 ".len()), (1, 3));
        assert_eq!(line_and_column(text, text.find("holds").unwrap()), (2, 1));
        assert_eq!(line_and_column(text, 1), (1, 1), "within a character it is that character");
        assert_eq!(line_and_column(text, text.len() + 9), (3, 1), "behind the end it is the end");
    }
}
