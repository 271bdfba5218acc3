//! Chance that can be repeated: numbers that look random and follow from a seed.
//!
//! Whatever is drawn by chance in a pure machine comes from here, such as election timeouts,
//! delays and losses, so that the same seed gives the same run on every machine. Not for secrets.

use std::time::Duration;

/// What lies between two states of a stream.
pub const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

/// A stream of numbers that look drawn by chance and follow from a seed: `SplitMix64` (Steele,
/// Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chance {
    state: u64,
}

impl Chance {
    /// A stream of its own for each number below one seed, so that what one node draws does not
    /// depend on how often another did.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut seeded = Self { state: seed };
        let state = seeded.next() ^ stream.wrapping_mul(0xd134_2543_de82_ef95);
        Self { state }
    }

    fn next(&mut self) -> u64 {
        let drawn = mix(self.state);
        self.state = self.state.wrapping_add(STRIDE);
        drawn
    }

    /// A number from 0 up to and with `most`.
    pub fn up_to(&mut self, most: u64) -> u64 {
        let scaled = u128::from(self.next()) * (u128::from(most) + 1);
        // The upper half of 128 bits fits into 64.
        u64::try_from(scaled >> 64).unwrap_or(most)
    }

    /// A length of time between the two, both possible, in whole microseconds.
    pub fn between(&mut self, min: Duration, max: Duration) -> Duration {
        let spread = u64::try_from(max.saturating_sub(min).as_micros()).unwrap_or(u64::MAX);
        min + Duration::from_micros(self.up_to(spread))
    }

    /// True for so many of a thousand draws.
    pub fn in_thousand(&mut self, share: u16) -> bool {
        self.up_to(999) < u64::from(share)
    }
}

/// What is drawn in this state: spreads neighbouring numbers over all 64 bits, and no two of
/// them to the same place.
pub const fn mix(state: u64) -> u64 {
    let mut mixed = state.wrapping_add(STRIDE);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_fixes_the_stream_and_streams_differ() {
        let draw = |seed, stream| {
            let mut chance = Chance::new(seed, stream);
            (0..4).map(|_| chance.next()).collect::<Vec<_>>()
        };
        assert_eq!(draw(7, 1), draw(7, 1));
        assert_ne!(draw(7, 1), draw(7, 2));
        assert_ne!(draw(7, 1), draw(8, 1));
    }

    #[test]
    fn numbers_are_mixed_as_splitmix64_does() {
        // The first two outputs of the reference implementation for the seed 1234567.
        assert_eq!(mix(1_234_567), 6_457_827_717_110_365_317);
        assert_eq!(mix(1_234_567_u64.wrapping_add(STRIDE)), 3_203_168_211_198_807_973);
    }

    #[test]
    fn lengths_are_spread_evenly_over_the_range_and_reach_both_ends() {
        let mut chance = Chance::new(1, 0);
        let (min, max) = (Duration::from_micros(10), Duration::from_micros(19));
        let mut counts = [0; 10];
        for _ in 0..10_000 {
            let drawn = chance.between(min, max);
            counts[usize::try_from(drawn.saturating_sub(min).as_micros()).unwrap()] += 1;
        }
        assert!(counts.iter().all(|count| (850..1150).contains(count)), "{counts:?}");
        assert_eq!(chance.between(max, max), max);
        assert_eq!(chance.between(max, min), max);
    }

    #[test]
    fn a_share_of_a_thousand_is_met() {
        let mut chance = Chance::new(3, 0);
        let hits = (0..10_000).filter(|_| chance.in_thousand(200)).count();
        assert!((1850..2150).contains(&hits), "{hits}");
        assert!((0..1000).all(|_| chance.in_thousand(1000)));
        assert!(!(0..1000).any(|_| chance.in_thousand(0)));
    }
}
