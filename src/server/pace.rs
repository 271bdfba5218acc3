//! A cluster's clock beside the wall's: slower, faster, or standing still.

use std::time::Duration;

use tokio::time::Instant;

use crate::domain::raft::{ClusterTime, Speed};

/// How the cluster's time follows the wall's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    speed: Speed,
    frozen: bool,
    /// A moment of the wall clock, and what the cluster's clock told then.
    wall: Instant,
    cluster: ClusterTime,
}

impl Pace {
    /// A clock that tells `cluster` now and runs on from there.
    pub fn start(cluster: ClusterTime, speed: Speed) -> Self {
        Self { speed, frozen: false, wall: Instant::now(), cluster }
    }

    /// The time of the cluster.
    pub fn now(&self) -> ClusterTime {
        if self.frozen {
            return self.cluster;
        }
        self.cluster + scaled(self.wall.elapsed(), u64::from(self.speed.0), 1000)
    }

    /// When the cluster's clock will tell `at`; never while it stands.
    pub fn instant(&self, at: ClusterTime) -> Option<Instant> {
        if self.frozen {
            return None;
        }
        // Rounded up: woken a moment early, the loop would find nothing due and spin.
        let wait = scaled(at.since(self.cluster), 1000, u64::from(self.speed.0)) + Duration::from_micros(1);
        Some(self.wall + wait)
    }

    /// How fast it runs when it runs.
    pub const fn speed(&self) -> Speed {
        self.speed
    }

    /// Whether it stands still.
    pub const fn is_frozen(&self) -> bool {
        self.frozen
    }

    /// Runs at another speed from now on.
    pub fn set_speed(&mut self, speed: Speed) {
        *self = Self { speed, ..self.rebased() };
    }

    /// Stands still, or runs on.
    pub fn freeze(&mut self, frozen: bool) {
        *self = Self { frozen, ..self.rebased() };
    }

    /// Stands still at `at`, where a single step led.
    pub fn stand_at(&mut self, at: ClusterTime) {
        *self = Self { frozen: true, wall: Instant::now(), cluster: at, ..*self };
    }

    fn rebased(&self) -> Self {
        Self { wall: Instant::now(), cluster: self.now(), ..*self }
    }
}

/// `length` times `by`, divided by `over`, in microseconds.
fn scaled(length: Duration, by: u64, over: u64) -> Duration {
    let micros = length.as_micros().saturating_mul(u128::from(by)) / u128::from(over.max(1));
    Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_tenth_of_the_speed_is_a_tenth_of_the_time() {
        let pace = Pace::start(ClusterTime(500), Speed(100));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(pace.now(), ClusterTime(100_500));
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_speed_counts_from_now_on_only() {
        let mut pace = Pace::start(ClusterTime(0), Speed(1000));
        tokio::time::advance(Duration::from_secs(2)).await;
        pace.set_speed(Speed(4000));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(pace.now(), ClusterTime(6_000_000));
    }

    #[tokio::test(start_paused = true)]
    async fn a_frozen_clock_stands_and_goes_on_where_it_stood() {
        let mut pace = Pace::start(ClusterTime(0), Speed(1000));
        tokio::time::advance(Duration::from_secs(1)).await;
        pace.freeze(true);
        tokio::time::advance(Duration::from_secs(50)).await;
        assert_eq!(pace.now(), ClusterTime(1_000_000));
        assert_eq!(pace.instant(ClusterTime(2_000_000)), None);
        pace.freeze(false);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(pace.now(), ClusterTime(2_000_000));
    }

    #[tokio::test(start_paused = true)]
    async fn at_the_instant_of_a_time_the_clock_tells_it() {
        for speed in [50, 137, 1000, 4000] {
            let pace = Pace::start(ClusterTime(11), Speed(speed));
            let at = ClusterTime(1_234_567);
            let instant = pace.instant(at).expect("the clock runs");
            tokio::time::advance(instant - Instant::now()).await;
            assert!(pace.now() >= at, "speed {speed}: {:?}", pace.now());
        }
    }
}
