//! Swim lanes: who did what over time, drawn to scale. Time runs to the right.

use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use crate::domain::{Millis, Timestamp};
use crate::say;
use crate::view::canvas::Canvas;
use crate::view::text::{duration, width};
use crate::view::theme::Role;

/// A stretch of time in a lane.
#[derive(Clone, Debug)]
pub struct Stretch<'a> {
    /// When it began.
    pub from: Timestamp,
    /// When it ended; `None` while it lasts.
    pub to: Option<Timestamp>,
    /// What it says, when there is room.
    pub label: std::borrow::Cow<'a, str>,
    /// What its cells are.
    pub fill: Fill,
    /// How it ended.
    pub end: Ending,
}

/// What the cells of a stretch say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Waiting.
    Waiting,
    /// Holding.
    Holding,
    /// Held by a lease that nobody renewed.
    Stale,
}

/// How a stretch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// As it should, or not yet.
    Quiet,
    /// The lease was lost.
    Lost,
}

/// A window of time, as wide as a lane.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Its right edge.
    pub end: Timestamp,
    /// Its length.
    pub span: Millis,
}

impl Window {
    /// The column of a moment in a lane of so many columns; outside of it at its edges.
    fn column(self, at: Timestamp, columns: u16) -> u16 {
        let start = self.end - self.span;
        let passed = (at - start).0.clamp(0, self.span.0);
        let column = i128::from(passed) * i128::from(columns) / i128::from(self.span.0.max(1));
        u16::try_from(column).unwrap_or(columns).min(columns)
    }
}

/// Draws one lane in the first row of an area. Stretches come oldest first; a later one
/// draws over an earlier.
pub fn lane(canvas: &mut Canvas<'_>, area: Rect, window: Window, stretches: &[Stretch<'_>]) {
    if area.width < 2 || area.height == 0 {
        return;
    }
    // The last column is the arrow of what goes on.
    let columns = area.width - 1;
    let start = window.end - window.span;
    for stretch in stretches.iter().filter(|stretch| stretch.to.is_none_or(|to| to >= start)) {
        let from = window.column(stretch.from, columns);
        let to = stretch.to.map_or(columns, |to| window.column(to, columns).max(from + 1));
        draw_stretch(canvas, area.x + from, area.y, to - from, stretch);
    }
}

fn draw_stretch(canvas: &mut Canvas<'_>, x: u16, y: u16, columns: u16, stretch: &Stretch<'_>) {
    let theme = canvas.theme;
    let lane = &theme.glyphs.lane;
    let (fill, role) = match stretch.fill {
        Fill::Waiting => (lane.waiting, Role::Waiter),
        // Who holds now has the hue; what is over is only there to compare with.
        Fill::Holding if stretch.to.is_some() => (lane.holding, Role::Muted),
        Fill::Holding => (lane.holding, Role::Holder),
        Fill::Stale => (lane.stale, Role::Holder),
    };
    let mark = match (stretch.to, stretch.end) {
        (None, _) => Some(theme.span(lane.now, role)),
        (Some(_), Ending::Lost) => Some(theme.span(theme.glyphs.lost, Role::Error)),
        (Some(_), Ending::Quiet) => Some(theme.span(lane.end, role)),
    };
    // What goes on has its arrow behind it; an end takes the stretch's own last cell.
    let body = if stretch.to.is_none() { columns } else { columns - 1 };
    let mut spans = vec![theme.span(fill.repeat(usize::from(body)), role)];
    spans.extend(mark);
    canvas.line(x, y, columns + 1, &Line::from(spans));
    let label = u16::try_from(width(&stretch.label)).unwrap_or(u16::MAX);
    if !stretch.label.is_empty() && label.saturating_add(2) <= body {
        // Cut out of the bar: turned on a full bar, with a space around it on a light one.
        if stretch.fill == Fill::Holding && theme.glyphs.unicode {
            let style = theme.style(role).add_modifier(Modifier::REVERSED);
            canvas.line(x + 1, y, label, &Line::from(Span::styled(stretch.label.clone(), style)));
        } else {
            canvas.line(x + 1, y, label, &Line::from(theme.span(stretch.label.clone(), role)));
        }
    }
}

