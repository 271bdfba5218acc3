//! Which layout a size gets, and how a screen is cut into parts.

use ratatui::layout::Rect;

/// The fewest columns and rows there is a layout for.
pub const SMALLEST: (u16, u16) = (60, 16);

/// The layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Size {
    /// Too small for anything but saying so.
    TooSmall,
    /// The list on top, findings and watch below; a lock opens as its own screen. 80x24.
    Single,
    /// The list on the left, queue and history of the selected lock on the right. 120x36.
    Split,
    /// The same with members and log below. 160x48.
    Wide,
    /// Three columns. 200x60.
    Full,
}

impl Size {
    /// The layout for so many columns and rows.
    pub const fn of(area: Rect) -> Self {
        match (area.width, area.height) {
            (200.., 60..) => Self::Full,
            (160.., 48..) => Self::Wide,
            (120.., 36..) => Self::Split,
            (width, height) if width >= SMALLEST.0 && height >= SMALLEST.1 => Self::Single,
            _ => Self::TooSmall,
        }
    }
}

/// The lines around every screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chrome {
    /// Who and where we are.
    pub header: Rect,
    /// The screens.
    pub tabs: Rect,
    /// The screen itself.
    pub body: Rect,
    /// How fresh things are; messages come here.
    pub status: Rect,
    /// The keys.
    pub footer: Rect,
}

impl Chrome {
    /// Cuts the lines off a frame that is large enough.
    pub fn of(area: Rect) -> Self {
        let (header, rest) = top(area, 1);
        let (tabs, rest) = top(rest, 1);
        let (rest, footer) = bottom(rest, 1);
        let (body, status) = bottom(rest, 1);
        Self { header, tabs, body, status, footer }
    }
}

/// Cuts `rows` rows off the top: those, and the rest.
pub fn top(area: Rect, rows: u16) -> (Rect, Rect) {
    let rows = rows.min(area.height);
    (Rect { height: rows, ..area }, Rect { y: area.y + rows, height: area.height - rows, ..area })
}

/// Cuts `rows` rows off the bottom: the rest, and those.
pub fn bottom(area: Rect, rows: u16) -> (Rect, Rect) {
    top(area, area.height.saturating_sub(rows))
}

/// Cuts `columns` columns off the left: those, and the rest.
pub fn left(area: Rect, columns: u16) -> (Rect, Rect) {
    let columns = columns.min(area.width);
    (Rect { width: columns, ..area }, Rect { x: area.x + columns, width: area.width - columns, ..area })
}

/// So many percent of a length, at least `least` and at most all of it.
pub fn percent(length: u16, percent: u16, least: u16) -> u16 {
    let part = u32::from(length) * u32::from(percent) / 100;
    u16::try_from(part).unwrap_or(length).max(least).min(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(width: u16, height: u16) -> Size {
        Size::of(Rect::new(0, 0, width, height))
    }

    #[test]
    fn both_columns_and_rows_decide() {
        assert_eq!(size(59, 50), Size::TooSmall);
        assert_eq!(size(80, 15), Size::TooSmall);
        assert_eq!(size(60, 16), Size::Single);
        assert_eq!(size(80, 24), Size::Single);
        assert_eq!(size(300, 30), Size::Single);
        assert_eq!(size(120, 36), Size::Split);
        assert_eq!(size(160, 48), Size::Wide);
        assert_eq!(size(199, 99), Size::Wide);
        assert_eq!(size(200, 60), Size::Full);
    }

    #[test]
    fn the_parts_of_a_frame_cover_it_once() {
        let area = Rect::new(0, 0, 80, 24);
        let Chrome { header, tabs, body, status, footer } = Chrome::of(area);
        let rows: Vec<u16> =
            [header, tabs, body, status, footer].into_iter().flat_map(|part| part.top()..part.bottom()).collect();
        assert_eq!(rows, (0..24).collect::<Vec<_>>());
    }
}
