//! Sentences on a terminal: they break between words.
//!
//! What a program reads is never broken, nor a command, which would be another one when it is copied
//! with the breaks, nor a box.

use std::io::IsTerminal;

use crate::view::text::{split_at_width, width};

/// With fewer columns than this a terminal breaks lines itself.
const LEAST: usize = 20;

/// The columns of the terminal that this goes to; `None` where it goes elsewhere.
pub fn columns(to: &impl IsTerminal) -> Option<usize> {
    if !to.is_terminal() {
        return None;
    }
    crossterm::terminal::size().ok().map(|(columns, _)| usize::from(columns)).filter(|&columns| columns >= LEAST)
}

/// A line as the lines that it takes in so many columns, each as far in as the first.
pub fn wrapped(line: &str, columns: Option<usize>) -> Vec<String> {
    let Some(columns) = columns.filter(|&columns| width(line) > columns && !is_whole(line)) else {
        return vec![line.to_owned()];
    };
    let words = line.trim_start_matches(' ');
    let indent = line.len() - words.len();
    let room = columns.saturating_sub(indent).max(LEAST);
    let mut rest = words;
    let mut lines = Vec::new();
    while !rest.is_empty() {
        let (now, later) = split_at_width(rest, room);
        lines.push(format!("{}{}", " ".repeat(indent), now.trim_end()));
        rest = later.trim_start_matches(' ');
    }
    lines
}

/// Whether a line is a box, fields, or ends in a command.
fn is_whole(line: &str) -> bool {
    let is_command = |text: &str| ["etcdctl ", "lockscope ", "--"].iter().any(|start| text.starts_with(start));
    let behind_colon = line.split_once(": ").is_some_and(|(_, behind)| is_command(behind));
    line.starts_with(['+', '|']) || line.contains('\t') || is_command(line.trim_start()) || behind_colon
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_break_between_words_and_go_on_as_far_in() {
        assert_eq!(
            wrapped("  it was not confirmed, so nothing was done", Some(24)),
            ["  it was not confirmed,", "  so nothing was done"]
        );
        let whole = "it was not confirmed, so nothing was done";
        assert_eq!(wrapped(whole, None), [whole], "no terminal");
        assert_eq!(wrapped(whole, Some(80)), [whole]);
        assert_eq!(wrapped("", Some(24)), [""]);
    }

    #[test]
    fn boxes_fields_and_commands_stay_in_one_piece() {
        for line in [
            "| /jobs/nightly-report | queue |",
            "note\tit was not confirmed, so nothing",
            "etcdctl --endpoints 127.0.0.1:2379 lease revoke a1",
            "Here is how to look: etcdctl --endpoints 127.0.0.1:2379 get a",
        ] {
            assert_eq!(wrapped(line, Some(24)), [line]);
        }
    }
}
