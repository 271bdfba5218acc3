//! Which rows of a list are drawn, and which one is selected.

use std::ops::Range;

use crate::model::ui::Cursor;

/// A list's place on the screen, whatever it lists.
pub struct List<'a> {
    /// The row that is selected.
    pub selected: Option<usize>,
    /// Whether the list has the focus.
    pub focused: bool,
    window: Box<dyn Fn(usize, usize) -> Range<usize> + 'a>,
}

impl<'a> List<'a> {
    /// The list a cursor moves in.
    pub fn of<T: Clone>(cursor: &'a Cursor<T>, focused: bool) -> Self {
        Self { selected: Some(cursor.index()), focused, window: Box::new(move |rows, len| cursor.window(rows, len)) }
    }

    /// The same, with its selection shown only while it has the focus.
    #[must_use]
    pub fn marked_with_focus(self) -> Self {
        Self { selected: self.selected.filter(|_| self.focused), ..self }
    }

    /// The rows to draw where there is room for `rows` of `len`.
    pub fn window(&self, rows: usize, len: usize) -> Range<usize> {
        let window = (self.window)(rows, len);
        window.start.min(len)..window.end.min(len)
    }
}
