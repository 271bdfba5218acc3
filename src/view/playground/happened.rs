//! What happened in a run, newest first, in plain sentences each of which can be selected.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::words::sentence;
use crate::input::{Pane, Target};
use crate::model::Play;
use crate::model::ui::Ui;
use crate::say;
use crate::view::canvas::Canvas;
use crate::view::list::position;
use crate::view::text::{cluster_clock, grouped};
use crate::view::theme::Role;
use crate::view::widget::panel::Panel;

/// Draws it as a panel.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, play: &Play, ui: &Ui) {
    let theme = canvas.theme;
    let happened = play.happened();
    let focused = ui.focused() == Pane::Happened;
    let capacity = area.height.saturating_sub(2);
    let window = ui.play.happened.window(usize::from(capacity), happened.len());
    let title = vec![theme.span(say!("What happened"), Role::Title)];
    let missed = play.missed();
    let data = match position(&window, happened.len()) {
        _ if missed > 0 => {
            let missed = grouped(missed);
            theme.span(say!("{missed} were not told", missed), Role::Warning)
        }
        place if place.is_empty() || ui.play.happened.picked().is_none() => {
            theme.span(say!("newest first"), Role::Muted)
        }
        place => theme.span(place, Role::Muted),
    };
    let inner = Panel::new(Line::from(title)).data(data).focused(focused).draw(canvas, area);
    canvas.hit_pane(area, Pane::Happened, capacity, happened.len());
    if happened.is_empty() {
        canvas.text(inner.x + 1, inner.y, inner.width.saturating_sub(1), say!("nothing yet"), Role::Muted);
        return;
    }
    let picked = ui.play.happened.picked();
    let newest_first = happened.iter().rev().skip(window.start).take(window.len());
    for (y, happened) in (inner.top()..inner.bottom()).zip(newest_first) {
        let row = Rect { y, height: 1, ..inner };
        let (said, role) = sentence(happened, play);
        let room = usize::from(inner.width.saturating_sub(11));
        let line = Line::from(vec![
            theme.span(format!("{:>7}", cluster_clock(happened.moment.at)), Role::Muted),
            Span::raw("  "),
            theme.sentence(said, room, role),
        ]);
        canvas.line(inner.x + 1, y, inner.width.saturating_sub(1), &line);
        if picked == Some(&happened.number) {
            canvas.text(inner.x, y, 1, theme.glyphs.selection, Role::Text);
            canvas.select(Rect { x: inner.x + 1, width: inner.width.saturating_sub(1), ..row });
        }
        canvas.hit(row, Target::Moment(happened.number));
    }
}
