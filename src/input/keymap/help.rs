//! The keymap as the help shows it.

use super::{BINDINGS, Context};
use crate::input::command::COMMANDS;

/// A line of the help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// The heading of a section.
    Title(&'static str),
    /// What some keys, or a command, do.
    Entry {
        /// The keys or the command.
        keys: String,
        /// What they do.
        help: &'static str,
    },
}

/// The lines of the help that have `filter` in them, whatever its case, under their
/// headings; all of them when it is empty. The section of the screen the help was called
/// from comes first.
pub fn help(filter: &str, first: Context) -> Vec<Line> {
    let filter = filter.to_lowercase();
    let fits = |keys: &str, help: &str| {
        // One character is a key that is looked for, not a letter of a sentence.
        if filter.chars().count() == 1 {
            return keys.split(' ').any(|key| key.to_lowercase() == filter);
        }
        keys.to_lowercase().contains(&filter) || help.to_lowercase().contains(&filter)
    };
    let mut lines = Vec::new();
    let mut section = |title, entries: &mut dyn Iterator<Item = (String, &'static str)>| {
        let entries: Vec<_> = entries.filter(|(keys, help)| fits(keys, help)).collect();
        if !entries.is_empty() {
            lines.push(Line::Title(title));
            lines.extend(entries.into_iter().map(|(keys, help)| Line::Entry { keys, help }));
        }
    };
    for context in std::iter::once(first).chain(Context::ALL.into_iter().filter(|&context| context != first)) {
        let rows = BINDINGS.iter().filter(|row| row.context == context);
        section(
            context.title(),
            &mut rows.map(|row| {
                let keys: Vec<_> = row.keys.iter().map(ToString::to_string).collect();
                (keys.join(" "), row.help)
            }),
        );
    }
    section(
        "Commands",
        &mut COMMANDS.iter().map(|entry| {
            let names: Vec<_> = entry.names.iter().map(|name| format!(":{name}")).collect();
            (format!("{} {}", names.join(" "), entry.arguments).trim_end().to_owned(), entry.help)
        }),
    );
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(lines: &[Line]) -> Vec<&str> {
        let entries = lines.iter().filter_map(|line| match line {
            Line::Entry { keys, .. } => Some(keys.as_str()),
            Line::Title(_) => None,
        });
        entries.collect()
    }

    #[test]
    fn the_help_is_the_whole_table_with_the_open_screen_first() {
        let lines = help("", Context::Leases);
        assert_eq!(lines[0], Line::Title("Leases"));
        assert_eq!(keys(&lines).len(), BINDINGS.len() + COMMANDS.len());
    }

    #[test]
    fn the_filter_looks_for_words_and_for_keys() {
        let lines = help("SORT", Context::Locks);
        assert_eq!(keys(&lines), ["s", "S", ":sort wait|name|held|ttl|handovers [asc|desc]"]);
        assert_eq!(keys(&help("?", Context::Locks)), ["?", "Esc ? q"]);
        assert_eq!(keys(&help("ctrl-z", Context::Locks)), ["Ctrl-Z"]);
        assert_eq!(help("no such words", Context::Locks), []);
    }
}
