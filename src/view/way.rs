//! The ways of single requests through an embedded cluster: the latest requests, and of one of
//! them every station with its time on the cluster's clock.

mod stations;

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::canvas::Canvas;
use super::layout::{Size, left, percent, top};
use super::list::{List, position};
use super::text::{exact_clock, lasting, width};
use super::theme::{Role, Theme};
use super::widget::panel::Panel;
use super::widget::table::{Cell, Column, Row, table};
use crate::domain::raft::{RaftPicture, Told, Trace, Waypoint};
use crate::input::{Pane, Target};
use crate::model::Ui;
use crate::say;

const COLUMNS: [Column; 5] = [
    Column::new("AT").right().drop(0),
    Column::new("REQUEST").at_least(12).fills(),
    Column::new("VIA").drop(1),
    Column::new("TOOK").right(),
    Column::new("STATE"),
];

/// Draws the screen.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, picture: &RaftPicture, ui: &Ui, size: Size) {
    let focused = ui.focused();
    let requests = List::of(&ui.raft.requests, focused == Pane::Requests);
    let (list, way) = if size <= Size::Single {
        top(area, percent(area.height, 30, 6))
    } else {
        left(area, percent(area.width, 38, 46))
    };
    draw_requests(canvas, list, picture, &requests, ui.raft.gone_way(picture));
    draw_way(canvas, way, picture, ui.raft.shown_way(picture), ui.scrolled(Pane::Way), focused == Pane::Way);
}

/// Draws the latest requests as a panel, newest first; above them the selected one when it is
/// gone from among them, so that the selection and the way that is shown are the same.
pub fn draw_requests(
    canvas: &mut Canvas<'_>,
    area: Rect,
    picture: &RaftPicture,
    list: &List<'_>,
    gone: Option<&Trace>,
) {
    let theme = canvas.theme;
    let traces = &picture.traces;
    let capacity = area.height.saturating_sub(if gone.is_some() { 4 } else { 3 });
    let window = list.window(usize::from(capacity), traces.len());
    let title = vec![theme.span(say!("Requests"), Role::Title), Span::raw(format!(" {}", traces.len()))];
    let data = match position(&window, traces.len()) {
        place if place.is_empty() => say!("newest first").to_owned(),
        place => place,
    };
    let panel = Panel::new(Line::from(title)).data(theme.span(data, Role::Muted)).focused(list.focused);
    let inner = panel.draw(canvas, area);
    canvas.hit_pane(area, Pane::Requests, capacity, traces.len());
    if traces.is_empty() && gone.is_none() {
        let said = match picture.told {
            Told::All => say!("no request yet; `etcdctl put` on one of the members makes one"),
            Told::Status => say!("a real etcd tells nothing of single requests"),
        };
        canvas.text(inner.x + 1, inner.y, inner.width.saturating_sub(1), said, Role::Muted);
        return;
    }
    let shown = window.filter_map(|at| Some((at, traces.get(traces.len().checked_sub(at + 1)?)?)));
    let selected = list.selected.filter(|_| gone.is_none());
    let latest = shown.map(|(at, trace)| Row { selected: selected == Some(at), ..row(trace, state(trace), theme) });
    let gone = gone.map(|trace| Row {
        selected: list.selected.is_some(),
        ..row(trace, (say!("gone from here"), Role::Muted), theme)
    });
    let rows: Vec<Row<'_>> = gone.into_iter().chain(latest).collect();
    table(canvas, inner, &COLUMNS, &rows);
}

fn row<'a>(trace: &'a Trace, (word, role): (&'static str, Role), theme: &Theme) -> Row<'a> {
    let dash = || Cell::span(theme.span("-", Role::Muted));
    let first = trace.steps.first();
    Row {
        target: Some(Target::Request(trace.id)),
        ..Row::new(vec![
            first.map_or_else(dash, |step| Cell::span(theme.span(exact_clock(step.at), Role::Muted))),
            Cell::span(theme.span(trace.what.clone(), Role::Text)),
            first.map_or_else(dash, |step| Cell::new(step.node.to_string())),
            took(trace).map_or_else(dash, Cell::new),
            Cell::span(theme.span(word, role)),
        ])
    }
}

/// How far a request is.
fn state(trace: &Trace) -> (&'static str, Role) {
    let answer = trace.steps.iter().find_map(|step| match step.what {
        Waypoint::Answered { ok } => Some(ok),
        _ => None,
    });
    match (answer, &trace.stopped) {
        (Some(true), _) => (say!("answered"), Role::Text),
        (Some(false), _) => (say!("failed"), Role::Error),
        (None, Some(_)) => (say!("stopped"), Role::Error),
        (None, None) => (say!("under way"), Role::Muted),
    }
}

/// The time from the first station to the answer, if there is one.
fn took(trace: &Trace) -> Option<String> {
    let answered = trace.steps.iter().find(|step| matches!(step.what, Waypoint::Answered { .. }))?;
    Some(lasting(answered.at.since(trace.steps.first()?.at)))
}

/// Draws the way of one request as a panel, the first `from` lines of it scrolled away.
pub fn draw_way(
    canvas: &mut Canvas<'_>,
    area: Rect,
    picture: &RaftPicture,
    trace: Option<&Trace>,
    from: usize,
    focused: bool,
) {
    let theme = canvas.theme;
    let Some(trace) = trace else {
        let inner = Panel::new(theme.span(say!("Way"), Role::Title)).focused(focused).draw(canvas, area);
        canvas.hit_pane(area, Pane::Way, inner.height, 0);
        canvas.text(inner.x + 1, inner.y, inner.width.saturating_sub(1), say!("no request is selected"), Role::Muted);
        return;
    };
    let (word, role) = state(trace);
    let said = took(trace).map_or_else(|| word.to_owned(), |took| say!("{state} after {took}", state = word, took));
    let room = usize::from(area.width).saturating_sub(width(&said) + 12).max(8);
    let title = vec![
        theme.span(format!("{} ", say!("Way")), Role::Title),
        theme.sentence(trace.what.clone(), room, Role::Text),
    ];
    let panel = Panel::new(Line::from(title)).data(theme.span(said, role)).focused(focused);
    let inner = panel.draw(canvas, area);
    let lines = stations::lines(picture, trace, inner.width.saturating_sub(1), theme);
    canvas.hit_pane(area, Pane::Way, inner.height, lines.len());
    let from = from.min(lines.len().saturating_sub(usize::from(inner.height)));
    for (y, line) in (inner.top()..inner.bottom()).zip(&lines[from..]) {
        canvas.line(inner.x + 1, y, inner.width.saturating_sub(1), line);
    }
    // What lies below the fold is told on the frame, where it covers nothing.
    let more = lines.len() - from - lines[from..].len().min(usize::from(inner.height));
    if more > 0 && area.width > 16 {
        let text =
            Line::from(theme.span(format!(" {} {} ", theme.glyphs.descending, say!("{more} more", more)), Role::Muted));
        canvas.line_right(area.x, area.right() - 1, area.bottom() - 1, &text);
    }
}
