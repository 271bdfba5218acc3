//! A client's own clock beside the run's.
//!
//! Everything a client does by the clock goes by its own, its timers too, as in programs that
//! count on the time of day: set back, it sends its heartbeats late and believes longer in its
//! lease; set forward, it gives up early, which harms nobody.

use crate::domain::raft::ClusterTime;

/// What the clock of a client tells when the run begins, in microseconds: far enough from 0 that
/// no clock is set back to before time began.
const NOON: u64 = 1 << 62;

/// How far a clock can be set, in milliseconds.
const FARTHEST: i64 = 1 << 50;

/// How far a clock is ahead of the run's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skew {
    millis: i64,
}

impl Skew {
    /// So many milliseconds ahead, or behind when less than 0.
    pub fn of(millis: i64) -> Self {
        Self { millis: millis.clamp(-FARTHEST, FARTHEST) }
    }

    /// What the client's clock tells at this time of the run.
    pub const fn own(self, at: ClusterTime) -> ClusterTime {
        ClusterTime(at.0.saturating_add(NOON).saturating_add_signed(self.millis * 1000))
    }

    /// The time of the run at which the client's clock tells this; the run's beginning when that
    /// was before it.
    pub const fn world(self, own: ClusterTime) -> ClusterTime {
        ClusterTime(own.0.saturating_add_signed(-self.millis * 1000).saturating_sub(NOON))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_time_goes_to_the_clients_clock_and_back() {
        for millis in [0, 3_000, -3_000, i64::MAX, i64::MIN] {
            let skew = Skew::of(millis);
            for at in [ClusterTime(0), ClusterTime(1_000_000)] {
                assert_eq!(skew.world(skew.own(at)), at, "{millis}");
            }
        }
    }

    #[test]
    fn what_is_due_by_a_clock_that_was_set_back_comes_later() {
        let start = ClusterTime(1_000_000);
        let due = Skew::default().own(start) + Duration::from_secs(2);
        assert_eq!(Skew::default().world(due), ClusterTime(3_000_000));
        assert_eq!(Skew::of(-4_000).world(due), ClusterTime(7_000_000));
        assert_eq!(Skew::of(1_500).world(due), ClusterTime(1_500_000));
    }
}
