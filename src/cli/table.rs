//! Output for people and for line tools: tab-separated lines, or a box like etcdctl's.
//!
//! Both have the same columns. Whatever came from the cluster is escaped here, so that a key
//! can neither break a line nor steer the terminal.

use std::io::{self, Write};

use comfy_table::presets::ASCII_FULL_CONDENSED;
use comfy_table::{CellAlignment, ContentArrangement, Table};

use super::json;
use crate::config::Format;
use crate::domain::LeaseId;
use crate::model::{Renewal, TtlState};
use crate::view::text::{cut_middle, escape, named};

/// How wide a cell of a box may get; keys and values can be a megabyte long.
const WIDEST: usize = 160;

/// What an empty field is printed as, so that every line has the same number of words.
pub const NOTHING: &str = "-";

/// A column's header, and whether its cells are numbers.
#[derive(Clone, Copy, Debug)]
pub struct Column(pub &'static str, pub Align);

/// Which side a column's cells lean on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// Prints rows in one of the two formats for text.
pub fn print<const N: usize>(
    format: Format,
    columns: [Column; N],
    rows: impl IntoIterator<Item = [String; N]>,
    to: &mut impl Write,
) -> io::Result<()> {
    match format {
        Format::Table => boxed(columns, rows, to),
        Format::Simple | Format::Json => rows.into_iter().try_for_each(|row| line(&row, to)),
    }
}

/// Prints one line of fields with tabs between them.
pub fn line(fields: &[String], to: &mut impl Write) -> io::Result<()> {
    for (at, field) in fields.iter().enumerate() {
        if at > 0 {
            to.write_all(b"\t")?;
        }
        to.write_all(if field.is_empty() { NOTHING } else { field }.as_bytes())?;
    }
    to.write_all(b"\n")
}

fn boxed<const N: usize>(
    columns: [Column; N],
    rows: impl IntoIterator<Item = [String; N]>,
    to: &mut impl Write,
) -> io::Result<()> {
    let mut style = ASCII_FULL_CONDENSED;
    style.header_separator = style.top_border;
    let mut table = Table::new();
    table.load_style(style).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(columns.map(|Column(name, _)| name));
    for (at, Column(_, align)) in columns.into_iter().enumerate() {
        if let Some(column) = table.column_mut(at).filter(|_| align == Align::Right) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for row in rows {
        table.add_row(row.map(|cell| cut_middle(&cell, WIDEST, "...").into_owned()));
    }
    writeln!(to, "{table}")
}

/// A key or a value as one printable word: escaped, or as hex.
pub fn text(bytes: &[u8], style: json::Style) -> String {
    if style.hex { json::hex(bytes) } else { escape(bytes).into_owned() }
}

/// The name of a lock or a key as one printable word: [`text`], and quotes where it is empty.
pub fn name(bytes: &[u8], style: json::Style) -> String {
    if bytes.is_empty() { escape(named(bytes)).into_owned() } else { text(bytes, style) }
}

/// A lease as the recipes write it.
pub fn lease(id: LeaseId) -> String {
    if id.is_none() { String::new() } else { id.to_string() }
}

/// A lease's time in a word: seconds left of seconds granted, or what is known instead.
pub fn ttl(state: TtlState) -> String {
    match json::ttl(state) {
        Some(ttl) => format!("{}/{}", ttl.remaining, ttl.granted),
        None => match state {
            TtlState::NoLease => "no-lease".into(),
            TtlState::Unpolled => String::new(),
            other => json::lease_state(other).into(),
        },
    }
}

/// Whether a lease is kept alive, in a word.
pub fn renewal(renewal: Renewal) -> String {
    match renewal {
        Renewal::Unknown => String::new(),
        Renewal::Renewed { ago } => format!("renewed-{}s-ago", ago.secs()),
        Renewal::NotRenewed { since } => format!("not-renewed-for-{}s", since.secs()),
    }
}

/// A number when there is one.
pub fn number(number: Option<impl ToString>) -> String {
    number.map(|number| number.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Millis;

    const COLUMNS: [Column; 2] = [Column("NAME", Align::Left), Column("N", Align::Right)];

    fn printed(format: Format, rows: &[[&str; 2]]) -> String {
        let mut out = Vec::new();
        let rows = rows.iter().map(|row| row.map(str::to_owned));
        print(format, COLUMNS, rows, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn simple_is_a_line_an_item_with_tabs() {
        assert_eq!(printed(Format::Simple, &[["/a", "1"], ["", "20"]]), "/a\t1\n-\t20\n");
    }

    #[test]
    fn a_table_is_boxed_as_etcdctls() {
        let expected = "\
+------+----+
| NAME |  N |
+------+----+
| /a   |  1 |
| 报   | 20 |
+------+----+
";
        assert_eq!(printed(Format::Table, &[["/a", "1"], ["报", "20"]]), expected);
    }

    #[test]
    fn a_box_stays_narrow_whatever_is_in_it() {
        let long = "x".repeat(1 << 20);
        let table = printed(Format::Table, &[[&long, "1"]]);
        assert!(table.lines().all(|line| line.len() < WIDEST + 20));
        assert!(table.contains("..."));
    }

    #[test]
    fn keys_break_no_line_and_steer_no_terminal() {
        assert_eq!(text(b"a\tb\n\x1b[2J\xff", json::Style::default()), "a\\tb\\n\\x1b[2J\\xff");
        assert_eq!(text(b"a\xff", json::Style { hex: true }), "61ff");
    }

    #[test]
    fn ttls_are_words() {
        let live = TtlState::Live { granted: 60, polled: 6, remaining: Millis(5_880), age: Millis(120) };
        assert_eq!(ttl(live), "6/60");
        assert_eq!(ttl(TtlState::Overdue { granted: 60, by: Millis(30_500), age: Millis(500) }), "-30/60");
        assert_eq!(ttl(TtlState::NoLease), "no-lease");
        assert_eq!(ttl(TtlState::Unpolled), "");
        assert_eq!(ttl(TtlState::Gone), "gone");
    }
}
