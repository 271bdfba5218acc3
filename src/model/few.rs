//! A set that mostly has one thing in it: it allocates from the second on.

use std::collections::{BTreeSet, btree_set};

/// None, one, or an ordered set of more.
#[derive(Clone, Debug, Default)]
pub(super) enum Few<T> {
    #[default]
    None,
    One(T),
    Many(BTreeSet<T>),
}

impl<T: Copy + Ord> Few<T> {
    pub fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::One(_) => 1,
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
            Self::One(only) => *self = Self::Many(BTreeSet::from([*only, thing])),
            Self::Many(set) => {
                set.insert(thing);
            }
        }
    }

    pub fn remove(&mut self, thing: &T) {
        match self {
            Self::One(only) if only == thing => *self = Self::None,
            Self::None | Self::One(_) => {}
            Self::Many(set) => {
                set.remove(thing);
                if let (1, Some(only)) = (set.len(), set.first()) {
                    *self = Self::One(*only);
                }
            }
        }
    }

    pub fn first(&self) -> Option<T> {
        match self {
            Self::None => None,
            Self::One(only) => Some(*only),
            Self::Many(set) => set.first().copied(),
        }
    }

    pub fn last(&self) -> Option<T> {
        match self {
            Self::None => None,
            Self::One(only) => Some(*only),
            Self::Many(set) => set.last().copied(),
        }
    }

    /// All of them in their order.
    pub fn iter(&self) -> Iter<'_, T> {
        match self {
            Self::None => Iter::One(None),
            Self::One(only) => Iter::One(Some(*only)),
            Self::Many(set) => Iter::Many(set.iter()),
        }
    }
}

/// What [`Few::iter`] gives.
pub(super) enum Iter<'a, T> {
    One(Option<T>),
    Many(btree_set::Iter<'a, T>),
}

impl<T: Copy> Iterator for Iter<'_, T> {
    type Item = T;
    fn next(&mut self) -> Option<T> {
        match self {
            Self::One(only) => only.take(),
            Self::Many(iter) => iter.next().copied(),
        }
    }
}

#[cfg(test)]
mod tests {
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
}
