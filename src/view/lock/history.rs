//! How each hold of a lock began and ended, newest first.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::domain::{Revision, Timestamp};
use crate::input::Pane;
use crate::model::lock::End;
use crate::model::{Cause, Facts, Handoff, Hold, LockView, Rebuilding, Rebuilt, What};
use crate::view::canvas::{Canvas, columns_of};
use crate::view::client;
use crate::view::locks::changes::{cause_glyph, cause_word};
use crate::view::text::{clock, duration, grouped, padded, sanitise};
use crate::view::theme::{Role, Theme};
use crate::view::widget::panel::Panel;
use crate::{lang, say};

/// The columns of a time.
const TIME: usize = 8;

/// A line of the history.
#[derive(Clone, Copy, Debug)]
enum Entry<'a> {
    Began(&'a Hold),
    Ended(&'a Hold, End),
    Gap(Revision),
    /// A hold that ended before anybody watched.
    Rebuilt(&'a Handoff),
    /// Where the rebuilt part begins, and how far it is.
    Mark(&'a Rebuilt),
    /// Where it ends, or why.
    End(&'a Rebuilt),
}

/// Draws the history as a panel; `top` of its lines are scrolled away.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, facts: &Facts, lock: &LockView<'_>, top: usize, focused: bool) {
    let theme = canvas.theme;
    let entries = entries(facts, lock);
    let told = entries.iter().filter(|(_, entry)| !matches!(entry, Entry::Mark(_) | Entry::End(_))).count();
    let count = if told == 0 { String::new() } else { grouped(told) };
    let panel =
        Panel::new(theme.span(say!("History"), Role::Title)).data(theme.span(count, Role::Muted)).focused(focused);
    let inner = panel.draw(canvas, area);
    canvas.hit_pane(area, Pane::History, inner.height, entries.len());
    if inner.height == 0 {
        return;
    }
    if entries.is_empty() {
        let columns = inner.width.saturating_sub(1);
        canvas.text(inner.x + 1, inner.y, columns, say!("no change of hands seen yet"), Role::Muted);
        return;
    }
    let top = top.min(entries.len().saturating_sub(usize::from(inner.height)));
    for (y, (at, entry)) in (inner.top()..inner.bottom()).zip(&entries[top..]) {
        let time = match (at, entry) {
            (Some(at), _) => clock(*at, facts.now(), &theme.zone),
            (None, Entry::Rebuilt(handoff)) => format!("{:>8}", grouped(handoff.revision.0)),
            (None, Entry::Mark(_) | Entry::End(_)) => String::new(),
            // What was told long after it happened has none.
            (None, _) => padded(say!("replayed"), TIME),
        };
        let time = if time.is_empty() { time } else { format!("{time} ") };
        let time = theme.span(time, Role::Muted);
        let forms = words(entry, lock.digits(), theme)
            .into_iter()
            .map(|spans| Line::from([vec![time.clone()], spans].concat()));
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
    let mut entries: Vec<_> = timed.into_iter().map(|(_, at, entry)| (at, entry)).collect();
    if let Some(rebuilt) = facts.rebuilt(lock).filter(|rebuilt| rebuilt.has_begun()) {
        // What was watched has its times; before that there are revisions only.
        let watched = lock.holds().filter_map(|hold| hold.ended).map(|end| end.revision).min();
        let older = |handoff: &&Handoff| watched.is_none_or(|watched| handoff.revision < watched);
        entries.push((None, Entry::Mark(rebuilt)));
        entries.extend(rebuilt.handoffs().rev().filter(older).map(|handoff| (None, Entry::Rebuilt(handoff))));
        entries.push((None, Entry::End(rebuilt)));
    }
    entries
}

/// A line in forms, the richest first.
fn words<'a>(entry: &Entry<'a>, digits: usize, theme: &Theme) -> Vec<Vec<Span<'a>>> {
    let (glyph, said, token, length) = match *entry {
        Entry::Began(hold) => {
            let exact = hold.began.is_none_or(|began| began.exact);
            let word = if exact { say!("acquired") } else { say!("found holding") };
            let waited = hold.waited.filter(|waited| waited.0 >= 1_000);
            (
                theme.span(theme.glyphs.holder, Role::Holder),
                vec![Span::raw(format!(" {} {word}", client::short(digits, hold.lease, &hold.key)))],
                hold.create_revision.0,
                waited.map_or_else(String::new, |waited| {
                    format!("  {}", say!("waited {length}", length = duration(waited)))
                }),
            )
        }
        Entry::Ended(hold, End { at, revision, cause }) => {
            let lost = matches!(cause, Cause::Expired | Cause::Revoked);
            let word = match cause {
                Cause::Expired => say!("lease expired"),
                Cause::Revoked => say!("lease revoked"),
                Cause::Unknown => say!("cause unknown"),
                _ => lang::text(cause_word(cause)),
            };
            let length = match (hold.began, at) {
                (Some(began), Some(at)) => {
                    let more = if began.exact { "" } else { ">" };
                    let length = format!("{more}{}", duration(at.since(began.at)));
                    format!("  {}", say!("held {length}", length))
                }
                _ => format!("  {} {}", say!("rev"), grouped(revision.0)),
            };
            (
                cause_glyph(cause, theme),
                vec![
                    Span::raw(format!(" {} ", client::short(digits, hold.lease, &hold.key))),
                    theme.span(word, if lost { Role::Error } else { Role::Text }),
                ],
                hold.create_revision.0,
                length,
            )
        }
        Entry::Rebuilt(handoff) => return rebuilt_words(handoff, digits, theme),
        Entry::Mark(rebuilt) => {
            let (word, brief) = match rebuilt.state() {
                Rebuilding::Reading(_) => (say!("reading what etcd still has"), say!("reading")),
                _ if rebuilt.handoffs().len() == 0 => (say!("no handoff in what etcd still has"), say!("no handoff")),
                _ => (say!("rebuilt from revisions, which have no times"), say!("rebuilt")),
            };
            return [word, brief].map(|text| vec![theme.span(text, Role::Muted)]).to_vec();
        }
        Entry::End(rebuilt) => return end_words(rebuilt, theme),
        Entry::Gap(from) => {
            let mark = theme.span(theme.glyphs.warning, Role::Warning);
            let form = |text: String| vec![mark.clone(), Span::raw(format!(" {text}"))];
            let from = grouped(from.0);
            return vec![form(say!("nothing seen since revision {from}", from)), form(say!("gap since {from}", from))];
        }
    };
    let bare = [vec![glyph], said].concat();
    let with_token = [bare.clone(), vec![Span::raw(format!(" {}", grouped(token)))]].concat();
    let full = [with_token.clone(), vec![theme.span(length, Role::Muted)]].concat();
    vec![full, with_token, bare]
}

/// A handoff in forms: whose hold ended and why, since when it was, and who was next.
fn rebuilt_words<'a>(handoff: &'a Handoff, digits: usize, theme: &Theme) -> Vec<Vec<Span<'a>>> {
    let Handoff { from, to, cause, .. } = handoff;
    let lost = matches!(cause, Cause::Expired | Cause::Revoked);
    let word = if *cause == Cause::Unknown { say!("cause unknown") } else { lang::text(cause_word(*cause)) };
    let bare = vec![
        cause_glyph(*cause, theme),
        Span::raw(format!(" {} ", client::short(digits, from.lease, &from.key))),
        theme.span(word, if lost { Role::Error } else { Role::Text }),
    ];
    let since = match from.from {
        None => say!("held before").to_owned(),
        Some(from) => say!("held since {revision}", revision = grouped(from.0)),
    };
    let next = match &to[..] {
        [] => String::new(),
        [next] => format!("  {}", say!("then {client}", client = client::short(digits, next.lease, &next.key))),
        [next, others @ ..] => {
            let (client, more) = (client::short(digits, next.lease, &next.key), others.len());
            format!("  {}", say!("then {client} +{more}", client, more))
        }
    };
    let with_next = [bare.clone(), vec![Span::raw(next)]].concat();
    let full = [with_next.clone(), vec![theme.span(format!("  {since}"), Role::Muted)]].concat();
    vec![full, with_next, bare]
}

/// How far back it goes, and why not further.
fn end_words<'a>(rebuilt: &'a Rebuilt, theme: &Theme) -> Vec<Vec<Span<'a>>> {
    let since = grouped(rebuilt.since().0);
    let forms = match rebuilt.state() {
        Rebuilding::Failed(why) => vec![say!("not read: {why}", why = sanitise(why)), say!("not read").to_owned()],
        _ if rebuilt.omitted() > 0 => {
            let omitted = grouped(rebuilt.omitted());
            vec![say!("{omitted} older ones: lockscope history", omitted), say!("{omitted} older", omitted)]
        }
        Rebuilding::Reading(_) => vec![String::new()],
        Rebuilding::Done if rebuilt.is_compacted() => vec![say!("compacted below {since}", since)],
        Rebuilding::Done if rebuilt.since().0 > 2 => vec![say!("not read below {since}: lockscope history", since)],
        Rebuilding::Done => vec![say!("all of the store's past").to_owned()],
    };
    forms.into_iter().map(|text| vec![theme.span(text, Role::Muted)]).collect()
}
