//! What was found about one lock: the evidence, the command that helps, and why it matters.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::input::Pane;
use crate::model::{Diagnosis, Finding, LockView, Severity};
use crate::view::canvas::Canvas;
use crate::view::locks::attention::role;
use crate::view::text::{command, sentence};
use crate::view::theme::{Role, Theme};
use crate::view::verdict::wrapped;
use crate::view::widget::panel::Panel;
use crate::{lang, say};

/// The most rows that a sentence is wrapped to.
const MOST: usize = 3;

/// How many rows all of it takes, frame included; none when nothing was found.
pub fn wanted_rows(diagnosis: &Diagnosis, lock: &LockView<'_>, columns: u16, theme: &Theme) -> u16 {
    if diagnosis.severity(lock.name()).is_none() {
        return 0;
    }
    let lines = lines(diagnosis, lock, usize::from(columns.saturating_sub(2)), theme);
    u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(2)
}

/// Whether something was found that is more than worth knowing.
pub fn are_urgent(diagnosis: &Diagnosis, lock: &LockView<'_>) -> bool {
    diagnosis.severity(lock.name()).is_some_and(|severity| severity > Severity::Info)
}

/// Draws them as a panel; `top` rows are scrolled away.
pub fn draw(
    canvas: &mut Canvas<'_>,
    area: Rect,
    diagnosis: &Diagnosis,
    lock: &LockView<'_>,
    top: usize,
    focused: bool,
) {
    let theme = canvas.theme;
    let count = diagnosis.of_lock(lock.name()).count();
    let worst = diagnosis.severity(lock.name()).map_or(Role::Title, role);
    let title = vec![theme.span(say!("Findings"), Role::Title), Span::raw(" "), theme.span(count.to_string(), worst)];
    let panel =
        Panel::new(Line::from(title)).data(theme.span(say!("y r copies the remedy"), Role::Muted)).focused(focused);
    let inner = panel.draw(canvas, area);
    let lines = lines(diagnosis, lock, usize::from(inner.width), theme);
    canvas.hit_pane(area, Pane::Findings, inner.height, lines.len());
    let top = top.min(lines.len().saturating_sub(usize::from(inner.height)));
    for (y, line) in (inner.top()..inner.bottom()).zip(&lines[top..]) {
        canvas.line(inner.x, y, inner.width, line);
    }
}

fn lines<'a>(diagnosis: &Diagnosis, lock: &LockView<'_>, columns: usize, theme: &Theme) -> Vec<Line<'a>> {
    diagnosis.of_lock(lock.name()).flat_map(|finding| of_finding(finding, columns, theme)).collect()
}

/// `× code: evidence`, then the command, then why it matters.
fn of_finding<'a>(finding: &Finding, columns: usize, theme: &Theme) -> Vec<Line<'a>> {
    let glyph = match finding.severity {
        Severity::Error => theme.glyphs.lost,
        Severity::Warn => theme.glyphs.warning,
        Severity::Info => " ",
    };
    let role = role(finding.severity);
    let room = columns.saturating_sub(2).max(8);
    let evidence = format!("{}: {}", finding.code, sentence(&finding.evidence));
    let mut lines: Vec<Line<'a>> = Vec::new();
    for (at, text) in wrapped(&evidence, room, MOST).into_iter().enumerate() {
        let text = theme.sentence(text, room, Role::Text);
        lines.push(if at == 0 {
            Line::from(vec![theme.span(format!("{glyph} "), role), text])
        } else {
            Line::from(vec![Span::raw("  "), text])
        });
    }
    // What can be done comes before the reason: it must not be cut off where rows are few.
    let remedy = format!("$ {}", command(&finding.remedy));
    lines.push(Line::from(vec![Span::raw("  "), theme.sentence(remedy, room, Role::Text)]));
    let why = finding.rule().map_or("", |rule| lang::text(rule.why));
    for text in wrapped(why, room, MOST) {
        lines.push(Line::from(vec![Span::raw("  "), theme.sentence(text, room, Role::Muted)]));
    }
    lines
}
