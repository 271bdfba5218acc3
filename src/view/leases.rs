//! All leases: how much time each has, whether it is kept alive, and what hangs on it.

use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::canvas::Canvas;
use super::empty;
use super::list::List;
use super::text::{Cut, fit_bytes, grouped};
use super::theme::{Role, Theme};
use super::widget::panel::Panel;
use super::widget::table::{Cell, Column, Row, table};
use super::widget::ttl::{renewal, ttl_forms};
use crate::domain::{LeaseId, Timestamp};
use crate::input::{Pane, Target};
use crate::model::{Facts, LeaseView, LockView};

const COLUMNS: [Column; 6] = [
    Column::new("LEASE"),
    Column::new("TTL").at_least(16),
    Column::new("RENEWAL").drop(1),
    Column::new("KEYS").right(),
    Column::new("HOLDS").at_least(12).fills(),
    Column::new("WAITS FOR").at_least(12).drop(0),
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
        let rows: Vec<Row<'_>> =
            shown.map(|(at, lease)| Row { selected: self.list.selected == Some(at), ..row(&lease, theme) }).collect();
        table(canvas, inner, &COLUMNS, &rows);
    }
}

fn row<'a>(lease: &LeaseView<'a>, theme: &Theme) -> Row<'a> {
    let keys = lease.keys();
    let count = grouped(i64::try_from(keys.len()).unwrap_or(i64::MAX));
    let holds = names(lease.holds());
    let holds = match (holds, keys.first()) {
        // What holds nothing shows what hangs on it.
        (None, Some(key)) => Cell::Name(key.key(), theme.style(Role::Muted)),
        (None, None) => Cell::span(theme.span("no keys", Role::Muted)),
        (Some(holds), _) => holds,
    };
    Row {
        target: Some(Target::Lease(lease.id)),
        ..Row::new(vec![
            Cell::new(lease.id.to_string()),
            Cell::Forms(ttl_forms(lease.ttl(), theme)),
            Cell::span(renewal(lease.renewal(), theme).unwrap_or_default()),
            Cell::new(count),
            holds,
            names(lease.waits_for()).unwrap_or_else(|| Cell::span(theme.span("-", Role::Muted))),
        ])
    }
}

/// The first lock's name, and how many more there are.
fn names<'a>(locks: Vec<LockView<'a>>) -> Option<Cell<'a>> {
    let first = locks.first()?.name();
    if locks.len() == 1 {
        return Some(Cell::Name(first, Style::new()));
    }
    let more = format!(" +{}", locks.len() - 1);
    let form =
        |columns| Line::from(vec![Span::raw(fit_bytes(first, columns, Cut::Middle, "..")), Span::raw(more.clone())]);
    Some(Cell::Forms(vec![form(60), form(30), form(16), form(8)]))
}

/// A list's title: `Leases 31`, or `Leases 3/31 /web` behind a filter.
pub fn title<'a>(what: &'static str, shown: usize, total: usize, filter: &str, theme: &Theme) -> Line<'a> {
    let count = |number: usize| grouped(i64::try_from(number).unwrap_or(i64::MAX));
    let mut spans = vec![theme.span(what, Role::Title)];
    if filter.is_empty() {
        spans.push(theme.span(format!(" {}", count(shown)), Role::Text));
    } else {
        spans.push(theme.span(format!(" {}/{}", count(shown), count(total)), Role::Text));
        spans.push(theme.span(format!(" /{}", super::text::escape_text(filter)), Role::Warning));
    }
    Line::from(spans)
}

/// Which rows are shown, when not all are: `14-26 of 10,000`.
pub fn position(window: &std::ops::Range<usize>, len: usize) -> String {
    if window.len() >= len {
        return String::new();
    }
    let count = |number: usize| grouped(i64::try_from(number).unwrap_or(i64::MAX));
    format!("{}-{} of {}", count(window.start + 1), count(window.end), count(len))
}
