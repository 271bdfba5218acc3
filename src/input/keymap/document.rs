//! The keymap as `docs/keys.md`.

use std::fmt::Write as _;

use super::{BINDINGS, Context};
use crate::domain::play::order;
use crate::domain::raft::fault::WORDS;
use crate::input::command::COMMANDS;

/// The whole of `docs/keys.md`: every key and every command, made from their tables.
pub fn document() -> String {
    let mut text = String::from(
        "# Keys and commands\n\n\
         Made from the keymap by `lockscope keys > docs/keys.md`; a test keeps it so.\n",
    );
    for context in Context::ALL {
        let rows: Vec<_> = BINDINGS.iter().filter(|row| row.context == context).collect();
        if rows.is_empty() {
            continue;
        }
        let lines = rows.iter().map(|row| {
            let keys: Vec<_> = row.keys.iter().map(|key| format!("`{key}`")).collect();
            (keys.join(" "), row.help)
        });
        section(&mut text, context.title(), "key", lines);
    }
    let line = |names: &[&str], arguments: &str| {
        let names: Vec<_> = names.iter().map(|name| format!("`:{name}`")).collect();
        let arguments = match arguments {
            "" => String::new(),
            // A bar inside a cell would end it.
            some => format!(" `{}`", some.replace('|', "\\|")),
        };
        names.join(" ") + &arguments
    };
    let own = COMMANDS.iter().map(|entry| (line(entry.names, entry.arguments), entry.help));
    section(&mut text, "Commands", "command", own);
    let faults = WORDS.iter().map(|word| (line(&[word.name], word.arguments), word.help));
    section(&mut text, "Commands for an embedded cluster", "command", faults);
    let orders = order::WORDS.iter().map(|word| (line(&[word.name], word.arguments), word.help));
    section(&mut text, "Commands for clients that play", "command", orders);
    text.push_str(
        "\n## Mouse\n\n\
         A click selects a row, and a second one on it opens it. Tabs, column headers and the hints of the\n\
         last line do what their keys do. The wheel scrolls what lies under it. `m` leaves the mouse to the\n\
         terminal, for selecting text; most terminals also do that while Shift is held.\n",
    );
    text
}

fn section<'a>(text: &mut String, title: &str, left: &str, lines: impl Iterator<Item = (String, &'a str)>) {
    // Writing to a string cannot fail.
    let _ = write!(text, "\n## {title}\n\n| {left} | does |\n|---|---|\n");
    for (keys, help) in lines {
        let _ = writeln!(text, "| {keys} | {help} |");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_keys_are_the_keymap() {
        let documented = include_str!("../../../docs/keys.md");
        assert_eq!(documented, document(), "run `lockscope keys > docs/keys.md`");
    }

    #[test]
    fn every_key_and_every_command_is_in_the_document() {
        let text = document();
        for row in BINDINGS {
            assert!(text.contains(&format!("| {} |", row.help)), "{row:?}");
            for key in row.keys {
                assert!(text.contains(&format!("`{key}`")), "{key}");
            }
        }
        for entry in COMMANDS {
            assert!(text.contains(&format!("`:{}`", entry.names[0])), "{entry:?}");
        }
        for word in order::WORDS {
            assert!(text.contains(&format!("`:{}`", word.name)) && text.contains(word.help), "{word:?}");
        }
        for word in WORDS {
            assert!(text.contains(&format!("`:{}`", word.name)) && text.contains(word.help), "{word:?}");
        }
    }
}
