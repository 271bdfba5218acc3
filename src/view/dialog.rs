//! The dialog before a write: what it would do in a sentence, what speaks against it, every lock
//! and every key that it takes, the command that does the same, and the word to be typed.
//!
//! The list scrolls; the command and what is typed stay in sight. Rows are made only where they
//! can be seen.

mod words;

use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::canvas::{Canvas, columns_of};
use super::layout::{bottom, top};
use super::text::{back, command, escape_text, grouped, named, quantity, split_at_width, width};
use super::theme::{Role, Theme};
use super::widget::panel::Panel;
use crate::domain::write::WriteResult;
use crate::domain::{Key, Revision};
use crate::input::{Action, Pane, Target};
use crate::model::Facts;
use crate::model::blast::Struck;
use crate::model::ui::dialog::{Dialog, Stage};
use crate::say;

/// The most columns of the dialog.
const WIDTH: u16 = 100;
/// The most rows that the word to be typed may take.
const WORD_ROWS: usize = 3;
/// The part of the rows that the command may take: the list has to be read too.
const COMMAND_PART: u16 = 3;

/// Draws the dialog over everything in `area`, without the first `scrolled` rows of its list;
/// returns where the terminal's cursor goes.
pub fn draw(
    canvas: &mut Canvas<'_>,
    area: Rect,
    dialog: &Dialog,
    (facts, reach): (&Facts, &[(&'static str, String)]),
    scrolled: usize,
) -> Option<Position> {
    let wide = area.width.min(WIDTH);
    let columns = usize::from(wide.saturating_sub(4));
    let list = List::of(dialog, facts, columns, canvas.theme);
    let most = usize::from(area.height / COMMAND_PART).max(1);
    let (foot, field) = foot(dialog, facts, &command(&dialog.command_with(reach)), (columns, most), canvas.theme);
    let wanted = u16::try_from(list.len() + foot.len()).unwrap_or(u16::MAX).saturating_add(2);
    let area = centred(area, wide, wanted);
    canvas.clear(area);
    let below = u16::try_from(foot.len()).unwrap_or(u16::MAX);
    let room = usize::from(area.height.saturating_sub(2).saturating_sub(below));
    let first = scrolled.min(list.len().saturating_sub(room));
    let inner = panel(dialog, facts, canvas.theme, columns, (first, room, list.len())).draw(canvas, area);
    let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    let (above, below) = bottom(inner, below);
    canvas.hit_pane(area, Pane::Dialog, above.height, list.len());
    for (y, row) in (above.top()..above.bottom()).zip(first..list.len()) {
        let line = list.row(row, columns, canvas.theme);
        canvas.line(above.x, y, above.width, &line);
    }
    for (y, row) in (below.top()..below.bottom()).zip(&foot) {
        canvas.line(below.x, y, below.width, &row.line);
        if row.copies {
            canvas.hit(top(Rect { y, ..below }, 1).0, Target::Do(Action::CopyCommand));
        }
    }
    let (row, column) = field?;
    let y = below.y + u16::try_from(row).ok()?;
    let x = below.x + u16::try_from(column).ok()?;
    Some(Position::new(x.min(below.right().saturating_sub(1)), y.min(below.bottom().saturating_sub(1))))
}

/// The frame: what it is, how far it is, and which rows of the list are in sight.
fn panel<'a>(
    dialog: &Dialog,
    facts: &Facts,
    theme: &Theme,
    columns: usize,
    (first, room, len): (usize, usize, usize),
) -> Panel<'a> {
    let (state, role) = words::state(dialog);
    let mut data = vec![theme.span(state, role)];
    if len > room {
        let dash = if theme.glyphs.unicode { "–" } else { "-" };
        let rows = format!("{}{dash}{}", first + 1, first + room);
        let rows = say!("{rows} of {all}", rows, all = grouped(len));
        data.push(theme.span(format!(" {} {rows}", theme.glyphs.dot), Role::Muted));
    }
    let data = Line::from(data);
    let left = columns.saturating_sub(usize::from(columns_of(&data)) + 4);
    Panel::new(words::title(dialog, facts, left, theme)).data(data).focused(true)
}

/// What scrolls: sentences, then locks, then keys.
struct List<'a> {
    dialog: &'a Dialog,
    facts: &'a Facts,
    /// The sentences, wrapped.
    said: Vec<Line<'static>>,
    /// Whether locks and keys are shown.
    shows: bool,
}

