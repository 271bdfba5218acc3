//! What was found about one lock: the evidence, the command that helps, and why it matters.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::domain::Reach;
use crate::input::Pane;
use crate::model::{Diagnosis, Finding, LockView, Severity};
use crate::view::canvas::Canvas;
use crate::view::locks::attention::role;
use crate::view::text::{remedy, sentence};
use crate::view::theme::{Role, Theme};
use crate::view::verdict::wrapped;
use crate::view::widget::panel::Panel;
use crate::{lang, say};

/// The most rows that a sentence is wrapped to.
const MOST: usize = 3;

/// What was found, of which lock, and what leads a command to its cluster.
pub struct Told<'a> {
    /// What was found.
    pub diagnosis: &'a Diagnosis,
    /// The lock.
    pub lock: &'a LockView<'a>,
    /// What leads a command to the cluster.
    pub reach: &'a Reach,
}

impl Told<'_> {
    /// How many rows all of it takes, frame included; none when nothing was found.
    pub fn wanted_rows(&self, columns: u16, theme: &Theme) -> u16 {
        if self.diagnosis.severity(self.lock.name()).is_none() {
            return 0;
        }
        let lines = self.lines(usize::from(columns.saturating_sub(2)), theme);
        u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(2)
    }

    /// Whether something was found that is more than worth knowing.
    pub fn is_urgent(&self) -> bool {
        self.diagnosis.severity(self.lock.name()).is_some_and(|severity| severity > Severity::Info)
    }

    /// Draws them as a panel; `top` rows are scrolled away.
    pub fn draw(&self, canvas: &mut Canvas<'_>, area: Rect, top: usize, focused: bool) {
        let theme = canvas.theme;
        let count = self.diagnosis.of_lock(self.lock.name()).count();
        let worst = self.diagnosis.severity(self.lock.name()).map_or(Role::Title, role);
        let title =
            vec![theme.span(say!("Findings"), Role::Title), Span::raw(" "), theme.span(count.to_string(), worst)];
        let panel =
            Panel::new(Line::from(title)).data(theme.span(say!("y r copies the remedy"), Role::Muted)).focused(focused);
        let inner = panel.draw(canvas, area);
        let lines = self.lines(usize::from(inner.width), theme);
        canvas.hit_pane(area, Pane::Findings, inner.height, lines.len());
        let top = top.min(lines.len().saturating_sub(usize::from(inner.height)));
        for (y, line) in (inner.top()..inner.bottom()).zip(&lines[top..]) {
            canvas.line(inner.x, y, inner.width, line);
        }
    }

    fn lines<'a>(&self, columns: usize, theme: &Theme) -> Vec<Line<'a>> {
        let found = self.diagnosis.of_lock(self.lock.name());
        found.flat_map(|finding| of_finding(finding, self.reach, columns, theme)).collect()
    }
}

/// `× code: evidence`, then the command, then why it matters.
fn of_finding<'a>(finding: &Finding, reach: &Reach, columns: usize, theme: &Theme) -> Vec<Line<'a>> {
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
    // Where the cluster is may take a row of its own; what is done must not be cut off behind it.
    let remedy = format!("$ {}", remedy(&finding.remedy, reach));
    for text in wrapped(&remedy, room, MOST) {
        lines.push(Line::from(vec![Span::raw("  "), theme.sentence(text, room, Role::Text)]));
    }
    let why = finding.rule().map_or("", |rule| lang::text(rule.why));
    for text in wrapped(why, room, MOST) {
        lines.push(Line::from(vec![Span::raw("  "), theme.sentence(text, room, Role::Muted)]));
    }
    lines
}
