//! A table whose columns follow their contents, and give way in a fixed order.
//!
//! Only the rows that can be seen are handed in. A cell comes in one or more forms, from the
//! richest to the poorest (a bar with its number, the number alone), and is drawn in the
//! richest that fits. When the columns do not fit at their least widths, some are left out,
//! those with the lowest `drop` first; one without `drop` always stays, and only when no
//! other is left its cells turn to their poorest forms.

use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::input::{Action, Target};
use crate::lang;
use crate::view::canvas::{Canvas, columns_of};
use crate::view::text::{Cut, escape, fit_bytes, width};
use crate::view::theme::Role;

/// A column.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent properties, each named where a table is declared")]
pub struct Column {
    /// Its heading.
    pub head: &'static str,
    /// Whether its cells end at its right edge: numbers do.
    pub right: bool,
    /// With how few columns it is content; 0 when it is with no fewer than its cells want.
    pub least: u16,
    /// How many columns it takes even when its cells want fewer.
    pub steady: u16,
    /// The most columns it takes; `u16::MAX` for no limit.
    pub most: u16,
    /// When it is left out: the lowest first, `None` never.
    pub drop: Option<u8>,
    /// Whether it says nothing now: then it is left out before any other gets less than it wants.
    pub idle: bool,
    /// Whether it takes the room that is left over; of several the last one does.
    pub fills: bool,
    /// The columns between it and the next one.
    pub gap: u16,
    /// Whether all its cells are drawn in the same form: a picture that goes over rows.
    pub uniform: bool,
    /// Whether the table is sorted by it.
    pub sorted: bool,
    /// What a click on its heading does.
    pub action: Option<Action>,
}

/// A cell's content.
#[derive(Clone, Debug)]
pub enum Cell<'a> {
    /// Forms from the richest to the poorest.
    Forms(Vec<Line<'a>>),
    /// A key or a name, which loses its middle.
    Name(&'a [u8], Style),
}

/// A row.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// A cell a column.
    pub cells: Vec<Cell<'a>>,
    /// Whether it is the selected one.
    pub selected: bool,
    /// Whether it has just changed.
    pub changed: bool,
    /// What a click on it means.
    pub target: Option<Target>,
}

/// The usual distance between columns.
const GAP: u16 = 2;
/// The most columns that a column gets beyond what it wants.
const SLACK: u16 = 48;
/// In front of the first column: the selection's mark and a space.
const MARK: u16 = 2;

impl Column {
    /// A column that always stays and takes what its cells want.
    pub const fn new(head: &'static str) -> Self {
        Self {
            head,
            right: false,
            least: 0,
            steady: 0,
            most: u16::MAX,
            drop: None,
            idle: false,
            fills: false,
            gap: GAP,
            uniform: false,
            sorted: false,
            action: None,
        }
    }

    /// Its cells end at its right edge.
    #[must_use]
    pub const fn right(self) -> Self {
        Self { right: true, ..self }
    }

    /// It can be drawn with so few columns.
    #[must_use]
    pub const fn at_least(self, least: u16) -> Self {
        Self { least, ..self }
    }

    /// It takes so many columns even when its cells want fewer: what changes all the time does not
    /// move what stands beside it.
    #[must_use]
    pub const fn steady(self, steady: u16) -> Self {
        Self { steady, ..self }
    }

    /// It takes no more columns than this.
    #[must_use]
    pub const fn at_most(self, most: u16) -> Self {
        Self { most, ..self }
    }

    /// It is left out when room is short; the lowest `order` goes first.
    #[must_use]
    pub const fn drop(self, order: u8) -> Self {
        Self { drop: Some(order), ..self }
    }

    /// With `idle` it says nothing now.
    #[must_use]
    pub const fn idle(self, idle: bool) -> Self {
        Self { idle, ..self }
    }

    /// It takes the room that is left over.
    #[must_use]
    pub const fn fills(self) -> Self {
        Self { fills: true, ..self }
    }

    /// All its cells are drawn in the same form.
    #[must_use]
    pub const fn uniform(self) -> Self {
        Self { uniform: true, ..self }
    }

    /// Nothing between it and the next one: its own cells leave room.
    #[must_use]
    pub const fn tight(self) -> Self {
        Self { gap: 0, ..self }
    }

