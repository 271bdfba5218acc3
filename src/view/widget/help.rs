//! The help: every key of the keymap and every command, those of the open screen first.

use ratatui::layout::Rect;
use ratatui::text;

use super::panel::Panel;
use crate::domain::play::order;
use crate::domain::raft::fault::WORDS;
use crate::input::Pane;
use crate::input::command::COMMANDS;
use crate::input::keymap::{Context, of};
use crate::lang;
use crate::say;
use crate::view::canvas::Canvas;
use crate::view::text::{escape_text, split_at_width, width};
use crate::view::theme::{Role, Theme};

/// The columns of the help, frame included.
const WIDTH: u16 = 80;
/// The most columns of the keys; longer ones stand on a line of their own.
const KEYS: usize = 14;

/// What the help is about.
pub struct Help<'a> {
    /// The context of the screen it was called from, whose section comes first.
    pub first: Context,
    /// Only lines with this in them are shown; all of them when it is empty.
    pub filter: &'a str,
    /// Whether keys and commands for an embedded cluster are shown, right behind the screen's own.
    pub embedded: bool,
    /// Whether keys and commands for simulated clients are shown.
    pub plays: bool,
    /// Whether the keys of a replay are shown, and what can be done to a cluster is not.
    pub replay: bool,
}

/// A line of the help.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Line {
    /// The heading of a section.
    Title(&'static str),
    /// What some keys, or a command, do.
    Entry { keys: String, help: &'static str },
}

/// The lines that have the filter in them, whatever its case, under their headings.
fn lines(help: &Help<'_>) -> Vec<Line> {
    let &Help { first, embedded, plays, replay, .. } = help;
    let filter = help.filter.to_lowercase();
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
    let next = if replay { Context::Replay } else { Context::Embedded };
    let most_wanted = [first].into_iter().chain((first != next).then_some(next));
    let others = Context::ALL.into_iter().filter(|&context| context != first && context != next);
    let is_open = |context: &Context| {
        (embedded || !context.needs_embedded())
            && (plays || !context.needs_play())
            && if replay { *context != Context::Embedded } else { !context.needs_replay() }
    };
    for context in most_wanted.chain(others).filter(is_open) {
        let keys = |row: &crate::input::keymap::Binding| {
            row.keys.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        section(lang::text(context.title()), &mut of(context).map(|row| (keys(row), lang::text(row.help))));
    }
    let command = |names: &[&str], arguments: &str| {
        let names: Vec<_> = names.iter().map(|name| format!(":{name}")).collect();
        format!("{} {arguments}", names.join(" ")).trim_end().to_owned()
    };
    let own = COMMANDS.iter().map(|entry| (command(entry.names, entry.arguments), lang::text(entry.help)));
    section(say!("Commands"), &mut { own });
    let faults = WORDS.iter().map(|word| (command(&[word.name], word.arguments), lang::text(word.help)));
    section(say!("Commands for an embedded cluster"), &mut faults.filter(|_| embedded && !replay));
    let orders = order::WORDS.iter().map(|word| (command(&[word.name], word.arguments), lang::text(word.help)));
    section(say!("Commands for clients that play"), &mut orders.filter(|_| plays && !replay));
    lines
}

impl Help<'_> {
    /// Draws the help over everything in `area`, without the first `top` lines.
    pub fn draw(&self, canvas: &mut Canvas<'_>, area: Rect, top: usize) {
        let wide = if area.width < WIDTH + 8 { area.width } else { WIDTH };
        let rows = wrapped(lines(self), usize::from(wide.saturating_sub(4)), canvas.theme);
        let area = centred(area, wide, u16::try_from(rows.len() + 2).unwrap_or(u16::MAX).max(8));
        canvas.clear(area);
        let title = match self.filter {
            "" => say!("Help").to_owned(),
            filter => say!("Help: /{filter}", filter = escape_text(filter)),
        };
        let panel = Panel::new(canvas.theme.span(title, Role::Title))
            .data(canvas.theme.span(say!("esc closes the help, Ctrl-C quits"), Role::Muted))
            .focused(true);
        let inner = panel.draw(canvas, area);
        canvas.hit_pane(area, Pane::Help, inner.height, rows.len());
        if rows.is_empty() {
            canvas.text(
                inner.x + 1,
                inner.y,
                inner.width.saturating_sub(1),
                say!("Nothing has these words."),
                Role::Muted,
            );
        }
        let top = top.min(rows.len().saturating_sub(usize::from(inner.height)));
        for (y, row) in (inner.top()..inner.bottom()).zip(&rows[top..]) {
            canvas.line(inner.x + 1, y, inner.width.saturating_sub(2), row);
        }
    }
}

/// The lines as rows of so many columns: keys on the left, sentences on the right, wrapped.
fn wrapped<'a>(lines: Vec<Line>, columns: usize, theme: &Theme) -> Vec<text::Line<'a>> {
    let mut rows = Vec::new();
    for line in lines {
        let (mut keys, mut help) = match line {
            Line::Title(title) => {
                rows.push(text::Line::from(theme.span(title, Role::Title)));
                continue;
            }
            Line::Entry { keys, help } => (keys, help),
        };
        if width(&keys) > KEYS {
            rows.push(text::Line::from(theme.span(format!("  {keys}"), Role::Text)));
            keys = String::new();
        }
        let room = columns.saturating_sub(KEYS + 4).max(8);
        loop {
            let (now, later) = split_at_width(help, room);
            rows.push(text::Line::from(vec![
                theme.span(format!("  {keys:<KEYS$}  "), Role::Text),
                theme.span(now, Role::Muted),
            ]));
            if later.is_empty() {
                break;
            }
            (keys, help) = (String::new(), later);
        }
    }
    rows
}

/// An area of at most this size in the middle of another.
fn centred(area: Rect, width: u16, height: u16) -> Rect {
    let width = width.min(area.width);
    let height = height.min(area.height);
    Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Extent;
    use crate::input::keymap::BINDINGS;
    use crate::view::testing::{Screenshot, plain};

    fn drawn(filter: &str, top: usize) -> Screenshot {
        let area = Rect::new(0, 0, 80, 22);
        Screenshot::of(80, 22, &plain(), |canvas| about(filter).draw(canvas, area, top))
    }

    /// The help on an embedded cluster, called from the leases.
    const fn about(filter: &str) -> Help<'_> {
        Help { first: Context::Leases, filter, embedded: true, plays: true, replay: false }
    }

    fn keys_of(help: &Help<'_>) -> Vec<String> {
        let entries = lines(help).into_iter().filter_map(|line| match line {
            Line::Entry { keys, .. } => Some(keys),
            Line::Title(_) => None,
        });
        entries.collect()
    }

    fn keys(filter: &str) -> Vec<String> {
        keys_of(&about(filter))
    }

    #[test]
    fn keys_for_an_embedded_cluster_come_second_where_there_is_one_and_are_left_out_elsewhere() {
        let shot = drawn("", 0);
        let row = |title: &str| shot.position(title).map(|(_, y)| y);
        assert!(row("On every screen of an embedded cluster") < row("│ On every screen  "), "{}", shot.text());
        assert!(shot.text().contains("kill"), "{}", shot.text());
        let without = keys_of(&Help { embedded: false, ..about("") });
        assert!(without.len() + WORDS.len() < keys("").len() && !without.contains(&"K".to_owned()), "{without:?}");
    }

    #[test]
    fn the_help_is_both_tables_with_the_open_screen_first() {
        let shot = drawn("", 0);
        assert!(shot.lines()[1].contains("Leases"), "{}", shot.text());
        let elsewhere = of(Context::Replay).count();
        assert_eq!(keys("").len() + elsewhere, BINDINGS.len() + COMMANDS.len() + WORDS.len() + order::WORDS.len());
        let replay = keys_of(&Help { replay: true, ..about("") });
        assert!(replay.contains(&",".to_owned()) && !replay.contains(&"K".to_owned()), "{replay:?}");
        let without = keys_of(&Help { plays: false, ..about("") });
        assert!(!without.contains(&"Z".to_owned()) && !without.iter().any(|keys| keys.starts_with(":crash")));
        let [(Pane::Help, Extent { rows: 20, len })] = shot.hits.panes() else { panic!("{:?}", shot.hits.panes()) };
        assert!(*len >= lines(&about("")).len());
    }

    #[test]
    fn a_filter_is_shown_and_leaves_what_has_it() {
        let shot = drawn("SORT BY", 0);
        assert!(shot.text().contains("Sort by the next column"), "{}", shot.text());
        assert!(shot.text().contains("Help: /SORT BY"));
        let nothing = drawn("no such \x1b key", 0);
        assert!(nothing.text().contains(say!("Nothing has these words.")), "{}", nothing.text());
        assert!(nothing.text().contains("/no such \\x1b key"), "{}", nothing.text());
    }

    #[test]
    fn one_character_looks_for_a_key() {
        assert_eq!(keys("?"), ["?", "Esc ? q"]);
        assert_eq!(keys("ctrl-z"), ["Ctrl-Z"]);
    }

    #[test]
    fn scrolling_stops_at_the_last_line() {
        let Some(Line::Entry { help, .. }) = lines(&about("")).pop() else { panic!("the last line is an entry") };
        let end = drawn("", 10_000);
        assert!(end.lines()[20].contains(&help[..10]), "{}", end.text());
    }

    #[test]
    fn long_sentences_go_on_below() {
        let long = vec![Line::Entry { keys: "x".into(), help: "one two three four" }];
        let rows: Vec<String> = wrapped(long, 28, &plain()).iter().map(ToString::to_string).collect();
        assert_eq!(rows, ["  x               one two ", "                  three four"]);
    }
}
