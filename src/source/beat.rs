//! When that is done which is done from time to time: where it does not matter to the second, at the
//! beats of one clock. Each waking costs more than what is done then, so all of it is done in one.

use std::time::Duration;

use tokio::time::Instant;

/// The time from one beat to the next.
const BEAT: Duration = Duration::from_secs(2);

/// The clock; its copies beat together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beat {
    began: Instant,
}

impl Beat {
    /// A clock whose first beat is now.
    pub fn start() -> Self {
        Self { began: Instant::now() }
    }

    /// The beat next to this moment, before it or behind it; never the one it began with.
    pub fn near(self, at: Instant) -> Instant {
        self.next(at.checked_sub(BEAT / 2).unwrap_or(at), BEAT)
    }

    /// About so many beats after this moment, at every `nth` beat only: what is done so seldom falls
    /// together too.
    pub fn after_nth(self, at: Instant, nth: u32) -> Instant {
        let every = BEAT * nth.max(1);
        self.next(at + every / 2, every)
    }

    /// The first beat behind this moment, of a clock that beats once in `every`, which the whole beats
    /// of this one fall together with if they can.
    pub fn after(self, at: Instant, every: Duration) -> Instant {
        self.next(at, every.clamp(Duration::from_millis(1), BEAT))
    }

    fn next(self, at: Instant, every: Duration) -> Instant {
        let passed = at.saturating_duration_since(self.began).as_nanos();
        let beats = u32::try_from(passed / every.as_nanos() + 1).unwrap_or(u32::MAX);
        self.began + every * beats
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_is_done_every_so_often_falls_together() {
        let beat = Beat::start();
        let at = |millis| beat.began + Duration::from_millis(millis);
        for (wished, told) in [(2_001, 2_000), (1_999, 2_000), (6_900, 6_000), (7_001, 8_000), (400, 2_000)] {
            assert_eq!(beat.near(at(wished)), at(told), "{wished}");
        }
        for (since, told) in [(0, 4_000), (1_999, 4_000), (2_000, 8_000), (5_999, 8_000)] {
            assert_eq!(beat.after_nth(at(since), 2), at(told), "{since}");
        }
        assert_eq!(beat.after(at(2_251), BEAT), at(4_000));
        assert_eq!(beat.after(at(4_000), BEAT), at(6_000), "this one is there already");
        assert_eq!(beat.after(at(700), Duration::from_millis(500)), at(1_000), "a quicker one");
        assert_eq!(beat.after(at(700), Duration::from_mins(1)), at(2_000), "none is slower");
    }
}
