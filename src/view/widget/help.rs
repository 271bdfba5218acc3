//! The help: every key of the keymap and every command, those of the open screen first.

use ratatui::layout::Rect;
use ratatui::text;

use super::panel::Panel;
use crate::input::Pane;
use crate::input::command::COMMANDS;
use crate::input::keymap::{Context, of};
use crate::view::canvas::Canvas;
use crate::view::text::{escape_text, width};
use crate::view::theme::Role;

/// The columns of the help, frame included.
const WIDTH: u16 = 78;
/// The most columns of the keys; longer ones push their sentence to the right.
const KEYS: usize = 20;

/// A line of the help.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Line {
    /// The heading of a section.
    Title(&'static str),
    /// What some keys, or a command, do.
    Entry { keys: String, help: &'static str },
}

/// The lines that have `filter` in them, whatever its case, under their headings; all of them
/// when it is empty. The section of the screen the help was called from comes first.
fn lines(filter: &str, first: Context) -> Vec<Line> {
    let filter = filter.to_lowercase();
    let fits = |keys: &str, help: &str| {
        // One character is a key that is looked for, not a letter of a sentence.
        if filter.chars().count() == 1 {
            return keys.split(' ').any(|key| key.to_lowercase() == filter);
        }
        keys.to_lowercase().contains(&filter) || help.to_lowercase().contains(&filter)
    };
    let mut lines = Vec::new();
    let mut section = |title, entries: &mut dyn Iterator<Item = (String, &'static str)>| {
        let entries: Vec<_> = entries.filter(|(keys, help)| fits(keys, help)).collect();
        if !entries.is_empty() {
            lines.push(Line::Title(title));
            lines.extend(entries.into_iter().map(|(keys, help)| Line::Entry { keys, help }));
        }
    };
    for context in std::iter::once(first).chain(Context::ALL.into_iter().filter(|&context| context != first)) {
        let keys = |row: &crate::input::keymap::Binding| {
            row.keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        section(context.title(), &mut of(context).map(|row| (keys(row), row.help)));
    }
    let command = |entry: &crate::input::command::Entry| {
        let names: Vec<_> = entry.names.iter().map(|name| format!(":{name}")).collect();
        format!("{} {}", names.join(" "), entry.arguments).trim_end().to_owned()
    };
    section("Commands", &mut COMMANDS.iter().map(|entry| (command(entry), entry.help)));
    lines
}

/// Draws the help over everything in `area`: the lines that have `filter` in them, without
/// the first `top`, the section of the screen `first` before the others.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, first: Context, filter: &str, top: usize) {
    let lines = lines(filter, first);
    let area = centred(area, WIDTH, u16::try_from(lines.len() + 2).unwrap_or(u16::MAX).max(8));
    canvas.clear(area);
    let title = match filter {
        "" => "Help".to_owned(),
        filter => format!("Help: /{}", escape_text(filter)),
    };
    let panel = Panel::new(canvas.theme.span(title, Role::Title))
        .data(canvas.theme.span("esc closes the help, Ctrl-C quits", Role::Muted))
        .focused(true);
    let inner = panel.draw(canvas, area);
    canvas.hit_pane(area, Pane::Help, inner.height, lines.len());
    if lines.is_empty() {
        canvas.text(inner.x + 1, inner.y, inner.width.saturating_sub(1), "Nothing has these words.", Role::Muted);
    }
    let keys_wide = lines.iter().map(|line| if let Line::Entry { keys, .. } = line { width(keys) } else { 0 });
    let keys_wide = keys_wide.max().unwrap_or(0).min(KEYS);
    let top = top.min(lines.len().saturating_sub(usize::from(inner.height)));
    for (y, line) in (inner.top()..inner.bottom()).zip(&lines[top..]) {
        let line = match line {
            Line::Title(title) => text::Line::from(canvas.theme.span(*title, Role::Title)),
            Line::Entry { keys, help } => text::Line::from(vec![
                canvas.theme.span(format!("  {keys:<keys_wide$}  "), Role::Text),
                canvas.theme.span(*help, Role::Muted),
            ]),
        };
        canvas.line(inner.x + 1, y, inner.width.saturating_sub(2), &line);
    }
}

/// An area of at most this size in the middle of another, one column away from its edges.
fn centred(area: Rect, width: u16, height: u16) -> Rect {
    let width = width.min(area.width.saturating_sub(2));
    let height = height.min(area.height);
    Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Extent;
    use crate::input::keymap::BINDINGS;
    use crate::view::testing::{Screenshot, plain};

    fn drawn(filter: &str, top: usize) -> Screenshot {
        let area = Rect::new(0, 0, 80, 22);
        Screenshot::of(80, 22, &plain(), |canvas| draw(canvas, area, Context::Leases, filter, top))
    }

    fn keys(filter: &str) -> Vec<String> {
        let entries = lines(filter, Context::Locks).into_iter().filter_map(|line| match line {
            Line::Entry { keys, .. } => Some(keys),
            Line::Title(_) => None,
        });
        entries.collect()
    }

    #[test]
    fn the_help_is_both_tables_with_the_open_screen_first() {
        let shot = drawn("", 0);
        assert!(shot.lines()[1].contains("Leases"), "{}", shot.text());
        assert_eq!(keys("").len(), BINDINGS.len() + COMMANDS.len());
        let len = lines("", Context::Leases).len();
        assert_eq!(shot.hits.panes(), [(Pane::Help, Extent { rows: 20, len })]);
    }

    #[test]
    fn a_filter_is_shown_and_leaves_what_has_it() {
        let shot = drawn("SORT BY", 0);
        assert!(shot.text().contains("Sort by the next column"), "{}", shot.text());
        assert!(shot.text().contains("Help: /SORT BY"));
        let nothing = drawn("no such \x1b key", 0);
        assert!(nothing.text().contains("Nothing has these words."), "{}", nothing.text());
        assert!(nothing.text().contains("/no such \\x1b key"), "{}", nothing.text());
    }

    #[test]
    fn one_character_looks_for_a_key() {
        assert_eq!(keys("?"), ["?", "Esc ? q"]);
        assert_eq!(keys("ctrl-z"), ["Ctrl-Z"]);
    }

    #[test]
    fn scrolling_stops_at_the_last_line() {
        let Some(Line::Entry { help, .. }) = lines("", Context::Leases).pop() else {
            panic!("the last line is an entry")
        };
        let end = drawn("", 10_000);
        assert!(end.lines()[20].contains(&help[..10]), "{}", end.text());
    }
}
