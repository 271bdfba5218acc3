//! `doctor`: everything that is wrong, with its evidence and what to do about it.
//!
//! It looks at all that the other commands look at: locks, the time of every lease, members and
//! alarms. What it may not or cannot see keeps it from nothing else and is said.

use std::io::Write;

use tokio::time::Duration;

use super::args::DoctorArgs;
use super::exit::{Exit, Failure, say};
use super::json::{self, Style};
use super::leases;
use super::live;
use super::reading::{self, Reading};
use super::table::{self, Align, Column};
use super::unseen::{Unseen, unseen};
use crate::config::{Config, Format, TtlPolicy};
use crate::model::{Diagnosis, Facts, Finding};
use crate::runtime;
use crate::view::text::{command, sentence};

/// Looks at the cluster and prints what is wrong.
///
/// # Errors
/// When it cannot be reached, when nothing of it may be read, and with an exit code of its own
/// when something as bad as `--fail-on` was found.
pub async fn run(args: &DoctorArgs, config: &Config, to: &mut impl Write) -> Result<(), Failure> {
    let mut reading = Reading::connect(config).await?;
    let mut lacks = Vec::new();
    match args.length {
        Some(length) => watch(&mut reading, config, length).await?,
        None => look(&mut reading, config, &mut lacks).await?,
    }
    lacks.extend(reading.members_or_self().await);
    let facts = reading.facts();
    lacks.extend(unseen(facts, args.length.is_some()));
    let thresholds = runtime::thresholds(&config.findings);
    let thresholds = if args.length.is_some() { thresholds } else { thresholds.at_one_look() };
    let diagnosis = Diagnosis::of(facts, &thresholds);
    let format = config.output.format.unwrap_or(Format::Simple);
    let printed =
        print(facts, &diagnosis, &lacks, format, Style { hex: config.output.hex }, to).and_then(|()| Ok(to.flush()?));
    report(&reading, &diagnosis, &lacks);
    // What was found counts, whether somebody reads it or not.
    match diagnosis.findings().iter().map(|finding| finding.severity).max() {
        Some(worst) if worst >= args.fail_on.severity() => Err(Failure::Found),
        _ if facts.link.is_denied() => Err(Failure::Refused),
        _ => printed,
    }
}

/// Reads what is there now, each thing once.
async fn look(reading: &mut Reading, config: &Config, lacks: &mut Vec<Unseen>) -> Result<(), Failure> {
    match reading.list(&reading::watching(config)).await {
        Err(failure @ Failure::Said { exit: Exit::Connect, .. }) => return Err(failure),
        // Without a leader there is still something to say.
        Err(failure) => lacks.push(Unseen::new("locks", failure.words())),
        Ok(()) => {}
    }
    match config.polling.ttl.unwrap_or(TtlPolicy::All) {
        TtlPolicy::Holders => reading.poll(super::ls::holders(reading.facts(), false)).await,
        TtlPolicy::All => reading.poll(leases::ids(reading.facts())).await,
        TtlPolicy::None => {}
    }
    Ok(())
}

/// Watches for a while, as the dashboard does.
async fn watch(reading: &mut Reading, config: &Config, length: Duration) -> Result<(), Failure> {
    let model = live::watch_for(config, length).await?;
    reading.put(model);
    Ok(())
}

/// Says on standard error what there is to say besides the findings.
fn report(reading: &Reading, diagnosis: &Diagnosis, lacks: &[Unseen]) {
    reading.report_denied();
    if diagnosis.findings().is_empty() {
        let all = lacks.is_empty() && reading.facts().link.denied.is_empty();
        let seen = if all { "" } else { " in what was seen" };
        say(format_args!("lockscope: nothing is wrong{seen}"));
    }
    for Unseen { what, why } in lacks {
        say(format_args!("not seen: {what}: {why}"));
    }
}

