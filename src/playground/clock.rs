//! The cluster's clock, as tasks can wait by it: slower than the wall's, faster, or standing.
//!
//! One pair of reins moves it, and all clients read the same: what one of them said before
//! another has the earlier time.

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

/// How the clock runs: what it told at a moment of the wall's clock, and how fast since then;
/// at speed 0 it stands.
#[derive(Clone, Copy, Debug)]
struct Pace {
    told: ClusterTime,
    at: Instant,
    thousandths: u32,
}

/// A clock that tells `now` and runs at this speed, and its reins.
pub fn clock(now: ClusterTime, speed: Speed) -> (Reins, Clock) {
    let (reins, clock) = watch::channel(Pace { told: now, at: Instant::now(), thousandths: speed.0 });
    (Reins(reins), Clock(clock))
}

impl Reins {
    /// The cluster says what its clock tells now, how fast it runs, and whether it stands.
    pub fn follow(&self, told: ClusterTime, speed: Speed, frozen: bool) {
        let thousandths = if frozen { 0 } else { speed.0 };
        self.0.send_replace(Pace { told, at: Instant::now(), thousandths });
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
        self.told + scaled(self.at.elapsed(), u64::from(self.thousandths), 1000)
    }

    /// When the clock will tell `at`; never while it stands.
    fn instant(&self, at: ClusterTime) -> Option<Instant> {
        let thousandths = u64::from(self.thousandths);
        // Rounded up: who is woken a moment too early finds that the time has not come.
        let wait = |()| scaled(at.since(self.told), 1000, thousandths) + Duration::from_millis(1);
        (thousandths > 0).then_some(()).map(wait).and_then(|wait| self.at.checked_add(wait))
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
        let (_reins, clock) = clock(seconds(5), Speed(500));
        let start = Instant::now();
        clock.until(seconds(6)).await;
        let took = start.elapsed();
        assert!(took >= Duration::from_secs(2) && took < Duration::from_millis(2010), "{took:?}");
        assert!(clock.now() >= seconds(6));
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_follows_the_reins() {
        let (reins, clock) = clock(ClusterTime(0), Speed(1000));
        let start = Instant::now();
        let waiting = tokio::spawn({
            let clock = clock.clone();
            async move { clock.until(seconds(10)).await }
        });
        tokio::time::sleep(Duration::from_secs(2)).await;
        reins.follow(clock.now(), Speed(1000), true);
        tokio::time::sleep(Duration::from_secs(100)).await;
        assert!(!waiting.is_finished());
        assert_eq!(clock.now(), seconds(2));
        reins.follow(clock.now(), Speed(4000), false);
        drop(reins);
        waiting.await.unwrap();
        let took = start.elapsed();
        assert!(took >= Duration::from_secs(104) && took < Duration::from_millis(104_010), "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_step_of_a_standing_clock_ends_what_it_reaches() {
        let (reins, clock) = clock(ClusterTime(0), Speed(1000));
        reins.follow(seconds(1), Speed(1000), true);
        let waiting = tokio::spawn({
            let clock = clock.clone();
            async move { clock.until(seconds(2)).await }
        });
        tokio::task::yield_now().await;
        reins.follow(seconds(2), Speed(1000), true);
        waiting.await.unwrap();
    }
}
