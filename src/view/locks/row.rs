//! One lock in the list: who holds it, since when, for how long still, and who waits.

use std::collections::HashSet;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::domain::{Millis, Timestamp};
use crate::input::{Action, Sort, Target};
use crate::layout::Layout;
use crate::layout::value::kubernetes;
use crate::model::timeline::Party;
use crate::model::ui::MARKED;
use crate::model::{Cause, Diagnosis, Facts, Hold, KeyView, LockView, Severity, Since};
use crate::say;
use crate::view::client;
use crate::view::glyphs::Glyphs;
use crate::view::locks::attention;
use crate::view::text::{cut_middle, duration, escape_text, grouped, named};
use crate::view::theme::{Role, Theme};
use crate::view::widget::spark::{condense, sparkline};
use crate::view::widget::table::{Cell, Column, Row};
use crate::view::widget::ttl::{countdown, ttl_forms};

/// How many changes are looked at for that.
const MOST_FRESH: usize = 1_000;
/// For how long a lock that lost its holder says so.
const LOST_FOR: Millis = Millis(60_000);
/// Buckets of handovers in a minute.
const A_MINUTE: usize = 3;

/// The worst that was found about a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worst {
    /// How bad it is.
    pub severity: Severity,
    /// The rule that found it.
    pub code: &'static str,
}

impl Worst {
    /// The worst about a lock, if it is more than worth knowing.
    pub fn of(diagnosis: &Diagnosis, name: &[u8]) -> Option<Self> {
        let finding = diagnosis.of_lock(name).next().filter(|finding| finding.severity > Severity::Info)?;
        Some(Self { severity: finding.severity, code: finding.code })
    }
}

/// The columns of the list; `worst` when some lock has something wrong, `quiet` when none of them
/// changed hands.
pub fn columns(sort: Sort, worst: bool, quiet: bool) -> Vec<Column> {
    let by = |column: Column, this: Sort| column.sorts(Action::SortBy(this), sort == this);
    let mut columns = vec![
        by(Column::new("LOCK").at_least(if worst { 14 } else { 16 }).fills(), Sort::Name),
        Column::new("LAYOUT").at_most(12).drop(0),
        Column::new("HOLDER").at_least(6).at_most(24),
        Column::new("TOKEN").right().drop(2),
        by(Column::new("HELD").right().drop(3), Sort::Held),
        by(Column::new("TTL").at_least(16).tight(), Sort::Ttl),
        by(Column::new("WAIT").right(), Sort::Wait),
        by(Column::new("HANDOVER").at_least(8).drop(1).idle(quiet && sort != Sort::Handovers), Sort::Handovers),
    ];
    if worst {
        columns.insert(0, Column { gap: 1, ..by(Column::new("!"), Sort::Weight) });
        columns.push(by(Column::new("FINDING").drop(0), Sort::Weight));
    }
    columns
}

/// A row with the mark and the word of the worst that was found.
pub fn with_worst<'a>(mut row: Row<'a>, worst: Option<Worst>, theme: &Theme) -> Row<'a> {
    let span = |text: &'static str| match worst {
        Some(Worst { severity, .. }) => theme.span(text, attention::role(severity)),
        None => Span::raw(""),
    };
    let glyph = match worst {
        Some(Worst { severity: Severity::Error, .. }) => theme.glyphs.lost,
        Some(_) => theme.glyphs.warning,
        None => "",
    };
    row.cells.insert(0, Cell::span(span(glyph)));
    row.cells.push(Cell::span(span(worst.map_or("", |worst| worst.code))));
    row
}

/// The locks that changed a moment ago, by name.
pub fn fresh(facts: &Facts) -> HashSet<&[u8]> {
    let start = facts.now() - MARKED;
    let latest = facts.timeline.iter().rev().take_while(|happening| happening.at > start).take(MOST_FRESH);
    latest.filter_map(|happening| happening.what.party()).map(Party::lock).collect()
}

