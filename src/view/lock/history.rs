//! How each hold of a lock began and ended, newest first.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::domain::{Revision, Timestamp};
use crate::input::Pane;
use crate::model::{Cause, Facts, Hold, LockView, What};
use crate::view::canvas::Canvas;
use crate::view::client;
use crate::view::locks::changes::{cause_glyph, cause_word};
use crate::view::text::{clock, duration, grouped};
use crate::view::theme::{Role, Theme};
use crate::view::widget::panel::Panel;

/// A line of the history.
#[derive(Clone, Copy, Debug)]
enum Entry<'a> {
    Began(&'a Hold),
    Ended(&'a Hold, Timestamp, Cause),
    Gap(Revision),
}

/// Draws the history as a panel; `top` of its lines are scrolled away.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, facts: &Facts, lock: &LockView<'_>, top: usize, focused: bool) {
    let theme = canvas.theme;
    let entries = entries(facts, lock);
    let count =
        if entries.is_empty() { String::new() } else { grouped(i64::try_from(entries.len()).unwrap_or(i64::MAX)) };
    let panel = Panel::new(theme.span("History", Role::Title)).data(theme.span(count, Role::Muted)).focused(focused);
    let inner = panel.draw(canvas, area);
    canvas.hit_pane(area, Pane::History, inner.height, entries.len());
    if entries.is_empty() {
        let columns = inner.width.saturating_sub(1);
        canvas.text(inner.x + 1, inner.y, columns, "no change of hands seen yet", Role::Muted);
        return;
    }
    let top = top.min(entries.len().saturating_sub(usize::from(inner.height)));
    for (y, (at, entry)) in (inner.top()..inner.bottom()).zip(&entries[top..]) {
        let mut spans = vec![theme.span(clock(*at, facts.now(), &theme.zone), Role::Muted), Span::raw(" ")];
        spans.extend(words(entry, theme));
        canvas.line(inner.x, y, inner.width, &Line::from(spans));
    }
}

/// Everything that is remembered, the newest first.
fn entries<'a>(facts: &'a Facts, lock: &LockView<'a>) -> Vec<(Timestamp, Entry<'a>)> {
    let mut entries = Vec::new();
    for hold in lock.holds().rev() {
        if let Some(end) = hold.ended {
            entries.push((end.at, Entry::Ended(hold, end.at, end.cause)));
        }
        entries.push((hold.began.at, Entry::Began(hold)));
    }
    if facts.link.gaps > 0 && !entries.is_empty() {
        entries.extend(facts.timeline.iter().rev().filter_map(|happening| match happening.what {
            What::Gap { from, .. } => Some((happening.at, Entry::Gap(from))),
            _ => None,
        }));
    }
    // Stable, so that of one moment the later event stays first.
    entries.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    entries
}

fn words<'a>(entry: &Entry<'a>, theme: &Theme) -> Vec<Span<'a>> {
    match *entry {
        Entry::Began(hold) => {
            let word = if hold.began.exact { "acquired" } else { "holds since before" };
            let waited = hold.waited.filter(|waited| waited.0 >= 1_000);
            let waited = waited.map_or_else(String::new, |waited| format!("  waited {}", duration(waited)));
            vec![
                theme.span(theme.glyphs.holder, Role::Holder),
                Span::raw(format!(
                    " {} {word} {}",
                    client::short(hold.lease, &hold.key),
                    grouped(hold.create_revision.0)
                )),
                theme.span(waited, Role::Muted),
            ]
        }
        Entry::Ended(hold, at, cause) => {
            let lost = matches!(cause, Cause::Expired | Cause::Revoked);
            let word = match cause {
                Cause::Expired => "lease expired",
                Cause::Revoked => "lease revoked",
                Cause::Unknown => "ended, cause unknown",
                _ => cause_word(cause),
            };
            let more = if hold.began.exact { "" } else { ">" };
            vec![
                cause_glyph(cause, theme),
                Span::raw(format!(" {} ", client::short(hold.lease, &hold.key))),
                theme.span(word, if lost { Role::Error } else { Role::Text }),
                Span::raw(format!(" {}", grouped(hold.create_revision.0))),
                theme.span(format!("  held {more}{}", duration(at.since(hold.began.at))), Role::Muted),
            ]
        }
        Entry::Gap(from) => vec![
            theme.span(theme.glyphs.warning, Role::Warning),
            Span::raw(format!(" nothing seen since revision {}", grouped(from.0))),
        ],
    }
}
