//! The only place that reads clocks.
//!
//! Stamps are wall-clock times, for people and logs want those, and they never run
//! backwards, for the model measures lengths with them: the wall clock is read once and
//! carried on by the monotonic one. When the wall clock is ahead of that, because the machine
//! slept or the clock was set, the stamps jump ahead with it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

use crate::domain::{Millis, Timestamp};

/// How far ahead the wall clock has to be to be followed: more than it is ever slewed by
/// between two looks.
const JUMP_MS: i64 = 1_000;

/// A clock; its clones tell the same time.
#[derive(Clone, Debug)]
pub struct Clock {
    started: Instant,
    /// The stamp of `started`; grows when the wall clock jumps ahead.
    base_ms: Arc<AtomicI64>,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self { started: Instant::now(), base_ms: Arc::new(AtomicI64::new(wall_ms())) }
    }

    /// The time.
    pub fn now(&self) -> Timestamp {
        self.read(wall_ms())
    }

    /// The moment at which [`Clock::now`] will tell `at`; this very moment when that is past.
    pub fn instant(&self, at: Timestamp) -> Instant {
        let wait = (at - self.now()).0;
        Instant::now() + Duration::from_millis(u64::try_from(wait).unwrap_or(0))
    }

    fn read(&self, wall_ms: i64) -> Timestamp {
        let elapsed = Millis::from(self.started.elapsed()).0;
        let base = self.base_ms.load(Ordering::Relaxed);
        let told = base.saturating_add(elapsed);
        let ahead = wall_ms.saturating_sub(told);
        if ahead <= JUMP_MS {
            return Timestamp(told);
        }
        // Whoever raises it first wins; nobody lowers it.
        let base = self.base_ms.fetch_max(base.saturating_add(ahead), Ordering::Relaxed).max(base + ahead);
        Timestamp(base.saturating_add(elapsed))
    }
}

/// A seed for a run that nobody chose one for: another one each time.
pub fn any_seed() -> u64 {
    // Small enough to be typed again.
    u64::try_from(wall_ms()).unwrap_or(0) % 1_000_000
}

fn wall_ms() -> i64 {
    #[expect(clippy::disallowed_methods, reason = "this is the place that reads clocks")]
    let now = SystemTime::now();
    // A clock set before 1970 counts as 1970.
    now.duration_since(UNIX_EPOCH).map_or(0, |since| Millis::from(since).0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock_at(ms: i64) -> Clock {
        Clock { started: Instant::now(), base_ms: Arc::new(AtomicI64::new(ms)) }
    }

    #[tokio::test(start_paused = true)]
    async fn stamps_follow_the_monotonic_clock() {
        let clock = clock_at(1_000_000);
        assert_eq!(clock.read(1_000_000), Timestamp(1_000_000));
        tokio::time::advance(Duration::from_millis(1_500)).await;
        assert_eq!(clock.read(1_001_500), Timestamp(1_001_500));
        assert_eq!(clock.read(1_001_900), Timestamp(1_001_500), "a little ahead is the slewing of clocks");
    }

    #[tokio::test(start_paused = true)]
    async fn a_wall_clock_that_goes_back_does_not_take_the_stamps_along() {
        let clock = clock_at(1_000_000);
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(clock.read(3), Timestamp(1_005_000));
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_sleep_the_stamps_jump_ahead_for_every_clone() {
        let clock = clock_at(1_000_000);
        let other = clock.clone();
        assert_eq!(clock.read(4_600_000), Timestamp(4_600_000));
        tokio::time::advance(Duration::from_millis(10)).await;
        assert_eq!(other.read(4_600_010), Timestamp(4_600_010));
        assert_eq!(other.read(1_000_010), Timestamp(4_600_010), "and stay there");
    }

    #[tokio::test(start_paused = true)]
    async fn a_past_deadline_is_now() {
        let clock = Clock::start();
        let now = clock.now();
        assert_eq!(clock.instant(now - crate::domain::Millis(5_000)), Instant::now());
        let ahead = clock.instant(now + crate::domain::Millis(250)) - Instant::now();
        assert!((240..=250).contains(&ahead.as_millis()), "{ahead:?}");
    }
}
