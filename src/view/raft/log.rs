//! The logs of all nodes side by side: a row a node, a column an index, a cell the entry's term.

use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::told::{UNTOLD, draw_note};
use super::words;
use crate::domain::RaftIndex;
use crate::domain::raft::{EntryKind, NodeId, NodePicture, RaftPicture, Told};
use crate::input::Target;
use crate::model::raft;
use crate::view::canvas::{Canvas, columns_of};
use crate::view::text::{grouped, quantity, width};
use crate::view::theme::{Role, Theme};
use crate::view::widget::panel::Panel;
use crate::{lang, say};

/// The columns of a row's name.
const NAME: u16 = 8;
/// The fewest columns of a cell.
const CELL: u16 = 3;

/// The part of the logs that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Window {
    /// The first index.
    first: u64,
    /// The last.
    last: u64,
    /// The columns of a cell.
    cell: u16,
}

impl Window {
    /// As many cells as fit so many columns: the newest, or those around the selected one.
    fn of(picture: &RaftPicture, entry: RaftIndex, columns: u16) -> Self {
        let digits = u16::try_from(raft::term(picture).0.to_string().len()).unwrap_or(u16::MAX);
        let cell = digits.saturating_add(1).clamp(CELL, columns.max(CELL));
        let shown = u64::from((columns / cell).max(1));
        let newest = raft::last(picture).0;
        // A free column shows that there is nothing yet.
        let last = newest.saturating_add(u64::from(shown > 2));
        let old = entry.0.saturating_add(shown) <= last;
        let last = if old { entry.0.saturating_add(shown / 2).min(last) } else { last };
        Self { first: last.saturating_sub(shown - 1).max(1), last: last.max(1), cell }
    }

    /// The column an index starts at.
    fn column(self, index: u64) -> u16 {
        u16::try_from(index - self.first).unwrap_or(u16::MAX).saturating_mul(self.cell)
    }
}

/// How many rows the panel wants for so many nodes.
pub fn wanted_rows(nodes: usize) -> u16 {
    u16::try_from(nodes).unwrap_or(u16::MAX).saturating_add(4)
}

/// Draws the logs as a panel.
pub fn draw(
    canvas: &mut Canvas<'_>,
    area: Rect,
    picture: &RaftPicture,
    selected: Option<NodeId>,
    entry: RaftIndex,
    follows: bool,
) {
    if picture.told == Told::Status {
        return draw_note(canvas, area, say!("Log"), lang::text(UNTOLD));
    }
    let theme = canvas.theme;
    let mut title = vec![theme.span(say!("Log"), Role::Title)];
    if !follows {
        title.push(theme.span(format!(" {}", say!("entry {entry}, End follows", entry)), Role::Warning));
    }
    let (commit, stale) = (theme.glyphs.commit, theme.glyphs.lane.stale);
    let legend = say!("cells: terms  {commit} committed  {stale} snapshot", commit, stale);
    let inner = Panel::new(Line::from(title)).data(theme.span(legend, Role::Muted)).draw(canvas, area);
    if inner.height == 0 || inner.width <= NAME + CELL {
        return;
    }
    let window = Window::of(picture, entry, inner.width - NAME);
    draw_head(canvas, inner, window, entry);
    let rows = usize::from(inner.height - 1);
    let count = picture.nodes.len();
    // The last row tells of the selected entry, when it is no node's.
    let told = rows > count;
    let first = match selected.and_then(|id| picture.nodes.iter().position(|node| node.id == id)) {
        Some(at) if count > rows => (at + 1).saturating_sub(rows),
        _ => 0,
    };
    for (y, node) in (inner.y + 1..inner.bottom()).zip(&picture.nodes[first..]) {
        draw_row(canvas, Rect { y, height: 1, ..inner }, picture, node, window, selected, entry);
    }
    if told {
        let y = inner.bottom() - 1;
        let line = about(picture, entry, usize::from(inner.width.saturating_sub(2)), theme);
        canvas.line(inner.x + 1, y, inner.width.saturating_sub(2), &line);
    }
}