    /// A click on its heading does this; `sorted` says whether the table is sorted by it.
    #[must_use]
    pub const fn sorts(self, action: Action, sorted: bool) -> Self {
        Self { action: Some(action), sorted, ..self }
    }
}

impl<'a> Cell<'a> {
    /// A cell of one form.
    pub fn new(line: impl Into<Line<'a>>) -> Self {
        Self::Forms(vec![line.into()])
    }

    /// A cell of one span.
    pub fn span(span: Span<'a>) -> Self {
        Self::Forms(vec![Line::from(span)])
    }

    /// The columns of its richest form.
    fn want(&self) -> u16 {
        match self {
            Self::Forms(forms) => forms.first().map_or(0, columns_of),
            // A name longer than any screen is as good as one of a screen's width.
            Self::Name(bytes, _) => {
                let shown = &bytes[..bytes.len().min(4096)];
                u16::try_from(width(&escape(shown))).unwrap_or(u16::MAX)
            }
        }
    }

    /// The columns of its poorest form.
    fn need(&self) -> u16 {
        match self {
            Self::Forms(forms) => forms.last().map_or(0, columns_of),
            Self::Name(..) => 0,
        }
    }
}

impl<'a> Row<'a> {
    /// A row of cells.
    pub fn new(cells: Vec<Cell<'a>>) -> Self {
        Self { cells, selected: false, changed: false, target: None }
    }
}

/// Draws the headings and as many rows as fit below them; returns how many rows there is
/// room for.
pub fn table(canvas: &mut Canvas<'_>, area: Rect, columns: &[Column], rows: &[Row<'_>]) -> u16 {
    if area.is_empty() {
        return 0;
    }
    let capacity = area.height - 1;
    let rows = &rows[..rows.len().min(usize::from(capacity))];
    let widths = measure(area.width, columns, rows);
    draw_heads(canvas, area, columns, &widths);
    let forms = first_forms(columns, &widths, rows);
    for (y, row) in (area.y + 1..).zip(rows) {
        draw_row(canvas, Rect { y, height: 1, ..area }, columns, &widths, &forms, row);
    }
    capacity
}

/// The richest form a column's cells may be drawn in: the first one, or, where all cells have
/// the same form, the first that fits in every row.
fn first_forms(columns: &[Column], widths: &[Option<u16>], rows: &[Row<'_>]) -> Vec<usize> {
    let fits = |at: usize, form: usize, room: u16| {
        rows.iter().filter_map(|row| row.cells.get(at)).all(|cell| match cell {
            Cell::Forms(forms) => forms.get(form).or(forms.last()).is_none_or(|form| columns_of(form) <= room),
            Cell::Name(..) => true,
        })
    };
    let most = |at: usize| {
        let counts = rows.iter().filter_map(|row| row.cells.get(at)).map(|cell| match cell {
            Cell::Forms(forms) => forms.len(),
            Cell::Name(..) => 0,
        });
        counts.max().unwrap_or(0)
    };
    let first = |(at, column): (usize, &Column)| match widths.get(at) {
        Some(&Some(room)) if column.uniform => (0..most(at)).find(|&form| fits(at, form, room)).unwrap_or(0),
        _ => 0,
    };
    columns.iter().enumerate().map(first).collect()
}

/// The largest of a column's cells by some measure.
fn widest<'a>(rows: &[Row<'a>], at: usize, measure: impl Fn(&Cell<'a>) -> u16) -> u16 {
    rows.iter().filter_map(|row| row.cells.get(at)).map(measure).max().unwrap_or(0)
}

