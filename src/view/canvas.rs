//! What widgets draw on: the frame's cells, the theme, and the hits found so far.
//!
//! The one door to the cells. Every piece of text is checked here once more, whatever its
//! way was, so that nothing a cluster sent can reach the terminal as a control sequence.

use std::borrow::Cow;

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use super::text::{Cut, cut_end, fit_bytes, sanitise, width};
use super::theme::{Role, Theme};
use crate::domain::escape::is_simple;
use crate::input::{Extent, Hits, Pane, Target, hits};

/// A frame that is being drawn.
pub struct Canvas<'a> {
    buffer: &'a mut Buffer,
    /// How things look.
    pub theme: &'a Theme,
    /// Where things were drawn.
    pub hits: Hits,
}

impl<'a> Canvas<'a> {
    /// An empty frame on these cells, whatever was there.
    pub fn new(buffer: &'a mut Buffer, theme: &'a Theme) -> Self {
        let mut blank = Cell::EMPTY;
        blank.set_style(theme.style(Role::Text));
        buffer.content.fill(blank);
        Self { buffer, theme, hits: Hits::default() }
    }

    /// The whole frame.
    pub fn area(&self) -> Rect {
        self.buffer.area
    }

    /// The cells, for a widget of another library.
    pub fn buffer(&mut self) -> &mut Buffer {
        self.buffer
    }

    /// How a role looks.
    pub fn style(&self, role: Role) -> Style {
        self.theme.style(role)
    }

    /// Writes a line of at most `columns` columns; returns how many it took.
    pub fn line(&mut self, x: u16, y: u16, columns: u16, line: &Line<'_>) -> u16 {
        let area = self.buffer.area;
        if !(area.top()..area.bottom()).contains(&y) || x < area.left() {
            return 0;
        }
        let end = x.saturating_add(columns).min(area.right());
        let mut at = x;
        for span in &line.spans {
            if at >= end {
                break;
            }
            let style = line.style.patch(span.style);
            at = match sanitise(&span.content) {
                text if text.chars().all(is_simple) => self.simple(at, y, end, &text, style),
                text => self.buffer.set_stringn(at, y, &text, usize::from(end - at), style).0,
            };
        }
        at - x
    }

    /// Writes text of simple characters from `x` to before `end`; returns the column behind it. Nearly
    /// all text is such, and what makes one cell of it need not be looked for.
    fn simple(&mut self, x: u16, y: u16, end: u16, text: &str, style: Style) -> u16 {
        let from = self.buffer.index_of(x, y);
        let cells = &mut self.buffer.content[from..from + usize::from(end - x)];
        let mut at = x;
        for (cell, char) in cells.iter_mut().zip(text.chars()) {
            cell.set_char(char).set_style(style);
            at += 1;
        }
        at
    }

    /// Writes a line that ends before column `end`, as far right as it goes but not left of
    /// `x`; returns the column it starts at.
    pub fn line_right(&mut self, x: u16, end: u16, y: u16, line: &Line<'_>) -> u16 {
        let start = end.saturating_sub(columns_of(line)).max(x);
        self.line(start, y, end.saturating_sub(start), line);
        start
    }

    /// Writes one piece of text; returns how many columns it took.
    pub fn text(&mut self, x: u16, y: u16, columns: u16, text: &str, role: Role) -> u16 {
        let style = self.style(role);
        self.line(x, y, columns, &Line::from(Span::styled(text, style)))
    }

    /// Patches the style of an area.
    pub fn tint(&mut self, area: Rect, style: Style) {
        self.buffer.set_style(area, style);
    }

    /// Empties an area, so that something can lie on top.
    pub fn clear(&mut self, area: Rect) {
        let area = area.intersection(self.buffer.area);
        let blank = self.style(Role::Text);
        // A wide character whose right half would be covered loses its left half as well.
        if area.left() > self.buffer.area.left() {
            for y in area.top()..area.bottom() {
                let left = &mut self.buffer[(area.left() - 1, y)];
                if width(left.symbol()) > 1 {
                    left.set_symbol(" ");
                }
            }
        }
        for y in area.top()..area.bottom() {
            for x in area.left()..area.right() {
                let cell = &mut self.buffer[(x, y)];
                cell.reset();
                cell.set_style(blank);
            }
        }
    }

    /// Marks an area as selected: warnings and errors keep their hue, everything else is
    /// turned as one block. What was reversed already is turned back.
    pub fn select(&mut self, area: Rect) {
        let selection = self.style(Role::Selection);
        let plain = self.style(Role::Text);
        let loud: [Option<Color>; 2] = [Role::Warning, Role::Error].map(|role| self.theme.style(role).fg);
        let area = area.intersection(self.buffer.area);
        for y in area.top()..area.bottom() {
            for x in area.left()..area.right() {
                let cell = &mut self.buffer[(x, y)];
                if cell.fg != Color::Reset && !loud.contains(&Some(cell.fg)) {
                    cell.fg = plain.fg.unwrap_or(Color::Reset);
                }
                // Dim text would be all but gone on the light side.
                cell.modifier.remove(Modifier::DIM);
                if selection.add_modifier.contains(Modifier::REVERSED) {
                    cell.modifier.toggle(Modifier::REVERSED);
                }
                cell.set_style(selection.remove_modifier(Modifier::REVERSED).add_modifier(cell.modifier));
            }
        }
    }

    /// Notes what an area means when it is clicked.
    pub fn hit(&mut self, area: Rect, target: Target) {
        self.hits.push(clickable(area), target);
    }

    /// Notes a pane that has room for `rows` rows of a content of `len` rows.
    pub fn hit_pane(&mut self, area: Rect, pane: Pane, rows: u16, len: usize) {
        self.hits.push_pane(clickable(area), pane, Extent { rows: usize::from(rows), len });
    }
}

