//! An ordered set that mostly has one thing in it, or few that come in their order: it allocates from
//! the second on, and while it is a row, what comes behind all others or goes from the front costs no
//! search.

use std::collections::vec_deque::{self, VecDeque};
use std::collections::{BTreeSet, btree_set};

/// Up to so many things are moved aside for one in their middle; more are a tree.
const ROW: usize = if cfg!(test) { 16 } else { 1_024 };

/// None, one, a row, or a tree.
#[derive(Clone, Debug, Default)]
pub(super) enum Few<T> {
    #[default]
    None,
    One(T),
    Row(VecDeque<T>),
    Many(BTreeSet<T>),
}

impl<T: Copy + Ord> Few<T> {
    pub fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::One(_) => 1,
            Self::Row(row) => row.len(),
            Self::Many(set) => set.len(),
        }
    }

    pub const fn is_empty(&self) -> bool {
        matches!(self, Self::None)
    }

    pub fn insert(&mut self, thing: T) {
        match self {
            Self::None => *self = Self::One(thing),
            Self::One(only) if *only == thing => {}
            Self::One(only) => *self = Self::Row(VecDeque::from([thing.min(*only), thing.max(*only)])),
            Self::Row(row) => {
                if row.back().is_none_or(|last| *last < thing) {
                    row.push_back(thing);
                } else if let Err(at) = row.binary_search(&thing) {
                    row.insert(at, thing);
                }
                if row.len() > ROW {
                    *self = Self::Many(row.iter().copied().collect());
                }
            }
            Self::Many(set) => {
                set.insert(thing);
            }
        }
    }

    pub fn remove(&mut self, thing: &T) {
        match self {
            Self::One(only) if only == thing => *self = Self::None,
            Self::None | Self::One(_) => {}
            Self::Row(row) => {
                if row.front() == Some(thing) {
                    row.pop_front();
                } else if let Ok(at) = row.binary_search(thing) {
                    row.remove(at);
                }
                if let (1, Some(&only)) = (row.len(), row.front()) {
                    *self = Self::One(only);
                }
            }
            Self::Many(set) => {
                set.remove(thing);
                // Not at once, so that one that comes and goes does not build it anew each time.
                if set.len() <= ROW / 2 {
                    *self = Self::Row(set.iter().copied().collect());
                }
            }
        }
    }

    pub fn first(&self) -> Option<T> {
        match self {
            Self::None => None,
            Self::One(only) => Some(*only),
            Self::Row(row) => row.front().copied(),
            Self::Many(set) => set.first().copied(),
        }
    }

    pub fn last(&self) -> Option<T> {
        match self {
            Self::None => None,
            Self::One(only) => Some(*only),
            Self::Row(row) => row.back().copied(),
            Self::Many(set) => set.last().copied(),
        }
    }

    /// All of them in their order.
    pub fn iter(&self) -> Iter<'_, T> {
        match self {
            Self::None => Iter::One(None),
            Self::One(only) => Iter::One(Some(*only)),
            Self::Row(row) => Iter::Row(row.iter()),
            Self::Many(set) => Iter::Many(set.iter()),
        }
    }
}

/// What [`Few::iter`] gives.
pub(super) enum Iter<'a, T> {
    One(Option<T>),
    Row(vec_deque::Iter<'a, T>),
    Many(btree_set::Iter<'a, T>),
}

impl<T: Copy> Iterator for Iter<'_, T> {
    type Item = T;
    fn next(&mut self) -> Option<T> {
        match self {
            Self::One(only) => only.take(),
            Self::Row(iter) => iter.next().copied(),
            Self::Many(iter) => iter.next().copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn it_shrinks_the_way_it_grew() {
        let mut few = Few::default();
        for thing in [3, 1, 1, 2] {
            few.insert(thing);
        }
        assert_eq!((few.len(), few.first(), few.last()), (3, Some(1), Some(3)));
        assert_eq!(few.iter().collect::<Vec<_>>(), [1, 2, 3]);
        for thing in [2, 9, 1] {
            few.remove(&thing);
        }
        assert!(matches!(few, Few::One(3)));
        few.remove(&3);
        assert!(few.is_empty());
    }

    #[test]
    fn a_long_row_becomes_a_tree_and_a_row_again() {
        let all = 0..i32::try_from(ROW).unwrap() + 10;
        let mut few = Few::default();
        all.clone().for_each(|thing| few.insert(thing));
        assert!(matches!(few, Few::Many(_)) && few.iter().eq(all.clone()));
        all.clone().step_by(2).for_each(|thing| few.remove(&thing));
        all.clone().skip(1).step_by(4).for_each(|thing| few.remove(&thing));
        assert!(matches!(few, Few::Row(_)) && few.iter().eq(all.skip(3).step_by(4)));
    }

    proptest! {
        #[test]
        fn it_is_an_ordered_set(steps in proptest::collection::vec((any::<bool>(), 0..60_u8), 0..200)) {
            let (mut few, mut set) = (Few::default(), BTreeSet::new());
            for (adds, thing) in steps {
                if adds {
                    few.insert(thing);
                    set.insert(thing);
                } else {
                    few.remove(&thing);
                    set.remove(&thing);
                }
                prop_assert_eq!((few.len(), few.is_empty()), (set.len(), set.is_empty()));
                prop_assert_eq!((few.first(), few.last()), (set.first().copied(), set.last().copied()));
                prop_assert!(few.iter().eq(set.iter().copied()));
            }
        }
    }
}