/// The most handovers a minute of any of these locks: the common scale of their sparklines.
pub fn scale<'a>(locks: impl Iterator<Item = LockView<'a>>) -> u32 {
    locks.flat_map(|lock| condense(&lock.handovers(), A_MINUTE, 10)).max().unwrap_or(0)
}

/// The row of a lock.
pub fn row<'a>(lock: LockView<'a>, now: Timestamp, most: u32, theme: &Theme) -> Row<'a> {
    let [holder, token, held, ttl] = match lock.holder() {
        Some(key) => held_cells(&lock, &key, now, theme),
        None => free_cells(&lock, now, theme),
    };
    let cells = vec![
        Cell::Name(named(lock.name()), Style::new()),
        Cell::Forms(vec![
            Line::from(theme.span(lock.layout().name(), Role::Muted)),
            Line::from(
                theme.span(if lock.layout() == Layout::KubernetesLease { "k8s-lease" } else { "" }, Role::Muted),
            ),
        ]),
        holder,
        token,
        held,
        ttl,
        Cell::span(waiting(&lock, theme)),
        handovers(&lock, most, theme),
    ];
    Row { target: Some(Target::Lock(lock.name().into())), ..Row::new(cells) }
}

fn held_cells<'a>(lock: &LockView<'a>, key: &KeyView<'a>, now: Timestamp, theme: &Theme) -> [Cell<'a>; 4] {
    let held = lock.held_since().map_or_else(|| "-".into(), |since| length(since, lock.told_until()));
    [
        holder_cell(lock, key, theme),
        Cell::span(token(lock, key, theme)),
        Cell::new(held),
        Cell::Forms(time_left(lock.layout(), key, now, theme)),
    ]
}

/// The holder in forms: by the name its value gives, by its lease, and how many more there are.
fn holder_cell<'a>(lock: &LockView<'a>, key: &KeyView<'a>, theme: &Theme) -> Cell<'a> {
    let role = if key.is_foreign(lock.layout()) { Role::Error } else { Role::Holder };
    let glyph = |theme: &Theme| theme.span(theme.glyphs.holder, role);
    let count = match lock.layout() {
        Layout::Queue | Layout::Election | Layout::SingleKey | Layout::KubernetesLease => 1,
        _ => lock.holder_count(),
    };
    let mut names = Vec::new();
    if count == 1
        && let Some(name) = client::named(key)
    {
        let name = escape_text(&name);
        names.extend([64, 16, 10].map(|columns| cut_middle(&name, columns, theme.glyphs.ellipsis).into_owned()));
        names.dedup();
    }
    names.push(client::short(lock.digits(), key.lease(), key.key()).into_owned());
    let mut forms: Vec<Line<'a>> = names
        .into_iter()
        .map(|name| {
            let more = if count > 1 { format!(" +{}", count - 1) } else { String::new() };
            Line::from(vec![glyph(theme), theme.span(format!(" {name}{more}"), role)])
        })
        .collect();
    if count > 1 {
        forms.push(Line::from(vec![glyph(theme), theme.span(format!(" {}", say!("{count} hold", count)), role)]));
    }
    Cell::Forms(forms)
}

/// The number that fences: only where the recipe has one.
fn token<'a>(lock: &LockView<'_>, key: &KeyView<'_>, theme: &Theme) -> Span<'a> {
    match lock.layout() {
        // One object for all holders: its create_revision tells nothing.
        Layout::KubernetesLease => {
            match kubernetes::Lease::parse(&key.entry().value).and_then(|lease| lease.transitions) {
                Some(transitions) => theme.span(grouped(transitions), Role::Text),
                None => theme.span("-", Role::Muted),
            }
        }
        _ => theme.span(grouped(key.token().0), Role::Text),
    }
}

