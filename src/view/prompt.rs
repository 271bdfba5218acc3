//! The line in which a filter or a command is typed, the choices after a first key, and the
//! message that is shown for a while.

use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::canvas::{Canvas, columns_of};
use super::layout::{Chrome, SMALLEST, bottom};
use super::text::{escape_text, remedy, sentence, width};
use super::theme::Role;
use super::widget::panel::Panel;
use crate::input::Target;
use crate::input::keymap::{Context, hints};
use crate::model::Model;
use crate::model::ui::{Notice, Prompt, Purpose};
use crate::{lang, say};

/// Draws the message and the line over the bottom of the frame; returns where the terminal's
/// cursor goes.
pub fn draw(canvas: &mut Canvas<'_>, model: &Model) -> Option<Position> {
    let area = canvas.area();
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        return None;
    }
    let chrome = Chrome::of(area);
    if let Some(toast) = &model.ui.toast {
        let role = if toast.notice.is_error() { Role::Error } else { Role::Title };
        let said = match &toast.notice {
            Notice::CopiedRemedy(advised) => {
                say!("remedy sent to the terminal's clipboard: {command}", command = remedy(advised, &model.ui.given))
            }
            notice => sentence(&notice.sentence()),
        };
        let text = canvas.theme.sentence(said, usize::from(area.width.saturating_sub(2)), role);
        canvas.clear(chrome.status);
        canvas.line(chrome.status.x + 1, chrome.status.y, chrome.status.width.saturating_sub(2), &Line::from(text));
    }
    let prompt = model.ui.prompt.as_ref()?;
    draw_completions(canvas, chrome.body, prompt);
    Some(draw_line(canvas, chrome.status, prompt))
}

/// The line itself: its sign, the text before the cursor and behind it. A line longer than
/// the terminal shows the part around the cursor.
fn draw_line(canvas: &mut Canvas<'_>, area: Rect, prompt: &Prompt) -> Position {
    let sign = match prompt.purpose {
        Purpose::Filter | Purpose::HelpFilter => "/",
        Purpose::Command => ":",
    };
    let (before, behind) = prompt.line.split();
    let (before, behind) = (escape_text(before), escape_text(behind));
    let room = usize::from(area.width.saturating_sub(4));
    let hidden = width(&before).saturating_sub(room);
    let before = if hidden > 0 { super::text::back(&before, room) } else { &before };
    canvas.clear(area);
    let theme = canvas.theme;
    let line = Line::from(vec![theme.span(sign, Role::Title), Span::raw(before), Span::raw(behind.as_ref())]);
    canvas.line(area.x + 1, area.y, area.width.saturating_sub(2), &line);
    let column = area.x + 2 + u16::try_from(width(before)).unwrap_or(0);
    Position::new(column.min(area.right().saturating_sub(1)), area.y)
}

/// The ways to complete a line, with the one that is in it marked.
fn draw_completions(canvas: &mut Canvas<'_>, body: Rect, prompt: &Prompt) {
    let Some(completion) = prompt.completion() else { return };
    let rows = u16::try_from(completion.candidates.len()).unwrap_or(u16::MAX).min(body.height / 2).max(1);
    let widest = completion.candidates.iter().map(|candidate| width(&escape_text(candidate))).max().unwrap_or(0);
    let columns = u16::try_from(widest).unwrap_or(u16::MAX).saturating_add(4).min(body.width);
    let (_, lower) = bottom(body, rows + 2);
    let area = Rect { width: columns, ..lower };
    canvas.clear(area);
    let inner = Panel::default().draw(canvas, area);
    let top = completion.chosen.saturating_sub(usize::from(rows) - 1);
    for (y, (at, candidate)) in (inner.top()..inner.bottom()).zip(completion.candidates.iter().enumerate().skip(top)) {
        let text =
            canvas.theme.sentence(escape_text(candidate), usize::from(inner.width.saturating_sub(2)), Role::Text);
        canvas.line(inner.x + 1, y, inner.width.saturating_sub(2), &Line::from(text));
        if at == completion.chosen {
            canvas.select(Rect { y, height: 1, ..inner });
        }
    }
}

/// The keys that can follow the first one, each with what it does.
pub fn draw_choices(canvas: &mut Canvas<'_>, body: Rect, title: &'static str, contexts: &[Context]) {
    let ascii = !canvas.theme.glyphs.unicode;
    let rows = hints(contexts);
    let lines: Vec<_> = rows
        .iter()
        .map(|(binding, hint)| {
            let keys = canvas.theme.span(format!("{:>5}  ", hint.label(ascii)), Role::Title);
            (binding.action, Line::from(vec![keys, Span::raw(lang::text(hint.text))]))
        })
        .collect();
    let columns = lines.iter().map(|(_, line)| columns_of(line)).max().unwrap_or(0).saturating_add(4);
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).saturating_add(2);
    let (_, lower) = bottom(body, height);
    let area = Rect { width: columns.min(lower.width), ..lower };
    canvas.clear(area);
    let inner = Panel::new(canvas.theme.span(title, Role::Title)).focused(true).draw(canvas, area);
    for (y, (action, line)) in (inner.top()..inner.bottom()).zip(&lines) {
        canvas.line(inner.x, y, inner.width, line);
        canvas.hit(Rect { y, height: 1, ..inner }, Target::Do(*action));
    }
}
