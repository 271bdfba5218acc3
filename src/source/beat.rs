//! When that is done which is done from time to time: where it does not matter to the second, at the
//! beats of one clock. Each waking costs more than what is done then, so all of it is done in one.

use std::time::Duration;

use tokio::time::Instant;

use crate::wheel::{self, SLOT};

/// The time from one beat to the next: two seconds, in whole slots.
const BEAT: Duration = Duration::from_millis(2_048);

/// The clock; its copies beat together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beat {
    began: Instant,
}

impl Beat {
    /// A clock that beats where slots begin, or from now on where nobody knows when they do.
    pub fn start() -> Self {
        Self { began: wheel::began().unwrap_or_else(Instant::now) }
    }

    /// The beat next to this moment, before it or behind it.
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
    /// of this one fall together with if they can. What is less than a slot quicker than this one is not.
    pub fn after(self, at: Instant, every: Duration) -> Instant {
        let every = if every + SLOT > BEAT { BEAT } else { every };
        self.next(at, every.max(Duration::from_millis(1)))
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
        for (wished, told) in [(2_049, 2_048), (2_047, 2_048), (7_167, 6_144), (7_169, 8_192), (400, 2_048)] {
            assert_eq!(beat.near(at(wished)), at(told), "{wished}");
        }
        for (since, told) in [(0, 4_096), (2_047, 4_096), (2_048, 8_192), (6_143, 8_192)] {
            assert_eq!(beat.after_nth(at(since), 2), at(told), "{since}");
        }
        assert_eq!(beat.after(at(2_251), Duration::from_secs(2)), at(4_096));
        assert_eq!(beat.after(at(4_096), BEAT), at(6_144), "this one is there already");
        assert_eq!(beat.after(at(700), Duration::from_millis(500)), at(1_000), "a quicker one");
        assert_eq!(beat.after(at(700), Duration::from_mins(1)), at(2_048), "none is slower");
        assert_eq!(BEAT.as_nanos() % SLOT.as_nanos(), 0);
    }
}
