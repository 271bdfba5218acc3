//! Prints what a write would do, and what came of it.

use std::io::Write;

use super::Plan;
use crate::cli::exit::{Failure, say};
use crate::cli::json::{self, Style};
use crate::cli::prose;
use crate::cli::table::{self, Align, Column};
use crate::config::Format;
use crate::domain::write::{Confirmed, WriteResult};
use crate::model::Facts;
use crate::operate::Outcome;
use crate::view::text::{command, sanitise};

/// Prints a plan.
pub fn plan(plan: &Plan, facts: &Facts, format: Format, style: Style, to: &mut impl Write) -> Result<(), Failure> {
    if format == Format::Json {
        return Ok(json::write(&json::Writing { plan, facts, outcomes: None, style }, to)?);
    }
    let keys = plan.blast.keys.iter().map(|(key, created)| [table::text(key, style), created.to_string()]);
    let locks = plan.blast.locks.iter().map(|lock| {
        let freed = if lock.freed { "freed" } else { "stays-held" };
        let next = lock.next.as_ref().map(|next| table::text(next, style)).unwrap_or_default();
        [table::name(&lock.name, style), freed.to_owned(), next]
    });
    let notes = plan.notes.iter().map(|note| sanitise(note).into_owned());
    let etcdctl = command(&plan.blast.etcdctl);
    let lease = plan.lease.map(table::lease).unwrap_or_default();
    if format == Format::Simple {
        let line = |kind: &str, fields: &[String], to: &mut _| {
            let all: Vec<_> = std::iter::once(kind.to_owned()).chain(fields.iter().cloned()).collect();
            table::line(&all, to)
        };
        line("write", &[plan.verb.to_owned(), lease, sanitise(&plan.title).into_owned()], to)?;
        for key in keys {
            line("key", &key, to)?;
        }
        for lock in locks {
            line("lock", &lock, to)?;
        }
        for note in notes {
            line("note", &[note], to)?;
        }
        return Ok(line("etcdctl", &[etcdctl], to)?);
    }
    let left = |name| Column(name, Align::Left);
    // What is gathered to be said is broken where it is said.
    let columns = prose::columns(&std::io::stdout());
    for line in prose::wrapped(&sanitise(&plan.title), columns) {
        writeln!(to, "{line}")?;
    }
    if !plan.blast.keys.is_empty() {
        table::print(format, [left("KEY THAT GOES"), Column("CREATED", Align::Right)], keys, to)?;
    }
    if !plan.blast.locks.is_empty() {
        table::print(format, [left("LOCK"), left("STATE AFTER"), left("NEXT HOLDER")], locks, to)?;
    }
    for line in notes.flat_map(|note| prose::wrapped(&note, columns)) {
        writeln!(to, "{line}")?;
    }
    writeln!(to, "{etcdctl}")?;
    Ok(())
}

/// Prints what came of a plan; text has the plan before it when nobody was shown it yet.
pub fn outcomes(
    plan: &Plan,
    facts: &Facts,
    outcomes: &[(&Confirmed, Outcome)],
    (format, is_new): (Format, bool),
    style: Style,
    to: &mut impl Write,
) -> Result<(), Failure> {
    if format == Format::Json {
        return Ok(json::write(&json::Writing { plan, facts, outcomes: Some(outcomes), style }, to)?);
    }
    if is_new {
        self::plan(plan, facts, format, style, to)?;
    }
    for (_, outcome) in outcomes {
        let (word, detail) = said(outcome);
        table::line(&["result".to_owned(), word.to_owned(), detail], to)?;
        if let WriteResult::Done { gone, .. } = &outcome.result {
            for key in gone {
                table::line(&["gone".to_owned(), table::text(key, style)], to)?;
            }
        }
        outcome.notes.iter().for_each(|note| say(format_args!("{note}")));
    }
    Ok(())
}

/// The word for an outcome, and the revision it was seen at. The reason of a failure is said on
/// standard error, as of every command.
fn said(outcome: &Outcome) -> (&'static str, String) {
    match &outcome.result {
        WriteResult::Done { revision, .. } if revision.0 > 0 => ("done", revision.to_string()),
        WriteResult::Done { .. } => ("done", String::new()),
        WriteResult::Changed { .. } => ("changed", String::new()),
        WriteResult::Gone => ("gone-already", String::new()),
        WriteResult::NotSent { .. } => ("not-sent", String::new()),
        WriteResult::Refused { .. } => ("refused", String::new()),
        WriteResult::Unknown { .. } => ("unknown", String::new()),
    }
}
