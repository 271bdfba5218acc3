//! The staircase of a queue: each row hangs on its predecessor.

use ratatui::text::Line;

use crate::view::theme::{Role, Theme};

/// Where the stairs stop going right: deeper rows stand below each other. Each form takes
/// fewer columns than the one before.
const DEEPEST: [usize; 2] = [6, 3];

/// The row of a holder: `● 0`.
pub fn holder<'a>(theme: &Theme) -> Line<'a> {
    Line::from(vec![theme.span(theme.glyphs.holder, Role::Holder), theme.span(" 0", Role::Text)])
}

/// The row of the waiter at a position, from 1 on, in the forms of a table's cell: `  ╰○ 3`.
pub fn waiter<'a>(position: usize, theme: &Theme) -> Vec<Line<'a>> {
    let glyphs = theme.glyphs;
    let form = |deepest: usize| {
        let indent = position.saturating_sub(1).min(deepest - 1);
        Line::from(vec![
            theme.span(format!("{}{}", " ".repeat(indent), glyphs.elbow), Role::Muted),
            theme.span(format!("{} {position}", glyphs.waiter), Role::Waiter),
        ])
    };
    DEEPEST.map(form).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::testing::{ascii, plain};

    #[test]
    fn each_row_hangs_on_the_one_before() {
        let theme = plain();
        let rows: Vec<String> = (1..=3).map(|at| waiter(at, &theme)[0].to_string()).collect();
        assert_eq!(holder(&theme).to_string(), "● 0");
        assert_eq!(rows, ["╰○ 1", " ╰○ 2", "  ╰○ 3"]);
    }

    #[test]
    fn the_stairs_do_not_lead_out_of_the_panel() {
        assert_eq!(waiter(6, &plain())[0].to_string(), "     ╰○ 6");
        assert_eq!(waiter(1204, &plain())[0].to_string(), "     ╰○ 1204");
        assert_eq!(waiter(1204, &plain())[1].to_string(), "  ╰○ 1204");
    }

    #[test]
    fn the_stairs_stand_in_ascii_as_well() {
        assert_eq!(waiter(2, &ascii())[0].to_string(), " `o 2");
    }
}
