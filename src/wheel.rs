//! Moments at which a timer costs one waking instead of two.
//!
//! Tokio keeps a timer that is not near in a slot with others (`runtime/time/wheel`): the thread is
//! woken where the slot begins, to sort them out, and again for each of them. Slots are counted in
//! whole milliseconds from when the runtime was built; a timer for the very begin of one is over when
//! its slot is sorted out. What need not be done to the millisecond is done then.

use std::sync::OnceLock;
use std::time::Duration;

use tokio::time::Instant;

/// The length of a slot; a timer that is nearer is in none.
pub const SLOT: Duration = Duration::from_millis(64);

static BEGAN: OnceLock<Instant> = OnceLock::new();

/// Notes that the program's runtime is about to be built: within a millisecond, or nothing is gained.
pub fn begin() {
    // Of several runtimes only the first counts; the others' timers are as they would be without.
    let _ = BEGAN.set(Instant::now());
}

/// When the first slot began, where that was noted.
pub fn began() -> Option<Instant> {
    BEGAN.get().copied()
}

/// Where a slot begins next, at this moment or behind it. This moment itself while it is nearer than a
/// slot is long, or in a program that noted no begin.
pub fn settle(at: Instant) -> Instant {
    match began() {
        Some(began) if at.saturating_duration_since(Instant::now()) >= SLOT => border(began, at),
        _ => at,
    }
}

fn border(began: Instant, at: Instant) -> Instant {
    let slots = at.saturating_duration_since(began).as_nanos().div_ceil(SLOT.as_nanos());
    u32::try_from(slots).map_or(at, |slots| began + SLOT * slots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_within_a_slot_is_due_where_the_next_begins() {
        let began = Instant::now();
        let at = |millis| began + Duration::from_millis(millis);
        for (wished, told) in [(0, 0), (1, 64), (64, 64), (65, 128), (4_096, 4_096), (86_400_001, 86_400_064)] {
            assert_eq!(border(began, at(wished)), at(told), "{wished}");
        }
    }
}
