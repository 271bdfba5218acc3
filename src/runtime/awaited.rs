//! Answers about leases that are on their way: a frame that only counts time down waits for them, so
//! that one frame shows both. Otherwise each second would take two.

use std::time::Duration;

use tokio::time::Instant;

/// How long a frame waits at most: no person sees it.
const PATIENCE: Duration = Duration::from_millis(50);

/// The burst of questions that is under way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Awaited {
    asked: Option<Instant>,
}

impl Awaited {
    /// Leases are asked now.
    pub const fn ask(&mut self, now: Instant) {
        self.asked = Some(now);
    }

    /// A burst is over.
    pub const fn answered(&mut self) {
        self.asked = None;
    }

    /// When a frame that is due then is better drawn.
    pub fn defer(self, frame: Instant) -> Instant {
        self.asked.map_or(frame, |asked| frame.max(asked + PATIENCE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_frame_waits_for_answers_that_are_under_way_but_not_for_long() {
        let start = Instant::now();
        let due = start + Duration::from_millis(1);
        let mut awaited = Awaited::default();
        assert_eq!(awaited.defer(due), due);
        awaited.ask(start);
        assert_eq!(awaited.defer(due), start + PATIENCE);
        let later = start + 2 * PATIENCE;
        assert_eq!(awaited.defer(later), later);
        awaited.answered();
        assert_eq!(awaited.defer(due), due);
    }
}
