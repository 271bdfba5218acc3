//! A bar that is so full: what is left of a timer.

use ratatui::text::Span;

use crate::view::theme::{Role, Theme};

/// A bar of so many cells of which `part` of `whole` is full, the full part in a role's style.
/// Something is never nothing.
pub fn gauge<'a>(part: u64, whole: u64, cells: u16, role: Role, theme: &Theme) -> [Span<'a>; 2] {
    let steps = theme.glyphs.bar;
    let per_cell = steps.len().saturating_sub(1).max(1) as u64;
    let top = u64::from(cells) * per_cell;
    let filled = u128::from(part.min(whole)) * u128::from(top);
    let filled = u64::try_from(filled.div_ceil(u128::from(whole.max(1)))).unwrap_or(top).min(top);
    let (full, rest) = (filled / per_cell, usize::try_from(filled % per_cell).unwrap_or(0));
    let mut bar = steps[steps.len() - 1].repeat(usize::try_from(full).unwrap_or(0));
    if rest > 0 {
        bar.push_str(steps[rest]);
    }
    let empty = u64::from(cells).saturating_sub(full + u64::from(rest > 0));
    [theme.span(bar, role), theme.span(steps[0].repeat(usize::try_from(empty).unwrap_or(0)), Role::Muted)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::testing::{ascii, plain};

    fn drawn(part: u64, whole: u64, theme: &Theme) -> String {
        gauge(part, whole, 8, Role::Text, theme).iter().map(|span| span.content.as_ref()).collect()
    }

    #[test]
    fn a_gauge_is_as_full_as_its_part() {
        let theme = plain();
        assert_eq!(drawn(300, 300, &theme), "▇▇▇▇▇▇▇▇");
        assert_eq!(drawn(212, 300, &theme), "▇▇▇▇▇▅▁▁");
        assert_eq!(drawn(1, 300, &theme), "▂▁▁▁▁▁▁▁");
        assert_eq!(drawn(0, 300, &theme), "▁▁▁▁▁▁▁▁");
        assert_eq!(drawn(0, 0, &theme), "▁▁▁▁▁▁▁▁");
        assert_eq!(drawn(9, 3, &theme), "▇▇▇▇▇▇▇▇", "more than the whole");
        assert_eq!(drawn(u64::MAX, u64::MAX, &theme), "▇▇▇▇▇▇▇▇");
        assert_eq!(drawn(150, 300, &ascii()), "####----");
    }
}
