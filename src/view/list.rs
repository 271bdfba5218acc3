//! What all lists have in common: which rows are drawn, which one is selected, and what the title says.

use std::ops::Range;

use ratatui::text::Line;

use super::text::{escape_text, grouped};
use super::theme::{Role, Theme};
use crate::model::ui::Cursor;
use crate::{lang, say};

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

/// A list's title: `Leases 31`, or `Leases 3/31 /web` behind a filter.
pub fn title<'a>(what: &'static str, shown: usize, total: usize, filter: &str, theme: &Theme) -> Line<'a> {
    let mut spans = vec![theme.span(lang::text(what), Role::Title)];
    if filter.is_empty() {
        spans.push(theme.span(format!(" {}", grouped(shown)), Role::Text));
    } else {
        spans.push(theme.span(format!(" {}/{}", grouped(shown), grouped(total)), Role::Text));
        spans.push(theme.span(format!(" /{}", escape_text(filter)), Role::Warning));
    }
    Line::from(spans)
}

/// Which rows are shown, when not all are: `14-26 of 10,000`.
pub fn position(window: &Range<usize>, len: usize) -> String {
    if window.len() >= len {
        return String::new();
    }
    say!("{first}-{last} of {all}", first = grouped(window.start + 1), last = grouped(window.end), all = grouped(len))
}
