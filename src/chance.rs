//! Chance that can be repeated: numbers that look random and follow from a seed.
//!
//! Whatever is drawn by chance in a pure machine comes from here, so that the same seed gives
//! the same run on every machine. Not for secrets.

use std::time::Duration;

/// A generator of 64-bit numbers (`SplitMix64`: Steele, Lea and Flood, "Fast splittable
/// pseudorandom number generators", OOPSLA 2014).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chance {
    state: u64,
}

impl Chance {
    /// The generator of this seed.
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The generator of the `number`th of many that share a seed. Those of neighbouring numbers
    /// have nothing to do with each other.
    pub const fn of(seed: u64, number: u64) -> Self {
        Self { state: mix(mix(seed) ^ number.wrapping_mul(STEP)) }
    }

    /// The next number.
    pub const fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        mix(self.state)
    }

    /// A number below `end`; 0 when there is none.
    pub fn below(&mut self, end: u64) -> u64 {
        // The upper half of the product: even enough, as `end` is far from 2^64.
        let product = u128::from(self.draw()) * u128::from(end);
        (product >> 64) as u64
    }

    /// A length of time from `shortest` to `longest`, in whole microseconds.
    pub fn between(&mut self, shortest: Duration, longest: Duration) -> Duration {
        let room = u64::try_from(longest.saturating_sub(shortest).as_micros()).unwrap_or(u64::MAX - 1);
        shortest + Duration::from_micros(self.below(room.saturating_add(1)))
    }
}

/// The golden ratio of 2^64, an odd number.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

const fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_published_algorithm() {
        let mut chance = Chance::new(1_234_567);
        let drawn: [u64; 3] = std::array::from_fn(|_| chance.draw());
        assert_eq!(drawn, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn what_is_drawn_stays_in_its_bounds_and_reaches_them() {
        let mut chance = Chance::new(7);
        let (shortest, longest) = (Duration::from_micros(10), Duration::from_micros(13));
        let mut drawn: Vec<_> = (0..200).map(|_| chance.between(shortest, longest)).collect();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn, [10, 11, 12, 13].map(Duration::from_micros));
        assert_eq!(chance.between(longest, longest), longest);
        assert_eq!((chance.below(1), chance.below(0)), (0, 0));
    }

    #[test]
    fn generators_of_one_seed_differ_by_their_number() {
        let first: Vec<_> = (0..100).map(|number| Chance::of(3, number).draw()).collect();
        let mut distinct = first.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 100);
        assert_eq!(Chance::of(3, 5).draw(), first[5]);
        assert_ne!(Chance::of(4, 5).draw(), first[5]);
    }
}
