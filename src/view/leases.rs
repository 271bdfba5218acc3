//! All leases: how much time each has, whether it is kept alive, and what hangs on it.

use ratatui::layout::Rect;
use ratatui::text::Line;

use super::canvas::Canvas;
use super::empty;
use super::list::{List, position, title};
use super::text::{self, grouped};
use super::theme::{Role, Theme};
use super::widget::panel::Panel;
use super::widget::table::{Cell, Column, Row, table};
use super::widget::ttl::{renewal_forms, ttl_forms};
use crate::domain::{LeaseId, Timestamp};
use crate::input::{Pane, Target};
use crate::model::{Facts, LeaseView};
use crate::say;

const COLUMNS: [Column; 5] = [
    Column::new("LEASE"),
    Column::new("TTL").at_least(16),
    Column::new("RENEWED").at_least(11),
    Column::new("KEYS").right(),
    Column::new("HOLDS / WAITS FOR").at_least(20).fills(),
];

/// What the screen needs besides the facts.
pub struct Leases<'a> {
    /// The leases that are listed.
    pub rows: &'a [LeaseId],
    /// How many there would be without the filter.
    pub total: usize,
    /// The filter as it was typed.
    pub filter: &'a str,
    /// Where the list stands.
    pub list: List<'a>,
    /// The time that goes on while the screen is paused.
    pub live_now: Timestamp,
}

impl Leases<'_> {
    /// Draws the screen.
    pub fn draw(&self, canvas: &mut Canvas<'_>, area: Rect, facts: &Facts) {
        let theme = canvas.theme;
        let capacity = area.height.saturating_sub(3);
        let window = self.list.window(usize::from(capacity), self.rows.len());
        let panel = Panel::new(title("Leases", self.rows.len(), self.total, self.filter, theme))
            .data(theme.span(position(&window, self.rows.len()), Role::Muted))
            .focused(self.list.focused);
        let inner = panel.draw(canvas, area);
        canvas.hit_pane(area, Pane::Leases, capacity, self.rows.len());
        if self.rows.is_empty() {
            empty::draw(canvas, inner, facts, self.live_now, self.filter);
            return;
        }
        let shown = window.clone().filter_map(|at| Some((at, facts.lease(*self.rows.get(at)?)?)));
        let rows: Vec<Row<'_>> = shown
            .map(|(at, lease)| Row { selected: self.list.selected == Some(at), ..row(&lease, facts, theme) })
            .collect();
        table(canvas, inner, &COLUMNS, &rows);
    }
}

fn row<'a>(lease: &LeaseView<'a>, facts: &Facts, theme: &Theme) -> Row<'a> {
    let keys = lease.key_count();
    // Before anything was read, nobody knows whether it has keys.
    let unread = keys == 0 && !facts.link.listed && facts.leases().polled_at(lease.id).is_none();
    let count = grouped(keys);
    Row {
        target: Some(Target::Lease(lease.id)),
        ..Row::new(vec![
            Cell::new(lease.id.to_string()),
            Cell::Forms(ttl_forms(lease.ttl(), theme)),
            Cell::Forms(renewal_forms(lease.renewal(), theme)),
            Cell::new(if unread { String::new() } else { count }),
            if unread { Cell::span(theme.span(say!("not read yet"), Role::Muted)) } else { use_cell(lease, theme) },
        ])
    }
}

/// What the lease is for: the locks it holds, those it waits for, or else its first key; of a large
/// one a key and how many more there are.
fn use_cell<'a>(lease: &LeaseView<'a>, theme: &Theme) -> Cell<'a> {
    if lease.is_large() {
        return large_cell(lease, theme);
    }
    let (holds, waits) = (lease.holds(), lease.waits_for());
    let used: Vec<(&'a [u8], bool)> =
        holds.iter().map(|lock| (lock.name(), true)).chain(waits.iter().map(|lock| (lock.name(), false))).collect();
    let Some(&(first, held)) = used.first() else {
        return match lease.keys().first() {
            Some(key) => Cell::Name(key.key(), theme.style(Role::Muted)),
            None => Cell::span(theme.span(say!("no keys"), Role::Muted)),
        };
    };
    let mark = |held: bool| {
        if held { (theme.glyphs.holder, Role::Holder) } else { (theme.glyphs.waiter, Role::Waiter) }
    };
    // Up to three are named, each with what it is; a narrow cell names one.
    let form = |named: usize, columns: usize| {
        let (glyph, role) = mark(held);
        let mut spans = vec![theme.span(format!("{glyph} "), role), theme.key(text::named(first), columns, Role::Text)];
        for &(name, held) in used.iter().take(named).skip(1) {
            let (glyph, role) = mark(held);
            spans.push(theme.span(format!("  {glyph} "), role));
            spans.push(theme.key(text::named(name), columns, Role::Text));
        }
        if used.len() > named {
            spans.push(theme.span(format!(" +{}", used.len() - named), Role::Muted));
        }
        Line::from(spans)
    };
    let forms = [(3, 60), (3, 30), (1, 120), (1, 60), (1, 40), (1, 30), (1, 24), (1, 18), (1, 12)];
    Cell::Forms(forms.into_iter().map(|(named, columns)| form(named, columns)).collect())
}

/// What hangs on a lease with very many keys: one of them, and how many more.
fn large_cell<'a>(lease: &LeaseView<'a>, theme: &Theme) -> Cell<'a> {
    let Some(key) = lease.any_key() else { return Cell::new("") };
    let more = lease.key_count().saturating_sub(1);
    let form = |columns: usize| {
        Line::from(vec![
            theme.key(text::named(key.key()), columns, Role::Muted),
            theme.span(format!(" +{}", grouped(more)), Role::Muted),
        ])
    };
    Cell::Forms([60, 40, 30, 24, 18, 12].map(form).into())
}
