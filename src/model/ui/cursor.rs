//! What is selected in a list, by what it is and not by where it stands.

use std::ops::Range;

use crate::input::action::Motion;

/// A selection. Until a person picks a row, the first row is the selected one, whatever comes
/// to stand there; after that the selection stays with the picked thing while the list moves
/// around it, and when the thing goes, with the place where it stood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor<T> {
    picked: Option<T>,
    index: usize,
    /// The first row that is shown.
    top: usize,
}

impl<T> Default for Cursor<T> {
    fn default() -> Self {
        Self { picked: None, index: 0, top: 0 }
    }
}

impl<T: Clone> Cursor<T> {
    /// The row that is selected; meaningless while the list is empty.
    pub const fn index(&self) -> usize {
        self.index
    }

    /// What a person picked, if anything was picked.
    pub const fn picked(&self) -> Option<&T> {
        self.picked.as_ref()
    }

    /// The rows to show when there is room for `rows` of `len`: the selected one is among them.
    pub fn window(&self, rows: usize, len: usize) -> Range<usize> {
        if rows == 0 || len == 0 {
            return 0..0;
        }
        let index = self.index.min(len - 1);
        let top = self.top.min(len.saturating_sub(rows)).min(index).max((index + 1).saturating_sub(rows));
        top..(top + rows).min(len)
    }

    /// Moves through a list of `len` things of which `rows` are shown.
    pub fn go(&mut self, motion: Motion, rows: usize, len: usize, at: impl Fn(usize) -> Option<T>) {
        let page = rows.saturating_sub(1).max(1);
        let index = match motion {
            Motion::Up => self.index.saturating_sub(1),
            Motion::Down => self.index + 1,
            Motion::PageUp => self.index.saturating_sub(page),
            Motion::PageDown => self.index + page,
            Motion::First => 0,
            Motion::Last => usize::MAX,
        };
        self.pick(index.min(len.saturating_sub(1)), rows, len, at);
    }

    /// Picks the thing at a row.
    pub fn pick(&mut self, index: usize, rows: usize, len: usize, at: impl Fn(usize) -> Option<T>) {
        self.index = index;
        self.picked = at(index);
        self.top = self.window(rows, len).start;
    }

    /// Scrolls by `by` rows; the selection comes along only when it would be out of sight.
    pub fn scroll(&mut self, by: isize, rows: usize, len: usize, at: impl Fn(usize) -> Option<T>) {
        let last_top = len.saturating_sub(rows);
        let top = self.window(rows, len).start.saturating_add_signed(by).min(last_top);
        let index = self.index.clamp(top, (top + rows.max(1) - 1).min(len.saturating_sub(1)).max(top));
        self.top = top;
        if index != self.index {
            self.index = index;
            self.picked = at(index);
        }
    }

    /// Finds the picked thing again after the list of `len` things changed. `is` says whether
    /// a row is that thing.
    pub fn follow(&mut self, len: usize, is: impl Fn(usize, &T) -> bool) {
        let found = self.picked.as_ref().and_then(|picked| {
            // Where it was goes first: two things of one name must not attract each other's cursor.
            if self.index < len && is(self.index, picked) {
                return Some(self.index);
            }
            (0..len).find(|&row| is(row, picked))
        });
        self.index = match (found, &self.picked) {
            (Some(row), _) => row,
            (None, Some(_)) => self.index.min(len.saturating_sub(1)),
            (None, None) => 0,
        };
    }

    /// Forgets what was picked: the first row is the selected one again.
    pub fn reset(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &str) -> Vec<char> {
        names.chars().collect()
    }

    fn go(cursor: &mut Cursor<char>, motion: Motion, rows: usize, names: &str) {
        let list = list(names);
        cursor.go(motion, rows, list.len(), |row| list.get(row).copied());
    }

    fn follow(cursor: &mut Cursor<char>, names: &str) {
        let list = list(names);
        cursor.follow(list.len(), |row, &name| list[row] == name);
    }

    #[test]
    fn the_first_row_is_selected_until_one_is_picked() {
        let mut cursor = Cursor::default();
        follow(&mut cursor, "abc");
        follow(&mut cursor, "xabc");
        assert_eq!((cursor.index(), cursor.picked()), (0, None));
    }

