//! The keymap: the one table that dispatches keys, and from which the footer, the help, the
//! popup after a first key and `docs/keys.md` are made.
//!
//! A row says in which context which keys do what. The model says which contexts are open,
//! the innermost first; the first row that has the chord wins.

mod document;
mod table;

use super::{Action, Chord};

pub use document::document;
pub use table::BINDINGS;

/// Where a row of the table applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Context {
    /// Always.
    Anywhere,
    /// On every screen, while nothing is typed and nothing lies on top.
    Browse,
    /// Wherever rows can be gone through: on every screen and in the help.
    Moving,
    /// On the screen of all locks.
    Locks,
    /// On the screen of one lock.
    Lock,
    /// On the screen of all leases.
    Leases,
    /// On the screen of the members.
    Members,
    /// On the Raft screen of an embedded cluster.
    Raft,
    /// On the screen of the simulated clients, where there are any.
    Playground,
    /// On every screen, on an embedded cluster.
    Embedded,
    /// On every screen of a replay.
    Replay,
    /// On the screen of the log.
    Log,
    /// On the screen of who waits for whom.
    Waits,
    /// While a line is typed.
    Typing,
    /// While a command is typed.
    Command,
    /// While the help is open.
    Help,
    /// After the key that copies, which asks what to copy.
    Copy,
    /// In the dialog before a write.
    Dialog,
    /// In such a dialog, while nothing was typed to confirm it.
    DialogEmpty,
    /// In such a dialog, where nothing can be typed: the cluster is asked, it is carried out, or
    /// it is over.
    DialogRead,
}

impl Context {
    /// All contexts, in the order of the document.
    pub const ALL: [Self; 20] = [
        Self::Browse,
        Self::Moving,
        Self::Locks,
        Self::Lock,
        Self::Leases,
        Self::Members,
        Self::Raft,
        Self::Playground,
        Self::Embedded,
        Self::Replay,
        Self::Log,
        Self::Waits,
        Self::Dialog,
        Self::DialogEmpty,
        Self::DialogRead,
        Self::Copy,
        Self::Typing,
        Self::Command,
        Self::Help,
        Self::Anywhere,
    ];

    /// Whether it is open on an embedded cluster only.
    pub const fn needs_embedded(self) -> bool {
        matches!(self, Self::Raft | Self::Embedded)
    }

    /// Whether it is open only where there are simulated clients.
    pub const fn needs_play(self) -> bool {
        matches!(self, Self::Playground)
    }

    /// Whether it is open only in a replay.
    pub const fn needs_replay(self) -> bool {
        matches!(self, Self::Replay)
    }

    /// Its heading in the help and in the document.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Anywhere => "Anywhere",
            Self::Browse => "On every screen",
            Self::Moving => "Moving",
            Self::Locks => "Locks",
            Self::Lock => "Lock",
            Self::Leases => "Leases",
            Self::Members => "Members",
            Self::Raft => "Raft, on an embedded cluster",
            Self::Playground => "Playground, where clients play",
            Self::Embedded => "On every screen of an embedded cluster",
            Self::Replay => "On every screen of a replay",
            Self::Log => "Log",
            Self::Waits => "Waits",
            Self::Typing => "Typing a filter or a command",
            Self::Command => "Typing a command",
            Self::Help => "Help",
            Self::Copy => "After y",
            Self::Dialog => "Dialog before a write",
            Self::DialogEmpty => "Dialog, before anything is typed",
            Self::DialogRead => "Dialog, where nothing can be typed",
        }
    }
}

// The keys of one that is left out are in no help and no document.
const _: () = assert!(Context::ALL.len() == Context::DialogRead as usize + 1, "a context is missing in Context::ALL");

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Where it applies.
    pub context: Context,
    /// The keys, each of which does it.
    pub keys: &'static [Chord],
    /// What they do.
    pub action: Action,
    /// What they do, as a sentence without its full stop, for the help and the document.
    pub help: &'static str,
    /// What the footer and the popup say, if they say anything.
    pub hint: Option<Hint>,
}

/// A row's place in the footer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hint {
    /// Which hints stay when there is room for some only: the lowest.
    pub priority: u8,
    /// The keys to show, without space between: `↑↓` stands for two rows of the table.
    pub keys: &'static [Chord],
    /// A word or two.
    pub text: &'static str,
}

