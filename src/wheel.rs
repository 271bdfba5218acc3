//! Moments at which a timer costs one waking instead of two.
//!
//! Tokio keeps a timer that is not near in a slot with others (`runtime/time/wheel`): the thread is
//! woken where the slot begins, to sort them out, and again for each of them. Slots are counted in
//! whole milliseconds from when the runtime was built; a timer for the very begin of one is over when
//! its slot is sorted out. What need not be done to the millisecond is done then. Those beyond the next
//! 4,096 ms are in slots of that length first, which is one waking more where that is no beginning too.

use std::sync::OnceLock;
use std::time::Duration;

use tokio::time::Instant;

/// The length of a slot.
pub const SLOT: Duration = Duration::from_millis(64);

static BEGAN: OnceLock<Instant> = OnceLock::new();

/// Notes that the program's runtime is about to be built: within a millisecond, or nothing is gained.
pub fn begin() {
    // Of several runtimes only the first gains by it.
    let _ = BEGAN.set(Instant::now());
}

/// When the first slot began, where that was noted.
pub fn began() -> Option<Instant> {
    BEGAN.get().copied()
}

/// Where a slot begins next, at this moment or behind it. This moment itself while it is nearer than a
/// slot is long, or in a program that noted no begin.
pub fn put_off(at: Instant) -> Instant {
    border(began(), Instant::now(), at)
}

fn border(began: Option<Instant>, now: Instant, at: Instant) -> Instant {
    let Some(began) = began.filter(|_| at.saturating_duration_since(now) >= SLOT) else { return at };
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
        for (wished, told) in [(64, 64), (65, 128), (128, 128), (4_096, 4_096), (86_400_001, 86_400_064)] {
            assert_eq!(border(Some(began), began, at(wished)), at(told), "{wished}");
            assert_eq!(border(None, began, at(wished)), at(wished), "{wished}, and nobody knows the slots");
        }
        assert_eq!(border(Some(began), at(50), at(113)), at(113), "it is near");
        assert_eq!(border(Some(began), at(50), at(114)), at(128));
        assert_eq!(border(Some(began), at(50), at(10)), at(10), "it is past");
    }
}
