//! What a screen shows at one moment, colours resolved.

use vt100::{Cell, Color, Screen};

/// Rows of what stands in them.
#[derive(Clone, PartialEq)]
pub struct Frame {
    pub columns: u16,
    pub rows: Vec<Vec<Mark>>,
}

/// A character with all that combines with it, in its place.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Mark {
    pub column: u16,
    /// One, or two for those of East Asia.
    pub width: u16,
    /// Never empty; a space where nothing stands.
    pub text: String,
    pub ink: Ink,
}

/// How a character is drawn. `None` is the terminal's own colour.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
#[expect(clippy::struct_excessive_bools, reason = "a terminal sets each of them apart from the others")]
pub struct Ink {
    pub fore: Option<Rgb>,
    pub back: Option<Rgb>,
    pub reversed: bool,
    pub bold: bool,
    pub dim: bool,
    pub italic: bool,
    pub underlined: bool,
}

/// Red, green, blue.
pub type Rgb = [u8; 3];

impl Frame {
    /// What a screen shows.
    pub fn of(screen: &Screen) -> Self {
        let (rows, columns) = screen.size();
        let marks = |row| {
            let cells = (0..columns).filter_map(move |column| Some((column, screen.cell(row, column)?)));
            cells
                .filter(|(_, cell)| !cell.is_wide_continuation())
                .map(|(column, cell)| Mark::of(column, cell))
                .collect()
        };
        Self { columns, rows: (0..rows).map(marks).collect() }
    }
}

impl Mark {
    fn of(column: u16, cell: &Cell) -> Self {
        let text = if cell.has_contents() { cell.contents().to_owned() } else { " ".to_owned() };
        let ink = Ink {
            fore: rgb(cell.fgcolor()),
            back: rgb(cell.bgcolor()),
            reversed: cell.inverse(),
            bold: cell.bold(),
            dim: cell.dim(),
            italic: cell.italic(),
            underlined: cell.underline(),
        };
        Self { column, width: if cell.is_wide() { 2 } else { 1 }, text, ink }
    }
}

/// xterm's colours for those that come by number.
fn rgb(color: Color) -> Option<Rgb> {
    const FIRST: [Rgb; 16] = [
        [0x00, 0x00, 0x00],
        [0xcd, 0x00, 0x00],
        [0x00, 0xcd, 0x00],
        [0xcd, 0xcd, 0x00],
        [0x00, 0x00, 0xee],
        [0xcd, 0x00, 0xcd],
        [0x00, 0xcd, 0xcd],
        [0xe5, 0xe5, 0xe5],
        [0x7f, 0x7f, 0x7f],
        [0xff, 0x00, 0x00],
        [0x00, 0xff, 0x00],
        [0xff, 0xff, 0x00],
        [0x5c, 0x5c, 0xff],
        [0xff, 0x00, 0xff],
        [0x00, 0xff, 0xff],
        [0xff, 0xff, 0xff],
    ];
    const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    match color {
        Color::Default => None,
        Color::Rgb(red, green, blue) => Some([red, green, blue]),
        Color::Idx(number @ 0..16) => Some(FIRST[usize::from(number)]),
        Color::Idx(number @ 16..232) => {
            let cube = usize::from(number - 16);
            Some([STEPS[cube / 36], STEPS[cube / 6 % 6], STEPS[cube % 6]])
        }
        Color::Idx(number) => Some([8 + 10 * (number - 232); 3]),
    }
}
