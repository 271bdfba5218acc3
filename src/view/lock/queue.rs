//! The queue of one lock as a staircase: who holds, who waits, and for whom.

use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::domain::key::split_last;
use crate::domain::{Millis, Timestamp};
use crate::input::{Pane, Target};
use crate::layout::{Layout, Shape};
use crate::model::{Facts, KeyView, LockView, TtlState};
use crate::view::canvas::Canvas;
use crate::view::client;
use crate::view::list::List;
use crate::view::locks::row::{length, time_left};
use crate::view::text::{duration, escape_text, grouped, quantity};
use crate::view::theme::{Role, Theme};
use crate::view::widget::panel::Panel;
use crate::view::widget::stairs;
use crate::view::widget::table::{Cell, Column, Row, table};
use crate::view::widget::ttl::{renewal, whole_seconds};
use crate::{lang, say};

/// The rows of a frame and a heading.
const AROUND: u16 = 3;

const COLUMNS: [Column; 8] = [
    Column::new("#").at_least(7).uniform(),
    Column::new("LEASE").at_least(8),
    Column::new("CLIENT").drop(0).at_most(32),
    Column::new("CREATE_REV").right().drop(4),
    Column::new("WAITED").right().drop(3),
    Column::new("WATCHES").drop(2),
    Column::new("TTL").at_least(16).fills(),
    Column::new("RENEWAL").drop(1).fills(),
];

/// How many keys a lock's queue shows: holders and waiters.
pub fn len(lock: &LockView<'_>) -> usize {
    lock.holder_count() + lock.waiter_count()
}

/// How many rows the whole queue would take, frame and notes included.
pub fn wanted_rows(lock: &LockView<'_>) -> u16 {
    let rows = u16::try_from(len(lock).max(1)).unwrap_or(u16::MAX);
    let notes = u16::try_from(notes(lock).len()).unwrap_or(0);
    rows.saturating_add(AROUND).saturating_add(notes)
}

/// Draws the queue as a panel. `title` names it; without one the queue is counted instead.
pub fn draw(
    canvas: &mut Canvas<'_>,
    area: Rect,
    facts: &Facts,
    lock: &LockView<'_>,
    title: Option<Line<'_>>,
    list: &List<'_>,
) {
    let now = facts.now();
    let theme = canvas.theme;
    let title = match title {
        Some(mut name) => {
            name.push_span(theme.span(format!("  {}", headcount(lock)), Role::Text));
            name
        }
        None => Line::from(theme.span(headline(lock), Role::Title)),
    };
    let notes = notes(lock);
    let capacity = area.height.saturating_sub(AROUND);
    let len = len(lock);
    let window = list.window(usize::from(capacity), len);
    let shown = entries(lock, window.start, window.len());
    let panel = Panel::new(title).data(theme.span(data(lock, &shown), Role::Muted)).focused(list.focused);
    let inner = panel.draw(canvas, area);
    canvas.hit_pane(area, Pane::Queue, capacity, len);
    if len == 0 {
        let length = lock.free_since().map(|since| duration(now.since(since)));
        let length = length.map_or_else(String::new, |length| format!(" {}", say!("for {length}", length)));
        let free = format!(" {} {}", theme.glyphs.waiter, say!("free"));
        let line = vec![theme.span(free, Role::Text), theme.span(length, Role::Muted)];
        canvas.line(inner.x + 1, inner.y, inner.width.saturating_sub(1), &Line::from(line));
        return;
    }
    let rows: Vec<Row<'_>> = shown
        .iter()
        .zip(window.start..)
        .map(|(entry, at)| Row {
            selected: list.selected == Some(at),
            target: Some(Target::Queued(entry.key.key().into())),
            ..row(lock, entry, now, theme)
        })
        .collect();
    table(canvas, inner, &COLUMNS, &rows);
    let below = inner.y + 1 + u16::try_from(rows.len()).unwrap_or(0);
    for (y, note) in (below..inner.bottom()).skip(usize::from(below + 1 < inner.bottom())).zip(&notes) {
        let line =
            Line::from(theme.sentence(lang::text(note), usize::from(inner.width.saturating_sub(3)), Role::Muted));
        canvas.line(inner.x + 2, y, inner.width.saturating_sub(3), &line);
    }
}

/// A key in the queue with its place.
struct Entry<'a> {
    /// 0 for holders.
    position: usize,
    waits_for: Option<i64>,
    key: KeyView<'a>,
}

/// Holders first, then waiters; only the rows that are shown are looked up.
fn entries<'a>(lock: &LockView<'a>, from: usize, count: usize) -> Vec<Entry<'a>> {
    let holders = lock.holder_count();
    let mut entries: Vec<Entry<'a>> =
        lock.holders().skip(from).take(count).map(|key| Entry { position: 0, waits_for: None, key }).collect();
    let waiters = lock.waiters().skip(from.saturating_sub(holders)).take(count - entries.len());
    entries.extend(waiters.map(|waiter| Entry {
        position: waiter.position,
        waits_for: Some(waiter.waits_for.0),
        key: waiter.key,
    }));
    entries
}