/// The width of each column, or `None` when it is left out.
fn measure(room: u16, columns: &[Column], rows: &[Row<'_>]) -> Vec<Option<u16>> {
    let head = |column: &Column| u16::try_from(width(lang::text(column.head))).unwrap_or(u16::MAX);
    let filled: Vec<u16> = (0..columns.len()).map(|at| widest(rows, at, Cell::want)).collect();
    let wants: Vec<u16> = columns
        .iter()
        .zip(&filled)
        .map(|(column, &want)| want.max(column.steady).min(column.most).max(head(column)))
        .collect();
    // What a column keeps as long as another one can still be left out.
    let rich: Vec<u16> = columns
        .iter()
        .zip(&wants)
        .map(|(column, &want)| match column.least {
            0 => want,
            least => want.min(least.max(head(column))),
        })
        .collect();
    // A column with nothing in it says nothing; one that never drops keeps its place.
    let mut shown: Vec<bool> =
        columns.iter().zip(&filled).map(|(column, &want)| column.drop.is_none() || want > 0).collect();
    // The last column keeps a space from the frame.
    let used = |shown: &[bool], sizes: &[u16]| {
        let kept = || columns.iter().zip(sizes).zip(shown).filter(|(_, shown)| **shown).map(|(column, _)| column);
        let last = kept().next_back().map_or(0, |(column, _)| column.gap);
        let all = kept().fold(MARK + 1, |sum, (column, size)| sum.saturating_add(*size).saturating_add(column.gap));
        all - last
    };
    for at in (0..columns.len()).filter(|&at| columns[at].idle) {
        if used(&shown, &wants) > room {
            shown[at] = false;
        }
    }
    while used(&shown, &rich) > room {
        let next = (0..columns.len()).filter(|&at| shown[at]).filter_map(|at| Some((columns[at].drop?, at))).min();
        match next {
            Some((_, at)) => shown[at] = false,
            None => break,
        }
    }
    let mut sizes = rich;
    if used(&shown, &sizes) > room {
        // What it comes down to when no column can be left out any more.
        for (at, size) in sizes.iter_mut().enumerate() {
            let need = widest(rows, at, Cell::need).max(head(&columns[at])).max(columns[at].least.min(6));
            *size = need.min(*size);
        }
    }
    let mut left = room.saturating_sub(used(&shown, &sizes));
    // Those that fill come first: they hold the names.
    let order =
        (0..columns.len()).filter(|&at| columns[at].fills).chain((0..columns.len()).filter(|&at| !columns[at].fills));
    for at in order.filter(|&at| shown[at]) {
        let more = wants[at].saturating_sub(sizes[at]).min(left);
        sizes[at] += more;
        left -= more;
    }
    if let Some(filler) = (0..columns.len()).rfind(|&at| columns[at].fills && shown[at]) {
        // Across a very wide screen nobody finds back to the name.
        sizes[filler] += left.min(SLACK);
    }
    sizes.into_iter().zip(shown).map(|(size, shown)| shown.then_some(size)).collect()
}

fn draw_heads(canvas: &mut Canvas<'_>, area: Rect, columns: &[Column], widths: &[Option<u16>]) {
    for (column, x, columns_wide) in placed(area, columns, widths) {
        let role = if column.sorted { Role::Title } else { Role::Muted };
        let line = Line::from(canvas.theme.span(lang::text(column.head), role));
        let end = x.saturating_add(columns_wide).min(area.right());
        if column.right {
            canvas.line_right(x, end, area.y, &line);
        } else {
            canvas.line(x, area.y, end.saturating_sub(x), &line);
        }
        if let Some(action) = column.action {
            canvas.hit(Rect::new(x, area.y, columns_wide, 1), Target::Do(action));
        }
    }
}

fn draw_row(
    canvas: &mut Canvas<'_>,
    area: Rect,
    columns: &[Column],
    widths: &[Option<u16>],
    forms_from: &[usize],
    row: &Row<'_>,
) {
    if row.selected {
        canvas.text(area.x, area.y, 1, canvas.theme.glyphs.selection, Role::Text);
    }
    for (at, (column, x, columns_wide)) in all_placed(area, columns, widths).enumerate() {
        let (Some(columns_wide), Some(cell)) = (columns_wide, row.cells.get(at)) else { continue };
        let end = x.saturating_add(columns_wide).min(area.right());
        let room = end.saturating_sub(x);
        let cut;
        let line = match cell {
            Cell::Forms(forms) => {
                let from = forms_from[at].min(forms.len().saturating_sub(1));
                let fitting = forms[from..].iter().find(|form| columns_of(form) <= room).or(forms.last());
                let Some(line) = fitting else { continue };
                line
            }
            Cell::Name(bytes, style) => {
                let text = fit_bytes(bytes, usize::from(room), Cut::Middle, canvas.theme.glyphs.ellipsis);
                cut = Line::from(Span::styled(text, *style));
                &cut
            }
        };
        if column.right {
            canvas.line_right(x, end, area.y, line);
        } else {
            canvas.line(x, area.y, room, line);
        }
    }
    if row.changed {
        canvas.tint(area, canvas.style(Role::Changed));
    }
    if row.selected {
        // The mark itself stays as it is: it points at the block.
        canvas.select(Rect { x: area.x + 1, width: area.width.saturating_sub(1), ..area });
    }
    if let Some(target) = &row.target {
        canvas.hit(area, target.clone());
    }
}

/// The columns that are shown, with where they start and how wide they are.
fn placed<'c>(
    area: Rect,
    columns: &'c [Column],
    widths: &'c [Option<u16>],
) -> impl Iterator<Item = (&'c Column, u16, u16)> {
    all_placed(area, columns, widths).filter_map(|(column, x, size)| Some((column, x, size?)))
}

