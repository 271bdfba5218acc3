//! What the suite draws, fixed by a seed.

use std::time::Duration;

use lockscope::chance::{STRIDE, mix};

/// `SplitMix64`.
pub struct Chance(u64);

impl Chance {
    /// Not the stream that the cluster of this seed draws from.
    pub fn new(seed: u64) -> Self {
        Self(seed ^ 0x005e_ed0f_7e57)
    }

    pub fn next(&mut self) -> u64 {
        let drawn = mix(self.0);
        self.0 = self.0.wrapping_add(STRIDE);
        drawn
    }

    /// Below `bound`, which is not 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub fn millis(&mut self, bound: u64) -> Duration {
        Duration::from_micros(self.below(bound * 1000))
    }

    pub fn coin(&mut self) -> bool {
        self.below(2) == 0
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        if from.is_empty() { None } else { Some(from[usize::try_from(self.below(from.len() as u64)).unwrap()]) }
    }
}