fn row<'a>(lock: &LockView<'a>, entry: &Entry<'a>, now: Timestamp, theme: &Theme) -> Row<'a> {
    let key = &entry.key;
    let stair = if entry.position == 0 { vec![stairs::holder(theme)] } else { stairs::waiter(entry.position, theme) };
    let waited = match (entry.position, lock.layout().has_queue()) {
        (0, _) | (_, false) => theme.span("-", Role::Muted),
        _ => Span::raw(length(key.since(), now)),
    };
    let ttl = if entry.position == 0 {
        time_left(lock.layout(), key, now, theme)
    } else {
        time_left(Layout::Queue, key, now, theme)
    };
    Row::new(vec![
        Cell::Forms(stair),
        lease_cell(key, theme),
        client_cell(key),
        Cell::new(grouped(key.token().0)),
        Cell::span(waited),
        Cell::new(watches(lock, entry, theme)),
        Cell::Forms(ttl),
        Cell::span(renewal(key.renewal(), theme).unwrap_or_default()),
    ])
}

/// The lease; without one, the key's last part says which key it is.
fn lease_cell<'a>(key: &KeyView<'a>, theme: &Theme) -> Cell<'a> {
    if key.lease().is_none() {
        let (_, last) = split_last(key.key());
        return Cell::Name(last, theme.style(Role::Error));
    }
    let hex = key.lease().to_string();
    let tail = hex[hex.len().saturating_sub(6)..].to_owned();
    Cell::Forms(vec![Line::from(hex), Line::from(format!("{}{tail}", theme.glyphs.ellipsis))])
}

/// The name the value gives, or the key's last part where that is not the lease again.
fn client_cell<'a>(key: &KeyView<'a>) -> Cell<'a> {
    if let Some(owner) = client::named(key) {
        return Cell::new(escape_text(&owner).into_owned());
    }
    let (_, last) = split_last(key.key());
    if key.lease().is_none() || last == key.lease().to_string().as_bytes() {
        return Cell::new("");
    }
    Cell::Name(last, Style::new())
}

fn watches<'a>(lock: &LockView<'_>, entry: &Entry<'_>, theme: &Theme) -> Line<'a> {
    let reads = match (lock.layout(), entry.key.entry().placed.shape) {
        (Layout::RwLock, Shape::Read) => say!("reads"),
        (Layout::RwLock, _) => say!("writes"),
        _ => "",
    };
    if entry.key.is_foreign(lock.layout()) {
        return Line::from(theme.span(say!("foreign key"), Role::Error));
    }
    match entry.waits_for {
        None if reads.is_empty() => Line::from(theme.span(say!("(holder)"), Role::Muted)),
        None => Line::from(theme.span(format!("({reads})"), Role::Muted)),
        Some(revision) => Line::from(vec![
            theme.span(if reads.is_empty() { String::new() } else { format!("{reads} ") }, Role::Muted),
            theme.span(format!("{} {}", theme.glyphs.up, grouped(revision)), Role::Text),
        ]),
    }
}

/// What it is, and how many hold it and wait for it.
fn headline(lock: &LockView<'_>) -> String {
    let count = headcount(lock);
    match lock.layout() {
        layout if layout.has_queue() => say!("Queue: {count}", count),
        Layout::SingleKey => say!("Single key: {count}", count),
        Layout::KubernetesLease => say!("Kubernetes lease: {count}", count),
        _ => count,
    }
}

fn headcount(lock: &LockView<'_>) -> String {
    let (holders, waiters) = (lock.holder_count(), lock.waiter_count());
    match lock.layout() {
        Layout::Registration => return quantity(holders, "registration"),
        layout if !layout.is_lock() => return quantity(holders, "leased key"),
        _ => {}
    }
    let held = match holders {
        0 => say!("free").to_owned(),
        1 => say!("holder").to_owned(),
        count => quantity(count, "holder"),
    };
    if holders == 0 || !lock.layout().has_queue() {
        return held;
    }
    say!("{holders} + {waiters}", holders = held, waiters = quantity(waiters, "waiter"))
}

/// How old the oldest of the shown TTLs is, and who holds by this recipe.
fn data(lock: &LockView<'_>, shown: &[Entry<'_>]) -> String {
    let rule = match lock.layout() {
        Layout::Queue | Layout::Election => say!("oldest create_revision holds"),
        Layout::RwLock => say!("readers hold together"),
        Layout::KubernetesLease => say!("the value names the holder"),
        _ => "",
    };
    let oldest = shown.iter().filter_map(|entry| age(entry.key.ttl())).max();
    match oldest {
        Some(age) if rule.is_empty() => say!("TTL polled {age} ago", age = duration(whole_seconds(age))),
        Some(age) => say!("TTL polled {age} ago, {rule}", age = duration(whole_seconds(age)), rule),
        None => rule.to_owned(),
    }
}

/// How old a TTL is.
pub fn age(ttl: TtlState) -> Option<Millis> {
    match ttl {
        TtlState::Live { age, .. } | TtlState::Overdue { age, .. } => Some(age),
        TtlState::NoLease | TtlState::Unpolled | TtlState::Gone | TtlState::Unknown => None,
    }
}

/// What this recipe cannot show.
fn notes(lock: &LockView<'_>) -> Vec<&'static str> {
    match lock.layout() {
        Layout::SingleKey => {
            vec!["Waiters on a single key leave no trace in etcd: nobody can count them."]
        }
        Layout::KubernetesLease => {
            vec!["Candidates poll the API server and leave no trace in etcd: nobody can count them."]
        }
        Layout::Registration => vec!["These keys say \"I am here\"; nobody waits for them."],
        Layout::Leased => vec!["Leased data: neither a lock nor a registration."],
        _ => Vec::new(),
    }
}
