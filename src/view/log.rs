//! The program's own log, newest first, by tui-logger's widget.
//!
//! The widget keeps its scroll state to itself and draws the newest line last; here it draws
//! into cells of its own, of which the part that is scrolled to is copied upside down. A
//! frame thus depends on nothing but the log and how far it is scrolled.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget as _;
use tui_logger::{ExtLogRecord, LogFormatter, TuiLoggerWidget};

use super::canvas::Canvas;
use super::text::{grouped, sanitise, split_at_width, width};
use super::theme::{Role, Theme};
use super::widget::panel::Panel;
use crate::domain::Timestamp;
use crate::input::Pane;
use crate::say;

/// How many rows beyond the shown ones are looked at, in screens: how far a page can go.
const AHEAD: usize = 3;
/// How many rows are looked at at most.
const MOST: usize = 2_000;

/// Draws the log as a panel; `top` of its newest lines are scrolled away.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, now: Timestamp, top: usize, focused: bool) {
    let theme = canvas.theme;
    let panel = Panel::new(theme.span(say!("Log"), Role::Title)).focused(focused);
    let panel = if top > 0 {
        let scrolled = say!("{count} newer above", count = grouped(top));
        panel.data(theme.span(scrolled, Role::Muted))
    } else {
        panel.data(theme.span(say!("newest first"), Role::Muted))
    };
    let inner = panel.draw(canvas, area);
    let rows = usize::from(inner.height);
    let drawn = render(theme, inner.width, (top + rows * AHEAD).min(MOST), now);
    let lines = filled(&drawn);
    canvas.hit_pane(area, Pane::Log, inner.height, lines);
    if lines == 0 {
        canvas.text(inner.x + 1, inner.y, inner.width.saturating_sub(1), say!("nothing logged"), Role::Muted);
    }
    let top = top.min(lines.saturating_sub(rows));
    for (y, from) in (inner.top()..inner.bottom()).zip((0..lines).rev().skip(top)) {
        let Ok(from) = u16::try_from(from) else { break };
        for x in 0..inner.width {
            canvas.buffer()[(inner.x + x, y)].clone_from(&drawn[(x, from)]);
        }
    }
}

fn render(theme: &Theme, columns: u16, rows: usize, now: Timestamp) -> Buffer {
    let area = Rect::new(0, 0, columns, u16::try_from(rows).unwrap_or(u16::MAX));
    let mut buffer = Buffer::empty(area);
    let formatter = Formatter { theme: theme.clone(), now };
    TuiLoggerWidget::default().style(theme.style(Role::Text)).formatter(Box::new(formatter)).render(area, &mut buffer);
    buffer
}

/// How many rows have something in them: the widget starts at the top.
fn filled(buffer: &Buffer) -> usize {
    let blank = |y| (0..buffer.area.width).all(|x| buffer[(x, y)].symbol() == " ");
    (0..buffer.area.height).take_while(|&y| !blank(y)).count()
}

/// Turns a record into lines, last line first: the frame is turned upside down afterwards.
struct Formatter {
    theme: Theme,
    now: Timestamp,
}

impl LogFormatter for Formatter {
    fn min_width(&self) -> u16 {
        20
    }

    fn format(&self, columns: usize, record: &ExtLogRecord) -> Vec<Line<'_>> {
        let theme = &self.theme;
        let (word, role) = match record.level.as_str() {
            "ERROR" => ("error", Role::Error),
            "WARN" => ("warn ", Role::Warning),
            "INFO" => ("info ", Role::Text),
            "DEBUG" => ("debug", Role::Muted),
            _ => ("trace", Role::Muted),
        };
        let at = Timestamp(record.timestamp.timestamp().as_millisecond());
        let time = super::text::clock(at, self.now, &theme.zone);
        let target = short_target(record.target());
        let head = width(&time) + 1 + word.len() + 1;
        // Whoever logs a name escapes it; this is the last check.
        let text = sanitise(record.msg().trim()).into_owned();
        let room = columns.saturating_sub(head).max(8);
        let mut lines = Vec::new();
        let mut first = vec![theme.span(format!("{time} "), Role::Muted), theme.span(format!("{word} "), role)];
        let mut left = room;
        if !target.is_empty() && room > 40 {
            left = room - width(target) - 1;
            first.push(theme.span(format!("{target} "), Role::Muted));
        }
        let (line, mut rest) = split_at_width(&text, left);
        first.push(Span::styled(line.to_owned(), theme.style(role)));
        lines.push(Line::from(first));
        while !rest.is_empty() {
            let (line, more) = split_at_width(rest, room);
            lines.push(Line::from(vec![Span::raw(" ".repeat(head)), Span::styled(line.to_owned(), theme.style(role))]));
            rest = more;
        }
        lines.reverse();
        lines
    }
}

/// The module without the crate's own name.
fn short_target(target: &str) -> &str {
    target.strip_prefix("lockscope::").unwrap_or(target)
}
