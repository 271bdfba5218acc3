//! The line of keys at the bottom, made from the keymap: as many hints as fit, the most
//! important ones.

use std::borrow::Cow;

use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::input::keymap::{Binding, Context, Hint, hints};
use crate::input::{Action, Target};
use crate::lang;
use crate::view::canvas::Canvas;
use crate::view::text::width;
use crate::view::theme::Role;

/// The distance between two hints.
const GAP: usize = 2;

/// Draws the hints of the open contexts, the innermost first, into one row.
pub fn footer(canvas: &mut Canvas<'_>, area: Rect, contexts: &[Context]) {
    let ascii = !canvas.theme.glyphs.unicode;
    let mut x = area.x + 1;
    for (binding, hint) in chosen(contexts, usize::from(area.width.saturating_sub(2)), ascii) {
        let line = Line::from(vec![
            canvas.theme.span(hint.label(ascii), Role::Title),
            canvas.theme.span(format!(" {}", words(hint, ascii)), Role::Muted),
        ]);
        let taken = canvas.line(x, area.y, area.right().saturating_sub(x), &line);
        canvas.hit(Rect::new(x, area.y, taken, 1), Target::Do(binding.action));
        x = x.saturating_add(taken).saturating_add(2);
    }
}

/// What a hint says: three dots stand for a dialog that follows.
fn words(hint: Hint, ascii: bool) -> Cow<'static, str> {
    let text = lang::text(hint.text);
    if ascii { text.replace('…', "...").into() } else { text.into() }
}

/// The hints there is room for, by priority; help and quitting at the end, where the eye
/// looks for them.
fn chosen(contexts: &[Context], room: usize, ascii: bool) -> Vec<(&'static Binding, Hint)> {
    let mut left = room + GAP;
    let mut chosen: Vec<(&'static Binding, Hint)> = Vec::new();
    for (binding, hint) in hints(contexts) {
        let columns = width(&hint.label(ascii)) + 1 + width(&words(hint, ascii)) + GAP;
        if columns <= left {
            left -= columns;
            chosen.push((binding, hint));
        }
    }
    chosen.sort_by_key(|(binding, _)| match binding.action {
        Action::Help => 1,
        Action::Quit => 2,
        _ => 0,
    });
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::testing::{Screenshot, ascii, plain};

    const LOCKS: [Context; 4] = [Context::Locks, Context::Browse, Context::Moving, Context::Anywhere];

    fn drawn(width: u16) -> Screenshot {
        Screenshot::of(width, 1, &plain(), |canvas| footer(canvas, Rect::new(0, 0, width, 1), &LOCKS))
    }

    #[test]
    fn the_most_important_hints_stay_when_room_is_short() {
        let narrow = drawn(60).text();
        assert!(narrow.trim_end().ends_with("? help  q quit"), "{narrow}");
        assert!(narrow.starts_with(" ↑↓ move"), "{narrow}");
        let wide = drawn(200).text();
        assert!(wide.len() > narrow.len() && wide.contains("theme"), "{wide}");
        assert!(drawn(16).text().contains("q quit"), "{}", drawn(16).text());
    }

    #[test]
    fn no_width_is_overdrawn() {
        for width in 1..140 {
            let line = drawn(width).text();
            assert!(line.starts_with(' ') && line.ends_with(' '), "{width}: {line:?}");
        }
    }

    #[test]
    fn every_hint_can_be_clicked() {
        let shot = drawn(120);
        let (x, y) = shot.position("q quit").unwrap();
        assert_eq!(shot.hits.at(x, y), Some(&Target::Do(Action::Quit)));
        assert_eq!(shot.hits.at(x + 5, y), Some(&Target::Do(Action::Quit)));
        assert_eq!(shot.hits.at(x - 1, y), None);
    }

    #[test]
    fn ascii_hints_are_ascii() {
        let shot = Screenshot::of(100, 1, &ascii(), |canvas| footer(canvas, Rect::new(0, 0, 100, 1), &LOCKS));
        assert!(shot.text().is_ascii() && shot.text().contains("Up/Down move"), "{}", shot.text());
    }
}
