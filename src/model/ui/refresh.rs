//! How often leases are asked and what counts down is drawn anew.

use crate::domain::Millis;

/// The choices, the most frequent first. One burst a second is the most an etcd is asked for.
const PERIODS: [Millis; 5] = [Millis(1_000), Millis(2_000), Millis(5_000), Millis(10_000), Millis(30_000)];

/// One of the choices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refresh(usize);

impl Refresh {
    /// The time from one refresh to the next.
    pub const fn period(self) -> Millis {
        PERIODS[self.0]
    }

    /// The next more frequent choice; `None` when this is the most frequent.
    pub fn faster(self) -> Option<Self> {
        self.0.checked_sub(1).map(Self)
    }

    /// The next less frequent choice; `None` when this is the least frequent.
    pub fn slower(self) -> Option<Self> {
        (self.0 + 1 < PERIODS.len()).then_some(Self(self.0 + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choices_end_on_both_sides() {
        let mut refresh = Refresh::default();
        assert_eq!(refresh.faster(), None);
        let mut periods = vec![refresh.period().secs()];
        while let Some(slower) = refresh.slower() {
            assert_eq!(slower.faster(), Some(refresh));
            refresh = slower;
            periods.push(refresh.period().secs());
        }
        assert_eq!(periods, [1, 2, 5, 10, 30]);
    }
}