/// Draws the scale below lanes: how long ago, every so many columns, and `now`.
pub fn scale(canvas: &mut Canvas<'_>, area: Rect, window: Window) {
    if area.width < 2 || area.height == 0 {
        return;
    }
    let columns = area.width - 1;
    let steps: i64 = if columns >= 60 { 5 } else { 2 };
    for step in 0..steps {
        let ago = Millis(window.span.0 * (steps - step) / steps);
        let x = area.x + window.column(window.end - ago, columns);
        canvas.text(x, area.y, area.right().saturating_sub(x), &format!("-{}", round(ago)), Role::Muted);
    }
    let now = Line::from(canvas.theme.span(say!("now"), Role::Muted));
    canvas.line_right(area.x, area.right(), area.y, &now);
}

/// A round length without its zeros: `10m`, not `10m00s`.
fn round(length: Millis) -> String {
    if length.0 % 60_000 == 0 && length.0 < 3_600_000 { format!("{}m", length.0 / 60_000) } else { duration(length) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::testing::{Screenshot, ascii, plain};
    use crate::view::theme::Theme;

    const NOW: Timestamp = Timestamp(10_000_000);
    const WINDOW: Window = Window { end: NOW, span: Millis(600_000) };

    fn held(from: i64, to: Option<i64>, label: &'static str, end: Ending) -> Stretch<'static> {
        let ago = |secs: i64| NOW - Millis::from_secs(secs);
        Stretch { from: ago(from), to: to.map(ago), label: label.into(), fill: Fill::Holding, end }
    }

    fn drawn(theme: &Theme, stretches: &[Stretch<'_>]) -> Screenshot {
        Screenshot::of(61, 2, theme, |canvas| {
            lane(canvas, Rect::new(0, 0, 61, 1), WINDOW, stretches);
            scale(canvas, Rect::new(0, 1, 61, 1), WINDOW);
        })
    }

    #[test]
    fn stretches_are_drawn_to_scale_with_their_labels_in_them() {
        let shot = drawn(
            &plain(),
            &[
                held(600, Some(400), "1f22", Ending::Quiet),
                held(400, Some(200), "0aa1", Ending::Lost),
                held(134, None, "a305", Ending::Quiet),
            ],
        );
        assert_eq!(
            shot.lines(),
            [
                "█1f22██████████████▏█0aa1██████████████×      █a305█████████▶",
                "-10m        -8m         -6m         -4m         -2m       now",
            ]
        );
        assert!(shot.has_role("×", &plain(), Role::Error));
        assert!(shot.has_role("1f22", &plain(), Role::Muted) && shot.has_role("a305", &plain(), Role::Holder));
        assert!(shot.find("1f22").unwrap().modifier.contains(Modifier::REVERSED));
    }

    #[test]
    fn a_short_stretch_is_a_cell_and_an_old_one_is_left_out() {
        let shot =
            drawn(&plain(), &[held(900, Some(700), "old", Ending::Quiet), held(301, Some(300), "short", Ending::Lost)]);
        assert_eq!(shot.lines()[0].trim(), "×");
        let shot = drawn(&plain(), &[held(900, Some(540), "1f22", Ending::Quiet)]);
        assert!(
            shot.lines()[0].starts_with("█████▏ "),
            "what began before the window starts at its edge: {:?}",
            shot.lines()
        );
    }

    #[test]
    fn lanes_are_ascii_where_they_must_be() {
        let shot = drawn(&ascii(), &[held(134, None, "a305", Ending::Quiet)]);
        assert!(shot.lines()[0].ends_with("#a305#########>"), "{:?}", shot.lines());
        assert!(shot.text().is_ascii());
    }
}
