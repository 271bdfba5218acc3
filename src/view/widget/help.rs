//! The help: every key of the keymap and every command, those of the open screen first.

use ratatui::layout::Rect;
use ratatui::text;

use super::panel::Panel;
use crate::input::Pane;
use crate::input::keymap::{Context, Line, help};
use crate::view::canvas::Canvas;
use crate::view::text::{escape_text, width};
use crate::view::theme::Role;

/// The columns of the help, frame included.
const WIDTH: u16 = 78;
/// The most columns of the keys; longer ones push their sentence to the right.
const KEYS: usize = 20;

/// Draws the help over everything in `area`: the lines that have `filter` in them, without
/// the first `top`, the section of the screen `first` before the others.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, first: Context, filter: &str, top: usize) {
    let lines = help(filter, first);
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
pub fn centred(area: Rect, width: u16, height: u16) -> Rect {
    let width = width.min(area.width.saturating_sub(2));
    let height = height.min(area.height);
    Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Extent;
    use crate::view::testing::{Screenshot, plain};

    fn drawn(filter: &str, top: usize) -> Screenshot {
        let area = Rect::new(0, 0, 80, 22);
        Screenshot::of(80, 22, &plain(), |canvas| draw(canvas, area, Context::Leases, filter, top))
    }

    #[test]
    fn the_keys_of_the_open_screen_come_first() {
        let shot = drawn("", 0);
        assert!(shot.lines()[1].contains("Leases"), "{}", shot.text());
        let len = help("", Context::Leases).len();
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
    fn scrolling_stops_at_the_last_line() {
        let last = help("", Context::Leases).pop();
        let Some(Line::Entry { keys, .. }) = last else { panic!("the last line is an entry") };
        let end = drawn("", 10_000);
        assert!(end.text().contains(keys.split(' ').next().unwrap()), "{}", end.text());
        assert!(!end.lines()[20].trim_matches(['│', ' ']).is_empty(), "{}", end.text());
    }
}
