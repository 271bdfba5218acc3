//! A key that is no lock by itself, printed as it is.

use std::io::Write;

use super::exit::{Failure, say};
use super::json::{self, Style};
use super::reading::Reading;
use super::table::{self, Align, Column};
use crate::config::Format;
use crate::domain::KeyValue;
use crate::view::text::escape;

/// How many bytes of a value are printed.
const PRINTED: usize = 4_096;

/// Prints a key that was read, with the time of its lease.
///
/// # Errors
/// When it cannot be written.
pub async fn print(
    reading: &mut Reading,
    kv: &KeyValue,
    format: Format,
    style: Style,
    to: &mut impl Write,
) -> Result<(), Failure> {
    reading.poll([kv.lease]).await;
    let facts = reading.facts();
    let Some(key) = facts.key(&kv.key) else { return Ok(()) };
    let lock = facts.lock_of(key.entry()).map(|lock| lock.name());
    let value = &kv.value[..kv.value.len().min(PRINTED)];
    let value = json::whole_characters(value, key.entry().value_len);
    if format == Format::Json {
        let key = json::Key::of(&key, style).with_value(style.text(value));
        let part_of = lock.map(|name| style.text(name));
        return Ok(json::write(&json::Lone::of(facts, key, kv.version, part_of), to)?);
    }
    match lock {
        Some(lock) => say(format_args!("lockscope: this is a key of lock {}, not a lock", escape(lock))),
        None => say(format_args!("lockscope: this is a key that no known recipe writes, not a lock")),
    }
    let row = [
        table::text(&kv.key, style),
        table::lease(kv.lease),
        kv.create_revision.to_string(),
        kv.mod_revision.to_string(),
        kv.version.to_string(),
        table::ttl(key.ttl()),
        lock.map(|name| table::name(name, style)).unwrap_or_default(),
        table::text(value, style),
    ];
    if format == Format::Simple {
        return Ok(table::line(&[&["key".to_owned()][..], &row].concat(), to)?);
    }
    let left = |name| Column(name, Align::Left);
    let right = |name| Column(name, Align::Right);
    let columns = [
        left("KEY"),
        left("LEASE"),
        right("CREATED"),
        right("WRITTEN"),
        right("PUTS"),
        right("TTL"),
        left("LOCK"),
        left("VALUE"),
    ];
    Ok(table::print(format, columns, [row], to)?)
}
