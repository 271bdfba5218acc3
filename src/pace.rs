//! An embedded cluster's clock beside the wall's: slower, faster, or standing.
//!
//! One pair of reins moves it, those of the cluster's driver, and all clients read the same: what
//! one of them said before another has the earlier time.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::domain::raft::{ClusterTime, Speed};

/// A clock to read and to wait by. Clones are the same clock.
#[derive(Clone, Debug)]
pub struct Clock(watch::Receiver<Pace>);

/// What moves a clock. When it is dropped, the clock runs on as it did.
#[derive(Debug)]
pub struct Reins(watch::Sender<Pace>);

/// How the clock runs: what it told at a moment of the wall's clock, and how fast since then.
#[derive(Clone, Copy, Debug)]
struct Pace {
    told: ClusterTime,
    at: Instant,
    speed: Speed,
    frozen: bool,
}

impl Reins {
    /// A clock that tells `now` and runs at this speed.
    pub fn start(now: ClusterTime, speed: Speed) -> Self {
        Self(watch::Sender::new(Pace { told: now, at: Instant::now(), speed, frozen: false }))
    }

    /// The clock they move.
    pub fn clock(&self) -> Clock {
        Clock(self.0.subscribe())
    }

    /// The time.
    pub fn now(&self) -> ClusterTime {
        self.0.borrow().now()
    }

    /// When the clock will tell `at`, as it runs now; never while it stands.
    pub fn instant(&self, at: ClusterTime) -> Option<Instant> {
        self.0.borrow().instant(at)
    }

    /// How fast it runs when it runs.
    pub fn speed(&self) -> Speed {
        self.0.borrow().speed
    }

    /// Whether it stands.
    pub fn is_frozen(&self) -> bool {
        self.0.borrow().frozen
    }

    /// Runs at another speed from now on.
    pub fn set_speed(&self, speed: Speed) {
        self.0.send_modify(|pace| *pace = Pace { speed, ..pace.rebased() });
    }

    /// Stands, or runs on.
    pub fn freeze(&self, frozen: bool) {
        self.0.send_modify(|pace| *pace = Pace { frozen, ..pace.rebased() });
    }

    /// Stands at `at`, where a single step led.
    pub fn stand_at(&self, at: ClusterTime) {
        self.0.send_modify(|pace| *pace = Pace { told: at, frozen: true, ..pace.rebased() });
    }
}

impl Clock {
    /// The time.
    pub fn now(&self) -> ClusterTime {
        self.0.borrow().now()
    }

    /// Waits until the clock tells `at`, however its speed changes meanwhile. Cancelling it loses
    /// nothing.
    pub async fn until(&self, at: ClusterTime) {
        let mut paces = self.0.clone();
        loop {
            let pace = *paces.borrow_and_update();
            if pace.now() >= at {
                return;
            }
            let changed = async {
                // Nobody holds the reins any more: it runs on as it does.
                if paces.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            match pace.instant(at) {
                Some(instant) => tokio::select! {
                    () = sleep_until(instant) => {}
                    () = changed => {}
                },
                None => changed.await,
            }
        }
    }
}

impl Pace {
    fn now(&self) -> ClusterTime {
        if self.frozen { self.told } else { self.told + scaled(self.at.elapsed(), u64::from(self.speed.0), 1000) }
    }

    fn instant(&self, at: ClusterTime) -> Option<Instant> {
        if self.frozen {
            return None;
        }
        // Rounded up: who is woken a moment too early finds that the time has not come.
        let wait = scaled(at.since(self.told), 1000, u64::from(self.speed.0)) + Duration::from_micros(1);
        self.at.checked_add(wait)
    }

    fn rebased(&self) -> Self {
        Self { told: self.now(), at: Instant::now(), ..*self }
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

    const fn seconds(seconds: u64) -> ClusterTime {
        ClusterTime(seconds * 1_000_000)
    }

    #[tokio::test(start_paused = true)]
    async fn half_the_speed_takes_twice_as_long() {
        let clock = Reins::start(seconds(5), Speed(500)).clock();
        let start = Instant::now();
        clock.until(seconds(6)).await;
        let took = start.elapsed();
        assert!(took >= Duration::from_secs(2) && took < Duration::from_millis(2010), "{took:?}");
        assert!(clock.now() >= seconds(6));
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_follows_the_reins() {
        let reins = Reins::start(ClusterTime(0), Speed(1000));
        let clock = reins.clock();
        let start = Instant::now();
        let waiting = tokio::spawn({
            let clock = clock.clone();
            async move { clock.until(seconds(10)).await }
        });
        tokio::time::sleep(Duration::from_secs(2)).await;
        reins.freeze(true);
        tokio::time::sleep(Duration::from_secs(100)).await;
        assert!(!waiting.is_finished());
        assert_eq!(clock.now(), seconds(2));
        reins.set_speed(Speed(4000));
        reins.freeze(false);
        drop(reins);
        waiting.await.unwrap();
        let took = start.elapsed();
        assert!(took >= Duration::from_secs(104) && took < Duration::from_millis(104_010), "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_step_of_a_standing_clock_ends_what_it_reaches() {
        let reins = Reins::start(ClusterTime(0), Speed(1000));
        let clock = reins.clock();
        reins.stand_at(seconds(1));
        let waiting = tokio::spawn({
            let clock = clock.clone();
            async move { clock.until(seconds(2)).await }
        });
        tokio::task::yield_now().await;
        reins.stand_at(seconds(2));
        waiting.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_speed_counts_from_now_on_only() {
        let reins = Reins::start(ClusterTime(0), Speed(1000));
        tokio::time::advance(Duration::from_secs(2)).await;
        reins.set_speed(Speed(4000));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(reins.now(), seconds(6));
    }

    #[tokio::test(start_paused = true)]
    async fn at_the_instant_of_a_time_the_clock_tells_it() {
        for speed in [50, 137, 1000, 4000] {
            let reins = Reins::start(ClusterTime(11), Speed(speed));
            let at = ClusterTime(1_234_567);
            tokio::time::advance(reins.instant(at).unwrap() - Instant::now()).await;
            assert!(reins.now() >= at, "speed {speed}: {:?}", reins.now());
        }
    }
}
