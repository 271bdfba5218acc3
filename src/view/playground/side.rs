//! Beside what happened: the keys that do something to a client, and what is expected of the run.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::input::action::{Blow, Deed, Look};
use crate::input::keymap::{BINDINGS, Context};
use crate::input::{Action, Pane, Target};
use crate::model::Play;
use crate::model::ui::Ui;
use crate::view::canvas::Canvas;
use crate::view::text::{escape_text, split_at_width};
use crate::view::theme::{Role, Theme};
use crate::view::widget::panel::Panel;

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
    (Action::Node(Deed::KillOrStart), "kill the leader", true),
    (Action::Client(Blow::HoldLonger), "hold longer", false),
    (Action::Client(Blow::HoldShorter), "hold shorter", false),
    (Action::Join(10), "add ten", false),
    (Action::Client(Blow::Remove), "remove it", false),
    (Action::Lanes(Look::Follow), "follow the run", false),
];

/// Draws the keys as a panel, titled with whom they are about.
pub fn draw_keys(canvas: &mut Canvas<'_>, area: Rect, play: &Play, ui: &Ui, embedded: bool) {
    let theme = canvas.theme;
    let whom = ui.play.client(play).map(|id| format!(" {id}")).unwrap_or_default();
    let panel = Panel::new(Line::from(vec![theme.span("Faults", Role::Title), Span::raw(whom)]));
    let inner = panel.draw(canvas, area);
    let keys = KEYS.into_iter().filter(|(_, _, needs_embedded)| embedded || !needs_embedded);
    // Two columns where they fit.
    let across = if inner.width >= 44 { 2 } else { 1 };
    let rows = usize::from(inner.height.max(1));
    for (at, (action, text, _)) in keys.take(rows * across).enumerate() {
        let of_action = |context| BINDINGS.iter().find(|row| row.context == context && row.action == action);
        let key = of_action(Context::Playground).or_else(|| of_action(Context::Embedded));
        let Some(key) = key.and_then(|row| row.keys.first()) else { continue };
        let column = u16::try_from(at / rows).unwrap_or(0) * (inner.width / 2);
        let row = Rect {
            x: inner.x + 1 + column,
            y: inner.y + u16::try_from(at % rows).unwrap_or(0),
            width: (inner.width / u16::try_from(across).unwrap_or(1)).saturating_sub(1),
            height: 1,
        };
        let label = key.symbol(!theme.glyphs.unicode);
        let line = Line::from(vec![theme.span(label, Role::Title), theme.span(format!(" {text}"), Role::Text)]);
        canvas.line(row.x, row.y, row.width, &line);
        canvas.hit(row, Target::Do(action));
    }
}

/// Draws what is expected as a panel: whether it holds so far, and what tells so.
pub fn draw_expectations(canvas: &mut Canvas<'_>, area: Rect, play: &Play, ui: &Ui) {
    let theme = canvas.theme;
    let expectations = play.expectations();
    let title = vec![theme.span("Expected", Role::Title), Span::raw(format!(" {}", expectations.len()))];
    let focused = ui.focused() == Pane::Expected;
    let panel = Panel::new(Line::from(title)).data(theme.span("so far", Role::Muted)).focused(focused);
    let inner = panel.draw(canvas, area);
    let lines = lines(play, usize::from(inner.width.saturating_sub(2)), theme);
    canvas.hit_pane(area, Pane::Expected, inner.height, lines.len());
    if expectations.is_empty() {
        canvas.text(inner.x + 1, inner.y, inner.width.saturating_sub(1), "nothing is expected", Role::Muted);
    }
    let top = ui.scrolled(Pane::Expected).min(lines.len().saturating_sub(usize::from(inner.height)));
    for (y, line) in (inner.top()..inner.bottom()).zip(&lines[top..]) {
        canvas.line(inner.x + 1, y, inner.width.saturating_sub(2), line);
    }
}

fn lines<'a>(play: &Play, columns: usize, theme: &Theme) -> Vec<Line<'a>> {
    let glyphs = theme.glyphs;
    let mut lines = Vec::new();
    for expected in play.expectations() {
        let (glyph, role) = match expected.held {
            Some(true) => (glyphs.granted, Role::Text),
            Some(false) => (glyphs.refused, Role::Error),
            None => (glyphs.dot, Role::Muted),
        };
        let mut push = |first: &str, text: &str, role| {
            let text = escape_text(text);
            let (mut now, mut later) = split_at_width(&text, columns.saturating_sub(2).max(4));
            let mut head = first;
            while !now.is_empty() {
                lines.push(Line::from(vec![theme.span(head.to_owned(), role), theme.span(now.to_owned(), role)]));
                (now, later) = split_at_width(later, columns.saturating_sub(2).max(4));
                head = "  ";
            }
        };
        push(&format!("{glyph} "), &expected.text, role);
        push("  ", &expected.evidence, Role::Muted);
    }
    lines
}

/// How the expectations stand, in a few words: `2 expected: 1 held, 1 open`.
pub fn summary(play: &Play) -> Option<(String, Role)> {
    let expectations = play.expectations();
    let count = |held| expectations.iter().filter(|expected| expected.held == held).count();
    let (yes, no, open) = (count(Some(true)), count(Some(false)), count(None));
    let part = |count: usize, word: &str| (count > 0).then(|| format!("{count} {word}"));
    let parts: Vec<String> =
        [part(yes, "held"), part(no, "not held"), part(open, "open")].into_iter().flatten().collect();
    let role = if no > 0 { Role::Error } else { Role::Muted };
    (!parts.is_empty()).then(|| (format!("expected: {}", parts.join(", ")), role))
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
