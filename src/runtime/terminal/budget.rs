//! How many bytes a second the terminal is sent.
//!
//! Between the terminal and a person may be a slow connection, and whatever lies on the way, such as
//! `sshd`, takes bytes much faster than they get on: frames that were taken are not frames that
//! were seen. So those that show motion are kept to a pace that such a connection bears. What comes
//! now and then, as after a key, goes out at once; whoever sent much waits until it is made up for.

use std::time::Duration;

use tokio::time::Instant;

/// Bytes a second in the long run: a megabit.
const RATE: u32 = 128 * 1024;
/// For how long of that may be sent at once: several whole frames of a large terminal.
const AHEAD: Duration = Duration::from_secs(1);

/// What was sent, as the time that it takes at the pace it is kept to.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// When a connection of that pace would have got all of it through.
    through: Instant,
}

impl Budget {
    /// Nothing was sent yet.
    pub const fn new(now: Instant) -> Self {
        Self { through: now }
    }

    /// So many bytes are sent.
    pub fn spend(&mut self, now: Instant, bytes: usize) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        self.through = self.through.max(now) + Duration::from_secs(1) * bytes / RATE;
    }

    /// From when on another frame may be sent.
    pub fn next(&self) -> Option<Instant> {
        self.through.checked_sub(AHEAD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends frames of so many bytes as often as it may, for so many seconds; the bytes.
    fn sent(frame: usize, secs: u64) -> usize {
        let began = Instant::now();
        let mut budget = Budget::new(began);
        let (mut now, mut sent) = (began, 0);
        while now < began + Duration::from_secs(secs) {
            if budget.next().is_none_or(|next| next <= now) {
                budget.spend(now, frame);
                sent += frame;
            }
            now += Duration::from_millis(16);
        }
        sent
    }

    #[tokio::test]
    async fn however_large_frames_are_no_more_is_sent_in_the_long_run() {
        let allowed = |secs: usize| RATE as usize * (secs + 1);
        for frame in [3_000, 20_000, 100_000] {
            let sent = sent(frame, 60);
            assert!(sent <= allowed(60) + frame, "{frame}: {sent}");
            assert!(sent > allowed(59) - frame, "{frame}: what is allowed is used, {sent}");
        }
    }

    #[tokio::test]
    async fn small_frames_are_not_kept_back() {
        assert_eq!(sent(1_000, 60), 60_000_usize.div_ceil(16) * 1_000);
    }

    #[tokio::test]
    async fn some_whole_frames_go_out_at_once() {
        let now = Instant::now();
        let mut budget = Budget::new(now);
        for _ in 0..4 {
            assert!(budget.next().is_none_or(|next| next <= now));
            budget.spend(now, 40_000);
        }
        assert!(budget.next().is_some_and(|next| next > now));
    }
}
