//! Lengths of time, and how they spread.

use std::collections::VecDeque;
use std::time::Duration;

/// How many lengths are kept: the latest.
const KEPT: usize = 1 << 16;

/// Lengths of time; of very many, the latest.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples(VecDeque<Duration>);

/// How lengths of time spread. A percentile is the smallest length that so many of a hundred
/// do not exceed (nearest rank).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Half are no longer.
    pub p50: Duration,
    /// Nine of ten are no longer.
    pub p90: Duration,
    /// Ninety-nine of a hundred are no longer.
    pub p99: Duration,
    /// The longest.
    pub max: Duration,
}

impl Samples {
    /// One more.
    pub fn add(&mut self, length: Duration) {
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(length);
    }

    /// One more, if there is one.
    pub fn extend(&mut self, length: Option<Duration>) {
        if let Some(length) = length {
            self.add(length);
        }
    }

    /// How they spread; none without any.
    pub fn spread(&self) -> Option<Spread> {
        let mut sorted: Vec<_> = self.0.iter().copied().collect();
        sorted.sort_unstable();
        let max = *sorted.last()?;
        let of = |hundredths: usize| sorted[(sorted.len() * hundredths).div_ceil(100) - 1];
        Some(Spread { p50: of(50), p90: of(90), p99: of(99), max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_lengths_that_occurred() {
        let mut samples = Samples::default();
        assert_eq!(samples.spread(), None);
        samples.add(Duration::from_millis(7));
        let one = samples.spread().unwrap();
        assert_eq!((one.p50, one.p99, one.max), (one.max, one.max, Duration::from_millis(7)));
        samples = Samples::default();
        for millis in (1..=200).rev() {
            samples.add(Duration::from_millis(millis));
        }
        let spread = samples.spread().unwrap();
        let millis = [spread.p50, spread.p90, spread.p99, spread.max].map(|length| length.as_millis());
        assert_eq!(millis, [100, 180, 198, 200]);
    }

    #[test]
    fn a_long_run_keeps_the_latest_only() {
        let mut samples = Samples::default();
        for n in 0..KEPT as u64 + 10 {
            samples.add(Duration::from_micros(n));
        }
        assert_eq!(samples.0.len(), KEPT);
        assert_eq!(samples.0.front(), Some(&Duration::from_micros(10)));
    }
}
