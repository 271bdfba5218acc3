//! What is said of a range that may not be read.

use crate::cli::exit::say;
use crate::domain::KeyRange;
use crate::event::Denied;
use crate::view::text::escape;

/// Says which range may not be read, by whom, and what it takes.
pub fn say_denied(denied: &Denied) {
    let name = range_name(&denied.range);
    let who = if denied.user.is_empty() { "without a user".into() } else { format!("by user {}", denied.user) };
    say(format_args!("lockscope: {name} may not be read {who}: {}", denied.why));
    say(format_args!("It takes a role with this right: {}", grant(&denied.range)));
}

/// A range in words.
fn range_name(range: &KeyRange) -> String {
    match (range.label(), range.end.is_empty()) {
        ([], _) => "the whole keyspace".into(),
        (key, true) => format!("key {}", escape(key)),
        (prefix, false) => format!("prefix {}", escape(prefix)),
    }
}

/// The command that gives a role the right to read a range.
fn grant(range: &KeyRange) -> String {
    let label = escape(range.label());
    let prefix = if range.end.is_empty() { "" } else { "--prefix=true " };
    format!("etcdctl role grant-permission ROLE {prefix}read '{label}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_right_to_read_is_told_as_a_command() {
        assert_eq!(grant(&KeyRange::prefix(b"/a/")), "etcdctl role grant-permission ROLE --prefix=true read '/a/'");
        assert_eq!(range_name(&KeyRange::prefix(b"")), "the whole keyspace");
        assert_eq!(range_name(&KeyRange::single(b"/a")), "key /a");
    }
}
