//! The help: every key of the keymap, those of the open screen first, and a filter.

use ratatui::layout::Rect;
use ratatui::text::Line;

use super::panel::Panel;
use crate::input::Pane;
use crate::input::keymap::{Binding, Context, of};
use crate::view::canvas::Canvas;
use crate::view::text::{escape_text, width};
use crate::view::theme::Role;

/// What the help shows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Help<'a> {
    /// Contexts whose keys come first: those of the open screen.
    pub first: &'a [Context],
    /// Only rows with these words are shown; empty shows all.
    pub filter: &'a str,
    /// How many rows are scrolled away.
    pub top: usize,
}

/// A row of the help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Row {
    Heading(Context),
    Key(&'static Binding),
    Space,
}

impl Help<'_> {
    /// How many rows it has with its filter: what scrolling ends at.
    pub fn rows(&self) -> usize {
        self.list().len()
    }

    fn list(&self) -> Vec<Row> {
        let rest = Context::ALL.into_iter().filter(|context| !self.first.contains(context));
        let mut rows = Vec::new();
        for context in self.first.iter().copied().chain(rest) {
            let keys: Vec<Row> = of(context).filter(|binding| self.matches(context, binding)).map(Row::Key).collect();
            if keys.is_empty() {
                continue;
            }
            if !rows.is_empty() {
                rows.push(Row::Space);
            }
            rows.push(Row::Heading(context));
            rows.extend(keys);
        }
        rows
    }

    fn matches(&self, context: Context, binding: &Binding) -> bool {
        let wanted = self.filter.to_lowercase();
        let names = || binding.keys.iter().map(|key| key.to_string().to_lowercase());
        // A single key finds itself alone: `q` would otherwise find every word with a q.
        if wanted.chars().count() == 1 && names().any(|name| name == wanted) {
            return true;
        }
        let text = format!("{} {} {}", context.title(), binding.help, names().collect::<Vec<_>>().join(" "));
        let text = text.to_lowercase();
        wanted.split_whitespace().all(|word| text.contains(word))
    }

    /// Draws the help over everything in `area`.
    pub fn draw(&self, canvas: &mut Canvas<'_>, area: Rect) {
        let area = centred(area, 76, u16::try_from(self.rows() + 2).unwrap_or(u16::MAX).max(8));
        canvas.clear(area);
        let title = match self.filter {
            "" => "Help".to_owned(),
            filter => format!("Help: /{}", escape_text(filter)),
        };
        let panel = Panel::new(Line::from(canvas.theme.span(title, Role::Title)))
            .data(canvas.theme.span("esc closes the help, Ctrl-C quits", Role::Muted))
            .focused(true);
        let inner = panel.draw(canvas, area);
        canvas.hit_pane(area, Pane::Help, inner.height);
        let rows = self.list();
        if rows.is_empty() {
            canvas.text(inner.x + 1, inner.y, inner.width.saturating_sub(1), "No key has these words.", Role::Muted);
        }
        let keys_wide = Context::ALL.into_iter().flat_map(of).map(|row| width(&keys_of(row))).max().unwrap_or(0);
        let top = self.top.min(rows.len().saturating_sub(usize::from(inner.height)));
        for (y, row) in (inner.top()..inner.bottom()).zip(&rows[top..]) {
            let line = match row {
                Row::Space => continue,
                Row::Heading(context) => Line::from(canvas.theme.span(context.title(), Role::Title)),
                Row::Key(binding) => Line::from(vec![
                    canvas.theme.span(format!("  {:<keys_wide$}  ", keys_of(binding)), Role::Text),
                    canvas.theme.span(binding.help, Role::Muted),
                ]),
            };
            canvas.line(inner.x + 1, y, inner.width.saturating_sub(2), &line);
        }
    }
}

fn keys_of(binding: &Binding) -> String {
    let names: Vec<String> = binding.keys.iter().map(ToString::to_string).collect();
    names.join(" ")
}

/// An area of at most this size in the middle of another, one cell away from its edges.
pub fn centred(area: Rect, width: u16, height: u16) -> Rect {
    let width = width.min(area.width.saturating_sub(2));
    let height = height.min(area.height);
    Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::testing::{Screenshot, plain};

    fn drawn(help: Help<'_>) -> Screenshot {
        Screenshot::of(80, 22, &plain(), |canvas| help.draw(canvas, Rect::new(0, 0, 80, 22)))
    }

    #[test]
    fn the_keys_of_the_open_screen_come_first() {
        let shot = drawn(Help { first: &[Context::Leases], ..Help::default() });
        assert!(shot.lines()[1].contains("Leases"), "{}", shot.text());
        assert_eq!(shot.hits.rows(Pane::Help), Some(20));
    }

    #[test]
    fn every_binding_is_in_the_help() {
        let rows = Help::default().list();
        for context in Context::ALL {
            for binding in of(context) {
                assert!(rows.contains(&Row::Key(binding)), "{binding:?}");
            }
        }
    }

    #[test]
    fn a_filter_leaves_the_rows_that_have_all_its_words() {
        let shot = drawn(Help { filter: "SORT next", ..Help::default() });
        assert!(shot.text().contains("Sort by the next column"), "{}", shot.text());
        assert!(!shot.text().contains("Quit"), "{}", shot.text());
        assert!(shot.text().contains("Help: /SORT next"));
        let nothing = drawn(Help { filter: "no such \x1b key", ..Help::default() });
        assert!(nothing.text().contains("No key has these words."), "{}", nothing.text());
    }

    #[test]
    fn scrolling_stops_at_the_last_row() {
        let end = drawn(Help { top: 10_000, ..Help::default() });
        assert!(end.text().contains("Draw the whole screen anew"), "{}", end.text());
    }
}