    #[test]
    fn the_selection_stays_with_the_thing() {
        let mut cursor = Cursor::default();
        go(&mut cursor, Motion::Down, 5, "abc");
        assert_eq!(cursor.picked(), Some(&'b'));
        follow(&mut cursor, "xyabc");
        assert_eq!(cursor.index(), 3);
        follow(&mut cursor, "b");
        assert_eq!(cursor.index(), 0);
    }

    #[test]
    fn when_the_thing_goes_its_place_is_kept_and_a_return_finds_it() {
        let mut cursor = Cursor::default();
        go(&mut cursor, Motion::Last, 5, "abcd");
        follow(&mut cursor, "abc");
        assert_eq!(cursor.index(), 2);
        follow(&mut cursor, "");
        assert_eq!(cursor.index(), 0);
        follow(&mut cursor, "dabc");
        assert_eq!((cursor.index(), cursor.picked()), (0, Some(&'d')));
    }

    #[test]
    fn of_two_things_of_one_name_the_one_under_the_cursor_stays_selected() {
        let mut cursor = Cursor::default();
        go(&mut cursor, Motion::Down, 5, "aab");
        follow(&mut cursor, "aab");
        assert_eq!(cursor.index(), 1);
        go(&mut cursor, Motion::Down, 5, "aab");
        assert_eq!(cursor.picked(), Some(&'b'));
    }

    #[test]
    fn the_window_always_has_the_selected_row_and_no_empty_end() {
        let names = "abcdefghij";
        let mut cursor = Cursor::default();
        assert_eq!(cursor.window(4, 10), 0..4);
        for _ in 0..5 {
            go(&mut cursor, Motion::Down, 4, names);
        }
        assert_eq!(cursor.window(4, 10), 2..6);
        go(&mut cursor, Motion::Up, 4, names);
        assert_eq!(cursor.window(4, 10), 2..6, "the window moves no more than it must");
        assert_eq!(cursor.window(2, 10), 3..5, "a smaller terminal");
        assert_eq!(cursor.window(40, 10), 0..10, "a larger one");
        assert_eq!(cursor.window(4, 3), 0..3, "a shorter list");
        assert_eq!(cursor.window(0, 10), 0..0);
        go(&mut cursor, Motion::Last, 4, names);
        assert_eq!(cursor.window(4, 10), 6..10);
        go(&mut cursor, Motion::PageUp, 4, names);
        assert_eq!((cursor.index(), cursor.window(4, 10)), (6, 6..10));
        go(&mut cursor, Motion::PageDown, 4, names);
        go(&mut cursor, Motion::PageDown, 4, names);
        assert_eq!(cursor.index(), 9);
    }

    #[test]
    fn the_wheel_moves_the_window_and_takes_the_selection_along_only_at_its_edge() {
        let all = list("abcdefghij");
        let at = |row: usize| all.get(row).copied();
        let mut cursor = Cursor::default();
        cursor.pick(2, 4, 10, at);
        cursor.scroll(1, 4, 10, at);
        assert_eq!((cursor.window(4, 10), cursor.picked()), (1..5, Some(&'c')));
        cursor.scroll(3, 4, 10, at);
        assert_eq!((cursor.window(4, 10), cursor.picked()), (4..8, Some(&'e')));
        cursor.scroll(100, 4, 10, at);
        assert_eq!((cursor.window(4, 10), cursor.picked()), (6..10, Some(&'g')));
        cursor.scroll(-100, 4, 10, at);
        assert_eq!((cursor.window(4, 10), cursor.picked()), (0..4, Some(&'d')));
        cursor.scroll(1, 4, 0, |_| None);
        assert_eq!(cursor.index(), 0);
    }

    #[test]
    fn moving_in_an_empty_list_picks_nothing() {
        let mut cursor: Cursor<char> = Cursor::default();
        for motion in [Motion::Down, Motion::Last, Motion::PageDown, Motion::Up, Motion::First] {
            go(&mut cursor, motion, 4, "");
            assert_eq!((cursor.index(), cursor.picked()), (0, None));
        }
    }
}