impl<'a> List<'a> {
    fn of(dialog: &'a Dialog, facts: &'a Facts, columns: usize, theme: &Theme) -> Self {
        let mut said = Vec::new();
        for (text, role) in words::said(dialog, facts) {
            let sign = match role {
                Role::Warning | Role::Error => format!("{} ", theme.glyphs.warning),
                _ => String::new(),
            };
            said.extend(wrapped(&sign, &text, columns, role, theme));
        }
        Self { dialog, facts, said, shows: dialog.stage != Stage::Asking }
    }

    fn locks(&self) -> &'a [Struck] {
        if self.shows { &self.dialog.radius.locks } else { &[] }
    }

    fn keys(&self) -> &'a [(Key, Revision)] {
        if self.shows { &self.dialog.radius.keys } else { &[] }
    }

    fn len(&self) -> usize {
        let with_title = |rows: usize| if rows == 0 { 0 } else { rows + 1 };
        self.said.len() + with_title(self.locks().len()) + with_title(self.keys().len())
    }

    fn row(&self, row: usize, columns: usize, theme: &Theme) -> Line<'_> {
        let Some(row) = row.checked_sub(self.said.len()) else { return self.said[row].clone() };
        let locks = self.locks().len();
        if locks > 0 {
            match row {
                0 => return Line::from(theme.span(words::locks_title(self.dialog), Role::Title)),
                _ if row <= locks => return self.lock(&self.locks()[row - 1], columns, theme),
                _ => {}
            }
        }
        let row = if locks > 0 { row - locks - 1 } else { row };
        match row.checked_sub(1).and_then(|at| self.keys().get(at)) {
            None => Line::from(theme.span(words::keys_title(self.dialog), Role::Title)),
            Some(key) => self.key(key, columns, theme),
        }
    }

    /// A lock, and who has it then, or now.
    fn lock(&self, struck: &'a Struck, columns: usize, theme: &Theme) -> Line<'a> {
        let (text, role) = words::passes_on(self.dialog, struck, self.facts, columns / 2, theme.glyphs.ellipsis);
        apart(
            theme.key(named(&struck.name), columns.saturating_sub(4 + width(&text)), Role::Text),
            text,
            role,
            columns,
            theme,
        )
    }

    /// A key, and its create_revision.
    fn key(&self, key: &'a (Key, Revision), columns: usize, theme: &Theme) -> Line<'a> {
        let (name, created) = key;
        let revision = grouped(created.0);
        let (text, role) = if self.dialog.is_fresh(key) {
            (say!("NEW, created at {revision}", revision), Role::Error)
        } else if self.facts.key(name).is_none() && !matches!(self.dialog.stage, Stage::Over(_)) {
            (say!("not watched, created at {revision}", revision), Role::Warning)
        } else {
            (say!("created at {revision}", revision), Role::Muted)
        };
        apart(theme.key(name, columns.saturating_sub(4 + width(&text)), Role::Text), text, role, columns, theme)
    }
}

/// A name on the left and what there is to say of it on the right.
fn apart<'a>(name: Span<'a>, text: String, role: Role, columns: usize, theme: &Theme) -> Line<'a> {
    let gap = columns.saturating_sub(2 + width(&name.content) + width(&text)).max(1);
    Line::from(vec![Span::raw("  "), name, Span::raw(" ".repeat(gap)), theme.span(text, role)])
}

/// A row below the list.
struct Foot {
    line: Line<'static>,
    /// Whether a click on it copies the command.
    copies: bool,
}

