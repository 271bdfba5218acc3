//! A line of small bars: how often something happened, minute by minute.

use crate::view::glyphs::Glyphs;

/// A sparkline of `counts`, one cell each, on a scale that ends at `most`.
///
/// The scale is logarithmic, so that one handover a minute can be seen beside thirty: what
/// matters is whether, and roughly how much. Nothing is the lowest cell, something never is.
pub fn sparkline(counts: impl IntoIterator<Item = u32>, most: u32, glyphs: &Glyphs) -> String {
    counts.into_iter().map(|count| glyphs.spark[level(count, most, glyphs.spark.len())]).collect()
}

fn level(count: u32, most: u32, levels: usize) -> usize {
    if count == 0 {
        return 0;
    }
    let top = levels - 1;
    let share = f64::from(count).ln_1p() / f64::from(most.max(count)).ln_1p();
    // The share is between 0 and 1 and the levels are few.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "see above"
    )]
    let level = (share * top as f64).round() as usize;
    level.clamp(1, top)
}

/// Sums neighbours, so that `counts` fit `cells` cells, the newest last. When they do not
/// divide evenly the oldest are left out.
pub fn condense(counts: &[u32], per_cell: usize, cells: usize) -> Vec<u32> {
    let mut sums: Vec<u32> = counts.rchunks(per_cell.max(1)).take(cells).map(|chunk| chunk.iter().sum()).collect();
    sums.reverse();
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::glyphs::{ASCII, UNICODE};

    #[test]
    fn nothing_is_low_something_is_higher_and_the_most_is_full() {
        assert_eq!(sparkline([0, 1, 3, 31], 31, &UNICODE), "▁▂▄█");
        assert_eq!(sparkline([0, 1, 1000], 1000, &UNICODE), "▁▂█", "one in a thousand is still seen");
        assert_eq!(sparkline([0, 5, 31], 31, &ASCII), "_+#");
        assert_eq!(sparkline([0, 0], 0, &UNICODE), "▁▁");
        assert_eq!(sparkline([7], 3, &UNICODE), "█", "more than the scale is full");
    }

    #[test]
    fn neighbours_are_summed_from_the_newest_back() {
        assert_eq!(condense(&[1, 1, 1, 2, 2, 2, 3, 3, 3], 3, 8), [3, 6, 9]);
        assert_eq!(condense(&[1, 1, 1, 2, 2, 2, 3, 3, 3], 3, 2), [6, 9]);
        assert_eq!(condense(&[9, 1, 1], 2, 2), [9, 2]);
    }
}
