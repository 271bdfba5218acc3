//! What is selected in a list, by what it is and not by where it stands.

use std::ops::Range;

use crate::input::action::Motion;

/// A selection. Until a person picks a row, the first row is the selected one, whatever comes
/// to stand there; after that the selection stays with the picked thing while the list moves
/// around it, and when the thing goes, with the place where it stood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cursor<T> {
    picked: Option<T>,
    /// Where the selected thing stands.
    pub position: Position,
}

/// A place in a list, and which part of the list is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    index: usize,
    /// The first row that is shown.
    top: usize,
}

impl<T> Default for Cursor<T> {
    fn default() -> Self {
        Self { picked: None, position: Position::default() }
    }
}

impl<T> Cursor<T> {
    /// The row that is selected; meaningless while the list is empty.
    pub const fn index(&self) -> usize {
        self.position.index
    }

    /// The rows to show when there is room for `rows` of `len`: the selected one is among them.
    pub fn window(&self, rows: usize, len: usize) -> Range<usize> {
        self.position.window(rows, len)
    }

    /// What a person picked, if anything was picked.
    pub const fn picked(&self) -> Option<&T> {
        self.picked.as_ref()
    }

    /// Notes what stands where the cursor is: the selection stays with it from now on.
    pub fn pin(&mut self, there: Option<T>) {
        self.picked = there;
    }

    /// Finds the picked thing again after the list of `len` things changed. `is` says whether
    /// a row is that thing.
    pub fn follow(&mut self, len: usize, is: impl Fn(usize, &T) -> bool) {
        let index = self.position.index;
        self.position.index = match &self.picked {
            None => 0,
            // Where it was goes first: two things of one name must not attract each other's cursor.
            Some(picked) if index < len && is(index, picked) => index,
            Some(picked) => (0..len).find(|&row| is(row, picked)).unwrap_or(index.min(len.saturating_sub(1))),
        };
    }

    /// Forgets what was picked: the first row is the selected one again.
    pub fn reset(&mut self) {
        *self = Self::default();
    }
}

impl Position {
    /// See [`Cursor::window`].
    pub fn window(self, rows: usize, len: usize) -> Range<usize> {
        if rows == 0 || len == 0 {
            return 0..0;
        }
        let index = self.index.min(len - 1);
        let top = self.top.min(len.saturating_sub(rows)).min(index).max((index + 1).saturating_sub(rows));
        top..(top + rows).min(len)
    }

    /// Moves through a list of `len` things of which `rows` are shown.
    pub fn go(&mut self, motion: Motion, rows: usize, len: usize) {
        self.place(motion.from(self.index, rows), rows, len);
    }

    /// Goes to a row, or to the last when there are not so many.
    pub fn place(&mut self, index: usize, rows: usize, len: usize) {
        self.index = index.min(len.saturating_sub(1));
        self.top = self.window(rows, len).start;
    }

    /// Scrolls by `by` rows; the selection comes along only when it would be out of sight.
    /// Returns whether it did.
    pub fn scroll(&mut self, by: isize, rows: usize, len: usize) -> bool {
        let before = self.index;
        let last_top = len.saturating_sub(rows);
        self.top = self.window(rows, len).start.saturating_add_signed(by).min(last_top);
        let bottom = (self.top + rows.saturating_sub(1)).min(len.saturating_sub(1));
        self.index = self.index.clamp(self.top, bottom.max(self.top));
        self.index != before
    }
}

impl Motion {
    /// Where it leads from a row when `rows` are a page; beyond the end for what goes that far.
    pub fn from(self, row: usize, rows: usize) -> usize {
        // A row of the page before stays in sight.
        let page = rows.saturating_sub(1).max(1);
        match self {
            Self::Up => row.saturating_sub(1),
            Self::Down => row.saturating_add(1),
            Self::PageUp => row.saturating_sub(page),
            Self::PageDown => row.saturating_add(page),
            Self::First => 0,
            Self::Last => usize::MAX,
        }
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
        cursor.position.go(motion, rows, list.len());
        cursor.pin(list.get(cursor.index()).copied());
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
        let mut position = Position::default();
        position.place(2, 4, 10);
        let scrolled = |position: &mut Position, by| {
            let moved = position.scroll(by, 4, 10);
            (position.window(4, 10), position.index, moved)
        };
        assert_eq!(scrolled(&mut position, 1), (1..5, 2, false));
        assert_eq!(scrolled(&mut position, 3), (4..8, 4, true));
        assert_eq!(scrolled(&mut position, 100), (6..10, 6, true));
        assert_eq!(scrolled(&mut position, -100), (0..4, 3, true));
        position.scroll(1, 4, 0);
        assert_eq!(position.index, 0, "an empty list");
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