/// What stays in sight: the command, the word to be typed and what is typed of it, with the row
/// and the column of the cursor.
fn foot(
    dialog: &Dialog,
    facts: &Facts,
    command: &str,
    (columns, most): (usize, usize),
    theme: &Theme,
) -> (Vec<Foot>, Option<(usize, usize)>) {
    let plain = |line| Foot { line, copies: false };
    let mut rows = Vec::new();
    let over = matches!(&dialog.stage, Stage::Over(result) if !matches!(result, WriteResult::Unknown { .. }));
    if !over {
        let keys = if dialog.wants_y() { "Ctrl-Y" } else { "y" };
        let copies = format!("  {}", say!("{keys} copies", keys));
        let lines = command_rows(command, &copies, (columns, most), theme);
        rows.extend(lines.into_iter().map(|line| Foot { line, copies: true }));
    }
    match &dialog.stage {
        Stage::Asking | Stage::Running { .. } | Stage::Over(_) => {
            let (text, role) = words::leaving(dialog, facts);
            rows.extend(wrapped("", &text, columns, role, theme).into_iter().map(plain));
            (rows, None)
        }
        Stage::Shown if dialog.forbidden.is_some() => {
            let (text, role) = words::forbidden(dialog);
            rows.extend(wrapped("", &text, columns, role, theme).into_iter().map(plain));
            (rows, None)
        }
        Stage::Shown => {
            let (text, role) = words::asked(dialog);
            let asked = wrapped("", &text, columns, role, theme);
            rows.extend(asked.into_iter().take(WORD_ROWS).map(plain));
            let (before, behind) = dialog.line.split();
            let (before, behind) = (escape_text(before), escape_text(behind));
            let before = back(&before, columns.saturating_sub(3)).to_owned();
            let column = 2 + width(&before);
            let typed = if dialog.is_word_typed() { Role::Title } else { Role::Text };
            let line = Line::from(vec![
                theme.span(format!("{} ", theme.glyphs.selection), Role::Title),
                theme.span(before, typed),
                theme.span(behind.into_owned(), typed),
            ]);
            rows.push(plain(line));
            let at = rows.len() - 1;
            (rows, Some((at, column)))
        }
    }
}

/// A command as it is typed at a shell, in as many rows as it takes, but for `most`; what copies
/// all of it is said on the right of the last one.
fn command_rows(command: &str, copies: &str, (columns, most): (usize, usize), theme: &Theme) -> Vec<Line<'static>> {
    let room = columns.saturating_sub(2);
    let beside = room.saturating_sub(width(copies));
    let mut rest = command;
    let mut rows = Vec::new();
    loop {
        let sign = theme.span(if rows.is_empty() { "$ " } else { "  " }, Role::Muted);
        if rows.len() + 1 == most || width(rest) <= beside {
            let shown = theme.sentence(rest.to_owned(), beside, Role::Text);
            let gap = " ".repeat(beside.saturating_sub(width(&shown.content)));
            let shown = Span::styled(shown.content.into_owned(), shown.style);
            rows.push(Line::from(vec![sign, shown, Span::raw(gap), theme.span(copies.to_owned(), Role::Muted)]));
            return rows;
        }
        let (now, later) = split_at_width(rest, room);
        rows.push(Line::from(vec![sign, theme.span(now.to_owned(), Role::Text)]));
        rest = later;
    }
}

/// Text as rows, with a sign before the first.
fn wrapped(sign: &str, text: &str, columns: usize, role: Role, theme: &Theme) -> Vec<Line<'static>> {
    let indent = width(sign);
    let mut rest = text;
    let mut rows = Vec::new();
    loop {
        let (now, later) = split_at_width(rest, columns.saturating_sub(indent).max(8));
        let sign = if rows.is_empty() { sign.to_owned() } else { " ".repeat(indent) };
        rows.push(Line::from(theme.span(format!("{sign}{}", now.trim_end()), role)));
        if later.is_empty() {
            return rows;
        }
        rest = later;
    }
}

/// An area of at most this size in the middle of another.
fn centred(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height }
}

/// `3 keys, 2 locks`.
fn amount(dialog: &Dialog) -> String {
    let keys = quantity(dialog.radius.keys.len(), "key");
    match dialog.radius.locks.len() {
        0 => keys,
        locks => format!("{keys}{}{}", say!(", "), quantity(locks, "lock")),
    }
}

#[cfg(test)]
mod chinese_tests;
#[cfg(test)]
mod tests;
