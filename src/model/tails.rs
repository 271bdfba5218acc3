//! How many of a lease id's last digits tell the known leases apart.
//!
//! Ids of one member differ by a counter in their lowest bits, so a few digits do for a small
//! cluster; thousands of leases share them. The counts follow every lease that comes and goes, for
//! a screen that names a few of them must not look at all.

use std::hash::Hash;

use hashbrown::HashMap;

use crate::domain::LeaseId;

/// The digits that are tried, before the whole id.
const FEW: usize = 4;
const MORE: usize = 8;

/// The ends of the ids of all known leases.
#[derive(Clone, Debug, Default)]
pub(super) struct Tails {
    few: Shared<u16>,
    more: Shared<u32>,
}

impl Tails {
    pub fn add(&mut self, id: LeaseId) {
        let (few, more) = ends(id);
        self.few.add(few);
        self.more.add(more);
    }

    pub fn remove(&mut self, id: LeaseId) {
        let (few, more) = ends(id);
        self.few.remove(few);
        self.more.remove(more);
    }

    /// How many digits no two leases share: 4, 8, or all 16.
    pub const fn digits(&self) -> usize {
        match (self.few.shared, self.more.shared) {
            (0, _) => FEW,
            (_, 0) => MORE,
            _ => 16,
        }
    }
}

/// The last 4 and the last 8 digits of an id as it is printed.
const fn ends(id: LeaseId) -> (u16, u32) {
    let printed = id.0.unsigned_abs();
    #[expect(clippy::cast_possible_truncation, reason = "the lowest bits are what is wanted")]
    (printed as u16, printed as u32)
}

/// How many leases have each end, and how many ends several have.
#[derive(Clone, Debug)]
struct Shared<T> {
    counts: HashMap<T, u32>,
    shared: usize,
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Self { counts: HashMap::new(), shared: 0 }
    }
}

impl<T: Copy + Eq + Hash> Shared<T> {
    fn add(&mut self, end: T) {
        let count = self.counts.entry(end).or_default();
        *count += 1;
        self.shared += usize::from(*count == 2);
    }

    fn remove(&mut self, end: T) {
        let Some(count) = self.counts.get_mut(&end) else { return };
        *count -= 1;
        self.shared -= usize::from(*count == 1);
        if *count == 0 {
            self.counts.remove(&end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_digits_are_named_as_tell_all_leases_apart() {
        let mut tails = Tails::default();
        tails.add(LeaseId(0x694d_8225_4d5f_a305));
        tails.add(LeaseId(0x694d_8225_4d5f_a306));
        assert_eq!(tails.digits(), 4);
        tails.add(LeaseId(0x694d_8225_4d60_a305));
        assert_eq!(tails.digits(), 8);
        tails.add(LeaseId(0x1234_8225_4d60_a305));
        assert_eq!(tails.digits(), 16);
        tails.remove(LeaseId(0x694d_8225_4d60_a305));
        assert_eq!(tails.digits(), 8);
        tails.remove(LeaseId(0x1234_8225_4d60_a305));
        assert_eq!(tails.digits(), 4);
        assert!(tails.more.counts.len() == 2 && tails.few.counts.len() == 2);
    }

    #[test]
    fn ids_below_zero_end_as_they_are_printed() {
        assert_eq!(ends(LeaseId(-0x7fab_12cd_34ef_5601)), (0x5601, 0x34ef_5601));
    }
}
