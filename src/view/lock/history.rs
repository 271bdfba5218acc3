//! How each hold of a lock began and ended, newest first.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::domain::{Revision, Timestamp};
use crate::input::Pane;
use crate::model::lock::End;
use crate::model::{Cause, Facts, Hold, LockView, What};
use crate::view::canvas::{Canvas, columns_of};
use crate::view::client;
use crate::view::locks::changes::{cause_glyph, cause_word};
use crate::view::text::{clock, duration, grouped};
use crate::view::theme::{Role, Theme};
use crate::view::widget::panel::Panel;

/// Stands where others have their time: what was told long after it happened has none.
const REPLAYED: &str = "replayed";

/// A line of the history.
#[derive(Clone, Copy, Debug)]
enum Entry<'a> {
    Began(&'a Hold),
    Ended(&'a Hold, End),
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
        let time = at.map_or_else(|| REPLAYED.to_owned(), |at| clock(at, facts.now(), &theme.zone));
        let time = theme.span(format!("{time} "), Role::Muted);
        let forms = words(entry, theme).into_iter().map(|spans| Line::from([vec![time.clone()], spans].concat()));
        let forms: Vec<Line<'_>> = forms.collect();
        if let Some(line) = forms.iter().find(|line| columns_of(line) <= inner.width).or(forms.last()) {
            canvas.line(inner.x, y, inner.width, line);
        }
    }
}

/// Everything that is remembered, the newest first, with its time where that is known.
fn entries<'a>(facts: &'a Facts, lock: &LockView<'a>) -> Vec<(Option<Timestamp>, Entry<'a>)> {
    let mut entries = Vec::new();
    for hold in lock.holds().rev() {
        if let Some(end) = hold.ended {
            entries.push((end.at, Entry::Ended(hold, end)));
        }
        entries.push((hold.began.map(|began| began.at), Entry::Began(hold)));
    }
    if facts.link.gaps > 0 && !entries.is_empty() {
        entries.extend(facts.timeline.iter().rev().filter_map(|happening| match happening.what {
            What::Gap { from, to } if from != to => Some((Some(happening.at), Entry::Gap(from))),
            _ => None,
        }));
    }
    // What has no time of its own stays right before what came next.
    let mut next = facts.now();
    let mut timed: Vec<_> = entries
        .into_iter()
        .map(|(at, entry)| {
            next = at.unwrap_or(next);
            (next, at, entry)
        })
        .collect();
    // Stable, so that of one moment the later event stays first.
    timed.sort_by_key(|(order, ..)| std::cmp::Reverse(*order));
    timed.into_iter().map(|(_, at, entry)| (at, entry)).collect()
}

/// A line in forms, the richest first.
fn words<'a>(entry: &Entry<'a>, theme: &Theme) -> Vec<Vec<Span<'a>>> {
    let (glyph, said, token, length) = match *entry {
        Entry::Began(hold) => {
            let word = if hold.began.is_none_or(|began| began.exact) { "acquired" } else { "found holding" };
            let waited = hold.waited.filter(|waited| waited.0 >= 1_000);
            (
                theme.span(theme.glyphs.holder, Role::Holder),
                vec![Span::raw(format!(" {} {word}", client::short(hold.lease, &hold.key)))],
                hold.create_revision.0,
                waited.map_or_else(String::new, |waited| format!("  waited {}", duration(waited))),
            )
        }
        Entry::Ended(hold, End { at, revision, cause }) => {
            let lost = matches!(cause, Cause::Expired | Cause::Revoked);
            let word = match cause {
                Cause::Expired => "lease expired",
                Cause::Revoked => "lease revoked",
                Cause::Unknown => "cause unknown",
                _ => cause_word(cause),
            };
            let length = match (hold.began, at) {
                (Some(began), Some(at)) => {
                    let more = if began.exact { "" } else { ">" };
                    format!("  held {more}{}", duration(at.since(began.at)))
                }
                _ => format!("  rev {}", grouped(revision.0)),
            };
            (
                cause_glyph(cause, theme),
                vec![
                    Span::raw(format!(" {} ", client::short(hold.lease, &hold.key))),
                    theme.span(word, if lost { Role::Error } else { Role::Text }),
                ],
                hold.create_revision.0,
                length,
            )
        }
        Entry::Gap(from) => {
            let mark = theme.span(theme.glyphs.warning, Role::Warning);
            let form = |text: String| vec![mark.clone(), Span::raw(text)];
            let from = grouped(from.0);
            return vec![form(format!(" nothing seen since revision {from}")), form(format!(" gap since {from}"))];
        }
    };
    let bare = [vec![glyph], said].concat();
    let with_token = [bare.clone(), vec![Span::raw(format!(" {}", grouped(token)))]].concat();
    let full = [with_token.clone(), vec![theme.span(length, Role::Muted)]].concat();
    vec![full, with_token, bare]
}
