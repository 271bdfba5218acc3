//! Chance that a seed fixes (`SplitMix64` of Steele, Lea and Flood, 2014).

use lockscope::chance::{STRIDE, mix};

/// See the module.
#[derive(Clone, Debug)]
pub struct Chance(u64);

impl Chance {
    /// What this seed fixes.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        let drawn = mix(self.0);
        self.0 = self.0.wrapping_add(STRIDE);
        drawn
    }

    /// A number from 0 up to, not including, `end`.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).expect("it is below a usize")
    }

    /// A number from `low` up to and with `high`.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        let count = usize::try_from(high - low + 1).expect("high is not below low");
        low + i64::try_from(self.below(count)).expect("it is below the count")
    }

    /// True in `percent` of a hundred cases.
    pub fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of these.
    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }
}