/// The indices above the cells, as many as have room.
fn draw_head(canvas: &mut Canvas<'_>, inner: Rect, window: Window, entry: RaftIndex) {
    canvas.text(inner.x + 1, inner.y, NAME, say!("index"), Role::Muted);
    let digits = u16::try_from(window.last.to_string().len()).unwrap_or(u16::MAX);
    let every = u64::from((digits + 1).div_ceil(window.cell));
    let mut free_from = inner.x + NAME - 1;
    let shown = |index: &u64| index.is_multiple_of(every) || *index == entry.0;
    for index in (window.first..=window.last).filter(shown) {
        let text = index.to_string();
        let columns = u16::try_from(text.len()).unwrap_or(u16::MAX);
        let end = inner.x + NAME + window.column(index) + window.cell - 1;
        let Some(x) = end.checked_sub(columns).filter(|&x| x >= free_from && end <= inner.right()) else { continue };
        let role = if index == entry.0 { Role::Title } else { Role::Muted };
        canvas.text(x, inner.y, columns, &text, role);
        free_from = end + 1;
    }
}

fn draw_row(
    canvas: &mut Canvas<'_>,
    row: Rect,
    picture: &RaftPicture,
    node: &NodePicture,
    window: Window,
    selected: Option<NodeId>,
    entry: RaftIndex,
) {
    let theme = canvas.theme;
    let is_selected = selected == Some(node.id);
    if is_selected {
        canvas.text(row.x, row.y, 1, theme.glyphs.selection, Role::Text);
    }
    let name = words::name(node, theme);
    canvas.line(row.x + 1, row.y, NAME - 2, &name);
    canvas.hit(Rect { width: NAME, ..row }, Target::Node(node.id));
    if is_selected {
        canvas.select(Rect { x: row.x + 1, width: columns_of(&name).min(NAME - 2), ..row });
    }
    for index in window.first..=window.last {
        let x = row.x + NAME + window.column(index);
        let area = Rect { x, width: window.cell.min(row.right().saturating_sub(x)), ..row };
        if area.width < window.cell {
            break;
        }
        draw_cell(canvas, area, picture, node, RaftIndex(index));
        canvas.hit(area, Target::Entry(node.id, RaftIndex(index)));
        if is_selected && index == entry.0 && index <= node.last.0 {
            canvas.select(Rect { width: window.cell - 1, ..area });
        }
    }
    draw_snapshot(canvas, row, node, window);
}

fn draw_cell(canvas: &mut Canvas<'_>, area: Rect, picture: &RaftPicture, node: &NodePicture, index: RaftIndex) {
    let theme = canvas.theme;
    let end = area.right() - 1;
    if index <= node.snapshot {
        canvas.text(area.x, area.y, area.width, &theme.glyphs.lane.stale.repeat(usize::from(area.width)), Role::Muted);
    } else if let Some(cell) = raft::cell(node, index) {
        let of_leader = raft::leader(picture).and_then(|leader| raft::cell(leader, index));
        let role = match cell.kind {
            // The leader will have it overwritten (§5.3).
            _ if of_leader.is_some_and(|of_leader| of_leader.term != cell.term) => Role::Error,
            EntryKind::Term => Role::Title,
            EntryKind::Members | EntryKind::Request if index <= node.commit => Role::Text,
            EntryKind::Members | EntryKind::Request => Role::Muted,
        };
        canvas.line_right(area.x, end, area.y, &Line::from(theme.span(cell.term.to_string(), role)));
    } else if index <= node.last {
        canvas.line_right(area.x, end, area.y, &Line::from(theme.span(theme.glyphs.dot, Role::Muted)));
    }
    if index == node.commit {
        canvas.text(end, area.y, 1, theme.glyphs.commit, Role::Text);
    }
}

