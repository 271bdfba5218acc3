//! Beside what happened: the keys that do something to a client, and what is expected of the run.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::expected::said;
use crate::domain::play::Expected;
use crate::input::action::{Blow, Look, NodeDeed};
use crate::input::keymap::{BINDINGS, Context};
use crate::input::{Action, Pane, Target};
use crate::model::Play;
use crate::model::ui::Ui;
use crate::view::canvas::Canvas;
use crate::view::text::{escape_text, split_at_width};
use crate::view::theme::{Role, Theme};
use crate::view::widget::panel::Panel;
use crate::{lang, say};

/// The keys, the most telling first, each with what it does; with whether it needs an embedded
/// cluster.
const KEYS: [(Action, &str, bool); 15] = [
    (Action::Client(Blow::PauseOrResume), "pause, resume", false),
    (Action::Client(Blow::Crash), "kill: no release", false),
    (Action::Client(Blow::Revoke), "revoke its lease", false),
    (Action::Client(Blow::CutOrMend), "cut, mend its link", false),
    (Action::Client(Blow::SlowHeartbeat), "slow heartbeat", false),
    (Action::Client(Blow::SkewClock), "skew its clock", false),
    (Action::Client(Blow::Release), "release now", false),
    (Action::Join(1), "add a client", false),
    (Action::MoveLead, "move the leader", true),
    (Action::Node(NodeDeed::KillOrStart), "kill the leader", true),
    (Action::Client(Blow::HoldLonger), "hold longer", false),
    (Action::Client(Blow::HoldShorter), "hold shorter", false),
    (Action::Join(10), "add ten", false),
    (Action::Client(Blow::Remove), "remove it", false),
    (Action::Lanes(Look::Follow), "follow the run", false),
];

/// Draws the keys as a panel, titled with whom they are about.
pub fn draw_keys(canvas: &mut Canvas<'_>, area: Rect, play: &Play, ui: &Ui, embedded: bool) {
    let theme = canvas.theme;
    // Who holds changes too often for a title.
    let whom = match ui.play.picked(play) {
        Some(id) => format!(" {id}"),
        None if play.last_holder().is_some() => format!(" {}", lang::text("holder")),
        None => ui.play.client(play).map(|id| format!(" {id}")).unwrap_or_default(),
    };
    let panel = Panel::new(Line::from(vec![theme.span(say!("Faults"), Role::Title), Span::raw(whom)]));
    let inner = panel.draw(canvas, area);
    let mut keys: Vec<_> = KEYS
        .into_iter()
        .filter(|(_, _, needs_embedded)| embedded || !needs_embedded)
        .map(|(of, text, _)| (of, text))
        .collect();
    // Two columns where they fit.
    let across = if inner.width >= 44 { 2 } else { 1 };
    let rows = usize::from(inner.height.max(1));
    if keys.len() > rows * across {
        keys.truncate(rows * across - 1);
        keys.push((Action::Help, "all keys"));
    }
    for (at, (action, text)) in keys.into_iter().enumerate() {
        let of_action = |context| BINDINGS.iter().find(|row| row.context == context && row.action == action);
        let key = [Context::Playground, Context::Embedded, Context::Browse].into_iter().find_map(of_action);
        let Some(key) = key.and_then(|row| row.keys.first()) else { continue };
        let column = u16::try_from(at / rows).unwrap_or(0) * (inner.width / 2);
        let row = Rect {
            x: inner.x + 1 + column,
            y: inner.y + u16::try_from(at % rows).unwrap_or(0),
            width: (inner.width / u16::try_from(across).unwrap_or(1)).saturating_sub(1),
            height: 1,
        };
        let label = key.symbol(!theme.glyphs.unicode);
        let line =
            Line::from(vec![theme.span(label, Role::Title), theme.span(format!(" {}", lang::text(text)), Role::Text)]);
        canvas.line(row.x, row.y, row.width, &line);
        canvas.hit(row, Target::Do(action));
    }
}

