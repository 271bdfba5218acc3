//! Lines and blocks as shapes. Fonts draw them with gaps, or not at all, and shapes meet exactly.

use crate::svg::{CELL_HEIGHT as HEIGHT, CELL_WIDTH as WIDTH};

/// A shape in a cell whose upper left corner is given, as the data of an SVG path.
pub enum Shape {
    /// A line to be stroked.
    Line(String),
    /// An area to be filled, with how much of it covers what is behind.
    Area(String, f32),
}

/// The shape of a character, where it is drawn as one.
pub fn shape(text: &str, x: u16, y: u16) -> Option<Shape> {
    let mut chars = text.chars();
    let (Some(char), None) = (chars.next(), chars.next()) else { return None };
    if let Some((number, parts)) = block(char) {
        return Some(parts.area(x, y, number));
    }
    let (left, right, top, bottom) = (f32::from(x), f32::from(x + WIDTH), f32::from(y), f32::from(y + HEIGHT));
    let (middle, half) = (f32::midpoint(left, right), f32::midpoint(top, bottom));
    let corner = |from: f32, to: f32| format!("M{middle} {to}Q{middle} {half} {from} {half}");
    let line = match char {
        '─' => format!("M{left} {half}H{right}"),
        '│' => format!("M{middle} {top}V{bottom}"),
        '╭' => corner(right, bottom),
        '╮' => corner(left, bottom),
        '╰' => corner(right, top),
        '╯' => corner(left, top),
        '┌' => format!("M{middle} {bottom}V{half}H{right}"),
        '┐' => format!("M{middle} {bottom}V{half}H{left}"),
        '└' => format!("M{middle} {top}V{half}H{right}"),
        '┘' => format!("M{middle} {top}V{half}H{left}"),
        '├' => format!("M{middle} {top}V{bottom}M{middle} {half}H{right}"),
        '┤' => format!("M{middle} {top}V{bottom}M{middle} {half}H{left}"),
        '┬' => format!("M{left} {half}H{right}M{middle} {half}V{bottom}"),
        '┴' => format!("M{left} {half}H{right}M{middle} {half}V{top}"),
        '┼' => format!("M{left} {half}H{right}M{middle} {top}V{bottom}"),
        '╷' => format!("M{middle} {half}V{bottom}"),
        '╵' => format!("M{middle} {top}V{half}"),
        '╌' => dashes(2, left, f32::from(WIDTH), |from, to| format!("M{from} {half}H{to}")),
        '┄' => dashes(3, left, f32::from(WIDTH), |from, to| format!("M{from} {half}H{to}")),
        '┈' => dashes(4, left, f32::from(WIDTH), |from, to| format!("M{from} {half}H{to}")),
        '┊' => dashes(4, top, f32::from(HEIGHT), |from, to| format!("M{middle} {from}V{to}")),
        _ => return None,
    };
    Some(Shape::Line(line))
}

fn dashes(count: u8, start: f32, length: f32, dash: impl Fn(f32, f32) -> String) -> String {
    let each = length / f32::from(count);
    (0..count).map(|n| start + f32::from(n) * each).map(|from| dash(from + each * 0.2, from + each * 0.8)).collect()
}

/// What a block element fills, with a number of eighths.
enum Block {
    /// From below.
    Lower,
    /// From the left.
    Left,
    /// From above.
    Upper,
    /// From the right.
    Right,
    /// All of it, but thinly.
    Shade,
}

impl Block {
    fn area(&self, x: u16, y: u16, eighths: u16) -> Shape {
        let share = f32::from(eighths) / 8.0;
        let (wide, high) = (f32::from(WIDTH) * share, f32::from(HEIGHT) * share);
        let (right, bottom) = (x + WIDTH, y + HEIGHT);
        match self {
            Self::Lower => Shape::Area(format!("M{x} {bottom}H{right}v-{high}H{x}z"), 1.0),
            Self::Upper => Shape::Area(format!("M{x} {y}H{right}v{high}H{x}z"), 1.0),
            Self::Left => Shape::Area(format!("M{x} {y}h{wide}V{bottom}H{x}z"), 1.0),
            Self::Right => Shape::Area(format!("M{right} {y}h-{wide}V{bottom}H{right}z"), 1.0),
            Self::Shade => Shape::Area(format!("M{x} {y}H{right}V{bottom}H{x}z"), share),
        }
    }
}

fn block(char: char) -> Option<(u16, Block)> {
    Some(match char {
        '▀' => (4, Block::Upper),
        // U+2581 to U+2588 are one to eight eighths from below.
        '▁'..='█' => (u16::try_from(u32::from(char) - 0x2580).ok()?, Block::Lower),
        // U+2589 to U+258F are seven to one from the left.
        '▉'..='▏' => (u16::try_from(0x2590 - u32::from(char)).ok()?, Block::Left),
        '▐' => (4, Block::Right),
        '░' => (2, Block::Shade),
        '▒' => (4, Block::Shade),
        '▓' => (6, Block::Shade),
        '▔' => (1, Block::Upper),
        '▕' => (1, Block::Right),
        _ => return None,
    })
}
