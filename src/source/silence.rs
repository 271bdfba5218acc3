//! When to stop asking: a cluster that did not answer a few questions in a row will not answer
//! hundreds of them either, and each would be waited for.

use crate::port::PortError;

/// So many questions in a row without an answer are enough to know.
const ENOUGH: u32 = 4;

/// Counts questions that got no answer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Silence {
    in_a_row: u32,
}

impl Silence {
    /// Takes in what came of a question; whether the rest is better not asked.
    pub const fn is_enough_after<T>(&mut self, came: &Result<T, PortError>) -> bool {
        self.in_a_row = match came {
            Err(error) if is_silence(error) => self.in_a_row + 1,
            // Whoever refuses answers.
            _ => 0,
        };
        self.in_a_row >= ENOUGH
    }
}

/// Whether nobody answered, as opposed to somebody who said no.
pub(super) const fn is_silence(error: &PortError) -> bool {
    matches!(error, PortError::Deadline { .. } | PortError::Unreachable { .. } | PortError::NoLeader { .. })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn late() -> Result<(), PortError> {
        let (doing, endpoint) = ("ask lease 1".into(), "http://a:1".into());
        Err(PortError::Deadline { doing, endpoint, after: Duration::from_secs(1) })
    }

    #[test]
    fn a_few_late_answers_in_a_row_are_enough_and_one_answer_between_them_begins_anew() {
        let mut silence = Silence::default();
        let mut enough = |came: Result<(), PortError>| silence.is_enough_after(&came);
        assert!(!(1..ENOUGH).any(|_| enough(late())));
        assert!(!enough(Ok(())));
        assert!(!(1..ENOUGH).any(|_| enough(late())));
        let refused = PortError::Denied { doing: "ask".into(), user: String::new(), why: "permission denied".into() };
        assert!(!enough(Err(refused)), "an answer as well");
        assert_eq!((0..ENOUGH).map(|_| enough(late())).collect::<Vec<_>>(), [false, false, false, true]);
    }
}