impl Hint {
    /// The keys as the footer shows them, such as `↑↓` or, in ASCII, `Up/Down`.
    pub fn label(&self, ascii: bool) -> String {
        let symbols: Vec<_> = self.keys.iter().map(|key| key.symbol(ascii)).collect();
        symbols.join(if ascii { "/" } else { "" })
    }
}

/// What a chord does, given the open contexts, the innermost first.
pub fn action(contexts: &[Context], chord: Chord) -> Option<Action> {
    bound(contexts, chord).map(|row| row.action)
}

fn bound(contexts: &[Context], chord: Chord) -> Option<&'static Binding> {
    contexts.iter().find_map(|&context| of(context).find(|row| row.keys.contains(&chord)))
}

/// The rows of one context, in the order of the table.
pub fn of(context: Context) -> impl Iterator<Item = &'static Binding> {
    BINDINGS.iter().filter(move |row| row.context == context)
}

/// The rows that have a hint in these contexts, the most important first. A row whose key
/// means something else further inside has none.
pub fn hints(contexts: &[Context]) -> Vec<(&'static Binding, Hint)> {
    let own = |row: &Binding, hint: Hint| {
        let key = hint.keys.iter().find(|key| row.keys.contains(key));
        // By what they say: a constant table has no single place in memory to compare.
        key.and_then(|&key| bound(contexts, key)).is_some_and(|bound| bound == row)
    };
    let rows = contexts.iter().flat_map(|&context| of(context));
    let mut rows: Vec<_> =
        rows.filter_map(|row| row.hint.filter(|&hint| own(row, hint)).map(|hint| (row, hint))).collect();
    rows.sort_by_key(|(_, hint)| hint.priority);
    rows
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::input::{Code, Screen};

    #[test]
    fn no_context_gives_a_chord_two_meanings() {
        for context in Context::ALL {
            let mut seen = HashSet::new();
            for chord in of(context).flat_map(|row| row.keys) {
                assert!(seen.insert(*chord), "{chord} is bound twice in {context:?}");
            }
        }
    }

    #[test]
    fn every_row_has_keys_and_a_sentence() {
        for row in BINDINGS {
            assert!(!row.keys.is_empty(), "{row:?}");
            assert!(row.help.len() > 3 && !row.help.ends_with('.'), "{row:?}");
            if let Some(hint) = row.hint {
                assert!(
                    hint.keys.iter().any(|key| row.keys.contains(key)),
                    "the hint shows another row's keys: {row:?}"
                );
            }
        }
    }

    #[test]
    fn the_inner_context_wins() {
        let enter = Chord::plain(Code::Enter);
        let browse = [Context::Locks, Context::Browse, Context::Moving, Context::Anywhere];
        assert_eq!(action(&browse, enter), Some(Action::Open));
        assert_eq!(action(&browse, Chord::char('6')), Some(Action::Show(Screen::Log)));
        assert_eq!(
            action(&[Context::Typing, Context::Anywhere], Chord::char('q')),
            None,
            "while a line is typed, letters are letters"
        );
        assert_eq!(action(&[Context::Typing, Context::Anywhere], Chord::ctrl('c')), Some(Action::Quit));
    }

    #[test]
    fn hints_come_by_priority() {
        let rows = hints(&[Context::Locks, Context::Browse, Context::Moving, Context::Anywhere]);
        assert!(rows.windows(2).all(|pair| pair[0].1.priority <= pair[1].1.priority));
        let texts: Vec<_> = rows.iter().map(|(_, hint)| hint.text).collect();
        assert!(texts.contains(&"help") && texts.contains(&"quit"), "{texts:?}");
    }

    #[test]
    fn a_key_that_means_something_else_further_inside_has_no_hint() {
        let contexts = [Context::Raft, Context::Embedded, Context::Browse, Context::Moving, Context::Anywhere];
        let texts: Vec<_> = hints(&contexts).iter().map(|(_, hint)| hint.text).collect();
        assert!(texts.contains(&"move leader") && texts.contains(&"speed"), "{texts:?}");
        assert!(!texts.contains(&"mouse") && !texts.contains(&"refresh") && !texts.contains(&"pane"), "{texts:?}");
    }

    #[test]
    fn a_hint_of_two_rows_shows_both_keys() {
        const HINT: Hint =
            Hint { priority: 0, keys: &[Chord::plain(Code::Up), Chord::plain(Code::Down)], text: "move" };
        assert_eq!(HINT.label(false), "↑↓");
        assert_eq!(HINT.label(true), "Up/Down");
    }
}
