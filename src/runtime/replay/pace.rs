//! The clock of a replay: the recording's time, as fast as somebody wants it.

use std::time::Duration;

use tokio::time::Instant;

use crate::domain::{Millis, Timestamp};
use crate::model::ui::ReplaySpeed;

/// A clock that runs or stands.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// The time it was set to.
    base: Timestamp,
    since: Instant,
    speed: ReplaySpeed,
    playing: bool,
}

impl Pace {
    /// A clock that stands at this time.
    pub fn new(base: Timestamp, speed: ReplaySpeed) -> Self {
        Self { base, since: Instant::now(), speed, playing: false }
    }

    /// The time it tells. As fast as it goes there is no time but that of what was taken in.
    pub fn now(&self) -> Timestamp {
        match self.speed.thousandths().filter(|_| self.playing) {
            None => self.base,
            Some(speed) => {
                let elapsed = self.since.elapsed().as_millis() * u128::from(speed) / 1_000;
                self.base + Millis(i64::try_from(elapsed).unwrap_or(i64::MAX))
            }
        }
    }

    /// When it will tell this time; `None` while it does not run.
    pub fn instant(&self, at: Timestamp) -> Option<Instant> {
        if !self.playing {
            return None;
        }
        let Some(speed) = self.speed.thousandths() else { return Some(Instant::now()) };
        let wait = u128::try_from((at - self.now()).0).unwrap_or(0) * 1_000 / u128::from(speed);
        // What lies years ahead is looked at again in an hour.
        let wait = Duration::from_millis(u64::try_from(wait).unwrap_or(u64::MAX)).min(Duration::from_hours(1));
        Some(Instant::now() + wait)
    }

    /// Sets it; it runs on, or stands, as it did.
    pub fn set(&mut self, at: Timestamp) {
        (self.base, self.since) = (at, Instant::now());
    }

    /// Lets it run or stand.
    pub fn play(&mut self, playing: bool) {
        self.set(self.now());
        self.playing = playing;
    }

    /// Whether it runs.
    pub const fn is_playing(&self) -> bool {
        self.playing
    }

    /// Changes how fast it runs.
    pub fn run_at(&mut self, speed: ReplaySpeed) {
        self.set(self.now());
        self.speed = speed;
    }

    /// How fast it runs.
    pub const fn speed(&self) -> ReplaySpeed {
        self.speed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speed(name: &str) -> ReplaySpeed {
        ReplaySpeed::named(name).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn it_runs_as_fast_as_it_is_told_and_stands_when_it_is_stopped() {
        let mut pace = Pace::new(Timestamp(1_000), speed("1"));
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!((pace.now(), pace.instant(Timestamp(9_000))), (Timestamp(1_000), None));
        pace.play(true);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(pace.now(), Timestamp(2_000));
        pace.run_at(speed("4"));
        assert_eq!(pace.instant(Timestamp(10_000)), Some(Instant::now() + Duration::from_secs(2)));
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(pace.now(), Timestamp(10_000));
        pace.run_at(speed("0.25"));
        tokio::time::advance(Duration::from_secs(4)).await;
        assert_eq!(pace.now(), Timestamp(11_000));
        assert_eq!(pace.instant(Timestamp(5)), Some(Instant::now()), "what is past is now");
        pace.play(false);
        tokio::time::advance(Duration::from_secs(4)).await;
        assert_eq!(pace.now(), Timestamp(11_000));
    }

    #[tokio::test(start_paused = true)]
    async fn as_fast_as_it_goes_only_what_is_taken_in_moves_it() {
        let mut pace = Pace::new(Timestamp(0), speed("max"));
        pace.play(true);
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(pace.now(), Timestamp(0));
        assert_eq!(pace.instant(Timestamp(i64::MAX)), Some(Instant::now()));
        pace.set(Timestamp(70));
        assert_eq!(pace.now(), Timestamp(70));
    }
}
