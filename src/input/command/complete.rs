//! What a line could become when its last word is completed.

use super::table::{COMMANDS, Entry, Kind};
use super::{Found, LEADER, Names, find, offered};
use crate::domain::play::{Whom, order};
use crate::domain::raft::fault::Word;
use crate::input::place::Sort;

/// Whole lines the line could become when its last word is completed, in the table's order.
/// `locks` are the names of locks that could follow `lock`.
pub fn complete<'a>(line: &str, names: Names<'_>, locks: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let line = line.trim_start_matches([':', ' ']);
    let Some((name, rest)) = line.split_once(char::is_whitespace) else {
        return offered(names).into_iter().filter(|name| name.starts_with(line)).map(Into::into).collect();
    };
    // A client in its place shows that an order is looked for, which may also be a fault.
    let entry = match find(name, "client-1", names) {
        Ok(Found::Order(word)) => {
            let fault = Word::find(word.name).filter(|_| names.nodes.is_some());
            let of_fault = fault.map(|word| complete_fault(word, rest, names)).unwrap_or_default();
            let entry = COMMANDS.iter().find(|entry| entry.names.contains(&word.name));
            let of_entry = entry.map(|entry| complete_entry(entry, rest, names, locks)).unwrap_or_default();
            return complete_order(word, rest, names).into_iter().chain(of_fault).chain(of_entry).collect();
        }
        Ok(Found::Word(word) | Found::Both(_, word)) => return complete_fault(word, rest, names),
        Ok(Found::Entry(entry)) => entry,
        Err(_) => return Vec::new(),
    };
    complete_entry(entry, rest, names, locks)
}

/// What can follow a command of the table.
fn complete_entry<'a>(
    entry: &Entry,
    rest: &str,
    names: Names<'_>,
    locks: impl IntoIterator<Item = &'a str>,
) -> Vec<String> {
    let themes = names.themes;
    let name = entry.names[0];
    let rest = rest.trim_start();
    let with = |words: &mut dyn Iterator<Item = &str>, so_far: &str, word: &str| -> Vec<String> {
        words.filter(|candidate| candidate.starts_with(word)).map(|found| format!("{name} {so_far}{found}")).collect()
    };
    match entry.kind {
        Kind::Theme => with(&mut themes.iter().map(String::as_str), "", rest),
        Kind::Lock | Kind::Release => with(&mut locks.into_iter(), "", rest),
        Kind::MoveLeader => with(&mut names.members.iter().map(String::as_str), "", rest),
        Kind::Sort => match rest.split_once(' ') {
            None => with(&mut Sort::ALL.iter().map(|sort| sort.name()), "", rest),
            Some((sort, word)) => with(&mut ["asc", "desc"].into_iter(), &format!("{sort} "), word.trim_start()),
        },
        Kind::Seek => with(&mut ["start", "end"].into_iter(), "", rest),
        Kind::Plain(_) | Kind::Filter | Kind::Find | Kind::Record | Kind::Revoke => Vec::new(),
    }
}

/// What can follow a fault's word: the names of nodes, or a few words.
fn complete_fault(word: &Word, rest: &str, names: Names<'_>) -> Vec<String> {
    let rest = rest.trim_start();
    let (before, last) = rest.rsplit_once(' ').map_or(("", rest), |(before, last)| (before, last));
    let gap = if before.is_empty() { "" } else { " " };
    let nodes = names.nodes.unwrap_or_default().iter().filter(|_| word.takes_node()).map(ToString::to_string);
    let leader = names.leader.filter(|_| word.takes_node()).map(|_| LEADER.to_owned());
    let choices = nodes.chain(leader).chain(word.choices().iter().map(ToString::to_string));
    let new = choices.filter(|choice| choice.starts_with(last) && !before.split(' ').any(|said| said == choice));
    new.map(|choice| format!("{} {before}{gap}{choice}", word.name)).collect()
}

/// What can follow an order's word: whom it is about.
fn complete_order(word: &order::Word, rest: &str, names: Names<'_>) -> Vec<String> {
    let Some(clients) = names.clients.filter(|_| word.takes_whom()) else { return Vec::new() };
    let rest = rest.trim_start();
    let whom = [Whom::Holder, Whom::Waiter].into_iter().chain(clients.iter().map(|&id| Whom::Client(id)));
    let said = whom.map(|whom| whom.to_string()).filter(|whom| whom.starts_with(rest));
    said.map(|whom| format!("{} {whom}", word.name)).collect()
}
