//! How evenly a lock was shared.

use super::OfClient;

/// Jain's index of how evenly a lock was shared: 1 when all had the same, 1/n when one of n had it
/// all (Jain, Chiu and Hawe, "A Quantitative Measure of Fairness", 1984).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fairness {
    /// Of how often each held.
    pub by_count: f64,
    /// Of how long each held in all.
    pub by_time: f64,
}

impl Fairness {
    /// Among these; none when none of them held.
    pub(super) fn of<'a>(clients: impl Iterator<Item = &'a OfClient>) -> Option<Self> {
        #[expect(clippy::cast_precision_loss, reason = "counts of a run are far below 2^53")]
        let (counts, times): (Vec<_>, Vec<_>) =
            clients.map(|client| (client.holds as f64, client.held.as_secs_f64())).unzip();
        let by_count = jain(&counts)?;
        // Where nobody let go yet, or all at once, the times say nothing.
        Some(Self { by_count, by_time: jain(&times).unwrap_or(by_count) })
    }
}

#[expect(clippy::cast_precision_loss, reason = "there are few clients")]
fn jain(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_shares_are_fair_and_one_for_all_is_not() {
        assert_eq!(jain(&[3.0, 3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain(&[8.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[1.0, 3.0]), Some(0.8));
        assert_eq!((jain(&[]), jain(&[0.0, 0.0])), (None, None));
    }
}