fn all_placed<'c>(
    area: Rect,
    columns: &'c [Column],
    widths: &'c [Option<u16>],
) -> impl Iterator<Item = (&'c Column, u16, Option<u16>)> {
    let mut x = area.x.saturating_add(MARK);
    columns.iter().zip(widths).map(move |(column, &size)| {
        let start = x;
        if let Some(size) = size {
            x = x.saturating_add(size).saturating_add(column.gap);
        }
        (column, start, size)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::testing::{Screenshot, mono, plain};

    const COLUMNS: [Column; 4] = [
        Column::new("NAME").at_least(6).fills(),
        Column::new("TOKEN").right().drop(1),
        Column::new("TTL"),
        Column::new("SPARK").drop(0),
    ];

    fn row(name: &[u8]) -> Row<'_> {
        Row::new(vec![
            Cell::Name(name, Style::new()),
            Cell::new("84,213"),
            Cell::Forms(vec!["######---- 42s".into(), "42s".into()]),
            Cell::new("12345678"),
        ])
    }

    fn drawn(width: u16, rows: &[Row<'_>]) -> Vec<String> {
        Screenshot::of(width, 3, &plain(), |canvas| {
            assert_eq!(table(canvas, Rect::new(0, 0, width, 3), &COLUMNS, rows), 2);
        })
        .lines()
    }

    #[test]
    fn columns_follow_their_contents_and_the_name_takes_the_rest() {
        assert_eq!(
            drawn(50, &[row(b"/a"), row("/任务".as_bytes())]),
            [
                "  NAME            TOKEN  TTL             SPARK    ",
                "  /a             84,213  ######---- 42s  12345678 ",
                "  /任务          84,213  ######---- 42s  12345678 ",
            ]
        );
    }

    #[test]
    fn columns_go_in_their_order_and_then_cells_turn_poorer() {
        let rows = [row(b"/jobs/nightly-report")];
        assert_eq!(drawn(49, &rows)[1], "  /jobs/…eport  84,213  ######---- 42s  12345678 ");
        assert_eq!(drawn(41, &rows)[1], "  /jobs/n…report  84,213  ######---- 42s ");
        assert_eq!(drawn(32, &rows)[1], "  /jobs/…report  ######---- 42s ");
        assert_eq!(drawn(25, &rows)[1], "  /jo…rt  ######---- 42s ");
        assert_eq!(drawn(18, &rows)[1], "  /jobs…port  42s ");
    }

    #[test]
    fn a_selected_row_is_marked_turned_and_can_be_clicked() {
        let theme = mono();
        let selected = Row { selected: true, target: Some(Target::Lock("/a".into())), ..row(b"/a") };
        let shot = Screenshot::of(40, 3, &theme, |canvas| {
            table(canvas, Rect::new(0, 0, 40, 3), &COLUMNS, &[row(b"/b"), selected]);
        });
        assert_eq!(shot.buffer[(0, 2)].symbol(), "▌");
        assert!(shot.has_role("/a", &theme, Role::Selection));
        assert!(!shot.has_role("/b", &theme, Role::Selection));
        assert_eq!(shot.hits.at(20, 2), Some(&Target::Lock("/a".into())));
        assert_eq!(shot.hits.at(20, 1), None);
    }

    #[test]
    fn there_is_always_an_answer_however_small_the_area() {
        for width in 0..30 {
            for height in 0..3 {
                Screenshot::of(30, 3, &plain(), |canvas| {
                    table(canvas, Rect::new(0, 0, width, height), &COLUMNS, &[row(b"/a"), row(b"/b")]);
                });
            }
        }
    }
}