/// Writes over the cells of the snapshot what they are, where there is room.
fn draw_snapshot(canvas: &mut Canvas<'_>, row: Rect, node: &NodePicture, window: Window) {
    if node.snapshot.0 < window.first {
        return;
    }
    let cells = node.snapshot.0.min(window.last) - window.first + 1;
    let columns = u16::try_from(cells).unwrap_or(u16::MAX).saturating_mul(window.cell).min(row.width - NAME);
    let index = node.snapshot;
    let forms = [say!("snapshot to {index}", index), say!("to {index}", index)].map(|form| format!(" {form} "));
    let room = columns.saturating_sub(2);
    if let Some(form) = forms.into_iter().find(|form| width(form) <= usize::from(room)) {
        canvas.text(row.x + NAME + 1, row.y, room, &form, Role::Text);
    }
}

/// What the selected entry is, who has it, and whether it is committed.
fn about<'a>(picture: &RaftPicture, index: RaftIndex, columns: usize, theme: &Theme) -> Line<'a> {
    let Some(cell) = raft::entry(picture, index) else {
        let in_snapshot: Vec<String> =
            picture.nodes.iter().filter(|node| index <= node.snapshot).map(|node| node.id.to_string()).collect();
        let said = match (index.0, &in_snapshot[..]) {
            (0, _) => say!("no entry yet").to_owned(),
            (_, []) => say!("entry {index} is too old to be shown", index),
            (_, nodes) => say!("entry {index} is only in the snapshots of {nodes}", index, nodes = nodes.join(" ")),
        };
        return Line::from(theme.sentence(said, columns, Role::Muted));
    };
    let what = match cell.kind {
        EntryKind::Term => say!("the leader's first entry of its term").to_owned(),
        EntryKind::Members if cell.what.is_empty() => say!("a change of the membership").to_owned(),
        EntryKind::Request if cell.what.is_empty() => say!("a request").to_owned(),
        EntryKind::Members | EntryKind::Request => cell.what.clone(),
    };
    let committed = picture.nodes.iter().any(|node| index <= node.commit);
    let number = grouped(index.0);
    let head = say!("{index} of term {term}", index = number, term = cell.term);
    let nodes = raft::copies(picture, index, cell.term).map(|count| quantity(count, "node"));
    let state = match (committed, nodes) {
        (true, Some(nodes)) => say!("committed, on {nodes}", nodes),
        (true, None) => say!("committed").to_owned(),
        (false, Some(nodes)) => say!("not committed, on {nodes}", nodes),
        (false, None) => say!("not committed").to_owned(),
    };
    let tail = format!("  {state}");
    let room = columns.saturating_sub(width(&head) + 2 + width(&tail)).max(8);
    Line::from(vec![
        theme.span(head, Role::Title),
        Span::raw("  "),
        theme.sentence(what, room, Role::Text),
        theme.span(tail, if committed { Role::Muted } else { Role::Warning }),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Term;

    fn picture(last: u64, term: u64) -> RaftPicture {
        let node = NodePicture { id: NodeId(1), last: RaftIndex(last), term: Term(term), ..NodePicture::default() };
        RaftPicture { nodes: vec![node], ..RaftPicture::default() }
    }

    #[test]
    fn the_newest_entries_are_shown_until_an_older_one_is_selected() {
        let window = |last, entry| {
            let Window { first, last, cell } = Window::of(&picture(last, 7), RaftIndex(entry), 30);
            (first, last, cell)
        };
        assert_eq!(window(97, 97), (89, 98, 3), "with a free column at the end");
        assert_eq!(window(97, 89), (89, 98, 3), "the oldest of them");
        assert_eq!(window(97, 40), (36, 45, 3), "one long ago stands in the middle");
        assert_eq!(window(97, 1), (1, 6, 3));
        assert_eq!(window(2, 2), (1, 3, 3));
        assert_eq!(window(0, 0), (1, 1, 3));
    }

    #[test]
    fn cells_are_as_wide_as_the_longest_term() {
        assert_eq!(Window::of(&picture(9, 12_345), RaftIndex(9), 30).cell, 6);
        assert_eq!(Window::of(&picture(9, u64::MAX), RaftIndex(9), 10).cell, 10, "and no wider than there is room");
    }
}