/// Draws what is expected as a panel: whether it holds so far, and what tells so.
pub fn draw_expectations(canvas: &mut Canvas<'_>, area: Rect, play: &Play, ui: &Ui) {
    let theme = canvas.theme;
    let expectations = play.expectations();
    let title = vec![theme.span(say!("Expected"), Role::Title), Span::raw(format!(" {}", expectations.len()))];
    // It has the focus from the frame on that shows it first, which no pane has been drawn in yet.
    let focused = ui.focused() == Pane::Expected || (ui.play.expectations && ui.focus == Some(Pane::Expected));
    let columns = usize::from(area.width.saturating_sub(4));
    let rows = usize::from(area.height.saturating_sub(2));
    let mut lines = lines(play, columns, theme);
    if lines.len() > rows && !focused {
        lines = short_lines(play, columns, theme);
    }
    let top = ui.scrolled(Pane::Expected).min(lines.len().saturating_sub(rows));
    let below = lines.len().saturating_sub(top + rows);
    let data = match (top, below) {
        (0, 0) => theme.span(say!("so far"), Role::Muted),
        (_, 0) => theme.span(format!("{} {}", theme.glyphs.ascending, say!("{more} more", more = top)), Role::Muted),
        _ => theme.span(format!("{} {}", theme.glyphs.descending, say!("{more} more", more = below)), Role::Muted),
    };
    let inner = Panel::new(Line::from(title)).data(data).focused(focused).draw(canvas, area);
    canvas.hit_pane(area, Pane::Expected, inner.height, lines.len());
    if expectations.is_empty() {
        canvas.text(inner.x + 1, inner.y, inner.width.saturating_sub(1), say!("nothing is expected"), Role::Muted);
    }
    for (y, line) in (inner.top()..inner.bottom()).zip(&lines[top..]) {
        canvas.line(inner.x + 1, y, inner.width.saturating_sub(2), line);
    }
}

/// Everything that is expected, with what tells how it stands.
fn lines<'a>(play: &Play, columns: usize, theme: &Theme) -> Vec<Line<'a>> {
    play.expectations().iter().flat_map(|expected| whole(expected, columns, theme)).collect()
}

/// The same where there is not room for all of it: what is met takes a line, which is cut.
fn short_lines<'a>(play: &Play, columns: usize, theme: &Theme) -> Vec<Line<'a>> {
    let mut lines = Vec::new();
    for expected in play.expectations() {
        if expected.held != Some(true) {
            lines.extend(whole(expected, columns, theme));
            continue;
        }
        let (glyph, role) = sign(expected, theme);
        let text = escape_text(&said(&expected.text)).into_owned();
        let text = theme.sentence(text, columns.saturating_sub(2), role);
        lines.push(Line::from(vec![theme.span(format!("{glyph} "), role), text]));
    }
    lines
}

fn whole<'a>(expected: &Expected, columns: usize, theme: &Theme) -> Vec<Line<'a>> {
    let (glyph, role) = sign(expected, theme);
    let room = columns.saturating_sub(2).max(4);
    let mut lines = Vec::new();
    let mut push = |first: &str, text: &str, role| {
        let text = escape_text(text);
        let (mut now, mut later) = split_at_width(&text, room);
        let mut head = first;
        while !now.is_empty() {
            lines.push(Line::from(vec![theme.span(head.to_owned(), role), theme.span(now.to_owned(), role)]));
            (now, later) = split_at_width(later, room);
            head = "  ";
        }
    };
    push(&format!("{glyph} "), &said(&expected.text), role);
    push("  ", &said(&expected.evidence), Role::Muted);
    lines
}

const fn sign(expected: &Expected, theme: &Theme) -> (&'static str, Role) {
    match expected.held {
        Some(true) => (theme.glyphs.granted, Role::Text),
        Some(false) => (theme.glyphs.refused, Role::Error),
        None => (theme.glyphs.dot, Role::Muted),
    }
}

/// How the expectations stand, in a few words: `expectations: 1 met, 1 open`.
pub fn summary(play: &Play) -> Option<(String, Role)> {
    let expectations = play.expectations();
    let count = |held| expectations.iter().filter(|expected| expected.held == held).count();
    let (yes, no, open) = (count(Some(true)), count(Some(false)), count(None));
    let parts = [
        (yes > 0).then(|| say!("{count} met", count = yes)),
        (no > 0).then(|| say!("{count} not met", count = no)),
        (open > 0).then(|| say!("{count} open", count = open)),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let role = if no > 0 { Role::Error } else { Role::Muted };
    (!parts.is_empty()).then(|| (say!("expectations: {parts}", parts = parts.join(say!(", "))), role))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_the_list_is_in_the_keymap() {
        for (action, text, needs_embedded) in KEYS {
            let context = |row: &&crate::input::keymap::Binding| match row.context {
                Context::Playground => true,
                Context::Embedded => needs_embedded,
                _ => false,
            };
            assert!(BINDINGS.iter().filter(context).any(|row| row.action == action), "{text}");
        }
    }
}