const fn clickable(area: Rect) -> hits::Rect {
    hits::Rect { x: area.x, y: area.y, width: area.width, height: area.height }
}

impl Theme {
    /// Text in a role's style.
    pub fn span<'a>(&self, text: impl Into<Cow<'a, str>>, role: Role) -> Span<'a> {
        Span::styled(text, self.style(role))
    }

    /// A key or value, escaped and without its middle if need be.
    pub fn key<'a>(&self, bytes: &'a [u8], columns: usize, role: Role) -> Span<'a> {
        self.span(fit_bytes(bytes, columns, Cut::Middle, self.glyphs.ellipsis), role)
    }

    /// Text that loses its end when it is too wide.
    pub fn sentence<'a>(&self, text: impl Into<Cow<'a, str>>, columns: usize, role: Role) -> Span<'a> {
        let text = text.into();
        if width(&text) <= columns {
            return self.span(text, role);
        }
        self.span(cut_end(&text, columns, self.glyphs.ellipsis).into_owned(), role)
    }
}

/// How many columns a line takes once it is drawn.
pub fn columns_of(line: &Line<'_>) -> u16 {
    let columns: usize = line.spans.iter().map(|span| width(&sanitise(&span.content))).sum();
    u16::try_from(columns).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::theme::{Depth, Palette};
    use super::*;

    fn theme(depth: Depth) -> Theme {
        Theme::new(&Palette::builtin("dark").unwrap(), depth)
    }

    fn row(buffer: &Buffer) -> String {
        buffer.content.iter().map(ratatui::buffer::Cell::symbol).collect()
    }

    #[test]
    fn nothing_unsafe_reaches_a_cell_and_nothing_leaves_its_columns() {
        let theme = theme(Depth::True);
        let mut buffer = Buffer::empty(Rect::new(0, 0, 12, 1));
        let mut canvas = Canvas::new(&mut buffer, &theme);
        let taken = canvas.line(2, 0, 6, &Line::from("a\x1b[2J\u{202e}"));
        assert_eq!(taken, 6);
        canvas.line(0, 5, 6, &Line::from("below the frame"));
        canvas.line(30, 0, 6, &Line::from("right of it"));
        assert_eq!(row(&buffer), "  a\\x1b[    ");
    }

    #[test]
    fn a_wide_character_that_does_not_fit_is_left_out() {
        let theme = theme(Depth::True);
        let mut buffer = Buffer::empty(Rect::new(0, 0, 6, 1));
        let mut canvas = Canvas::new(&mut buffer, &theme);
        assert_eq!(canvas.line(0, 0, 3, &Line::from("锁锁")), 2);
        canvas.line_right(0, 6, 0, &Line::from("é锁"));
        assert_eq!(buffer[(0, 0)].symbol(), "锁");
        assert_eq!(buffer[(3, 0)].symbol(), "é");
        assert_eq!(buffer[(4, 0)].symbol(), "锁");
    }

    #[test]
    fn simple_text_is_drawn_as_by_the_rules_of_all_text() {
        let theme = theme(Depth::True);
        let plain: String = (0..=0xffff).filter_map(char::from_u32).filter(|&char| is_simple(char)).collect();
        let style = theme.style(Role::Warning);
        for columns in [0, 1, 300, 600] {
            let area = Rect::new(0, 0, 500, 1);
            let (mut drawn, mut expected) = (Buffer::empty(area), Buffer::empty(area));
            let mut canvas = Canvas::new(&mut drawn, &theme);
            let taken = canvas.line(3, 0, columns, &Line::from(Span::styled(&plain, style)));
            Canvas::new(&mut expected, &theme);
            let behind = expected.set_stringn(3, 0, &plain, usize::from(columns), style).0;
            assert_eq!((drawn, taken + 3), (expected, behind), "{columns}");
        }
    }

    #[test]
    fn a_selected_row_keeps_its_warnings() {
        let theme = theme(Depth::True);
        let mut buffer = Buffer::empty(Rect::new(0, 0, 4, 1));
        let mut canvas = Canvas::new(&mut buffer, &theme);
        canvas.text(0, 0, 1, "a", Role::Holder);
        canvas.text(1, 0, 1, "b", Role::Warning);
        canvas.select(Rect::new(0, 0, 4, 1));
        assert_eq!(buffer[(0, 0)].fg, Color::Reset);
        assert_eq!(buffer[(1, 0)].fg, theme.style(Role::Warning).fg.unwrap());
        assert!(buffer.content.iter().all(|cell| cell.modifier == Modifier::REVERSED));
    }

    #[test]
    fn without_colour_an_error_stands_out_of_the_selected_row() {
        let theme = theme(Depth::None);
        let mut buffer = Buffer::empty(Rect::new(0, 0, 2, 1));
        let mut canvas = Canvas::new(&mut buffer, &theme);
        canvas.text(0, 0, 1, "x", Role::Error);
        canvas.select(Rect::new(0, 0, 2, 1));
        assert_eq!(buffer[(0, 0)].modifier, Modifier::empty());
        assert_eq!(buffer[(1, 0)].modifier, Modifier::REVERSED);
    }

    #[test]
    fn clearing_takes_the_other_half_of_a_wide_character() {
        let theme = theme(Depth::True);
        let mut buffer = Buffer::empty(Rect::new(0, 0, 4, 1));
        let mut canvas = Canvas::new(&mut buffer, &theme);
        canvas.text(0, 0, 4, "锁锁", Role::Text);
        canvas.clear(Rect::new(1, 0, 2, 1));
        assert_eq!(buffer[(0, 0)].symbol(), " ");
    }
}