/// Prints the findings, the worst first.
pub fn print(
    facts: &Facts,
    diagnosis: &Diagnosis,
    unseen: &[Unseen],
    format: Format,
    style: Style,
    to: &mut impl Write,
) -> Result<(), Failure> {
    if format == Format::Json {
        return Ok(json::write(&json::Doctor { facts, diagnosis, unseen, style }, to)?);
    }
    let left = |name| Column(name, Align::Left);
    let columns = ["SEVERITY", "CODE", "LOCKS", "EVIDENCE", "REMEDY"].map(left);
    Ok(table::print(format, columns, diagnosis.findings().iter().map(|finding| row(finding, style)), to)?)
}

fn row(finding: &Finding, style: Style) -> [String; 5] {
    [
        finding.severity.name().into(),
        finding.code.into(),
        finding.locks.iter().map(|name| table::text(name, style)).collect::<Vec<_>>().join(","),
        sentence(&finding.evidence),
        // What a terminal would obey is quoted for the shell.
        command(&finding.remedy),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::cli::sample::{self, FIRST, SECOND, key, list, ttl};
    use crate::domain::LeaseId;
    use crate::model::Model;

    /// A queue whose first key has no lease, and one in order.
    fn stuck() -> Model {
        let mut all = list(vec![
            key(b"/jobs/it's/694d82254d5fa305", LeaseId::NONE, 83_004, b""),
            key(b"/jobs/it's/694d82254d5fa307", SECOND, 83_010, b""),
            key(b"/jobs/reindex/694d82254d5fa305", FIRST, 83_011, b""),
        ]);
        all.push(ttl(FIRST, 60, 6));
        sample::model(all)
    }

    fn printed(model: &Model, format: Format) -> String {
        let mut out = Vec::new();
        let unseen = unseen(model.shown(), false);
        print(model.shown(), model.diagnosis(), &unseen, format, Style::default(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_document_has_the_promised_shape() {
        let document: Value = serde_json::from_str(&printed(&stuck(), Format::Json)).unwrap();
        assert_eq!((&document["schema"], &document["denied"]), (&json!("lockscope/1"), &json!([])));
        let all = document["findings"].as_array().unwrap();
        let finding = all.iter().find(|finding| finding["code"] == "holder-without-lease").unwrap();
        let expected = json!({
            "code": "holder-without-lease", "severity": "error", "locks": ["/jobs/it's"], "leases": [],
            "keys": ["/jobs/it's/694d82254d5fa305"], "members": [],
            "since": "2023-11-14T22:13:20.000Z", "since_exact": false,
            "evidence": {
                "text": finding["evidence"]["text"], "key": "/jobs/it's/694d82254d5fa305", "revision": 83_004,
                "held_ms": 120, "waiters": 1,
            },
            "why": finding["why"], "advice": finding["advice"], "remedy": "lockscope release '/jobs/it'\\''s'",
        });
        assert_eq!(*finding, expected);
        assert!(finding["evidence"]["text"].as_str().unwrap().ends_with("; 1 waiter blocked"), "{finding}");
    }

    #[test]
    fn what_could_not_be_seen_is_told() {
        let document: Value = serde_json::from_str(&printed(&stuck(), Format::Json)).unwrap();
        let what: Vec<_> = document["unseen"].as_array().unwrap().iter().map(|unseen| &unseen["what"]).collect();
        assert_eq!(what, ["alarms", "the time of 1 lease", "whether 1 lease is renewed"]);
        let document: Value = serde_json::from_str(&printed(&sample::members(), Format::Json)).unwrap();
        assert_eq!(document["unseen"], json!([{"what": "member c\\x1b[2J", "why": "connection refused"}]));
    }

    #[test]
    fn a_finding_is_a_line_that_starts_with_how_bad_it_is() {
        let text = printed(&stuck(), Format::Simple);
        let first: Vec<_> = text.lines().next().unwrap().split('\t').collect();
        assert_eq!(first[..3], ["error", "holder-without-lease", "/jobs/it's"]);
        assert_eq!(first[4], "lockscope release '/jobs/it'\\''s'");
        assert!(printed(&stuck(), Format::Table).contains("| SEVERITY "));
    }
}