/// What is left of the holder's time, by its lease or, for Kubernetes, by its value.
pub fn time_left<'a>(layout: Layout, key: &KeyView<'_>, now: Timestamp, theme: &Theme) -> Vec<Line<'a>> {
    if layout != Layout::KubernetesLease {
        return ttl_forms(key.ttl(), theme);
    }
    let lease = kubernetes::Lease::parse(&key.entry().value).unwrap_or_default();
    match (lease.expires(), lease.duration) {
        (Some(end), Some(whole)) if end >= now => countdown(whole, end - now, false, theme),
        (Some(end), _) => vec![Line::from(theme.span(say!("overdue {by}", by = duration(now - end)), Role::Error))],
        (None, _) => vec![Line::from(theme.span(say!("no time told"), Role::Muted))],
    }
}

fn free_cells<'a>(lock: &LockView<'a>, now: Timestamp, theme: &Theme) -> [Cell<'a>; 4] {
    if let Some((hold, how, ago)) = lost(lock, now) {
        let name = client::short(lock.digits(), hold.lease, &hold.key);
        let end = hold.ended.and_then(|end| end.at).unwrap_or(now);
        let held = hold.began.map_or_else(|| "-".to_owned(), |began| length(began, end));
        let ago = duration(ago);
        let (long, short) = match how {
            Lost::Expired => (say!("expired {ago} ago", ago), say!("expired")),
            Lost::Revoked => (say!("revoked {ago} ago", ago), say!("revoked")),
        };
        return [
            Cell::span(theme.span(format!("{} {name}", theme.glyphs.lost), Role::Error)),
            Cell::new(grouped(hold.create_revision.0)),
            Cell::new(held),
            Cell::Forms(vec![Line::from(theme.span(long, Role::Error)), Line::from(theme.span(short, Role::Error))]),
        ];
    }
    let dash = || Cell::span(theme.span("-", Role::Muted));
    [
        Cell::span(theme.span(format!("{} {}", theme.glyphs.waiter, say!("free")), Role::Muted)),
        dash(),
        dash(),
        Cell::Forms(vec![Line::from(theme.span(theme.glyphs.no_bar.repeat(10), Role::Muted)), Line::from("")]),
    ]
}

/// How a holder lost its lock.
#[derive(Clone, Copy)]
enum Lost {
    Expired,
    Revoked,
}

/// The hold that was lost a short while ago, if that is how the lock became free.
fn lost<'a>(lock: &LockView<'a>, now: Timestamp) -> Option<(&'a Hold, Lost, Millis)> {
    let hold = lock.holds().next_back()?;
    let end = hold.ended?;
    let ago = now.since(end.at?);
    let how = match end.cause {
        Cause::Expired => Lost::Expired,
        Cause::Revoked => Lost::Revoked,
        _ => return None,
    };
    (ago.0 < LOST_FOR.0).then_some((hold, how, Millis(ago.0.max(1_000))))
}

/// How many wait; `?` where waiters leave no trace.
fn waiting<'a>(lock: &LockView<'_>, theme: &Theme) -> Span<'a> {
    match lock.layout() {
        layout if layout.has_queue() => {
            let count = lock.waiter_count();
            let role = if count == 0 { Role::Muted } else { Role::Text };
            theme.span(grouped(count), role)
        }
        layout if layout.is_lock() => theme.span("?", Role::Muted),
        _ => theme.span("-", Role::Muted),
    }
}

fn handovers<'a>(lock: &LockView<'_>, most: u32, theme: &Theme) -> Cell<'a> {
    let minutes = condense(&lock.handovers(), A_MINUTE, 10);
    let line = |cells: usize, glyphs: &Glyphs| {
        let shown = minutes.iter().copied().skip(minutes.len().saturating_sub(cells));
        let quiet = minutes.iter().all(|&count| count == 0);
        Line::from(theme.span(sparkline(shown, most, glyphs), if quiet { Role::Muted } else { Role::Text }))
    };
    Cell::Forms(vec![line(10, theme.glyphs), line(8, theme.glyphs)])
}

/// How long something has been so: `2m14s`, or `>2m14s` when its beginning was not seen.
pub fn length(since: Since, now: Timestamp) -> String {
    // Less than a tenth would only flicker.
    let known = duration(Millis(now.since(since.at).0.max(100)));
    if since.exact { known } else { format!(">{known}") }
}
