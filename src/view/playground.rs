//! The playground's screen: what simulated clients do over time, what happened to them, and what
//! can be done to them.

mod clients;
pub(super) mod expected;
mod happened;
mod lanes;
#[cfg(test)]
pub mod sample;
mod side;
#[cfg(test)]
mod tests;
mod words;

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::canvas::Canvas;
use super::layout::{Size, left, percent, top};
use super::text::{cluster_clock, escape_text, split_at_width, width};
use super::theme::{Role, Theme};
use super::widget::notice;
use crate::model::Play;
use crate::model::ui::Ui;
use crate::{lang, say};

/// The rows below the lanes that tell what happened, at least.
const LOWER: u16 = 6;

/// Draws the screen of a run.
pub fn draw(canvas: &mut Canvas<'_>, area: Rect, play: &Play, ui: &Ui, embedded: bool, size: Size) {
    let area = draw_narration(canvas, area, play, size);
    let small = size <= Size::Single;
    let room = area.height.saturating_sub(LOWER);
    let most = if small { room } else { room.min(percent(area.height, 45, 8)) };
    let (upper, rest) = top(area, lanes::wanted_rows(play).min(most));
    lanes::draw(canvas, upper, play, ui);
    let lower = if small {
        rest
    } else {
        let (table, lower) = top(rest, clients::wanted_rows(play).min(percent(rest.height, 55, 4)));
        clients::draw(canvas, table, play, ui);
        lower
    };
    if size >= Size::Wide {
        let (list, beside) = left(lower, percent(lower.width, 54, 60));
        if play.expectations().is_empty() {
            let (list, keys) = left(lower, lower.width - percent(beside.width, 38, 30));
            happened::draw(canvas, list, play, ui);
            side::draw_keys(canvas, keys, play, ui, embedded);
            return;
        }
        let (expected, keys) = left(beside, percent(beside.width, 62, 30));
        happened::draw(canvas, list, play, ui);
        side::draw_expectations(canvas, expected, play, ui);
        side::draw_keys(canvas, keys, play, ui, embedded);
        return;
    }
    let (list, beside) =
        left(lower, lower.width - if ui.play.expectations { percent(lower.width, 45, 30) } else { 24 });
    happened::draw(canvas, list, play, ui);
    if ui.play.expectations {
        side::draw_expectations(canvas, beside, play, ui);
    } else {
        side::draw_keys(canvas, beside, play, ui, embedded);
    }
}

/// Draws what the narrator said last on top of an area, or what the run is about; returns what is
/// left of that.
fn draw_narration(canvas: &mut Canvas<'_>, area: Rect, play: &Play, size: Size) -> Rect {
    let (theme, lang) = (canvas.theme, lang::current());
    let most = if size <= Size::Single { 2 } else { 3 };
    let (said, role) = match play.narration() {
        Some(narration) => (lang.of(&narration.en, &narration.zh), Role::Title),
        None => (lang.of(&play.picture().summary, &play.picture().summary_zh), Role::Muted),
    };
    let said = escape_text(said);
    let columns = usize::from(area.width.saturating_sub(4));
    let mut lines = Vec::new();
    let (mut now, mut later) = split_at_width(&said, columns);
    while !now.is_empty() {
        lines.push(now);
        (now, later) = split_at_width(later, columns);
    }
    let rows = u16::try_from(lines.len()).unwrap_or(u16::MAX).min(most);
    let (band, rest) = top(area, rows);
    for (y, line) in (band.top()..band.bottom()).zip(&lines) {
        let first = if y == band.top() { theme.glyphs.crumb } else { " " };
        // What does not fit is cut where it can be seen to be.
        let is_cut = y + 1 == band.bottom() && lines.len() > usize::from(rows);
        let text = if is_cut { format!("{}{}", line.trim_end(), theme.glyphs.ellipsis) } else { (*line).to_owned() };
        let line = Line::from(vec![theme.span(format!("{first} "), Role::Muted), theme.sentence(text, columns, role)]);
        canvas.line(band.x + 1, y, band.width.saturating_sub(2), &line);
    }
    rest
}

/// Draws the screen where nobody plays, or not yet.
pub fn draw_empty(canvas: &mut Canvas<'_>, area: Rect, awaited: bool) {
    let theme = canvas.theme;
    if awaited {
        let lines = [
            (say!("The clients have not begun."), Role::Text),
            ("", Role::Text),
            (say!("They begin when the cluster answers, which takes a leader."), Role::Muted),
            (say!("If they do not, the log (6) says why."), Role::Muted),
        ];
        let lines: Vec<Line<'_>> = lines.into_iter().map(|(text, role)| Line::from(theme.span(text, role))).collect();
        return notice::notice(canvas, area, &lines);
    }
    let lines = [
        (say!("No clients play here."), Role::Text),
        ("", Role::Text),
        (say!("`lockscope demo` starts a cluster inside the program, and clients on it;"), Role::Muted),
        (say!("`lockscope play` lets clients play on the cluster of --endpoints,"), Role::Muted),
        (say!("below a prefix of their own."), Role::Muted),
    ];
    let lines: Vec<Line<'_>> = lines.into_iter().map(|(text, role)| Line::from(theme.span(text, role))).collect();
    notice::notice(canvas, area, &lines);
}

/// The run's clock, for the line of tabs.
pub fn clock<'a>(play: &Play, theme: &Theme) -> Line<'a> {
    Line::from(vec![theme.span("t ", Role::Muted), Span::raw(cluster_clock(play.now()))])
}

/// Draws the line below the screen: the scenario, how much happened, what is expected. While a
/// sentence is selected that is there, which the list may have cut.
pub fn draw_status(canvas: &mut Canvas<'_>, area: Rect, play: &Play, ui: &Ui) {
    let theme = canvas.theme;
    if let Some(happened) = ui.play.happened.picked().and_then(|&number| play.moment(number)) {
        let (said, role) = words::sentence(happened, play);
        let at = format!("{}  ", cluster_clock(happened.moment.at));
        let columns = usize::from(area.width.saturating_sub(2)).saturating_sub(width(&at));
        let line = Line::from(vec![theme.span(at, Role::Muted), theme.sentence(said, columns, role)]);
        canvas.line(area.x + 1, area.y, area.width.saturating_sub(2), &line);
        return;
    }
    let mut parts = vec![
        (say!("scenario {name}", name = escape_text(&play.picture().scenario)), Role::Muted),
        (lanes::count(play), Role::Muted),
    ];
    if let Some(holder) = play.holder() {
        parts.push((say!("{holder} holds", holder), Role::Muted));
    }
    parts.extend(side::summary(play));
    let mut spans: Vec<Span<'_>> = Vec::new();
    let mut room = usize::from(area.width.saturating_sub(2));
    for (text, role) in parts {
        let gap = if spans.is_empty() { String::new() } else { format!(" {} ", theme.glyphs.dot) };
        let Some(left) = room.checked_sub(width(&gap) + width(&text)) else { break };
        room = left;
        spans.push(theme.span(gap, Role::Muted));
        spans.push(theme.span(text, role));
    }
    canvas.line(area.x + 1, area.y, area.width.saturating_sub(2), &Line::from(spans));
}
