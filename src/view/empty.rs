//! What stands in place of a list that has nothing to show: what is watched, what is
//! missing, and which key or flag to use.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::canvas::Canvas;
use super::text::{Cut, around, cut_end, duration, escape_text, fit_bytes, grouped, padded};
use super::theme::{Role, Theme};
use super::widget::notice::notice;
use crate::domain::{KeyRange, Timestamp};
use crate::event::{Denied, EndpointError, LinkState};
use crate::model::{Facts, Link};
use crate::say;

/// The columns of a label.
const LABEL: usize = 10;

/// Draws why there is nothing: no connection, nothing read yet, a filter, or no locks.
/// `now` is the time that goes on while the screen is paused.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, facts: &Facts, now: Timestamp, filter: &str) {
    let columns = usize::from(area.width.saturating_sub(4));
    let theme = canvas.theme;
    let link = &facts.link;
    let lines = match &link.state {
        LinkState::Retrying { attempt, next_at, why } if !link.listed => {
            unreachable(*attempt, *next_at, why, now, columns, usize::from(area.height), theme)
        }
        LinkState::Connecting if !link.listed => vec![muted(say!("Connecting to etcd."), theme)],
        _ if link.is_denied() => denied(link, columns, theme),
        _ if !link.listed => reading(link, columns, theme),
        _ if !filter.is_empty() => {
            let (before, behind) = around(say!("Nothing matches {filter}"), "{filter}");
            vec![
                Line::from(vec![
                    Span::raw(before),
                    theme.sentence(escape_text(filter).into_owned(), columns / 2, Role::Title),
                    Span::raw(behind),
                ]),
                muted(say!("esc takes the filter away"), theme),
            ]
        }
        _ => no_locks(facts, columns, theme),
    };
    notice(canvas, area, &lines);
}

fn unreachable<'a>(
    attempt: u32,
    next_at: Timestamp,
    why: &'a [EndpointError],
    now: Timestamp,
    columns: usize,
    rows: usize,
    theme: &Theme,
) -> Vec<Line<'a>> {
    let login = why.iter().any(is_login);
    let title = if login { say!("etcd does not let this user log in.") } else { say!("No etcd can be reached.") };
    let mut lines = vec![Line::from(theme.span(title, Role::Title)), Line::default()];
    let most = rows.saturating_sub(6).max(1);
    for tried in why.iter().take(most) {
        let endpoint = fit_bytes(tried.endpoint.as_bytes(), columns, Cut::Middle, theme.glyphs.ellipsis);
        lines.push(Line::from(theme.span(endpoint, Role::Text)));
        lines.push(Line::from(theme.sentence(format!("  {}", escape_text(tried.reason())), columns, Role::Error)));
    }
    if why.len() > most {
        lines.push(muted(say!("and {more} more", more = why.len() - most), theme));
    }
    lines.push(Line::default());
    let next = duration(next_at.since(now));
    let tried = match attempt {
        1 => say!("1 try so far, the next in {next}", next),
        _ => say!("{tries} tries so far, the next in {next}", tries = grouped(attempt), next),
    };
    lines.push(muted(tried, theme));
    let hint = if login {
        say!("--user NAME and --password, or ETCDCTL_USER, say who logs in")
    } else {
        say!("--endpoints HOST:PORT or ETCDCTL_ENDPOINTS say where etcd is")
    };
    lines.push(muted(hint, theme));
    lines
}

fn denied<'a>(link: &'a Link, columns: usize, theme: &Theme) -> Vec<Line<'a>> {
    let mut lines =
        vec![Line::from(theme.span(say!("etcd does not let this user read."), Role::Title)), Line::default()];
    for denied in &link.denied {
        let label = label(&denied.range, columns / 2, theme);
        lines.push(Line::from(vec![theme.span(label, Role::Error), Span::raw("  "), Span::raw(denied_text(denied))]));
        lines.push(Line::from(theme.sentence(escape_text(&denied.why), columns, Role::Muted)));
    }
    lines.push(Line::default());
    lines.push(muted(say!("--user NAME logs in as somebody else; --prefix P watches what may be read"), theme));
    lines
}

fn reading<'a>(link: &Link, columns: usize, theme: &Theme) -> Vec<Line<'a>> {
    let (before, behind) = around(say!("Reading {scope}"), "{scope}");
    vec![Line::from(vec![
        theme.span(before, Role::Muted),
        theme.span(scope(link, columns, theme), Role::Text),
        theme.span(behind, Role::Muted),
    ])]
}

fn no_locks<'a>(facts: &Facts, columns: usize, theme: &Theme) -> Vec<Line<'a>> {
    let watched = scope(&facts.link, columns.saturating_sub(10), theme);
    let (keys, leases) = (grouped(facts.keyspace().len()), grouped(facts.leases().len()));
    let known = say!("{keys} keys, {leases} leases", keys, leases);
    let mut lines = vec![
        Line::from(theme.span(say!("No locks."), Role::Title)),
        Line::default(),
        Line::from(vec![theme.span(padded(say!("watched"), LABEL), Role::Muted), Span::raw(watched)]),
        Line::from(vec![theme.span(padded(say!("known"), LABEL), Role::Muted), Span::raw(known)]),
        Line::default(),
    ];
    let hidden = facts.lock_count();
    if hidden > 0 {
        lines.push(muted(say!("a shows what is leased and no lock: {count}", count = grouped(hidden)), theme));
    }
    if facts.link.scope.is_empty() {
        lines.push(muted(say!("Locks are found by asking leases for their keys: with many leases, one that"), theme));
        lines.push(muted(
            say!("lives a few seconds can be missed. --prefix P watches its keys, and misses none."),
            theme,
        ));
    } else {
        lines.push(muted(say!("--prefix P watches another prefix, --prefix '' all keys"), theme));
    }
    lines.push(muted(say!("etcdctl lock NAME makes a lock"), theme));
    lines
}

/// What is watched: `/jobs/, /leader/`, or that locks are found by their leases.
pub fn scope(link: &Link, columns: usize, theme: &Theme) -> String {
    if link.scope.is_empty() {
        return say!("leases, to find locks by them").into();
    }
    let labels: Vec<String> = link.scope.iter().take(8).map(|range| label(range, columns, theme)).collect();
    let labels = labels.join(say!(", "));
    let named = match link.scope.len().saturating_sub(8) {
        0 => labels,
        more => say!("{named} and {more} more", named = labels, more),
    };
    cut_end(&named, columns, theme.glyphs.ellipsis).into_owned()
}

fn label(range: &KeyRange, columns: usize, theme: &Theme) -> String {
    match range.label() {
        b"" => say!("all keys").into(),
        label => fit_bytes(label, columns, Cut::Middle, theme.glyphs.ellipsis).into_owned(),
    }
}

fn muted<'a>(text: impl Into<std::borrow::Cow<'a, str>>, theme: &Theme) -> Line<'a> {
    Line::from(theme.span(text, Role::Muted))
}

/// Whether etcd was reached and refused the user or the password.
fn is_login(tried: &EndpointError) -> bool {
    tried.error.starts_with("cannot log in to ") || tried.error.contains("authentication failed")
}

/// What a denied range needs.
fn denied_text(denied: &Denied) -> String {
    let right = match (denied.is_everything(), denied.range.end.is_empty()) {
        (true, _) => say!("read on all keys, or name a --prefix"),
        (false, true) => say!("read on this key"),
        (false, false) => say!("read on this prefix"),
    };
    if denied.user.is_empty() {
        return say!("denied, nobody is logged in: needs {right}", right);
    }
    say!("denied to {user}: its role needs {right}", user = escape_text(&denied.user), right)
}
