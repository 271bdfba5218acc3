//! The latest changes the watch brought, newest first.

use std::borrow::Cow;

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::domain::{Millis, Timestamp};
use crate::input::{Pane, Target};
use crate::model::timeline::Party;
use crate::model::{Cause, Facts, Happening, What};
use crate::view::canvas::Canvas;
use crate::view::client;
use crate::view::text::{escape_text, grouped, named, padded, width};
use crate::view::theme::{Role, Theme};
use crate::view::widget::panel::Panel;
use crate::{lang, say};

/// The stretch of time a rate is told for: so many changes in it are as many tenths a second.
const RATE_OVER: Millis = Millis(10_000);

/// The fewest columns a lock's name gets beside the client's.
const NAME: usize = 12;
/// The columns of what happened.
const WORD: usize = 8;

/// A change in words: its glyph, what happened, to which lock, by whom.
struct Words<'a> {
    glyph: Span<'a>,
    word: &'static str,
    lock: Option<&'a [u8]>,
    rest: Cow<'a, str>,
}

/// Draws the changes as a panel; `top` of the newest are scrolled away.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, facts: &Facts, top: usize, focused: bool) {
    let theme = canvas.theme;
    let rate = rate(facts, facts.now());
    let panel = Panel::new(theme.span(say!("Watch"), Role::Title)).data(theme.span(rate, Role::Muted)).focused(focused);
    let inner = panel.draw(canvas, area);
    let len = facts.timeline.iter().len();
    canvas.hit_pane(area, Pane::Watch, inner.height, len);
    if len == 0 {
        let text = if facts.link.is_live() { say!("no change yet") } else { "" };
        canvas.text(inner.x + 1, inner.y, inner.width.saturating_sub(1), text, Role::Muted);
    }
    let top = top.min(len.saturating_sub(usize::from(inner.height)));
    let shown: Vec<&Happening> = facts.timeline.iter().rev().skip(top).take(usize::from(inner.height)).collect();
    let revisions: Vec<String> = shown
        .iter()
        .map(|happening| happening.known_revision().map_or_else(|| "-".to_owned(), |revision| grouped(revision.0)))
        .collect();
    let digits = revisions.iter().map(String::len).max().unwrap_or(0);
    for ((y, happening), revision) in (inner.top()..inner.bottom()).zip(shown).zip(revisions) {
        let line = line(happening, &revision, digits, usize::from(inner.width), facts, theme);
        canvas.line(inner.x, y, inner.width, &line);
        if let Some(party) = happening.what.party() {
            canvas.hit(Rect::new(inner.x, y, inner.width, 1), Target::Lock(party.lock().into()));
        }
    }
}

fn line<'a>(
    happening: &'a Happening,
    revision: &str,
    digits: usize,
    columns: usize,
    facts: &'a Facts,
    theme: &Theme,
) -> Line<'a> {
    let words = words(&happening.what, facts, theme);
    let mut spans = vec![
        theme.span(format!("{revision:>digits$} "), Role::Muted),
        words.glyph,
        Span::raw(format!(" {} ", padded(words.word, WORD))),
    ];
    let used = digits + 1 + 1 + 1 + WORD.max(width(words.word)) + 1;
    let Some(lock) = words.lock else {
        spans.push(theme.span(words.rest, Role::Muted));
        return Line::from(spans);
    };
    // Who it was gives way to where.
    let room = columns.saturating_sub(used);
    let beside = room.saturating_sub(width(&words.rest) + 1);
    let (name_room, rest) = if beside < NAME { (room, None) } else { (beside, Some(words.rest)) };
    spans.push(theme.key(named(lock), name_room, Role::Text));
    if let Some(rest) = rest {
        spans.push(Span::raw(" "));
        spans.push(theme.span(rest, Role::Muted));
    }
    Line::from(spans)
}

fn words<'a>(what: &'a What, facts: &'a Facts, theme: &Theme) -> Words<'a> {
    let glyphs = theme.glyphs;
    let of = |party: &'a Party, glyph: Span<'a>, word: &'static str| Words {
        glyph,
        word,
        lock: Some(party.lock()),
        rest: client::short(facts.leases().digits(), party.lease, &party.key),
    };
    match what {
        What::Enqueued(party) => of(party, theme.span(glyphs.waiter, Role::Waiter), say!("joined")),
        What::Acquired(party) => of(party, theme.span(glyphs.holder, Role::Holder), say!("acquired")),
        What::Released(party, cause) => of(party, cause_glyph(*cause, theme), lang::text(cause_word(*cause))),
        What::WaiterGone(party, _) => of(party, theme.span(glyphs.ended, Role::Muted), say!("left")),
        What::Rewritten { party, former_lease } => {
            // Another lease on the same key: two clients may believe that they hold.
            let role = if *former_lease == party.lease { Role::Text } else { Role::Warning };
            of(party, theme.span(glyphs.warning, role), say!("rewrote"))
        }
        What::LeaderChanged(change) => {
            let to = change.to.map(|id| {
                facts.cluster.member(id).map_or_else(|| id.to_string().into(), |facts| escape_text(&facts.member.name))
            });
            let rest = match to {
                Some(name) => say!("{name}, term {term}", name, term = change.term).into(),
                None => say!("none, term {term}", term = change.term).into(),
            };
            Words { glyph: theme.span(glyphs.leader, Role::Leader), word: say!("leader"), lock: None, rest }
        }
        What::Alarm(alarm, raised) => Words {
            glyph: theme.span(glyphs.warning, if *raised { Role::Error } else { Role::Muted }),
            word: say!("alarm"),
            lock: None,
            rest: match raised {
                true => say!("{alarm} raised", alarm = alarm.kind.name()).into(),
                false => say!("{alarm} gone", alarm = alarm.kind.name()).into(),
            },
        },
        What::Gap { from, to } if from == to => Words {
            glyph: theme.span(glyphs.dot, Role::Muted),
            word: say!("gap"),
            lock: None,
            rest: say!("filled up to {revision}", revision = grouped(to.0)).into(),
        },
        What::Gap { from, .. } => Words {
            glyph: theme.span(glyphs.warning, Role::Warning),
            word: say!("gap"),
            lock: None,
            rest: say!("nothing seen since {revision}", revision = grouped(from.0)).into(),
        },
    }
}

/// The glyph of an end.
pub fn cause_glyph<'a>(cause: Cause, theme: &Theme) -> Span<'a> {
    match cause {
        Cause::Expired | Cause::Revoked => theme.span(theme.glyphs.lost, Role::Error),
        Cause::Deleted | Cause::Released | Cause::Pending | Cause::Unknown => {
            theme.span(theme.glyphs.ended, Role::Muted)
        }
    }
}

/// The word of an end.
pub const fn cause_word(cause: Cause) -> &'static str {
    match cause {
        Cause::Released => "released",
        Cause::Expired => "expired",
        Cause::Revoked => "revoked",
        Cause::Deleted => "deleted",
        // The lease is being asked; the word changes when it answers.
        Cause::Pending | Cause::Unknown => "ended",
    }
}

/// How many changes a second there were lately: `+2.1/s`.
fn rate(facts: &Facts, now: Timestamp) -> String {
    let start = now - RATE_OVER;
    let tenths = facts.timeline.iter().rev().take_while(|happening| happening.at > start).count();
    format!("+{}.{}/s", tenths / 10, tenths % 10)
}
