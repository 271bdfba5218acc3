//! The line of keys at the bottom, made from the keymap: as many hints as fit, the most
//! important ones.

use std::borrow::Cow;

use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::input::action::Wish;
use crate::input::keymap::{Binding, Context, Hint, hints};
use crate::input::{Action, Target};
use crate::view::canvas::Canvas;
use crate::view::text::width;
use crate::view::theme::Role;
use crate::{lang, say};

/// The distance between two hints.
const GAP: usize = 2;

/// What is known of the writes that the keys offer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Offer {
    /// Whether they are taken away, so that a dialog only shows what would be done.
    pub read_only: bool,
    /// Whether what is selected has no lease: there is nothing to revoke.
    pub leaseless: bool,
}

/// Draws the hints of the open contexts, the innermost first, into one row.
pub fn footer(canvas: &mut Canvas<'_>, area: Rect, contexts: &[Context], offer: Offer) {
    let ascii = !canvas.theme.glyphs.unicode;
    let mut x = area.x + 1;
    for (binding, hint) in chosen(contexts, offer, usize::from(area.width.saturating_sub(2)), ascii) {
        let line = Line::from(vec![
            canvas.theme.span(hint.label(ascii), Role::Title),
            canvas.theme.span(format!(" {}", words(binding.action, hint, offer, ascii)), Role::Muted),
        ]);
        let taken = canvas.line(x, area.y, area.right().saturating_sub(x), &line);
        canvas.hit(Rect::new(x, area.y, taken, 1), Target::Do(binding.action));
        x = x.saturating_add(taken).saturating_add(2);
    }
}

/// What a hint says: three dots stand for a dialog that follows.
fn words(action: Action, hint: Hint, offer: Offer, ascii: bool) -> Cow<'static, str> {
    let text = lang::text(hint.text);
    if offer.read_only && matches!(action, Action::Write(_)) {
        return say!("{deed} (preview)", deed = text.trim_end_matches('…')).into();
    }
    if ascii { text.replace('…', "...").into() } else { text.into() }
}

/// The hints by priority. Where there is no lease to revoke, the key that releases has the place of
/// the one that revokes.
fn offered(contexts: &[Context], offer: Offer) -> Vec<(&'static Binding, Hint)> {
    let mut hints = hints(contexts);
    let is = |action: Action, wish: Wish| action == Action::Write(wish);
    let revoke = hints.iter().position(|(binding, _)| is(binding.action, Wish::Revoke)).filter(|_| offer.leaseless);
    if let Some(at) = revoke {
        let (_, gone) = hints.remove(at);
        if let Some((_, release)) = hints.iter_mut().find(|(binding, _)| is(binding.action, Wish::Release)) {
            release.priority = gone.priority;
        }
        hints.sort_by_key(|(_, hint)| hint.priority);
    }
    hints
}

/// The hints there is room for, by priority; help and quitting at the end, where the eye
/// looks for them.
fn chosen(contexts: &[Context], offer: Offer, room: usize, ascii: bool) -> Vec<(&'static Binding, Hint)> {
    let mut left = room + GAP;
    let mut chosen: Vec<(&'static Binding, Hint)> = Vec::new();
    for (binding, hint) in offered(contexts, offer) {
        let columns = width(&hint.label(ascii)) + 1 + width(&words(binding.action, hint, offer, ascii)) + GAP;
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
        Screenshot::of(width, 1, &plain(), |canvas| footer(canvas, Rect::new(0, 0, width, 1), &LOCKS, Offer::default()))
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
    fn what_the_selected_lock_needs_is_offered_where_room_is_short() {
        let drawn = |offer| {
            Screenshot::of(80, 1, &plain(), |canvas| footer(canvas, Rect::new(0, 0, 80, 1), &LOCKS, offer)).text()
        };
        let leased = drawn(Offer::default());
        assert!(leased.contains("R revoke…") && !leased.contains("D release…"), "{leased}");
        let bare = drawn(Offer { leaseless: true, ..Offer::default() });
        assert!(bare.contains("D release…") && !bare.contains("R revoke…"), "{bare}");
    }

    #[test]
    fn nothing_is_offered_as_if_it_could_be_done_where_writes_are_taken_away() {
        let offer = Offer { read_only: true, ..Offer::default() };
        let shot = Screenshot::of(200, 1, &plain(), |canvas| footer(canvas, Rect::new(0, 0, 200, 1), &LOCKS, offer));
        let text = shot.text();
        assert!(text.contains("R revoke (preview)") && !text.contains('…'), "{text}");
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
        let shot = Screenshot::of(100, 1, &ascii(), |canvas| {
            footer(canvas, Rect::new(0, 0, 100, 1), &LOCKS, Offer::default());
        });
        assert!(shot.text().is_ascii() && shot.text().contains("Up/Down move"), "{}", shot.text());
    }
}
