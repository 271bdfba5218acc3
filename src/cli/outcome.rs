//! What came of a run, printed, and what it means for the exit code.

use std::io::Write;
use std::time::Duration;

use super::exit::{Exit, Failure};
use super::json::{self, Style};
use super::performance::Played;
use super::table::{self, Align, Column};
use crate::config::Format;
use crate::playground::{Spread, Summary};
use crate::view::text::{escape_text, sanitise};

/// Says no when something was not as expected.
///
/// # Errors
/// What was not, with what was seen.
pub fn judge(summary: &Summary) -> Result<(), Failure> {
    let failed = summary.expectations.iter().filter(|expectation| !expectation.held);
    let lines: Vec<_> = failed.map(|failed| format!("not so: {}: {}", failed.text, failed.evidence)).collect();
    if lines.is_empty() { Ok(()) } else { Err(Failure::new(Exit::Error, lines.join("\n"))) }
}

/// Says no when something was not as expected, when somebody broke off, and when something is
/// left behind on the cluster. Of a run that was broken off nothing is expected.
///
/// # Errors
/// All of these, in words.
pub fn judge_played(Played { summary, remains, broken_off }: &Played) -> Result<(), Failure> {
    let Some(remains) = remains else {
        if *broken_off {
            return Err(Failure::new(Exit::Interrupted, format!("broken off after {}", seconds(summary.length))));
        }
        return judge(summary);
    };
    let mut lines = vec![remains.to_string()];
    if !*broken_off && let Err(Failure::Said { what, .. }) = judge(summary) {
        lines.insert(0, what);
    }
    Err(Failure::new(Exit::Error, lines.join("\n")))
}

/// Prints what came of a run.
pub fn print(summary: &Summary, format: Format, style: Style, to: &mut impl Write) -> Result<(), Failure> {
    if format == Format::Json {
        return Ok(json::write(&json::Run { summary, style }, to)?);
    }
    let columns = [Column("WHAT", Align::Left), Column("IS", Align::Left), Column("DETAIL", Align::Left)];
    Ok(table::print(format, columns, rows(summary, style), to)?)
}

fn rows(summary: &Summary, style: Style) -> Vec<[String; 3]> {
    let row = |what: &str, is: String| [what.to_owned(), is, String::new()];
    let mut rows = vec![
        row("scenario", summary.scenario.clone()),
        row("seed", summary.seed.to_string()),
        row("length", seconds(summary.length)),
    ];
    if let Some(main) = summary.main() {
        rows.push(row("lock", table::name(&summary.lock, style)));
        rows.push(row("handoffs", main.handoffs.to_string()));
        rows.push(row("fifo_violations", summary.fifo_violations().to_string()));
        rows.push(row("double_holders", summary.double_holders().to_string()));
        rows.push(spread("wait_ms", main.wait));
        rows.push(spread("hold_ms", main.hold));
        rows.push(row("fairness", decimals(summary.fairness)));
        rows.push(row("calls_per_handoff", decimals(main.calls_per_handoff)));
        rows.push(row("events_per_handoff", decimals(main.events_per_handoff)));
    }
    rows.push(row("elections", summary.elections.to_string()));
    rows.push(row("terms", summary.terms.to_string()));
    rows.extend(summary.locks.iter().map(|lock| {
        let what = format!(
            "{}: clients={} handoffs={} acquired={} released={} crashed={} expired={} lost={}",
            json::recipe(&lock.lock, lock.kind),
            lock.clients,
            lock.handoffs,
            lock.acquired,
            lock.released,
            lock.crashed,
            lock.expired,
            lock.lost,
        );
        ["of".to_owned(), table::name(lock.lock.name(), style), what]
    }));
    rows.extend(summary.resources.iter().map(|resource| {
        let is = if resource.fencing { "checks tokens" } else { "takes everything" };
        let what = format!(
            "{}: accepted={} stale_accepted={} refused={}",
            escape_text(&resource.name),
            resource.accepted,
            resource.stale_accepted,
            resource.refused
        );
        ["resource".to_owned(), is.to_owned(), what]
    }));
    rows.extend(summary.expectations.iter().map(|expectation| {
        let is = if expectation.held { "held" } else { "not held" };
        [
            "expected".to_owned(),
            is.to_owned(),
            sanitise(&format!("{}: {}", expectation.text, expectation.evidence)).into_owned(),
        ]
    }));
    rows
}

fn spread(what: &str, spread: Option<Spread>) -> [String; 3] {
    let of = |Spread { p50, p90, p99, max }| {
        let [p50, p90, p99, max] = [p50, p90, p99, max].map(|length: Duration| length.as_millis());
        (p50.to_string(), format!("p50={p50} p90={p90} p99={p99} max={max}"))
    };
    let (median, all) = spread.map(of).unwrap_or_default();
    [what.to_owned(), median, all]
}

fn decimals(number: Option<f64>) -> String {
    number.map(|number| format!("{number:.3}")).unwrap_or_default()
}

fn seconds(length: Duration) -> String {
    format!("{:.1} s", length.as_secs_f64())
}
